"""The slopes of executed statements as a sparse system ``w = W w + G g``, solved for ``dw/dg``.

A column, something that moves by itself, has a negative number, -1 less its place; a row, an executed
statement, has its place as its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.engine.ir import singular_loop
from bondloop.engine.passes import nilpotent_solve, with_tears
from bondloop.errors import SolveError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse
    from scipy.sparse.linalg import SuperLU

    from bondloop.engine.analysis.spectrum.delayed_step import Matrix


class SlopeRows:
    """Rows of slopes, collected one after the other.

    Attributes
    ----------
    names
        What each row is the slope of.
    columns
        How many things move by themselves.
    tears
        Rows of the variables by which algebraic loops are cut open; every other row depends on earlier ones
        only.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.columns = 0
        self.tears: list[int] = []
        self._filled: list[tuple[int, Sequence[tuple[int, float]]]] = []
        self._blocks: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []

    def new_column(self) -> int:
        """Return the number of a new column."""
        self.columns += 1
        return -self.columns

    def new_row(self, name: str) -> int:
        """Return the number of a new row, still empty."""
        self.names.append(name)
        return len(self.names) - 1

    def fill(self, row: int, pairs: Sequence[tuple[int, float]]) -> None:
        """Add slopes to a row, by number."""
        self._filled.append((row, pairs))

    def fill_block(
        self, rows: NDArray[np.int64], numbers: NDArray[np.int64], slopes: NDArray[np.float64]
    ) -> None:
        """Add slopes to many rows at once, entry by entry."""
        self._blocks.append((rows, numbers, slopes))

    def reached(self, roots: Iterable[int | None], onward: Mapping[int, int | None]) -> NDArray[np.bool_]:
        """Return which columns some numbers depend on, now or some ticks later, by what stands where.

        Parameters
        ----------
        roots
            The numbers.
        onward
            By number of a column, what it will be in the next tick.
        """
        from scipy import sparse
        from scipy.sparse.csgraph import breadth_first_order

        n, g = len(self.names), self.columns
        begin = g + n  # one node more, from which all roots are one step away
        ways = [(-1 - column, later) for column, later in onward.items()]
        ways += [(begin, root) for root in roots]
        known = [(a, b + g if b >= 0 else -1 - b) for a, b in ways if b is not None]
        rows = self._matrix.tocoo()
        places = np.array(known, dtype=np.int64).reshape(-1, 2)
        ends = np.concatenate([places[:, 1], rows.coords[1]])
        starts = np.concatenate([places[:, 0], rows.coords[0] + g])
        graph = sparse.coo_array((np.ones(len(ends)), (starts, ends)), shape=(begin + 1, begin + 1)).tocsr()
        seen = np.zeros(begin + 1, dtype=bool)
        seen[breadth_first_order(graph, begin, return_predecessors=False)] = True
        return seen[:g]

    def solved(self, numbers: Sequence[int | None], columns: NDArray[np.bool_] | None = None) -> Matrix:
        """Return d(w, g)/dg, a row for each number, one of zeros for None; sparse where columns are many.

        Parameters
        ----------
        numbers
            Of rows and columns.
        columns
            Which ones are wanted; the others may be left at zero.
        """
        from scipy import sparse

        n, g = len(self.names), self.columns
        full = self._matrix
        if g <= tolerances.DENSE_SLOPES:
            return self._solved_densely(full, numbers, columns)
        place = {k: i for i, k in enumerate(dict.fromkeys(numbers))}
        if len(place) <= tolerances.DENSE_SLOPES:
            return self._solved_backwards(full, list(place))[[place[k] for k in numbers]]
        places = [(r, k + g if k >= 0 else -1 - k) for r, k in enumerate(numbers) if k is not None]
        choose = sparse.coo_array(
            (np.ones(len(places)), ([r for r, _ in places], [c for _, c in places])),
            shape=(len(numbers), g + n),
        ).tocsr()
        W, G = full[:, g:].tocsr(), full[:, :g].tocsr()
        if self.tears:
            G = sparse.hstack([G, W[:, self.tears]]).tocsr()
            keep = np.ones(n)
            keep[self.tears] = 0.0
            W = (W @ sparse.diags_array(keep)).tocsr()
        dw = with_tears(nilpotent_solve(W, G), self.tears, g, [self.names[t] for t in self.tears])
        return sparse.csr_array(choose[:, g:] @ dw + choose[:, :g])

    def _solved_densely(
        self,
        full: sparse.csr_array[np.float64],
        numbers: Sequence[int | None],
        columns: NDArray[np.bool_] | None,
    ) -> NDArray[np.float64]:
        g = self.columns
        wanted = np.arange(g) if columns is None else np.flatnonzero(columns)
        places, rows = [], []
        slopes = np.zeros((len(numbers), g))
        for r, k in enumerate(numbers):
            if k is not None and k < 0:
                slopes[r, -1 - k] = 1.0
            elif k is not None:
                places.append(r)
                rows.append(k)
        if rows:
            solution = self._factors(full).solve(full[:, wanted].toarray())
            slopes[np.array(places)[:, None], wanted] = solution[rows]
        return slopes

    def _solved_backwards(
        self, full: sparse.csr_array[np.float64], numbers: Sequence[int | None]
    ) -> NDArray[np.float64]:
        """Return the same where few rows are wanted: a rig in a thousand substeps reads as many places."""
        n, g = len(self.names), self.columns
        wanted = np.zeros((n, len(numbers)))
        slopes = np.zeros((len(numbers), g))
        for r, k in enumerate(numbers):
            if k is None:
                continue
            if k >= 0:
                wanted[k, r] = 1.0
            else:
                slopes[r, -1 - k] = 1.0
        if n:
            felt = self._factors(full, transposed=True).solve(wanted)
            slopes += np.asarray(full[:, :g].T @ felt).T
        return slopes

    def _factors(self, full: sparse.csr_array[np.float64], *, transposed: bool = False) -> SuperLU:
        """Return the factors of I - W, or of its transpose."""
        from scipy import sparse
        from scipy.sparse.linalg import splu

        left = sparse.csc_array(sparse.eye_array(len(self.names), format="csr") - full[:, self.columns :])
        left = left.T.tocsc() if transposed else left
        try:
            # Without loops it is triangular as it stands: nothing to pivot, nothing to fill in.
            if self.tears:
                return splu(left, permc_spec="COLAMD")
            return splu(left, permc_spec="NATURAL", options={"DiagPivotThresh": 0.0})
        except RuntimeError:
            raise SolveError(singular_loop([self.names[t] for t in self.tears])) from None

    @cached_property
    def _matrix(self) -> sparse.csr_array[np.float64]:
        """Return [G W], a row for every executed statement."""
        from scipy import sparse

        g = self.columns
        rows_of = np.array([row for row, _ in self._filled], dtype=np.int64)
        lengths = np.array([len(pairs) for _, pairs in self._filled], dtype=np.int64)
        # All pairs as one line of numbers: a number of a row is exact as a float.
        pairs = chain.from_iterable([pairs for _, pairs in self._filled])
        filled = np.fromiter(chain.from_iterable(pairs), float, count=2 * int(lengths.sum()))
        first = (np.repeat(rows_of, lengths), filled[::2].astype(np.int64), filled[1::2])
        rows, numbers, slopes = zip(first, *self._blocks, strict=True)
        places = np.concatenate(numbers)
        places = np.where(places < 0, -1 - places, places + g)
        values = np.concatenate(slopes).astype(float)
        if not np.isfinite(values).all():
            raise SolveError("a slope is not finite at this point")
        shape = (len(self.names), g + len(self.names))
        return sparse.coo_array((values, (np.concatenate(rows), places)), shape=shape).tocsr()


