"""What controllers with a feed-forward and a feedback of the tracking error share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bondloop.control.compensator import Compensator
from bondloop.control.inverse_model import InverseModel
from bondloop.errors import InputError
from bondloop.program.block import Applied, Context
from bondloop.program.expr import Var, as_expr
from bondloop.program.schedule import Assign
from bondloop.transfer.process import Process

if TYPE_CHECKING:
    from bondloop.control.base import Measured
    from bondloop.control.discrete_filter import DiscreteFilter
    from bondloop.program.expr import Expr

__all__ = ["TrackingFeedback"]


HOLD = 0.5
"""Samples by which a command that is held is late."""


@dataclass(frozen=True)
class TrackingFeedback(Compensator, family="controller"):
    """Base: u = feed-forward of the demand + a linear filter of (demand - measured displacement).

    Where the feed-forward is perfect there is nothing left for the feedback to do; what model, load and wear
    leave, it takes away as far as delay and noise permit.
    """

    process: Process
    feedforward: Compensator | None = None

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if not isinstance(self.process, Process):
            raise InputError(
                f"{kind}(process): expected a process model, such as first_order(gain, time_constant); found "
                f"{type(self.process).__name__}"
            )
        if self.process.relative_degree < 1:
            raise InputError(
                f"{kind}(process): the model has as many zeros as poles, so its motion would jump with the "
                "command; fit one with more poles than zeros"
            )
        if self.feedforward is None:
            self.process.check_invertible()
        elif not isinstance(self.feedforward, Compensator):
            raise InputError(
                f"{kind}(feedforward): expected a compensator, such as InverseModel(...), or None for the "
                f"inverse of the process; found {self.feedforward!r:.60}"
            )
        # A member that adapts goes on to do so: the check has to know.
        object.__setattr__(self, "adapts", self.forward.adapts)

    @property
    def forward(self) -> Compensator:
        """The feed-forward: what is left when the feedback is taken away."""
        return InverseModel(self.process, ahead=HOLD) if self.feedforward is None else self.feedforward

    @property
    def opaque(self) -> str:
        """The Python function that its feed-forward calls; "" for none."""
        return self.forward.opaque

    @abstractmethod
    def feedback(self, period: float) -> DiscreteFilter:
        """Return the filter from the tracking error to the feedback's part of the command.

        Parameters
        ----------
        period
            The sample period in s.
        """

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command."""
        part = self.forward.compensate(desired, measured, replace(context, name=f"{context.name}.forward"))
        error = desired - as_expr(measured.displacement)
        back, _ = self.feedback(context.period).apply(error, context, "feedback")
        command = Var(f"{context.name}.tracking_command")
        steps = [*part.steps, *back.steps, Assign(command, part.value + back.value)]
        states = {**part.states, **back.states}
        return Applied(steps, command, states, part.parameters, part.channels, part.adapted)
