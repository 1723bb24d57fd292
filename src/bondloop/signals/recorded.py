"""A ground motion that was recorded: its acceleration, velocity or displacement, corrected and scaled."""
# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.analysis.simulation import checked_column
from bondloop.engine.data import Parameter, number
from bondloop.errors import InputError
from bondloop.signals.base import Signal
from bondloop.signals.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray


BASELINES = ("none", "constant", "linear", "high-pass")
"""Ways to correct an acceleration."""


def integrated(a: NDArray[np.float64], h: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Velocity and displacement from rest, exact for an acceleration that is linear between samples.

    >>> v, d = integrated(np.array([0.0, 1.0, 2.0]), 1.0)
    >>> v.tolist(), round(float(d[-1]), 12)
    ([0.0, 0.5, 2.0], 1.333333333333)
    """
    zero = np.zeros((1, *a.shape[1:]))
    v = np.concatenate([zero, np.cumsum(h / 2 * (a[:-1] + a[1:]), axis=0)])
    d = np.concatenate([zero, np.cumsum(h * v[:-1] + h**2 / 6 * (2 * a[:-1] + a[1:]), axis=0)])
    return v, d


def corrected(
    a: NDArray[np.float64],
    sample_period: float,
    baseline: str,
    corner: float,
    *,
    order: int = 2,
    most: int = 20_000_000,
) -> NDArray[np.float64]:
    """Return an acceleration with its baseline corrected.

    The constant and the line are those nearest to the acceleration (least squares). The high-pass filter is
    Butterworth's, run forwards and backwards over the record without its mean, which would be a step at
    either end, and with zeros before and after it, 1.5 · order / corner at either end (Converse and Brady
    1992; Boore 2005). What the filter puts there stays: to cut it off would bring back the drift. The answer
    is longer by as much.

    Parameters
    ----------
    a
        Acceleration, shape (n,).
    sample_period
        Seconds between samples.
    baseline
        One of `BASELINES`.
    corner, order
        Of the filter: its corner in Hz, and how steep it is.
    most
        Samples of a padded record, at most: 55 hours at 100 Hz.

    Examples
    --------
    >>> corrected(np.array([1.0, 2.0, 3.0]), 0.1, "constant", 1.0).tolist()
    [-1.0, 0.0, 1.0]
    """
    if baseline == "none":
        return a
    if baseline == "constant":
        return np.asarray(a - a.mean())
    if baseline == "linear":
        t = np.arange(a.size) - (a.size - 1) / 2
        slope = t @ a / (t @ t) if a.size > 1 else 0.0
        return np.asarray(a - a.mean() - slope * t)
    from scipy import signal

    if not 0 < 2 * corner * sample_period < 1:
        raise InputError(
            f"a high-pass filter at {corner:g} Hz: samples every {sample_period:g} s show frequencies below "
            f"{0.5 / sample_period:g} Hz; lower the corner"
        )
    pad = padding(sample_period, corner, order)
    if a.size + 2 * pad > most:
        raise InputError(
            f"a high-pass filter at {corner:g} Hz needs {pad * sample_period:g} s of silence before and "
            f"after the record, {a.size + 2 * pad:,} samples in all; at most {most:,} are filtered: "
            "raise the corner"
        )
    sections = signal.butter(order, corner, "highpass", fs=1 / sample_period, output="sos")
    # From rest both ways: the zeros at either end are what sosfiltfilt would guess otherwise.
    forwards = signal.sosfilt(sections, np.concatenate([np.zeros(pad), a - a.mean(), np.zeros(pad)]))
    return np.asarray(signal.sosfilt(sections, forwards[::-1])[::-1])


def padding(sample_period: float, corner: float, order: int = 2) -> int:
    """Return how many samples the high-pass filter adds at either end.

    >>> padding(0.01, 0.1)
    3000
    """
    return int(np.ceil(1.5 * order / (corner * sample_period) * (1 - 1e-12)))


MOTIONS = {"displacement": "m", "velocity": "m/s", "acceleration": "m/s^2"}
"""Unit of each motion, every one the rate of the one before."""


@dataclass(frozen=True, eq=False, repr=False)
class Recorded(Signal):
    """A recorded ground motion as a signal.

    The record is an acceleration with even samples, linear between them; velocity and displacement are its
    exact integrals from rest. They drift away unless the baseline is corrected, and how that was done stays
    in the description. After the end the ground stands still: acceleration and velocity are zero, the
    displacement stays.

    Parameters
    ----------
    samples
        Acceleration as it was recorded, in m/s².
    sample_period
        Seconds between samples.
    motion
        What the signal is: ``"acceleration"``, ``"velocity"`` or ``"displacement"``.
    baseline
        ``"none"``; ``"constant"`` takes away the mean acceleration, ``"linear"`` the line nearest to it;
        ``"high-pass"`` takes the mean away and filters with Butterworth's filter of second order, forwards
        and backwards, which makes the record longer by 3 / corner at either end.
    corner
        Of the filter, in Hz.
    scale
        What the motion is multiplied by.
    title
        Event, station, component.
    before
        Corrections that come before this one, in order: a baseline and a corner each.

    Examples
    --------
    >>> push = Recorded([0.0, 2.0, 0.0], 0.5, "velocity")
    >>> push([0.25, 0.5, 1.0, 2.0]).tolist()
    [0.125, 0.5, 1.0, 0.0]
    >>> push.unit, push.derivative()(0.5)
    ('m/s', 2.0)

    References
    ----------
    Boore (2005), On pads and filters, Bull. Seismol. Soc. Am. 95(2).
    """

    samples: Any
    sample_period: Parameter = Parameter(above=0, unit="s")
    motion: str = "acceleration"
    baseline: str = "none"
    corner: Parameter = Parameter(0.1, above=0, unit="Hz")
    scale: Parameter = Parameter(1.0, unit="1")
    title: str = ""
    before: Sequence[tuple[str, float]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", checked_column(self.samples, "Recorded(samples)"))
        for name, allowed in (("motion", tuple(MOTIONS)), ("baseline", BASELINES)):
            if getattr(self, name) not in allowed:
                expected = " or ".join(map(repr, allowed))
                raise InputError(f"Recorded({name}): expected {expected}; found {getattr(self, name)!r:.60}")
        if not isinstance(self.title, str):
            raise InputError(f"Recorded(title): expected a text; found {self.title!r:.60}")
        object.__setattr__(self, "before", tuple(_correction(step) for step in _listed(self.before)))

    def __repr__(self) -> str:
        """Say what it is without its samples."""
        named = f" of '{self.title}'" if self.title else ""
        peak = np.abs(self._values(self.times)).max()
        return (
            f"<Recorded: {self.motion}{named}, {self.duration:g} s, peak {peak:.3g} {self.unit}; "
            f"baseline {self.corrections}, scale {self.scale:.4g}>"
        )

    @property
    def corrections(self) -> str:
        """All corrections in words, in their order."""
        return ", then ".join(
            f"{baseline} ({corner:g} Hz)" if baseline == "high-pass" else baseline
            for baseline, corner in (*self.before, (self.baseline, self.corner))
        )

    @property
    def unit(self) -> str:
        """Of the motion."""
        return MOTIONS[self.motion]

    @property
    def duration(self) -> float:
        """The last time, what the filter added included."""
        return (len(self.values) - 1) * self.sample_period

    @property
    def steady_from(self) -> float:
        """The last time."""
        return self.duration

    @property
    def smoothness(self) -> float:
        """One for the acceleration, which is linear between samples; two and three for its integrals."""
        return {"acceleration": 1, "velocity": 2, "displacement": 3}[self.motion]

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of the samples from 0, in s."""
        return np.arange(len(self.values), dtype=float) * self.sample_period

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The corrected and scaled acceleration at the samples, in m/s²."""
        a: NDArray[np.float64] = self.samples
        for baseline, corner in (*self.before, (self.baseline, self.corner)):
            a = corrected(a, self.sample_period, baseline, corner)
        a = self.scale * a
        if not np.isfinite(a).all():
            raise InputError(f"Recorded: scaled by {self.scale:g} the acceleration is not finite")
        return a

    @cached_property
    def _integrals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return integrated(self.values, self.sample_period)

    def derivative(self) -> Signal:
        """Return the velocity of a displacement, the acceleration of a velocity, the slope of that."""
        names = list(MOTIONS)
        if self.motion != names[-1]:
            return replace(self, motion=names[names.index(self.motion) + 1])
        return Table(self.times, self.values, "linear", "zero", self.unit).derivative()

    def _values(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._derivatives(times, 0)

    def _derivatives(self, times: NDArray[np.float64], order: int) -> NDArray[np.float64]:
        level = list(MOTIONS).index(self.motion) + order
        if level > 2:
            return self._slopes(times) if level == 3 else np.zeros(np.shape(times))
        h, a = self.sample_period, self.values
        inside = np.clip(times, 0.0, self.duration)
        k = np.clip(np.floor(inside / h).astype(int), 0, max(len(a) - 2, 0))
        tau = inside - k * h
        slope = (a[np.minimum(k + 1, len(a) - 1)] - a[k]) / h
        v, d = self._integrals
        if level == 2:
            result = a[k] + tau * slope
        elif level == 1:
            result = v[k] + tau * (a[k] + tau / 2 * slope)
        else:
            result = d[k] + tau * (v[k] + tau / 2 * (a[k] + tau / 3 * slope))
            return np.asarray(result)
        return np.where(inside == times, result, 0.0)

    def _slopes(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        return Table(self.times, self.values, "linear", "zero").derivative()._values(times)


def _listed(steps: object) -> Sequence[object]:
    if isinstance(steps, Sequence) and not isinstance(steps, str):
        return steps
    raise InputError(f"Recorded(before): expected a list of corrections; found {steps!r:.60}")


def _correction(step: object) -> tuple[str, float]:
    """Return a correction as it was made before, checked."""
    baseline, corner = step if isinstance(step, (list, tuple)) and len(step) == 2 else ("", 0.0)
    if baseline not in BASELINES:
        raise InputError(
            f"Recorded(before): expected pairs such as ('constant', 0.1), a baseline and a corner in Hz; "
            f"found {step!r:.60}"
        )
    value = number(corner, "Recorded(before)", "Hz")
    if not value > 0:
        raise InputError(f"Recorded(before): expected a corner above 0 Hz; found {value:g}")
    return str(baseline), value
