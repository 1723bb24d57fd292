"""The protocol of OpenSees' ``genericClient`` element, as the laboratory's side speaks it.

After connecting, the client sends eleven 32-bit integers: the sizes of what it will send (displacement,
velocity, acceleration, force, time), of what it wants back (the same five), and the length L of every vector
after that. All these vectors are L doubles, whatever they carry. The client's begin with an action, followed
by displacements, velocities, accelerations and the time; an answer begins with the forces, or with a matrix
by columns. Some actions are answered, others are not. Numbers are little-endian, as on the client's machine.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.interop.protocol import MOST_DATA, SIZES_BYTES, RigFaultError

if TYPE_CHECKING:
    from bondloop.interop.following_rig import FollowingRig


class Action(IntEnum):
    """What a client asks for; the numbers are OpenSees'."""

    SET_TRIAL_RESPONSE = 3
    COMMIT_STATE = 5
    GET_DISPLACEMENT = 7
    GET_VELOCITY = 8
    GET_ACCELERATION = 9
    GET_FORCE = 10
    GET_TIME = 11
    GET_INITIAL_STIFFNESS = 12
    GET_TANGENT_STIFFNESS = 13
    GET_DAMPING = 14
    GET_MASS = 15
    DIE = 99


UNANSWERED = (Action.SET_TRIAL_RESPONSE, Action.COMMIT_STATE, Action.DIE)
"""Actions to which the client expects nothing."""
UNKNOWN = {Action.GET_VELOCITY: "velocity", Action.GET_ACCELERATION: "acceleration", Action.GET_TIME: "time"}
"""What a rig that goes and rests does not tell: answered, since the client waits, with what is no number."""


@dataclass(frozen=True)
class Sizes:
    """What the eleven integers say.

    Attributes
    ----------
    control, measured
        Of displacement, velocity, acceleration, force and time: sent, and wanted back.
    data
        Doubles in every vector.

    Examples
    --------
    >>> sizes = Sizes.read(struct.pack("<11i", 1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 256))
    >>> sizes.control, sizes.data, sizes.complaint(1)
    ((1, 1, 1, 0, 1), 256, '')
    >>> sizes.complaint(2)
    'the client sends 1 displacements and wants 1 forces; the rig has 2 interfaces'
    """

    control: tuple[int, ...]
    measured: tuple[int, ...]
    data: int

    @classmethod
    def read(cls, packet: bytes) -> Sizes:
        """Read the integers, whatever they say; a packet of another length is refused."""
        if len(packet) != SIZES_BYTES:
            raise InputError(f"found {len(packet)} bytes; expected {SIZES_BYTES}, eleven integers of sizes")
        numbers = struct.unpack("<11i", packet)
        return cls(numbers[:5], numbers[5:10], numbers[10])

    def complaint(self, count: int) -> str:
        """Return what does not fit a rig with so many interfaces, in a sentence; empty where all does."""
        if not 1 <= self.data <= MOST_DATA:
            return f"the client wants vectors of {self.data} numbers; expected 1 to {MOST_DATA} (-dataSize)"
        if self.control[0] != count or self.measured[3] != count:
            return (
                f"the client sends {self.control[0]} displacements and wants {self.measured[3]} forces; "
                f"the rig has {count} interfaces"
            )
        others = (*self.control[1:4], *self.measured[:3])
        if any(n not in (0, count) for n in others) or {self.control[4], self.measured[4]} - {0, 1}:
            found = f"the client's sizes are {self.control} and {self.measured}"
            return f"{found}; expected 0 or {count}, and 0 or 1 for the time"
        if self.data < max(1 + sum(self.control), count * count):
            return f"the client's vectors of {self.data} numbers are too short for what they are to carry"
        return ""


