"""What runs where the other program lives, with nothing but Python: the rig's other end, OpenSeesPy."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, Self

from bondloop.errors import BondloopError, InputError
from bondloop.interop.protocol import MOST_TEXT, Answer, Kind, Reply, Request, RigFaultError, State
from bondloop.units import quantity

if TYPE_CHECKING:
    from types import ModuleType

    from bondloop.interop.protocol import Answer


class _SilenceError(InputError):
    """Nobody answers."""


class RemoteRig:
    """A rig that ``bondloop serve --protocol plain`` moves, in another process or on another machine.

    It needs nothing but Python, so that it works where OpenSeesPy or a program of one's own lives.

    Parameters
    ----------
    address
        ``"udp://HOST:PORT"``.
    timeout
        Seconds, or text, to wait for an answer to a move, which takes as long as the rig does.
    again
        Seconds after which a request is sent again: packets may be lost. It moves the rig once.

    Examples
    --------
    >>> RemoteRig("udp://127.0.0.1:1", timeout=0.2, again=0.1)
    Traceback (most recent call last):
    bondloop.errors.InputError: no rig answers at udp://127.0.0.1:1; start it with: bondloop serve ...
    """

    def __init__(self, address: str, *, timeout: float | str = 60.0, again: float | str = 1.0) -> None:
        scheme, _, place = address.partition("://")
        host, _, port = place.rpartition(":")
        if scheme != "udp" or not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise InputError(f"expected udp://HOST:PORT; found {address!r:.60}")
        self.address = address
        self._timeout, self._again = _seconds(timeout, "timeout"), _seconds(again, "again")
        self._sequence = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.connect((host, int(port)))
            hello = self._ask(Kind.HELLO)
        except (OSError, _SilenceError):
            self._socket.close()
            raise InputError(
                f"no rig answers at {address}; start it with: bondloop serve ... --protocol plain"
            ) from None
        except InputError:
            self._socket.close()
            raise
        self.count, self.name = len(hello.answer.force), hello.text

    def __repr__(self) -> str:
        return f"<RemoteRig {self.name!r} at {self.address}>"

    def move_to(self, displacements: Sequence[float], seconds: float | str | None = None) -> Answer:
        """Move the rig, and return what it answers with.

        Parameters
        ----------
        displacements
            One for each interface, m.
        seconds
            How long it is on the way, of its own test; None: until it is there, and rests.

        Raises
        ------
        InputError
            The rig refuses to be moved there, and stays where it is.
        RigFaultError
            It has come to its safe state.
        """
        length = None if seconds is None else _seconds(seconds, "seconds")
        return self._ask(Kind.MOVE, tuple(float(x) for x in displacements), length).answer

    def close(self) -> None:
        """End the test, and let go of the rig."""
        if self._socket.fileno() >= 0:
            with contextlib.suppress(OSError, InputError, RigFaultError):
                self._ask(Kind.END)
            self._socket.close()

    def _ask(self, kind: Kind, displacements: tuple[float, ...] = (), seconds: float | None = None) -> Reply:
        self._sequence += 1
        packet = Request(self._sequence, kind, displacements, seconds).pack()
        until = time.monotonic() + self._timeout
        while time.monotonic() < until:
            with contextlib.suppress(ConnectionRefusedError):
                self._socket.send(packet)
            reply = self._heard(min(until, time.monotonic() + self._again))
            if reply is not None:
                return self._believed(reply)
        raise _SilenceError(f"the rig at {self.address} has not answered for {self._timeout:g} s")

    def _heard(self, until: float) -> Reply | None:
        """Return the answer to the last request, if it comes in time."""
        while (left := until - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                reply = Reply.read(self._socket.recv(2 * MOST_TEXT + 4096))
            except ConnectionRefusedError:  # nobody is there yet
                time.sleep(min(0.05, max(left, 0.0)))
                return None
            except (TimeoutError, InputError):
                continue
            if reply.sequence == self._sequence:
                return reply
        return None

    def _believed(self, reply: Reply) -> Reply:
        if reply.state is State.FAULT:
            raise RigFaultError(reply.text)
        if reply.state is State.REFUSED:
            raise InputError(f"the rig refuses: {reply.text}")
        return reply

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _seconds(value: float | str, what: str) -> float:
    """Return a time in s; by `bondloop.units`, which needs nothing but Python."""
    if not isinstance(value, str):
        return value
    try:
        return quantity(value, "s")
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


TAG = 8_000_001
"""Of the load pattern and time series by which the force acts; a model of one's own has other numbers."""


