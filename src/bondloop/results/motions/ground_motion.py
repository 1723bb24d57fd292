"""A ground motion: its record, corrected and scaled; as signals, and what it would do to oscillators."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import Parameter, number, si_array
from bondloop.errors import InputError
from bondloop.results.motions.response_spectra import (
    ResponseSpectrum,
    checked_periods,
    loglog,
    response_spectrum,
)
from bondloop.results.motions.units import STANDARD_GRAVITY
from bondloop.signals import Recorded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray


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
        if isinstance(target, ResponseSpectrum):
            T, S, damping = target.periods, target.pseudo_acceleration, target.damping
        else:
            lines = {number(t, "target", "s"): number(s, "target", "m/s^2") for t, s in target.items()}
            T = checked_periods(sorted(lines))
            S = np.array([lines[t] for t in sorted(lines)])
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
