"""Response spectra by the exact recursion for accelerations that are linear between samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import POSITIVE, Range, si_array
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class ResponseSpectrum:
    """Peak responses of oscillators on a moving ground.

    Attributes
    ----------
    periods
        Natural periods in s, shape (n,).
    damping
        Their damping ratio.
    displacement, velocity
        Largest displacement in m and velocity in m/s relative to the ground, shape (n,).
    acceleration
        Largest absolute acceleration in m/s², shape (n,).
    """

    periods: NDArray[np.float64]
    damping: float
    displacement: NDArray[np.float64]
    velocity: NDArray[np.float64]
    acceleration: NDArray[np.float64]

    __repr__ = brief

    @property
    def pseudo_velocity(self) -> NDArray[np.float64]:
        """ω times the displacement, in m/s."""
        return np.asarray(2 * np.pi / self.periods * self.displacement)

    @property
    def pseudo_acceleration(self) -> NDArray[np.float64]:
        """ω² times the displacement, in m/s²: what design spectra show."""
        return np.asarray((2 * np.pi / self.periods) ** 2 * self.displacement)

    def at(self, period: ArrayLike) -> NDArray[np.float64]:
        """Return the pseudo-acceleration at a ``period`` in s, linear between logarithms; refused outside."""
        return loglog(self.periods, self.pseudo_acceleration, si_array(period, "at(period)", "s"))


def loglog(x: NDArray[np.float64], y: NDArray[np.float64], at: ArrayLike) -> NDArray[np.float64]:
    """Interpolate linearly between logarithms; refuse what lies outside.

    >>> loglog(np.array([1.0, 100.0]), np.array([2.0, 200.0]), 10.0).round(9).tolist()
    20.0
    """
    wanted = np.asarray(at, dtype=float)
    if wanted.size and not (wanted.min() >= x[0] * (1 - 1e-12) and wanted.max() <= x[-1] * (1 + 1e-12)):
        raise InputError(
            f"periods from {x[0]:g} to {x[-1]:g} s are known; found {wanted.min():g} to {wanted.max():g} s"
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(np.interp(np.log(wanted), np.log(x), np.log(y))))


def checked_periods(periods: ArrayLike | None) -> NDArray[np.float64]:
    """Return increasing positive periods; 100 from 0.02 to 10 s unless given."""
    if periods is None:
        return np.geomspace(0.02, 10.0, 100)
    T = np.atleast_1d(si_array(periods, "periods", "s"))
    if T.ndim != 1 or not T.size or not np.all(np.isfinite(T)) or np.any(T <= 0) or np.any(np.diff(T) <= 0):
        raise InputError(f"periods: expected increasing times above 0 in s; found {periods!r:.60}")
    return T


def response_spectrum(
    acceleration: ArrayLike,
    sample_period: float | str,
    periods: ArrayLike | None = None,
    damping: float | str = 0.05,
) -> ResponseSpectrum:
    """Return the response spectrum of an acceleration of the ground, or of a floor.

    Each oscillator x'' + 2ζω x' + ω² x = -a starts from rest; from sample to sample its motion is exact for
    an acceleration that is linear between them (Nigam and Jennings 1969). The peak between two steps is that
    of the parabola by displacement and velocities. Half a period of free vibration after the end counts too.

    Parameters
    ----------
    acceleration
        In m/s², shape (n,).
    sample_period
        Seconds between samples, or text: ``"5 ms"``.
    periods
        Natural periods in s or as texts, increasing; 100 from 0.02 to 10 s unless given.
    damping
        Ratio, from 0 to below 1, or text: ``"5 %"``.

    Examples
    --------
    A sudden, lasting push: without damping the spring stretches to twice the static stretch.

    >>> spectrum = response_spectrum(np.ones(1001), 0.01, [0.5, 1.0, 2.0], damping=0.0)
    >>> spectrum.pseudo_acceleration.round(4).tolist()
    [2.0, 2.0, 2.0]
    """
    a = np.asarray(acceleration, dtype=float)
    if a.ndim != 1 or a.size < 2 or not np.isfinite(a).all():
        raise InputError("a response spectrum needs an acceleration of at least two finite samples")
    h = POSITIVE.check(sample_period, "sample_period", "s")
    zeta = Range(least=0.0, below=1.0).check(damping, "damping", "1")
    T = checked_periods(periods)
    peaks = np.array([_peaks(a, h, float(period), zeta) for period in T])
    return ResponseSpectrum(T, zeta, *peaks.T)


def _peaks(
    a: NDArray[np.float64],
    h: float,
    period: float,
    zeta: float,
    *,
    in_period: int = 40,
    in_sample: int = 4,
    most: int = 50_000_000,
) -> tuple[float, float, float]:
    """Largest relative displacement and velocity and absolute acceleration of one oscillator.

    Samples are divided until a period has at least `in_period` steps, which changes nothing where
    accelerations are linear, and a sample `in_sample`: velocities bend within it, and peaks lie between.
    """
    from scipy import signal

    parts = max(in_sample, int(np.ceil(in_period * h / period)))
    silence = int(np.ceil(0.5 * period / np.sqrt(1 - zeta**2) / (h / parts))) + 1
    if a.size * parts + silence > most:
        raise InputError(f"a period of {period:g} s needs more than {most:,} steps for this record")
    a = np.interp(np.arange((a.size - 1) * parts + 1) / parts, np.arange(a.size), a)
    h /= parts
    omega = 2 * np.pi / period
    A, b0, b1 = _step(omega, zeta, h)
    # s' = A s + b0 a + b1 a': with w = s - b1 a this is an ordinary filter, w' = A w + (A b1 + b0) a.
    denominator = np.array([1.0, -np.trace(A), np.linalg.det(A)])
    c = A @ b1 + b0
    # z-transform of w: (zI - A)⁻¹ c, the adjoint of (zI - A) being [[z - A11, A01], [A10, z - A00]].
    adjoint = np.array([[c[0], A[0, 1] * c[1] - A[1, 1] * c[0]], [c[1], A[1, 0] * c[0] - A[0, 0] * c[1]]])
    x, v = (signal.lfilter(np.append(0.0, adjoint[i]), denominator, a) + b1[i] * a for i in range(2))
    # The filter starts with w = 0, the oscillator with s = 0: w = -b1 a[0], which rings down freely.
    free = _ringing(-b1 * a[0], omega, zeta, h * np.arange(a.size, dtype=np.float64))
    x, v = x + free[0], v + free[1]
    # After the record the acceleration is zero, at once: free vibration from where it ended.
    after = _ringing(np.array([x[-1], v[-1]]), omega, zeta, h * np.arange(silence, dtype=np.float64))
    within, beyond = _largest(x, v, a, omega, zeta, h), _largest(*after, np.zeros(silence), omega, zeta, h)
    return max(within[0], beyond[0]), max(within[1], beyond[1]), max(within[2], beyond[2])


def _largest(
    x: NDArray[np.float64],
    v: NDArray[np.float64],
    a: NDArray[np.float64],
    omega: float,
    zeta: float,
    h: float,
) -> tuple[float, float, float]:
    relative = -a - 2 * zeta * omega * v - omega**2 * x
    absolute = -2 * zeta * omega * v - omega**2 * x
    jerk = -2 * zeta * omega * relative - omega**2 * v
    return _peak(x, v, h), _peak(v, relative, h), _peak(absolute, jerk, h)


def _step(
    omega: float, zeta: float, h: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return A, b0, b1 with s(t + h) = A s(t) + b0 a(t) + b1 a(t + h), exact for a linear acceleration.

    By the exponential of the matrix: Nigam and Jennings's closed forms lose digits for small ωh.
    """
    from scipy import linalg

    whole = np.zeros((4, 4))
    whole[:2, :2] = [[0.0, 1.0], [-(omega**2), -2 * zeta * omega]]
    whole[1, 2], whole[2, 3] = -1.0, 1 / h  # the acceleration, and its slope for a rise of one
    e = linalg.expm(whole * h)
    return e[:2, :2], e[:2, 2] - e[:2, 3], e[:2, 3]


def _ringing(
    start: NDArray[np.float64], omega: float, zeta: float, t: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Free vibration from a displacement and a velocity."""
    x0, v0 = start
    damped = omega * np.sqrt(1 - zeta**2)
    decay, c, s = np.exp(-zeta * omega * t), np.cos(damped * t), np.sin(damped * t)
    b = (v0 + zeta * omega * x0) / damped
    x = decay * (x0 * c + b * s)
    return x, decay * damped * (b * c - x0 * s) - zeta * omega * x


def _peak(x: NDArray[np.float64], rate: NDArray[np.float64], h: float) -> float:
    """Largest magnitude, between samples too: where the rate changes sign it is taken for linear."""
    first, second = rate[:-1], rate[1:]
    turns = first * second < 0
    between = x[:-1][turns] + first[turns] ** 2 * h / (2 * (first[turns] - second[turns]))
    return float(max(np.abs(x).max(), np.abs(between).max(initial=0.0)))
