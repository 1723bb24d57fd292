"""Binary frames: blocks of float32 columns on even time grids, and how they are thinned to pixels.

A frame is little-endian: 16 bytes (``"BLF1"``, number, blocks, 0), then each block: 32 bytes (plot u16, kind
u8, flags u8, columns u32, rows u32, 0, first time f64, step f64) and its columns, one after the other, padded
to 8 bytes. A *strip* (kind 0) has two columns a channel, the lowest and the highest value in each stretch of
time; a *plane* (kind 1) has samples as they are. Flag 1: forget what came before.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.realtime import ShownChannel


Sent = tuple[int, int]
"""How far a plot has been sent: number of its next stretch, and the origin of the times that it shows."""
NOTHING: Sent = (-1, 0)
"""Sent of a plot that is new."""


class History:
    """The newest samples of all channels, by their number since the loop began.

    Parameters
    ----------
    channels
        How many.
    rows
        How many samples are kept.
    period
        Seconds from sample to sample.

    Attributes
    ----------
    first, end
        Number of the oldest sample that is kept, and of the next that will come.
    origin
        Number of the sample at which the test's time is zero.
    """

    def __init__(self, channels: int, rows: int, period: float) -> None:
        self.rows, self.period = rows, period
        self.first = self.end = self.origin = 0
        self._values = np.full((rows, channels), np.nan, np.float32)

    def add(self, numbers: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Add samples, oldest first; numbers that are missing among them become gaps.

        Parameters
        ----------
        numbers
            Of the samples, increasing.
        values
            Shape (samples, channels).
        """
        if not len(numbers):
            return
        if not self.end:
            self.first = self.end = int(numbers[0])
        end = int(numbers[-1]) + 1
        keep = numbers >= max(self.end, end - self.rows)
        numbers, values = numbers[keep], values[keep]
        if end - self.end != len(numbers):
            hole = np.arange(max(self.end, end - self.rows), end)
            self._values[hole % self.rows] = np.nan
        with np.errstate(over="ignore"):  # a rig may show anything
            self._values[numbers % self.rows] = values
        self.end = end
        self.first = max(self.first, end - self.rows)

    def time(self, number: int) -> float:
        """Return the time of a sample, in s."""
        return (number - self.origin) * self.period

    def read(self, begin: int, end: int, channels: Sequence[int]) -> NDArray[np.float32]:
        """Return samples from one number up to another, shape (samples, channels)."""
        first, last = begin % self.rows, begin % self.rows + end - begin
        parts = [self._values[first:last][:, channels], self._values[: max(0, last - self.rows)][:, channels]]
        return np.concatenate(parts) if last > self.rows else parts[0]

    def every(self, begin: int, end: int, width: int, channels: Sequence[int]) -> NDArray[np.float32]:
        """Return each `width`-th sample, as they are, shape (channels, samples)."""
        rows = np.arange(begin, end, width) % self.rows
        samples: NDArray[np.float32] = self._values[np.ix_(rows, np.asarray(channels, int))].T
        return samples