# Slopes of statements in pieces, by what they are in: of the piece that was in force in a walk.


Pairs = Sequence[tuple[int, float]]


@dataclass
class Tangents:
    """What the statements of a walk follow.

    Attributes
    ----------
    pieces
        By name of a variable with a statement in pieces, its slopes by number, the first time it is executed.
    curves
        The same of a state with a curved statement.
    made
        By number of a variable that a statement makes, its name and slopes.
    given
        By number of a state at the beginning, its name.
    """

    pieces: dict[str, Pairs] = field(default_factory=dict)
    curves: dict[str, Pairs] = field(default_factory=dict)
    made: dict[int, tuple[str, Pairs]] = field(default_factory=dict)
    given: Mapping[int, str] = field(default_factory=dict)

    def of(self, name: str, inner: Callable[[str], bool]) -> dict[str, float]:
        """Return the slopes of a statement that is not linear, by variable; empty where none is so named.

        Parameters
        ----------
        name
            Of the variable.
        inner
            Which variables are only steps on the way, so that what they follow counts instead.
        """
        slopes: dict[str, float] = {}
        left = dict(self._summed(self.pieces.get(name) or self.curves.get(name, ())))
        while left:
            column = max(left)  # what is made later follows what was made before
            slope = left.pop(column)
            made, pairs = self.made.get(column, ("", ()))
            if made and inner(made):
                for other, more in pairs:
                    left[other] = left.get(other, 0.0) + slope * more
            elif made or column in self.given:
                variable = made or self.given[column]
                slopes[variable] = slopes.get(variable, 0.0) + slope
        return slopes

    @staticmethod
    def _summed(pairs: Pairs) -> dict[int, float]:
        total: dict[int, float] = {}
        for column, slope in pairs:
            total[column] = total.get(column, 0.0) + slope
        return total
