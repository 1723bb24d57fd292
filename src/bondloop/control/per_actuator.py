"""A compensator for each actuator, with settings of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.control.compensator import Compensator
from bondloop.errors import InputError
from bondloop.program.block import Applied, Context, applied_of, at_interface
from bondloop.program.expr import Expr, Var, substitute

if TYPE_CHECKING:
    from bondloop.control.base import Design, Measured

__all__ = ["PerActuator"]


@dataclass(frozen=True)
class PerActuator(Compensator):
    """Compensators side by side: the first for the first actuator, and so on.

    A compensator alone is used for every actuator, with the same settings. Behind a coupler each works on the
    stroke of its actuator.

    Parameters
    ----------
    compensators
        One for each actuator.

    Examples
    --------
    >>> from bondloop.control import LeadCompensation
    >>> len(PerActuator((LeadCompensation("40 ms"), LeadCompensation("23 ms"))).compensators)
    2
    """

    compensators: tuple[Compensator, ...]

    def __post_init__(self) -> None:
        listed: object = self.compensators
        members = tuple(listed) if isinstance(listed, Sequence) else ()
        if not members or not all(isinstance(member, Compensator) for member in members):
            raise InputError(
                "PerActuator(compensators): expected compensators, such as (InverseModel(...), "
                f"InverseModel(...)); found {self.compensators!r:.60}"
            )
        object.__setattr__(self, "compensators", members)
        for word in ("adapts", "set_point"):
            object.__setattr__(self, word, any(getattr(member, word) for member in members))

    @property
    def opaque(self) -> str:
        """The first Python function among its members; "" for none."""
        return next((member.opaque for member in self.compensators if member.opaque), "")

    def commands(
        self,
        design: Design,
        values: Mapping[Var, Expr],
        measured: Sequence[Measured],
        contexts: Sequence[Context],
    ) -> list[Applied]:
        """Return the statements that make the commands, one block for each."""
        if len(self.compensators) != len(design.commands):
            raise InputError(
                f"PerActuator: {len(self.compensators)} compensators for {len(design.commands)} actuators; "
                "give one for each"
            )
        return [
            at_interface(applied_of(member, "compensate", substitute(c, dict(values)), sensor, context), i)
            for i, (member, c, sensor, context) in enumerate(
                zip(self.compensators, design.commands, measured, contexts, strict=True)
            )
        ]

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command of the only actuator."""
        if len(self.compensators) > 1:
            raise InputError(f"PerActuator: {len(self.compensators)} compensators for one actuator")
        return self.compensators[0].compensate(desired, measured, context)
