"""Commands to the loop: start, stop, set a parameter, trip, reset.

The mailbox is a small ring in the telemetry segment that only the loop empties, a bounded number of commands
per tick. Writers take turns: threads by a lock, processes by a record lock on the segment.
"""

from __future__ import annotations

import struct
import sys
import threading
import time
from typing import Any, Self

from bondloop.errors import InputError, unknown_name
from bondloop.program.ranges import Range
from bondloop.realtime.layout import MAIL_KEY, MAILS
from bondloop.realtime.shared import Segment

if sys.platform != "win32":  # as in shared.py
    import fcntl

__all__ = ["Mailbox"]

_KINDS = {"start": 1, "stop": 2, "set": 3, "trip": 4, "reset": 5, "stall": 6}


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
        return self._send("start")

    def stop(self) -> int:
        """End the test: the command goes to its safe value, then the loop ends."""
        return self._send("stop")

    def set(self, parameter: str, value: float) -> int:
        """Change a parameter of the tick, within its range: a switch, a set point, a gain."""
        if parameter not in self._parameters:
            raise InputError(unknown_name("parameter", parameter, self._parameters))
        within = Range(**self.segment.metadata.get("ranges", {}).get(parameter, {}))
        return self._send("set", self._parameters[parameter], within.check(value, parameter))

    def trip(self, cause: int = 9) -> int:
        """Trip: bring the rig to its safe state, with a cause (9: the operator)."""
        return self._send("trip", 0, float(cause))

    def reset(self) -> int:
        """Leave the safe state after a trip: the loop is inactive again, its tick as at the beginning."""
        return self._send("reset")

    def stall(self, seconds: float) -> int:
        """Keep one cycle busy for so long: to see what an overrun does, never during a test that matters."""
        return self._send("stall", 0, seconds)

    def taken(self, number: int) -> bool:
        """Whether the loop has handled the command of this number."""
        return int(self.segment.header["mail_taken"][0]) >= number

    def _send(self, kind: str, index: int = 0, value: float = 0.0) -> int:
        """Put a command into the mailbox; return its number."""
        with self._lock:
            fcntl.lockf(self.segment._file, fcntl.LOCK_EX)
            try:
                return self._put(_KINDS[kind], index, value)
            finally:
                fcntl.lockf(self.segment._file, fcntl.LOCK_UN)

    def _put(self, kind: int, index: int, value: float) -> int:
        header: Any = self.segment.header
        number = int(header["mail_given"][0]) + 1
        until = time.monotonic() + 1.0
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
        entry[at] = (number, kind, index, value, check)
        header["mail_given"][0] = number
        return number

    def close(self) -> None:
        """Detach."""
        self.segment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
