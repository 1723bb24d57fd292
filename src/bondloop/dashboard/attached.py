"""A loop that the server has attached to: its state, its log, its timing; `samples` has its channels."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.dashboard.frames import Bars, pairs_of, plain
from bondloop.dashboard.samples import MOVING
from bondloop.errors import InputError
from bondloop.realtime import REQUESTS, bin_edges, silence, silence_words

if TYPE_CHECKING:
    from bondloop.dashboard.presence import EventLog
    from bondloop.dashboard.server import PagePolicy
    from bondloop.realtime import CommandReceipt, Console, Event, Histogram


def _number(message: Mapping[str, object], word: str) -> float:
    value = message.get(word)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{word}: expected a number; found {value!r:.40}")
    return float(value)


def _switches(message: Mapping[str, object]) -> list[str]:
    names = message.get("switches", [])
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names) or len(names) > 2:
        raise InputError(f"switches: expected a list of names; found {names!r:.40}")
    return names


def _values(message: Mapping[str, object]) -> dict[str, float]:
    values = message.get("values")
    if not isinstance(values, dict) or not values:
        raise InputError(f"values: expected numbers by name; found {values!r:.40}")
    return {str(name): _number(values, name) for name in values}


COMMANDS: dict[str, Callable[[Console, Mapping[str, object], str], CommandReceipt]] = {
    "arm": lambda console, _, who: console.arm(who),
    "start": lambda console, _, who: console.start(who),
    "hold": lambda console, _, who: console.hold(who),
    "resume": lambda console, _, who: console.resume(who),
    "ramp_in": lambda console, message, who: console.ramp_in(*_switches(message), who=who),
    "ramp_out": lambda console, message, who: console.ramp_out(*_switches(message), who=who),
    "span": lambda console, message, who: console.span(_number(message, "factor"), who),
    "retreat": lambda console, _, who: console.retreat(who),
    "stop": lambda console, _, who: console.stop(who),
    "trip": lambda console, _, who: console.trip(who),
    "reset": lambda console, _, who: console.reset(who),
    "set": lambda console, message, who: console.set(_values(message), who),
}
"""By name."""


def send_command(console: Console, message: Mapping[str, object], who: str) -> CommandReceipt:
    """Give a command to the loop; an `InputError` where it makes no sense.

    Parameters
    ----------
    console
        Of the loop.
    message
        From the browser: ``{"do": "span", "factor": 0.5}``.
    who
        For the loop's own log.

    Examples
    --------
    >>> send_command(None, {"do": "explode"}, "ada")
    Traceback (most recent call last):
    bondloop.errors.InputError: there is no command 'explode'
    """
    word = message.get("do")
    if not isinstance(word, str) or word not in COMMANDS:
        raise InputError(f"there is no command {word!r:.40}")
    return COMMANDS[word](console, message, who)


class LoopCommands:
    """Gives commands in threads, for the mailbox may be another's for a moment; trips need no mailbox."""

    def __init__(self, policy: PagePolicy) -> None:
        self._policy = policy
        self._threads = ThreadPoolExecutor(4, "command")

    async def give(self, console: Console, message: Mapping[str, object], who: str) -> str:
        """Give a command and wait until the loop has confirmed it; return it in words.

        Parameters
        ----------
        console
            Of the loop.
        message
            From the browser.
        who
            For the loop's own log.
        """
        word = message.get("do")
        if word not in REQUESTS and is_old(message.get("seen"), time.monotonic(), self._policy.old):
            raise InputError(
                f"{word!s:.40} came more than {self._policy.old:g} s after what the page had shown, so it "
                "was not passed on: look at the page again, then ask again"
            )
        if word in REQUESTS:
            receipt = send_command(console, message, who)
        else:
            turn = asyncio.get_running_loop()
            receipt = await turn.run_in_executor(self._threads, send_command, console, message, who)
        until = time.monotonic() + self._policy.confirm
        while not receipt.done:
            if time.monotonic() > until:
                then = "; press the emergency stop" if word in REQUESTS else ""
                raise InputError(f"the loop has not confirmed: {receipt.words}{then}")
            await asyncio.sleep(0.002)
        if receipt.refused:  # the loop's own log tells of it, as of what it has obeyed
            raise InputError(receipt.refused)
        return receipt.words

    def retreat(self, console: Console, who: str) -> None:
        """Bring the rig to rest, without waiting for it."""
        console.retreat(who)

    def close(self) -> None:
        """Give no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def is_old(seen: Any, now: float, old: float) -> bool:
    """Whether what a browser showed when its user acted is too old to act on, by the server's own clock.

    A program need not say what it saw.

    Examples
    --------
    >>> is_old(100.0, 101.0, 5.0), is_old(100.0, 130.0, 5.0), is_old(None, 130.0, 5.0)
    (False, True, False)
    """
    known = isinstance(seen, int | float) and not isinstance(seen, bool)
    return known and not now - seen < old


@dataclass
class Deadlines:
    """Watches the counts of missed deadlines and of late cycles while the loop moves the rig.

    What is late while nothing moves is of no interest.

    Parameters
    ----------
    missed, late
        The counts as they are at first.
    clock
        Seconds that only increase.
    least, longest
        Time between lines: while it goes on twice as much each time, up to so much.

    Examples
    --------
    >>> clock = iter([0.0, 0.5, 5.0]).__next__
    >>> watch = Deadlines(0, 0, clock)
    >>> watch.look(2, 1, moving=True), watch.look(3, 1, moving=True), watch.look(3, 1, moving=True)
    ('2 deadlines missed, 1 cycle late', '', '1 deadline missed')
    """

    missed: int
    late: int
    clock: Callable[[], float] = time.monotonic
    least: float = 1.0
    longest: float = 10.0
    _next: float = float("-inf")
    _pause: float = 1.0

    def look(self, missed: int, late: int, *, moving: bool) -> str:
        """Return what is to be told, with how many since the last line; nothing where there is nothing.

        Parameters
        ----------
        missed, late
            The counts as they are now.
        moving
            Whether the loop moves the rig.
        """
        now = self.clock()
        if not moving:
            self.missed, self.late = missed, late
        new = [(missed - self.missed, "deadline", "missed"), (late - self.late, "cycle", "late")]
        words = [f"{n:,} {what}{'s' if n > 1 else ''} {how}" for n, what, how in new if n > 0]
        if not words or now < self._next:
            return ""
        is_over = now > self._next + self.longest
        self._pause = self.least if is_over else min(2 * self._pause, self.longest)
        self.missed, self.late, self._next = missed, late, now + self._pause
        return ", ".join(words)


DIED = (
    "THE LOOP HAS DIED: nothing commands the rig now but its own watchdog; use the emergency stop, and look "
    "at the rig before anything is started again"
)
"""Told of a loop whose process has ended without ending the test."""


class Attached:
    """A loop, watched.

    Parameters
    ----------
    console
        Attached to it.
    log
        Where its states, trips and warnings are noted.

    Attributes
    ----------
    gauges
        The newest that `take` was given.
    """

    def __init__(self, console: Console, log: EventLog) -> None:
        self.console, self._log = console, log
        self.channels = console.channels
        self.period = console.period
        self.gauges: dict[str, Any] = {}
        self.name = str(console.metadata.get("name", console.name))
        self.snapshot = console.snapshot()
        self._recording = ""
        self._deadlines = Deadlines(self.snapshot.missed, self.snapshot.late)

    def look(self) -> None:
        """Take in what the loop has written since the last look."""
        self.snapshot = s = self.console.snapshot()
        for event in self.console.events():
            self._tell(event)
        self._tell_recording(s.recording)
        if words := self._deadlines.look(s.missed, s.late, moving=s.state in MOVING):
            self._log.add("warning", words, test_time=s.time)

    def take(self, gauges: dict[str, Any]) -> None:
        """Take in what the process that keeps the samples has found in them.

        Parameters
        ----------
        gauges
            From `Samples.gauges`.
        """
        self.gauges = gauges
        for words, test_time in gauges["warnings"]:
            self._log.add("warning", words, test_time=test_time)

    def _tell_recording(self, words: str) -> None:
        """Note what is wrong with the record, a line for each kind of trouble: its numbers grow."""
        kind = re.sub(r"[\d,]+", "", words)
        if kind != self._recording:
            self._recording = kind
            text = f"the recording: {words}" if words else "the recording goes on"
            self._log.add("warning", text, test_time=self.snapshot.time)

    def _tell(self, event: Event) -> None:
        """Note what the loop has logged: commands and who gave them, states, trips."""
        kind = {"set": "set", "state": "state", "cause": "trip"}.get(event.kind, "command")
        text = {"state": f"the loop is {event.text}", "cause": f"trip: {event.text}"}.get(
            event.kind, event.text
        )
        at = 1e-9 * (event.time_ns + int(self.console.segment.header["realtime_offset_ns"][0]))
        self._log.add(kind, text, who=event.who, test_time=max(event.step, 0) * self.period, at=at)

    def describe(self) -> dict[str, object]:
        """Return what does not change while the loop lives, as it goes to the browser."""
        return {
            "type": "loop",
            "name": self.name,
            "segment": self.console.name,
            "period": self.period,
            "channels": [plain(vars(c)) for c in self.channels],
            "parameters": [plain(vars(p)) for p in self.console.parameters],
            "pairs": pairs_of(self.channels),
            "loops": Bars(self.channels).loops,
        }

    def status(self) -> dict[str, object]:
        """Return how the loop is doing, as it goes to the browser."""
        s = self.snapshot
        header = self.console.segment.header[0]
        heard, period = int(header["heartbeat_ns"]), int(header["period_ns"])
        silent = 0.0 if s.state == "finalized" else silence(heard, period, time.monotonic_ns())
        state = s.state if s.alive or s.state == "finalized" else "dead"
        gauges = self.gauges if self.gauges.get("run") == s.run else {}  # not those of the run before
        words = {
            f"cause_{n}": getattr(s, f"cause_{n}") for n in ("value", "limit", "channel", "unit", "step")
        }
        shown: dict[str, object] = plain(
            {
                "state": state, "armed": s.armed, "run": s.run, "time": s.time, "step": s.step,
                "cause": s.cause, "cause_words": s.words if s.cause else "", **words,
                "cause_time": max(s.cause_step, 0) * self.period,
                "missed": s.missed, "late": s.late, "counts": dict(s.counts), "link": dict(s.link),
                "silence": DIED if state == "dead" else silence_words(silent),
                "emulated": s.emulated, "recording": s.recording,
                "bars": gauges.get("bars", []), "estimates": gauges.get("estimates", []),
                "values": dict(s.channels), "starting": self._starting(),
                "parameters": {p.name: p.value for p in self.console.parameters},
            }
        )  # fmt: skip
        return shown

    def _starting(self) -> list[dict[str, object]]:
        """Return what a start would do to the switches; nothing where the loop cannot be started."""
        return [vars(s) for s in self.console.start_words()] if self.snapshot.state == "inactive" else []

    def timing(self) -> dict[str, object]:
        """Return the histograms of the executive, as they go to the browser."""
        s = self.snapshot
        shown = {"wake": s.wake, "busy": s.busy, "exchange": s.exchange}
        return {
            "type": "timing",
            "period": self.period,
            **{name: _quarters(h) for name, h in shown.items() if h is not None and h.count},
        }

    def close(self) -> None:
        """Detach; the loop goes on."""
        self.console.close()


def _quarters(histogram: Histogram) -> dict[str, object]:
    """Return a histogram with four bins an octave, from 1 µs on, and its percentiles, in s."""
    edges, bins = bin_edges() * 1e-9, histogram.bins.astype(float)
    number = np.floor(4 * np.log2(np.maximum(edges, 1e-6) / 1e-6) + 1e-9).astype(int)
    counts = np.bincount(number, weights=bins)
    last = int(np.flatnonzero(counts)[-1]) + 1 if counts.any() else 0
    share = {f"{p:g}": 1e-9 * histogram.percentile(p) for p in (50, 99, 99.9)}
    return {
        "first": 1e-6, "ratio": math.pow(2, 0.25), "bins": counts[:last].astype(int).tolist(),
        "count": histogram.count, "percentiles": plain({**share, "most": 1e-9 * histogram.most}),
    }  # fmt: skip
