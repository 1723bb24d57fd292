"""What is going on, on stderr, for people at a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["at_work", "progress_bar"]

SOON = 0.5
"""Seconds after which a rate can be told."""


def progress_bar(quiet: bool) -> Callable[[int, int], None] | None:
    """Return a function that shows how much is done; None where nobody looks."""
    if quiet or not sys.stderr.isatty():
        return None

    pace = Pace()

    def show(done: int, whole: int) -> None:
        filled = 40 * done // max(whole, 1)
        end: Any = "\n" if done >= whole else ""
        print(
            f"\r\x1b[K[{'#' * filled}{'.' * (40 - filled)}] {100 * done // max(whole, 1):3d} %"
            f"{pace.words(done, whole, time.monotonic())}",
            end=end,
            file=sys.stderr,
            flush=True,
        )

    return show


class Pace:
    """How fast something goes, and how long it will take.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.words(100, 1000, 0.0), pace.words(400, 1000, 2.0), pace.words(1000, 1000, 6.0)
    ('', '  150/s, 4 s left', '  150/s')
    """

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None

    def words(self, done: int, whole: int, now: float) -> str:
        """Return rate and time left; nothing until they can be told.

        Parameters
        ----------
        done, whole
            How many are done, of how many. Those of the first call may have been done before.
        now
            In seconds.
        """
        if self._first is None:
            self._first = done, now
        before, began = self._first
        if done <= before or now - began < SOON:
            return ""
        rate = (done - before) / (now - began)
        pace = f"  {rate:,.0f}/s" if rate >= 10 else f"  {rate:.2g}/s"
        return pace if done >= whole else f"{pace}, {_span((whole - done) / rate)} left"


def _span(seconds: float) -> str:
    """Write a time.

    >>> _span(4.2), _span(400), _span(40_000)
    ('4 s', '6:40 min', '11:06 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02d} h"


@contextmanager
def at_work(words: str, quiet: bool) -> Iterator[None]:
    """Show what is being done while it is done, where somebody looks."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    print(f"\r\x1b[K{words} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
