"""Equations of fields: storages and resistors of many ports with a matrix.

Where the matrix is large and numeric all ports are written at once, as products of matrices, solved for what
the causality asks; else port by port, with a parameter for each entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph.elements import fields
from bondloop.bondgraph.passes.equations import Draft, Equations, Variables
from bondloop.engine.ir import Const, ConstantMatrix, Expr, MatrixRow, SolvedMatrix, Var
from bondloop.errors import SolveError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bondloop.bondgraph.parts import Part


FEW_PORTS = 8
"""Most ports of a field with a matrix of numbers whose entries are parameters of their own, by name."""


def field_law(v: Variables, node: int, word: str) -> Equations:
    """Return the equations of all ports of a field at its first node, and none at the others.

    Parameters
    ----------
    v
        The variables of the graph.
    node
        A port of the field.
    word
        What the field's states are called: ``flow`` for inertias, nothing for resistors.
    """
    part = v.flat.part[node]
    assert isinstance(part, fields.Field)
    draft = Draft(v)
    if v.flat.component[node]:
        return draft.equations()
    if is_large(part):
        ports = _Ports(draft, part)
        if ports.solvable():
            if word == "flow":
                ports.inertia()
            else:
                ports.effort(word)
            return draft.equations()
    states = _states(draft, part) if word == "flow" else []
    for row, port in zip(_entries(draft, part), range(node, node + (part.size or 1)), strict=True):
        if word == "flow":
            _inertia_port(draft, port, states, row)
        else:
            _effort_port(draft, port, word, row)
    return draft.equations()


def is_large(part: fields.Field) -> bool:
    """Whether the matrix of a field is one of numbers, and too large for a parameter an entry."""
    return (part.size or 0) > FEW_PORTS and not hasattr(part.matrix, "free_symbols")


def _inertia_port(
    draft: Draft, node: int, states: Sequence[tuple[Var, Var]], entries: Sequence[tuple[int, Expr]]
) -> None:
    """Row i of mass @ d(flow)/dt = effort; the flow is the state."""
    v, flat = draft.v, draft.v.flat
    i, bond = flat.component[node], flat.incident[node][0]
    own, rate = states[i]
    if v.gives_effort(bond, node):  # derivative causality
        draft.define(own, v.sided(bond, node))
        total: Expr = Const(0.0)
        for j, m in entries:
            total = total + m * states[j][1]
        draft.define(v.effort[bond], total)
        draft.no_start(node)
        return
    rest: Expr = v.effort[bond]
    mass: Expr = Const(0.0)
    for j, m in entries:
        if j == i:
            mass = m
        else:
            rest = rest - m * states[j][1]
    # Solved for its own rate: written as rate + (effort - mass @ rates), a small mass would cancel.
    draft.define(rate, rest / mass)
    draft.states.append((own, rate))
    draft.define(v.flow[bond], own if flat.head[bond] == node else -own)
    draft.start(node, own)


def flow_states(v: Variables, part: Part) -> list[tuple[Var, Var]]:
    """Return the flows of an inertia field, each with the variable of its rate."""
    first = v.flat.first[part]
    states = [Var(f"{v.flat.path[node]}.flow.state") for node in range(first, first + (part.size or 0))]
    return [(state, Var(f"d/dt {state.name}")) for state in states]


def _states(draft: Draft, part: fields.Field) -> list[tuple[Var, Var]]:
    """Return the flows of an inertia field with their rates, and note how each rate is found."""
    v, first, states = draft.v, draft.v.flat.first[part], draft.v.once(flow_states, part)
    for k, pair in enumerate(states):
        derivative = v.gives_effort(v.flat.incident[first + k][0], first + k)
        (draft.rate_goals if derivative else draft.dots).append(pair)
    return states


def momentum_of(draft: Draft, node: int) -> Expr:
    """Return the momentum at a port of an inertia field, whose states are flows: its row of mass @ flow."""
    flat = draft.v.flat
    part = flat.part[node]
    assert isinstance(part, fields.Field)
    flows = [state for state, _ in _states(draft, part)]
    if is_large(part):
        name = f"{flat.paths[part]}.{part.word}"
        return MatrixRow(ConstantMatrix(part.matrix, name), flat.component[node], tuple(flows))
    total: Expr = Const(0.0)
    for j, m in _entries(draft, part)[flat.component[node]]:
        total = total + m * flows[j]
    return total


def _effort_port(draft: Draft, node: int, word: str, entries: Sequence[tuple[int, Expr]]) -> None:
    """Write down a port of a compliance or resistor field: effort_i = sum of matrix[i, j] * cause_j."""
    v, flat = draft.v, draft.v.flat
    part, i = flat.part[node], flat.component[node]
    bond, first = flat.incident[node][0], flat.first[part]

    def cause(k: int) -> Expr:
        if word:
            return v.content(f"{flat.path[first + k]}.{word}")
        return v.sided(flat.incident[first + k][0], first + k)

    row: Expr = Const(0.0)
    effort = v.effort[bond]
    rest: Expr = effort
    diagonal: Expr | None = None
    for j, entry in entries:
        row = row + entry * cause(j)
        if j == i:
            diagonal = entry
        else:
            rest = rest - entry * cause(j)
    if v.gives_effort(bond, node):
        draft.define(effort, row)
        if word:
            own = cause(i)
            assert isinstance(own, Var)
            draft.states.append((own, v.sided(bond, node)))
            draft.start(node, own)
    elif word:
        own = cause(i)
        assert isinstance(own, Var)
        rate = Var(f"d/dt {own.name}")
        draft.define(own, own + (effort - row) if diagonal is None else rest / diagonal)
        draft.rate_goals.append((own, rate))
        draft.no_start(node)
        draft.define(v.flow[bond], rate if flat.head[bond] == node else -rate)
    else:
        target = v.flow[bond]
        into = flat.head[bond] == node
        if diagonal is None:  # a gyrator-like field: the row does not hold its own flow
            draft.define(target, target + (effort - row if into else row - effort))
        else:
            draft.define(target, rest / diagonal if into else -(rest / diagonal))


def _entries(draft: Draft, part: fields.Field) -> list[list[tuple[int, Expr]]]:
    entries, own = draft.v.once(_parameters, part)
    draft.include(own)
    return entries


def _parameters(v: Variables, part: Part) -> tuple[list[list[tuple[int, Expr]]], Equations]:
    """Return the entries of a field's matrix, row by row with their columns, as parameters."""
    assert isinstance(part, fields.Field)
    draft, path = Draft(v), v.flat.paths[part]

    def entry(i: int, j: int, value: Any) -> Expr:
        number = float(value) if not getattr(value, "free_symbols", None) else value
        return draft.parameter(f"{path}.{part.word}[{i},{j}]", number, part.diagonal if i == j else None)

    entries = [[(j, entry(i, j, value)) for j, value in row] for i, row in enumerate(part.entries())]
    return entries, draft.equations()


