"""What a drawn test really does, found by running its tick and by nothing else: no linearisation, no poles.

1. The run itself. If it stops early, or its interlock trips, it *left its limits*.
2. The way back to rest. After the run the excitation fades out, a short blow is given, and the tick goes on
   without excitation. Blows move the interfaces by a share of the run's largest displacement (`BLOWS`: what a
   test has to withstand), from where the run has ended: kicks through the excitation's inputs, pushes on what
   moves the interfaces at once, both from either side, and a jolt of all states of the numerical half, at
   random. Motion that dies out, or that stays well below the run's own (play, quantisation, stick-slip), *ran
   well*; motion that goes beyond it, or goes on by itself as large as it, *grew*. Free motion follows in
   blocks of doubled length until it is decided, or `MOST_TICKS` have gone by: *undecided*. What is not
   linear is kicked slightly first, by less than a hundredth of the run's own motion: if that grows, the run's
   motion does. If only a blow makes it grow, or another excitation than its own (a pulse that begins
   between two samples is followed as a table), the test is *fragile*: it runs, as long as nothing hits it.
3. A controller that adapts is judged by its excited motion too: the excitation is repeated nine times, in
   step, and if that holds nine times more, out of step and with other noise; what breaks out only then is
   fragile. Its free motion counts for as long as ten such runs: gains that wander for an hour at rest are no
   part of any. Where gains that start from zero never get the rig to follow, a motion that does not grow says
   nothing: *undecided*.

Motion is the level of velocities and forces at the interfaces in windows of a few periods, each less its own
straight line. So what nothing returns (a free structure that drifts, or is pushed by a sensor's bias) is no
growth, while an exponential, oscillating or not, is. Where a sensor has noise, which is seeded and so
repeats, motion is the difference between two runs of the same noise, with and without the kick, or what the
louder of them moves, where that is less.
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

from bondloop.engine.codegen import Result, Runner
from bondloop.errors import BondloopError
from bondloop.hybrid import HybridTest, PseudoDynamicTest
from bondloop.signals import Table
from bondloop.signals.in_tick import tabulated_inputs

__all__ = ["UNBLOWN", "Outcome", "judge", "outcome"]

UNBLOWN = "it does not grow; no blow was tried"
"""The evidence on a test that is not linear, where no blows were asked for."""

MOST_TICKS = 3_000_000
"""Ticks of free motion after which a small test stays undecided; a large one has fewer."""
COST = 6e7
"""Ticks times states (those of the rig once a substep) that a free motion may take."""
BLOWS = {"kick": 0.45, "jolt": 0.36, "push": 0.36}
"""How far each kind of blow moves the interfaces, against the largest displacement of the run: what a test
has to withstand, see docs/check.md."""
LEAST = 1e-3
"""Share of its limit below which a run has no motion; ten times that is then its measure."""
SLIGHT = 0.013
"""Share of the kick that makes a slight one: less than a hundredth of the run's own motion."""
OTHERS = (("kick", -1.0), ("jolt", 1.0), ("push", 1.0), ("push", -1.0))
"""Blows, and the sides they come from, that follow a first kick."""
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
AWAY = 100.0
"""Level, against the first repetition, at which an excited motion has broken out, whatever it does next."""
GOLDEN = 0.618
"""Of a period: how much later in its motion each repetition out of step comes than the one before."""
IDLE = 0.9
"""Tracking error from which a controller whose gains start from zero has not begun to move the rig."""
ALIKE = 0.05
"""Difference, against its own motion, up to which the run as a table is the run."""
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


