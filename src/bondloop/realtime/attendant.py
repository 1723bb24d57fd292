"""One thread that serves the operator and beats the loop's heartbeat.

Both in one, so that a loop cannot be kept alive by a program that no longer hears its operator. It waits for
nothing but its bell, which the kernel rings for Ctrl-C whatever the main thread is doing, and for the time of
the next beat; recorders, live lines, locks and files are other threads' business.
"""

from __future__ import annotations

import select
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
        File for `bondloop.realtime.interruption.interrupts`: numbers of signals are written into it.
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
