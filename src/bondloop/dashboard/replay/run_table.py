"""The table of a run file, read piece by piece: a run of a day need not fit into the server's memory."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.dashboard.frames import PLANE, Block
from bondloop.dashboard.replay.run_events import Changes
from bondloop.errors import InputError
from bondloop.realtime.telemetry import ShownChannel
from bondloop.results.records import read_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.results.records import Record


PIECE = 65536
"""Samples of a piece: as many as a chunk of a finished run file has."""
KEPT = 1 << 27
"""Bytes of pieces that are held for each file."""
COARSE = 64
"""Sample periods of which the lowest and the highest value are held for the whole run."""
FINE = 4000 * COARSE
"""Samples up to which a stretch is read as it is; a pixel of a longer one is wider than `COARSE`."""
SOME = 1 << 20
"""Steps of time from which the period is taken: those of a long run are more than it needs."""


class RunTable:
    """All channels of one run file.

    It is gone through once. The lowest and highest value of every few samples stay in memory, and as many
    pieces of the channels as there is room for; the others are read again when somebody looks at them.

    Parameters
    ----------
    path
        Of the file.

    Attributes
    ----------
    head
        What the file says of the run, without its numbers.
    channels
        As they are shown.
    time
        Of all samples, in s.
    period
        From sample to sample, in s, but for holes where some were lost.
    changes
        Where states, causes and switches changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head: Record = read_run(path, rows=(0, 0))
        self.time: NDArray[np.float64] = read_run(path, []).time
        self.period = _period(self.time)
        self.channels = [
            ShownChannel(n, self.head.units[n], m.role.value, m.kind, m.quantity, m.interface, m.counterpart)
            for n, m in self.head.meanings.items()
        ]
        self.changes = Changes()
        self._pieces: OrderedDict[tuple[int, int], NDArray[np.float32]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        pieces = range(-(-len(self.time) // PIECE))
        # Of a hole nothing is held, however long it is.
        cells = [_once(self._cell(number * PIECE, (number + 1) * PIECE)) for number in pieces]
        self._cells = _once(np.concatenate([np.empty(0, np.int64), *cells]))
        shape = (len(self.channels), 2, len(self._cells))
        self._coarse = np.full(shape, np.nan, np.float32)
        for number in pieces:
            self._go_through(number)

    def __len__(self) -> int:
        return len(self.time)

    def _slot(self, first: int, last: int, since: int = 0) -> NDArray[np.int64]:
        """Return how many periods samples come after another one: not their number where some were lost."""
        slots: NDArray[np.int64] = np.rint((self.time[first:last] - self.time[since]) / self.period).astype(
            np.int64
        )
        return slots

    def _cell(self, first: int, last: int) -> NDArray[np.int64]:
        return self._slot(first, last) // COARSE

    def _go_through(self, number: int) -> None:
        part = self._read(number, None)
        begin = number * PIECE
        self.changes.look(part, begin)
        columns = [_shown(part[c.name]) for c in self.channels]
        if not columns:
            return
        cells = self._cell(begin, begin + PIECE)
        first, end = np.searchsorted(self._cells, [cells[0], cells[-1] + 1])
        values = np.stack(columns)
        here = _reduced(values, values, np.searchsorted(self._cells, cells) - first, int(end - first))
        held = self._coarse[:, :, first:end]  # the first of them may have begun in the piece before
        np.fmin(held[:, 0], here[:, 0], out=held[:, 0])
        np.fmax(held[:, 1], here[:, 1], out=held[:, 1])
        for i, column in enumerate(columns):
            if self._bytes + column.nbytes <= KEPT:
                self._keep((i, number), column)

    def _read(self, number: int, channels: list[str] | None) -> Record:
        """Return a piece of some channels; of a file that has become shorter meanwhile there is none."""
        rows = (number * PIECE, min((number + 1) * PIECE, len(self.time)))
        part = read_run(self.path, channels, rows=rows)
        if len(part) != rows[1] - rows[0]:
            raise InputError(f"{self.path.name} has changed since it was opened; look again")
        return part

    def _keep(self, key: tuple[int, int], column: NDArray[np.float32]) -> None:
        self._pieces[key] = column
        self._bytes += column.nbytes

    def read(self, numbers: Sequence[int], first: int, last: int) -> NDArray[np.float32]:
        """Return samples of some channels, shape (samples, channels).

        Parameters
        ----------
        numbers
            Of the channels.
        first, last
            Samples from the first to before the last.
        """
        with self._lock:
            values = np.empty((max(last - first, 0), len(numbers)), np.float32)
            for piece in range(first // PIECE, -(-last // PIECE)):
                begin = piece * PIECE
                some = slice(max(first, begin) - begin, min(last, begin + PIECE) - begin)
                into = slice(begin + some.start - first, begin + some.stop - first)
                for i, column in enumerate(self._piece(piece, numbers)):
                    values[into, i] = column[some]
            return values

    def _piece(self, piece: int, numbers: Sequence[int]) -> list[NDArray[np.float32]]:
        absent = [n for n in dict.fromkeys(numbers) if (n, piece) not in self._pieces]
        if absent:
            part = self._read(piece, [self.channels[n].name for n in absent])
            for n in absent:
                self._keep((n, piece), _shown(part[self.channels[n].name]))
        for n in numbers:
            self._pieces.move_to_end((n, piece))
        columns = [self._pieces[n, piece] for n in numbers]
        while self._bytes > KEPT and len(self._pieces) > 1:
            self._bytes -= self._pieces.popitem(last=False)[1].nbytes
        return columns

    def stretch(self, kind: int, numbers: Sequence[int], begin: float, end: float, pixels: int) -> Block:
        """Return channels from one time to another, thinned to so many pixels.

        Parameters
        ----------
        kind
            `STRIP` or `PLANE`.
        numbers
            Of the channels.
        begin, end
            In s.
        pixels
            Columns of the block at most; of a plane, points.
        """
        first, last = (int(np.searchsorted(self.time, t)) for t in (begin, end))
        if last == len(self.time) - 1:  # the run's last sample, which may be why it ended, is at its end
            last += 1
        if kind == PLANE:
            first = max(first, last - FINE)  # of a stretch that is too long the newest
        if first >= last:
            nothing = np.empty((len(numbers) * (1 if kind == PLANE else 2), 0), np.float32)
            return Block(0, kind, begin, self.period, nothing, restart=True)
        at, periods = float(self.time[first]), int(self._slot(last - 1, last, first)[0]) + 1
        if kind == PLANE:
            width = math.ceil((last - first) / pixels)
            columns = self.read(numbers, first, last)[::width].T
            return Block(0, kind, at, width * self.period, columns, restart=True)
        width = math.ceil(periods / pixels)
        if last - first <= FINE:
            low = high = self.read(numbers, first, last).T
            into = self._slot(first, last, first) // width
        else:
            width = -(-width // COARSE)
            cells = [int(self._cell(i, i + 1)[0]) for i in (first, last - 1)]
            some = slice(*np.searchsorted(self._cells, [cells[0], cells[1] + 1]).tolist())
            low, high = self._coarse[numbers, 0, some], self._coarse[numbers, 1, some]
            into = (self._cells[some] - cells[0]) // width
            at, width = float(self.time[0]) + cells[0] * COARSE * self.period, width * COARSE
        columns = _reduced(low, high, into, int(into[-1]) + 1).reshape(2 * len(numbers), -1)
        return Block(0, kind, at, width * self.period, columns, restart=True)


def _shown(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return values as they go to the browser; a rig may show anything: what is too large is infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _period(time: NDArray[np.float64]) -> float:
    """Return the time from sample to sample; holes, where samples were lost, do not count.

    >>> _period(np.array([0.0, 0.25, 0.5, 5.0, 5.25, 5.5]))
    0.25
    """
    at = np.arange(0, len(time) - 1, -(-len(time) // SOME) or 1)
    steps = time[at + 1] - time[at]
    return float(steps[steps <= 1.5 * np.median(steps)].mean()) if len(steps) else 1.0


def _once(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers that do not fall, each once."""
    return numbers[np.diff(numbers, prepend=-1) > 0]


def _reduced(
    low: NDArray[np.float32], high: NDArray[np.float32], into: NDArray[np.int64], count: int
) -> NDArray[np.float32]:
    """Return the lowest and the highest value of each column, shape (channels, 2, count).

    Parameters
    ----------
    low, high
        Shape (channels, samples).
    into
        Column of each sample, not falling. A column without any is NaN: a gap in the curve.
    count
        Columns.
    """
    both = np.full((len(low), 2, count), np.nan, np.float32)
    begins = np.flatnonzero(np.diff(into, prepend=-1))
    both[:, 0, into[begins]] = np.fmin.reduceat(low, begins, axis=1)
    both[:, 1, into[begins]] = np.fmax.reduceat(high, begins, axis=1)
    return both