def outcome(drawn: Drawn, *, blows: bool = True) -> Outcome:
    """Find out what a test does.

    Parameters
    ----------
    drawn
        The test.
    blows
        Whether those are tried that can only tell what is fragile, or undecided, from what ran well: most of
        the work, and nothing to who asks what left its limits or grew.
    """
    test = drawn.test
    if test is None:
        return Outcome("not built", drawn.refused)
    try:
        runner = Runner(test.tick)
    except BondloopError as error:
        return Outcome("not built", str(error))
    steps = round(drawn.seconds / test.period) + 1
    inputs = tabulated_inputs(test.tables.values(), steps, test.period) if test.tables else None
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
        found = gentle if gentle is not None and gentle.ran == "grew" and moves and free.same else None
    if found is None and not blows and not free.linear:
        return Outcome("well", UNBLOWN, free.ticks + run.steps)
    if found is None and drawn.kind.get("controller") in ADAPTIVE:
        found = free.excited(in_step=False)
        found = None if found is None else replace(found, ran="fragile")
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
    worst = ("well", "undecided", "grew")
    for kind, side in OTHERS if found.ran != "grew" and not free.linear else ():
        other = free.undisturbed(kind=kind, side=side)
        if other is not None and worst.index(other.ran) > worst.index(found.ran):
            found = other
        if found.ran == "grew":
            break
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
        wide, times = len(self.tick.inputs), test.period * np.arange(steps + 1)
        # As the tick takes them: a closed form is not refused where it is too fast for the steps.
        columns = [values[at : at + steps] for s in signals for values in [s(times)] for at in (0, 1)]
        self.excitation = np.column_stack(columns) if signals else np.zeros((steps, wide))
        self.scales = self._scales(run.channels)
        self.there: Any = None
        self.same = True
        self.own_states: dict[str, float] = {}
        self.noise: dict[str, float] = {}
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
        """Return the size of each channel's motion, in windows from either end: none of it is left out."""
        turned = {n: np.asarray(channels[n])[::-1] for n in self.names}
        rms = np.concatenate([self._rms(channels), self._rms(turned)], axis=1)
        return np.sqrt(np.mean(rms**2, axis=1))

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
            results.append(runner.run(len(inputs), given, self.noise, every=every))
            self.ticks += results[-1].steps
            left = _left(results[-1])
            if left:
                return left
        self.each = [{n: result.channels[n] for n in self.names} for result in results]
        one = self.each[0]
        if len(results) == 1:
            return one
        return {n: one[n] - results[1].channels[n] for n in self.names}

    def _zeros(self, ticks: int) -> np.ndarray:
        return np.zeros((ticks, len(self.tick.inputs)))

    def moves(self) -> bool:
        """Whether the run has a motion that is worth the name."""
        own, most = self._own()
        return own > LEAST * most

    def _own(self) -> tuple[float, float]:
        """Return the run's largest motion, in m, and its limit; the motion itself where there is none."""
        names = [n for n in self.run.channels if n.startswith("actual.displacement")]
        own = max(np.abs(self.run.channels[n]).max() for n in names)
        limits = self.drawn.test.limits
        most = float(limits.displacement) if limits is not None and limits.displacement else own or 1e-3
        return float(own), most

    def _wanted(self) -> float:
        """Return how far a blow of full size moves the interfaces, in m."""
        own, most = self._own()
        wanted = own if self.moves() else 10 * LEAST * most / BLOWS["kick"]
        if self.drawn.kind.get("controller") in ADAPTIVE:
            wanted *= GENTLE
        return wanted

    def _ended(self) -> bool:
        """Run, and let the excitation fade out, once; False where a limit is passed on the way."""
        if self.there is not None:
            return True
        runner = self.runners[0]
        runner.reset()
        fade = max(2, round(0.01 / self.test.period))  # short: a wall's velocity that is held carries it away
        last = self.excitation[-1] * (0.5 + 0.5 * np.cos(np.linspace(0, np.pi, fade)))[:, None]
        seen, moved = [], []
        for rows in (*np.array_split(self.excitation, min(50, len(self.excitation))), last):
            result = runner.run(len(rows), rows)
            self.ticks += result.steps
            if _left(result):
                return False
            seen.append(runner.state)
            moved.append(np.array([result.channels[n] for n in self.names]))
        own = np.array([self.run.channels[n] for n in self.names])
        apart = np.std(np.concatenate(moved, axis=1)[:, : own.shape[1]] - own, axis=1)
        # Two motions that go on by themselves part without end: there the one is as good as the other.
        at_the_end = self._rms(self.run.channels)[:, -1] / np.where(self.scales > 0, self.scales, np.inf)
        restless = np.sqrt(np.mean(at_the_end**2)) > 0.5
        self.same = bool(restless or np.all(apart <= ALIKE * np.std(own, axis=1)))
        self.there = runner.snapshot()
        names = [v.name for v in self.tick.states if v.name.startswith("numerical.")]
        self.own_states = {n: float(np.std([state[n] for state in seen])) for n in names}
        if not any(self.own_states.values()):  # a run at rest: blows are sized by what they do
            self.own_states = dict.fromkeys(names, 1.0)
        return True

    def _blow(self, kind: str, side: float) -> tuple[float, dict[str, float]]:
        """Return a small blow: what is added to the excitation for a sample, and changes of states.

        A *kick* comes by the excitation. A *jolt* moves all states of the numerical half at random, each as
        its own motion in the run; a *push* those that move the interfaces at once, as a force there does.
        """
        if kind == "kick":
            return side * (1e-3 * float(np.abs(self.excitation).max(initial=0.0)) or 1e-6), {}
        seed = self.drawn.recipe.get("seed", 0)
        chance = np.random.default_rng(seed).uniform(-1, 1, len(self.own_states)).tolist()
        shares = chance if kind == "jolt" else self._at_interfaces()
        own = zip(self.own_states.items(), shares, strict=True)
        return 0.0, {n: 1e-3 * side * share * x for (n, x), share in own if np.isfinite(x) and x * share}

    def _at_interfaces(self) -> list[bool]:
        """Return for every state of the numerical half whether it is what moves an interface at once."""
        names = [n for n in self.run.channels if n.startswith("desired.velocity")]
        felt = []
        for change in ({}, *({n: 1e-3 * x} for n, x in self.own_states.items())):
            self.runners[0].restore(self.there, change)
            result = self.runners[0].run(2, self._zeros(2))
            felt.append([result.channels[n][-1] for n in names])
        answers = np.abs(np.array(felt[1:]).reshape(-1, len(names)) - felt[0])
        return np.any(answers > 0.5 * answers.max(axis=0, initial=0.0), axis=1).tolist()

    def _sized(self, blow: tuple[float, dict[str, float]], wanted: float) -> tuple[float, dict[str, float]]:
        """Scale a blow so that it moves the interfaces by some metres from where the run has ended.

        Where none does (nothing moves within a play, beyond it everything runs away), it is the smallest that
        was found to move them farther.
        """
        kick, changes = blow
        self.runners[0].restore(self.there)
        still = self.runners[0].run(self.window, self._zeros(self.window))
        size, low, high = 1.0, 0.0, np.inf
        for _ in range(12):
            rows = self._zeros(self.window)
            rows[0, 0 :: 1 if self.stepped else 2] = size * kick
            self.runners[0].restore(self.there, {n: size * x for n, x in changes.items()})
            peak = self._displaced(self.runners[0].run(self.window, rows), still)
            if 0.8 * wanted < peak < 1.25 * wanted:
                high = size
                break
            low, high = (max(low, size), high) if peak < wanted else (low, min(high, size))
            size *= wanted / peak if 0 < peak < np.inf else 1e3
            if not low < size < high:  # in no proportion
                size = np.sqrt(max(low, 1e-4 * high) * high) if np.isfinite(high) else 10 * low
        size = high if np.isfinite(high) else low
        return size * kick, {n: size * x for n, x in changes.items()}

    def _displaced(self, moved: Result, rest: Result) -> float:
        """Return how far a blow moves the interfaces at most, desired or actual."""
        self.ticks += moved.steps
        n = min(moved.steps, rest.steps) - 1
        if n < 1:
            return np.inf  # it left its limits at once
        names = [
            n for n in self.run.channels if n.startswith(("desired.displacement", "actual.displacement"))
        ]
        return max(float(np.abs(moved.channels[c][:n] - rest.channels[c][:n]).max()) for c in names)

    # ------------------------------------------------------------------ the two questions

    def undisturbed(self, share: float = 1.0, kind: str = "kick", side: float = 1.0) -> Outcome | None:
        """Follow the free motion after run, fading and blow; None where a limit was passed without growth."""
        if not self._ended():
            return None
        blow = self._blow(kind, side)
        if kind != "kick" and not blow[1]:
            return None
        kick, changes = self._sized(blow, share * BLOWS[kind] * self._wanted())
        for runner in self.runners:
            runner.restore(self.there)
        self.runners[0].restore(self.there, changes)
        first = self._go(self._zeros(4 * self.window), kick=kick)
        if isinstance(first, str):
            return None
        rig = [n for n in self.names if n.startswith("actual")]
        if not any(np.any(first[n]) or np.any(self.run.channels[n]) for n in rig):
            return Outcome("undecided", "nothing ever moved the rig", self.ticks)
        # A channel that the run left at rest is measured by the kick.
        own, self.scales = self.scales, np.maximum(self.scales, self._scales(first))
        self.scales = np.where(self.scales > 0, self.scales, 1.0)
        found = self._followed(float(self._levels(first).max(initial=0.0)))
        self.scales = own
        return found

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
            # Two runs that go on by themselves, out of step, differ by more than either of them moves.
            louder = np.max([self._levels(channels, every) for channels in self.each], axis=0)
            ends = np.minimum(self._levels(motion, every), louder)
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

    def excited(self, *, in_step: bool = True) -> Outcome | None:
        """Repeat the excitation: does the motion break out, or grow from one repetition to the next?

        A resonance that builds up grows too, but by less and less; so the last three repetitions of nine must
        add more than the three before them. And what was larger before, and came back, has not grown.

        Parameters
        ----------
        in_step
            Whether each follows the one before at once, with the same noise; else each comes in another phase
            of the motion that the one before has left, and with other noise.
        """
        self.runners[0].reset()
        runners, self.runners = self.runners, self.runners[:1]
        scale, self.scales = self.scales, self._followed_scales()
        seeds = {v.name: x for v, x in self.tick.parameters.items() if v.name.endswith(".seed")}
        levels: list[float] = []
        found = None
        # Each repetition fades in and out: where a signal does not end as it began, the join would be a blow.
        for i in range(9):
            self.noise = {} if in_step else {n: x + i for n, x in seeds.items()}
            # Out of step it comes later in the motion that is left, and without some of its own beginning.
            late = 0.0 if in_step else i * GOLDEN % 1
            rows = self.excitation[round(0.1 * late * len(self.excitation)) :]
            part = max(1, len(rows) // 20)
            fade = np.ones(len(rows))
            fade[:part] = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, part))
            fade[-part:] = fade[:part][::-1]
            rows = np.concatenate([self._zeros(round(late * self.window / 3)), rows * fade[:, None]])
            motion = self._go(rows)
            if isinstance(motion, str):
                if self.test.limits is None:
                    found = Outcome("grew", f"repetition {i + 1}: {motion}", self.ticks, tuple(levels))
                else:  # a limit says nothing of growth: once more without
                    free = _Free(self.drawn, self.test.unlimited(), self.run)
                    found = free.excited(in_step=in_step)
                break
            levels.append(float(np.sqrt(np.mean(self._levels(motion) ** 2))))
        growing = len(levels) == 9 and levels[2] > 2 * levels[0] and levels[2] > 1.3 * levels[1]
        growing = growing and levels[8] - levels[5] > 1.3 * (levels[5] - levels[2]) > 0
        growing = growing and max(levels[6:]) >= max(levels)
        if growing or (levels and max(levels) > AWAY * max(1.0, levels[0])):
            words = f"excited motion of 9 repetitions: {levels[0]:.3g} to {max(levels):.3g} of the run's own"
            found = Outcome("grew", words if in_step else f"{words}, out of step", self.ticks, tuple(levels))
        self.runners, self.scales, self.noise = runners, scale, {}
        return found
