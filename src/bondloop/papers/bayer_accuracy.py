"""How Bayer, Dorka and Füllekrug 2000 judge a test: by the heights of the peaks in the force's spectrum.

The paper's Figure 2 has three of them: the first two modes of the combined system, and the motion that the
base imposes at 19 Hz. Their heights are those of the Fourier transform of a transient that begins and ends at
rest, so the transform is interpolated by adding zeros: on the lines of a 4 s record, 0.25 Hz apart, a peak of
0.3 Hz width would lose up to a third of its height, and more or less of it as its frequency moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.compile import Runner
    from bondloop.hybrid import PseudoDynamicTest

__all__ = ["PEAKS", "Peak", "Rehearsals", "Rehearsed", "peak_errors", "peaks"]

PEAKS: dict[str, tuple[float, float]] = {
    "first_mode": (6.0, 8.5), "second_mode": (14.0, 17.3), "rigid_body": (18.2, 20.5)
}  # fmt: skip
"""Where each peak of Figure 2 is looked for, Hz."""

FINER = 16
"""Lines of the spectrum for every one that the record has by itself."""


@dataclass(frozen=True)
class Peak:
    """The highest line within a range of frequencies.

    Attributes
    ----------
    frequency
        In Hz.
    height
        In the unit of the signal, as `bayer_substep.spectrum` counts it.
    """

    frequency: float
    height: float


def peaks(values: NDArray[np.float64], sample_period: float) -> dict[str, Peak]:
    """Return the peaks of `PEAKS` in the spectrum of a transient.

    Examples
    --------
    A decaying sine of 1 N has the height 2/(T · 2 · rate) over T seconds: here 2/(8 · 4) N.

    >>> t = np.arange(0, 8, 0.001)
    >>> peak = peaks(np.exp(-2 * t) * np.sin(2 * np.pi * 15.8 * t), 0.001)["second_mode"]
    >>> print(f"{peak.frequency:.2f} Hz, {peak.height:.4f} N")
    15.80 Hz, 0.0625 N
    """
    count = FINER * values.size
    lines = np.abs(np.fft.rfft(values, count)) * 2 / values.size
    frequencies = np.arange(lines.size) / (count * sample_period)
    highest = {}
    for name, (low, high) in PEAKS.items():
        (inside,) = np.nonzero((frequencies >= low) & (frequencies <= high))
        if not inside.size:  # sampled too slowly, or a moment long
            highest[name] = Peak(float("nan"), float("nan"))
            continue
        top = inside[np.argmax(lines[inside])]
        highest[name] = Peak(float(frequencies[top]), float(lines[top]))
    return highest


def peak_errors(
    measured: NDArray[np.float64], exact: NDArray[np.float64], sample_period: float
) -> dict[str, float]:
    """Return the relative errors of the heights of the measured force's peaks.

    >>> force = np.sin(2 * np.pi * 7 * np.arange(0, 4, 0.004))
    >>> round(peak_errors(0.9 * force, force, 0.004)["first_mode"], 3)
    -0.1
    """
    ours, theirs = peaks(measured, sample_period), peaks(exact, sample_period)
    return {name: ours[name].height / theirs[name].height - 1 for name in PEAKS}


@dataclass(frozen=True)
class Rehearsed:
    """One rehearsal: the measured coupling force and the exact one.

    Attributes
    ----------
    force, exact
        In N, a value a time step.
    period
        Time step in s.
    growth
        Of the fastest-growing motion of one step, 1/s, and its frequency in Hz; below zero it decays.
    frequency
        See ``growth``.
    stable
        Whether all motions decay or rest.
    """

    force: NDArray[np.float64]
    exact: NDArray[np.float64]
    period: float
    growth: float
    frequency: float
    stable: bool

    @cached_property
    def error(self) -> float:
        """Root mean square of the force's error, relative to that of the exact force."""
        return float(np.sqrt(np.mean((self.force - self.exact) ** 2) / np.mean(self.exact**2)))

    @cached_property
    def peak_errors(self) -> dict[str, float]:
        """Relative errors of the heights of the peaks."""
        return peak_errors(self.force, self.exact, self.period)


class Rehearsals:
    """A test that is compiled once and rehearsed with many values of its parameters.

    Parameters
    ----------
    test
        A test with its reference.
    seconds
        Length of each rehearsal.

    Examples
    --------
    >>> from bondloop.papers import bayer_substep
    >>> many = Rehearsals(bayer_substep.test(9), 4.0)
    >>> for P in (0.0, -1.0):
    ...     print(f"P = {P:2.0f}: {100 * many.at({'scheme.P': P}).peak_errors['second_mode']:+.1f} %")
    P =  0: -16.3 %
    P = -1: +2.2 %
    """

    def __init__(self, test: PseudoDynamicTest, seconds: float) -> None:
        self.test, self.steps = test, round(seconds / test.period)

    @cached_property
    def _runner(self) -> Runner:
        from bondloop.compile import Runner

        return Runner(self.test.tick)

    def at(self, values: Mapping[str, float] | None = None) -> Rehearsed:
        """Rehearse it with some parameters changed, by path."""
        from bondloop.program.one_step import one_step

        step = one_step(self.test.tick, values)
        self._runner.reset()
        record = self._runner.run(self.steps, parameters=values).channels
        return Rehearsed(
            record["force"],
            record["reference.force"],
            self.test.period,
            step.growth,
            step.frequency,
            step.stable,
        )
