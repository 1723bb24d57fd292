"""The excitation over and over again, for a controller that adapts: what it has learnt may not hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bondloop.check.dry_run import STARTED
from bondloop.check.free_motion import QUIET, end_of
from bondloop.engine.ir import LARGEST, Role, Var, channels_of
from bondloop.rehearsal import CHUNK, SCALE, Rehearsal
from bondloop.rigs import SEED

if TYPE_CHECKING:
    from bondloop.engine.codegen import Result
    from bondloop.hybrid import Checkable


RAMP, LEVELS = 20, 16
"""Share of a repetition, one in so many, in which its excitation fades in, and out; and in how many steps."""

REPETITIONS = 9
"""How often the excitation is repeated for a controller that adapts."""

ENOUGH, SETTLED, ALIKE = 100_000, 0.1, 0.1
"""Ticks after which repetitions may end early: where each coefficient has stood still in the last two of
three, but for the first share of the way that it had come, and their levels differ by the second at most."""

AWAY = 10.0
"""How much larger than the first two a repetition must be to count as growth, though the next ones are no
larger. Than two: what comes at the very end of a test moves the structure in the next repetition only."""

AGAIN = 5.0
"""How much larger than the one before a repetition that runs away without limits must be to count as growth;
one that leaves its limits only, as much as `AWAY`."""

PAUSE, GOLDEN = 20, 0.618
"""Before a repetition there is a pause of up to one in so many of the run. Each another one, in golden
sections, so that it meets another phase of the motion that the one before has left: in step with itself the
motion might settle to a cycle that no other excitation would keep it in."""


class Repetitions(NamedTuple):
    """What became of repetitions: `repetitions`, `given_up` and `diverged` of a `DryRun`."""

    levels: tuple[float, ...]
    given_up: str
    diverged: bool

    @property
    def grew(self) -> bool:
        """Whether the controller has not held what it has learnt."""
        return unheld(self.levels, given_up=bool(self.given_up), diverged=self.diverged)


def repetitions(
    test: Checkable, rehearsal: Rehearsal, adapted: Iterable[Var], *, in_step_too: bool
) -> Repetitions:
    """Repeat the excitation for a controller that adapts; without limits too, where those came in the way.

    Parameters
    ----------
    test, rehearsal, adapted
        See `repeated`.
    in_step_too
        Whether to repeat it in step as well, where it holds out of step. Where the motion passes through
        places at which the loop is unstable (a double well), what is learnt there adds up in step, in the
        same places each time, and may cancel out of step.
    """
    outcome = _repetitions(test, rehearsal, adapted, in_step=False)
    if in_step_too and not outcome.grew:
        in_step = _repetitions(test, rehearsal, adapted, in_step=True)
        if in_step.grew or (in_step.given_up and not outcome.given_up):
            return in_step
    return outcome


def _repetitions(
    test: Checkable, rehearsal: Rehearsal, adapted: Iterable[Var], *, in_step: bool
) -> Repetitions:
    levels, why = repeated(test, rehearsal, adapted, in_step=in_step)
    if not why or (test.limits is None and test.interlock is None):
        return Repetitions(levels, why, bool(why))
    unbounded = test.unlimited()
    levels, diverged = repeated(unbounded, Rehearsal(unbounded, rehearsal.steps), adapted, in_step=in_step)
    return Repetitions(levels, why, bool(diverged))


def repeated(
    test: Checkable, rehearsal: Rehearsal, adapted: Iterable[Var] = (), *, in_step: bool = False
) -> tuple[tuple[float, ...], str]:
    """Return the level of motion in repetitions of the excitation, and why it stopped early.

    For a controller that adapts: what it has learnt by the end of the test may not hold. Each repetition
    fades in and out, since a signal that does not end as it began would strike a blow where it is joined to
    itself; and each has other noise, since the run's own is one of many. Switches on a schedule close but
    once. A long test is repeated less often where its controller has learnt what there is to learn.

    Parameters
    ----------
    test, rehearsal
        The test, and its tick ready to run.
    adapted
        What the controller adapts; where nothing is said no repetition is spared.
    in_step
        Whether each follows the one before at once, with the same noise.
    """
    # The desired motion is counted in: while a controller learns, the rig moves ever more, and should.
    names = channels_of(test.tick.channels, Role.ACTUAL, Role.DESIRED, kind="flow")
    runner, steps = rehearsal.runner, rehearsal.steps
    runner.reset()
    learnt = _Learnt(test, rehearsal, adapted)
    levels: list[float] = []
    ramp = max(1, steps // RAMP)
    noise = {v.name: seed for v, seed in test.tick.parameters.items() if v.name == SEED}
    for i in range(REPETITIONS):
        other = {} if in_step else {name: (seed + i) % LARGEST for name, seed in noise.items()}
        # In the first ticks, which come but once, controllers do something else.
        start = min(STARTED, steps // 2) if i else 0
        pause = 0 if in_step else round(steps / PAUSE * (i * GOLDEN % 1))
        motion, ended = _Motion(names), ""
        if pause:
            ended = motion.take(rehearsal.on(pause, {**QUIET, **other}))
        rehearsal.back(start)
        while not ended and (done := runner.count) < steps:
            edge = min(done - start, steps - 1 - done)
            part = max(1, ramp // LEVELS) if edge < ramp else min(CHUNK, steps - ramp - done)
            faded = 0.5 - 0.5 * math.cos(math.pi * min(1.0, (edge + part / 2) / ramp))
            scale = {SCALE: test.scale * faded} if edge < ramp else {}
            result = rehearsal.run(part, {**scale, **other})
            ended = motion.take(result)
        levels.append(motion.level)
        if ended:
            return tuple(levels), f"in repetition {i + 1} {ended}"
        learnt.note(result, runner.state)
        if (
            (i + 1) * steps >= ENOUGH
            and not test.has_adaptive_gains
            and learnt.settled
            and _alike(levels[-3:])
        ):
            break
        if not i:
            rehearsal = _coupled(test, rehearsal)
            runner = rehearsal.runner
    return tuple(levels), ""


def _coupled(test: Checkable, rehearsal: Rehearsal) -> Rehearsal:
    """Return a run that goes on where one stands, with switches closed that would else open and close again.

    A motion that goes on would meet a rig that starts from rest: a blow that no test has.
    """
    coupled = test.settled()
    if coupled is test:
        return rehearsal
    closed = Rehearsal(coupled, rehearsal.steps)
    closed.runner.restore(rehearsal.runner.snapshot())  # a schedule has no states of its own
    return closed


class _Learnt:
    """What a controller has learnt, from one repetition to the next."""

    def __init__(self, test: Checkable, rehearsal: Rehearsal, adapted: Iterable[Var]) -> None:
        names = [v.name for v in adapted]
        states, shown = rehearsal.runner.state, {}
        for channel in test.tick.channels:
            if isinstance(channel.value, Var):
                shown[channel.value.name] = channel.name
        self._states = [n for n in names if n in states]
        self._channels = [shown[n] for n in names if n not in states and n in shown]
        self._known = bool(names) and len(self._states) + len(self._channels) == len(names)
        # What is no state has no value before the first tick; it is taken to come from zero.
        self._history = [[*(states[n] for n in self._states), *(0.0 for _ in self._channels)]]

    def note(self, last: Result, states: Mapping[str, float]) -> None:
        """Note what it has learnt by the end of a repetition."""
        shown = [float(last.channels[n][-1]) for n in self._channels]
        self._history.append([*(states[n] for n in self._states), *shown])

    @property
    def settled(self) -> bool:
        """Whether it has stood still in the last two repetitions."""
        if not self._known or len(self._history) < 4:
            return False
        first, *_, before, middle, last = self._history
        for a, x, y, z in zip(first, before, middle, last, strict=True):
            way = max(abs(v - a) for v in (x, y, z))
            if not max(abs(y - x), abs(z - y), abs(z - x)) <= SETTLED * way:
                return False
        return True


class _Motion:
    """The size of a repetition's motion.

    Parameters
    ----------
    names
        Of the channels that count.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._total, self._count = names, 0.0, 0

    def take(self, result: Result) -> str:
        """Add a part of it; return why it ended in that part, if it did."""
        with np.errstate(over="ignore"):  # a motion that runs away
            self._total += float(sum((result.channels[c] ** 2).sum() for c in self._names))
        self._count += len(result.time)
        return end_of(result)

    @property
    def level(self) -> float:
        """Its rms; infinity, not "no number", where it has run away: that is larger than any."""
        level = math.sqrt(self._total / max(self._count, 1))
        return level if math.isfinite(level) else math.inf


