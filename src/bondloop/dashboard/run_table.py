"""The table of a run file, read piece by piece: a run of a day need not fit into the server's memory."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.dashboard.frames import PLANE, Block, lowest_highest
from bondloop.dashboard.run_events import Changes
from bondloop.errors import InputError
from bondloop.realtime.snapshot import ShownChannel
from bondloop.records.hdf5 import read_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.records import Record

__all__ = ["RunTable"]

PIECE = 65536
"""Samples of a piece: as many as a chunk of a finished run file has."""
KEPT = 1 << 27
"""Bytes of pieces that are held for each file."""
COARSE = 64
"""Samples of which the lowest and the highest value are held for the whole run."""
FINE = 4000 * COARSE
"""Samples up to which a stretch is read as it is; a pixel of a longer one is wider than `COARSE`."""


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
    changes
        Where states, causes and switches changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head: Record = read_run(path, rows=(0, 0))
        self.time: NDArray[np.float64] = read_run(path, []).time
        self.channels = [
            ShownChannel(n, self.head.units[n], m.role.value, m.kind, m.quantity, m.interface, m.counterpart)
            for n, m in self.head.meanings.items()
        ]
        self.changes = Changes()
        self._pieces: OrderedDict[tuple[int, int], NDArray[np.float32]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        shape = (2 * len(self.channels), -(-len(self.time) // COARSE))
        self._coarse = np.full(shape, np.nan, np.float32)
        for number in range(-(-len(self.time) // PIECE)):
            self._go_through(number)

    def __len__(self) -> int:
        return len(self.time)

    def _go_through(self, number: int) -> None:
        part = self._read(number, None)
        begin = number * PIECE
        self.changes.look(part, begin)
        columns = [_shown(part[c.name]) for c in self.channels]
        if not columns:
            return
        low_high = lowest_highest(_filled(np.stack(columns, axis=1), COARSE), COARSE)
        at = begin // COARSE
        self._coarse[:, at : at + low_high.shape[1]] = low_high
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
        width = max(1, math.ceil((last - first) / pixels))
        at = float(self.time[first]) if first < len(self.time) else begin
        period = float(self.time[-1] - self.time[0]) / max(1, len(self.time) - 1) if len(self.time) else 1.0
        if kind == PLANE:
            columns = self.read(numbers, first, last)[::width].T
        elif last - first <= FINE:
            columns = lowest_highest(_filled(self.read(numbers, first, last), width), width)
        else:
            width = -(-width // COARSE)
            wanted = [row for n in numbers for row in (2 * n, 2 * n + 1)]
            held = self._coarse[wanted, first // COARSE : -(-last // COARSE)]
            both = lowest_highest(_filled(held.T, width), width)
            columns = both.reshape(len(numbers), 2, 2, -1)[:, [0, 1], [0, 1]].reshape(2 * len(numbers), -1)
            at, width = float(self.time[first // COARSE * COARSE]), width * COARSE
        return Block(0, kind, at, width * period, columns, restart=True)


def _shown(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return values as they go to the browser; a rig may show anything: what is too large is infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _filled(values: NDArray[np.float32], width: int) -> NDArray[np.float32]:
    """Return values with rows of NaN behind them, so that they fill stretches of `width` rows."""
    rest = -len(values) % width
    return np.concatenate([values, np.full((rest, values.shape[1]), np.nan, np.float32)]) if rest else values
