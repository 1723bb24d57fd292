"""One input and one output to identify from, and what is doubtful: holes, clipping, a swapped pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.errors import BondloopError, InputError
from bondloop.identify.spectra import power_spectrum, spectral_response
from bondloop.identify.tolerances import FEWEST_SAMPLES, LARGEST_SIZE, LONGEST_PERIOD, SHORTEST_PERIOD
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW_SAMPLES = 200
"""Samples under which estimates are said to be uncertain."""
FEW_LEVELS = 12
"""A signal of fewer levels (a step, a square wave, a binary sequence) may well stay at its extremes."""
EXTREME_RUN = 4
"""Samples in a row at an extreme that a signal may have by chance."""
ALWAYS_CHANGING = 0.9
"""Part of the holds after which a signal changes, from which on it changes every time."""


def leading(
    u: NDArray[np.float64], y: NDArray[np.float64], period: float, names: tuple[str, str], unit: str = ""
) -> list[str]:
    """Return a sentence where the output leads the input more and more over most of the excited band.

    A velocity leads as well, by 90° and less with frequency, for every rig is late: the lead has to grow. So
    does that of a force which a spring and a dashpot make of a motion: nothing is said of forces.

    Parameters
    ----------
    u, y, period
        Input and output without holes, and the seconds between samples.
    names, unit
        What the two are called, and the unit of the output.

    Examples
    --------
    >>> u = np.random.default_rng(1).normal(size=4000).cumsum()
    >>> leading(u[9:], u[:-9], 1e-3, ("command", "position"))
    []
    >>> print(leading(u[:-9], u[9:], 1e-3, ("command", "position"))[0][:53])
    the output 'position' leads the input 'command' by 17
    """
    shortest = 256  # samples of a segment: fewer make lines too coarse for a delay
    if u.size < 2 * shortest or _is_force(unit):
        return []
    segments = int(np.clip(u.size // (2 * shortest), 2, 32))
    found = spectral_response(u, y, period, segments=segments)
    power = power_spectrum(u, period, segments=segments, window="hann", overlap=0.5).density[1:]
    counts = (found.coherence >= 0.8) & (power >= 1e-4 * power.max())  # lines that are excited and clear
    f = found.frequency[counts]
    if f.size < 5 or f[-1] < 2.0 * f[0]:  # no curve: one sine cannot tell
        return []
    phase = np.unwrap(np.angle(found.h1[counts]))
    rise = float(np.polyfit(f, phase, 1)[0] * (f[-1] - f[0]))
    lead = np.radians(10.0)  # at the median and gained over the band, below which nothing is said
    if rise < lead or float(np.median(phase)) < lead or float((phase > 0).mean()) < 0.8:
        return []
    k = int(np.argmin(np.abs(phase - np.median(phase))))
    said = (
        f"the output '{names[1]}' leads the input '{names[0]}' by {np.degrees(phase[k]):.0f}° at "
        f"{f[k]:.3g} Hz, and more at higher frequencies, as no actuator's motion can: are input and output "
        "(-u and -y) swapped?"
    )
    return [said]


def _is_force(unit: str) -> bool:
    """Whether a unit of a file, which may be any text, is one of force."""
    try:
        return bool(unit) and is_of_kind(f"1 {unit}", "N")
    except BondloopError:
        return False


@dataclass(frozen=True, eq=False)
class InputOutput:
    """One input and one output of a system, sampled together, without holes.

    Attributes
    ----------
    input, output
        The signals, shape (n,).
    sample_period
        Seconds between samples.
    input_name, output_name, input_unit, output_unit
        What they are called, and their units as text.
    start
        Time of the first sample [s].
    warnings
        What is doubtful about them, in sentences.

    Examples
    --------
    >>> data = InputOutput(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.2, 0.5]), 0.01, output_unit="m")
    >>> data.sample_period, data.output_unit
    (0.01, 'm')
    """

    input: NDArray[np.float64]
    output: NDArray[np.float64]
    sample_period: float
    input_name: str = "input"
    output_name: str = "output"
    input_unit: str = ""
    output_unit: str = ""
    start: float = 0.0
    warnings: tuple[str, ...] = ()

    __repr__ = brief

    def __len__(self) -> int:
        return self.input.size

    @property
    def time(self) -> NDArray[np.float64]:
        """Times of the samples [s]."""
        return self.start + self.sample_period * np.arange(float(len(self)))

    @property
    def rate(self) -> float:
        """Samples per second [Hz]."""
        return float(f"{1 / self.sample_period:.12g}")


def sound_part(
    signals: Mapping[str, NDArray[np.float64]], names: Mapping[str, str], period: float, start: float
) -> tuple[int, int, list[str]]:
    """Return first and one past the last sample of the longest part that both signals have.

    An error where that part cannot be used: too short, or one of the signals rests.
    """
    for role, values in signals.items():
        stride = slow_rows(values)
        if stride:
            raise InputError(
                f"{role} '{names[role]}' has a value in one of {stride} samples only: mixed sample rates; "
                f"record both channels with one clock at one rate, or keep one row of {stride} of the file"
            )
    missing = ~np.logical_and.reduce([np.isfinite(values) for values in signals.values()])
    edges = np.concatenate(([-1], np.flatnonzero(missing), [missing.size]))
    best = int(np.argmax(np.diff(edges)))
    first, last = int(edges[best]) + 1, int(edges[best + 1])
    count = last - first
    blamed = " and ".join(f"'{names[role]}'" for role, v in signals.items() if not np.isfinite(v).all())
    warnings = []
    if blamed:
        warnings.append(
            f"{int(missing.sum())} samples of {blamed} are missing or not finite; only the longest stretch "
            f"without holes is used, {start + first * period:g} to {start + (last - 1) * period:g} s, "
            f"{count} of {missing.size} samples: record again without drop-outs"
        )
    if count < FEWEST_SAMPLES:
        raise InputError(
            f"only {count} samples ({count * period:g} s) in a row have both '{names['input']}' and "
            f"'{names['output']}'; record at least {FEW_SAMPLES}, and ten times as long as the rig "
            "takes to settle"
        )
    if not SHORTEST_PERIOD <= period <= LONGEST_PERIOD:
        raise InputError(
            f"the samples are {period:g} s apart; expected {SHORTEST_PERIOD:g} to {LONGEST_PERIOD:g} s: is "
            "the time in seconds, and the right column?"
        )
    for role, values in signals.items():
        size = float(np.abs(values[first:last]).max())
        if size > LARGEST_SIZE or 0 < size < 1 / LARGEST_SIZE:
            raise InputError(
                f"{role} '{names[role]}' goes to {size:g}, which nothing measures; expected at most "
                f"{LARGEST_SIZE:g}, and {1 / LARGEST_SIZE:g} or more: is it the right column, in the right "
                "unit?"
            )
        if constant(values[first:last]):
            raise describe_constant(role, names[role], float(values[first]))
    if count < FEW_SAMPLES:
        warnings.append(
            f"there are only {count} samples ({count * period:g} s); estimates will be uncertain: record ten "
            "times as long as the rig takes to settle"
        )
    return first, last, warnings


def doubts(role: str, name: str, unit: str, values: NDArray[np.float64]) -> list[str]:
    """Return what is doubtful about one of the signals, in sentences."""
    found = []
    clipped = clipping(values)
    if clipped:
        extreme, run, part = clipped
        advice = (
            "reduce the amplitude" if role == "input" else "reduce the amplitude or widen the sensor's range"
        )
        found.append(
            f"{role} '{name}' stays at {extreme:g}{' ' + unit if unit else ''} for up to {run} samples in a "
            f"row ({100 * part:.2g} % of all): it looks clipped, and a clipped signal gives a wrong gain; "
            f"{advice}"
        )
    # A command may well be a staircase; a motion is none.
    hold = slowly_held(values) if role == "input" else held(values)
    if hold > 1:
        besides = ", and no command in steps" if role == "input" else ""
        found.append(
            f"{role} '{name}' changes only every {hold} samples: was it recorded {hold} times slower and "
            f"held? That adds a delay; if so{besides}, record it at the full rate"
        )
    return found


def constant(values: NDArray[np.float64]) -> bool:
    """Return whether a signal does not vary beyond rounding."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max(initial=0.0))


