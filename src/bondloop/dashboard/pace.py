"""How fast a browser may talk."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Allowance"]


class Allowance:
    """A bucket of tokens: so many messages a second on average, and a burst of them at once.

    Parameters
    ----------
    rate
        Messages a second.
    burst
        Messages at once.
    clock
        Seconds that only increase.

    Examples
    --------
    >>> now = [0.0]
    >>> allowance = Allowance(10.0, 2, lambda: now[0])
    >>> [allowance.take() for _ in range(3)]
    [True, True, False]
    >>> now[0] = 0.1
    >>> allowance.take()
    True
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left, self._at = float(burst), clock()

    def take(self) -> bool:
        """Whether one more message is allowed now."""
        now = self._clock()
        self._left = min(self._burst, self._left + self._rate * (now - self._at))
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
