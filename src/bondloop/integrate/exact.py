"""Exact integration of linear systems by the matrix exponential."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.engine.ir import Expr, Product, Update, Var
from bondloop.errors import InputError
from bondloop.integrate.base import Discretised, InputsAt, Integrator, check_period, linear_space, worked_in

if TYPE_CHECKING:
    from bondloop.engine import System


@dataclass(frozen=True)
class Exact(Integrator):
    """x(t+h) = e^(Ah) x + integral of e^(A(h-s)) B u(s) ds, for inputs as the hold has them.

    Parameters
    ----------
    hold
        ``"zero"``: inputs keep their value over the step; ``"first"``: they change linearly to the next one;
        ``"second"``: as a parabola through their value in the middle.

    Notes
    -----
    Parameter values are built into the matrices: a compiled test with this scheme keeps them.

    Examples
    --------
    An oscillation cos t, right to rounding however long the step:

    >>> import math
    >>> from bondloop.bondgraph import C, I, Model, One
    >>> from bondloop.hybrid import Simulation
    >>> mass = Model("mass")
    >>> mass.v, mass.spring = One(), C(stiffness=1, initial=1)
    >>> _ = mass.v >> [I(mass=1), mass.spring]
    >>> x = "mass.spring.displacement"
    >>> swing = Simulation({"mass": mass}, excitation={}, rate=10, integrator=Exact(), record=x).run(10)[x]
    >>> bool(abs(swing[-1] - math.cos(10)) < 1e-12)
    True
    """

    order: ClassVar[int] = 2
    hold: str = "zero"

    def __post_init__(self) -> None:
        if self.hold not in ("zero", "first", "second"):
            raise InputError(f"hold must be 'zero', 'first' or 'second'; found {self.hold!r}")

    def discretise(self, system: System, period: float, inputs: InputsAt, goals: list[Expr]) -> Discretised:
        """Write one step: one product with the matrix exponential."""
        from scipy.linalg import expm

        h = check_period(period).value
        space = linear_space(system, "exact")
        A, B = space.A.toarray(), space.B.toarray()
        n, m = B.shape
        # Van Loan: one exponential gives e^(Ah), and the integrals of e^(A(h-s)) B (s/h)^j for j = 0, 1, 2.
        block = np.zeros((n + 3 * m, n + 3 * m))
        block[:n, :n], block[:n, n : n + m] = A * h, B * h
        block[n : n + 2 * m, n + m :] = np.eye(2 * m)
        full = expm(block)
        phi, gamma0, gamma1 = full[:n, :n], full[:n, n : n + m], full[:n, n + m : n + 2 * m]
        gamma2 = 2 * full[:n, n + 2 * m :]
        first, table = self.at_start(system, period, inputs, goals)
        now = [inputs(0.0)[u] for u in system.input_vars]
        sources: list[Expr] = [*system.state_vars, *now]
        if self.hold == "zero":
            matrix = np.hstack([phi, gamma0])
        elif self.hold == "first":
            matrix = np.hstack([phi, gamma0 - gamma1, gamma1])
            sources += [inputs(1.0)[u] for u in system.input_vars]
        else:
            first_part, middle, last = (
                gamma0 - 3 * gamma1 + 2 * gamma2,
                4 * (gamma1 - gamma2),
                2 * gamma2 - gamma1,
            )
            matrix = np.hstack([phi, first_part, middle, last])
            sources += [inputs(c)[u] for c in (0.5, 1.0) for u in system.input_vars]
        targets = tuple(Var(x.name + "@next") for x in system.state_vars)
        return Discretised(
            first,
            table,
            [
                Product(targets, matrix, tuple(sources), worked_in(system)),
                Update(tuple(zip(system.state_vars, targets, strict=True))),
            ],
        )