def held(values: NDArray[np.float64]) -> int:
    """Return for how many samples each value is held: 1 for a signal of its own, 4 for one held over four.

    Examples
    --------
    >>> held(np.repeat(np.sin(np.arange(50)), 4))
    4
    """
    changes = np.flatnonzero(values[1:] != values[:-1])
    # 20 changes that share a divisor by chance: at most 2^-19.
    if changes.size < 20 or np.unique(values).size < FEW_LEVELS:
        return 1
    return int(np.gcd.reduce(np.diff(changes)))


def slowly_held(values: NDArray[np.float64]) -> int:
    """Return for how many samples each value of a smooth signal is held, as a slow recorder would; else 1.

    A command in steps is held as well. Its steps are of any height, and some hold on: what a recorder held
    changes every time, by less than it goes to and fro.

    Examples
    --------
    >>> smooth, steps = np.sin(np.arange(200) * 0.1), np.random.default_rng(1).normal(size=200)
    >>> slowly_held(np.repeat(smooth, 25)), held(np.repeat(steps, 25)), slowly_held(np.repeat(steps, 25))
    (25, 25, 1)
    """
    hold = held(values)
    if hold == 1:
        return 1
    changes = np.flatnonzero(values[1:] != values[:-1])
    kept = values[changes[0] + 1 : changes[-1] + 1 : hold]
    steps = np.diff(kept)
    # Of values drawn one by one, the mean square of the steps is twice the variance (von Neumann 1941).
    smooth = np.mean(steps**2) < np.var(kept)
    return hold if smooth and (steps != 0).mean() > ALWAYS_CHANGING else 1


