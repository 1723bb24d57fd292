"""The dry run inside the check: the very tick, compiled, with excitation and limits, from end to end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check import tolerances
from bondloop.engine.ir import Meaning, Role, channels_of
from bondloop.rehearsal import (
    CHUNK,
    DIVERGED,
    Rehearsal,
    at_an_end,
    limit_word,
    span,
    steps_of,
    trip,
    why_stopped,
)
from bondloop.rigs import RateLimit
from bondloop.safety import DISPLACEMENT_SWITCH
from bondloop.substructure import indexed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.check.ensemble import Twin
    from bondloop.engine.analysis.spectrum import Point
    from bondloop.engine.codegen import Result
    from bondloop.hybrid import Checkable


@dataclass(frozen=True)
class DryRun:
    """A rehearsal of the whole test, as the check saw it.

    Attributes
    ----------
    seconds
        Its length; less where it stopped early.
    completed
        Whether it reached its end.
    message
        Why not, in words.
    peaks, meanings, units
        Largest magnitude of every channel, what each is, and its unit.
    bounds
        Limits of channels that have one.
    windows
        Peaks of the interface displacements (actual) in parts of the run, shape (windows, interfaces).
    window
        Length of each part, in s.
    error
        Rms of desired less actual displacement over rms of desired, for each interface: as they are, or less
        their means, whichever is worse.
    sensed
        By name of a measured force, the rms of what it differs from the force by, over that of the force.
    sampled_velocity
        For each interface the velocity at the samples as a share of the slope of its displacement; 1 where
        the rig moves smoothly from one sample to the next, NaN where it does not move.
    off_reference
        By name of what the test's reference says better, the rms of the difference over that of the
        reference, with or without their means, whichever is more; empty where the test has no reference.
    limited
        By name of a command, the share of samples at which the drive holds it back: its range, or its rate.
    saturated
        By name of a sensor's channel, the share of samples at an end of its range.
    twins
        What became of small disturbances, where that is known of the dry run alone.
    points
        Where the run stood at some instants, for linear analysis.
    tripped
        When the interlock tripped, in s, and why; None where it did not.
    backend
        ``"c"``, ``"numpy"``, or what else it was done with.
    frequency
        Mean frequency of the slowest interface's motion, in Hz: rms velocity over rms displacement; at least
        that of a quarter of a period in the run.
    """

    seconds: float
    completed: bool
    message: str
    peaks: Mapping[str, float]
    bounds: Mapping[str, float]
    windows: NDArray[np.float64]
    window: float
    error: tuple[float, ...]
    sensed: Mapping[str, float] = field(default_factory=dict)
    sampled_velocity: tuple[float, ...] = ()
    off_reference: Mapping[str, float] = field(default_factory=dict)
    saturated: Mapping[str, float] = field(default_factory=dict)
    limited: Mapping[str, float] = field(default_factory=dict)
    twins: tuple[Twin, ...] = ()
    points: tuple[Point, ...] = ()
    tripped: tuple[float, float] | None = None
    backend: str = "c"
    frequency: float = 1.0
    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)

    def channels_of(self, *roles: Role, kind: str) -> list[str]:
        """Return the names of channels with one of some roles, of a kind."""
        return channels_of(self.meanings, *roles, kind=kind)

    @property
    def peak(self) -> float:
        """Largest displacement of an interface (actual), in m."""
        return float(self.windows.max(initial=0.0))

    @property
    def moved(self) -> bool:
        """Whether anything that can be told from rounding has moved the interfaces, or should have."""
        names = [*self.channels_of(Role.ACTUAL, kind="flow"), *self.channels_of(Role.DESIRED, kind="flow")]
        return any(self.peaks.get(n, 0.0) > tolerances.MOTION_FLOOR for n in names)

    @property
    def usage(self) -> dict[str, float]:
        """Share of every limit that is used: 1 is all of it."""
        return {n: self.peaks[n] / b for n, b in self.bounds.items() if n in self.peaks and b > 0}


def dry_run(
    test: Checkable, seconds: float, *, instants: int = 0, parameters: Mapping[str, float] | None = None
) -> tuple[DryRun, Rehearsal]:
    """Rehearse a test for the check.

    Parameters
    ----------
    test
        The test.
    seconds
        Its whole length.
    instants
        At how many instants to keep where the run stands; spread over the whole length, and besides them
        those where the motion is fastest, slowest and farthest out.
    parameters
        Values by name instead of the tick's own.

    Returns
    -------
    tuple
        The dry run, and its tick for more.
    """
    steps = steps_of(seconds, test.period)
    rehearsal = Rehearsal(test, steps)
    log = _Log(test, steps)
    result = None
    kept = _Kept(test, steps)
    places = sorted({*log.even(instants), steps // 2, steps}) if instants else [steps // 2, steps]
    while rehearsal.runner.count < steps:
        first = rehearsal.runner.count
        while places[0] <= first:
            places.pop(0)
        result = rehearsal.run_and_keep(min(CHUNK, places[0] - first), parameters)
        log.take(first, result)
        kept.append(result)
        if not result.finished:
            break
        if rehearsal.runner.count == places[0]:
            rehearsal.keep()
    assert result is not None
    if result.finished and not parameters:
        rehearsal.motions = kept.motions()
    ran = DryRun(
        seconds=rehearsal.runner.count * test.period,
        completed=result.finished,
        message="" if result.finished else why_stopped(test.tick, result, test.remedies),
        peaks=log.peaks,
        bounds=log.bounds,
        windows=log.windows,
        window=log.length * test.period,
        error=tuple(log.errors(log.motions, with_mean=True)),
        sensed=dict(zip([name for _, name in log.sensors], log.errors(log.sensors), strict=True)),
        sampled_velocity=tuple(log.sampled_velocity(test.period)),
        off_reference=dict(
            zip([name for _, name in log.references], log.errors(log.references, with_mean=True), strict=True)
        ),
        saturated=log.saturated(),
        limited=log.limited(),
        points=_points(rehearsal, log.instants(instants)) if instants else (),
        tripped=log.tripped,
        backend=rehearsal.runner.backend,
        frequency=log.frequency(test.period),
        meanings=log.meanings,
        units={c.name: c.unit for c in test.tick.channels},
    )
    return ran, rehearsal


class _Kept:
    """Keeps what moves at the interfaces of a run, where that does not take too much memory."""

    def __init__(self, test: Checkable, steps: int) -> None:
        self._names = channels_of(test.tick.channels, Role.DESIRED, Role.ACTUAL)
        self._wanted = steps * len(self._names) <= tolerances.KEPT_NUMBERS
        self._parts: list[list[NDArray[np.float64]]] = []

    def append(self, result: Result) -> None:
        """Keep a part of the run."""
        if self._wanted:
            self._parts.append([result.channels[name].copy() for name in self._names])

    def motions(self) -> dict[str, NDArray[np.float64]] | None:
        """Return the whole of it, by channel."""
        if not self._wanted:
            return None
        whole = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        return dict(zip(self._names, whole, strict=True))


class _Log:
    """Collects what is kept of the dry run, part by part."""

    def __init__(self, test: Checkable, steps: int) -> None:
        self.steps = steps
        self.length = window_length(steps)
        count = test.interfaces
        names = ("desired.displacement", "actual.displacement", "force", "measured.force")
        desired, actual, force, measured = (indexed(name, count) for name in names)
        self.meanings = {c.name: c.meaning for c in test.tick.channels}
        self.velocity = indexed("actual.velocity", count)
        # What should be, and what is; in the order in which their sums are kept.
        self.motions = list(zip(desired, actual, strict=True))
        self.sensors = [p for p in zip(force, measured, strict=True) if all(n in self.meanings for n in p)]
        pairs = ((name, m.counterpart) for name, m in self.meanings.items())
        self.references = [(name, ours) for name, ours in pairs if ours in self.meanings]
        self._pairs = [*self.motions, *self.sensors, *self.references]
        self.peaks: dict[str, float] = {}
        self.bounds = limits_of(test)
        self.windows = np.zeros((tolerances.WINDOWS, count))
        self.tripped: tuple[float, float] | None = None
        self._sums = {pair: np.zeros(5) for pair in self._pairs}
        self._slopes = np.zeros((count, 2))
        self._moved = np.zeros((count, 4))
        self._samples = 0
        self._extremes: dict[tuple[str, str], tuple[float, int]] = {}
        self._spans = _sensor_spans(test)
        self._full = dict.fromkeys(self._spans, 0)
        self._drive = _drive_limits(test)
        self._held_back = dict.fromkeys(channels_of(test.tick.channels, Role.COMMAND), 0)

    def take(self, first: int, result: Result) -> None:
        """Take a part of the run."""
        # The sample at which a run went astray may be no number; all before it are.
        n = len(result.time) - (result.status == "not a number")
        channels = {name: values[:n] for name, values in result.channels.items()}
        if n < 1:
            return
        for name, values in channels.items():
            self.peaks[name] = max(self.peaks.get(name, 0.0), float(np.abs(values).max()))
        self._take_motions(first, n, channels)
        self._samples += n
        for name, (low, high) in self._spans.items():
            self._full[name] += int(np.count_nonzero(at_an_end(channels[name], low, high)))
        low, high, step = self._drive
        for name in self._held_back if np.isfinite(self._drive).any() else ():
            u = channels[name]
            beyond = (u < low) | (u > high)
            with np.errstate(invalid="ignore"):  # a run that diverges in this part
                beyond[1:] |= np.abs(np.diff(u)) > step
            self._held_back[name] += int(np.count_nonzero(beyond))
        if self.tripped is None:
            self.tripped = trip(result.time, channels)

    def _take_motions(self, first: int, n: int, channels: Mapping[str, NDArray[np.float64]]) -> None:
        switch = channels.get(DISPLACEMENT_SWITCH)
        coupled = slice(None) if switch is None else switch >= 1
        window = np.minimum((first + np.arange(n)) // self.length, tolerances.WINDOWS - 1)
        for pair in self._pairs:
            d, a = (channels[name][coupled] for name in pair)
            with np.errstate(invalid="ignore", over="ignore"):  # a run that diverges in this part
                e = d - a
                self._sums[pair] += [len(d), d.sum(), (d * d).sum(), e.sum(), (e * e).sum()]
        for i, (_, have) in enumerate(self.motions):
            a = channels[have]
            np.maximum.at(self.windows[:, i], window, np.abs(a))
            v = channels[self.velocity[i]]
            # Slopes of fourth order, so that a fast motion is not taken for a velocity that jumps.
            with np.errstate(invalid="ignore", over="ignore"):  # a run that diverges in this part
                slope = (8 * (a[3:-1] - a[1:-3]) - (a[4:] - a[:-4])) / 12
                self._slopes[i] += [(v[2:-2] * slope).sum(), (slope * slope).sum()]
                self._moved[i] += [len(a), a.sum(), (a * a).sum(), (v * v).sum()]
            speed = np.abs(v)
            self._note("fast", first, speed, self.velocity[i])
            with np.errstate(invalid="ignore"):  # a run that diverges in this part
                self._note("far", first, np.abs(a - a.mean()), have)
            self._note("slow", first, -speed, self.velocity[i])

    def _note(self, word: str, first: int, values: NDArray[np.float64], name: str) -> None:
        """Keep the tick at which values are largest."""
        start = max(0, tolerances.STARTED - first)
        if start >= len(values):
            return
        k = start + int(np.argmax(values[start:]))
        best = self._extremes.get((word, name))
        if best is None or values[k] > best[0]:
            self._extremes[word, name] = float(values[k]), first + k

    def errors(self, pairs: list[tuple[str, str]], *, with_mean: bool = False) -> list[float]:
        """Rms error over rms of what should be, both without their means, while the rig was to follow.

        Parameters
        ----------
        pairs
            Of `motions`, `sensors` or `references`.
        with_mean
            Whether the error with the means counts too; the larger of both, then.
        """
        if not pairs:
            return []
        sums = np.array([self._sums[pair] for pair in pairs])
        means = sums[:, 1:].T / np.maximum(sums[:, 0], 1)
        errors = [relative_error(means, tolerances.MOTION_FLOOR)]
        if with_mean:
            only_means = np.where([[False], [True], [False], [True]], means, 0.0)  # some may be infinite
            errors.append(relative_error(only_means, tolerances.MOTION_FLOOR))
        return [max(both) for both in zip(*errors, strict=True)]

    def sampled_velocity(self, period: float) -> list[float]:
        """Velocity at the samples over the slope of the displacement there, by least squares."""
        return [
            float(period * vs / ss) if ss > 0 and np.isfinite([vs, ss]).all() else np.nan
            for vs, ss in self._slopes
        ]

    def frequency(self, period: float) -> float:
        """Mean frequency of the interface that moves most slowly, in Hz."""
        count, mean, square, speed = self._moved.T / np.maximum(self._moved[:, 0], 1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = np.sqrt(speed / np.maximum(square - mean**2, 0.0)) / (2 * np.pi)
        found = found[np.isfinite(found) & (found > 0) & (count > 0)]
        least = 0.25 / (self.steps * period)
        return float(np.clip(found.min(initial=0.1 / period), least, max(0.1 / period, least)))

    def saturated(self) -> dict[str, float]:
        """Share of samples at an end of a sensor's range."""
        return {n: k / max(self._samples, 1) for n, k in self._full.items() if k}

    def limited(self) -> dict[str, float]:
        """Share of samples at which the drive holds a command back."""
        return {n: k / max(self._samples, 1) for n, k in self._held_back.items() if k}

    def instants(self, count: int) -> list[int]:
        """Return ticks worth a linear analysis, some twice ``count``."""
        extreme = [k for _, k in sorted(self._extremes.values(), reverse=True) if k > 0]
        return sorted({*self.even(count), *extreme[:count]})

    def even(self, count: int) -> list[int]:
        """Return ticks spread over the run."""
        return [int(k) for k in np.linspace(min(tolerances.STARTED, self.steps - 1), self.steps - 1, count)]