def _alike(levels: Sequence[float]) -> bool:
    return max(levels) <= (1 + ALIKE) * min(levels)


def unheld(levels: Sequence[float], *, given_up: bool, diverged: bool) -> bool:
    """Whether the motion grows from repetition to repetition, or leaves its limits with a jump.

    Parameters
    ----------
    levels
        Of the motion in the repetitions, without limits where those came in their way.
    given_up, diverged
        Whether they ended early, and whether they did without limits too.
    """
    enough = min(AWAY if given_up else math.inf, AGAIN if diverged else math.inf)
    return growing(levels) or any(b > enough * a for a, b in itertools.pairwise(levels))


def growing(levels: Sequence[float]) -> bool:
    """Whether the motion grows from repetition to repetition: far beyond the first, or ever faster.

    A resonance that builds up grows too, but by less and less; and one that was larger before, and came back,
    has not grown.
    """
    if max(levels) > AWAY * max(levels[: 2 if len(levels) > 2 else 1]):  # whatever it does afterwards
        return True
    if len(levels) < REPETITIONS or not (levels[2] > 2 * levels[0] and levels[2] > 1.3 * levels[1]):
        return False
    faster = levels[8] - levels[5] > 1.3 * (levels[5] - levels[2]) > 0
    return faster and max(levels[6:]) >= max(levels)
