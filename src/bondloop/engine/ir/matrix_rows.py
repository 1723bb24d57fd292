"""Products of a constant matrix with variables, that stay products.

A field of 500 ports has 250,000 coefficients. Written out, each becomes a parameter and a term of a sum, a
hundred bytes and more; as a product they are one array. A definition that is a row of a product holds the
matrix, its number and what the matrix is multiplied by; all rows of a product share these. Whoever computes
many rows at once (the evaluator, the tick) puts them together again with `gathered`; any other reading may
take a row for the sum that it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.ir.expr import Const, Expr, Op
from bondloop.engine.ir.statement import Assign, Loop

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir.factored import Compressed, Factored


class ConstantMatrix:
    """A matrix of numbers, dense or sparse, with the path of the field that it belongs to."""

    def __init__(self, values: Compressed | NDArray[np.float64] | None, name: str) -> None:
        self.name = name
        self._given = values
        self._vector: tuple[Expr, ...] = ()

    def shared(self, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return the vector of the row before, if it is the same: n rows then hold one vector, not n."""
        if args is not self._vector and args != self._vector:
            self._vector = args
        return self._vector

    @property
    def values(self) -> Any:
        """The matrix."""
        return self._given

    def row(self, i: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the columns and the values of a row's entries that are not zero."""
        if hasattr(self.values, "tocsr"):
            first, last = self._compressed.indptr[i : i + 2]
            columns, entries = self._compressed.indices[first:last], self._compressed.data[first:last]
            kept = entries != 0
            return columns[kept].astype(np.int64), entries[kept]
        columns = np.flatnonzero(self.values[i])
        return columns, self.values[i][columns]

    @cached_property
    def _compressed(self) -> Any:
        return self.values.tocsr()

    def times(self, vector: Sequence[float]) -> list[float]:
        """Return the product with a vector."""
        product: list[float] = (self.values @ np.array(vector)).tolist()
        return product


class SolvedMatrix(ConstantMatrix):
    """The matrix ``left^-1 @ right``; ``left`` is kept, so that E can take it as it stands."""

    def __init__(
        self, left: Compressed | NDArray[np.float64], right: Compressed | NDArray[np.float64], name: str
    ) -> None:
        super().__init__(None, name)
        self.left, self.right = left, right

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The matrix, dense: made when a row is asked for by itself, or for a tick."""
        return self.solve(self.right.toarray() if hasattr(self.right, "toarray") else self.right)

    @cached_property
    def inverse(self) -> Factored | None:
        """The factors of ``left``, where solving with them is less work than a product with `values`."""
        from bondloop.engine.ir.factored import Factored, worth_factors

        if not hasattr(self.left, "tocsr"):
            return None
        inverse = Factored(self.left)
        return inverse if worth_factors(inverse) else None

    def times(self, vector: Sequence[float]) -> list[float]:
        """Return the product with a vector; a sparse matrix is not inverted for it."""
        if not hasattr(self.left, "tocsr"):
            return super().times(vector)
        product: list[float] = self.solve(self.right @ np.array(vector)).tolist()
        return product

    @cached_property
    def solve(self) -> Callable[[Any], NDArray[np.float64]]:
        """Function that solves with ``left``, which is factorised once; refused where that is singular."""
        from bondloop.engine.ir.factored import SingularError, factorised
        from bondloop.errors import SolveError

        try:
            return factorised(self.left)
        except SingularError:
            raise SolveError(f"{self.name} is singular where the causality needs its inverse") from None


class MatrixRow(Op):
    """One element of a matrix times a vector: the sum of ``matrix[index, j] * args[j]``."""

    __slots__ = ("index", "matrix")

    def __init__(self, matrix: ConstantMatrix, index: int, args: tuple[Expr, ...]) -> None:
        super().__init__("row", matrix.shared(args))
        self.matrix, self.index = matrix, index

    @property
    def identity(self) -> Hashable:
        """Which row of which matrix."""
        return ("row", id(self.matrix), self.index)

    def with_args(self, args: tuple[Expr, ...]) -> Op:
        """Return the row of the same matrix times something else."""
        return MatrixRow(self.matrix, self.index, args)

    def entries(self) -> Iterable[tuple[Expr, float]]:
        """Return what is multiplied by numbers other than zero, with the numbers."""
        columns, values = self.matrix.row(self.index)
        return ((self.args[j], v) for j, v in zip(columns.tolist(), values.tolist(), strict=True))

    def written_out(self) -> Expr:
        """Return the sum that it is."""
        terms = [Const(v) * a for a, v in self.entries()]
        return Op("add", tuple(terms)) if len(terms) > 1 else [*terms, Const(0.0)][0]


class VectorNumbers:
    """Numbers what rows multiply, equal vectors alike: to hash a vector for each of n rows takes n squared.

    >>> from bondloop.engine.ir.expr import Var
    >>> x, number = Var("x"), VectorNumbers()
    >>> number((x,)), number((x, x)), number((x,))
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self._by_value: dict[tuple[Expr, ...], int] = {}
        self._by_identity: dict[int, tuple[tuple[Expr, ...], int]] = {}

    def __call__(self, args: tuple[Expr, ...]) -> int:
        """Return the number of a vector."""
        if id(args) not in self._by_identity:
            number = self._by_value.setdefault(args, len(self._by_value))
            self._by_identity[id(args)] = args, number  # alive, so that its identity stays its own
        return self._by_identity[id(args)][1]


def gathered(
    statements: Iterable[Assign | Loop],
) -> list[tuple[list[Assign], MatrixRow] | Assign | Loop]:
    """Put the rows of each product together, where the first of them stands.

    What one row needs, all of them need, so the others can be computed as early as the first.
    """
    groups: dict[tuple[int, int], list[Assign]] = {}
    number = VectorNumbers()
    result: list[tuple[list[Assign], MatrixRow] | Assign | Loop] = []
    for statement in statements:
        if isinstance(statement, Assign) and isinstance(row := statement.expr, MatrixRow):
            key = (id(row.matrix), number(row.args))
            if key not in groups:
                groups[key] = []
                result.append((groups[key], row))
            groups[key].append(statement)
        else:
            result.append(statement)
    return result