def _points(rehearsal: Rehearsal, ticks: list[int]) -> tuple[Point, ...]:
    """Return where the run stands at some ticks."""
    points = []
    for k in ticks:
        if not rehearsal.to(k):
            break
        points.append(rehearsal.point())
    return tuple(points)


def window_length(steps: int) -> int:
    """Return the ticks of each part of a run in which peaks are kept."""
    return max(1, -(-steps // tolerances.WINDOWS))


def relative_error(means: NDArray[np.float64], floor: float) -> tuple[float, ...]:
    """Return rms error over rms motion, both without their means; NaN where nothing moves.

    Parameters
    ----------
    means
        Means of the motion, of its square, of the error and of its square, a column for each interface.
    floor
        Rms motion up to which nothing moves.
    """
    d, dd, e, ee = means
    with np.errstate(invalid="ignore", over="ignore"):  # a run that has diverged
        motion, error = np.sqrt(np.maximum(dd - d * d, 0.0)), np.sqrt(np.maximum(ee - e * e, 0.0))
    moves = motion > floor
    return tuple(np.where(moves, error / np.where(moves, motion, 1.0), np.nan).tolist())


def limits_of(test: Checkable) -> dict[str, float]:
    """Return the limits of channels: the test's, the interlock's, and what the machines can do."""
    limits = {n: b for n, b in test.tick.bounds.items() if b < DIVERGED}
    if test.interlock is not None:
        for c in test.tick.channels:
            word = limit_word(c.meaning)
            most = getattr(test.interlock.limits, word) if word else None
            if most is not None:
                limits[c.name] = min(most, limits.get(c.name, np.inf))
    for channel, most in test.capacities.items():
        limits[channel] = min(most, limits.get(channel, np.inf))
    return limits


def _drive_limits(test: Checkable) -> tuple[float, float, float]:
    """Return the least and the greatest command that the drive passes on, and its largest step in a tick."""
    parts = getattr(getattr(test, "rig", None), "drive", ())
    if not isinstance(parts, tuple):
        return -np.inf, np.inf, np.inf
    low, high = span(parts, noise=0.0)
    rates = [float(part.rate) for part in parts if isinstance(part, RateLimit)]
    return low, high, min(rates, default=np.inf) * test.period


def _sensor_spans(test: Checkable) -> dict[str, tuple[float, float]]:
    """Return the least and the greatest reading of each measured channel whose sensor has a range."""
    names = {c.name for c in test.tick.channels}
    spans = {c: span(sensor.imperfections, noise=0.0) for c, sensor in test.sensors.items() if c in names}
    return {c: ends for c, ends in spans.items() if np.isfinite(ends).any()}
