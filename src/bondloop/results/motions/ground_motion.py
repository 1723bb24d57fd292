"""A ground motion: its record, corrected and scaled, as signals; and response spectra of accelerations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import POSITIVE, Parameter, Range, number, si_array
from bondloop.errors import InputError
from bondloop.results.motions.units import STANDARD_GRAVITY
from bondloop.signals import Recorded

if TYPE_CHECKING:
    from collections.abc import Mapping

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

    @staticmethod
    def lines_of(
        target: ResponseSpectrum | Mapping[float | str, float | str] | Mapping[float, float],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return periods and pseudo-accelerations of a spectrum, or of a table of them.

        Parameters
        ----------
        target
            A spectrum, or accelerations by period.
        """
        if isinstance(target, ResponseSpectrum):
            return target.periods, target.pseudo_acceleration
        lines = {number(t, "target", "s"): number(s, "target", "m/s^2") for t, s in target.items()}
        return checked_periods(sorted(lines)), np.array([lines[t] for t in sorted(lines)])

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


# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class


@dataclass(frozen=True, eq=False, repr=False)
class GroundMotion:
    """A recorded ground motion with even samples.

    Parameters
    ----------
    samples
        Ground acceleration as it was recorded [m/s²], shape (n,).
    sample_period
        Seconds between samples.
    title
        What the file says of the event, the station and the component.
    header
        The header lines as they stand in the file.
    baseline, corner, scale, before
        How the record is corrected and what it is multiplied by, as for the signal `Recorded`; `corrected`
        and `scaled` set them.

    Examples
    --------
    >>> t = np.arange(500) * 0.01
    >>> motion = GroundMotion(0.1 + np.sin(10 * t) * np.exp(-t), 0.01, "a sine on an offset")
    >>> motion
    <GroundMotion 'a sine on an offset': peak 0.959 m/s² (0.0977 gn), 4.99 s, every 0.01 s; baseline none...>
    >>> motion.corrected("linear").scaled(peak="0.3 gn").velocity()
    <Recorded: velocity of 'a sine on an offset', 4.99 s, peak 0.555 m/s; baseline linear, scale 3.755>
    """

    samples: NDArray[np.float64]
    sample_period: Parameter = Parameter(above=0, unit="s")
    title: str = ""
    header: tuple[str, ...] = field(default=(), repr=False)
    baseline: str = "none"
    corner: Parameter = Parameter(0.1, above=0, unit="Hz")
    scale: Parameter = Parameter(1.0, unit="1")
    before: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        signal = self.acceleration()  # which checks all that is given
        object.__setattr__(self, "samples", signal.samples)
        object.__setattr__(self, "before", signal.before)
        if not 0 < signal.duration < np.inf:
            raise InputError(
                f"a ground motion has at least two samples and a finite length; found {len(self.samples)} "
                f"every {self.sample_period:g} s"
            )

    def acceleration(self) -> Recorded:
        """Return the acceleration of the ground as a signal."""
        return self._signal("acceleration")

    def velocity(self) -> Recorded:
        """Return the velocity of the ground as a signal, for a source that imposes a velocity."""
        return self._signal("velocity")

    def displacement(self) -> Recorded:
        """Return the displacement of the ground as a signal."""
        return self._signal("displacement")

    def _signal(self, motion: str) -> Recorded:
        return Recorded(
            self.samples,
            self.sample_period,
            motion,
            self.baseline,
            self.corner,
            self.scale,
            self.title,
            self.before,
        )

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Acceleration at the samples, corrected and scaled [m/s²]."""
        return self.acceleration().values

    @property
    def time(self) -> NDArray[np.float64]:
        """Sample times from 0 [s], those that a filter added included."""
        return np.arange(self.values.size, dtype=np.float64) * self.sample_period

    @property
    def peak(self) -> float:
        """Peak ground acceleration [m/s²]."""
        return float(np.abs(self.values).max(initial=0.0))

    def corrected(self, baseline: str = "linear", corner: float | str = 0.1) -> GroundMotion:
        """Return the motion with its baseline corrected; after those made before, which all stay recorded.

        Parameters
        ----------
        baseline
            ``"constant"``, ``"linear"`` or ``"high-pass"``, as for the signal `Recorded`; or ``"none"``.
        corner
            Of the high-pass filter [Hz].
        """
        frequency = number(corner, "corrected(corner)", "Hz")
        if baseline == "none":
            return self
        before = self.before if self.baseline == "none" else (*self.before, (self.baseline, self.corner))
        return replace(self, baseline=baseline, corner=frequency, before=before)

    def scaled(self, factor: float | None = None, *, peak: float | str | None = None) -> GroundMotion:
        """Return the motion multiplied by a factor, or scaled to a peak acceleration.

        Parameters
        ----------
        factor
            What it is multiplied by.
        peak
            Peak acceleration to have instead [m/s²], or as text: ``"0.3 gn"``.
        """
        if (factor is None) == (peak is None):
            raise InputError("scaled: give a factor, or peak=, one of the two")
        if peak is None:
            return replace(self, scale=self.scale * number(factor, "scaled(factor)", "1"))
        wanted = number(peak, "scaled(peak)", "m/s^2")
        if not (wanted > 0 and self.peak > 0):
            raise InputError(
                f"scaled(peak): a peak of {self.peak:g} m/s² cannot become {wanted:g}; both must be above 0"
            )
        return replace(self, scale=self.scale * wanted / self.peak)

    def scaled_to(
        self,
        target: ResponseSpectrum | Mapping[float | str, float | str] | Mapping[float, float],
        periods: tuple[float | str, float | str] | None = None,
        damping: float | str = 0.05,
    ) -> GroundMotion:
        """Return the motion scaled to a target spectrum.

        The factor makes the mean of ln(S_target / S) over the periods zero, which is the least-squares fit
        on logarithmic axes. The shape of the spectrum stays as it is.

        Parameters
        ----------
        target
            A response spectrum, whose damping then counts, or pseudo-accelerations [m/s²] by period [s];
            texts with units are taken for both.
        periods
            Where to fit, from and to [s]; all of the target unless given.
        damping
            Ratio of a target given by numbers.
        """
        T, S = ResponseSpectrum.lines_of(target)
        damping = target.damping if isinstance(target, ResponseSpectrum) else damping
        if not (np.isfinite(S).all() and S.min() > 0):
            raise InputError("scaled_to: a target spectrum has positive accelerations")
        low, high = (
            (T[0], T[-1]) if periods is None else si_array(periods, "scaled_to(periods)", "s").tolist()
        )
        if not T[0] <= low <= high <= T[-1]:
            raise InputError(
                f"scaled_to(periods): the target has {T[0]:g} to {T[-1]:g} s; found {low:g} to {high:g} s"
            )
        grid = np.geomspace(low, high, 50) if high > low else np.array([low])
        own = self.spectrum(grid, damping).pseudo_acceleration
        if not own.min() > 0:
            raise InputError("scaled_to: this motion has no response to scale; is it all zero?")
        return replace(self, scale=self.scale * float(np.exp(np.mean(np.log(loglog(T, S, grid) / own)))))

    def spectrum(self, periods: ArrayLike | None = None, damping: float | str = 0.05) -> ResponseSpectrum:
        """Return its response spectrum.

        Parameters
        ----------
        periods
            Natural periods [s] or texts, increasing; 100 from 0.02 to 10 s unless given.
        damping
            Ratio.
        """
        return response_spectrum(self.values, self.sample_period, periods, damping)

    def __repr__(self) -> str:
        """Say what it is without its samples."""
        named = f" '{self.title}'" if self.title else ""
        return (
            f"<GroundMotion{named}: peak {self.peak:.3g} m/s² ({self.peak / STANDARD_GRAVITY:.3g} gn), "
            f"{self.acceleration().duration:g} s, every {self.sample_period:g} s; "
            f"baseline {self.acceleration().corrections}, scale {self.scale:.4g}>"
        )

    @property
    def arias_intensity(self) -> float:
        """Arias intensity [m/s]: π/2g ∫ a² dt, exact for an acceleration that is linear between samples."""
        return float(np.pi / (2 * STANDARD_GRAVITY) * self._energy[-1])

    def significant_duration(self, start: float = 0.05, end: float = 0.95) -> float:
        """Return the seconds in which the Arias intensity grows from one part of the whole to another.

        Parameters
        ----------
        start, end
            Parts of the whole, from 0 to 1.
        """
        first, last = self.significant_times(start, end)
        return last - first

    def significant_times(self, start: float = 0.05, end: float = 0.95) -> tuple[float, float]:
        """Return the times [s] at which the Arias intensity reaches two parts of the whole.

        Parameters
        ----------
        start, end
            Parts of the whole, from 0 to 1.
        """
        if not 0 <= start < end <= 1:
            raise InputError(
                f"expected parts of the Arias intensity, 0 <= start < end <= 1; found {start}, {end}"
            )
        if not self._energy[-1] > 0:
            return 0.0, 0.0
        # The last sample of each level but the last level: silence at either end belongs to neither part.
        grown = self._energy / self._energy[-1]
        rising = np.flatnonzero(np.diff(grown) > 0)
        kept = np.append(rising, rising[-1] + 1)
        first, last = np.interp([start, end], grown[kept], self.time[kept])
        return float(first), float(last)

    @cached_property
    def _energy(self) -> NDArray[np.float64]:
        """∫ a² dt up to each sample: h/3 (a₀² + a₀a₁ + a₁²) each."""
        a, b = self.values[:-1], self.values[1:]
        return np.concatenate([[0.0], np.cumsum(self.sample_period / 3 * (a * a + a * b + b * b))])
