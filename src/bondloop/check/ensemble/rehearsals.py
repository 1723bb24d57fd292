"""Rehearsals of one test side by side: the run, and what is left of it when the excitation is held."""

from __future__ import annotations

import copy
import itertools
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from bondloop.check.ensemble.measured_tick import measured_tick
from bondloop.engine.codegen import Batch, compiler, lane_obstacle
from bondloop.errors import CompileError
from bondloop.safety import cause_words
from bondloop.signals import tabulated_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bondloop.engine.codegen import BatchResult, BatchRun
    from bondloop.engine.ir import Tick
    from bondloop.signals import Signal

    Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """How many rehearsals come first, in how many parts a run is looked at, and for how long what follows it.

    Attributes
    ----------
    first
        Members that are rehearsed first; more are drawn where these do not decide.
    parts
        Parts of the run, after each of which what moves is compared.
    periods
        Mean periods of the motion that are followed after the excitation has been held, at the least.
    quiet
        Level, against the run's own, below which it does not matter whether a motion dies away.
    nothing
        Level below which nothing more is learnt by going on.
    falling, steady
        Ratios of the last quarter of what is followed to the quarter before: below the one a motion dies
        away, above the other it sustains itself, and between them it is followed for longer.
    most_ticks
        Ticks, times members, for which it is followed at most.
    """

    first: int = 16
    parts: int = 96
    periods: float = 12.0
    quiet: float = 0.01
    nothing: float = 1e-3
    falling: float = 0.9
    steady: float = 0.98
    most_ticks: float = 2e7


@dataclass(frozen=True)
class Rehearsed:
    """What became of some rehearsals.

    Attributes
    ----------
    stopped
        Why each left its limits, in words; empty where it did not.
    when
        When it did, in s; NaN where it did not.
    values
        What moves at the interfaces at the end of each part of the run, (parts, tests, channels).
    times
        The ends of the parts, in s.
    levels
        Rms of each channel in the run, about the mean of each eighth of it, (tests, channels).
    errors
        Rms error of each pair of channels over the rms of what it should be, (tests, pairs).
    use
        Largest share of each limit in the run, (tests, limits).
    rest
        Level of each channel in the last quarter of what followed the run, and in the quarter before,
        (2, tests, channels).
    followed
        Seconds for which it was followed after the run.
    """

    stopped: tuple[str, ...]
    when: Samples
    values: Samples = field(repr=False)
    times: Samples = field(repr=False)
    levels: Samples = field(repr=False)
    errors: Samples = field(repr=False)
    use: Samples = field(repr=False)
    rest: Samples = field(repr=False)
    followed: float = 0.0

    def joined(self, other: Rehearsed) -> Rehearsed:
        """Return these and others of the same test."""
        both = {
            name: np.concatenate([getattr(self, name), getattr(other, name)], axis=axis)
            for name, axis in (
                ("when", 0), ("values", 1), ("levels", 0), ("errors", 0), ("use", 0), ("rest", 1),
            )
        }  # fmt: skip
        return Rehearsed(
            (*self.stopped, *other.stopped), times=self.times,
            followed=min(self.followed, other.followed), **both,
        )  # fmt: skip


