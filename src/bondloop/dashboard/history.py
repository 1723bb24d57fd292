"""The last minutes of a loop, in the server's memory, and what a browser has not seen of them yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.dashboard.frames import PLANE, STRIP, Block, lowest_highest

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Curves", "History"]


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
    era
        Counted up when times change their meaning: browsers then begin anew.
    """

    def __init__(self, channels: int, rows: int, period: float) -> None:
        self.rows, self.period = rows, period
        self.first = self.end = self.origin = self.era = 0
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

    def begin(self, origin: int) -> None:
        """Count time from a sample on."""
        if origin != self.origin:
            self.origin = origin
            self.era += 1

    def time(self, number: int) -> float:
        """Return the time of a sample, in s."""
        return (number - self.origin) * self.period

    def read(self, begin: int, end: int, channels: Sequence[int]) -> NDArray[np.float32]:
        """Return samples from one number up to another, shape (samples, channels)."""
        rows = np.arange(begin, end) % self.rows
        return self._values[rows][:, channels] if len(channels) else np.empty((len(rows), 0), np.float32)


@dataclass
class Curves:
    """One plot of one browser, and how much of it has been sent.

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
    _next: int = field(default=-1, init=False)
    _era: int = field(default=-1, init=False)

    def news(self, history: History) -> Block | None:
        """Return what has come since the last time; None where that is nothing.

        Parameters
        ----------
        history
            Of the loop.
        """
        width = max(1, math.ceil(self.window / history.period / self.pixels))
        oldest = -(-max(history.first, history.end - math.ceil(self.window / history.period)) // width)
        restart = self._next < oldest or self._era != history.era
        begin, end = oldest if restart else self._next, history.end // width
        if end <= begin:
            return None
        self._next, self._era = end, history.era
        if self.kind == STRIP:
            columns = lowest_highest(history.read(begin * width, end * width, self.channels), width)
        else:
            rows = np.arange(begin, end) * width % history.rows
            columns = history._values[rows][:, self.channels].T
        first = history.time(begin * width)
        return Block(self.plot, self.kind, first, width * history.period, columns, restart)

    def describe(self) -> str:
        """Return it in words."""
        return f"{'plane' if self.kind == PLANE else 'strip'} {self.plot} of {len(self.channels)} channels"
