"""Products of a few long rows.

BLAS spreads even a dot product of 60,000 numbers over all cores. On a machine that has other work its threads
then wait for each other, actively, and a product takes a hundred times as long as with one thread. Here
single rows go through einsum, which never spreads anything, and several rows through BLAS in pieces too small
to share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["dot", "gram", "mix", "orthonormal", "project_out", "times"]


def dot(a: Array, b: Array) -> float:
    """Sum of a[n] b[n]."""
    return float(np.einsum("n,n->", a, b))


def times(rows: Array, b: Array) -> Array:
    """Sum over n of rows[i, n] b[n]."""
    return np.asarray(np.einsum("in,n->i", rows, b))


def gram(a: Array, b: Array) -> Array:
    """Sum over n of a[i, n] b[j, n]."""
    total = np.zeros((a.shape[0], b.shape[0]))
    for piece in _pieces(total.size, a.shape[1]):
        total += a[:, piece] @ b[:, piece].T
    return total


def mix(weights: Array, rows: Array) -> Array:
    """Sum over j of weights[i, j] rows[j, n]; or, with weights[j], one row."""
    if weights.ndim == 1:
        return np.asarray(np.einsum("j,jn->n", weights, rows))
    result = np.empty((weights.shape[0], rows.shape[1]))
    for piece in _pieces(weights.size, rows.shape[1]):
        result[:, piece] = weights @ rows[:, piece]
    return result


def _pieces(work: int, length: int) -> list[slice]:
    """Return stretches in each of which BLAS has fewer multiplications to do than it shares (262,144)."""
    step = max(16, 100_000 // max(1, work))
    return [slice(k, k + step) for k in range(0, length, step)]


def orthonormal(rows: Array) -> Array:
    """Return orthonormal rows that span the same space, fewer where some depend on others.

    >>> orthonormal(np.array([[3.0, 0.0, 4.0], [6.0, 0.0, 8.0]])).round(3).tolist()
    [[0.6, 0.0, 0.8]]
    """
    for _ in range(2):  # twice is enough: the second round works on nearly orthonormal rows
        if not rows.shape[0]:
            return rows
        size = np.sqrt(np.einsum("in,in->i", rows, rows))
        rows = rows[size > 0] / size[size > 0, None]
        values, vectors = np.linalg.eigh(gram(rows, rows))
        kept = values > 1e-13 * values[-1:]
        rows = mix((vectors[:, kept] / np.sqrt(values[kept])).T, rows)
    sign = np.sign(rows[np.arange(rows.shape[0]), np.argmax(np.abs(rows), axis=1)])
    return np.asarray(rows * sign[:, None])


def project_out(basis: Array, rows: Array) -> Array:
    """Return rows (or one row) less their part in the space of an orthonormal basis."""
    if not basis.shape[0]:
        return rows
    if rows.ndim == 1:
        return np.asarray(rows - mix(times(basis, rows), basis))
    return np.asarray(rows - mix(gram(rows, basis), basis))
