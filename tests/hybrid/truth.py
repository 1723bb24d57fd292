"""What a drawn test really does, found by running its tick and by nothing else: no linearisation, no poles.

1. The run itself. If it stops early, or its interlock trips, it *left its limits*.
2. The way back to rest. After the run the excitation fades out, a short kick of about a third of the run's
   own motion is given through the excitation's inputs, and the tick goes on without excitation. Motion that
   dies out, or that stays well below the run's own (play, quantisation, stick-slip), *ran well*; motion that
   goes beyond it, or goes on by itself as large as it, *grew*. Free motion follows in blocks of doubled
   length until it is decided, or `MOST_TICKS` have gone by: *undecided*. What is not linear is kicked
   slightly first, by less than a hundredth of the run's own motion: if that grows, the run's motion does. If
   only the kick makes it grow, or a jolt, which moves all states of the numerical half at once, at random,
   the test is *fragile*: it runs, as long as nothing hits it.
3. A controller that adapts is judged by its excited motion too: the excitation is repeated three times, and
   nine times where the third repetition moves more than twice as far as the first. Its free motion counts
   for as long as ten such runs: gains that wander for an hour at rest are no part of any. Where gains that
   start from zero never get the rig to follow, a motion that does not grow says nothing: *undecided*.

Motion is the level of velocities and forces at the interfaces in windows of a few periods, each less its own
straight line. So what nothing returns (a free structure that drifts, or is pushed by a sensor's bias) is no
growth, while an exponential, oscillating or not, is. Where a sensor has noise, which is seeded and so
repeats, motion is the difference between two runs of the same noise, with and without the kick.
"""

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # for drawn_tests.py

from drawn_tests import ADAPTIVE, Drawn

from bondloop.compile import Result, Runner
from bondloop.errors import BondloopError
from bondloop.hybrid import HybridTest, PseudoDynamicTest
from bondloop.program.signals import Table
from bondloop.program.signals.in_tick import now_and_next

__all__ = ["Outcome", "judge", "outcome"]

MOST_TICKS = 3_000_000
"""Ticks of free motion after which a small test stays undecided; a large one has fewer."""
COST = 6e7
"""Ticks times states (those of the rig once a substep) that a free motion may take."""
KICK, LEAST = 0.3, 1e-3
"""Size of the kick against the run's own motion; a run below this share of its limit has no motion."""
SLIGHT = 0.02
"""Share of the kick that makes a slight one."""
GENTLE = 0.05
"""Share of the kick for a controller that adapts: a blow of one sample is no part of any run, and gains that
are products of measured motions take it a thousand times harder than the structure does."""
SPARSE = 7
"""In long blocks one tick in so many is recorded: a prime, so that hardly any oscillation looks at rest."""
GROWN, GONE, FLOOR = 5.0, 1e-5, 1e-10
"""Levels against the run's own: clearly larger; clearly dying out; nothing left but rounding."""
SMALL, OWN = 0.05, 0.8
"""A motion that goes on by itself is harmless up to the one, and as large as the run's own from the other;
between them it is neither growth nor a test that ran well."""
EARLY = 20_000
"""Ticks before which a motion that is not linear may be gone and come back."""
RUNS = 10
"""Lengths of the run for which the free motion of a controller that adapts counts."""
IDLE = 0.9
"""Tracking error from which a controller whose gains start from zero has not begun to move the rig."""
LONG = 300_000
"""Ticks after which a hundredth instead of `GONE` will do."""


@dataclass(frozen=True)
class Outcome:
    """What happened.

    Attributes
    ----------
    ran
        ``"well"``, ``"left limits"``, ``"grew"``, ``"fragile"``, ``"not built"`` or ``"undecided"``.
    evidence
        Why, in a line.
    ticks
        Ticks that were executed to find out.
    levels
        Levels of the free motion, block by block, against the run's own.
    """

    ran: str
    evidence: str
    ticks: int = 0
    levels: tuple[float, ...] = field(default=(), repr=False)