class Rehearsals:
    """A tick, ready to be rehearsed with other values of some of its parameters.

    Parameters
    ----------
    tick
        Of a test whose excitation is held at the end of the run.
    tables
        Its tabulated signals.
    columns
        Names of what differs.
    bounds
        Limits by channel.
    steps
        Ticks of the run.
    frequency
        Mean frequency of its motion, in Hz.
    observed
        Seconds for which what is left must be followed before it is said to sustain itself.
    sizes
        See there.
    """

    def __init__(
        self,
        tick: Tick,
        tables: Mapping[str, Signal],
        columns: Sequence[str],
        bounds: Mapping[str, float],
        steps: int,
        frequency: float,
        observed: float,
        sizes: Sizes | None = None,
    ) -> None:
        self.measured = measured_tick(tick, bounds)
        self.steps, self.period, self.frequency = steps, tick.period, frequency
        self.sizes = sizes or Sizes()
        longest = max(10 * steps * tick.period, 4 * observed)
        self.observed = max(observed, min(self.sizes.periods / frequency, longest))
        kinds = {c.name: c.meaning.kind for c in tick.channels}
        self._flows = np.array([kinds[n] == "flow" for n in self.measured.moving], dtype=bool)
        self._names = [c.name for c in tick.channels]
        self.batch = Batch(
            self.measured.tick, columns, _backend(self.measured.tick), wanted=self.measured.wanted
        )
        self._tables(tables, steps)
        self.seconds = 0.0
        """Seconds that the rehearsals took so far."""

    def _tables(self, tables: Mapping[str, Signal], steps: int) -> None:
        self.steps = steps
        self._edges = np.unique(np.linspace(0, steps, min(self.sizes.parts, steps) + 1).astype(int))
        wanted = round(self.sizes.periods / (self.frequency * self.period))
        self._hold = max(16, min(max(wanted, steps // 4), steps))
        self._rows = tabulated_inputs(tables.values(), steps + self._hold, self.period) if tables else None

    def held_otherwise(self, tables: Mapping[str, Signal], steps: int) -> Rehearsals:
        """Return the same rehearsals with a run of other length, and other tabulated signals.

        Parameters
        ----------
        tables, steps
            As of the constructor.
        """
        other = copy.copy(self)
        other._tables(tables, steps)
        return other

    def inputs(self, first: int, count: int) -> Samples | None:
        """Return the tabulated signals of some ticks; after the last that is known they stay as they are."""
        if self._rows is None:
            return None
        known = self._rows[first : first + count]
        rest = np.repeat(self._rows[-1:], count - len(known), axis=0)
        return np.concatenate([known, rest])

    def run(
        self, table: Sequence[Sequence[float]], own: Samples | None = None, *, until: float = math.inf
    ) -> Rehearsed:
        """Rehearse members of an ensemble.

        Parameters
        ----------
        table
            Values of what differs, a row each.
        own
            Sizes by which what is left after the run is measured; those of the first member unless given.
        until
            Level down to which a motion that falls is followed, as far as the ticks allow: it may end in a
            smaller one that sustains itself. Infinite: that it falls will do.
        """
        began = time.perf_counter()
        tests = self.batch.begin(table, jobs=1)  # threads cost more than so short stretches
        m = self.measured
        values, sums = [], []
        result: BatchResult | None = None
        for a, b in itertools.pairwise(self._edges):
            result = tests.advance(int(b - a), self.inputs(int(a), int(b - a)))
            values.append(m.values(result))
            sums.append(np.array(m.moments(result)))
        assert result is not None
        levels = self._levels(np.array(sums), self._edges)
        errors, use = m.errors(result), m.use(result)
        tripped = m.tripped(result) != 0
        rest, latest, done, result = self._after(tests, result, levels[0] if own is None else own, until)
        rest[:, result.ends.code != 0] = 0.0  # what has stopped is judged by where it stopped
        stopped, when = self._stops(result, tripped | ~(latest < 1))
        self.seconds += time.perf_counter() - began
        return Rehearsed(
            stopped, when, np.array(values), self._edges[1:] * self.period, levels, errors, use, rest,
            done * self.period,
        )  # fmt: skip

    def _levels(self, sums: Samples, edges: NDArray[np.int64], pieces: int = 8) -> Samples:
        """Return rms about straight lines through pieces, from sums that go on; (tests, channels).

        What nothing returns may drift, and what relaxes creeps: neither is a vibration. The slope in a piece
        is that of the means of the pieces about it.
        """
        at = np.unique(np.linspace(0, len(sums), pieces + 1).astype(int))
        ends = np.concatenate([np.zeros_like(sums[:1]), sums])[at]
        count = np.diff(edges[at])[:, None, None]
        with np.errstate(invalid="ignore", over="ignore"):  # of motions that run away
            part = np.diff(ends, axis=0)
            means = part[:, 0] / count
            slope = np.gradient(means, axis=0) if len(means) > 1 else np.zeros_like(means)
            variance = part[:, 1] / count - means**2 - slope**2 / 12
            return np.asarray(np.sqrt((np.maximum(variance, 0.0) * count).sum(axis=0) / count.sum()))

    def _after(
        self, tests: BatchRun, result: BatchResult, own: Samples, until: float
    ) -> tuple[Samples, Samples, int, BatchResult]:
        """Follow what is left when the excitation is held, until it is known whether it dies away.

        Returns
        -------
        tuple
            Levels in the last two quarters; the level of each test as it was last seen to move; ticks; what
            the tests came to.
        """
        count, done = self._hold, 0
        scale = np.where(own > 0, own, np.inf)
        latest = np.zeros(len(tests))
        moved = self.measured.tripped(result) == 0
        while True:
            edges = np.linspace(0, count, 17).astype(int)
            sums = [np.array(self.measured.moments(result))]
            for a, b in itertools.pairwise(edges):
                ticks = int(b - a)
                ran = result.ends.code == 0
                result = tests.advance(ticks, self.inputs(self.steps + done + int(a), ticks))
                sums.append(np.array(self.measured.moments(result)))
                lately = self._levels(_since(sums[-1:], sums[-2]), np.array([0, ticks]), 1)
                level = level_of(lately, scale)
                ended = result.ends.code != 0
                last = self._last_level(_since(sums[-1:], sums[-2])[0], result, tests.count - ticks, scale)
                latest = np.where(ran & ended, np.fmax(latest, last), np.where(ran & moved, level, latest))
                moved &= self.measured.tripped(result) == 0
                if (level[result.ends.code == 0] < self.sizes.nothing).all():
                    return np.array([lately, lately]), latest, done + int(b), result
            done += count
            rest = np.array(
                [_about_line(_since(sums[i : i + 5], sums[i]), edges[i : i + 5]) for i in (12, 8)]
            )
            now, before = (level_of(x, scale) for x in rest)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = now / before
            early = done * self.period < self.observed
            undecided = (ratio > self.sizes.falling) | (now > until)
            undecided &= (ratio < self.sizes.steady) | early
            open_ = (result.ends.code == 0) & (now > self.sizes.quiet) & undecided
            if not open_.any() or done * len(tests) * 2 > self.sizes.most_ticks:
                return rest, latest, done, result
            count *= 2

    def _last_level(self, sums: Samples, result: BatchResult, first: int, scale: Samples) -> Samples:
        """Return the level of velocities from a tick on, up to where each test stopped."""
        count = np.maximum(result.ends.tick - first + 1, 1)[:, None]
        with np.errstate(invalid="ignore", over="ignore"):
            variance = sums[1] / count - (sums[0] / count) ** 2
        rms = np.sqrt(np.maximum(variance, 0.0))[:, self._flows]
        return level_of(np.where(np.isfinite(rms), rms, np.inf), scale[self._flows])

    def _stops(self, result: BatchResult, grown: NDArray[np.bool_]) -> tuple[tuple[str, ...], Samples]:
        """Return why and when each member left its limits.

        After the run only what has come to the run's own motion counts: a free structure drifts away, and the
        last step of an excitation is no part of the test.
        """
        ended, cause = result.ends.code != 0, self.measured.tripped(result)
        ended &= (result.ends.tick < self.steps) | grown
        cause = np.where(grown, cause, 0.0)
        words = np.full(len(ended), "", dtype=object)
        for i in np.flatnonzero(cause != 0):
            words[i] = f"the interlock trips: {cause_words(cause[i])}"
        for i in np.flatnonzero(ended):
            channel = result.ends.channel[i]
            words[i] = f"the limit of {self._names[channel]}" if channel >= 0 else "an algebraic loop"
        when = np.where(ended, result.ends.tick * self.period, np.nan)
        return tuple(words.tolist()), when


def _about_line(sums: Samples, edges: NDArray[np.int64]) -> Samples:
    """Return rms about the straight line through a stretch, from sums that go on at some edges of it."""
    count = np.diff(edges)[:, None, None]
    at = np.arange(len(count)) - (len(count) - 1) / 2
    with np.errstate(invalid="ignore", over="ignore"):
        means = np.diff(sums[:, 0], axis=0) / count
        slope = np.einsum("a,atc->tc", at, means) / (at @ at)
        ticks = count.sum()
        mean = sums[-1, 0] / ticks
        variance = sums[-1, 1] / ticks - mean**2 - slope**2 * len(count) ** 2 / 12
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def _since(sums: Sequence[Samples], first: Samples) -> Samples:
    """Return sums less those at an earlier instant."""
    with np.errstate(invalid="ignore", over="ignore"):  # of a motion that runs away
        return np.array(sums) - first


def level_of(rms: Samples, own: Samples) -> Samples:
    """Return the level of motions against the run's own, in the channel that is largest, (tests,).

    Parameters
    ----------
    rms
        Of each channel, (tests, channels).
    own
        The sizes by which they are measured; infinite for a channel that does not count.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray((rms / own).max(axis=1, initial=0.0))


def _backend(tick: Tick) -> Literal["lanes", "one by one"]:
    if compiler() is None:
        raise CompileError("no C compiler was found, and without one many rehearsals take too long")
    return "one by one" if lane_obstacle(tick) else "lanes"
