"""The samples of a loop, in a process of their own: frames, gauges, and how well the rig follows.

The process attaches to the loop's telemetry itself, without the right to write to it, so that the server
passes on what browsers see without computing any of it. Each request says all that is needed: a process that
was ended is followed by another, which finds the samples that the loop's own ring still holds.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.dashboard.frames import Bars, Block, Curves, History, packed, pairs_of, plain
from bondloop.errors import InputError
from bondloop.readers import Worker
from bondloop.realtime import STATES, Console, Segment
from bondloop.results.assess import delay, normalised_rms_error, peak_amplitude_error
from bondloop.safety import LIMITS, WARNING, limit_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.dashboard.frames import Sent
    from bondloop.dashboard.server import PagePolicy
    from bondloop.realtime import ShownChannel

NICE, MEMORY = 10, 2 << 30
"""By how much the loop goes first, and address space of the process."""
FIRST_REQUEST = 120.0
"""Seconds by the clock for its first request, which imports."""
HISTORY_SECONDS, HISTORY_BYTES = 120.0, 1 << 26
"""How much of the past is held for browsers that come later, at most."""
ROWS = 20_000
"""Samples that one look takes at most."""
ESTIMATE_INTERVAL, ESTIMATE_SECONDS, ESTIMATE_SAMPLES = 0.5, 4.0, 4000
"""Seconds between estimates of how well the rig follows, and the motion and samples of each."""
FRAME_SECONDS, FRAME_BYTES = 0.03, 1 << 20
"""A larger or slower frame is sent though plots remain: they come first in the next."""


class Estimates:
    """The newest estimates of a loop.

    Parameters
    ----------
    channels
        Of the telemetry.
    period
        Seconds from sample to sample.

    Attributes
    ----------
    pairs
        From `pairs_of`.
    latest
        ``error``, ``amplitude`` (both as shares) and ``delay`` (in s) of each pair; None where undefined.
    """

    def __init__(self, channels: Sequence[ShownChannel], period: float) -> None:
        self.pairs, self._period = pairs_of(channels), period
        self.latest: list[dict[str, float | None]] = []

    def forget(self) -> None:
        """Begin anew: another run."""
        self.latest = []

    def look(self, history: History, first: int = 0) -> None:
        """Estimate anew from the newest samples.

        Parameters
        ----------
        history
            Of the loop.
        first
            Number of the first sample of the run.
        """
        begin = max(history.first, first, history.end - round(ESTIMATE_SECONDS / self._period))
        stride = max(1, (history.end - begin) // ESTIMATE_SAMPLES)
        found = []
        for pair in self.pairs:
            both = history.read(begin, history.end, (pair["desired"], pair["actual"]))[::stride]
            motion = both[np.isfinite(both).all(axis=1)].astype(np.float64)
            found.append(plain({"interface": pair["interface"], **following(motion, stride * self._period)}))
        self.latest = found


def following(both: NDArray[np.float64], period: float) -> dict[str, float | None]:
    """Return error and amplitude error as shares and the delay in s; None where there is too little motion.

    Parameters
    ----------
    both
        Desired and actual displacement, shape (samples, 2).
    period
        Seconds from sample to sample.

    Examples
    --------
    >>> t = np.arange(4000) * 1e-3
    >>> found = following(np.stack([np.sin(20 * t), 0.9 * np.sin(20 * (t - 0.005))], axis=1), 1e-3)
    >>> round(found["amplitude"], 3), round(found["delay"], 5)
    (-0.1, 0.005)
    """
    if len(both) < 16 or not np.ptp(both[:, 0]) > 0:
        return {"error": None, "amplitude": None, "delay": None}
    desired, actual = both[:, 0], both[:, 1]
    try:
        lag: float | None = delay(desired, actual, period)
    except InputError:
        lag = None
    return {
        "error": normalised_rms_error(desired, actual),
        "amplitude": peak_amplitude_error(desired, actual),
        "delay": lag,
    }


ROOM = "bondloop.dashboard.samples"


class Telemetry:
    """Asks the process for gauges and frames, one at a time: gauges first, then the operator's frames."""

    def __init__(self, policy: PagePolicy) -> None:
        self._policy = policy
        self._worker = Worker(NICE, MEMORY)
        self._thread = ThreadPoolExecutor(1, "telemetry")
        self._number = itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[Any], str, dict[str, object]]] = []
        self._serving: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """Number of the process; None while there is none."""
        return self._worker.pid

    async def gauges(self, segment: str, era: int) -> dict[str, Any]:
        """Return `Samples.gauges` of a loop.

        Parameters
        ----------
        segment, era
            Of the loop.
        """
        answer, _, _ = await self._ask(0, "gauges", segment=segment, era=era)
        return answer

    async def frame(
        self, segment: str, era: int, number: int, plots: list[tuple[Curves, Sent]], *, first: bool
    ) -> tuple[list[Sent], bytearray, float]:
        """Return how far the first of some plots are sent with this frame, the frame, and its cost in s.

        Parameters
        ----------
        segment, era
            Of the loop.
        number
            Of the frame.
        plots
            What is wanted, and how far it has been sent.
        first
            Whether it goes before others that wait: the operator's.
        """
        wanted = [(c.plot, c.kind, c.channels, c.window, c.pixels) for c, _ in plots]
        words = {"number": number, "plots": wanted, "sent": [sent for _, sent in plots]}
        answer, body, cost = await self._ask(1 if first else 2, "frame", segment=segment, era=era, **words)
        return [(begin, origin) for begin, origin in answer["sent"]], body, cost

    async def _ask(self, rank: int, work: str, **words: object) -> tuple[dict[str, Any], bytearray, float]:
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (rank, next(self._number), future, work, words))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        answer: tuple[dict[str, Any], bytearray, float] = await future
        return answer

    async def _serve(self) -> None:
        turn = asyncio.get_running_loop()
        while self._waiting:
            _, _, future, work, words = heapq.heappop(self._waiting)
            if future.done():  # who asked has gone
                continue
            began = time.monotonic()
            try:
                answer, body = await turn.run_in_executor(self._thread, self._call, work, words)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is who asked that hears of it
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result((answer, body, time.monotonic() - began))

    def _call(self, work: str, words: dict[str, object]) -> tuple[dict[str, Any], bytearray]:
        patience = FIRST_REQUEST if self._worker.pid is None else self._policy.samples_patience
        return self._worker.call(
            f"{ROOM}:{work}", words, [ROOM], limit=self._policy.samples_processor, patience=patience
        )

    def close(self) -> None:
        """End the process."""
        self._worker.close()
        self._thread.shutdown(wait=False, cancel_futures=True)


