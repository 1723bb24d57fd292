"""A loop that the server has attached to: its samples, how near its limits have been, how well it follows."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from bondloop.dashboard.bars import Bars
from bondloop.dashboard.deadlines import Deadlines
from bondloop.dashboard.estimates import Estimates
from bondloop.dashboard.history import History
from bondloop.dashboard.plain import plain
from bondloop.realtime.layout import STATES
from bondloop.realtime.ring import bin_edges
from bondloop.realtime.silence import silence_words
from bondloop.safety.causes import limit_name
from bondloop.safety.channel_names import LIMITS, WARNING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.dashboard.events import EventLog
    from bondloop.realtime import Console
    from bondloop.realtime.ring import Histogram
    from bondloop.realtime.snapshot import Event

__all__ = ["Attached"]

KEPT_SECONDS = 120.0
KEPT_BYTES = 1 << 26
"""How much of the past is held for browsers that come later, at most."""
MOST = 20_000
"""Rows that one look takes at most."""
MOVING = ("active", "retreat")
"""States in which the loop moves the rig."""
MOVES = [STATES.index(name) for name in MOVING]
SILENT = 1.0
"""Seconds without a cycle after which a loop does not answer."""
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
    """

    def __init__(self, console: Console, log: EventLog) -> None:
        self.console, self._log = console, log
        self.channels = console.channels
        self.period = console.period
        rows = min(KEPT_SECONDS / self.period, KEPT_BYTES / (4 * max(1, len(self.channels))))
        self.history = History(len(self.channels), max(1000, int(rows)), self.period)
        self.bars = Bars(self.channels)
        self.estimates = Estimates(self.channels, self.period)
        self.name = str(console.metadata.get("name", console.name))
        self._warning = next((i for i, c in enumerate(self.channels) if c.name == WARNING), None)
        self._warned = 0
        self.snapshot = console.snapshot()
        self._run, self._recording = self.snapshot.run, ""
        self._begun, self._ticked = -1, False
        fresh = {*console.metadata.get("measured", ()), *console.metadata.get("commands", ())}
        self._stale = np.flatnonzero([c.name not in fresh for c in self.channels])
        self._deadlines = Deadlines(self.snapshot.missed, self.snapshot.late)

    def look(self) -> None:
        """Take in what the loop has written since the last look."""
        rows = self.console.rows(most=MOST)
        events = self.console.events()  # behind the rows: of rows after a reset the reset is known
        self._mind_run(events)
        if len(rows):
            numbers = rows["sequence"].astype(np.int64) - 1
            # Where no tick was executed the loop measures and commands; all else is of some tick before.
            rows["channels"][np.ix_(np.flatnonzero(rows["step"] < 0), self._stale)] = np.nan
            own = rows["cycle"] >= self._begun
            ticks = (rows["step"] >= 0) & own
            if ticks.any():
                at = len(rows) - 1 - int(np.argmax(ticks[::-1]))
                origin = int(numbers[at] - rows["step"][at])
                if not self._ticked or abs(origin - self.history.origin) * self.period > 1.0:
                    self.history.begin(origin)  # not for a few ticks left out
                self._ticked = True
            self.history.add(numbers, rows["channels"])
            self.bars.take(rows["channels"], own & np.isin(rows["state"], MOVES))
            self._warn(rows)
        self.snapshot = self.console.snapshot()
        for event in events:
            self._tell(event)
        self._tell_recording(self.snapshot.recording)
        s = self.snapshot
        if words := self._deadlines.look(s.missed, s.late, moving=s.state in MOVING):
            self._log.add("warning", words, test_time=s.time)

    def _mind_run(self, events: list[Event]) -> None:
        """Forget what was of the run before a reset: how near the limits have been, how well it followed."""
        begun = [e.cycle for e in events if e.kind == "reset" and not e.refused]
        run = int(self.console.segment.header["run"][0])
        if begun or run != self._run:
            self._run, self._begun, self._ticked = run, max([self._begun, *begun]), False
            self.bars.forget()
            self.estimates.forget()

    def estimate(self) -> None:
        """Estimate anew how well the rig follows, from what has come of this run."""
        if self._ticked:
            self.estimates.look(self.history, self.history.origin)

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

    def _warn(self, rows: NDArray[np.void]) -> None:
        if self._warning is not None:
            near = np.nan_to_num(rows["channels"][:, self._warning])
            code = int(near.max(initial=0.0))
            if code and code != self._warned:
                self._log.add(
                    "warning", f"near the limit of {limit_name(code)}", test_time=self.snapshot.time
                )
            self._warned = code

    @property
    def limits(self) -> dict[str, float]:
        """The limits of the interlock by name, as they are now: some can be tightened while the test runs."""
        stated = self.console.metadata.get("limits", {})
        now = {LIMITS[p.name].replace("_", " "): p.value for p in self.console.parameters if p.name in LIMITS}
        return {name: now.get(name, limit) for name, limit in stated.items()}

    def describe(self) -> dict[str, object]:
        """Return what does not change while the loop lives, as it goes to the browser."""
        return {
            "type": "loop",
            "name": self.name,
            "segment": self.console.name,
            "period": self.period,
            "channels": [plain(vars(c)) for c in self.channels],
            "parameters": [plain(vars(p)) for p in self.console.parameters],
            "pairs": self.estimates.pairs,
            "loops": self.bars.loops,
        }

    def status(self) -> dict[str, object]:
        """Return how the loop is doing, as it goes to the browser."""
        s = self.snapshot
        silent = s.heartbeat if s.heartbeat > SILENT and s.state != "finalized" else 0.0
        state = s.state if s.alive or s.state == "finalized" else "dead"
        self.bars.limit(self.limits)
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
                "bars": self.bars.describe(), "estimates": self.estimates.latest,
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
