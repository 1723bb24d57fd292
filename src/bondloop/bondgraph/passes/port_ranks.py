"""Which ports of a matrix transformer may have their flow imposed: those with independent rows.

The flows at all its ports are linear in those of one side: the rows of [identity; matrix]. Flows can be
imposed at a set of ports if their rows are independent and determine all others: a basis. The efforts follow
at those ports and are imposed at the rest. The identity chosen whole is the causality of one side; any other
basis asks for the inverse of a part of the matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import elements as el
from bondloop.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bondloop.bondgraph.parts import Part
    from bondloop.bondgraph.passes.flat_graph import FlatGraph


SMALL = 1e-9
"""Size, among rows of size one, below which what is left of a row counts as zero."""
DRAWS = (1.0, 0.1, 10.0, 0.01, 0.001)
"""Sizes of the signals at which a modulated matrix is tried until all its entries are finite."""


class DependentPorts(Exception):  # noqa: N818 - turned into a CausalityError by the assignment, with trails
    """Flows (or efforts) that are imposed at ports depend on each other."""

    def __init__(self, text: str, ports: list[int]) -> None:
        super().__init__(text)
        self.ports = ports


class PortRanks:
    """The ports of one matrix transformer.

    Attributes
    ----------
    nodes
        Nodes of its ports: first those whose flows are multiplied, then those whose flows come out.
    count
        How many of the first there are; flows can be imposed at that many ports.
    values
        The matrix, as numbers: flow of the second ports = values @ flow of the first. A modulated one is
        taken at drawn signals, where its rank is what it is almost everywhere.
    """

    def __init__(self, flat: FlatGraph, part: Part) -> None:
        assert isinstance(part, (el.TF, el.MTF))
        assert part._sides is not None
        self.path = flat.paths[part]
        first, (taken, given) = flat.first[part], part._sides
        sides = [range(first, first + taken), range(first + taken, first + taken + given)]
        values = _drawn(flat, part)
        if part.form == "div":  # the ratio of efforts: the flows of the outputs are multiplied
            sides.reverse()
            values = values.T
        self.nodes, self.count, self.values = [*sides[0], *sides[1]], len(sides[0]), values
        self.names = [flat.path[node] for node in self.nodes]
        self.rows = np.vstack([np.eye(self.count), _level(values)])

    @property
    def entries(self) -> list[tuple[int, int]]:
        """Rows and columns of the entries that are not zero."""
        return [(int(i), int(j)) for i, j in zip(*np.nonzero(self.values), strict=True)]

    def follow(self, takes_flow: Sequence[bool | None]) -> list[tuple[int, bool]]:
        """Return the ports whose causality follows: (port, whether its flow is imposed).

        Parameters
        ----------
        takes_flow
            For every port whether its flow is imposed (True) or its effort (False); None where it is open.
        """
        imposed = [k for k, flow in enumerate(takes_flow) if flow]
        undecided = [k for k, flow in enumerate(takes_flow) if flow is None]
        basis = _basis(self.rows[imposed])
        if len(basis) < len(imposed):
            raise DependentPorts(
                f"the flows at {self._named(imposed)} cannot all be imposed: by the matrix of {self.path} "
                f"{len(basis)} of them determine the other{'s' if len(imposed) - len(basis) > 1 else ''}",
                imposed,
            )
        rest = self.rows[undecided] - (self.rows[undecided] @ basis.T) @ basis
        rest[np.linalg.norm(rest, axis=1) < SMALL] = 0.0
        need = self.count - len(imposed)
        if len(_basis(rest)) < need:
            closed = [k for k, flow in enumerate(takes_flow) if flow is False]
            raise DependentPorts(
                f"the efforts at {self._named(closed)} cannot all be imposed: by the matrix of {self.path} "
                "some of them determine the others",
                closed,
            )
        follows = []
        for k, row in enumerate(rest):
            if not row.any():
                follows.append((undecided[k], False))
            elif self._needed(rest, k, need):
                follows.append((undecided[k], True))
        return follows

    @staticmethod
    def _needed(rest: NDArray[np.float64], k: int, need: int) -> bool:
        """Whether the flows would not be determined without port k."""
        return len(rest) == need or len(_basis(np.delete(rest, k, axis=0))) < need

    def reduced(self, imposed: Sequence[int]) -> NDArray[np.float64] | None:
        """Return K of f_rest = K f_imposed where numbers cancel in it; None where zeros alone make its zeros.

        What cancels is seen by comparison with another matrix that is zero in the same places.
        """
        rest = [k for k in range(len(self.nodes)) if k not in imposed]
        drawn = np.random.default_rng(1).uniform(0.5, 1.5, self.values.shape)
        level = self.rows[self.count :]
        here, there = (
            np.linalg.solve(rows[list(imposed)].T, rows[rest].T).T
            for rows in (self.rows, np.vstack([np.eye(self.count), level * drawn]))
        )
        zero = np.abs(here) < SMALL
        if not (zero & (np.abs(there) > SMALL)).any():
            return None
        rows = np.vstack([np.eye(self.count), self.values])
        K = np.linalg.solve(rows[list(imposed)].T, rows[rest].T).T
        return np.where(zero, 0.0, K)

    def _named(self, ports: list[int]) -> str:
        shown = ", ".join(self.names[k] for k in ports[:6])
        return shown + (", ..." if len(ports) > 6 else "")


def _basis(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an orthonormal basis of the span of some rows."""
    if not rows.size:
        return np.zeros((0, rows.shape[1]))
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(directions[sizes > SMALL], dtype=float)


def _level(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring rows and columns to size one, whatever their units; zero ones stay."""
    level = matrix
    for axis in (0, 1, 0, 1, 0, 1):
        size = np.sqrt(np.abs(level).max(axis=axis, keepdims=True))
        level = level / np.where(size > 0, size, 1.0)
    size = np.linalg.norm(level, axis=1, keepdims=True)
    return np.asarray(level / np.where(size > 0, size, 1.0), dtype=float)


def _drawn(flat: FlatGraph, part: el.TF | el.MTF) -> NDArray[np.float64]:
    """Return the matrix as numbers, drawn where signals or symbols have none."""
    import sympy as sp

    formula = part.formula()
    given = {} if isinstance(part, el.TF) else part.parameters
    values = {s: given[n] for n, s in formula.parameters.items() if isinstance(given[n], float)}
    letters = {s: flat.symbol_values.get(s.name) for s in formula.value.free_symbols}
    values |= {s: v for s, v in letters.items() if v is not None and s not in values}
    matrix = formula.value.subs(values)
    symbols = sorted(matrix.free_symbols, key=str)
    rng = np.random.default_rng(0)
    for size in DRAWS:
        drawn = matrix.subs(
            {s: size * v for s, v in zip(symbols, rng.uniform(0.3, 1.0, len(symbols)), strict=True)}
        )
        try:
            numbers = np.array(drawn.tolist(), dtype=complex)
        except (TypeError, ValueError):
            continue
        if np.isfinite(numbers).all() and not numbers.imag.any():
            return np.asarray(numbers.real, dtype=float)
    raise ModelError(
        f"{flat.paths[part]}: its matrix has no finite value at signals of {DRAWS[-1]:g} to {max(DRAWS):g}; "
        f"check {sp.sstr(formula.value.tolist())}"
    )
