"""Whether a linear system is strictly positive real: decided for all frequencies, not on a grid of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class PositiveRealness:
    """What was found of G(s) = C (s I - A)^-1 B + D on the imaginary axis.

    Attributes
    ----------
    poles
        Eigenvalues of A in rad/s.
    crossings
        Frequencies in rad/s at which the least eigenvalue of the Hermitian part (G + G^H)/2, for one input
        and output the real part, changes its sign.
    least, frequency
        Its infimum, and where in rad/s, infinity where it is only approached; no numbers where the system is
        not stable, so that nothing follows from them.
    why_not
        What speaks against it, in words; empty where the system is strictly positive real.
    """

    poles: tuple[complex, ...]
    crossings: tuple[float, ...]
    least: float
    frequency: float
    why_not: str

    @property
    def stable(self) -> bool:
        """Whether all poles have negative real parts, beyond rounding."""
        return not math.isnan(self.least)

    @property
    def strict(self) -> bool:
        """Whether it is strictly positive real."""
        return not self.why_not


def positive_realness(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, D: ArrayLike | None = None
) -> PositiveRealness:
    """Return whether G(s) = C (s I - A)^-1 B + D is strictly positive real, and where it is not.

    Sign changes of the Hermitian part are eigenvalues on the imaginary axis of the pencil whose determinant
    is that of G(s) + G(-s)^T, so none between two points of a grid is missed. At infinity the leading terms
    decide: D + D^T where there is a D, else C B and -(C A B + (C A B)^T). Wagg 2001, eq. 11 has no D.

    Parameters
    ----------
    A, B, C, D
        Matrices, with as many inputs as outputs; D = 0 where none is given, otherwise D + D^T of full rank.

    Examples
    --------
    An oscillator whose output is velocity plus a share of the displacement is passive up to the share c/m:

    >>> A, B = [[0, 1], [-1, -0.1]], [[0], [1]]
    >>> positive_realness(A, B, [[0.05, 1]]).strict
    True
    >>> result = positive_realness(A, B, [[400, 1]])
    >>> result.why_not
    'its real part falls to -1900, at 1.049 rad/s'
    >>> [round(omega, 4) for omega in result.crossings]
    [1.0001]
    """
    system = _System(*_matrices(A, B, C, D))
    poles = np.linalg.eigvals(system.A)
    unit = system.unit
    seen = tuple(complex(unit * p) for p in poles)
    if poles.real.max() > -tolerances.ROUNDED_SHARE:
        worst = max(seen, key=lambda p: p.real)
        words = f"it is not stable: it has a pole at {worst:.3g} rad/s"
        return PositiveRealness(seen, (), math.nan, math.nan, words)
    zeros = system.zeros()
    places = np.abs(np.concatenate([poles, zeros]))
    least, at = _lowest(system.least, places)
    weighted, where = _lowest(system.weighted, places)
    if system.limit < weighted:
        weighted, where = system.limit, math.inf
    if not system.proper and weighted >= -tolerances.ROUNDED_SHARE * system.size:
        least, at = 0.0, math.inf
    elif system.proper and system.limit < least:
        least, at = system.limit, math.inf
    why_not = ""
    if system.lagging:
        why_not = "C B is not symmetric and positive, so its phase leaves 90 degrees as the frequency grows"
    elif weighted < -tolerances.ROUNDED_SHARE * system.size and math.isinf(at):
        why_not = f"its real part tends to {least:.4g} as the frequency grows"
    elif weighted < -tolerances.ROUNDED_SHARE * system.size:
        why_not = f"its real part falls to {least:.4g}, at {unit * at:.4g} rad/s"
    elif weighted <= tolerances.ROUNDED_SHARE * system.size:
        why_not = (
            "its real part vanishes too fast as the frequency grows"
            if math.isinf(where) or where > 10 * max(places)
            else f"its real part is zero at {unit * where:.4g} rad/s"
        )
    crossings = _sign_changes(system.weighted, zeros)
    return PositiveRealness(seen, tuple(unit * w for w in crossings), least, unit * at, why_not)


def _matrices(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, D: ArrayLike | None
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """Return the matrices as arrays whose shapes fit, or say what does not."""
    A, B, C = (np.atleast_2d(np.asarray(M, dtype=float)) for M in (A, B, C))
    n, m = B.shape
    D = np.zeros((m, m)) if D is None else np.atleast_2d(np.asarray(D, dtype=float))
    if A.shape != (n, n) or C.shape != (m, n) or D.shape != (m, m) or not n or not m:
        raise InputError(
            "positive_realness: expected A n x n, B n x m, C m x n and D m x m, with as many inputs as "
            f"outputs; found {A.shape}, {B.shape}, {C.shape} and {D.shape}"
        )
    if not all(np.isfinite(M).all() for M in (A, B, C, D)):
        raise InputError("positive_realness: expected finite numbers in A, B, C and D")
    if not (B.any() and C.any()) and not D.any():
        raise InputError("positive_realness: the system has no output: C (s I - A)^-1 B + D is zero")
    return A, B, C, D


class _System:
    """The system on the imaginary axis, with frequencies as shares of its fastest one, `unit`."""

    def __init__(self, A: Matrix, B: Matrix, C: Matrix, D: Matrix) -> None:
        from scipy.linalg import matrix_balance

        # States of like sizes: a chain of derivatives with poles at -400 has entries of 1 and 400^n.
        balanced, T = matrix_balance(A)
        self.unit = float(np.abs(np.linalg.eigvals(balanced)).max()) or 1.0
        self.A, self.B = balanced / self.unit, np.linalg.solve(T, B) / self.unit
        self.C, self.D = C @ T, D
        self.proper = bool(D.any())
        CB, CAB = self.C @ self.B, self.C @ self.A @ self.B
        high = (D + D.T) / 2 if self.proper else -(CAB + CAB.T) / 2
        # Of the terms, not of their sum: what is left of a sum may be rounding alone.
        terms = np.abs(D) if self.proper else np.abs(self.C) @ np.abs(self.A) @ np.abs(self.B)
        self.size = float(terms.max())
        self.limit = float(np.linalg.eigvalsh(high)[0])
        if self.proper and np.abs(np.linalg.eigvalsh(high)).min() <= tolerances.ROUNDED_SHARE * self.size:
            raise InputError(
                "positive_realness: D is not zero, yet D + D^T is not of full rank; leave it out"
            )
        parts = float((np.abs(self.C) @ np.abs(self.B)).max())
        skew = np.abs(CB - CB.T).max() > tolerances.ROUNDED_SHARE * parts
        self.lagging = not self.proper and bool(
            skew or np.linalg.eigvalsh(CB)[0] <= tolerances.ROUNDED_SHARE * parts
        )

    def least(self, omegas: ArrayLike) -> NDArray[np.float64]:
        """Return the least eigenvalue of the Hermitian part at each frequency."""
        s = 1j * np.asarray(omegas, dtype=float)[..., None, None]
        G = self.C @ np.linalg.solve(s * np.eye(len(self.A)) - self.A, self.B) + self.D
        return np.asarray(np.linalg.eigvalsh((G + G.conj().swapaxes(-1, -2)) / 2)[..., 0])

    def weighted(self, omegas: ArrayLike) -> NDArray[np.float64]:
        """Return it times 1 + omega^2 where D = 0, so that it does not vanish at infinity."""
        return self.least(omegas) * (1.0 if self.proper else 1 + np.square(omegas))

    def zeros(self) -> NDArray[np.complex128]:
        """Return the finite zeros of det(G(s) + G(-s)^T)."""
        from scipy.linalg import eig

        A, B, C, D = self.A, self.B, self.C, self.D
        n = len(A)
        none = np.zeros((n, n))
        M = np.block([[A, none, B], [none, -A.T, -C.T], [C, B.T, D + D.T]])
        N = np.zeros_like(M)
        N[: 2 * n, : 2 * n] = np.eye(2 * n)
        upper, lower = eig(M, N, right=False, homogeneous_eigvals=True)
        finite = np.abs(lower) > 1e-6 * np.abs(upper)  # those at infinity come out merely large
        return np.asarray(upper[finite] / lower[finite], dtype=complex)


def _lowest(
    f: Callable[[ArrayLike], NDArray[np.float64]], places: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the least value of a function of the frequency, and where: on a grid, then refined."""
    from scipy.optimize import minimize_scalar

    own = places[places > 0]
    low, high = (math.log10(x) for x in (own.min(initial=1.0), own.max(initial=1.0)))
    points = np.logspace(
        low - tolerances.FREQUENCY_DECADES, high + tolerances.FREQUENCY_DECADES, tolerances.FREQUENCY_POINTS
    )
    grid = np.array([0.0, *own, *points])
    values = f(grid)
    k = int(np.argmin(values))
    if grid[k] > 0:  # own frequencies stand beside each other: the next ones of the even grid enclose it
        ratio = points[1] / points[0]
        bounds = (grid[k] / ratio, grid[k] * ratio)
        fine = minimize_scalar(
            lambda w: float(f(w)), bounds=bounds, method="bounded", options={"xatol": 1e-9 * grid[k]}
        )
        if fine.fun < values[k]:
            return float(fine.fun), float(fine.x)
    return float(values[k]), float(grid[k])


def _sign_changes(
    f: Callable[[ArrayLike], NDArray[np.float64]], zeros: NDArray[np.complex128]
) -> list[float]:
    """Return the frequencies above zero at which a function changes its sign."""
    # A double zero, which only touches, is found to the root of the rounding and need not lie on the axis.
    near = np.abs(zeros.real) < 1e-6 * np.abs(zeros)
    omegas = np.unique(np.abs(zeros[near].imag))
    omegas = omegas[omegas > 0]
    apart = omegas[np.append(True, np.diff(omegas) > 1e-6 * omegas[1:])] if len(omegas) else omegas
    between = [0.0, *np.sqrt(apart[:-1] * apart[1:]), 10 * apart[-1]] if len(apart) else [0.0]
    signs = (f(between) > 0).tolist()
    return [float(w) for w, (a, b) in zip(apart, pairwise(signs), strict=True) if a != b]
