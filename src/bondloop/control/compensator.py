"""Compensators: controllers that turn the desired displacement into a command, sample by sample."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from bondloop.bondgraph.domain import TRANSLATION
from bondloop.control.base import Controller, Design, Measured, desired_motion
from bondloop.display import brief
from bondloop.program.compose import connect
from bondloop.transfer.coupled import width
from bondloop.transfer.set_point import expect_set_point

if TYPE_CHECKING:
    from bondloop.program.block import Applied, Context
    from bondloop.program.expr import Expr
    from bondloop.substructure.half import NumericalHalf
    from bondloop.transfer.base import TransferSystem

__all__ = ["Compensator", "channel"]


class Compensator(Controller, family="controller"):
    """Base of the compensators: a frozen dataclass with one pure step, `compensate`.

    The numerical half gives the desired displacement; the compensator makes of it, at every sample, the
    command that a transfer system with a position set point is to be given.
    """

    sampled: ClassVar[bool] = True

    set_point: ClassVar[bool] = False
    """Whether its command is a displacement whatever the transfer system; others have a model that says."""

    __repr__ = brief

    def design(self, half: NumericalHalf, actuators: Sequence[TransferSystem]) -> Design:
        """Hand on the desired displacements; `compensate` does the rest at every sample."""
        if self.set_point:
            domains = half.domains if half.coupler is None else (TRANSLATION,) * half.coupler.size
            ports = [(actuator, port) for actuator in actuators for port in range(width(actuator))]
            for (actuator, port), domain in zip(ports, domains, strict=False):
                expect_set_point(actuator, type(self).__name__, domain.displacement.unit, port)
        desired, velocities, extra = desired_motion(half)
        # A coupler's strokes need not be linear; what is integrated is, so they are no part of the system.
        outputs = {} if half.coupler else {f"command[{i}]": z for i, z in enumerate(desired)}
        system = connect("computer", [half.system], {}, outputs, inputs=half.efforts, states=extra)
        return Design(system, tuple(desired), half.efforts, tuple(desired), tuple(velocities))

    @abstractmethod
    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the statements that make the command of one transfer system.

        Parameters
        ----------
        desired
            The desired displacement at this sample, in m.
        measured
            What the sensors of this transfer system read at this sample.
        context
            Names and period.
        """


def channel(context: Context, word: str) -> str:
    """Return the name under which a compensator records something: it always begins with ``controller``."""
    name = context.name if context.name.startswith("controller") else f"controller.{context.name}"
    return f"{name}.{word}"
