"""OpenSeesPy as the numerical half in Python: step by step, the measured force a load on the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from types import ModuleType

    from bondloop.interop.protocol import Answer


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
