"""Damping of a whole structure: Rayleigh's and modal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bondloop.errors import InputError
from bondloop.program.ranges import number

__all__ = ["checked_rayleigh", "modal_damping_matrix", "rayleigh_coefficients"]

DENSE = 5000
"""Most degrees of freedom for which a modal damping matrix, which is full, is made."""


def checked_rayleigh(values: Any, what: str) -> tuple[float, float]:
    """Return α in 1/s and β in s of C = αM + βK, each given as a number or a text with its unit.

    Parameters
    ----------
    values
        The two.
    what
        What has them, for the message.

    >>> checked_rayleigh(["0.2 1/s", "0.3 ms"], "rayleigh")
    (0.2, 0.0003)
    """
    if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)) or len(values) != 2:
        raise InputError(f"{what}: expected two numbers, alpha in 1/s and beta in s; found {values!r:.60}")
    alpha, beta = number(values[0], f"{what}: alpha", "1/s"), number(values[1], f"{what}: beta", "s")
    if alpha < 0 or beta < 0:
        raise InputError(f"{what}: alpha = {alpha:g} and beta = {beta:g} must not be negative")
    return alpha, beta


def rayleigh_coefficients(zeta1: float, f1: float, zeta2: float, f2: float) -> tuple[float, float]:
    """Return α and β of C = αM + βK with damping ratios ζ₁ at f₁ and ζ₂ at f₂ (frequencies in Hz).

    ζ(ω) = α/2ω + βω/2 (Clough and Penzien 1993, section 12-4).

    >>> alpha, beta = rayleigh_coefficients(0.05, 1 / (2 * math.pi), 0.05, 3 / (2 * math.pi))
    >>> round(alpha, 12), round(beta, 12)
    (0.075, 0.025)
    """
    w1, w2 = 2 * math.pi * f1, 2 * math.pi * f2
    if not (w1 > 0 and w2 > 0) or w1 == w2:
        raise InputError(f"Rayleigh damping needs two different positive frequencies; found {f1} and {f2} Hz")
    if zeta1 < 0 or zeta2 < 0:
        raise InputError(f"damping ratios must not be negative; found {zeta1} and {zeta2}")
    alpha, beta = np.linalg.solve([[1 / (2 * w1), w1 / 2], [1 / (2 * w2), w2 / 2]], [zeta1, zeta2])
    if min(alpha * max(w1, w2), beta * w1 * w2 * max(w1, w2)) < -1e-12 * w1 * w2:
        raise InputError(
            f"ratios {zeta1:g} at {f1:g} Hz and {zeta2:g} at {f2:g} Hz need alpha = {alpha:.3g} and "
            f"beta = {beta:.3g}: a negative one makes damping negative somewhere; bring the ratios closer"
        )
    return float(max(alpha, 0.0)), float(max(beta, 0.0))


def modal_damping_matrix(M: Any, K: Any, ratios: float | Sequence[float]) -> Any:
    """C = M Φ diag(2 ζ ω) Φᵀ M with mass-normalised modes (Clough and Penzien 1993, eq. 12-57).

    Parameters
    ----------
    M, K
        Sparse, shape (n, n).
    ratios
        Damping ratios of the lowest modes, the others staying undamped; one number: of all modes.

    Notes
    -----
    C is a full matrix. For more than a few thousand degrees of freedom reduce first and damp the modes.
    """
    from scipy import linalg

    n = M.shape[0]
    if n > DENSE:
        raise InputError(
            f"modal damping of {n} degrees of freedom makes a full matrix; reduce the structure first"
        )
    count = n if isinstance(ratios, (int, float)) else len(ratios)
    zeta = np.broadcast_to(np.asarray(ratios, dtype=float), (count,))
    if count > n:
        raise InputError(f"{count} modal damping ratios for {n} degrees of freedom")
    try:
        squares, modes = linalg.eigh(K.toarray(), M.toarray(), subset_by_index=[0, count - 1])
    except linalg.LinAlgError:
        raise InputError(
            "modal damping needs mass on every degree of freedom; give the massless ones a mass"
        ) from None
    weighted = M @ modes
    return (weighted * (2 * zeta * np.sqrt(np.maximum(squares, 0.0)))) @ weighted.T
