"""The last minutes of a loop, in memory, and what a browser has not seen of them yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.dashboard.frames import STRIP, Block, lowest_highest

if TYPE_CHECKING:
    from numpy.typing import NDArray


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

    def news(self, history: History, sent: Sent = NOTHING) -> tuple[Block | None, Sent]:
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
