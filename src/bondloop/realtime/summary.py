"""What became of a run in real time, for its record and for people."""

from __future__ import annotations

import contextlib
import math
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.ir import Role
from bondloop.realtime.protocol import FLAGS
from bondloop.realtime.supervision import interrupts
from bondloop.rehearsal import shown
from bondloop.safety import WARNING, Cause, cause_words, limit_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.realtime.process import LoopProcess
    from bondloop.realtime.ring import Ring, Status
    from bondloop.realtime.session import RealtimeSession


Measured = Mapping[str, tuple[float, str]]
"""Values with their units, by name."""


def watch_measured(
    made: RealtimeSession, show: Callable[[Measured], None], seconds: float | None = None
) -> Status:
    """Open the link of a test and stay inactive: the sensors are read, nothing is commanded or recorded.

    It ends at Ctrl-C, after `seconds`, or when the loop ends by itself because something is wrong: then the
    status says the cause.

    Parameters
    ----------
    made
        The test, from `bondloop.realtime.session.prepare`; on the clock, since in lock-step nothing is read.
    show
        Called about twice a second with the newest measured values in SI units and their units, by name.
    seconds
        How long to watch; until Ctrl-C if not given.
    """
    # Nothing moves: a machine that is held up for a moment is no reason to stop.
    patience = max(made.options.stale, round(made.options.timeout / made.test.period))
    patient = replace(made, options=replace(made.options, stale=patience))
    with contextlib.ExitStack() as stack, interrupts() as asked:
        return watched(patient.start(stack), show, seconds, asked)


