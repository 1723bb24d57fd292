"""Commands to the loop: arm, start, set a parameter, reset; and trip, retreat, stop, which need no mailbox.

The mailbox is a small ring in the telemetry segment that only the loop empties, a bounded number of commands
per tick. Writers take turns: threads that share a mailbox by a lock, mailboxes, of one process too, by a
record lock on the segment; neither is waited for longer than a second. What brings the rig to rest is
no command of the ring: see `bondloop.realtime.stop_requests`.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import Range, number
from bondloop.errors import InputError, unknown_name
from bondloop.realtime.protocol import BATCH, EVENT_KINDS, MAIL, MAIL_KEY, MAILS
from bondloop.realtime.segment import Segment, fence
from bondloop.realtime.stop_requests import Request, counts, name_bytes, request

if TYPE_CHECKING:
    from numpy.typing import NDArray

try:
    import fcntl
except ImportError:  # as in segment.py
    fcntl = None  # type: ignore[assignment]


_KINDS = {word: number for number, word in EVENT_KINDS.items()}


class Mailbox:
    """The mailbox of a running loop.

    Parameters
    ----------
    segment
        The loop's telemetry segment, attached as writable.
    patience
        How long to wait for other writers, and for room.
    """

    __repr__ = brief

    def __init__(self, segment: Segment, patience: float | str = 1.0) -> None:
        self.segment, self._patience = segment, number(patience, "Mailbox(patience)", "s")
        self._lock = threading.Lock()
        self._parameters = {name: i for i, name in enumerate(segment.metadata["parameters"])}

    @classmethod
    def attach(cls, name: str) -> Mailbox:
        """Attach to the mailbox of the running loop whose telemetry has this ``name``."""
        return cls(Segment(name, writable=True))

    @property
    def parameters(self) -> list[str]:
        """Names of what `set` can change."""
        return list(self._parameters)

    def arm(self, who: str = "") -> int:
        """Let the next start be obeyed, where the loop asks for that.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        return self._send(_KINDS["arm"], who=who)

    def start(self, who: str = "") -> int:
        """Make the loop active.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        return self._send(_KINDS["start"], who=who)

    def stop(self, who: str = "") -> int:
        """End the test: the command goes to its safe value, then the loop ends. It waits for nobody.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        return request(self.segment.file, "stop", who)

    def set(self, parameter: str, value: float, who: str = "") -> int:
        """Change a parameter of the tick, within its range: a switch, a set point, a gain.

        Parameters
        ----------
        parameter
            Its name; an unknown one is refused.
        value
            In its unit; one out of range is refused.
        who
            For the log; at most 32 bytes of it are kept.
        """
        return self.set_all({parameter: value}, who)

    def set_all(self, values: Mapping[str, float], who: str = "") -> int:
        """Change parameters, all of them in one tick or none; return the number of the last.

        Parameters
        ----------
        values
            By name; at most 16.
        who
            For the log; at most 32 bytes of it are kept.
        """
        if not 1 <= len(values) <= BATCH:
            raise InputError(f"set: expected from 1 to {BATCH} parameters at once; found {len(values)}")
        mails = []
        for parameter, value in values.items():
            if parameter not in self._parameters:
                raise InputError(unknown_name("parameter", parameter, self._parameters))
            index = self._parameters[parameter]
            within = Range(**self.segment.metadata.get("ranges", {}).get(parameter, {}))
            about = self.segment.metadata["about_parameters"][index]
            allowed = within & Range(least=about.get("least"), most=about.get("most"))
            mails.append((_KINDS["set"], index, allowed.check(value, parameter)))
        return self._send_all(mails, who)

    def trip(self, cause: int = 9, who: str = "") -> int:
        """Trip: bring the rig to its safe state, with a cause (9: the operator). It waits for nobody.

        Parameters
        ----------
        cause
            Number of a `Cause`.
        who
            For the log; at most 32 bytes of it are kept.
        """
        return request(self.segment.file, "trip", who, cause)

    def retreat(self, who: str = "") -> int:
        """Bring the rig to its safe state, to stay there until reset or stopped, without a trip.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        return request(self.segment.file, "retreat", who)

    def requests(self, kind: Request) -> tuple[int, int]:
        """Return how many trips, retreats or stops were given, and how many of them the loop has heard.

        Parameters
        ----------
        kind
            Which of them.
        """
        return counts(self.segment.file, kind)

    def reset(self, who: str = "") -> int:
        """Leave the safe state: the loop is inactive again, tick and parameters as at the beginning.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        return self._send(_KINDS["reset"], who=who)

    def taken(self, number: int) -> bool:
        """Whether the loop has handled the command of this number."""
        return int(self.segment.header["mail_taken"][0]) >= number

    def _send(self, kind: int, index: int = 0, value: float = 0.0, who: str = "") -> int:
        """Put a command into the mailbox; return its number."""
        return self._send_all([(kind, index, value)], who)

    def _send_all(self, mails: Sequence[tuple[int, int, float]], who: str = "") -> int:
        """Put what belongs together into the mailbox; the loop sees all of it or nothing."""
        until = time.monotonic() + self._patience
        with self._turn(until):
            return self._put(mails, who, until)

    @contextmanager
    def _turn(self, until: float) -> Iterator[None]:
        if not self._lock.acquire(timeout=max(0.0, until - time.monotonic())):
            raise InputError("the mailbox is in use by another thread, which does not let go of it")
        try:
            while True:
                try:
                    self._lock_records(fcntl.F_WRLCK)
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
                self._lock_records(fcntl.F_UNLCK)
        finally:
            self._lock.release()

    def _lock_records(self, kind: int) -> None:
        """Lock the segment for this mailbox, or let go of it.

        A lock of the opened file: one of the process would be shared by its mailboxes, of which a session
        and its consoles have one each, and be lost when any of them is closed.
        """
        wanted = struct.pack("@hhqqi0q", kind, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(self.segment.file, fcntl.F_OFD_SETLK, wanted)

    def _put(self, mails: Sequence[tuple[int, int, float]], who: str, until: float) -> int:
        header: NDArray[np.void] = self.segment.header
        before = max(int(header["mail_given"][0]), int(header["mail_taken"][0]))
        last = before + len(mails)
        while last - int(header["mail_taken"][0]) > MAILS:
            if time.monotonic() > until:
                raise InputError(
                    f"the mailbox is full: {MAILS} commands wait and the loop takes none; is it still alive?"
                )
            time.sleep(0.001)
        entries = np.zeros(len(mails), MAIL)
        for i, (kind, index, value) in enumerate(mails):
            entries[i] = (before + 1 + i, kind, index, value, len(mails) - 1 - i, name_bytes(who), 0)
        words = entries.view("<u8").reshape(len(mails), -1)
        entries["check"] = np.bitwise_xor.reduce(words, axis=1) ^ np.uint64(MAIL_KEY)
        fence()  # the loop is done with what lies there
        for i, entry in enumerate(entries):
            header["mail"][0, (before + i) % MAILS] = entry
        fence()
        header["mail_given"][0] = last
        return last

    def close(self) -> None:
        """Detach."""
        self.segment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class CommandReceipt:
    """What became of a command.

    Parameters
    ----------
    words
        The command in words.
    outcome
        Returns None while the loop has not handled it, an empty text once it has obeyed, else why not.
    number
        Of the command in the mailbox; 0 where it needs none.

    Examples
    --------
    >>> receipt = CommandReceipt("start", lambda: "the loop is active already", 7)
    >>> receipt.done, receipt.refused
    (True, 'the loop is active already')
    """

    def __init__(self, words: str, outcome: Callable[[], str | None], number: int = 0) -> None:
        self.words, self.number = words, number
        self._ask, self._known = outcome, None  # type: Callable[[], str | None], str | None

    def __repr__(self) -> str:
        said = "waits" if not self.done else self.refused or "obeyed"
        return f"<CommandReceipt {self.number}: {self.words}: {said}>"

    def _outcome(self) -> str | None:
        if self._known is None:
            self._known = self._ask()
        return self._known

    @property
    def done(self) -> bool:
        """Whether the loop has handled the command, one way or the other."""
        return self._outcome() is not None

    @property
    def refused(self) -> str:
        """Why the loop did not obey; empty where it did, or has not come to it."""
        return self._outcome() or ""

    def wait(self, timeout: float = 1.0) -> bool:
        """Wait until the loop has handled the command; return whether it has obeyed.

        Parameters
        ----------
        timeout
            Seconds after which the wait is over.

        Raises
        ------
        InputError
            The loop has not answered.
        """
        until = time.monotonic() + timeout
        while not self.done:
            if time.monotonic() > until:
                raise InputError(f"the loop has not answered to {self.words} within {timeout:g} s")
            time.sleep(0.002)
        return not self.refused
