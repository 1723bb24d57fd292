"""Constant matrices: products with variables that stay products, and inverses as triangular factors.

The inverse of a stiffness or mass matrix is dense: 10,000 degrees of freedom are 800 MB. Its factors are
sparse, and columns of them that have the same pattern (those of one node, those that are eliminated last)
make a *block*, whose entries lie together without an index each.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bondloop.engine.ir.expr import Const, Expr, Op
from bondloop.engine.ir.statement import Assign, Loop
from bondloop.engine.ir.tolerances import FACTORED_ROWS, PIVOT_THRESHOLD, SINGULAR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Compressed: TypeAlias = sparse.csr_array[np.float64] | sparse.csc_array[np.float64]


class SingularError(ArithmeticError):
    """The matrix is singular to working precision."""


def solve_small(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve a small dense system.

    >>> solve_small([[2.0, 0.0], [0.0, 1e-30]], [2.0, 1e-30])
    [1.0, 1.0]
    """
    if len(right) == 1:
        (pivot,) = matrix[0]
        # Entries are of the form 1 - slope: what is left of the one must be more than rounding.
        if not abs(pivot) > SINGULAR:
            raise SingularError
        return [right[0] / pivot]
    M, b = np.array(matrix, dtype=float), np.array(right, dtype=float)
    if not np.isfinite(M).all():
        raise SingularError
    M, rows, columns = _scaled(M)
    from scipy.linalg import lapack

    lu, pivots, info = lapack.dgetrf(M)
    if info != 0 or lapack.dgecon(lu, np.abs(M).sum(axis=0).max())[0] < SINGULAR:
        raise SingularError
    x, _ = lapack.dgetrs(lu, pivots, b * rows)
    return [float(v) for v in x * columns]


