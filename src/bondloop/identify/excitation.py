"""What to drive a rig with: a plan of stepped sines, and multisines of low crest.

Steps, sweeps, noise and single sines are in ``bondloop.signals``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.data.described import number
from bondloop.display import brief
from bondloop.errors import InputError
from bondloop.program.signals import Sine, SumOfSines

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PlannedPoint", "SteppedSinePlan", "multisine", "stepped_sine_plan"]


@dataclass(frozen=True)
class PlannedPoint:
    """One sine of a stepped-sine test: settle for whole periods, then measure whole periods.

    Attributes
    ----------
    frequency, amplitude
        Of the sine, [Hz] and the unit of the input.
    first
        Number of its first sample in the whole plan.
    settling, samples
        Samples to let pass, and samples in all.
    periods
        Whole periods measured.

    Examples
    --------
    >>> point = PlannedPoint(frequency=5.0, amplitude=1e-3, first=0, settling=400, samples=1400, periods=5)
    >>> (point.samples - point.settling) / point.periods  # samples a period
    200.0
    """

    frequency: float
    amplitude: float
    first: int
    settling: int
    samples: int
    periods: int

    @property
    def signal(self) -> Sine:
        """The sine, from phase zero at the start of the point."""
        return Sine(self.amplitude, self.frequency)


@dataclass(frozen=True)
class SteppedSinePlan:
    """A stepped-sine test, point after point.

    Parameters
    ----------
    points
        One for each pair of frequency and amplitude, in the order in which they are run.
    sample_period
        In s.

    Examples
    --------
    >>> plan = stepped_sine_plan([5, 10], ["1 mm", "2 mm"], settling=0.5, periods=8, rate=1000)
    >>> len(plan), plan.duration, [point.samples for point in plan]
    (4, 7.0, [2200, 1300, 2200, 1300])
    """

    points: tuple[PlannedPoint, ...]
    sample_period: float

    __repr__ = brief

    def __iter__(self) -> Iterator[PlannedPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def duration(self) -> float:
        """Seconds that all the points take together."""
        last = self.points[-1]
        return float(f"{(last.first + last.samples) * self.sample_period:.12g}")

    def samples(self) -> NDArray[np.float64]:
        """Return the whole input, sampled, shape (n,): the sines one after another, each from phase zero."""
        return np.concatenate(
            [point.signal(np.arange(point.samples) * self.sample_period) for point in self.points]
        )


def stepped_sine_plan(
    frequencies: Sequence[float | str],
    amplitudes: Sequence[float | str],
    settling: float | str,
    periods: int,
    rate: float | str,
) -> SteppedSinePlan:
    """Return the points of a stepped-sine test, all frequencies at the first amplitude, then at the next.

    Parameters
    ----------
    frequencies, amplitudes
        Of the sines, as numbers in SI or texts with units.
    settling
        Least time [s] to let pass before measuring; made up to whole periods.
    periods
        Whole periods to measure at each point.
    rate
        Sample rate [Hz].
    """
    tones = [number(value, "stepped_sine_plan(frequencies)") for value in frequencies]
    sizes = [number(value, "stepped_sine_plan(amplitudes)") for value in amplitudes]
    wait, speed = number(settling, "stepped_sine_plan(settling)"), number(rate, "stepped_sine_plan(rate)")
    if not tones or not sizes:
        raise InputError("a stepped-sine plan needs at least one frequency and one amplitude")
    if min(tones) <= 0 or max(tones) >= 0.49 * speed:
        raise InputError(
            f"frequencies must lie between 0 and half the sample rate ({0.5 * speed:g} Hz); found "
            f"{min(tones):g} to {max(tones):g} Hz"
        )
    if min(sizes) <= 0:
        raise InputError(f"amplitudes must be positive; found {min(sizes):g}")
    if wait < 0 or int(periods) < 1:
        raise InputError(f"settling must not be negative and periods at least 1; found {wait:g} s, {periods}")
    points: list[PlannedPoint] = []
    first = 0
    for amplitude in sizes:
        for frequency in tones:
            waiting = math.ceil(wait * frequency - 1e-9)
            total = math.ceil((waiting + int(periods)) * speed / frequency - 1e-9)
            settled = round(waiting * speed / frequency)
            points.append(PlannedPoint(frequency, amplitude, first, settled, total, int(periods)))
            first += total
    return SteppedSinePlan(tuple(points), 1 / speed)


def multisine(
    lowest: float | str, highest: float | str, period: float | str, rms: float | str = 1.0
) -> SumOfSines:
    """Return a periodic signal with equal lines at every multiple of 1/period from `lowest` to `highest`.

    The phases are Schroeder's, φ_k = −π k (k − 1)/n, which keep the peaks low: below 2 times the rms, where
    random phases give 3 and more.

    Parameters
    ----------
    lowest, highest
        The band [Hz].
    period
        Of the whole signal [s]; the lines are 1/period apart.
    rms
        Root mean square, in the unit of the input.

    References
    ----------
    Schroeder (1970), Synthesis of low-peak-factor signals and binary sequences with low autocorrelation.

    Examples
    --------
    >>> wave = multisine(1, 50, period=4, rms="1 mm")
    >>> samples = wave(np.arange(4000) * 1e-3)
    >>> (
    ...     len(wave.frequencies),
    ...     round(float(samples.std()), 9),
    ...     round(float(abs(samples).max() / samples.std()), 2),
    ... )
    (197, 0.001, 1.8)
    """
    low, high = number(lowest, "multisine(lowest)"), number(highest, "multisine(highest)")
    T, size = number(period, "multisine(period)"), number(rms, "multisine(rms)")
    if not (0 < low < high and T > 0 and size > 0):
        raise InputError(
            f"a multisine needs 0 < lowest < highest, a period and an rms above 0; found {low:g}, {high:g} "
            f"Hz, {T:g} s, {size:g}"
        )
    orders = np.arange(math.ceil(low * T - 1e-9), math.floor(high * T + 1e-9) + 1)
    n = orders.size
    if n < 1:
        raise InputError(
            f"no multiple of 1/period = {1 / T:g} Hz lies in {low:g} to {high:g} Hz; take a longer period"
        )
    k = np.arange(1, n + 1)
    phases = np.mod(-np.pi * k * (k - 1) / n, 2 * np.pi)
    amplitude = size * math.sqrt(2 / n)
    return SumOfSines((amplitude,) * n, tuple((orders / T).tolist()), tuple(phases.tolist()))