def clipping(values: NDArray[np.float64]) -> tuple[float, int, float] | None:
    """Return extreme value, longest run there and part of all samples, if the signal looks clipped.

    A clipped signal arrives at its extreme at speed and stays there. A signal that merely turns there, or
    settles there, or is quantised, leaves about as many samples just before the extreme as at it.

    Examples
    --------
    >>> wave = np.sin(np.arange(1000) * 0.02)
    >>> clipping(wave), clipping(np.round(wave, 2))
    (None, None)
    >>> clipping(np.clip(wave, -2, 0.9))
    (0.9, 46, 0.137)
    """
    hold = held(values)
    x = values[::hold] if hold > 1 else values
    span = float(np.ptp(x))
    if x.size < 3 * EXTREME_RUN or span == 0 or np.unique(x).size < FEW_LEVELS:
        return None
    found: tuple[float, int, float] | None = None
    for extreme in (float(x.max()), float(x.min())):
        at = x == extreme
        edges = np.flatnonzero(np.diff(np.concatenate(([False], at, [False]))))
        starts, ends = edges[::2], edges[1::2]
        # A record may begin and end at rest, and rest is often an extreme.
        inside = (starts > 0) & (ends < x.size)
        starts, ends = starts[inside], ends[inside]
        if starts.size == 0 or (ends - starts).max() < EXTREME_RUN:
            continue
        arriving = np.abs(extreme - x[starts - 1])
        leaving = np.abs(extreme - x[ends])
        step = float(np.median(np.minimum(arriving, leaving)))
        near = int((np.abs(x - extreme) <= 1.5 * step).sum() - at.sum())
        if step > 1e-9 * span and (ends - starts).sum() > 4 * max(near, 1):
            part = float(at.sum()) / x.size
            if found is None or part > found[2]:
                found = extreme, int((ends - starts).max()) * hold, part
    return found


def slow_rows(values: NDArray[np.float64]) -> int:
    """Return k when only every k-th sample of a channel is there, as in a table of mixed rates; else 0.

    Examples
    --------
    >>> y = np.full(100, np.nan)
    >>> y[::4] = 1.0
    >>> slow_rows(y)
    4
    """
    there = np.flatnonzero(np.isfinite(values))
    if there.size < 3 or there.size > 0.6 * values.size:
        return 0
    stride = np.diff(there)
    common = int(np.median(stride))
    return common if common > 1 and (stride == common).mean() > 0.9 else 0


def describe_constant(role: str, name: str, value: float) -> InputError:
    """Return the error for a signal that rests, with what to do about it."""
    if role == "input":
        advice = (
            "nothing can be learnt from an input that rests: excite the rig with steps, a sweep, stepped "
            "sines or noise, and record the command that is sent"
        )
    else:
        advice = (
            "check that the actuator is enabled, that the sensor is connected and that this is the measured "
            "channel"
        )
    return InputError(f"{role} '{name}' is {value:g} throughout; {advice}")
