"""Linear solves that refuse a singular matrix, whatever the units of its rows and columns.

A matrix that mixes newtons with micrometres per second is badly scaled but not singular. Rows and columns are
therefore brought to the same size before a pivot is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bondloop.program.tolerances import SINGULAR

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    Compressed: TypeAlias = sparse.csr_array[np.float64] | sparse.csc_array[np.float64]

__all__ = ["SingularError", "factorised", "scaled_rows_and_columns", "solve_small"]


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
