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
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.dashboard.frames import Block, Curves, History, packed, plain
from bondloop.errors import InputError
from bondloop.readers import Worker
from bondloop.realtime import STATES, Console, Segment
from bondloop.results.assess import delay, normalised_rms_error, peak_amplitude_error
from bondloop.safety import LIMITS, WARNING, limit_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.dashboard.frames import Sent
    from bondloop.realtime import ShownChannel


OVERFLOWING = 1e9
"""From here on a channel's bound is no limit that somebody stated: it tells numbers that have overflowed."""


@dataclass
class _Bar:
    """One quantity that is limited: a channel's magnitude, or that of a difference of two."""

    title: str
    word: str
    unit: str
    channel: int
    less: int | None
    bound: float | None = None
    limit: float | None = None
    now: float = 0.0
    most: float = 0.0


class Bars:
    """Stroke, velocity, force, command, tracking and power of every interface against their limits.

    Parameters
    ----------
    channels
        Of the telemetry.

    Examples
    --------
    >>> from bondloop.realtime.snapshot import ShownChannel
    >>> bars = Bars([ShownChannel("f", "N", "measured", "effort", "force", 0)])
    >>> bars.limit({"force": 10.0})  # the interlock's; a tighter bound of the channel itself counts more
    >>> bars.take(np.array([[-4.0], [2.0]]))
    >>> [(bar["title"], bar["now"], bar["most"], bar["limit"]) for bar in bars.describe()]
    [('force', 4.0, 4.0, 10.0)]
    """

    def __init__(self, channels: Sequence[ShownChannel]) -> None:
        self._at = {(c.role, c.kind, c.interface): i for i, c in reversed(list(enumerate(channels)))}
        self._channels = channels
        interfaces = sorted({c.interface for c in channels if c.interface is not None})
        self._bars: list[_Bar] = []
        self.loops: list[dict[str, int]] = []
        for i in interfaces:
            mark = f" {i + 1}" if len(interfaces) > 1 else ""
            self._add_interface(i, mark)

    def _add_interface(self, i: int, mark: str) -> None:
        sensed = {
            kind: self._find(("measured", kind, i), ("actual", kind, i))
            for kind in ("displacement", "flow", "effort")
        }
        for title, word, kind in (
            ("stroke", "displacement", "displacement"),
            ("velocity", "velocity", "flow"),
            ("force", "force", "effort"),
        ):
            self._add(title + mark, word, sensed[kind])
        self._add(f"command{mark}", "command", self._find(("command", "", i), ("command", "displacement", i)))
        wanted = self._at.get(("desired", "displacement", i))
        if wanted is not None and sensed["displacement"] is not None:
            self._add(f"tracking{mark}", "tracking error", wanted, sensed["displacement"])
        self._add(f"power{mark}", "power", self._at.get(("safety", "power", i)))
        place, force = sensed["displacement"], sensed["effort"]
        if place is not None and force is not None:
            self.loops.append({"interface": i, "displacement": place, "force": force})

    def _find(self, *wanted: tuple[str, str, int]) -> int | None:
        return next((self._at[w] for w in wanted if w in self._at), None)

    def _add(self, title: str, word: str, channel: int | None, less: int | None = None) -> None:
        if channel is not None:
            bound = None if less is not None else self._bound(channel)
            self._bars.append(_Bar(title, word, self._channels[channel].unit, channel, less, bound))

    def _bound(self, channel: int) -> float | None:
        """Return the executive's own bound of a quantity: on this channel, or on another that shows it."""
        c = self._channels[channel]
        roles = ("measured", "actual") if c.role in ("measured", "actual") else (c.role,)
        same = [
            x for x in self._channels if (x.kind, x.interface) == (c.kind, c.interface) and x.role in roles
        ]
        bounds = [x.limit for x in same if x.limit is not None and x.limit < OVERFLOWING]
        return min(bounds, default=None)

    def take(self, rows: NDArray[np.float64], counts: NDArray[np.bool_] | None = None) -> None:
        """Take in samples of all channels.

        Parameters
        ----------
        rows
            Shape (samples, channels); NaN where nothing is known.
        counts
            Which of them are of the run, so that how near they were is kept; all unless given.
        """
        if not len(rows):
            return
        for bar in self._bars:
            with np.errstate(invalid="ignore", over="ignore"):
                values = (
                    rows[:, bar.channel] if bar.less is None else rows[:, bar.channel] - rows[:, bar.less]
                )
            size = np.abs(values)
            bar.now = float(np.fmax.reduce(size))
            bar.most = float(np.fmax.reduce(size if counts is None else size[counts], initial=bar.most))

    def limit(self, limits: Mapping[str, float]) -> None:
        """Say where the limits are, by the name that `bondloop.safety.causes.limit_name` has for them."""
        for bar in self._bars:
            known = [x for x in (limits.get(bar.word), bar.bound) if x is not None]
            bar.limit = min(known, default=None)

    def forget(self) -> None:
        """Begin anew: another run."""
        for bar in self._bars:
            bar.now = bar.most = 0.0

    def describe(self) -> list[dict[str, str | float | None]]:
        """Return them as they go to the browser: in `now` the largest since the last look, NaN if unknown."""
        return [
            {"title": b.title, "unit": b.unit, "now": b.now, "most": b.most, "limit": b.limit}
            for b in self._bars
        ]


SECONDS = 4.0
"""Of the motion that an estimate looks back on."""
SAMPLES = 4000
"""Most samples for it: more are thinned out first."""


def pairs_of(channels: Sequence[ShownChannel]) -> list[dict[str, int]]:
    """Return desired and actual displacement of every interface, by the numbers of the channels.

    Parameters
    ----------
    channels
        Of the telemetry or of a record.
    """
    at = {(c.role, c.kind, c.interface): i for i, c in reversed(list(enumerate(channels)))}
    pairs = []
    for interface in sorted({c.interface for c in channels if c.interface is not None}):
        wanted = at.get(("desired", "displacement", interface))
        seen = at.get(("actual", "displacement", interface), at.get(("measured", "displacement", interface)))
        if wanted is not None and seen is not None:
            pairs.append({"interface": interface, "desired": wanted, "actual": seen})
    return pairs


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
        begin = max(history.first, first, history.end - round(SECONDS / self._period))
        stride = max(1, (history.end - begin) // SAMPLES)
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


NICE = 10
"""By how much the loop and the server go first."""
MEMORY = 2 << 30
"""Address space of the process."""
PROCESSOR = 5
"""Seconds of the processor that a request may take: each does a small part of what a browser asks for."""
PATIENCE = 5.0
"""Seconds by the clock beyond these, after which the process is killed; the next request starts another."""
STARTING = 120.0
"""The same for its first request, for which it imports: on a busy machine it is the last in turn."""
ROOM = "bondloop.dashboard.samples"


class Telemetry:
    """Asks the process for gauges and frames, one at a time: gauges first, then the operator's frames."""

    def __init__(self) -> None:
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
        patience = STARTING if self._worker.pid is None else PATIENCE
        return self._worker.call(f"{ROOM}:{work}", words, [ROOM], limit=PROCESSOR, patience=patience)

    def close(self) -> None:
        """End the process."""
        self._worker.close()
        self._thread.shutdown(wait=False, cancel_futures=True)


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
