"""Ctrl-C during a test: noted, and acted upon when it is safe to."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interrupts(
    then: Callable[[], None] = lambda: None, bell: int = -1, further: list[int] | None = None
) -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of being ended by them; in the main thread, which alone gets them.

    Parameters
    ----------
    then
        Called at each of them, when the main thread gets round to it.
    bell
        File (that never blocks) into which the number of the signal is written as it comes, whatever the main
        thread is doing: for another thread that listens. -1: none.
    further
        Where all but the first are collected, if not with it: what an outer collector has, so that they are
        not lost to one who waits behind what the first has ended.
    """
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def heard(number: int, _: object) -> None:
        (further if asked and further is not None else asked).append(number)
        then()

    both = (signal.SIGINT, signal.SIGTERM)
    # The bell is there before the handlers and longer than they: what is noted is rung, too.
    other = signal.set_wakeup_fd(bell, warn_on_full_buffer=False) if bell >= 0 else -1
    before = [signal.signal(number, heard) for number in both]
    try:
        yield asked
    finally:
        for number, handler in zip(both, before, strict=True):
            signal.signal(number, handler)
        if bell >= 0:
            signal.set_wakeup_fd(other)
