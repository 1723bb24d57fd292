"""The one sample period of a record: found in its time stamps, or refused with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

EVEN, JITTER = 0.01, 0.25
"""How far, in sample periods, a stamp may stand off an even grid without a warning, and before samples are
no longer taken for evenly spaced with an unsteady clock."""
GAP = 1.5
"""Sample periods between two stamps from which on samples are missing."""


@dataclass(frozen=True)
class TimeGrid:
    """Where the samples of a record lie.

    Attributes
    ----------
    start
        Time of the first sample kept [s].
    sample_period
        Seconds between samples.
    rows
        The samples that form one unbroken stretch.
    resample
        Whether the stamps jitter so much that the signals must be interpolated onto the even grid.
    warnings
        What was found, in sentences.
    """

    start: float
    sample_period: float
    rows: slice
    resample: bool = False
    warnings: tuple[str, ...] = ()


def find_grid(time: NDArray[np.float64]) -> TimeGrid:
    """Return the even grid under a column of time stamps [s].

    Stamps that are rounded, or that jitter about an even grid, are accepted; where samples are missing, the
    longest unbroken stretch is kept and a warning says so. Stamps that go back, that change their rate on
    the way or follow no rate at all are refused.

    Examples
    --------
    >>> find_grid(np.arange(100) * 0.002).sample_period
    0.002
    >>> find_grid(np.concatenate((np.arange(60), 60 + np.arange(1, 41) * 4)) * 0.001)
    Traceback (most recent call last):
    bondloop.errors.InputError: the sample rate changes: 1000 Hz up to t = 0.059 s, 250 Hz from there; ...
    """
    if time.size < 2:
        raise InputError(f"{time.size} samples have no sample period; record at least a few hundred")
    if not np.isfinite(time).all():
        at = int(np.argmin(np.isfinite(time)))
        raise InputError(
            f"the time of sample {at} is not a finite number; leave out the time column and give the rate "
            "(rate=1000) if the samples are evenly spaced"
        )
    grain = _grain(time)
    if _even(time, grain):
        return _grid(time, 0, time.size, grain, ())
    steps = np.diff(time)
    if (steps <= 0).any():
        at = int(np.argmax(steps <= 0)) + 1
        raise InputError(
            f"time does not increase at sample {at} ({time[at - 1]:g} s, then {time[at]:g} s); if records "
            "were joined, read them one by one; if the stamps are rounded too coarsely, give the rate "
            "(rate=1000)"
        )
    period = float(np.median(steps))
    _refuse_mixed(time, steps, period)
    first, last, gaps = _longest(steps > GAP * period, time.size)
    warnings: tuple[str, ...] = ()
    if gaps:
        where = ", ".join(f"{time[at]:g} s" for at in gaps[:3]) + (", ..." if len(gaps) > 3 else "")
        warnings = (
            (
                f"samples are missing after t = {where} ({len(gaps)} gap{'s' if len(gaps) > 1 else ''}); "
                f"only the longest unbroken stretch is used, {time[first]:g} to {time[last - 1]:g} s, "
                f"{last - first} of {time.size} samples: record again with a recorder that keeps up, without "
                "pauses"
            ),
        )
    return _grid(time, first, last, grain, warnings)


def _grid(
    time: NDArray[np.float64], first: int, last: int, grain: float, warnings: tuple[str, ...]
) -> TimeGrid:
    """Return the grid of one stretch, or refuse it when it has none."""
    part = time[first:last]
    if part.size < 2:
        raise InputError("no two samples in a row are a sample period apart; record at a fixed rate")
    start, period, stray = _line(part, grain)
    if stray <= max(EVEN * period, 0.6 * grain):
        if stray > EVEN * period:
            warnings += (f"the time stamps are rounded to {grain:g} s; an even {_hertz(period)} is assumed",)
        return TimeGrid(start, period, slice(first, last), False, warnings)
    if stray > JITTER * period:
        steps = np.diff(part)
        raise InputError(
            f"the samples are uneven: steps from {steps.min():g} to {steps.max():g} s; record at a fixed "
            "rate, or resample the signals onto an even grid first (a solver's own steps are no sample rate)"
        )
    warnings += (
        (
            f"the time stamps jitter by up to {100 * stray / period:.0f} % of the sample period; the signals "
            "were interpolated onto an even grid: let hardware time the samples"
        ),
    )
    return TimeGrid(start, period, slice(first, last), True, warnings)


def _even(time: NDArray[np.float64], grain: float) -> bool:
    _, period, stray = _line(time, grain)
    return period > 0 and stray <= max(EVEN * period, 0.6 * grain)


def _line(time: NDArray[np.float64], grain: float) -> tuple[float, float, float]:
    """Return start and period of an even grid, and how far the stamp that strays furthest stands off it [s].

    The grid joins the first and the last stamp; where stamps are rounded, these are too, and a straight line
    through all of them errs less.
    """
    k = np.arange(float(time.size))
    start, period = float(time[0]), float(time[-1] - time[0]) / (time.size - 1)
    if grain > 0:
        middle = k - k.mean()
        period = float(middle @ (time - time.mean()) / (middle @ middle))
        start = float(time.mean() - period * k.mean())
    return start, period, float(np.abs(time - start - period * k).max())


def _grain(time: NDArray[np.float64]) -> float:
    """Return the decimal place, or the single-precision spacing, the stamps are rounded to; 0 if not."""
    steps = np.diff(time)
    # Where nearly all steps are alike, nothing needed rounding, and an odd one is a gap.
    if (np.abs(steps - np.median(steps)) <= 1e-6 * np.median(steps)).mean() > 0.9:
        return 0.0
    for place in (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6):
        parts = time / place
        if np.abs(parts - np.round(parts)).max() <= 1e-6 + 1e-15 * np.abs(parts).max():
            return place
    if (time == time.astype(np.float32)).all():
        return float(np.spacing(np.float32(np.abs(time).max())))
    return 0.0


def _refuse_mixed(time: NDArray[np.float64], steps: NDArray[np.float64], period: float) -> None:
    """Refuse stamps of which a whole stretch runs at another rate than the rest."""
    other = (steps > GAP * period) | (steps < period / GAP)
    if other.sum() < max(4, 0.02 * steps.size):
        return
    edges = np.flatnonzero(np.diff(other)) + 1
    # Few changes between the two: a rate that was switched. Many: no rate at all, or a recorder that drops.
    if edges.size > 0.1 * other.sum() + 2:
        return
    rates = [np.median(part) for part in np.split(steps, edges)]
    at = time[edges[0]] if edges.size else time[0]
    raise InputError(
        f"the sample rate changes: {1 / rates[0]:g} Hz up to t = {at:g} s, {1 / rates[-1]:g} Hz from there; "
        "record at one rate throughout, or read one part at a time"
    )


def _longest(broken: NDArray[np.bool_], count: int) -> tuple[int, int, list[int]]:
    """Return first and one past the last sample of the longest stretch, and the samples before gaps."""
    gaps = np.flatnonzero(broken)
    edges = np.concatenate(([0], gaps + 1, [count]))
    best = int(np.argmax(np.diff(edges)))
    return int(edges[best]), int(edges[best + 1]), [int(gap) for gap in gaps]


def _hertz(period: float) -> str:
    return f"{1 / period:.6g} Hz"


def disagreement(stamps: NDArray[np.float64], period: float) -> tuple[str, ...]:
    """Return what is to be said of a sample period that was given beside time stamps: nothing if they agree.

    Parameters
    ----------
    stamps
        Times, s.
    period
        What was given, s.

    Examples
    --------
    >>> disagreement(np.array([0.0, 0.01, 0.02]), 0.01)
    ()
    """
    steps = np.diff(stamps)
    typical = float(np.median(steps)) if steps.size and np.isfinite(stamps).all() else period
    if abs(typical - period) <= 0.01 * period:
        return ()
    return (
        (
            f"the rate given is {1 / period:g} Hz, but the time stamps are {typical:g} s apart; the rate "
            "given is used: make sure that it is the recorder's"
        ),
    )