def watched(
    loop: LoopProcess,
    show: Callable[[Measured], None],
    seconds: float | None,
    asked: Sequence[int],
    look: float = 0.5,
) -> Status:
    """Show what an inactive loop measures until it ends, or is asked to; return how it ended.

    Parameters
    ----------
    loop
        The loop.
    show, seconds
        As for `watch_measured`.
    asked
        Not empty once somebody wants an end.
    look
        Seconds between looks.
    """
    end = time.monotonic() + (float("inf") if seconds is None else seconds)
    while loop.running and not asked and (left := end - time.monotonic()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            loop.wait(min(look, left))
        if found := newest_measured(loop.ring):
            show(found)
    loop.stop()
    loop.wait()
    return loop.status()


def newest_measured(ring: Ring) -> Measured:
    """Return the newest values of what a loop measures and records under that name; empty if nothing came.

    While the emergency stop at the rig is pressed, that is among them.
    """
    ring.cursor = max(ring.cursor, ring.written - 1)
    rows = ring.read()
    if not len(rows):
        return {}
    known = dict(zip(ring.names, zip(rows["channels"][-1].tolist(), ring.units, strict=True), strict=True))
    shown = {name: known[name] for name in ring.metadata["measured"] if name in known}
    if int(rows["flags"][-1]) & FLAGS["stopped"]:
        shown["emergency stop"] = (1.0, "pressed")
    if int(rows["flags"][-1]) & FLAGS["fault"]:
        shown["controller"] = (1.0, "fault")
    return shown


def measured_line(measured: Measured) -> str:
    """Return the values on one line.

    >>> measured_line({"measured.force": (-12.25, "N"), "measured.displacement": (0.0005, "m")})
    'force -12.25 N   displacement +0.0005 m'
    """
    return "   ".join(
        f"{name.removeprefix('measured.')} {value:+.5g} {unit}".rstrip()
        for name, (value, unit) in measured.items()
    )


PERCENTS = (50.0, 99.0, 99.9, 100.0)
"""Percentiles that are told; the last is the most."""

STOPPED = "the operator stopped it"
"""An operator's stop is no trip and has no number among the causes."""

_CLOCKED = {"wake": "wake-up latency", "busy": "cycle time", "exchange": "of which in the link"}


def outcome(status: Status, period: float, wanted: int, *, alive: bool = True) -> dict[str, Any]:
    """Return the attributes that a run's record gets from its loop.

    Parameters
    ----------
    status
        The loop's last.
    period
        Seconds between ticks.
    wanted
        Ticks that were asked for; 0: until stopped.
    alive
        Whether the loop could still go on.

    Notes
    -----
    ``counts`` and ``link_counts`` are those of the executive since it began, also of cycles without a tick.
    """
    steps = status.steps
    if status.cause:
        when = f"at t = {max(status.cause_step, 0) * period:.4g} s"
        how_long = f" ({status.cause_value:.3g} s)" if status.cause == Cause.STOOD_STILL else ""
        told = f": {status.fault_words} (fault {status.cause_detail})" if status.fault_words else ""
        state, message = "stopped", f"{cause_words(status.cause)}{told}{how_long} {when}"
    elif status.state != "finalized" and not alive:
        state, message = "stopped", f"the loop's process died after {steps} ticks"
    elif status.state != "finalized":
        state, message = "recording", "the run was still going on when this was written"
    elif wanted and steps < wanted:
        who = STOPPED if status.counts["stops"] else "it was ended"
        state, message = "stopped", f"{who} after {steps} of {wanted} ticks"
    else:
        state, message = "completed", ""
    return {
        "status": state,
        "message": message,
        "steps": steps,
        "cause": status.cause,
        "cause_words": STOPPED if status.counts["stops"] and not status.cause else cause_words(status.cause),
        "fault_words": status.fault_words,
        "cause_step": status.cause_step,
        "cause_detail": status.cause_detail,
        "cause_value": status.cause_value if math.isfinite(status.cause_value) else str(status.cause_value),
        "counts": status.counts,
        "link_counts": status.link,
    }


def warnings_of(values: NDArray[np.float64]) -> dict[str, int]:
    """Return in how many ticks there was a warning, by the name of the limit.

    Parameters
    ----------
    values
        Of the channel `~bondloop.safety.causes.WARNING`.

    Examples
    --------
    >>> warnings_of(np.array([0.0, 3.0, 3.0, 17.0]))
    {'force': 2, 'command rate': 1}
    """
    codes, counts = np.unique(values[values != 0], return_counts=True)
    return {limit_name(code): int(n) for code, n in zip(codes, counts, strict=True)}


def moving(before: Status, after: Status) -> dict[str, int]:
    """Return how the executive kept its time while it moved the rig, approach and retreat included.

    By its own counts: the record may have lost ticks, and has none of the approach.

    Parameters
    ----------
    before, after
        As the loop began to move, and when it had ended.

    Returns
    -------
    dict
        ``cycles``, ``late`` and ``missed``, as in `timing`.
    """
    words = {"cycles": "cycles", "late": "overruns", "missed": "missed"}
    return {word: after.counts[count] - before.counts[count] for word, count in words.items()}


def timing(cycles: Mapping[str, NDArray[Any]], period: float) -> dict[str, Any]:
    """Return how the ticks of a run kept their time.

    Parameters
    ----------
    cycles
        From `bondloop.results.read_cycles`.
    period
        Seconds between ticks.

    Returns
    -------
    dict
        ``late``: ticks that ended after their deadline; ``missed``: deadlines that passed without a tick;
        ``held``, ``refused``: ticks whose command was held, whose measured values were not believed;
        ``stale``: ticks without a new measurement; ``percentiles`` of the durations in s.

    Examples
    --------
    >>> zero = np.zeros(4, dtype=int)
    >>> wake = np.array([5, 5, 2_100, 6]) * 1000
    >>> cycles = {"wake_ns": wake, "busy_ns": zero, "exchange_ns": zero, "flags": np.array([1, 1, 2, 1])}
    >>> found = timing(cycles, 1e-3)
    >>> found["late"], found["missed"], found["stale"], found["percentiles"]["wake"]["most"]
    (1, 2, 1, 0.0021)
    """
    flags = cycles["flags"]

    def flagged(word: str) -> int:
        return int(((flags & FLAGS[word]) != 0).sum())

    percentiles: dict[str, dict[str, float]] = {}
    for word in _CLOCKED:
        values = cycles[f"{word}_ns"]
        if values.size:
            found = 1e-9 * np.percentile(values, PERCENTS, method="higher")
            names = [f"{p:g}" for p in PERCENTS[:-1]] + ["most"]
            percentiles[word] = {n: float(f"{x:.9g}") for n, x in zip(names, found, strict=True)}
    return {
        "late": flagged("overrun"),
        "missed": int((np.maximum(cycles["wake_ns"], 0) // max(round(1e9 * period), 1)).sum()),
        "held": flagged("held"),
        "refused": flagged("refused"),
        "stale": int(flags.size) - flagged("fresh"),
        "percentiles": percentiles,
    }


def summary_lines(attributes: Mapping[str, Any]) -> list[str]:
    r"""Return what people want to know of a run's timing, from its record's attributes.

    Examples
    --------
    >>> wake = {"50": 5e-5, "99": 7e-5, "99.9": 1e-4, "most": 2.5e-3}
    >>> found = {"late": 0, "missed": 0, "held": 0, "refused": 0, "stale": 2, "percentiles": {"wake": wake}}
    >>> print("\n".join(summary_lines({"steps": 1001, "timing": found})))
    1,001 ticks: none late, no deadline missed
    ticks without a new measurement: 2
                             50 %    99 %  99.9 %    most
    wake-up latency         50 µs   70 µs  100 µs  2.5 ms
    """
    found, link = attributes.get("timing") or {}, attributes.get("link_counts") or {}
    steps = f"{attributes['steps']:,} ticks"
    near = attributes.get("warnings") or {}
    warned = [f"WARNING: near the limit of {name} in {count:,} ticks" for name, count in near.items()]
    if attributes.get("lock_step"):
        return [f"{steps} in lock-step, without a clock", *warned, *_packets(link)]
    if not found:
        return [steps]
    moved = attributes.get("moving") or {}
    # The record knows nothing of ticks that it lost; the executive does not call missed what it made good.
    late, missed = (max(found[word], moved.get(word, 0)) for word in ("late", "missed"))
    deadlines = f"{missed:,} deadlines" if missed > 1 else "a deadline" if missed else "no deadline"
    of = f" of {moved['cycles']:,} cycles, approach and retreat included" if moved else ""
    lines = [f"{steps}: {f'{late:,}' if late else 'none'} late, {deadlines} missed{of}"]
    lines += [
        f"{meaning}: {found[word]:,}"
        for word, meaning in (
            ("held", "ticks whose command came too late and was held"),
            ("refused", "ticks whose measurement was not believed"),
            ("stale", "ticks without a new measurement"),
        )
        if found[word]
    ]
    return [*lines, *warned, *_packets(link), *_table(found["percentiles"])]


def _packets(link: Mapping[str, int]) -> list[str]:
    words = ("lost", "duplicated", "reordered", "corrupted", "foreign")
    troubles = [f"{link[word]:,} {word}" for word in words if link.get(word)]
    return [f"packets: {', '.join(troubles)}, of {link['received']:,} received"] if troubles else []


def _table(percentiles: Mapping[str, Mapping[str, float]]) -> list[str]:
    rows = {_CLOCKED[word]: found for word, found in percentiles.items() if found}
    if not rows:
        return []
    heads = [f"{p:g} %" for p in PERCENTS[:-1]] + ["most"]
    lines = [f"{'':21}" + "".join(f"{h:>8}" for h in heads)]
    for name, found in rows.items():
        lines.append(f"{name:21}" + "".join(f"{duration(v):>8}" for v in found.values()))
    return lines


def duration(seconds: float) -> str:
    """Write a duration with a unit that suits it.

    >>> duration(4.2e-8), duration(5.31e-5), duration(0.0123), duration(float("nan"))
    ('42 ns', '53 µs', '12 ms', '-')
    """
    if math.isnan(seconds):
        return "-"
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(seconds) >= 0.9995 * size:
            return f"{seconds / size:.2g} {unit}" if seconds / size < 99.5 else f"{seconds / size:.0f} {unit}"
    return f"{1e9 * seconds:.0f} ns"


@dataclass(frozen=True)
class Live:
    """How a loop is doing.

    Attributes
    ----------
    time
        Seconds of the test so far.
    state
        Of the lifecycle.
    misses
        Cycles that ended too late, and deadlines that passed without a cycle.
    jitter
        Largest wake-up latency in s since the last look.
    tracking_error
        Largest difference of desired and actual displacement in m since the last look.
    power
        Power discrepancy at the interface in W, root of the mean square since the last look: measured force
        times difference of actual and desired velocity.
    cause
        Number of the cause of a trip; 0: none.
    recording
        What is wrong with the recording, in words; nothing while all is well.
    warning
        Number of the cause that is near since the last look; 0: none.
    trouble
        That the loop does not answer, and what to do, in words; nothing while it does.

    Examples
    --------
    >>> print(Live(12.34, "active", 0, 5.2e-5, 1.2e-4, 0.031, 0))
      12.34 s  active     misses 0  jitter 52 µs  tracking 0.12 mm  power 0.031 W
    """

    time: float
    state: str
    misses: int
    jitter: float
    tracking_error: float
    power: float
    cause: int
    recording: str = ""
    warning: int = 0
    trouble: str = ""

    def __str__(self) -> str:
        line = (
            f"{self.time:7.2f} s  {self.state:9}  misses {self.misses}  jitter {duration(self.jitter)}  "
            f"tracking {_shown(self.tracking_error, 'm')}  power {_shown(self.power, 'W')}"
        )
        told = [cause_words(self.cause)] if self.cause else []
        if self.warning and not self.cause:
            told.append(f"WARNING: near the limit of {limit_name(self.warning)}")
        told += [words for words in (self.trouble, self.recording) if words]
        return "  ".join([line, *told])


class Watcher:
    """Looks at a loop's telemetry now and then.

    Parameters
    ----------
    ring
        Of the loop; its cursor is moved.
    most
        Samples that one look reads at most, the newest: a look must stay cheap.
    """

    def __init__(self, ring: Ring, most: int = 1000) -> None:
        self.ring, self.most = ring, most
        self.period = float(ring.metadata.get("period", ring.period))
        # Before the test begins the loop is idle, and what it missed then is of no interest.
        self._before = self._missed(ring.status())

        def numbers(role: Role, kind: str) -> list[int]:
            return [i for i, m in enumerate(ring.meanings) if m.role is role and m.kind == kind]

        self._desired = numbers(Role.DESIRED, "displacement")
        self._actual = numbers(Role.ACTUAL, "displacement")
        self._warning = ring.names.index(WARNING) if WARNING in ring.names else None
        self._velocity, self._force = numbers(Role.ERROR, "flow"), numbers(Role.ACTUAL, "effort")

    def look(self) -> Live:
        """Return how the loop is doing."""
        ring = self.ring
        ring.cursor = max(ring.cursor, ring.written - self.most)
        block = ring.read()
        values = block["channels"][block["step"] >= 0]
        status = ring.status()
        return Live(
            time=max(status.steps - 1, 0) * self.period,
            state=status.state,
            misses=self._missed(status) - self._before,
            jitter=1e-9 * float(block["wake_ns"].max()) if len(block) else float("nan"),
            tracking_error=_largest(values[:, self._desired], values[:, self._actual])
            if len(self._desired) == len(self._actual)
            else float("nan"),
            power=self._power(values),
            cause=status.cause,
            warning=int(values[:, self._warning].max(initial=0.0)) if self._warning is not None else 0,
        )

    @staticmethod
    def _missed(status: Status) -> int:
        return status.counts["overruns"] + status.counts["missed"]

    def _power(self, values: NDArray[np.float64]) -> float:
        if not len(values) or not self._force or len(self._force) != len(self._velocity):
            return float("nan")
        with np.errstate(over="ignore", invalid="ignore"):  # a rig may show anything: this line only tells it
            power = (values[:, self._force] * values[:, self._velocity]).sum(axis=1)
            return float(np.sqrt(np.mean(power**2)))


def _largest(wanted: NDArray[np.float64], seen: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        difference = wanted - seen
    return float(np.abs(difference).max()) if difference.size else float("nan")


def _shown(value: float, unit: str) -> str:
    return "-" if np.isnan(value) else shown(float(f"{value:.2g}"), unit)
