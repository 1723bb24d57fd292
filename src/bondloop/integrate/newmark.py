"""Newmark's average-acceleration scheme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.integrate.base import Discretised, InputsAt, Integrator, check_period
from bondloop.program.expr import Const, Expr, Var, substitute
from bondloop.program.schedule import schedule
from bondloop.program.tick import Product, Update

if TYPE_CHECKING:
    from bondloop.program.system import System

__all__ = ["NewmarkAverage"]


@dataclass(frozen=True)
class NewmarkAverage(Integrator):
    """Newmark with beta = 1/4, gamma = 1/2 (constant average acceleration), OpenSees ``Newmark 0.5 0.25``.

    On first-order states it is the trapezoidal rule, x(t+h) = x + h/2 (f(t) + f(t+h)): displacements then
    follow from average velocities and velocities from average accelerations. Unconditionally stable, no
    numerical damping, second order. A linear system needs one matrix product a step, a nonlinear one a
    Newton iteration with a fixed number of steps.

    Parameters
    ----------
    iterations
        Newton steps of a nonlinear system, the same number in every step.
    """

    order: ClassVar[int] = 2
    iterations: int = 6

    def discretise(self, system: System, period: float, inputs: InputsAt, goals: list[Expr]) -> Discretised:
        """Write one step: a matrix product, or a Newton iteration where the system is nonlinear."""
        h = check_period(period).value
        first, table = self.at_start(system, period, inputs, goals)
        states = system.state_vars
        if system.is_linear and not system.input_rates:
            space = system.numeric()
            E, A, B = (M.toarray() for M in (space.E, space.A, space.B))
            left = np.linalg.inv(E - h / 2 * A)
            matrix = np.hstack([left @ (E + h / 2 * A), left @ B * (h / 2), left @ B * (h / 2)])
            sources = [*states, *(inputs(c)[u] for c in (0.0, 1.0) for u in system.input_vars)]
            targets = tuple(Var(x.name + "@next") for x in states)
            return Discretised(
                first,
                table,
                [Product(targets, matrix, tuple(sources)), Update(tuple(zip(states, targets, strict=True)))],
            )
        end: dict[Var, Expr] = {x: Var(x.name + "@next") for x in states}
        end.update(inputs(1.0))
        definitions: dict[Var, Expr] = {}
        for v in system.definitions:
            end[v] = Var(v.name + "@next")
        for v, e in system.definitions.items():
            target = end[v]
            assert isinstance(target, Var)
            definitions[target] = substitute(e, end)
        nexts = [end[x] for x in states]
        for x, target, rate in zip(states, nexts, system.rate_exprs, strict=True):
            assert isinstance(target, Var)
            slope = substitute(rate, table) + substitute(rate, end)
            definitions[target] = x + Const(h / 2) * slope
        roots = [v for v in nexts if isinstance(v, Var)]
        steps = schedule(definitions, roots, roots, self.iterations)
        return Discretised(first, table, [*steps, Update(tuple(zip(states, nexts, strict=True)))])
