"""What can be wrong with one measured channel: it rests, it is clipped, it is held, it has holes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.identify.policy import POLICY, IdentificationPolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["clipping", "constant", "held", "slow_rows", "slowly_held"]


def constant(values: NDArray[np.float64]) -> bool:
    """Return whether a signal does not vary beyond rounding."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max(initial=0.0))


def held(values: NDArray[np.float64], policy: IdentificationPolicy = POLICY) -> int:
    """Return for how many samples each value is held: 1 for a signal of its own, 4 for one held over four.

    Examples
    --------
    >>> held(np.repeat(np.sin(np.arange(50)), 4))
    4
    """
    changes = np.flatnonzero(values[1:] != values[:-1])
    # 20 changes that share a divisor by chance: at most 2^-19.
    if changes.size < 20 or np.unique(values).size < policy.few_levels:
        return 1
    return int(np.gcd.reduce(np.diff(changes)))


def slowly_held(values: NDArray[np.float64], policy: IdentificationPolicy = POLICY) -> int:
    """Return for how many samples each value of a smooth signal is held, as a slow recorder would; else 1.

    A command in steps is held as well. Its steps are of any height, and some hold on: what a recorder held
    changes every time, by less than it goes to and fro.

    Examples
    --------
    >>> smooth, steps = np.sin(np.arange(200) * 0.1), np.random.default_rng(1).normal(size=200)
    >>> slowly_held(np.repeat(smooth, 25)), held(np.repeat(steps, 25)), slowly_held(np.repeat(steps, 25))
    (25, 25, 1)
    """
    hold = held(values, policy)
    if hold == 1:
        return 1
    changes = np.flatnonzero(values[1:] != values[:-1])
    kept = values[changes[0] + 1 : changes[-1] + 1 : hold]
    steps = np.diff(kept)
    # Of values drawn one by one, the mean square of the steps is twice the variance (von Neumann 1941).
    smooth = np.mean(steps**2) < np.var(kept)
    return hold if smooth and (steps != 0).mean() > policy.always_changing else 1


def clipping(
    values: NDArray[np.float64], policy: IdentificationPolicy = POLICY
) -> tuple[float, int, float] | None:
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
    hold = held(values, policy)
    x = values[::hold] if hold > 1 else values
    span = float(np.ptp(x))
    if x.size < 3 * policy.extreme_run or span == 0 or np.unique(x).size < policy.few_levels:
        return None
    found: tuple[float, int, float] | None = None
    for extreme in (float(x.max()), float(x.min())):
        at = x == extreme
        edges = np.flatnonzero(np.diff(np.concatenate(([False], at, [False]))))
        starts, ends = edges[::2], edges[1::2]
        # A record may begin and end at rest, and rest is often an extreme.
        inside = (starts > 0) & (ends < x.size)
        starts, ends = starts[inside], ends[inside]
        if starts.size == 0 or (ends - starts).max() < policy.extreme_run:
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