MOVING = ("active", "retreat")
"""States in which the loop moves the rig."""
MOVES = [STATES.index(name) for name in MOVING]


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
        rows = min(HISTORY_SECONDS / self.period, HISTORY_BYTES / (4 * max(1, len(self.channels))))
        self.history = History(len(self.channels), max(1000, int(rows)), self.period)
        self.bars = Bars(self.channels)
        self.estimates = Estimates(self.channels, self.period)
        self._warning = next((i for i, c in enumerate(self.channels) if c.name == WARNING), None)
        self._warned = 0
        self._warnings: list[tuple[str, float]] = []
        self._run, self._begun, self._ticked = int(console.segment.header["run"][0]), -1, False
        self._estimated = -ESTIMATE_INTERVAL
        fresh = {*console.metadata.get("measured", ()), *console.metadata.get("commands", ())}
        self._stale = np.flatnonzero([c.name not in fresh for c in self.channels])

    def look(self) -> None:
        """Take in what the loop has written since the last look."""
        rows = self.console.rows(most=ROWS)
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
        if active and now >= self._estimated + ESTIMATE_INTERVAL:
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
    until, left = time.monotonic() + FRAME_SECONDS, FRAME_BYTES
    for (plot, kind, channels, window, pixels), before in zip(plots, sent, strict=True):
        if reached and (left <= 0 or time.monotonic() > until):
            break
        block, after = Curves(plot, kind, tuple(channels), window, pixels).new_block(
            history, (before[0], before[1])
        )
        reached.append(after)
        if block is not None:
            blocks.append(block)
            left -= block.columns.nbytes
    rows = [np.frombuffer(packed(number, blocks), np.uint8)] if blocks else []
    return {"sent": reached}, rows
