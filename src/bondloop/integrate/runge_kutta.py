"""Explicit Runge-Kutta schemes: forward Euler, and the classical one of fourth order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bondloop.engine.analysis.spectrum import collection_paused
from bondloop.engine.ir import Assign, Const, Expr, Step, Update, Var, instantiate, substitute
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


@dataclass(frozen=True)
class RK4(Integrator):
    """Runge-Kutta of fourth order; stable for undamped oscillators up to omega h = 2 sqrt(2).

    Examples
    --------
    An oscillation cos t in 63 steps a period, after ten seconds:

    >>> import math
    >>> from bondloop.bondgraph import C, I, Model, One
    >>> from bondloop.hybrid import Simulation
    >>> mass = Model("mass")
    >>> mass.v, mass.spring = One(), C(stiffness=1, initial=1)
    >>> _ = mass.v >> [I(mass=1), mass.spring]
    >>> x = "mass.spring.displacement"
    >>> swing = Simulation({"mass": mass}, excitation={}, rate=10, integrator=RK4(), record=x).run(10)[x]
    >>> print(f"{abs(swing[-1] - math.cos(10)):.1e}")
    3.9e-06
    """

    order: ClassVar[int] = 4

    @collection_paused()
    def discretise(self, system: System, period: float, inputs: InputsAt, goals: list[Expr]) -> Discretised:
        """Write one step: the rates at the beginning, twice in the middle, and at the end."""
        check_period(period)
        first, table = self.at_start(system, period, inputs, goals)
        states, rate_exprs = system.state_vars, system.rate_exprs
        program = system.schedule(list(rate_exprs))
        slopes = [[substitute(r, table) for r in rate_exprs]]
        rest: list[Step] = []
        for stage, fraction in ((2, 0.5), (3, 0.5), (4, 1.0)):
            suffix = f"@{stage}"
            given: dict[Var, Expr] = {}
            for x, k in zip(states, slopes[-1], strict=True):
                moved = Var(x.name + suffix)
                rest.append(Assign(moved, x + Const(fraction * period) * k))
                given[x] = moved
            given.update(inputs(fraction))
            steps, inner = instantiate(program, given, suffix)
            rest += steps
            slopes.append([substitute(r, inner) for r in rate_exprs])
        sixth = Const(period / 6)
        pairs = []
        for i, x in enumerate(states):
            k1, k2, k3, k4 = (k[i] for k in slopes)
            pairs.append((x, x + sixth * (k1 + 2 * (k2 + k3) + k4)))
        rest.append(Update(tuple(pairs)))
        return Discretised(first, table, rest)
