"""Commands to the loop: start, stop, set a parameter, trip, reset.

The mailbox is a small ring in the telemetry segment that only the loop empties, a bounded number of commands
per tick. Writers take turns: threads by a lock, processes by a record lock on the segment; neither is waited
for longer than `PATIENCE`. Stopping is no command of the ring but a word of its own, which needs no lock.
"""

from __future__ import annotations

import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from bondloop.errors import InputError, unknown_name
from bondloop.program.ranges import Range
from bondloop.realtime.layout import MAIL_KEY, MAILS
from bondloop.realtime.shared import Segment, fence

if sys.platform != "win32":  # as in shared.py
    import fcntl

__all__ = ["Mailbox"]

PATIENCE = 1.0
"""Seconds to wait for other writers, and for room."""

_START, _SET, _TRIP, _RESET = 1, 3, 4, 5


class Mailbox:
    """The mailbox of a running loop.

    Parameters
    ----------
    segment
        The loop's telemetry segment, attached as writable.
    """

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self._lock = threading.Lock()
        self._parameters = {name: i for i, name in enumerate(segment.metadata["parameters"])}

    @classmethod
    def attach(cls, name: str) -> Mailbox:
        """Attach to the mailbox of a running loop."""
        return cls(Segment(name, writable=True))

    @property
    def parameters(self) -> list[str]:
        """Names of what `set` can change."""
        return list(self._parameters)

    def start(self) -> int:
        """Make the loop active."""
        return self._send(_START)

    def stop(self) -> None:
        """End the test: the command goes to its safe value, then the loop ends. It waits for nobody."""
        # Two at once may count as one: either stops.
        self.segment.header["stops"][0] += 1

    def set(self, parameter: str, value: float) -> int:
        """Change a parameter of the tick, within its range: a switch, a set point, a gain."""
        if parameter not in self._parameters:
            raise InputError(unknown_name("parameter", parameter, self._parameters))
        within = Range(**self.segment.metadata.get("ranges", {}).get(parameter, {}))
        return self._send(_SET, self._parameters[parameter], within.check(value, parameter))

    def trip(self, cause: int = 9) -> int:
        """Trip: bring the rig to its safe state, with a cause (9: the operator)."""
        return self._send(_TRIP, 0, float(cause))

    def reset(self) -> int:
        """Leave the safe state after a trip: the loop is inactive again, its tick as at the beginning."""
        return self._send(_RESET)

    def taken(self, number: int) -> bool:
        """Whether the loop has handled the command of this number."""
        return int(self.segment.header["mail_taken"][0]) >= number

    def _send(self, kind: int, index: int = 0, value: float = 0.0) -> int:
        """Put a command into the mailbox; return its number."""
        until = time.monotonic() + PATIENCE
        with self._turn(until):
            return self._put(kind, index, value, until)

    @contextmanager
    def _turn(self, until: float) -> Iterator[None]:
        if not self._lock.acquire(timeout=PATIENCE):
            raise InputError("the mailbox is in use by another thread, which does not let go of it")
        try:
            while True:
                try:
                    fcntl.lockf(self.segment._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise InputError(
                            f"another process keeps the mailbox of {self.segment.name} locked; end it. "
                            "Stopping the loop does not need the mailbox"
                        ) from None
                time.sleep(0.001)
            try:
                yield
            finally:
                fcntl.lockf(self.segment._file, fcntl.LOCK_UN)
        finally:
            self._lock.release()

    def _put(self, kind: int, index: int, value: float, until: float) -> int:
        header: Any = self.segment.header
        number = max(int(header["mail_given"][0]), int(header["mail_taken"][0])) + 1
        while number - int(header["mail_taken"][0]) > MAILS:
            if time.monotonic() > until:
                raise InputError(
                    f"the mailbox is full: {MAILS} commands wait and the loop takes none; is it still alive?"
                )
            time.sleep(0.001)
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        entry = header["mail"][0]
        at = (number - 1) % MAILS
        check = number ^ (kind | index << 32) ^ bits ^ MAIL_KEY
        fence()  # the loop is done with what lies there
        entry[at] = (number, kind, index, value, check)
        fence()
        header["mail_given"][0] = number
        return number

    def close(self) -> None:
        """Detach."""
        self.segment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