class Movable(Protocol):
    """What can be moved: a `RemoteRig`, a `RehearsedRig`, a `ClockedRig`."""

    def move_to(self, displacements: Sequence[float], seconds: float | None = None) -> Answer:
        """Move, and return what is measured."""


class OpenSeesHalf:
    """A model in OpenSeesPy, built with its analysis, as a stepper: forces in, displacements out.

    In each step the forces that the specimen resists with act on the interface from its beginning to its end.
    With an explicit integrator, such as ``CentralDifference``, that is exact: the displacement at the end of
    the step depends on the force at its beginning alone. Others are one step late.

    Parameters
    ----------
    ops
        The module, ``openseespy.opensees``.
    interface
        Node and direction of each interface: ``[(3, 1)]``.
    time_step
        Δt of the analysis, s.
    directions
        Degrees of freedom of a node (``-ndf``).
    """

    def __init__(
        self, ops: ModuleType, *, interface: Sequence[tuple[int, int]], time_step: float, directions: int
    ) -> None:
        if not interface or any(not 1 <= direction <= directions for _, direction in interface):
            raise InputError(
                f"OpenSeesHalf(interface): expected pairs of node and direction from 1 to {directions}, such "
                f"as [(3, 1)]; found {interface!r:.60}"
            )
        if not time_step > 0:
            raise InputError(f"OpenSeesHalf(time_step): expected a time above 0 s; found {time_step!r:.30}")
        self._ops, self._interface, self._directions = ops, list(interface), directions
        self.time_step, self._loaded = time_step, False
        ops.timeSeries("Constant", TAG)

    def __repr__(self) -> str:
        return f"<OpenSeesHalf at {self._interface}, a step of {self.time_step:g} s>"

    @property
    def displacements(self) -> list[float]:
        """At the interfaces now, m."""
        return [float(self._ops.nodeDisp(node, direction)) for node, direction in self._interface]

    def __call__(self, forces: Sequence[float]) -> list[float]:
        """Advance by a step with the specimen's forces, N; return the displacements at its end, m."""
        ops = self._ops
        if self._loaded:
            ops.remove("loadPattern", TAG)
        ops.pattern("Plain", TAG, TAG)
        self._loaded = True
        for (node, direction), force in zip(self._interface, forces, strict=True):
            load = [0.0] * self._directions
            load[direction - 1] = -float(force)
            ops.load(node, *load)
        code = ops.analyze(1, self.time_step)
        if code != 0:
            raise BondloopError(f"OpenSees' analysis failed at t = {ops.getTime():.6g} s: code {code}")
        return self.displacements


def step_by_step(
    half: Callable[[Sequence[float]], Sequence[float]], rig: Movable, start: Sequence[float], steps: int
) -> list[tuple[tuple[float, ...], Answer]]:
    """Couple any stepper in Python to a rig: move, read the forces, compute the next displacements.

    Parameters
    ----------
    half
        Called with the forces, N; returns the displacements at the end of the step, m: an `OpenSeesHalf`, or
        any function.
    rig
        What is moved.
    start
        Displacements at first, m.
    steps
        How many steps.

    Returns
    -------
    Of each step, and of the start: the displacements asked for, and what the rig answered with.

    Raises
    ------
    RigFaultError
        The rig has come to its safe state.

    Examples
    --------
    >>> from bondloop.interop import Answer
    >>> class Spring:
    ...     def move_to(self, displacements, seconds=None):
    ...         return Answer((100.0 * displacements[0],), tuple(displacements), 0.0)
    >>> moved = step_by_step(lambda forces: [forces[0] / 200], Spring(), [0.01], 2)
    >>> [displacements for displacements, _ in moved]
    [(0.01,), (0.005,), (0.0025,)]
    """
    wanted = tuple(float(x) for x in start)
    moved = [(wanted, rig.move_to(wanted))]
    for _ in range(steps):
        wanted = tuple(float(x) for x in half(moved[-1][1].force))
        moved.append((wanted, rig.move_to(wanted)))
    return moved
