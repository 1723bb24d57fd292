"""The way back to rest after the dry run: the excitation fades out, a knock is given, and the tick goes on.

For a loop that is not linear no eigenvalue says what becomes of a motion as large as the test's own. So it is
tried. Where sensors have noise, which is numbered by the tick and so repeats, the motion is the difference
between two runs of the same noise, with the knock and without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check.disturbance import Size, sized_push
from bondloop.engine.ir import Role, channels_of
from bondloop.rehearsal import CHUNK, SCALE, trip
from bondloop.safety import CAUSE, cause_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.analysis.spectrum import OneStep
    from bondloop.engine.codegen import Result, Snapshot
    from bondloop.hybrid import Checkable
    from bondloop.rehearsal import Rehearsal


FADE, STAGES = 0.01, 4
"""Seconds in which the excitation fades out, and in how many stages; short, since a velocity that is held for
long carries its wall away."""

QUIET = {SCALE: 0.0}
"""Parameters of a tick without excitation."""

KNOCK, LEAST = 0.3, 0.01
"""Size of the knock against the largest displacement of the run, and against the limit where that is next to
nothing (below a tenth of this)."""

MOST, COST = 400_000, 4e7
"""Ticks of free motion at most, and ticks times states."""

LITTLE = 2048
"""Ticks, in whole windows, after which it is looked at again, as long as it is followed in any case."""

RUNS = 2
"""Lengths of the run for which the free motion of a controller that adapts is followed."""

LATE, LATE_RUNS, LATE_WINDOWS = 1_000_000, 10, 64
"""Ticks at most for a motion that is still on its way to rest; where the controller adapts, lengths of the
run, or windows where those are more."""

GONE, GROWN = 1e-4, 20.0
"""Levels against the run's own at which nothing more is learnt by going on."""

TINY = 1e-3
"""Share of the desired motion below which the rig does not move."""

BACK, OUT = 0.05, 6.0
"""A motion that comes back below the one may have been as large as the other on its way."""

SOON = 3
"""Windows after the knock that show its own size: in an eighth of a long way much may have grown already."""

STEADY = 0.9
"""Share of what it was in the middle, below which a motion still falls."""

CLIMB = 1.5
"""How much larger at its end than in its middle a motion is that goes on growing."""

HARMLESS = 0.1
"""What may be left of the run's own motion where the loop is unstable at rest, and something bounds it."""

LASTING, LOOSE = 0.4, 0.2
"""A motion that goes on by itself is harmless below this share of the run's own (play, stick-slip, a
converter); the second where the controller adapts, or the loop is unstable somewhere. Tests in which more was
left have been seen to go on as large as the run, after another knock or in another repetition."""

HALF = 0.5
"""Share of the run's own below which a motion that still falls will be small soon."""