@dataclass(frozen=True)
class Curves:
    """One plot of one browser.

    Parameters
    ----------
    plot
        Number that the browser gave it.
    kind
        `STRIP` or `PLANE`.
    channels
        Which.
    window
        Seconds that it shows.
    pixels
        Across; of a plane: points.
    """

    plot: int
    kind: int
    channels: tuple[int, ...]
    window: float
    pixels: int

    def new_block(self, history: History, sent: Sent = NOTHING) -> tuple[Block | None, Sent]:
        """Return what has come since the last time, None where that is nothing, and how far that reaches.

        Parameters
        ----------
        history
            Of the loop.
        sent
            How far it has been sent, as the last call returned it.
        """
        width = max(1, math.ceil(self.window / history.period / self.pixels))
        oldest = -(-max(history.first, history.end - math.ceil(self.window / history.period)) // width)
        restart = sent[0] < oldest or sent[1] != history.origin
        begin, end = oldest if restart else sent[0], history.end // width
        if end <= begin:
            return None, sent
        if self.kind == STRIP:
            columns = lowest_highest(history.read(begin * width, end * width, self.channels), width)
        else:
            columns = history.every(begin * width, end * width, width, self.channels)
        first = history.time(begin * width)
        block = Block(self.plot, self.kind, first, width * history.period, columns, restart)
        return block, (end, history.origin)


STRIP, PLANE = 0, 1
"""Kinds of blocks."""

MAGIC = b"BLF1"
_HEAD = struct.Struct("<4sIII")
_BLOCK = struct.Struct("<HBBIIIdd")


@dataclass(frozen=True, eq=False)
class Block:
    """New columns of one plot.

    Attributes
    ----------
    plot
        Its number, as the browser gave it.
    kind
        `STRIP` or `PLANE`.
    first, step
        Time of the first row, and from row to row, in s.
    columns
        float32, shape (columns, rows).
    restart
        Whether what came before is to be forgotten.
    """

    plot: int
    kind: int
    first: float
    step: float
    columns: NDArray[np.float32]
    restart: bool = False


def packed(number: int, blocks: Sequence[Block]) -> bytes:
    """Return a frame.

    Parameters
    ----------
    number
        Of the frame; the browser says it when it has drawn it.
    blocks
        What is new.

    Examples
    --------
    >>> block = Block(3, STRIP, 0.5, 0.01, np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    >>> number, (back,) = unpacked(packed(7, [block]))
    >>> number, back.plot, back.first, back.columns.tolist()
    (7, 3, 0.5, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    """
    parts = [_HEAD.pack(MAGIC, number & 0xFFFFFFFF, len(blocks), 0)]
    for b in blocks:
        columns, rows = b.columns.shape
        parts.append(_BLOCK.pack(b.plot, b.kind, int(b.restart), columns, rows, 0, b.first, b.step))
        data = np.ascontiguousarray(b.columns, "<f4").tobytes()
        parts += (data, b"\0" * (-len(data) % 8))
    return b"".join(parts)


def unpacked(frame: bytes) -> tuple[int, list[Block]]:
    """Return number and blocks of a frame; the mirror of `packed`, for tests and programs.

    Parameters
    ----------
    frame
        As it was sent.
    """
    magic, number, count, _ = _HEAD.unpack_from(frame)
    if magic != MAGIC:
        raise ValueError(f"no frame: it begins with {magic!r}")
    at, blocks = _HEAD.size, []
    for _ in range(count):
        plot, kind, flags, columns, rows, _, first, step = _BLOCK.unpack_from(frame, at)
        at += _BLOCK.size
        values = np.frombuffer(frame, "<f4", columns * rows, at).reshape(columns, rows)
        at += -(-values.nbytes // 8) * 8
        blocks.append(Block(plot, kind, first, step, values, bool(flags & 1)))
    return number, blocks


def lowest_highest(values: NDArray[np.float32], width: int) -> NDArray[np.float32]:
    """Return the lowest and the highest value in each stretch of `width` rows, channel by channel.

    No peak is lost, however narrow. A stretch is NaN only where all of it is; rows that do not fill a stretch
    are left out.

    Parameters
    ----------
    values
        Shape (rows, channels).
    width
        Rows of a stretch.

    Returns
    -------
    numpy.ndarray
        Shape (2 channels, stretches): lowest and highest of the first channel, of the second...

    Examples
    --------
    >>> lowest_highest(np.array([[1], [9], [2], [3], [5]], np.float32), 2).tolist()
    [[1.0, 2.0], [9.0, 3.0]]
    """
    count, channels = len(values) // width, values.shape[1]
    rows = values[: count * width].reshape(count, width, channels)
    both = np.empty((channels, 2, count), np.float32)
    both[:, 0] = np.fmin.reduce(rows, axis=1).T if count else 0
    both[:, 1] = np.fmax.reduce(rows, axis=1).T if count else 0
    return both.reshape(2 * channels, count)


def plain(value: object) -> Any:
    """Return a value with None for every number that is not finite; NumPy's numbers become Python's.

    Parameters
    ----------
    value
        Number, text, list or dictionary of such.

    Examples
    --------
    >>> plain({"a": float("nan"), "b": [1, float("inf"), "x"]})
    {'a': None, 'b': [1, None, 'x']}
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if value is None or isinstance(value, str | bool):
        return value
    number = value.item() if hasattr(value, "item") else value
    return number if not isinstance(number, float) or math.isfinite(number) else None


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
    overflowing
        From here on a bound of a channel is no limit that somebody stated: it tells numbers that overflow.

    Examples
    --------
    >>> from bondloop.realtime.snapshot import ShownChannel
    >>> bars = Bars([ShownChannel("f", "N", "measured", "effort", "force", 0)])
    >>> bars.limit({"force": 10.0})  # the interlock's; a tighter bound of the channel itself counts more
    >>> bars.take(np.array([[-4.0], [2.0]]))
    >>> [(bar["title"], bar["now"], bar["most"], bar["limit"]) for bar in bars.describe()]
    [('force', 4.0, 4.0, 10.0)]
    """

    def __init__(self, channels: Sequence[ShownChannel], overflowing: float = 1e9) -> None:
        self._overflowing = overflowing
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
        bounds = [x.limit for x in same if x.limit is not None and x.limit < self._overflowing]
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
