"""One exact time step of single modes, q̈ + c q̇ + λ q = p(t), for a force that is linear over the step.

With a = λh², d = ch and the roots x₁, x₂ of x² + d x + a = 0, the response to an impulse, a step and a ramp
of force after one step are divided differences of φ₀(x) = eˣ, φ₁ = (φ₀ - 1)/x and φ₂ = (φ₁ - 1)/x:

    s = φ₀[x₁, x₂],   r = φ₁[x₁, x₂],   g = φ₂[x₁, x₂].

They have no division by a, so undamped, damped, critically damped, overdamped and rigid-body modes are one
case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.structures.tolerances import CLOSE_ROOTS, SERIES_TERMS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class ModeStep:
    """Coefficients of one step for every mode, shape (modes,) each.

    q⁺ = qq q + qv v + q0 p + q1 p⁺ and v⁺ = vq q + vv v + v0 p + v1 p⁺, with p the modal force at the
    beginning and p⁺ at the end of the step.
    """

    qq: NDArray[np.float64]
    qv: NDArray[np.float64]
    vq: NDArray[np.float64]
    vv: NDArray[np.float64]
    q0: NDArray[np.float64]
    q1: NDArray[np.float64]
    v0: NDArray[np.float64]
    v1: NDArray[np.float64]


def mode_step(stiffness: ArrayLike, damping: ArrayLike, period: float) -> ModeStep:
    """Return the exact coefficients of a step.

    Parameters
    ----------
    stiffness
        λ of each mode in rad²/s², of any sign.
    damping
        c = 2ζω of each mode in 1/s.
    period
        The step h in seconds.

    Examples
    --------
    A rigid body under a constant force moves by h²/2, an undamped oscillator turns.

    >>> step = mode_step([0.0, 4.0], [0.0, 0.0], 0.1)
    >>> float(step.q0[0] + step.q1[0]), bool(np.isclose(step.qq[1], np.cos(0.2)))
    (0.005, True)
    """
    h = float(period)
    k, c = np.broadcast_arrays(np.asarray(stiffness, dtype=float), np.asarray(damping, dtype=float))
    a, d = k * h * h, c * h
    x1, x2 = _roots(a, d)
    s, r, g = (_divided(f, slope, x1, x2) for f, slope in _FUNCTIONS)
    dot = ((np.exp(x1) + np.exp(x2)) / 2).real - d / 2 * s
    return ModeStep(
        dot + d * s, h * s, -k * h * s, dot, h * h * (r - g), h * h * g, h * (s - r), h * r
    )  # fmt: skip


def _roots(a: Array, d: Array) -> tuple[Array, Array]:
    """Roots of x² + d x + a, the smaller of two real ones without cancellation."""
    half = np.sqrt((d * d / 4 - a).astype(complex))
    x2 = -d / 2 - np.where(d >= 0, 1, -1) * half
    real = (half.imag == 0) & (np.abs(x2) > 1e-150)  # below that both are zero for any step
    x1 = np.where(real, a / np.where(real, x2, 1), -d / 2 + np.where(d >= 0, 1, -1) * half)
    return x1, x2


def _phi1(x: Array) -> Array:
    return _series(x, 1, lambda y: (np.exp(y) - 1) / y)


def _phi2(x: Array) -> Array:
    return _series(x, 2, lambda y: ((np.exp(y) - 1) / y - 1) / y)


def _phi3(x: Array) -> Array:
    return _series(x, 3, lambda y: (((np.exp(y) - 1) / y - 1) / y - 0.5) / y)


def _series(x: Array, order: int, closed: Callable[[Array], Array]) -> Array:
    """Σ xⁿ/(n + order)! for small arguments, the closed form for others."""
    small = np.abs(x) < 1
    y = np.where(small, x, 0)
    total = np.zeros_like(x)
    for n in range(SERIES_TERMS, -1, -1):
        total = total * y + 1.0 / _factorial(n + order)
    return np.where(small, total, closed(np.where(small, 1.0, x)))


def _factorial(n: int) -> float:
    return float(np.prod(np.arange(1.0, n + 1)))


_FUNCTIONS: list[tuple[Callable[[Array], Array], Callable[[Array], Array]]] = [
    (np.exp, np.exp),
    (_phi1, lambda x: _phi1(x) - _phi2(x)),
    (_phi2, lambda x: _phi2(x) - 2 * _phi3(x)),
]
"""φ₀, φ₁, φ₂ with their derivatives."""


def _divided(f: Callable[[Array], Array], slope: Callable[[Array], Array], x1: Array, x2: Array) -> Array:
    """(f(x₁) - f(x₂)) / (x₁ - x₂); for roots close together, the mean of f' between them (Gauss)."""
    apart = x1 - x2
    close = np.abs(apart) < CLOSE_ROOTS
    nodes, weights = np.polynomial.legendre.leggauss(10)
    middle = (x1 + x2) / 2
    mean = sum(w / 2 * slope(middle + t * apart / 2) for t, w in zip(nodes, weights, strict=True))
    quotient = (f(x1) - f(x2)) / np.where(close, 1, apart)
    return np.asarray(np.where(close, mean, quotient).real)
