"""What the load makes an actuator give way, added to the command."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bondloop.control.base import Compensator
from bondloop.engine.data import Parameter
from bondloop.engine.ir import Assign, Const, Expr, Update, Var, as_expr
from bondloop.engine.passes import Applied, Context
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.control.base import Measured


@dataclass(frozen=True)
class LoadFeedforward(Compensator):
    """Another compensator's command, and on top of it what the load would take away.

    The displacement loop of an actuator gives way to its load F, slowly varying, by ``give`` F +
    ``give_rate`` dF/dt. For a hydraulic one the pressure in the cylinder is a state that the load cell shows,
    p = F/A: oil leaks in proportion to it, and oil that is compressed does not move the piston
    (`ServoHydraulic.give`). With the load so cancelled, the compensator needs to know the empty rig only,
    not the specimen::

        u = u_compensator + give F + give_rate dF/dt,     F through a first-order low-pass at the cutoff

    It is positive feedback of a force, which a latency turns round: the stiffer the specimen beside the oil
    column and the longer the latency, the lower the frequency up to which it helps. Look at the check.

    Parameters
    ----------
    compensator
        What makes the command of the demand; it is to fit the actuator without a load.
    give
        m/N (rad/(N m) where the interface turns).
    give_rate
        m s/N (rad s/(N m)).
    cutoff
        Of the low-pass filter, Hz.

    Examples
    --------
    >>> from bondloop.control import InverseModel
    >>> from bondloop.transfer import ServoHydraulic, first_order
    >>> law = LoadFeedforward(InverseModel(first_order(1.0, 0.004)), *ServoHydraulic().give)
    >>> print(f"{1e9 * law.give:.1f} nm/N, {1e9 * law.give_rate:.2f} nm s/N")
    3.6 nm/N, 0.18 nm s/N
    """

    compensator: Compensator
    give: Parameter = Parameter(least=0, unit=("m/N", "rad/N/m"))
    give_rate: Parameter = Parameter(least=0, unit=("m s/N", "rad s/N/m"))
    cutoff: Parameter = Parameter(100.0, above=0, unit="Hz")

    def __post_init__(self) -> None:
        if not isinstance(self.compensator, Compensator):
            raise InputError(
                "LoadFeedforward(compensator): expected a compensator, such as InverseModel(...); found "
                f"{self.compensator!r:.60}"
            )
        # A member that adapts goes on to do so: the check has to know.
        object.__setattr__(self, "adapts", self.compensator.adapts)

    @property
    def opaque(self) -> str:
        """The Python function that its compensator calls; "" for none."""
        return self.compensator.opaque

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command."""
        inner = replace(context, name=f"{context.name}.unloaded")
        part = self.compensator.compensate(desired, measured, inner)
        share = 1 - math.exp(-2 * math.pi * self.cutoff * context.period)
        before, force = Var(f"{context.name}.last_load"), Var(f"{context.name}.load")
        steps = [
            *part.steps,
            Assign(force, before + Const(share) * (as_expr(measured.force) - before)),
        ]
        rate = (force - before) * (self.give_rate / context.period)
        command = Var(f"{context.name}.loaded_command")
        steps += [Assign(command, part.value + self.give * force + rate), Update(((before, force),))]
        states = {**part.states, before: 0.0}
        return Applied(steps, command, states, part.parameters, part.channels, part.adapted)
