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
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from bondloop.errors import InputError
from bondloop.external.answer import Answer

__all__ = ["MOST_TEXT", "Kind", "Reply", "Request", "State"]

_REQUEST = struct.Struct("<4s4Id")
_REPLY = struct.Struct("<4s4Id")
_ASKS, _ANSWERS = b"BLX1", b"BLY1"
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