class _Ports:
    """The ports of one field."""

    def __init__(self, draft: Draft, part: fields.Field) -> None:
        v, flat = draft.v, draft.v.flat
        self.draft, self.part = draft, part
        self.name = f"{flat.paths[part]}.{part.word}"
        self.matrix = part.matrix.tocsr() if hasattr(part.matrix, "tocsr") else part.matrix
        self.nodes = [flat.first[part] + k for k in range(part.size or 0)]
        self.bonds = [flat.incident[n][0] for n in self.nodes]
        self.gives = np.array([v.gives_effort(b, n) for b, n in zip(self.bonds, self.nodes, strict=True)])

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
        draft, v, flat = self.draft, self.draft.v, self.draft.v.flat
        own, rates = zip(*_states(draft, self.part), strict=True)
        takes = np.flatnonzero(~self.gives).tolist()
        efforts = [v.effort[b] for b in self.bonds]
        for k in np.flatnonzero(self.gives).tolist():  # derivative causality
            draft.define(own[k], v.sided(self.bonds[k], self.nodes[k]))
            draft.no_start(self.nodes[k])
        self._rows({k: efforts[k] for k in np.flatnonzero(self.gives).tolist()}, tuple(rates))
        args = (*(efforts[k] for k in takes), *(rates[k] for k in np.flatnonzero(self.gives).tolist()))
        for i, k in enumerate(takes):
            draft.define(rates[k], MatrixRow(self.solved, i, args))
            draft.states.append((own[k], rates[k]))
            flow = own[k]
            draft.define(v.flow[self.bonds[k]], flow if flat.head[self.bonds[k]] == self.nodes[k] else -flow)
            draft.start(self.nodes[k], own[k])

    def effort(self, word: str) -> None:
        """Effort = matrix @ cause; the cause is a displacement (``word``) or a flow."""
        draft, v, flat = self.draft, self.draft.v, self.draft.v.flat
        into = [flat.head[b] == n for b, n in zip(self.bonds, self.nodes, strict=True)]
        gives, takes = np.flatnonzero(self.gives).tolist(), np.flatnonzero(~self.gives).tolist()
        causes: list[Expr] = [v.content(f"{flat.path[n]}.{word}") for n in self.nodes] if word else []
        if not word:
            for b, n in zip(self.bonds, self.nodes, strict=True):
                causes.append(v.sided(b, n))
            for k in takes:
                if not into[k]:
                    causes[k] = Var(f"{flat.path[self.nodes[k]]}.flow_in")
        self._rows({k: v.effort[self.bonds[k]] for k in gives}, tuple(causes))
        args = (*(v.effort[self.bonds[k]] for k in takes), *(causes[k] for k in gives))
        for i, k in enumerate(takes):
            own = causes[k]
            assert isinstance(own, Var)
            draft.define(own, MatrixRow(self.solved, i, args))
            flow: Expr = own
            if word:
                flow = rate = Var(f"d/dt {own.name}")
                draft.rate_goals.append((own, rate))
                draft.no_start(self.nodes[k])
            if flow is not v.flow[self.bonds[k]]:
                draft.define(v.flow[self.bonds[k]], flow if into[k] else -flow)
        for k in gives if word else ():
            own = causes[k]
            assert isinstance(own, Var)
            draft.states.append((own, v.sided(self.bonds[k], self.nodes[k])))
            draft.start(self.nodes[k], own)

    def _rows(self, targets: dict[int, Expr], args: tuple[Expr, ...]) -> None:
        matrix = ConstantMatrix(self.matrix, self.name)
        for k, target in targets.items():
            self.draft.define(target, MatrixRow(matrix, k, args))