@dataclass(frozen=True)
class FreeMotion:
    """What became of the motion after the excitation had ended.

    Attributes
    ----------
    levels
        Its size in windows of some periods, against the run's own: velocities and forces at the interfaces,
        each window less its own straight line, so that what nothing returns may drift.
    raw
        The same with the noise in it.
    seconds
        From the knock to the end.
    ended
        Why it stopped early; empty where it did not.
    expected
        Growth in 1/s of the slowest motion by the linear analysis; NaN where that found some unstable.
    still
        Whether the run itself had moved nothing, of a loop that was found stable. Noise that builds up from
        rest is then measured against the knock alone, and says nothing; what the knock does still does.
    ran
        Seconds that the run before it had lasted.
    adapts
        Whether the controller does.
    """

    levels: NDArray[np.float64]
    raw: NDArray[np.float64]
    seconds: float
    ended: str
    expected: float
    still: bool = False
    ran: float = math.inf
    adapts: bool = False

    @property
    def first(self) -> float:
        """Level after the knock."""
        return float(self.levels[: max(1, len(self.levels) // 8)].max(initial=0.0))

    @property
    def last(self) -> float:
        """Level at the end."""
        return float(self.levels[-max(1, len(self.levels) // 8) :].mean()) if len(self.levels) else 0.0

    @property
    def most(self) -> float:
        """Largest level after the beginning."""
        return float(self.levels[len(self.levels) // 8 :].max(initial=0.0))

    @property
    def grew(self) -> bool:
        """Whether it grew beyond what it was, or left its limits."""
        risen = self.raw[-max(1, len(self.raw) // 8) :].mean() if len(self.raw) else 0.0
        before = float(self.raw[: max(1, len(self.raw) // 8)].max(initial=0.0))
        far = OUT if self.last < BACK else 1.5
        # Noise swings up what is lightly damped with the root of the time, and no faster where it is stable.
        longer = math.sqrt(1 + self.seconds / self.ran) if math.isfinite(self.expected) else 1.0
        louder = risen > 2 * longer * max(before, 0.7) and not self.still
        out = self.ended or self.most > far * max(self.first, 1.0) or louder
        knocked = float(self.levels[:SOON].max(initial=0.0))
        out = out or self.levels.max(initial=0.0) > OUT * max(knocked, 1.0)
        return bool(out or self.climbs)

    @property
    def climbs(self) -> bool:
        """Whether it was small, is not any more, and still becomes larger."""
        return self.last > BACK and self.last > 2 * self.first and self.last > CLIMB * self._middle

    @property
    def rose(self) -> bool:
        """Whether it was clearly larger at its end than at its beginning."""
        return bool(len(self.levels) > 1 and self.levels[-1] > 1.5 * max(1.0, self.levels[0]))

    @property
    def fades(self) -> bool:
        """Whether it falls all the way, and is small at the end or will be soon."""
        if self.ended or not self.last < 0.7 * self.first:
            return False
        return self.last < BACK or (self.last < HALF and self.last < 0.7 * self._middle)

    @property
    def _middle(self) -> float:
        n = len(self.levels)
        return float(self.levels[3 * n // 8 : 5 * n // 8 + 1].mean())

    @property
    def lasts(self) -> bool:
        """Whether it goes on by itself, large enough to count beside the run's own, and does not fade."""
        stable = math.isfinite(self.expected) and not self.adapts
        return self.last >= (LASTING if stable else LOOSE) and self._unfading

    @property
    def stays(self) -> bool:
        """Whether something is left that does not fade as it should, smaller than the run's own motion."""
        return self.last > HARMLESS and self._unfading

    @property
    def _unfading(self) -> bool:
        middle = self._middle
        if not math.isfinite(self.expected):
            return self.last > min(0.5 * self.first, 1.05 * middle)
        # From the middle to the end it should have faded for nearly half of the time.
        return self.last / max(middle, 1e-300) > max(0.7, math.exp(0.4 * self.expected * 0.45 * self.seconds))


class _Levels:
    """Sizes of interface velocities and forces in windows."""

    def __init__(self, test: Checkable, window: int) -> None:
        both = (Role.DESIRED, Role.ACTUAL)
        self.meanings = {
            c.name: c.meaning
            for c in test.tick.channels
            if c.meaning.role in both and c.meaning.kind in ("flow", "effort")
        }
        self.names = list(self.meanings)
        self.window = window
        self.chunk = max(4, CHUNK // window) * window  # ticks that are run together, in whole windows
        self.force = getattr(test.limits, "force", None) or 0.0
        # While a controller learns, the rig moves less than it should: it may grow to that.
        self.adapts = test.adapts
        self.least = 1.0 if self.adapts else TINY

    def level(self, rms: NDArray[np.float64], own: NDArray[np.float64]) -> list[float]:
        """Return levels in windows against the run's own sizes, all channels together."""
        return [float(x) for x in np.sqrt(np.mean((rms / own) ** 2, axis=0))]

    def floored(self, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the run's own sizes, none so small that the least stir is a thousand times as much."""
        size = dict(zip(self.names, own.tolist(), strict=True))
        desired = {self.meanings[n].interface: size[n] for n in channels_of(self.meanings, Role.DESIRED)}
        least = [
            1e-5 * self.force if m.kind == "effort" else self.least * desired[m.interface]
            for m in self.meanings.values()
        ]
        return np.maximum(own, least)

    def rms(self, channels: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return rms about a straight line, shape (channels, windows)."""
        n = self.window
        t = np.linspace(-1.0, 1.0, n)
        rows = []
        for name in self.names:
            x = channels[name]
            x = x[: len(x) // n * n].reshape(-1, n)
            x = x - x.mean(axis=1, keepdims=True)
            x = x - np.outer(x @ t / (t @ t), t)
            rows.append(np.sqrt(np.mean(x * x, axis=1)))
        return np.array(rows)


def sensible_knock(test: Checkable, peak: float) -> float:
    """Return how far a knock after a run should move the interfaces, in m.

    Parameters
    ----------
    test
        The test.
    peak
        Largest displacement of its run, in m.
    """
    limit = getattr(test.limits, "displacement", None)
    if limit is not None and peak < 0.1 * LEAST * limit:
        return LEAST * float(limit)
    return KNOCK * (peak or 1e-6)


class AfterRun:
    """A test at the end of its run, for free motions from there.

    Parameters
    ----------
    test, rehearsal
        The test, and its tick ready to run.
    push
        Changes of states that make a knock, of any size; empty for none.
    steps
        One step of the loop in each regime: their growth says what to expect, their slowest motion for how
        long to wait, the frequency of the least stable one how long the windows are.
    """

    def __init__(
        self, test: Checkable, rehearsal: Rehearsal, push: Mapping[str, float], steps: Sequence[OneStep]
    ) -> None:
        self.test, self.rehearsal, self.push = test, rehearsal, push
        growths = [s.growth for s in steps]
        self.expected = max(growths) if growths and max(growths) < 0 else math.nan
        self.slow = min((s.slowest for s in steps), default=1.0)
        self.longest = max((m for s in steps for m in s.step.delays), default=0)
        frequency = max(steps, key=lambda s: s.growth).frequency if steps else 5.0
        seconds = min(max(0.25, 3.0 / max(frequency, 1.0)), 3.0)
        # No longer than the run, which would else have no motion of its own to measure by.
        self.measure = _Levels(test, max(8, min(round(seconds / test.period), rehearsal.steps)))
        self.own = self._own()
        self.there: Snapshot = self._faded()
        self._still: Mapping[str, NDArray[np.float64]] | None = None
        self._unknocked = _KnownRun(rehearsal, self.measure.names, self.there)

    def _own(self) -> NDArray[np.float64]:
        """Go to the end of the run, and return the sizes of its motions."""
        rehearsal, window = self.rehearsal, self.measure.window
        if rehearsal.motions is not None and rehearsal.to(rehearsal.steps):
            rms = self.measure.rms(rehearsal.motions)
            return np.asarray(np.sqrt((rms**2).sum(axis=1) / max(rms.shape[1], 1))[:, None])
        rehearsal.runner.reset()
        total, count = np.zeros(len(self.measure.names)), 0
        while rehearsal.runner.count < rehearsal.steps:
            result = rehearsal.run(max(1, CHUNK // window) * window)
            rms = self.measure.rms(result.channels)
            total, count = total + (rms**2).sum(axis=1), count + rms.shape[1]
            if not result.finished:  # pragma: no cover - the dry run has gone to its end
                break
        return np.sqrt(total / max(count, 1))[:, None]

    def _faded(self) -> Snapshot:
        """Let the excitation fade out."""
        test = self.test
        for k in range(STAGES):
            faded = 0.5 * (1 + math.cos(math.pi * (k + 1) / STAGES))
            self.rehearsal.on(max(1, round(FADE / STAGES / test.period)), {SCALE: test.scale * faded})
        return self.rehearsal.runner.snapshot()

    def free_motion(self, aim: float, push: Mapping[str, float] | None = None) -> FreeMotion:
        """Knock, and follow the motion without excitation.

        Parameters
        ----------
        aim
            How far the knock moves the interfaces, in m; its sign says from which side it comes.
        push
            Changes of states that make this knock, of any size; the usual ones if not given.
        """
        test, window = self.test, self.measure.window
        side = {n: math.copysign(1.0, aim) * x for n, x in (push or self.push).items()}
        if self._still is None:
            self.rehearsal.runner.restore(self.there)
            self._still = self.rehearsal.on(window, QUIET).channels
        size = Size(abs(aim), window, QUIET, self._still)
        blow = sized_push(test, self.rehearsal, self.there, side, size)
        noisy = any(s.streams for s in test.sensors.values())
        steps, adapts = self.rehearsal.steps, self.measure.adapts
        cost = COST / max(1, len(test.tick.states)) / (2 if noisy else 1)
        most = int(min(MOST, RUNS * steps if adapts else MOST, cost))
        late = int(min(LATE, max(LATE_RUNS * steps, LATE_WINDOWS * window) if adapts else LATE, cost))
        ticks = max(24 * window, self.measure.chunk, min(most, 3.0 / max(self.slow, 1e-9) / test.period))
        runs = [_Run(self.rehearsal, self.measure.names, self.there, blow)]
        if noisy:
            runs.append(self._unknocked)
        # A state of the loop that is not stable may bring back what is gone, and so may a delay line.
        soonest = self.longest + window if math.isfinite(self.expected) else self.measure.chunk
        lengths = (soonest, int(ticks), most, late)
        levels, raw, done, ended = _followed(self.measure, self.own, runs, lengths)
        still = not self.own.any() and math.isfinite(self.expected)
        return FreeMotion(
            np.array(levels), np.array(raw), done * test.period, ended, self.expected, still,
            ran=steps * test.period, adapts=adapts,
        )  # fmt: skip


@dataclass(frozen=True)
class _Part:
    """A part of a free motion: its motions at the interfaces until it ends, and why it ends."""

    channels: Mapping[str, NDArray[np.float64]]
    ended: str


class _Run:
    """A free motion from the end of a run, part by part.

    Parameters
    ----------
    rehearsal
        The tick, ready to run.
    names
        The channels that are looked at.
    there, blow
        Where it starts, and changes of the states there.
    """

    def __init__(
        self, rehearsal: Rehearsal, names: Sequence[str], there: Snapshot, blow: Mapping[str, float]
    ) -> None:
        self._rehearsal, self._names, self._blow = rehearsal, names, blow
        self._stands = there

    def part(self, done: int, count: int) -> _Part:
        """Return the ticks that follow those that are done."""
        runner = self._rehearsal.runner
        runner.restore(self._stands, {} if done else self._blow)
        result = self._rehearsal.on(count, QUIET)
        self._stands = runner.snapshot()
        n = _until(result)
        return _Part({name: result.channels[name][:n].copy() for name in self._names}, end_of(result))


class _KnownRun(_Run):
    """A free motion that is asked for after every knock, in the same parts each time, and run once."""

    def __init__(self, rehearsal: Rehearsal, names: Sequence[str], there: Snapshot) -> None:
        super().__init__(rehearsal, names, there, {})
        self._parts: dict[int, _Part] = {}

    def part(self, done: int, count: int) -> _Part:
        """Return the ticks that follow those that are done."""
        if done not in self._parts:
            self._parts[done] = super().part(done, count)
        return self._parts[done]


def _followed(
    measure: _Levels,
    own: NDArray[np.float64],
    runs: Sequence[_Run],
    lengths: tuple[int, int, int, int],
) -> tuple[list[float], list[float], int, str]:
    """Return levels of the motion without and with its noise, the ticks it was followed, why it ended.

    It is followed for the second of four lengths, in ticks, unless nothing is left of it after the first;
    where it rises at the end for the third at most, where it is still on its way to rest for the fourth.

    Parameters
    ----------
    measure, own
        The sizes of motions, and the run's own.
    runs
        The motion after the knock, and where sensors have noise the one without it.
    lengths
        See above.
    """
    soonest, ticks, most, late = lengths
    levels: list[float] = []
    raw: list[float] = []
    ended, done = "", 0
    chunk, little = measure.chunk, max(1, LITTLE // measure.window) * measure.window
    while done < ticks or (done < most and _rises(levels)) or (done < late and _falls(levels)):
        # Looked at often on its way, so that it is not followed far beyond where nothing is left of it.
        count = little if done < ticks else chunk
        parts = [run.part(done, count) for run in runs]
        ended = next((part.ended for part in parts if part.ended), "")
        n = min(len(x) for part in parts for x in part.channels.values())
        motions = [{name: x[:n] for name, x in part.channels.items()} for part in parts]
        knocked, louder = motions[0], motions[-1]
        if len(motions) > 1:
            knocked = {name: x - louder[name] for name, x in knocked.items()}
        rms = measure.rms(knocked)
        if not levels and rms.shape[1]:  # what the run left at rest is measured by the knock
            own = np.where(own > 0.01 * rms[:, :1], own, rms[:, :1])
            own = measure.floored(own[:, 0])[:, None]
            own = np.where(own > 0, own, 1.0)
        levels += measure.level(rms, own)
        raw += measure.level(measure.rms(louder) if len(motions) > 1 else rms, own)
        done += n
        last = levels[-1] if levels else 1.0
        gone = done >= soonest and last < GONE
        grown = done >= chunk and last > GROWN  # a knock itself may be as large
        if ended or gone or grown:
            break
    return levels, raw, done, ended


def _rises(levels: list[float]) -> bool:
    """Whether a motion has fallen and comes back."""
    part = max(1, len(levels) // 8)
    now = sum(levels[-part:]) / part
    return now > 10 * GONE and now > 1.5 * min(levels)


def _falls(levels: list[float]) -> bool:
    """Whether a motion becomes ever smaller, and is not small yet."""
    n = len(levels)
    part = max(1, n // 8)
    now, middle = sum(levels[-part:]) / part, sum(levels[-n // 2 :][:part]) / part
    return BACK < now < STEADY * middle


def _until(result: Result) -> int:
    """Return the ticks of a run up to a trip of the interlock, which moves the rig as it likes."""
    cause = result.channels.get(CAUSE)
    return int(np.argmax(cause != 0)) if cause is not None and cause.any() else len(result.time)


def end_of(result: Result) -> str:
    """Say why a run ended before its time; nothing if it did not."""
    if not result.finished:
        return result.message
    tripped = trip(result.time, result.channels)
    if tripped is None:
        return ""
    return f"the interlock trips at t = {tripped[0]:.4g} s: {cause_words(tripped[1])}"
