"""Packets for a program of one's own: a move, and what the rig answers with.

All numbers are little-endian. A request is ``BLX1``, then four 4-byte words (sequence, kind, count, 0), a
double (seconds; not a number: go there and rest) and ``count`` doubles, the displacements in m. An answer is
``BLY1``, then four words (the request's sequence, state, count, bytes of text), a double (time of the test in
s), ``count`` forces in N, ``count`` measured displacements in m, and a text in UTF-8: why it was refused, or
what the fault is. The last request may be sent again: it is answered again, and moves the rig once. A request
whose sequence is not greater than the last one's came late, and is refused.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from bondloop.interop.following_rig import FollowingRig


_REQUEST = struct.Struct("<4s4Id")
_REPLY = struct.Struct("<4s4Id")
_ASKS, _ANSWERS = b"BLX1", b"BLY1"
DATAGRAM_BYTES = 65536
"""Bytes of a datagram at most."""
MOST_DATA = 1140
"""Doubles in a vector: what OpenSees sends in one datagram (9126 bytes); four interfaces need 16."""
SIZES_BYTES = 44
"""Of the eleven integers."""
MOST = 64
"""Displacements in a request; more than any rig has."""
MOST_TEXT = 600
"""Bytes of the text of an answer."""


class Kind(IntEnum):
    """What a request asks for."""

    MOVE = 1
    HELLO = 2
    END = 3


class State(IntEnum):
    """What became of a request."""

    DONE = 0
    REFUSED = 1
    FAULT = 2


@dataclass(frozen=True)
class Request:
    """What a program asks a rig for.

    Attributes
    ----------
    sequence
        Grows by one from request to request.
    kind
        Of the request.
    displacements
        Of a move, m.
    seconds
        How long to be on the way; None: until it is there, and rests.

    Examples
    --------
    >>> packet = Request(7, Kind.MOVE, (0.01,)).pack()
    >>> len(packet), Request.read(packet) == Request(7, Kind.MOVE, (0.01,))
    (36, True)
    >>> Request.read(packet[:-1])
    Traceback (most recent call last):
    bondloop.errors.InputError: found 35 bytes; a request with 1 displacements has 36
    """

    sequence: int
    kind: Kind
    displacements: tuple[float, ...] = ()
    seconds: float | None = None

    def pack(self) -> bytes:
        """Return it as bytes."""
        seconds = math.nan if self.seconds is None else self.seconds
        head = _REQUEST.pack(_ASKS, self.sequence, int(self.kind), len(self.displacements), 0, seconds)
        return head + struct.pack(f"<{len(self.displacements)}d", *self.displacements)

    @staticmethod
    def is_one(packet: bytes) -> bool:
        """Whether bytes begin as a request does."""
        return packet.startswith(_ASKS)

    @classmethod
    def sequence_of(cls, packet: bytes) -> int:
        """Return the sequence of bytes that may be no whole request; 0 where there is none."""
        return (
            int(_REQUEST.unpack_from(packet)[1]) if cls.is_one(packet) and len(packet) >= _REQUEST.size else 0
        )

    @classmethod
    def read(cls, packet: bytes) -> Request:
        """Read bytes, or refuse them."""
        if len(packet) < _REQUEST.size or not cls.is_one(packet):
            raise InputError(f"found {len(packet)} bytes; a request begins with BLX1 and has {_REQUEST.size}")
        _, sequence, kind, count, _, seconds = _REQUEST.unpack_from(packet)
        if count > MOST or len(packet) != _REQUEST.size + 8 * count:
            wanted = _REQUEST.size + 8 * count
            raise InputError(f"found {len(packet)} bytes; a request with {count} displacements has {wanted}")
        if kind not in tuple(Kind):
            known = ", ".join(f"{k.value} ({k.name.lower()})" for k in Kind)
            raise InputError(f"found a request of kind {kind}; known are {known}")
        values = struct.unpack_from(f"<{count}d", packet, _REQUEST.size)
        return cls(sequence, Kind(kind), values, None if math.isnan(seconds) else seconds)


@dataclass(frozen=True)
class Reply:
    """What a rig answers with.

    Attributes
    ----------
    sequence
        Of the request.
    state
        What became of it.
    answer
        Forces, displacements and time.
    text
        Why it was refused, or what the fault is; of a `Kind.HELLO`, what the test is.

    Examples
    --------
    >>> reply = Reply(7, State.DONE, Answer((100.0,), (0.01,), 0.5), "")
    >>> Reply.read(reply.pack()) == reply
    True
    """

    sequence: int
    state: State
    answer: Answer
    text: str = ""

    def pack(self) -> bytes:
        """Return it as bytes."""
        text = self.text.encode()[:MOST_TEXT]
        count = len(self.answer.force)
        head = _REPLY.pack(_ANSWERS, self.sequence, int(self.state), count, len(text), self.answer.time)
        return head + struct.pack(f"<{2 * count}d", *self.answer.force, *self.answer.displacement) + text

    @classmethod
    def read(cls, packet: bytes) -> Reply:
        """Read bytes, or refuse them."""
        if len(packet) < _REPLY.size or not packet.startswith(_ANSWERS):
            raise InputError(f"found {len(packet)} bytes that are no answer of a rig")
        _, sequence, state, count, size, time = _REPLY.unpack_from(packet)
        if count > MOST or len(packet) != _REPLY.size + 16 * count + size or state not in tuple(State):
            raise InputError(f"found an answer of {len(packet)} bytes that does not hold what it says")
        values: Sequence[float] = struct.unpack_from(f"<{2 * count}d", packet, _REPLY.size)
        text = packet[_REPLY.size + 16 * count :].decode(errors="replace")
        return cls(sequence, State(state), Answer(tuple(values[:count]), tuple(values[count:]), time), text)


class RigFaultError(BondloopError):
    """The rig went to its safe state, or does not reach what it is asked for: it cannot be moved any more.

    Examples
    --------
    >>> raise RigFaultError("the measured force went beyond its limit at t = 4.379 s")
    Traceback (most recent call last):
    bondloop.interop.protocol.RigFaultError: the measured force went beyond its limit at t = 4.379 s
    """


@dataclass(frozen=True)
class Answer:
    """What a rig answers with, when it was moved.

    Attributes
    ----------
    force
        That the specimen resists with at each interface, N: +k x of a spring pulled out by x.
    displacement
        As measured, m.
    time
        Of the rig's own test, s.
    """

    force: tuple[float, ...]
    displacement: tuple[float, ...]
    time: float


class PlainSession:
    """Answers the packets of `bondloop.interop.protocol`.

    Parameters
    ----------
    rig
        What is moved.
    say
        Called with a sentence whenever something is refused or has happened.

    Attributes
    ----------
    ended
        Whether the program has said that it is done.
    trouble
        What was refused since the last good move, or the fault.
    """

    def __init__(self, rig: FollowingRig, say: Callable[[str], None]) -> None:
        self.rig, self._say = rig, say
        self.ended, self.trouble, self._said = False, "", ""
        self._sequence = -1
        self._last = b"", b""

    def take(self, packet: bytes) -> bytes:
        """Take a packet, and return the answer; the last one is answered again, an older one is refused."""
        if packet and packet == self._last[0]:
            return self._last[1]
        try:
            request = Request.read(packet)
            self._expect_newer(request.sequence)
        except InputError as error:
            return self._not_done(Request.sequence_of(packet), State.REFUSED, error)
        self._sequence = request.sequence
        self._last = packet, self._answer(request)
        return self._last[1]

    def _expect_newer(self, sequence: int) -> None:
        if sequence <= self._sequence:
            raise InputError(
                f"found a request with the sequence {sequence} after {self._sequence}; expected one that "
                "grows: a packet that comes late moves nothing"
            )

    def _answer(self, request: Request) -> bytes:
        try:
            return self._done(request).pack()
        except InputError as error:
            return self._not_done(request.sequence, State.REFUSED, error)
        except RigFaultError as error:
            return self._not_done(request.sequence, State.FAULT, error)

    def _done(self, request: Request) -> Reply:
        if request.kind is Kind.MOVE:
            answer = self.rig.move_to(request.displacements, request.seconds)
            self.trouble = ""
            return Reply(request.sequence, State.DONE, answer)
        self.ended = request.kind is Kind.END
        return _nothing(self.rig.count, request.sequence, State.DONE, self.rig.test.name)

    def _not_done(self, sequence: int, state: State, error: Exception) -> bytes:
        sentence = f"{'fault' if state is State.FAULT else 'refused'}: {error}"
        if sentence != self._said:
            self._say(sentence)
        self.trouble, self._said = str(error), sentence
        return _nothing(self.rig.count, sequence, state, str(error)).pack()


def refusal(packet: bytes, count: int, why: str) -> bytes:
    """Return the answer to a packet of a program that does not have the rig.

    Parameters
    ----------
    packet
        The request.
    count
        Interfaces of the rig.
    why
        The text.
    """
    return _nothing(count, Request.sequence_of(packet), State.REFUSED, why).pack()


def _nothing(count: int, sequence: int, state: State, text: str) -> Reply:
    """Return an answer in which nothing was measured."""
    unknown = (math.nan,) * count
    return Reply(sequence, state, Answer(unknown, unknown, math.nan), text)