def outcome(drawn: Drawn) -> Outcome:
    """Find out what a test does."""
    test = drawn.test
    if test is None:
        return Outcome("not built", drawn.refused)
    try:
        runner = Runner(test.tick)
    except BondloopError as error:
        return Outcome("not built", str(error))
    steps = round(drawn.seconds / test.period) + 1
    inputs = now_and_next(test.tables.values(), steps, test.period) if test.tables else None
    run = runner.run(steps, inputs)
    left = _left(run) or _beyond(test, run)
    if left:
        return Outcome("left limits", left, run.steps)
    free = _Free(drawn, _tabled(test), run)
    found = free.excited() if drawn.kind.get("controller") in ADAPTIVE else None
    if found is None and not free.linear:  # whether a small motion grows, which a large one hides
        gentle = free.undisturbed(SLIGHT)
        # Where the run does not move, the kick is the measure: what goes on as large as that is still slight.
        # And gains that hunt at rest, where friction holds the rig, may hold it well while it moves.
        moves = free.moves() and drawn.kind.get("controller") not in ADAPTIVE
        moves = moves or (gentle is not None and gentle.levels[-1:] > (GROWN,))
        found = gentle if gentle is not None and gentle.ran == "grew" and moves else None
    if found is None:
        found = _blown(drawn, free)
        if found.ran == "grew" and not free.linear:
            found = replace(found, ran="fragile")
    if found.ran == "well" and drawn.kind.get("controller") == "mcs" and not _follows(run):
        found = replace(found, ran="undecided", evidence="the gains never learnt to move the rig")
    return replace(found, ticks=found.ticks + run.steps)


def _follows(run: Result) -> bool:
    """Whether every rig has moved about as it should; gains that are still at zero say nothing of a test."""
    wanted = [n for n in run.channels if n.startswith("desired.displacement")]
    for name in wanted:
        desired, actual = run.channels[name], run.channels[name.replace("desired", "actual")]
        if not np.std(desired - actual) < IDLE * np.std(desired):
            return False
    return True


def _blown(drawn: Drawn, free: "_Free") -> Outcome:
    """Find out what becomes of a blow of a third of the run's own motion, and of one of another kind."""
    found = free.undisturbed()
    if found is None:  # a limit in the way of the kick, not growth: once more with a small one
        found = free.undisturbed(0.1)
    if found is None:  # a limit in its way still: once more without limits
        again = _Free(drawn, free.test.unlimited(), free.run)
        again.ticks = free.ticks
        found = again.undisturbed() or Outcome("grew", "diverged after the run", again.ticks)
    if found.ran == "well" and not free.linear:
        other = free.undisturbed(jolt=True)
        found = found if other is None else other
    return found


def judge(levels: Sequence[float], *, linear: bool, ticks: int, last: bool) -> str:
    """Decide by the levels of free motion in blocks of doubled length, against the run's own; "" to go on.

    Parameters
    ----------
    levels
        One per block.
    linear
        Nothing in the test could sustain a motion of a certain size.
    ticks
        Ticks so far.
    last
        There will be no more blocks.
    """
    now, before = levels[-1], levels[-2] if len(levels) > 1 else levels[-1]
    ratio = now / max(before, 1e-300)
    recent = levels[-3:]
    ratios = [y / max(x, 1e-300) for x, y in itertools.pairwise(recent)]
    falling = len(ratios) > 1 and max(ratios) < 0.999
    rising = len(ratios) > 1 and min(ratios) > 1 and ratio > 1.005
    # Blocks double, so an exponential squares its ratio from one to the next, however slow it is; a motion
    # that goes on by itself has the ratio 1, and with noise about 1.
    flat = not linear and len(ratios) > 1 and all(0.8 < r < 1.25 for r in ratios)
    steady = flat and abs(ratios[1] - 1) < min(0.02, max(abs(ratios[0] - 1), 1e-3))
    calm = not linear and len(levels) > 3 and max(recent) < min(SMALL, 4 * min(recent))
    rules = [
        (now < FLOOR and (linear or ticks >= EARLY), "well"),
        (now > GROWN and (ratio > 2 or now > GROWN**2), "grew"),
        (ratio < 0.5 and now < (GONE if ticks < LONG else 1e-2) and (linear or ticks >= EARLY), "well"),
        (flat and not rising and ticks >= 100_000 and now <= SMALL, "well"),
        (steady and ticks >= 100_000 and now >= OWN, "grew"),
        (calm and not rising and ticks >= 200_000, "well"),
        (steady and ticks >= 200_000, "undecided"),
    ]
    if last:
        rules += [
            (falling and now < 0.5 * levels[0], "well"),
            (ratio > 2 and (linear or now > 2), "grew"),
            (flat and not rising and now <= SMALL, "well"),
            (flat and not falling and now >= OWN, "grew"),
            (not linear and not rising and max(recent) < SMALL, "well"),
            ((now > 2 and ratio > 1) or min(recent) > 1.05, "grew"),  # it began with 1 at most
            (True, "undecided"),
        ]
    return next((answer for holds, answer in rules if holds), "")


