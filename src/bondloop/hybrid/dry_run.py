"""The dry run inside the check: the very tick, compiled, with excitation and limits, and once more disturbed.

A disturbance is a short knock on the measured force, small against the motion. The same run is made with it and
without; noise is numbered by the tick, so it is the same in both, and what is left of the difference is the
loop's own answer: in a stable test it dies away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.compile import Runner
from bondloop.hybrid.run import why_stopped
from bondloop.program.signals.in_tick import now_and_next
from bondloop.rigs.rig_tick import indexed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.compile.runner import Result, Snapshot
    from bondloop.hybrid.free_motion import FreeMotion
    from bondloop.hybrid.test import HybridTest
    from bondloop.program.one_step import OneStep, Point

__all__ = ["Disturbance", "DryRun", "Rehearsal", "disturbed", "dry_run", "knock", "limits_of"]

CHUNK = 16384
"""Ticks that are run and looked at together, so that a long test needs no more memory than a short one."""

WINDOWS = 48
"""Parts of the run in which peaks are kept."""

KNOCK = 0.01
"""Size of the disturbance, as a share of the motion's peak (or of the limit, where nothing moves)."""

FOLLOWED = 30_000
"""Ticks for which a disturbance is followed."""

FLOOR = 1e-12
"""Motions in m below this are nothing."""


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
        """Last over first: below 1 it dies away."""
        return self.last / self.first if self.first > FLOOR else 0.0


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
    peaks
        Largest magnitude of every channel.
    bounds
        Limits of channels that have one.
    windows
        Peaks of the interface displacements (actual) in parts of the run, shape (windows, interfaces).
    window
        Length of each part, in s.
    error
        Rms of desired less actual displacement over rms of desired, each less its mean, for each interface.
    saturated
        By name of a sensor's channel, the share of samples at the end of its range.
    disturbances
        What became of disturbances.
    points
        Where the run stood at some instants, for linear analysis.
    tripped
        When the interlock tripped, in s, and why; None where it did not.
    backend
        ``"c"``, ``"numpy"``, or what else it was done with.
    free
        The motion after the excitation has ended; None where the loop is linear, and eigenvalues tell.
    repetitions, given_up
        For a controller that adapts: rms velocity in repetitions of the excitation, in m/s, and why they ended.
    """

    seconds: float
    completed: bool
    message: str
    peaks: Mapping[str, float]
    bounds: Mapping[str, float]
    windows: NDArray[np.float64]
    window: float
    error: tuple[float, ...]
    saturated: Mapping[str, float] = field(default_factory=dict)
    disturbances: tuple[Disturbance, ...] = ()
    points: tuple[Point, ...] = ()
    tripped: tuple[float, float] | None = None
    backend: str = "c"
    free: FreeMotion | None = None
    repetitions: tuple[float, ...] = ()
    given_up: str = ""

    @property
    def usage(self) -> dict[str, float]:
        """Share of every limit that is used: 1 is all of it."""
        return {n: self.peaks[n] / b for n, b in self.bounds.items() if n in self.peaks and b > 0}

    @property
    def closest(self) -> tuple[str, float] | None:
        """The limit that the run comes closest to, and the share of it that is used."""
        return max(self.usage.items(), key=lambda item: item[1], default=None)


class Rehearsal:
    """Runs a test's tick in parts, with its tabulated signals.

    Attributes
    ----------
    steps
        Ticks of the whole test.
    runner
        The tick.
    """

    def __init__(self, test: HybridTest, steps: int) -> None:
        self.tick, self.steps = test.tick, steps
        self.runner = Runner(test.tick)
        tables = test.tables
        self.inputs = now_and_next(tables.values(), steps, test.period) if tables else None

    def on(self, count: int, parameters: Mapping[str, float]) -> Result:
        """Go on after the end of the test, with tabulated signals at rest at their last values."""
        rows = None if self.inputs is None else np.repeat(self.inputs[-1:, :], count, axis=0)
        return self.runner.run(count, rows, parameters)

    def again(self, count: int) -> Result:
        """Go on with the tabulated signals over again."""
        k = self.runner.count % self.steps
        count = min(count, self.steps - k)
        return self.runner.run(count, None if self.inputs is None else self.inputs[k : k + count])

    def run(self, count: int) -> Result:
        """Go on, at most to the end of the test."""
        k = self.runner.count
        count = min(count, self.steps - k)
        given = None if self.inputs is None else self.inputs[k : k + count]
        return self.runner.run(count, given)

    def to(self, k: int) -> bool:
        """Go on to a tick; False where the run ended before it."""
        while self.runner.count < k:
            n = min(CHUNK, k - self.runner.count)
            if not self.run(n).finished:
                return False
        return True

    def point(self) -> Point:
        """Return where the run stands."""
        k = self.runner.count
        row = None if self.inputs is None or k >= len(self.inputs) else self.inputs[k]
        given = {} if row is None else dict(zip(self.tick.inputs, row.tolist(), strict=True))
        return self.runner.point(given)


def dry_run(test: HybridTest, seconds: float, *, instants: int = 0) -> tuple[DryRun, Rehearsal]:
    """Rehearse a test for the check.

    Parameters
    ----------
    test
        The test.
    seconds
        Its whole length.
    instants
        At how many instants to keep where the run stands; chosen over the whole length and where the motion is
        fastest, slowest and farthest out.
    """
    steps = round(seconds / test.period) + 1
    rehearsal = Rehearsal(test, steps)
    log = _Log(test, steps)
    result = None
    while rehearsal.runner.count < steps:
        first = rehearsal.runner.count
        result = rehearsal.run(CHUNK)
        log.take(first, result)
        if not result.finished:
            break
    assert result is not None
    ran = DryRun(
        seconds=rehearsal.runner.count * test.period,
        completed=result.finished,
        message="" if result.finished else why_stopped(test.tick, result, test.remedies),
        peaks=log.peaks,
        bounds=log.bounds,
        windows=log.windows,
        window=log.length * test.period,
        error=log.error(),
        saturated=log.saturated(),
        points=_points(rehearsal, log, instants) if instants and result.finished else (),
        tripped=log.tripped,
        backend=rehearsal.runner.backend,
    )
    return ran, rehearsal


def disturbed(
    test: HybridTest, rehearsal: Rehearsal, ran: DryRun, step: OneStep, forces: Sequence[str]
) -> tuple[Disturbance, ...]:
    """Return what becomes of a knock on the measured force at the start, and of one in the middle of the run."""
    push = knock(test, step, forces)
    if not push:
        return ()
    aim = KNOCK * max(float(np.max(ran.windows, initial=0.0)), _least_motion(test))
    steps = rehearsal.steps
    found = []
    for start in (min(2, steps - 1), steps // 2):
        rehearsal.runner.reset()
        if not rehearsal.to(start):
            break
        there = rehearsal.runner.snapshot()
        sized = calibrated(test, rehearsal, there, push, aim, min(max(200, (steps - start) // 6), 4000))
        if sized:
            found.append(_twin(test, rehearsal, there, sized, min(steps, start + FOLLOWED)))
    return tuple(found)


def knock(test: HybridTest, step: OneStep, forces: Sequence[str]) -> dict[str, float]:
    """Return what a short knock on the interfaces does to the computer's states, for a unit of force.

    The rig is left where it is: a model of a rig would take a command that jumps for an impossible blow.
    """
    kick = step.P[:, [step.probes.index(f) for f in forces]].sum(axis=1)
    known = {v.name for v in test.tick.states if not v.name.startswith(("rig.", "measured.", "command"))}
    return {n: float(x) for n, x in zip(step.states, kick, strict=True) if x and n in known}


def calibrated(
    test: HybridTest,
    rehearsal: Rehearsal,
    there: Snapshot,
    push: Mapping[str, float],
    aim: float,
    ticks: int,
    parameters: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return a push scaled so that it moves the interface by some metres within some ticks; {} where it moves nothing.

    It begins with a push far too small, since one too large runs into a limit at once.
    """
    if not push or aim <= 0:
        return {}
    names = _motions(test)["displacement"]
    scale = 1e-9 / max(abs(x) for x in push.values())
    for tried in range(4):
        moved = []
        for factor in (0.0, scale):
            rehearsal.runner.restore(there, {n: factor * x for n, x in push.items()})
            moved.append(rehearsal.on(ticks, parameters or {}).channels)
        n = min(len(m[names[0]]) for m in moved)
        size = max(float(np.abs(moved[1][c][:n] - moved[0][c][:n]).max(initial=0.0)) for c in names)
        if not (size > 0 and np.isfinite(size)):
            if tried:
                break
            scale *= 1e3  # below the last digit of the motion
            continue
        if 0.5 * aim < size < 2 * aim:
            break
        scale *= aim / size
    else:
        return {n: scale * x for n, x in push.items()}
    return {n: scale * x for n, x in push.items()} if size > 0 else {}


