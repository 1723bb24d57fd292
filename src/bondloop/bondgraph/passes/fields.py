"""Equations of fields: N-port storages and resistors with a matrix.

Fields of many ports: their equations as products of matrices, solved for what the causality asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph import elements as el
from bondloop.errors import SolveError
from bondloop.program.expr import Const, Expr, Var
from bondloop.program.matrix_rows import ConstantMatrix, MatrixRow, SolvedMatrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph.passes.derive import Derivation


__all__ = [
    "FEW_PORTS",
    "effort_port",
    "field_as_product",
    "flow_states",
    "inertia_port",
    "is_large",
    "momentum_of",
]


def inertia_port(d: Derivation, node: int) -> None:
    """Row i of mass @ d(flow)/dt = effort; the flow is the state."""
    flat, part, i = d.flat, d.flat.part[node], d.flat.component[node]
    assert isinstance(part, el.Field)
    bond, first = flat.incident[node][0], flat.first[part]
    flow_states(d, part)

    def rate_of(k: int) -> Var:
        state = d.common[first + k]
        assert state is not None
        return d.dots[state] if state in d.dots else d.rate_goals[state]

    own = d.common[node]
    assert own is not None
    if own in d.rate_goals:
        d.definitions[own] = d._sided(bond, node)
        total: Expr = Const(0.0)
        for j, m in _entries(d, part)[i]:
            total = total + m * rate_of(j)
        d._define(d.effort[bond], total)
        d._no_start(node)
        return
    rest: Expr = d.effort[bond]
    mass: Expr = Const(0.0)
    for j, m in _entries(d, part)[i]:
        if j == i:
            mass = m
        else:
            rest = rest - m * rate_of(j)
    # Solved for its own rate: written as rate + (effort - mass @ rates), a small mass would cancel.
    dot = d.dots[own]
    d.definitions[dot] = rest / mass
    d.states[own] = dot
    d._define(d.flow[bond], own if flat.head[bond] == node else -own)
    d._start(node, own)


def flow_states(d: Derivation, part: el.Field) -> list[Var]:
    """Return the flows of an inertia field, with the variables of their rates made when first asked for."""
    flat, first = d.flat, d.flat.first[part]
    states = []
    for node in range(first, first + (part.size or 0)):
        state = d.common[node]
        if state is None:
            state = d.common[node] = Var(f"{flat.path[node]}.flow.state")
            rate = Var(f"d/dt {state.name}")
            if d._gives_effort(flat.incident[node][0], node):  # derivative causality
                d.rate_goals[state] = rate
            else:
                d.dots[state] = rate
        states.append(state)
    return states


def momentum_of(d: Derivation, node: int) -> Expr:
    """Return the momentum at a port of an inertia field, whose states are flows: its row of mass @ flow."""
    part = d.flat.part[node]
    assert isinstance(part, el.Field)

    flows = flow_states(d, part)
    if is_large(part):
        name = f"{d.flat.paths[part]}.{part.word}"
        return MatrixRow(ConstantMatrix(part.matrix, name), d.flat.component[node], tuple(flows))
    total: Expr = Const(0.0)
    for j, m in _entries(d, part)[d.flat.component[node]]:
        total = total + m * flows[j]
    return total


def effort_port(d: Derivation, node: int, word: str) -> None:
    """Write down a port of a compliance or resistor field: effort_i = sum of matrix[i, j] * cause_j."""
    flat, part, i = d.flat, d.flat.part[node], d.flat.component[node]
    assert isinstance(part, el.Field)
    bond, first = flat.incident[node][0], flat.first[part]
    if i == 0 and word:
        for k in range(part.size or 0):
            d.common[first + k] = d.content(f"{flat.path[first + k]}.{word}")

    def cause(k: int) -> Expr:
        if word:
            var = d.common[first + k]
            assert var is not None
            return var
        return d._sided(flat.incident[first + k][0], first + k)

    row: Expr = Const(0.0)
    effort = d.effort[bond]
    rest: Expr = effort
    diagonal: Expr | None = None
    for j, entry in _entries(d, part)[i]:
        row = row + entry * cause(j)
        if j == i:
            diagonal = entry
        else:
            rest = rest - entry * cause(j)
    if d._gives_effort(bond, node):
        d._define(effort, row)
        if word:
            own = cause(i)
            assert isinstance(own, Var)
            d.states[own] = d._sided(bond, node)
            d._start(node, own)
    elif word:
        own = cause(i)
        assert isinstance(own, Var)
        rate = Var(f"d/dt {own.name}")
        d.definitions[own] = own + (effort - row) if diagonal is None else rest / diagonal
        d.rate_goals[own] = rate
        d._no_start(node)
        d._define(d.flow[bond], rate if flat.head[bond] == node else -rate)
    else:
        target = d.flow[bond]
        assert isinstance(target, Var)
        into = flat.head[bond] == node
        if diagonal is None:  # a gyrator-like field: the row does not hold its own flow
            d._define(target, target + (effort - row if into else row - effort))
        else:
            d._define(target, rest / diagonal if into else -(rest / diagonal))


def _entries(d: Derivation, part: el.Field) -> list[list[tuple[int, Expr]]]:
    found = d.entries.get(part)
    if found is None:
        path = d.flat.paths[part]
        found = d.entries[part] = [
            [
                (
                    j,
                    d._parameter(
                        f"{path}.{part.word}[{i},{j}]", _number(v), part.diagonal if i == j else None
                    ),
                )
                for j, v in row
            ]
            for i, row in enumerate(part.entries())
        ]
    return found


def _number(value: Any) -> Any:
    return float(value) if not getattr(value, "free_symbols", None) else value


FEW_PORTS = 8
"""Most ports of a field with a matrix of numbers whose entries are parameters of their own, by name."""


def field_as_product(d: Derivation, node: int, word: str) -> bool:
    """Write down all ports of a large numeric field at once; False where that is not to be done.

    ``word`` is what the field's states are called: ``flow`` for inertias, nothing for resistors.
    """
    part = d.flat.part[node]
    assert isinstance(part, el.Field)
    if part in d.products:
        return d.products[part]
    whole = is_large(part)
    if whole:
        ports = _Ports(d, part)
        whole = ports.solvable()
        if whole:
            if word == "flow":
                ports.inertia()
            else:
                ports.effort(word)
    d.products[part] = whole
    return whole


def is_large(part: el.Field) -> bool:
    """Whether the matrix of a field is one of numbers, and too large for a parameter an entry."""
    return (part.size or 0) > FEW_PORTS and not hasattr(part.matrix, "free_symbols")


class _Ports:
    """The ports of one field."""

    def __init__(self, d: Derivation, part: el.Field) -> None:
        flat = d.flat
        self.d, self.part = d, part
        self.name = f"{flat.paths[part]}.{part.word}"
        self.matrix = part.matrix.tocsr() if hasattr(part.matrix, "tocsr") else part.matrix
        self.nodes = [flat.first[part] + k for k in range(part.size or 0)]
        self.bonds = [flat.incident[n][0] for n in self.nodes]
        self.gives = np.array([d._gives_effort(b, n) for b, n in zip(self.bonds, self.nodes, strict=True)])

    def solvable(self) -> bool:
        """Whether the ports that take an effort can be solved for what they answer with."""
        takes = np.flatnonzero(~self.gives)
        if not len(takes):
            return True
        try:
            self.solved = self._solved(takes, np.flatnonzero(self.gives))
            _ = self.solved.solve
        except SolveError:
            return False  # port by port, with whatever closes the loop outside
        return True

    def _solved(self, takes: NDArray[np.int64], gives: NDArray[np.int64]) -> SolvedMatrix:
        """From ``matrix @ cause = effort``: the causes where efforts are taken, from these and the others."""
        from scipy import sparse

        left, right = self.matrix[np.ix_(takes, takes)], -self.matrix[np.ix_(takes, gives)]
        if hasattr(self.matrix, "tocsr"):
            unit = sparse.eye_array(len(takes), format="csr")
            return SolvedMatrix(left, sparse.hstack([unit, right]).tocsr(), self.name)
        return SolvedMatrix(left, np.hstack([np.eye(len(takes)), right]), self.name)

    def inertia(self) -> None:
        """Mass @ d(flow)/dt = effort, the flow being the state where the port gives it."""
        d, flat = self.d, self.d.flat
        own = flow_states(d, self.part)
        rates = [d.dots[v] if v in d.dots else d.rate_goals[v] for v in own]
        takes = np.flatnonzero(~self.gives).tolist()
        efforts = [d.effort[b] for b in self.bonds]
        for k in np.flatnonzero(self.gives).tolist():  # derivative causality
            d.definitions[own[k]] = d._sided(self.bonds[k], self.nodes[k])
            d._no_start(self.nodes[k])
        self._rows({k: efforts[k] for k in np.flatnonzero(self.gives).tolist()}, tuple(rates))
        args = (*(efforts[k] for k in takes), *(rates[k] for k in np.flatnonzero(self.gives).tolist()))
        for i, k in enumerate(takes):
            d.definitions[rates[k]] = MatrixRow(self.solved, i, args)
            d.states[own[k]] = rates[k]
            flow = own[k]
            d._define(d.flow[self.bonds[k]], flow if flat.head[self.bonds[k]] == self.nodes[k] else -flow)
            d._start(self.nodes[k], own[k])

    def effort(self, word: str) -> None:
        """Effort = matrix @ cause; the cause is a displacement (``word``) or a flow."""
        d, flat = self.d, self.d.flat
        into = [flat.head[b] == n for b, n in zip(self.bonds, self.nodes, strict=True)]
        gives, takes = np.flatnonzero(self.gives).tolist(), np.flatnonzero(~self.gives).tolist()
        causes: list[Expr] = [d.content(f"{flat.path[n]}.{word}") for n in self.nodes] if word else []
        if not word:
            for b, n in zip(self.bonds, self.nodes, strict=True):
                causes.append(d._sided(b, n))
            for k in takes:
                if not into[k]:
                    causes[k] = Var(f"{flat.path[self.nodes[k]]}.flow_in")
        self._rows({k: d.effort[self.bonds[k]] for k in gives}, tuple(causes))
        args = (*(d.effort[self.bonds[k]] for k in takes), *(causes[k] for k in gives))
        for i, k in enumerate(takes):
            own = causes[k]
            assert isinstance(own, Var)
            d.definitions[own] = MatrixRow(self.solved, i, args)
            flow: Expr = own
            if word:
                flow = d.rate_goals[own] = Var(f"d/dt {own.name}")
                d._no_start(self.nodes[k])
            if flow is not d.flow[self.bonds[k]]:
                d._define(d.flow[self.bonds[k]], flow if into[k] else -flow)
        for k in gives if word else ():
            own = causes[k]
            assert isinstance(own, Var)
            d.states[own] = d._sided(self.bonds[k], self.nodes[k])
            d._start(self.nodes[k], own)

    def _rows(self, targets: dict[int, Expr], args: tuple[Expr, ...]) -> None:
        matrix = ConstantMatrix(self.matrix, self.name)
        for k, target in targets.items():
            self.d._define(target, MatrixRow(matrix, k, args))
