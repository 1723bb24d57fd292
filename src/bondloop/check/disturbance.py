"""Knocks in the dry run: the same run is made with one and without, and the two are compared.

A knock is short, acts on the measured force, and is small against the motion. Noise is numbered by the tick,
so it is the same in both runs, and what is left of the difference is the loop's own answer: in a stable test
it dies away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.rehearsal import CHUNK
from bondloop.substructure import indexed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.codegen import Snapshot
    from bondloop.hybrid import Checkable
    from bondloop.rehearsal import Rehearsal


PARTS = 48
"""Parts of the time after a knock in which peaks are kept."""

KNOCK = 0.01
"""Size of the disturbance, as a share of the motion's peak (or of the limit, where nothing moves)."""

FOLLOWED, SIZED = 20_000, 4000
"""Ticks for which a disturbance is followed, and in which its size is tried out at most."""

TRIALS = 6
"""Pushes that are tried out to find one of the right size."""

FLOOR = 1e-12
"""Differences of velocities in m/s below this are nothing."""


@dataclass(frozen=True)
class Disturbance:
    """What became of a disturbance.

    Attributes
    ----------
    at
        When it came, in s.
    size
        Largest difference of the interface displacements in the first third after it, in m.
    peaks
        Largest difference of the interface velocities in each window after it, in m/s. Velocities, since a
        structure that nothing holds drifts away at a constant one, and that is no instability.
    ended
        Why the disturbed run stopped early, empty where it did not.
    """

    at: float
    size: float
    peaks: NDArray[np.float64]
    ended: str = ""

    @property
    def first(self) -> float:
        """Largest difference in the first third of the time after it."""
        return float(self.peaks[: max(1, len(self.peaks) // 3)].max(initial=0.0))

    @property
    def last(self) -> float:
        """Largest difference in the last sixth."""
        return float(self.peaks[-max(1, len(self.peaks) // 6) :].max(initial=0.0))

    @property
    def ratio(self) -> float:
        """Last over first: below 1 it dies away; infinity where it has run away."""
        if math.isinf(self.last):
            return math.inf
        return self.last / self.first if self.first > FLOOR else 0.0


def disturbed(
    test: Checkable, rehearsal: Rehearsal, peak: float, push: Mapping[str, float]
) -> tuple[Disturbance, ...]:
    """Return what becomes of a knock at the start, and of one in the middle of the run.

    Parameters
    ----------
    test, rehearsal
        The test, and its tick ready to run.
    peak
        Largest displacement of the run, in m.
    push
        What a knock does to the states, of any size (`RunningLoop.knock`).
    """
    if not push:
        return ()
    aim = KNOCK * max(peak, _least_motion(test))
    steps = rehearsal.steps
    disturbances = []
    for start in (min(2, steps - 1), steps // 2):
        if not rehearsal.to(start):
            break
        there = rehearsal.runner.snapshot()
        size = Size(aim, min(max(200, (steps - start) // 6), SIZED))
        blow = sized_push(test, rehearsal, there, push, size)
        if blow:
            end = min(steps, start + FOLLOWED)
            disturbances.append(_difference(test, rehearsal, there, blow, end))
    return tuple(disturbances)


@dataclass(frozen=True)
class Size:
    """How large a push is to be.

    Attributes
    ----------
    aim, ticks
        How far it moves the interface in m, and in how many ticks.
    parameters
        Values by name instead of the tick's own.
    still
        The channels of those ticks without the push; they are run where they are not known.
    """

    aim: float
    ticks: int
    parameters: Mapping[str, float] = field(default_factory=dict)
    still: Mapping[str, NDArray[np.float64]] | None = None


def sized_push(
    test: Checkable, rehearsal: Rehearsal, there: Snapshot, push: Mapping[str, float], wanted: Size
) -> dict[str, float]:
    """Return a push scaled to move the interface by some metres within some ticks; {} where it moves nothing.

    It begins with a push far too small, since one too large runs into a limit at once. Where no push moves it
    by about as much (within a play nothing moves, beyond it the loop runs away), it is the smallest that was
    found to move it farther.

    Parameters
    ----------
    test, rehearsal
        The test, and its tick ready to run.
    there
        Where the run stands.
    push
        Changes of states by name, of any size.
    wanted
        How large.
    """
    aim, ticks, parameters = wanted.aim, wanted.ticks, wanted.parameters
    if not push or aim <= 0:
        return {}
    names = _motions(test, "displacement")
    scale = 1e-9 / max(abs(x) for x in push.values())
    low, high = 0.0, math.inf
    plain = wanted.still
    if plain is None:
        rehearsal.runner.restore(there)
        plain = rehearsal.on(ticks, parameters).channels
    for _ in range(TRIALS):
        rehearsal.runner.restore(there, {n: scale * x for n, x in push.items()})
        moved = rehearsal.on(ticks, parameters).channels
        size = max(float(_apart(plain, moved, [name]).max(initial=0.0)) for name in names)
        if 0.5 * aim < size < 2 * aim:
            low = high = scale
            break
        if 0 < size < aim:
            low = max(low, scale)
        elif size != 0:  # or no number any more
            high = min(high, scale)
        scale *= aim / size if size > 0 and math.isfinite(size) else 1e3  # 0: below the last digit
        if not low < scale < high:  # in no proportion
            scale = math.sqrt(low * high) if math.isfinite(high) else 10 * low
    found = high if math.isfinite(high) else low
    return {n: found * x for n, x in push.items()} if found else {}


def _least_motion(test: Checkable) -> float:
    """Return a motion, in m, by which a test that does not move is measured."""
    limit = getattr(test.limits, "displacement", None)
    return 0.01 * limit if limit else 1e-5


def _difference(
    test: Checkable, rehearsal: Rehearsal, there: Snapshot, push: Mapping[str, float], end: int
) -> Disturbance:
    """Run on from a snapshot twice, once knocked, and compare the interface motions."""
    runner = rehearsal.runner
    length = max(1, -(-(end - there.count) // PARTS))
    peaks: list[float] = []
    shifts: list[float] = []
    ended = ""
    plain, knocked = there, None
    count = there.count
    while count < end:
        n = min(max(CHUNK // length, 1) * length, end - count)
        complete = True
        if rehearsal.motions is not None:
            first = {name: values[count : count + n] for name, values in rehearsal.motions.items()}
        else:
            runner.restore(plain)
            result = rehearsal.run(n)
            first, complete, plain = result.channels, result.finished, runner.snapshot()
        runner.restore(there, push) if knocked is None else runner.restore(knocked)
        second = rehearsal.run(n)
        knocked = runner.snapshot()
        for word, largest in (("velocity", peaks), ("displacement", shifts)):
            apart = _apart(first, second.channels, _motions(test, word))
            largest += [float(apart[i : i + length].max(initial=0.0)) for i in range(0, len(apart), length)]
        if not second.finished:
            ended = second.message
        if not (complete and second.finished):
            break
        count += n
    size = max(shifts[: max(1, len(shifts) // 3)], default=0.0)
    return Disturbance(there.count * test.period, size, np.array(peaks), ended)


def _apart(
    one: Mapping[str, NDArray[np.float64]], other: Mapping[str, NDArray[np.float64]], names: Sequence[str]
) -> NDArray[np.float64]:
    """Return how far two runs are apart at each instant that both have, in the worst of some channels.

    Infinitely far where one of them has run away and is no number any more: it would be larger than nothing.
    """
    n = min(len(one[names[0]]), len(other[names[0]]))
    apart = np.max([np.abs(other[c][:n] - one[c][:n]) for c in names], axis=0)
    return np.where(np.isnan(apart), np.inf, apart)


def _motions(test: Checkable, word: str) -> list[str]:
    return [n for side in ("desired", "actual") for n in indexed(f"{side}.{word}", test.interfaces)]
