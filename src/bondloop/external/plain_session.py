"""One program of a user's own, from its first packet to its end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from bondloop.errors import InputError
from bondloop.external.answer import Answer, RigFaultError
from bondloop.external.plain_packets import Kind, Reply, Request, State

if TYPE_CHECKING:
    from bondloop.external.following_rig import FollowingRig

__all__ = ["PlainSession", "refusal"]


class PlainSession:
    """Answers the packets of `bondloop.external.plain_packets`.

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