# ---------------------------------------------------------------------- running on after the run


def _left(run: Result) -> str:
    """Say why a run was no good; nothing if it was."""
    if not run.finished:
        return run.message
    cause = run.channels.get("interlock.cause")
    if cause is not None and cause.any():
        return f"the interlock tripped at t = {run.time[int(np.argmax(cause != 0))]:.4g} s"
    return ""


def _beyond(test: HybridTest, run: Result) -> str:
    """Say where a run asks more than a tenth beyond what an actuator can do; nothing if it does not."""
    for channel, most in test.capacities.items():
        if np.abs(run.channels[channel]).max() > 1.1 * most:
            return f"{channel} is beyond the actuator"
    return ""


def _tabled(test: HybridTest) -> HybridTest:
    """Return the test with all its inputs as tables, so that one compiled tick runs with any excitation."""
    rest = Table([0.0, 1.0], [0.0, 0.0])
    if isinstance(test, PseudoDynamicTest):  # a kick needs something that drives the test
        driven = test.excitation or {test.interface[0]: None}
        return test.replaced(excitation=dict.fromkeys(driven, rest))
    names = [u.name.removeprefix("numerical.") for u in test.half.excitations if u.name != "switch.force"]
    if all(isinstance(test.excitation.get(n), Table) for n in names):
        return test
    return test.replaced(excitation=dict.fromkeys(names, rest))


