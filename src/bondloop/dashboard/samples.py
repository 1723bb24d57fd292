"""The samples of a loop, in a process of their own: frames, gauges, and how well the rig follows.

The process attaches to the loop's telemetry itself, without the right to write to it, so that the server
passes on what browsers see without computing any of it. Each request says all that is needed: a process that
was ended is followed by another, which finds the samples that the loop's own ring still holds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.dashboard.bars import Bars
from bondloop.dashboard.estimates import Estimates
from bondloop.dashboard.frames import Block, packed, plain
from bondloop.dashboard.history import Curves, History
from bondloop.realtime import STATES
from bondloop.realtime.console import Console
from bondloop.realtime.telemetry import Segment
from bondloop.safety import LIMITS, WARNING, limit_name

if TYPE_CHECKING:
    from numpy.typing import NDArray


KEPT_SECONDS = 120.0
KEPT_BYTES = 1 << 26
"""How much of the past is held for browsers that come later, at most."""
MOST = 20_000
"""Rows that one look takes at most."""
MOVING = ("active", "retreat")
"""States in which the loop moves the rig."""
MOVES = [STATES.index(name) for name in MOVING]
ESTIMATE = 0.5
"""Seconds between estimates."""
PIECE_SECONDS, PIECE_BYTES = 0.03, 1 << 20
"""After so much a frame is sent, though plots remain; they come first in the next."""


class Samples:
    """The samples of a loop, looked through once.

    Parameters
    ----------
    console
        Attached to it.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.channels, self.period = console.channels, console.period
        rows = min(KEPT_SECONDS / self.period, KEPT_BYTES / (4 * max(1, len(self.channels))))
        self.history = History(len(self.channels), max(1000, int(rows)), self.period)
        self.bars = Bars(self.channels)
        self.estimates = Estimates(self.channels, self.period)
        self._warning = next((i for i, c in enumerate(self.channels) if c.name == WARNING), None)
        self._warned = 0
        self._warnings: list[tuple[str, float]] = []
        self._run, self._begun, self._ticked = int(console.segment.header["run"][0]), -1, False
        self._estimated = -ESTIMATE
        fresh = {*console.metadata.get("measured", ()), *console.metadata.get("commands", ())}
        self._stale = np.flatnonzero([c.name not in fresh for c in self.channels])

    def look(self) -> None:
        """Take in what the loop has written since the last look."""
        rows = self.console.rows(most=MOST)
        events = self.console.events()  # behind the rows: of rows after a reset the reset is known
        self._mind_run([e.cycle for e in events if e.kind == "reset" and not e.refused])
        if not len(rows):
            return
        numbers = rows["sequence"].astype(np.int64) - 1
        # Where no tick was executed the loop measures and commands; all else is of some tick before.
        rows["channels"][np.ix_(np.flatnonzero(rows["step"] < 0), self._stale)] = np.nan
        own = rows["cycle"] >= self._begun
        ticks = (rows["step"] >= 0) & own
        if ticks.any():
            at = len(rows) - 1 - int(np.argmax(ticks[::-1]))
            origin = int(numbers[at] - rows["step"][at])
            if not self._ticked or abs(origin - self.history.origin) * self.period > 1.0:
                self.history.origin = origin  # not for a few ticks left out
            self._ticked = True
        self.history.add(numbers, rows["channels"])
        self.bars.take(rows["channels"], own & np.isin(rows["state"], MOVES))
        self._warn(rows)

    def _mind_run(self, begun: Sequence[int]) -> None:
        """Forget what was of the run before a reset: how near the limits have been, how well it followed."""
        run = int(self.console.segment.header["run"][0])
        if begun or run != self._run:
            self._run, self._begun, self._ticked = run, max([self._begun, *begun]), False
            self.bars.forget()
            self.estimates.forget()

    def _warn(self, rows: NDArray[np.void]) -> None:
        if self._warning is not None:
            near = np.nan_to_num(rows["channels"][:, self._warning])
            code = int(near.max(initial=0.0))
            if code and code != self._warned:
                step = max(0, int(rows["step"][int(near.argmax())]))
                self._warnings.append((f"near the limit of {limit_name(code)}", step * self.period))
            self._warned = code

    def estimate(self) -> None:
        """Estimate anew how well the rig follows, from what has come of this run."""
        if self._ticked:
            self.estimates.look(self.history, self.history.origin)

    @property
    def limits(self) -> dict[str, float]:
        """The limits of the interlock by name, as they are now: some can be tightened while the test runs."""
        stated = self.console.metadata.get("limits", {})
        now = {LIMITS[p.name].replace("_", " "): p.value for p in self.console.parameters if p.name in LIMITS}
        return {name: now.get(name, limit) for name, limit in stated.items()}

    def gauges(self) -> dict[str, Any]:
        """Return what the page shows of them beside the curves, and the warnings since the last call."""
        now = time.monotonic()
        active = int(self.console.segment.header["state"][0]) == STATES.index("active")
        if active and now >= self._estimated + ESTIMATE:
            self._estimated = now
            self.estimate()
        self.bars.limit(self.limits)
        warnings, self._warnings = self._warnings, []
        shown = {"bars": self.bars.describe(), "estimates": self.estimates.latest, "run": self._run}
        return {**plain(shown), "warnings": warnings}


_watched: dict[tuple[str, int], Samples] = {}
"""The loop that this process reads, by name and era."""


def _samples(segment: str, era: int) -> Samples:
    """Return the samples of a loop as of now; those of the loop before are let go."""
    if (segment, era) not in _watched:
        while _watched:
            _watched.popitem()[1].console.close()
        _watched[segment, era] = Samples(Console(Segment(segment)))
    samples = _watched[segment, era]
    samples.look()
    return samples


def gauges(segment: str, era: int) -> tuple[dict[str, Any], Sequence[NDArray[Any]]]:
    """Return what the page shows of a loop beside the curves; see `Samples.gauges`.

    Parameters
    ----------
    segment
        Of the loop's telemetry.
    era
        Counted up by the server with each loop: a name may come again.
    """
    return _samples(segment, era).gauges(), ()


def frame(
    segment: str, era: int, number: int, plots: Sequence[Sequence[Any]], sent: Sequence[tuple[int, int]]
) -> tuple[dict[str, Any], Sequence[NDArray[Any]]]:
    """Return a frame of the first of some plots, as many as a bounded time allows, and how far they are sent.

    Parameters
    ----------
    segment, era
        As for `gauges`.
    number
        Of the frame.
    plots
        The arguments of `Curves` for each.
    sent
        How far each has been sent.
    """
    history, blocks, reached = _samples(segment, era).history, list[Block](), list[tuple[int, int]]()
    until, left = time.monotonic() + PIECE_SECONDS, PIECE_BYTES
    for (plot, kind, channels, window, pixels), before in zip(plots, sent, strict=True):
        if reached and (left <= 0 or time.monotonic() > until):
            break
        block, after = Curves(plot, kind, tuple(channels), window, pixels).news(
            history, (before[0], before[1])
        )
        reached.append(after)
        if block is not None:
            blocks.append(block)
            left -= block.columns.nbytes
    rows = [np.frombuffer(packed(number, blocks), np.uint8)] if blocks else []
    return {"sent": reached}, rows
