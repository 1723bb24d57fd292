"""Damping of a whole structure: Rayleigh's and modal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError
from bondloop.program.ranges import number
from bondloop.structures.matrices import Matrices
from bondloop.structures.modes import modes

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Array

__all__ = ["checked_ratios", "checked_rayleigh", "modal_part", "rayleigh_coefficients", "slim"]

DENSE = 5000
"""Most degrees of freedom of which all modes are damped."""

SMALL = 150
"""Most degrees of freedom whose modal damping is a full matrix, however few modes it damps."""


def checked_ratios(ratios: object, count: object, what: str) -> float | tuple[float, ...]:
    """Return damping ratios of modes, each given as a number or a text: ``0.02`` or ``"2 %"``.

    Parameters
    ----------
    ratios
        One for all modes, or those of the lowest ones.
    count
        With one ratio: of how many modes.
    what
        What has them, for the message.

    >>> checked_ratios("2 %", None, "modal_damping"), checked_ratios([0.02, "3 %"], None, "modal_damping")
    (0.02, (0.02, 0.03))
    """
    if isinstance(ratios, str) or not isinstance(ratios, (Sequence, np.ndarray)) or not np.iterable(ratios):
        one = _ratio(ratios, what)
        if count is None:
            return one
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise InputError(f"{what}(count) must be a whole number of at least 1; found {count!r:.40}")
        return (one,) * int(count)
    if count is not None:
        raise InputError(f"{what}: count goes with one ratio; there are {len(ratios)}")
    return tuple(_ratio(ratio, what) for ratio in ratios)


def _ratio(value: object, what: str) -> float:
    ratio = number(value, what, "1")
    if ratio < 0:
        raise InputError(f"{what}: damping ratios must not be negative; found {value!r:.40}")
    return ratio


def checked_rayleigh(values: object, what: str) -> tuple[float, float]:
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


def modal_part(M: Any, K: Any, ratios: float | Sequence[float], dofs: Sequence[str]) -> tuple[Array, Array]:
    """Return W = M Φ and d = 2 ζ ω of the modes that are damped: C = W diag(d) Wᵀ (Clough and Penzien 1993).

    Parameters
    ----------
    M, K
        Sparse, shape (n, n).
    ratios
        Damping ratios of the lowest modes, the others staying undamped; one number: of all modes.
    dofs
        Names of the degrees of freedom.

    Notes
    -----
    All modes of more than a few thousand degrees of freedom are not to be had; the lowest ones are, and their
    damping stays a product of slim matrices.
    """
    from scipy import linalg

    n = M.shape[0]
    one = isinstance(ratios, (int, float))
    count = n if isinstance(ratios, (int, float)) else len(ratios)
    if count > n:
        raise InputError(f"{count} modal damping ratios for {n} degrees of freedom")
    zeta = np.broadcast_to(np.asarray(ratios, dtype=float), (count,))
    if not count:
        return np.zeros((n, 0)), np.zeros(0)
    if n > DENSE and one:
        raise InputError(
            f"modal damping of all {n} modes needs all of them; damp the lowest ones, "
            f"modal_damping({ratios:g}, count=50)"
        )
    if not one and slim(n, count):
        basis = modes(Matrices(M, None, K, tuple(dofs)), count)
        return basis.weighted, 2 * zeta * basis.omega
    try:
        squares, shapes = linalg.eigh(K.toarray(), M.toarray(), subset_by_index=[0, count - 1])
    except linalg.LinAlgError:
        raise InputError(
            "modal damping needs mass on every degree of freedom; give the massless ones a mass, or damp the "
            "lowest modes alone, modal_damping([0.05, 0.05])"
        ) from None
    return M @ shapes, 2 * zeta * np.sqrt(np.maximum(squares, 0.0))


def slim(n: int, count: int) -> bool:
    """Return whether the damping of so many of n modes is kept as a product of slim matrices."""
    return n > SMALL and 4 * count <= n