def _least_motion(test: HybridTest) -> float:
    limit = getattr(test.limits, "displacement", None)
    return 0.01 * limit if limit else 1e-5


def _twin(
    test: HybridTest, rehearsal: Rehearsal, there: Snapshot, push: Mapping[str, float], end: int
) -> Disturbance:
    """Run on from a snapshot twice, once knocked, and compare the interface motions."""
    runner = rehearsal.runner
    names = _motions(test)
    length = max(1, -(-(end - there.count) // WINDOWS))
    peaks: list[float] = []
    shifts: list[float] = []
    ended = ""
    plain, knocked = there, None
    while plain.count < end:
        n = min(max(CHUNK // length, 1) * length, end - plain.count)
        runner.restore(plain)
        first = rehearsal.run(n)
        after = runner.snapshot()
        runner.restore(there, push) if knocked is None else runner.restore(knocked)
        second = rehearsal.run(n)
        knocked = runner.snapshot()
        m = min(len(first.time), len(second.time))
        moved, sped = (
            np.max([np.abs(second.channels[c][:m] - first.channels[c][:m]) for c in names[word]], axis=0)
            for word in ("displacement", "velocity")
        )
        peaks += [float(sped[i : i + length].max(initial=0.0)) for i in range(0, m, length)]
        shifts += [float(moved[i : i + length].max(initial=0.0)) for i in range(0, m, length)]
        if not second.finished:
            ended = second.message
        if not (first.finished and second.finished):
            break
        plain = after
    size = max(shifts[: max(1, len(shifts) // 3)], default=0.0)
    return Disturbance(there.count * test.period, size, np.array(peaks), ended)


def _motions(test: HybridTest) -> dict[str, list[str]]:
    count = test.wiring.count_of_interfaces
    return {
        word: [n for side in ("desired", "actual") for n in indexed(f"{side}.{word}", count)]
        for word in ("displacement", "velocity")
    }


class _Log:
    """Collects what is kept of the dry run, part by part."""

    def __init__(self, test: HybridTest, steps: int) -> None:
        self.test, self.steps = test, steps
        self.length = max(1, -(-steps // WINDOWS))
        count = test.wiring.count_of_interfaces
        self.desired, self.actual = (indexed(f"{word}.displacement", count) for word in ("desired", "actual"))
        self.velocity = indexed("actual.velocity", count)
        self.peaks: dict[str, float] = {}
        self.bounds = limits_of(test)
        self.windows = np.zeros((WINDOWS, count))
        self.tripped: tuple[float, float] | None = None
        self._sums = np.zeros((count, 5))
        self._samples = 0
        self._extremes: dict[tuple[str, str], tuple[float, int]] = {}
        self._ranges = _ranges(test)
        self._full = dict.fromkeys(self._ranges, 0)

    def take(self, first: int, result: Result) -> None:
        """Take a part of the run."""
        # The sample at which a run went astray may be no number; all before it are.
        n = len(result.time) - (result.status == "not a number")
        channels = {name: values[:n] for name, values in result.channels.items()}
        if n < 1:
            return
        for name, values in channels.items():
            self.peaks[name] = max(self.peaks.get(name, 0.0), float(np.abs(values).max()))
        switch = channels.get("switch.displacement")
        coupled = slice(None) if switch is None else switch >= 1
        window = np.minimum((first + np.arange(n)) // self.length, WINDOWS - 1)
        for i, (want, have) in enumerate(zip(self.desired, self.actual, strict=True)):
            d, a = channels[want], channels[have]
            np.maximum.at(self.windows[:, i], window, np.abs(a))
            self._sums[i] += [
                len(d[coupled]),
                d[coupled].sum(),
                (d[coupled] ** 2).sum(),
                (d - a)[coupled].sum(),
                ((d - a)[coupled] ** 2).sum(),
            ]
            self._note("fast", first, np.abs(channels[self.velocity[i]]), self.velocity[i])
            self._note("far", first, np.abs(a - a.mean()), have)
            self._note("slow", first, -np.abs(channels[self.velocity[i]]), self.velocity[i])
        self._samples += n
        for name, (low, high) in self._ranges.items():
            self._full[name] += int(np.count_nonzero((channels[name] >= high) | (channels[name] <= low)))
        cause = channels.get("interlock.cause")
        if cause is not None and self.tripped is None and cause.any():
            k = int(np.argmax(cause != 0))
            self.tripped = float(result.time[k]), float(cause[k])

    def _note(self, word: str, first: int, values: NDArray[np.float64], name: str) -> None:
        after = values[max(0, 10 - first) :] if first < 10 else values
        if not len(after):
            return
        k = int(np.argmax(after))
        kept = self._extremes.get((word, name))
        if kept is None or after[k] > kept[0]:
            self._extremes[word, name] = float(after[k]), first + len(values) - len(after) + k

    def error(self) -> tuple[float, ...]:
        """Rms error over rms motion, both without their means, while the rig was to follow."""
        _, d, dd, e, ee = self._sums.T / np.maximum(self._sums[:, 0], 1)
        motion, off = np.sqrt(np.maximum(dd - d * d, 0.0)), np.sqrt(np.maximum(ee - e * e, 0.0))
        return tuple(np.where(motion > FLOOR, off / np.maximum(motion, FLOOR), np.nan).tolist())

    def saturated(self) -> dict[str, float]:
        """Share of samples at the end of a sensor's range."""
        return {n: k / max(self._samples, 1) for n, k in self._full.items() if k}

    def instants(self, count: int) -> list[int]:
        """Return ticks worth a linear analysis."""
        even = np.linspace(min(10, self.steps - 1), self.steps - 1, count).astype(int).tolist()
        return sorted({*even, *(k for _, k in self._extremes.values() if k > 0)})


def _points(rehearsal: Rehearsal, log: _Log, count: int) -> tuple[Point, ...]:
    rehearsal.runner.reset()
    found = []
    for k in log.instants(count):
        if not rehearsal.to(k):
            break
        found.append(rehearsal.point())
    return tuple(found)


def limits_of(test: HybridTest) -> dict[str, float]:
    """Return the limits of channels: those of the test, and what the actuators can do where they say so."""
    from bondloop.hybrid.wiring import DIVERGED

    count = test.wiring.count_of_interfaces
    names = {"displacement": "actual.displacement", "velocity": "actual.velocity", "force": "force"}
    found = {n: b for n, b in test.tick.bounds.items() if b < DIVERGED}
    for i, actuator in enumerate(test.rig.actuator_list()):
        for word, most in getattr(actuator, "capacity", {}).items():
            channel = indexed(names[word], count)[i]
            found[channel] = min(most, found.get(channel, np.inf))
    return found


def _ranges(test: HybridTest) -> dict[str, tuple[float, float]]:
    """Return the ends of the sensors' ranges by channel; the last converter or limit counts."""
    found: dict[str, tuple[float, float]] = {}
    names = {c.name for c in test.tick.channels}
    for word, sensor in test.rig.sensors.items():
        span: tuple[float, float] | None = None
        for part in sensor.imperfections:
            span = _range(part) or span
        for channel in indexed(f"measured.{word}", test.wiring.count_of_interfaces):
            if span is not None and channel in names:
                found[channel] = span
    return found


def _range(part: Any) -> tuple[float, float] | None:
    from bondloop.rigs.imperfections import Quantisation, Saturation

    if isinstance(part, Quantisation):
        return -part.range, part.range - part.resolution
    return (float(part.low), part.high) if isinstance(part, Saturation) else None  # type: ignore[arg-type]
