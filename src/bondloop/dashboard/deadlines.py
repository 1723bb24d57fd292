"""Deadlines that the loop has missed, told in the log when it happens, not more often than can be read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Deadlines"]

PAUSE, LONGEST = 1.0, 10.0
"""Seconds between lines at least; while it goes on twice as many each time, up to so many."""


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
    _next: float = float("-inf")
    _pause: float = PAUSE

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
        self._pause = PAUSE if now > self._next + LONGEST else min(2 * self._pause, LONGEST)
        self.missed, self.late, self._next = missed, late, now + self._pause
        return ", ".join(words)
