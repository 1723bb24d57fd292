"""Newmark's average-acceleration scheme."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.engine.data import Whole
from bondloop.engine.ir import Const, Expr, Product, Update, Var, instantiate, schedule, substitute
from bondloop.integrate.base import Discretised, InputsAt, Integrator, check_period, linear_space, worked_in
from bondloop.integrate.trapezoidal import implicit_products, local_laws

if TYPE_CHECKING:
    from bondloop.engine import System
    from bondloop.engine.ir import Step


@dataclass(frozen=True)
class NewmarkAverage(Integrator):
    """Newmark with beta = 1/4, gamma = 1/2 (constant average acceleration), OpenSees ``Newmark 0.5 0.25``.

    On first-order states it is the trapezoidal rule, x(t+h) = x + h/2 (f(t) + f(t+h)): displacements then
    follow from average velocities and velocities from average accelerations. Unconditionally stable, no
    numerical damping, second order. A linear system needs one matrix product a step, a nonlinear one a
    Newton iteration with a fixed number of steps; one that is linear but for laws that remember
    (plastic hinges) sweeps over those alone, `bondloop.integrate.trapezoidal`.

    Parameters
    ----------
    iterations
        Newton steps of a nonlinear system, or sweeps over its laws, the same number in every step; with
        none (0) the laws are as they were when it began.
    newest
        Which step a sample's inputs belong to. False: the one that begins with the sample, so a measured
        force moves the structure one sample later. True: the one that ends with it, as in a structural
        program, where the newest force gives the newest displacement, at once; for linear systems. Before the
        first sample the inputs count as zero.
    """

    order: ClassVar[int] = 2
    iterations: Whole = Whole(6, least=0, most=1000)
    newest: bool = False

    def discretise(self, system: System, period: float, inputs: InputsAt, goals: list[Expr]) -> Discretised:
        """Write one step: a matrix product, or a Newton iteration where the system is nonlinear."""
        h = check_period(period).value
        if self.newest:
            return self._with_newest(system, h, inputs, goals)
        states = system.state_vars
        if system.is_linear and not system.input_rates:
            space = system.numeric()
            acting = [inputs(c)[u] for c in (0.0, 1.0) for u in system.input_vars]
            targets = tuple(Var(x.name + "@next") for x in states)
            products = implicit_products(space, h, states, targets, acting, worked_in=worked_in(system))
            # A step by factors needs no rates, and so no second factorisation, of the masses alone.
            first, table = self.at_start(system, period, inputs, goals, rates=products is None)
            if products is None:
                E, A, B = (M.toarray() for M in (space.E, space.A, space.B))
                left = np.linalg.inv(E - h / 2 * A)
                matrix = np.hstack([left @ (E + h / 2 * A), left @ B * (h / 2), left @ B * (h / 2)])
                products = [Product(targets, matrix, (*states, *acting), worked_in(system))]
            return Discretised(first, table, [*products, Update(tuple(zip(states, targets, strict=True)))])
        local = local_laws(system)
        if local is not None:
            wanted = [*goals, *(v for law in local.laws for v in (law.force, law.motion))]
            first, table = self.at_start(system, period, inputs, wanted, rates=False)
            return Discretised(
                first, table, local.step(system, h, table, (inputs(0.0), inputs(1.0)), self.iterations)
            )
        first, table = self.at_start(system, period, inputs, goals)
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

    @staticmethod
    def _with_newest(system: System, h: float, inputs: InputsAt, goals: list[Expr]) -> Discretised:
        """Write one step with the inputs of its end.

        x(k) = F x(k-1) + G u(k-1) + G u(k). Kept is z(k) = x(k) - G u(k), which is known a sample before:
        z(k+1) = F x(k) + G u(k).
        """
        space = linear_space(system, "Newmark (newest)")
        A, B = space.A.toarray(), space.B.toarray()
        n = len(A)
        left = np.linalg.inv(np.eye(n) - h / 2 * A)
        F, G = left @ (np.eye(n) + h / 2 * A), left @ B * (h / 2)
        states = system.state_vars
        now = inputs(0.0)
        sources = [now[u] for u in system.input_vars]
        at, ahead = ([Var(x.name + end, quantity=x.quantity) for x in states] for end in ("@now", "@next"))
        given: dict[Var, Expr] = {**dict(zip(states, at, strict=True)), **now}
        steps, table = instantiate(system.schedule(goals), given, "")
        first: list[Step] = [Product(tuple(at), np.hstack([np.eye(n), G]), (*states, *sources)), *steps]
        rest: list[Step] = [
            Product(tuple(ahead), np.hstack([F, G]), (*at, *sources), worked_in(system)),
            Update(tuple(zip(states, ahead, strict=True))),
        ]
        return Discretised(first, table, rest)