def _scaled(M: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Bring the largest entry of every row and column to one: ``diag(rows) @ M @ diag(columns)``."""
    rows, columns = np.ones(M.shape[0]), np.ones(M.shape[1])
    for _ in range(4):  # geometric scaling settles in a few rounds
        size = _root(np.abs(M).max(axis=1))
        rows /= size
        M = M / size[:, None]
        size = _root(np.abs(M).max(axis=0))
        columns /= size
        M = M / size[None, :]
    return M, rows, columns


def _root(size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the square root to the next power of two, so that scaling rounds nothing."""
    if not size.all():
        raise SingularError
    return np.asarray(np.exp2(np.round(np.log2(size) / 2)), dtype=float)


def scaled_rows_and_columns(
    M: sparse.csc_array[np.float64],
) -> tuple[sparse.csc_array[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Bring the entries of a sparse matrix to about one by powers of two; return these too."""
    from scipy import sparse

    rows, columns = np.ones(M.shape[0]), np.ones(M.shape[1])
    for _ in range(4):
        for axis in (1, 0):
            size = _root(np.asarray(abs(M).max(axis=axis).todense()).ravel())
            D = sparse.diags_array(1 / size)
            if axis == 1:
                rows /= size
                M = sparse.csc_array(D @ M)
            else:
                columns /= size
                M = sparse.csc_array(M @ D)
    return M, rows, columns


def factorised(
    matrix: Compressed | NDArray[np.float64],
) -> Callable[[Any], NDArray[np.float64]]:
    """Factorise a sparse matrix; return a function that solves for a dense or sparse right-hand side."""
    from scipy import sparse
    from scipy.sparse.linalg import splu

    M = sparse.csc_array(matrix, dtype=float)
    n = M.shape[0]
    if not n:
        return lambda right: np.zeros(right.shape)
    if not np.isfinite(M.data).all():
        raise SingularError
    M, rows, columns = scaled_rows_and_columns(M)
    try:
        lu = splu(M)
    except RuntimeError:  # SciPy's word for an exactly singular matrix
        raise SingularError from None
    diagonal = np.abs(lu.U.diagonal())
    if diagonal.min() <= SINGULAR * diagonal.max():
        raise SingularError

    def solve(right: Any) -> NDArray[np.float64]:
        dense = right.toarray() if hasattr(right, "toarray") else np.asarray(right, dtype=float)
        scaled = dense * (rows[:, None] if dense.ndim == 2 else rows)
        x: NDArray[np.float64] = lu.solve(scaled)
        return x * (columns[:, None] if dense.ndim == 2 else columns)

    return solve


LANES = 8
"""Partial sums of a dot product."""


@dataclass(frozen=True)
class Triangle:
    """A lower triangular matrix with ones on its diagonal, in blocks of columns with the same pattern.

    Attributes
    ----------
    first
        First column of each block, and behind them the number of columns.
    row_at, rows
        Where the rows of each block begin, and the rows below it in which its columns have entries.
    value_at, values
        Where the entries of each block begin, and these, column by column: those below the diagonal within
        the block, then those in its rows.
    """

    first: Integers
    row_at: Integers
    rows: Integers
    value_at: Integers
    values: Floats

    @classmethod
    def of(cls, lower: sparse.csc_array[np.float64], widest: int = 32) -> Triangle:
        """Read a triangle from a sparse matrix in compressed columns, whose diagonal is taken for ones.

        A block has ``widest`` columns at most.
        """
        lower.sort_indices()
        n = lower.shape[0]
        starts, rows = lower.indptr.tolist(), lower.indices
        first, row_at, value_at, kept = [0], [0], [0], []
        for c in range(n):
            begin, end = starts[c] + 1, starts[c + 1]  # below the diagonal
            if c + 1 < n and c + 1 - first[-1] < widest and begin < end and rows[begin] == c + 1:
                after = rows[starts[c + 1] + 1 : starts[c + 2]]
                if len(after) == end - begin - 1 and np.array_equal(rows[begin + 1 : end], after):
                    continue
            kept.append(rows[begin:end])
            row_at.append(row_at[-1] + end - begin)
            first.append(c + 1)
            value_at.append(end - c - 1)
        below = np.ones(lower.nnz, dtype=bool)
        below[lower.indptr[:-1]] = False
        every = np.concatenate(kept).astype(np.int64) if kept else np.zeros(0, dtype=np.int64)
        return cls(np.array(first), np.array(row_at), every, np.array(value_at), lower.data[below])

    def matrix(self) -> sparse.coo_array[np.float64]:
        """Return what is below the diagonal, as a sparse matrix."""
        from scipy import sparse

        rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for begin, end, below, entries in self._blocks():
            for c, column in zip(range(begin, end), entries, strict=True):
                rows.append(np.concatenate([np.arange(c + 1, end), below]))
                columns.append(np.full(len(column), c))
        n = int(self.first[-1])
        return sparse.coo_array((self.values, (np.concatenate(rows), np.concatenate(columns))), shape=(n, n))

    @property
    def longest(self) -> int:
        """Most columns and rows of a block together."""
        return int((np.diff(self.first) + np.diff(self.row_at)).max(initial=0))

    def _blocks(self) -> Iterator[tuple[int, int, Integers, list[Floats]]]:
        """Yield of each block its columns, from and to, its rows, and the entries of each column."""
        places = zip(self.first[:-1].tolist(), self.first[1:].tolist(), self.value_at.tolist(), strict=False)
        for b, (begin, end, at) in enumerate(places):
            rows = self.rows[self.row_at[b] : self.row_at[b + 1]]
            lengths = np.arange(end - begin - 1, -1, -1) + len(rows)
            ends = at + np.cumsum(lengths)
            yield begin, end, rows, [self.values[e - m : e] for e, m in zip(ends, lengths, strict=True)]

    def solve(self, y: Floats) -> None:
        """Substitute forwards, in place: column by column, in the order of the generated C."""
        for begin, end, rows, columns in self._blocks():
            work = np.concatenate([y[begin:end], np.zeros(len(rows))])
            for a, column in enumerate(columns):
                work[a + 1 :] -= column * work[a]
            y[begin:end] = work[: end - begin]
            y[rows] += work[end - begin :]

    def solve_transposed(self, y: Floats) -> None:
        """Substitute backwards with the transpose, in place: dot products, in the order of the C."""
        for begin, end, rows, columns in reversed(list(self._blocks())):
            work = np.concatenate([y[begin:end], y[rows]])
            for a in range(len(columns) - 1, -1, -1):
                terms = np.zeros((-(-len(columns[a]) // LANES) + 1, LANES))
                terms[1:].flat[: len(columns[a])] = columns[a] * work[a + 1 :]
                work[a] -= np.add.accumulate(np.add.accumulate(terms)[-1])[-1]
            y[begin:end] = work[: end - begin]


class Factored:
    """The inverse of a sparse matrix, which a product of a tick may have for its matrix.

    Parameters
    ----------
    left
        The matrix, sparse and square.

    Raises
    ------
    SingularError
        Where its factors are asked for and it is singular.

    Examples
    --------
    >>> from scipy import sparse
    >>> inverse = Factored(sparse.diags_array([2.0, 4.0]))
    >>> (inverse @ np.array([2.0, 2.0])).tolist(), inverse.shape
    ([1.0, 0.5], (2, 2))
    """

    def __init__(self, left: Any) -> None:
        from scipy import sparse

        self.left = sparse.csr_array(left, dtype=float)
        self.shape: tuple[int, int] = self.left.shape

    @cached_property
    def _factors(self) -> tuple[Integers, Integers, Floats, Floats, Triangle, Floats, Triangle]:
        from scipy import sparse
        from scipy.sparse.linalg import splu

        M = sparse.csc_array(self.left)
        if not np.isfinite(M.data).all():
            raise SingularError
        diagonal = M.diagonal()
        if (diagonal > 0).all():  # scaled alike on both sides, so that what is symmetric stays so
            rows = columns = np.exp2(-np.round(np.log2(diagonal) / 2))
            D = sparse.diags_array(rows)
            M = sparse.csc_array(D @ M @ D)
        else:
            M, rows, columns = scaled_rows_and_columns(M)
        order = dissected(M)
        if order is not None:
            M = sparse.csc_array(M[order][:, order])
        try:
            lu = splu(
                M,
                permc_spec="MMD_AT_PLUS_A" if order is None else "NATURAL",
                diag_pivot_thresh=PIVOT_THRESHOLD,
                options={"SymmetricMode": True},
            )
        except RuntimeError:  # SciPy's word for an exactly singular matrix
            raise SingularError from None
        pivots = lu.U.diagonal()
        if not np.abs(pivots).min() > SINGULAR * np.abs(pivots).max():
            raise SingularError
        lower = Triangle.of(lu.L)
        into, out = lu.perm_r.astype(np.int64), lu.perm_c.astype(np.int64)
        symmetric = not (into != out).any() and not abs(M - sparse.csc_array(M.T)).count_nonzero()
        if order is not None:
            back = np.argsort(order)
            into, out = into[back], out[back]
        upper = lower
        if not symmetric:  # else it is the transpose of the first
            upper = Triangle.of(sparse.csc_array(sparse.csr_array(lu.U).T @ sparse.diags_array(1.0 / pivots)))
        return into, out, rows, columns, lower, 1.0 / pivots, upper

    @property
    def into(self) -> Integers:
        """Where each element of the right side goes."""
        return self._factors[0]

    @property
    def out(self) -> Integers:
        """Where each element of the solution comes from."""
        return self._factors[1]

    @property
    def scales(self) -> tuple[Floats, Floats]:
        """What the right side and the solution are multiplied by: powers of two."""
        return self._factors[2], self._factors[3]

    @property
    def lower(self) -> Triangle:
        """The first factor."""
        return self._factors[4]

    @property
    def over(self) -> Floats:
        """One over each pivot."""
        return self._factors[5]

    @property
    def upper(self) -> Triangle:
        """The transpose of the second factor, over its diagonal; of a symmetric matrix it is the first."""
        return self._factors[6]

    @property
    def last(self) -> sparse.coo_array[np.float64]:
        """What gives the solution from the second substitution: a permutation and powers of two, sparse."""
        from scipy import sparse

        places = (np.arange(self.shape[0]), self.out)
        return sparse.coo_array((self.scales[1], places), shape=self.shape)

    @property
    def entries(self) -> int:
        """How many numbers a solution multiplies."""
        return len(self.lower.values) + len(self.upper.values) + len(self.over)

    def __matmul__(self, vector: ArrayLike) -> Floats:
        """Return the solution for a right side, in the order of the generated C."""
        y = np.empty(self.shape[0])
        with np.errstate(all="ignore"):
            y[self.into] = self.scales[0] * np.asarray(vector, dtype=float)
            self.lower.solve(y)
            y *= self.over
            self.upper.solve_transposed(y)
            return np.asarray(self.scales[1] * y[self.out], dtype=float)


def worth_factors(inverse: Factored, entry: int = 4, visit: int = 200) -> bool:
    """Whether solving with the factors of a matrix takes less than a product with its full inverse.

    Parameters
    ----------
    inverse
        The matrix, with its factors.
    entry, visit
        What an entry of a factor and a visit to a block cost against an entry of a full matrix, in C.
    """
    n = inverse.shape[0]
    if n < FACTORED_ROWS or entry * inverse.left.nnz >= n * n:
        return False
    visits = len(inverse.lower.first) + len(inverse.upper.first)
    return entry * inverse.entries + visit * visits < n * n


# Nested dissection: in which order to eliminate the unknowns of a large sparse matrix.
#
# A layer of unknowns that cuts a structure in two is eliminated last, and either part in the same way (George
# 1973); the layer is one of equal distance from an end of the structure (George and Liu 1978, An automatic
# nested dissection algorithm). Of a building of 10,000 degrees of freedom the factors have a quarter fewer
# entries than by minimum degree.


def dissected(
    matrix: Compressed | sparse.csc_array[np.float64 | np.complex128],
    *,
    least: int = 1000,
    smallest: int = 12,
    thin: int = 20,
) -> Integers | None:
    """Return an order of elimination; None where another is as good.

    Parameters
    ----------
    matrix
        Sparse and square; its pattern is taken for symmetric.
    least
        Unknowns from which it is worth while.
    smallest
        Unknowns of a part that is not cut any more, at the most.
    thin
        A first layer of fewer unknowns belongs to a chain or a band, which minimum degree orders as well.

    Examples
    --------
    >>> from scipy import sparse
    >>> line = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(40, 40))
    >>> plate = sparse.kron(line, sparse.eye_array(40)) + sparse.kron(sparse.eye_array(40), line)
    >>> order = dissected(plate)
    >>> sorted(order.tolist()) == list(range(1600)), dissected(line) is None
    (True, True)
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    n = matrix.shape[0]
    if n < least:
        return None
    pattern = sparse.csr_array(matrix)
    graph = sparse.csr_array((np.ones(pattern.nnz), pattern.indices, pattern.indptr), shape=(n, n))
    graph = sparse.csr_array(graph + graph.T)
    parts: list[Integers] = []
    work, first = [np.arange(n)], True  # from the last to be eliminated to the first
    while work:
        nodes = work.pop()
        if len(nodes) <= smallest:
            parts.append(nodes)
            continue
        inside = graph[nodes][:, nodes]
        count, label = connected_components(inside, directed=False)
        if count > 1:
            order = np.argsort(label, kind="stable")
            work += np.split(nodes[order], np.cumsum(np.bincount(label))[:-1])
            continue
        cut = _cut(inside)
        if cut is None:
            parts.append(nodes)
            continue
        layer, before = cut
        if first and layer.sum() < thin:
            return None
        first = False
        parts.append(nodes[layer])
        work += [nodes[before], nodes[~before & ~layer]]
    return np.concatenate(parts[::-1])


def _cut(
    graph: sparse.csr_array[np.float64], share: float = 0.25
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return a layer that cuts a connected graph in two, and what lies on one side of it.

    On either side of it lies at least a share of the unknowns.
    """
    root, distance = 0, np.zeros(0, dtype=np.int64)
    for _ in range(3):  # to the end of the graph
        order, distance = _distances(graph, root)
        root = int(order[-1])
    sizes = np.bincount(distance)
    low, high = np.searchsorted(np.cumsum(sizes) / len(distance), (share, 1 - share))
    choice = range(max(1, int(low)), min(int(high), len(sizes) - 2) + 1)
    if not choice:
        return None
    at = min(choice, key=lambda k: int(sizes[k]))
    beyond = distance > at
    layer = (distance == at) & (graph @ beyond.astype(float) > 0)
    return layer, ~layer & ~beyond


def _distances(graph: sparse.csr_array[np.float64], root: int) -> tuple[Integers, Integers]:
    """Return the nodes by their distance from one, and the distances."""
    from scipy.sparse.csgraph import breadth_first_order

    order, before = breadth_first_order(graph, root, directed=False, return_predecessors=True)
    distance = np.zeros(graph.shape[0], dtype=np.int64)
    for node in order[1:].tolist():
        distance[node] = distance[before[node]] + 1
    return np.asarray(order, dtype=np.int64), distance


# Products of a constant matrix with variables, that stay products.
#
# A field of 500 ports has 250,000 coefficients. Written out, each becomes a parameter and a term of a sum, a
# hundred bytes and more; as a product they are one array. A definition that is a row of a product holds the
# matrix, its number and what the matrix is multiplied by; all rows of a product share these. Whoever computes
# many rows at once (the evaluator, the tick) puts them together again with `gathered`; any other reading may
# take a row for the sum that it is.


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
