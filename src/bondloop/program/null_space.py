"""Null spaces and least-squares solutions of matrices whose rows and columns have any units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["equilibrated", "left_null", "null", "solved"]

RANK = 1e-11
"""Singular values, against the largest and after scaling, that count as zero."""


def equilibrated(
    A: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return ``diag(rows) @ A @ diag(columns)`` with entries of size one, rows and columns."""
    rows, columns = np.ones(A.shape[0]), np.ones(A.shape[1])
    M = A
    for _ in range(4):
        size = np.sqrt(np.abs(M).max(axis=1, initial=0.0))
        rows /= np.where(size > 0, size, 1.0)
        size = np.sqrt(np.abs(rows[:, None] * A * columns).max(axis=0, initial=0.0))
        columns /= np.where(size > 0, size, 1.0)
        M = rows[:, None] * A * columns
    return M, rows, columns


def null(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns that A maps to zero.

    >>> null(np.array([[1e6, -1e6], [-1e-3, 1e-3]])).round(6).tolist()
    [[0.707107], [0.707107]]
    """
    M, _, columns = equilibrated(A)
    _, sizes, V = np.linalg.svd(M)
    rank = int(np.sum(sizes > RANK * sizes.max(initial=0.0)))
    # Rounding is made zero here, where entries are of size one: in units of the columns it may look large.
    basis = columns[:, None] * np.where(np.abs(V[rank:].T) > 1e-13, V[rank:].T, 0.0)
    basis = basis / np.where((size := np.linalg.norm(basis, axis=0)) > 0, size, 1.0)
    signs = np.sign(basis[np.abs(basis).argmax(axis=0), range(basis.shape[1])])
    return np.asarray(basis * signs, dtype=float)


def left_null(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns whose products with A are zero: what A never changes."""
    return null(A.T)


def solved(A: NDArray[np.float64], f: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve A x = f, by the smallest x where A is singular."""
    M, rows, columns = equilibrated(A)
    z = np.linalg.lstsq(M, rows * f, rcond=RANK)[0]
    return np.asarray(columns * z, dtype=float)
