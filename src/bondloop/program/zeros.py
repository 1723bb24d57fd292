"""Transmission zeros, without the spurious large ones of a plain generalised eigenvalue problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["transmission_zeros"]

Matrix = NDArray[np.float64]

RANK = 1e-11
"""Singular values below this fraction of the system's largest entry count as zero."""


def transmission_zeros(
    A: Matrix, B: Matrix, C: Matrix, D: Matrix, H: Matrix | None = None
) -> NDArray[np.complex128]:
    """Finite zeros of a square system, sorted by magnitude; ``H`` is what the inputs' rates give.

    The pencil [[A - s I, B], [C, D]] is reduced by orthogonal transformations until the feed-through is
    invertible; what is left has the finite zeros as eigenvalues (Emami-Naeini and Van Dooren 1982,
    doi:10.1016/0005-1098(82)90070-X).
    """
    from scipy.linalg import matrix_balance

    if H is not None and H.any():
        A, B, C, D = _with_rates(A, B, C, D, H)
    if A.shape[0]:
        balanced, (scale, _) = matrix_balance(A, permute=False, separate=True)
        A = np.asarray(balanced, dtype=float)
        B, C = B / scale[:, None], C * scale
    # Units of inputs and outputs do not move zeros; bring them to the size of A.
    size = max(float(np.abs(A).max(initial=0.0)), 1e-300)
    columns = np.abs(np.vstack([B, D])).max(axis=0, initial=0.0)
    B, D = B * size / np.where(columns > 0, columns, 1.0), D * size / np.where(columns > 0, columns, 1.0)
    rows = np.abs(np.hstack([C, D])).max(axis=1, initial=0.0)
    rows = np.where(rows > 0, rows, 1.0)[:, None]
    C, D = C * size / rows, D * size / rows
    tolerance = RANK * size
    A, B, C, D = _reduce(A, B, C, D, tolerance)
    A, B, C, D = (M.T for M in _reduce(A.T, C.T, B.T, D.T, tolerance))
    B, C = C, B
    if not A.shape[0]:
        return np.zeros(0, dtype=complex)
    if D.shape[0] != D.shape[1]:
        return np.zeros(0, dtype=complex)  # the channel transmits nothing: every s is a zero, none is finite
    values = np.linalg.eigvals(A - B @ np.linalg.solve(D, C) if D.size else A)
    return np.asarray(values[np.argsort(np.abs(values), kind="stable")], dtype=complex)


def _reduce(A: Matrix, B: Matrix, C: Matrix, D: Matrix, tolerance: float) -> tuple[Matrix, ...]:
    """Return an equivalent system whose D has full row rank."""
    while True:
        p, n = C.shape
        if not p:
            return A, B, C, D
        U, s, _ = np.linalg.svd(D) if D.shape[1] else (np.eye(p), np.zeros(0), None)
        sigma = int((s > tolerance).sum())
        C, D = U.T @ C, U.T @ D
        if sigma == p:
            return A, B, C, D
        upper, lower, D = C[:sigma], C[sigma:], D[:sigma]
        _, s, V = np.linalg.svd(lower) if n else (None, np.zeros(0), np.eye(0))
        rho = int((s > tolerance).sum())
        if not rho:
            return A, B, upper, D
        V = np.roll(V.T, -rho, axis=1)  # columns that the lower outputs do not see come first
        A, B, upper = V.T @ A @ V, V.T @ B, upper @ V
        nu = n - rho
        C = np.vstack([upper[:, :nu], A[nu:, :nu]])
        D = np.vstack([D, B[nu:]])
        # The states seen directly are forced: the part of A and B that drives them becomes an output ...
        A, B = A[:nu, :nu], B[:nu]


def _with_rates(A: Matrix, B: Matrix, C: Matrix, D: Matrix, H: Matrix) -> tuple[Matrix, ...]:
    """Return a system with the same zeros whose outputs need no input rates.

    Where an output is zero, ``C x + D u + H du/dt = 0`` gives the rates of as many combinations of inputs as
    ``H`` has rank: they become states, and these outputs are used up.
    """
    U, s, V = np.linalg.svd(H)
    rank = int((s > RANK * s[0]).sum())
    B, C, D = B @ V.T, U.T @ C, U.T @ D @ V.T
    top = -1 / s[:rank, None]
    A = np.block([[A, B[:, :rank]], [top * C[:rank], top * D[:rank, :rank]]])
    B = np.vstack([B[:, rank:], top * D[:rank, rank:]])
    return A, B, np.hstack([C[rank:], D[rank:, :rank]]), D[rank:, rank:]
