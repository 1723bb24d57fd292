"""Something that accompanies a running loop in a thread of its own."""

from __future__ import annotations

import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.realtime.process import LoopProcess


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


def silence(heartbeat_ns: int, period_ns: int, now_ns: int, limit: float = 1.0) -> float:
    """Return for how many seconds a loop, or a server, has not answered; 0 while it does, or has not begun.

    Parameters
    ----------
    heartbeat_ns
        When its last cycle began; 0: there was none yet.
    period_ns
        Of its cycles.
    now_ns
        By the same clock.
    limit
        Seconds without a cycle, beyond two periods, after which it does not answer.

    Examples
    --------
    >>> silence(10**9, 10**6, 15 * 10**8), silence(10**9, 10**6, 4 * 10**9), silence(0, 10**6, 4 * 10**9)
    (0.0, 3.0, 0.0)
    """
    seconds = 1e-9 * (now_ns - heartbeat_ns)
    return seconds if heartbeat_ns and seconds > limit + 2e-9 * period_ns else 0.0


def silence_words(seconds: float) -> str:
    """Say that a loop does not answer, and what to do; nothing where it does.

    >>> silence_words(0.0)
    ''
    """
    if not seconds:
        return ""
    return (
        f"THE LOOP DOES NOT ANSWER ({seconds:.0f} s): only the rig's own watchdog has the rig now; use the "
        "emergency stop. Ctrl-C twice ends the loop"
    )


_END = 0
"""On the bell: no signal has this number."""


class _Stoppable(Protocol):
    @property
    def silence(self) -> float: ...

    def stop(self) -> None: ...

    def send(self, number: int) -> None: ...


class Attendant:
    """Beats the heartbeat of a loop, and stops it when its bell rings.

    The first SIGINT or SIGTERM stops the test, without a trip; any further one trips, and kills a loop that
    does not answer: its signals wait for ever, and the rig's own watchdog has the rig already.

    Parameters
    ----------
    loop
        The loop's process.
    header
        Of its telemetry segment.
    period
        Seconds between beats.

    Attributes
    ----------
    bell
        File for `bondloop.realtime.supervision.interrupts`: numbers of signals are written into it.
    """

    def __init__(self, loop: _Stoppable, header: NDArray[np.void], period: float) -> None:
        self._loop, self._header, self._period = loop, header, period
        self._ears, self._rope = socket.socketpair()
        self._rope.setblocking(False)
        self.bell = self._rope.fileno()
        self._thread = threading.Thread(target=self._attend, name="operator and heartbeat", daemon=True)
        self._thread.start()

    def _attend(self) -> None:
        waiting = select.poll()
        waiting.register(self._ears, select.POLLIN)
        called = False
        while True:
            self._header["supervisor_ns"][0] = time.monotonic_ns()
            if waiting.poll(1000 * self._period):
                for number in self._ears.recv(64):
                    if number == _END:
                        return
                    if number in (signal.SIGINT, signal.SIGTERM):
                        if called:
                            self._loop.send(signal.SIGKILL if self._loop.silence else signal.SIGTERM)
                        else:
                            self._loop.stop()
                        called = True

    def close(self) -> None:
        """End the thread; the heart stands still."""
        if self._thread.is_alive():
            self._rope.send(bytes([_END]))
            self._thread.join()
        self._ears.close()
        self._rope.close()


class LoopCompanion(threading.Thread):
    """Calls a function with the name of a loop's telemetry; when it returns or fails, the loop is stopped.

    Parameters
    ----------
    function
        What is called. It has to return by itself when the loop has ended.
    loop
        The loop.
    """

    def __init__(self, function: Callable[[str], None], loop: LoopProcess) -> None:
        super().__init__(name="bondloop-companion", daemon=True)
        self._function, self._loop = function, loop
        self._error: BaseException | None = None

    def run(self) -> None:
        """Call the function, then stop the loop."""
        try:
            self._function(self._loop.name)
        except BaseException as error:  # noqa: BLE001 - raised again where the loop is waited for
            self._error = error
        finally:
            if self._loop.running:
                self._loop.stop()

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, and raise what it has failed with."""
        if self.ident is None:  # the loop ended before it was started
            return
        super().join(timeout)
        if self._error is not None:
            error, self._error = self._error, None
            raise error
