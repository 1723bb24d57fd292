"""Forward Euler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bondloop.engine.ir import Expr, Update, substitute
from bondloop.integrate.base import Discretised, InputsAt, Integrator, check_period

if TYPE_CHECKING:
    from bondloop.engine import System


@dataclass(frozen=True)
class ForwardEuler(Integrator):
    """Forward Euler, x(t+h) = x + h f(x): first order, explicit; for comparison, not for oscillators.

    Examples
    --------
    An oscillation cos t grows by the factor √(1 + h²) a step, h = 0.1 s:

    >>> import math
    >>> from bondloop.bondgraph import C, I, Model, One
    >>> from bondloop.hybrid import Simulation
    >>> mass = Model("mass")
    >>> mass.v, mass.spring = One(), C(stiffness=1, initial=1)
    >>> _ = mass.v >> [I(mass=1), mass.spring]
    >>> x = "mass.spring.displacement"
    >>> swing = Simulation({"mass": mass}, excitation={}, rate=10, integrator=ForwardEuler(), record=x).run(
    ...     10
    ... )[x]
    >>> print(f"{swing[-1] / math.cos(10 * math.atan(0.1) / 0.1):.4f} {1.01**50:.4f}")
    1.6446 1.6446
    """

    order: ClassVar[int] = 1

    def discretise(self, system: System, period: float, inputs: InputsAt, goals: list[Expr]) -> Discretised:
        """Write one step: states move along the rates at its beginning."""
        h = check_period(period)
        first, table = self.at_start(system, period, inputs, goals)
        pairs = [
            (x, x + h * substitute(rate, table))
            for x, rate in zip(system.state_vars, system.rate_exprs, strict=True)
        ]
        return Discretised(first, table, [Update(tuple(pairs))])