class _Free:
    """The motion of a test after its run."""

    def __init__(self, drawn: Drawn, test: HybridTest, run: Result) -> None:
        self.drawn, self.test, self.run, self.ticks = drawn, test, run, 0
        self.tick = test.tick
        noisy = any(s.streams for s in test.sensors.values())
        self.runners = [Runner(self.tick) for _ in range(2 if noisy else 1)]
        self.linear = drawn.kind.get("nonlinearity", "none") == "none"
        f = drawn.recipe.get("frequency", 3.0)
        self.window = max(8, round(min(max(3.0 / f, 0.25), 3.0) / test.period))
        self.names = [
            c.name for c in self.tick.channels
            if c.name.startswith(("desired.velocity", "actual.velocity", "force"))
        ]  # fmt: skip
        self.stepped = isinstance(test, PseudoDynamicTest)
        again = 4 * len(self.tick.states)  # most of a step is repeated in every sub-step
        if not self.stepped:
            again = (test.rig.substeps - 1) * len(test.rig_system.system.states)
        self.states = len(self.tick.states) + again
        steps = run.steps
        own = drawn.test.excitation
        signals = [own[n][0] if self.stepped else drawn.test.signal(n) for n in test.tables if n in own]
        wide = len(self.tick.inputs)
        self.excitation = now_and_next(signals, steps, test.period) if signals else np.zeros((steps, wide))
        self.scales = self._scales(run.channels)
        # While a controller learns, the rig moves less than it should: it may grow to that.
        if drawn.kind.get("controller") in ADAPTIVE:
            own = dict(zip(self.names, self.scales, strict=True))
            self.scales = np.array(
                [max(x, own.get(n.replace("actual", "desired"), 0.0)) for n, x in own.items()]
            )

    # ------------------------------------------------------------------ motion and its size

    def _rms(self, channels: dict[str, Any], every: int = 1) -> np.ndarray:
        """Return a row per channel: rms of each window's motion about its own straight line."""
        length = max(8, self.window // every)
        rows = []
        for name in self.names:
            x = np.asarray(channels[name])
            x = x[-(len(x) // length) * length :].reshape(-1, length) if len(x) >= length else x[None, :]
            t = np.linspace(-1.0, 1.0, x.shape[1])
            x = x - x.mean(axis=1, keepdims=True)
            x = x - np.outer(x @ t / (t @ t), t)
            rows.append(np.sqrt(np.mean(x**2, axis=1)))
        return np.array(rows)

    def _scales(self, channels: dict[str, Any]) -> np.ndarray:
        return np.sqrt(np.mean(self._rms(channels) ** 2, axis=1))

    def _levels(self, channels: dict[str, Any], every: int = 1) -> np.ndarray:
        """Return the level of each window: the channels together, each against its scale."""
        return np.sqrt(np.mean((self._rms(channels, every) / self.scales[:, None]) ** 2, axis=0))

    def _go(self, inputs: np.ndarray, every: int = 1, kick: float = 0.0) -> dict[str, Any] | str:
        """Run on; return the motion, or why it stopped. A kick is added to the first row, of one run only."""
        results = []
        for runner, push in zip(self.runners, (kick, 0.0), strict=False):
            given = inputs
            if push:
                given = inputs.copy()
                given[0, 0 :: 1 if self.stepped else 2] += push  # what comes next is untouched, or not read
            results.append(runner.run(len(inputs), given, every=every))
            self.ticks += results[-1].steps
            left = _left(results[-1])
            if left:
                return left
        one = results[0].channels
        if len(results) == 1:
            return {n: one[n] for n in self.names}
        return {n: one[n] - results[1].channels[n] for n in self.names}

    def _zeros(self, ticks: int) -> np.ndarray:
        return np.zeros((ticks, len(self.tick.inputs)))

    def moves(self) -> bool:
        """Whether the run has a motion that is worth the name."""
        own, most = self._own()
        return own > LEAST * most

    def _own(self) -> tuple[float, float]:
        """Return the run's largest motion, in m, and its limit; the motion itself where there is none."""
        names = [n for n in self.run.channels if n.startswith("desired.displacement")]
        own = max(np.ptp(self.run.channels[n]) / 2 for n in names)
        limits = self.drawn.test.limits
        most = float(limits.displacement) if limits is not None and limits.displacement else own or 1e-3
        return float(own), most

    def _wanted(self) -> float:
        """Return how far a blow should move the interfaces, in m: a third of the run's largest motion."""
        own, most = self._own()
        wanted = KICK * own if self.moves() else 10 * LEAST * most
        if self.drawn.kind.get("controller") in ADAPTIVE:
            wanted *= GENTLE
        return wanted

    def _displaced(self, moved: Result, rest: Result) -> float:
        """Return how far a blow moves the desired displacement at most."""
        self.ticks += moved.steps
        n = min(moved.steps, rest.steps) - 1
        if n < 1:
            return np.inf  # it left its limits at once
        names = [n for n in self.run.channels if n.startswith("desired.displacement")]
        return max(float(np.abs(moved.channels[c][:n] - rest.channels[c][:n]).max()) for c in names)

    def _kick(self) -> float:
        """Size a kick by what it does at the start."""
        wanted = self._wanted()
        largest = float(np.abs(self.excitation).max(initial=0.0))
        size = 1e-3 * largest or 1e-6
        runner = self.runners[0]
        ticks = max(16, min(self.window, round(0.5 / self.test.period)))
        rows = self._zeros(ticks)
        runner.reset()
        rest = runner.run(ticks, rows)
        for _ in range(2):
            rows[0, 0 :: 1 if self.stepped else 2] = size
            runner.reset()
            peak = self._displaced(runner.run(ticks, rows), rest)
            if not np.isfinite(peak) or peak == 0:
                break
            size *= wanted / peak
        return size

    def _jolt(self) -> dict[str, float]:
        """Return changes of all states of the numerical half, at random, each as its own motion in the run.

        They are sized by what they do at the start, as the kick is.
        """
        runner = self.runners[0]
        names = [v.name for v in self.tick.states if v.name.startswith("numerical.")]
        runner.reset()
        rest = runner.snapshot()
        seen = []
        for rows in np.array_split(self.excitation, min(50, len(self.excitation))):
            runner.run(len(rows), rows)
            seen.append([runner.state[n] for n in names])
        own = np.std(seen, axis=0) if names else np.zeros(0)
        signs = np.random.default_rng(self.drawn.recipe.get("seed", 0)).uniform(-1, 1, len(names))
        jolt = {n: float(x) for n, x in zip(names, own * signs, strict=True) if np.isfinite(x) and x}
        ticks = max(16, min(self.window, round(0.5 / self.test.period)))
        runner.restore(rest)
        still = runner.run(ticks, self._zeros(ticks))
        for _ in range(2):
            runner.restore(rest, jolt)
            peak = self._displaced(runner.run(ticks, self._zeros(ticks)), still)
            if not np.isfinite(peak) or peak == 0:
                return {}
            jolt = {n: x * self._wanted() / peak for n, x in jolt.items()}
        return jolt

    # ------------------------------------------------------------------ the two questions

    def undisturbed(self, share: float = 1.0, *, jolt: bool = False) -> Outcome | None:
        """Follow the free motion after run, fading and blow; None where a limit was passed without growth."""
        kick = 0.0 if jolt else share * self._kick()
        changes = self._jolt() if jolt else {}
        if jolt and not changes:
            return None
        for runner in self.runners:
            runner.reset()
        fade = max(2, round(0.01 / self.test.period))  # short: a wall's velocity that is held carries it away
        last = self.excitation[-1] * (0.5 + 0.5 * np.cos(np.linspace(0, np.pi, fade)))[:, None]
        for rows in (self.excitation, last):
            left = self._go(rows)
            if isinstance(left, str):
                return None
        self.runners[0].restore(self.runners[0].snapshot(), changes)
        first = self._go(self._zeros(4 * self.window), kick=kick)
        if isinstance(first, str):
            return None
        rig = [n for n in self.names if n.startswith("actual")]
        if not any(np.any(first[n]) or np.any(self.run.channels[n]) for n in rig):
            return Outcome("undecided", "nothing ever moved the rig", self.ticks)
        # A channel that the run left at rest is measured by the kick.
        self.scales = np.maximum(self.scales, self._scales(first))
        self.scales = np.where(self.scales > 0, self.scales, 1.0)
        return self._followed(float(self._levels(first).max(initial=0.0)))

    def _followed(self, start: float) -> Outcome | None:
        most = min(MOST_TICKS, COST / self.states / len(self.runners))
        if self.drawn.kind.get("controller") in ADAPTIVE:
            most = min(most, max(RUNS * self.run.steps, 64 * self.window))
        own = max(1.0, start)
        levels = [start / own]
        length, spent = 4, 4 * self.window
        while True:
            ticks = length * self.window
            every = SPARSE if ticks > 20_000 and self.window > 16 * SPARSE else 1
            motion = self._go(self._zeros(ticks), every)
            if isinstance(motion, str):
                risen = levels[-1] > 1.5 and levels[-1] > levels[0]
                what = f"free motion: {motion}"
                return Outcome("grew", what, self.ticks, tuple(levels)) if risen else None
            ends = self._levels(motion, every)
            levels.append(float(np.sqrt(np.mean(ends[-max(2, len(ends) // 4) :] ** 2))) / own)
            spent += ticks
            last = spent + 2 * ticks > most
            found = judge(levels, linear=self.linear, ticks=spent, last=last)
            if found:
                seconds = spent * self.test.period
                by_itself = (
                    "goes on by itself, " if found == "grew" and levels[-1] < 1.25 * levels[-2] else ""
                )
                size = f"{levels[-2]:.3g} to {levels[-1]:.3g} of the run's own"
                what = f"free motion of {seconds:.4g} s: {by_itself}{size}"
                return Outcome(found, what, self.ticks, tuple(levels))
            length *= 2

    def _followed_scales(self) -> np.ndarray:
        """Measure the rig's motion by what it should follow: while a controller learns, the rig moves less.

        Forces are left out, since they come with the motion.
        """
        own = dict(zip(self.names, self.scales, strict=True))
        wanted = [own.get(n.replace("actual", "desired"), 0.0) for n in self.names]
        force = [n.startswith("force") for n in self.names]
        return np.where(force, np.inf, np.where(np.array(wanted) > 0, wanted, 1.0))

    def excited(self) -> Outcome | None:
        """Repeat the excitation: does the motion grow from one repetition to the next, ever faster?

        A resonance that builds up grows too, but by less and less; so the last three repetitions of nine must
        add more than the three before them.
        """
        self.runners[0].reset()
        runners, self.runners = self.runners, self.runners[:1]
        scale, self.scales = self.scales, self._followed_scales()
        levels: list[float] = []
        found = None
        # Each repetition fades in and out: where a signal does not end as it began, the join would be a blow.
        part = max(1, len(self.excitation) // 20)
        fade = np.ones(len(self.excitation))
        fade[:part] = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, part))
        fade[-part:] = fade[:part][::-1]
        for i in range(9):
            motion = self._go(self.excitation * fade[:, None])
            if isinstance(motion, str):
                if self.test.limits is None:
                    found = Outcome("grew", f"repetition {i + 1}: {motion}", self.ticks, tuple(levels))
                else:  # a limit says nothing of growth: once more without
                    found = _Free(self.drawn, self.test.unlimited(), self.run).excited()
                break
            levels.append(float(np.sqrt(np.mean(self._levels(motion) ** 2))))
            if i == 2 and not (levels[2] > 2 * levels[0] and levels[2] > 1.3 * levels[1]):
                break
        if len(levels) == 9 and levels[8] - levels[5] > 1.3 * (levels[5] - levels[2]) > 0:
            words = f"excited motion of 9 repetitions: {levels[2]:.3g} to {levels[8]:.3g} of the first"
            found = Outcome("grew", words, self.ticks, tuple(levels))
        self.runners, self.scales = runners, scale
        return found
