"""What is going on, on stderr, for people at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["at_work", "progress_bar"]


def progress_bar(quiet: bool) -> Callable[[int, int], None] | None:
    """Return a function that shows how much is done; None where nobody looks."""
    if quiet or not sys.stderr.isatty():
        return None

    def show(done: int, whole: int) -> None:
        filled = 40 * done // max(whole, 1)
        end: Any = "\n" if done >= whole else ""
        print(
            f"\r[{'#' * filled}{'.' * (40 - filled)}] {100 * done // max(whole, 1):3d} %",
            end=end,
            file=sys.stderr,
            flush=True,
        )

    return show


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
