"""Fields of many ports: their equations as products of matrices, solved for what the causality asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.fields import flow_states
from bondloop.errors import SolveError
from bondloop.program.expr import Expr, Var
from bondloop.program.matrix_rows import ConstantMatrix, MatrixRow, SolvedMatrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph.derive import Derivation

__all__ = ["FEW_PORTS", "field_as_product", "is_large"]

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