class GenericClientSession:
    """One client, from its sizes to its end.

    Nothing but a complete, finite displacement within the rig's stroke, in a vector of the length agreed
    upon, moves the rig. What is refused is told to `say`, and every force that is asked for is not a number
    until the next good trial: OpenSees' analysis then fails, instead of going on with a force that was not
    measured.

    Parameters
    ----------
    rig
        What is moved.
    packet
        The client's sizes.
    say
        Called with a sentence whenever something is refused or has happened.

    Attributes
    ----------
    ended
        Whether the client has said that it is done.
    steps
        Steps that the client has committed.
    """

    def __init__(self, rig: FollowingRig, packet: bytes, say: Callable[[str], None]) -> None:
        self.rig, self._say = rig, say
        self.sizes = Sizes.read(packet)
        self.ended, self.steps = False, 0
        self.trouble = self.sizes.complaint(rig.count)
        self._fits, self._said = not self.trouble, ""
        self._wanted: list[float] | None = None
        self._stands: list[float] | None = None  # the last trial that the rig was moved to
        self._forget()
        if self.trouble:
            say(f"refused: {self.trouble}; nothing will move")

    @property
    def vector_bytes(self) -> int:
        """Bytes of a vector; 0 where the sizes cannot be believed."""
        return 8 * self.sizes.data if 1 <= self.sizes.data <= MOST_DATA else 0

    def take(self, packet: bytes) -> bytes | None:
        """Take a vector of the client's, and return the answer to send; None where it expects none."""
        if not self.vector_bytes or len(packet) != self.vector_bytes:
            self._refuse(f"found a vector of {len(packet)} bytes; expected {self.vector_bytes or 'none'}")
            return None
        values = struct.unpack(f"<{self.sizes.data}d", packet)
        known = {float(action) for action in Action}
        if values[0] not in known:
            self._refuse(
                f"found the action {values[0]:g}; known are {', '.join(f'{a:g}' for a in sorted(known))}"
            )
            return None
        action = Action(int(values[0]))
        if action is Action.SET_TRIAL_RESPONSE:
            self._trial(list(values[1 : 1 + self.rig.count]))
        elif action is Action.COMMIT_STATE:
            self._measured()  # a step that was asked for no force is made all the same
            self.steps += 1
        elif action is Action.DIE:
            self.ended = True
        return None if action in UNANSWERED else self._packed(self._asked(action))

    def _trial(self, displacements: list[float]) -> None:
        if not self._fits:
            return
        try:
            self._wanted = self.rig.check(displacements)
        except InputError as error:
            self._refuse(str(error))

    def _asked(self, action: Action) -> list[float]:
        count = self.rig.count
        if not self._fits:
            return [math.nan] * self.sizes.data
        if action is Action.GET_FORCE:
            self._measured()
            return self._force
        if action is Action.GET_DISPLACEMENT:
            self._measured()
            return self._displacement
        if action in UNKNOWN:
            told = f"the rig tells no {UNKNOWN[action]}"
            self._note(f"refused: {told}", f"{told}: it goes there and rests")
            return [math.nan] * count
        if action in (Action.GET_INITIAL_STIFFNESS, Action.GET_TANGENT_STIFFNESS):
            return self._stiffness()
        return [0.0] * (count * count)  # damping and mass: what the specimen has of them is in its force

    def _stiffness(self) -> list[float]:
        try:
            columns: list[float] = np.asarray(self.rig.stiffness).T.ravel().tolist()
        except InputError as error:
            self._note(f"refused: {error}", str(error))
            return [math.nan] * self.rig.count**2
        return columns

    def _measured(self) -> None:
        """Move to the last trial, if the rig is not there yet."""
        if self._wanted is None:
            return
        wanted, self._wanted = self._wanted, None
        if wanted == self._stands and not self.rig.fault:
            return  # OpenSees asks again for what it has asked for
        self._forget()
        try:
            answer = self.rig.move_to(wanted)
        except RigFaultError as error:
            self._note(f"fault: {error}; the client is told so by forces that are not numbers", str(error))
            return
        self._force, self._displacement = list(answer.force), list(answer.displacement)
        self._stands, self.trouble = wanted, ""

    def _forget(self) -> None:
        """Have no trial, and nothing measured: until the next good one there is no force."""
        self._wanted = self._stands = None
        self._force = self._displacement = [math.nan] * self.rig.count

    def _refuse(self, why: str) -> None:
        self._forget()
        self._note(f"refused: {why}; the rig stays where it is", why)

    def _note(self, sentence: str, why: str) -> None:
        if sentence != self._said:  # a client may ask for the same at every step
            self._say(sentence)
        self.trouble, self._said = why, sentence

    def _packed(self, values: list[float]) -> bytes:
        short = self.sizes.data - len(values)
        return struct.pack(f"<{self.sizes.data}d", *values, *[0.0] * short)
