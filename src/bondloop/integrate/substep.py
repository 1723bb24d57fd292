"""Newmark's scheme with sub-steps and error-force compensation (Bayer, Dorka and Füllekrug 2000)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.engine.data import Parameter
from bondloop.engine.ir import Const, Expr, Repeat, Step, Update, Var
from bondloop.errors import InputError
from bondloop.integrate.structural.base import (
    EquationOfMotion,
    Scheme,
    Stepped,
    Terms,
    Vector,
    assigned,
    combination,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class SubStep(Scheme):
    """Implicit Newmark without iteration: a ramp of what is known, plus what is measured in every sub-step.

    With M_e = M + δΔt C + αΔt² K and F_e the part of the inner forces that is known at t (eqs. 5 to 7), the
    acceleration at t + Δt is a = M_e⁻¹[F_e + f(E) + L] + M_e⁻¹ F_m (eq. 8). Its first part, a_exp, is applied
    as a ramp; in sub-step j of k the rig is given

        a_j = a_exp,old + (a_exp,new - a_exp,old) j/k + M_e⁻¹ F_m,j-1

    with F_m the newest measured coupling force on the numerical half. The last a_j is the step's
    acceleration. What remains out of balance, E = M a + C v + K u - F_m - L - f, goes into the next step
    through (eq. 9)

        f(E) = P [E + Δt I ΣE + (D/Δt)(E - E_old)].

    Parameters
    ----------
    sub_steps
        k, at least 1.
    alpha, delta
        Newmark's constants (β and γ elsewhere), 2 alpha >= delta >= 1/2; 1/4 and 1/2 are constant average
        acceleration.
    P, I, D
        Of the error-force compensation: P = -1, I = D = 0 is Bayer's; all zero for none. I in 1/s, D in s.
        ``scheme.P`` is a parameter of the test, and so are ``scheme.I`` and ``scheme.D`` where they are not
        zero, so that they can be changed without building anew.
    control
        What the rig is given: ``"acceleration"`` (a shaking table) or ``"displacement"`` (an actuator). The
        displacement is Newmark's for the same acceleration: u_exp = u + Δt v + (1/2 - α)Δt² a + αΔt² a_exp as
        the ramp, αΔt² M_e⁻¹ F_m as the measured part.

    References
    ----------
    Bayer, Dorka and Füllekrug (2000), A new algorithm for real-time sub-structure pseudo-dynamic tests.
    12WCEE.

    Examples
    --------
    >>> SubStep(sub_steps=0)
    Traceback (most recent call last):
    bondloop.errors.InputError: sub_steps must be a whole number of at least 1; found 0
    >>> SubStep(alpha=0.1)
    Traceback (most recent call last):
    bondloop.errors.InputError: alpha = 0.1 and delta = 0.5 are not stable whatever the time step: ...
    """

    opensees: ClassVar[str] = "Newmark"

    sub_steps: int = 9
    alpha: Parameter = Parameter(0.25, unit="1")
    delta: Parameter = Parameter(0.5, unit="1")
    P: Parameter = Parameter(0.0, unit="1")
    I: Parameter = Parameter(0.0, unit="1/s")
    D: Parameter = Parameter(0.0, unit="s")
    control: str = "acceleration"

    def __post_init__(self) -> None:
        if isinstance(self.sub_steps, bool) or self.sub_steps < 1 or self.sub_steps % 1:
            raise InputError(f"sub_steps must be a whole number of at least 1; found {self.sub_steps}")
        if not 2 * self.alpha >= self.delta >= 0.5:
            raise InputError(
                f"alpha = {self.alpha:g} and delta = {self.delta:g} are not stable whatever the time step: "
                "2 alpha >= delta >= 1/2 is needed; 1/4 and 1/2 give constant average acceleration"
            )
        if self.control not in ("acceleration", "displacement"):
            raise InputError(f"control must be 'acceleration' or 'displacement'; found {self.control!r}")

    @property
    def calls(self) -> int:
        """One for each sub-step."""
        return self.sub_steps

    def advance(self, equation: EquationOfMotion) -> Stepped:
        """Write one step from t to t + period; the restoring force of the ``equation`` is a `Coupling`."""
        coupling = equation.restoring
        if not isinstance(coupling, Coupling):
            raise InputError(
                "SubStep commands a rig several times in a step, as in a bondloop.hybrid.PseudoDynamicTest; "
                "for a restoring force without a rig take another scheme, such as NewmarkImplicit()"
            )
        return _Writer(self, equation, coupling).write()


class _Writer:
    """The matrices of one step, and its statements."""

    def __init__(self, scheme: SubStep, equation: EquationOfMotion, coupling: Coupling) -> None:
        self.scheme, self.equation, self.coupling = scheme, equation, coupling
        self.interface, self.force = list(coupling.interface), list(coupling.force)
        h = equation.period
        Me = equation.M + scheme.delta * h * equation.C + scheme.alpha * h**2 * equation.K  # eq. 5
        self.inverse = equation.inverse(Me, "the effective mass M + delta h C + alpha h² K", "give it a mass")
        self.into = equation.eye[:, self.interface]
        self.through = np.linalg.solve(Me, self.into)
        self.gain = self.through[self.interface]
        if scheme.control == "displacement":
            self.gain = scheme.alpha * h**2 * self.gain

    def write(self) -> Stepped:
        s, equation, made = self.scheme, self.equation, Stepped()
        C, K, h, eye = equation.C, equation.K, equation.period, equation.eye
        u, v, a = equation.displacement, equation.velocity, equation.acceleration
        f = self._compensation(made)
        # Equations 6 and 8: F_e of the motion at t, and the part of the acceleration known in advance.
        explicit = self._named("explicit")
        terms: Terms = [
            (-K, u),
            (-(C + h * K), v),
            (-((1 - s.delta) * h * C + (0.5 - s.alpha) * h**2 * K), a),
            (eye, f),
            (eye, equation.load(1.0)),
        ]
        made.steps += equation.solved(explicit, self.inverse, terms, "unbalanced")
        ramp, used = (self._named(word)[self.interface] for word in ("ramp", "used_force"))
        ramp_end = explicit[self.interface]
        if s.control == "displacement":  # the one that goes with the explicit acceleration
            known = u + h * v + (0.5 - s.alpha) * h**2 * a + s.alpha * h**2 * explicit
            ramp_end = self._named("explicit_displacement")[self.interface]
            made.steps += assigned(ramp_end, known[self.interface])
        made.command = [Const(0.0)] * len(u)
        self._sub_steps(made, ramp, ramp_end, used)
        new = self._named("new_acceleration")
        made.steps += combination(new, [(eye, explicit), (self.through, used)])
        new_u = u + h * v + (0.5 - s.alpha) * h**2 * a + s.alpha * h**2 * new  # eq. 4
        new_v = v + (1 - s.delta) * h * a + s.delta * h * new  # eq. 3
        pairs: list[tuple[Var, Expr]] = []
        for ui, uj, vi, vj, ai, aj in zip(u, new_u, v, new_v, a, new, strict=True):
            pairs += [(ui, uj), (vi, vj), (ai, aj)]
        made.steps.append(Update((*pairs, *zip(ramp, ramp_end, strict=True))))
        size = np.ones(len(ramp))
        began = self.coupling.acceleration * size if s.control == "acceleration" else 0 * size
        first = began - self.gain @ (self.coupling.first_force * size)
        made.states.update(zip(ramp, first.tolist(), strict=True))
        return made

    def _named(self, word: str) -> Vector:
        return np.array([Var(f"scheme.{word}.{dof}") for dof in self.equation.motion.names], object)

    def _compensation(self, made: Stepped) -> Vector:
        """Equations 1 and 9: the error forces at t, the last f(E) included, and what they add to the step."""
        s, equation, h = self.scheme, self.equation, self.equation.period
        error, applied, eye = self._named("error"), self._named("compensation"), equation.eye
        terms: Terms = [
            (equation.K, equation.displacement),
            (equation.C, equation.velocity),
            (equation.M, equation.acceleration),
            (-self.into, self.force),
            (-eye, equation.load(0.0)),
            (-eye, applied),
        ]
        made.steps += combination(error, terms)
        made.error = list(error)
        P, I, D = (Var(f"scheme.{letter}") for letter in "PID")
        made.parameters[P] = s.P
        made.states.update(dict.fromkeys(applied, 0.0))
        sums, updates = error, list[tuple[Var, Expr]]()
        if s.I:
            total = self._named("error_sum")
            made.states.update(dict.fromkeys(total, 0.0))
            made.parameters[I] = s.I
            grown = total + error
            sums = sums + [(h * I) * x for x in grown]
            updates += zip(total, grown, strict=True)
        if s.D:
            old = self._named("old_error")
            made.states.update(dict.fromkeys(old, 0.0))
            made.parameters[D] = s.D
            sums = sums + [(D / h) * x for x in error - old]
            updates += zip(old, error, strict=True)
        f = self._named("new_compensation")
        made.steps += assigned(f, [P * x for x in sums])
        made.steps.append(Update((*zip(applied, f, strict=True), *updates)))
        return f

    def _sub_steps(self, made: Stepped, ramp: Vector, ramp_end: Vector, used: Vector) -> None:
        k, number = self.scheme.sub_steps, Var("scheme.sub_step")
        implicit, commands = (self._named(word)[self.interface] for word in ("implicit", "command"))
        body = [*assigned(used, self.force), *combination(implicit, [(self.gain, used)])]
        body += assigned(commands, ramp + (ramp_end - ramp) * ((number + 1) / Const(k)) + implicit)
        for i, command in zip(self.interface, commands, strict=True):
            made.command[i] = command
        body += self.coupling.impose(list(commands), number)
        made.steps.append(Repeat(k, number, tuple(body)))


Impose = Callable[[Sequence[Expr], Expr], list[Step]]
"""``impose(commands, number)`` gives the statements that make the rig follow a command per interface for one
sub-step (the ``number``-th of the step, from 0) and then renew the measured forces."""


@dataclass(frozen=True)
class Coupling:
    """The numerical half's way to the rig and back; called as a `Restoring`, it is asked once a sub-step.

    Attributes
    ----------
    interface
        Positions of the interface's degrees of freedom.
    force
        States of the tick: the newest measured coupling forces on the numerical half.
    impose
        Makes the rig follow a command for one sub-step and renews the forces.
    acceleration
        Accelerations at the interface before the first step, m/s²; zero unless given.
    first_force
        Coupling forces before the first step, N; zero unless given.
    """

    interface: Sequence[int]
    force: Sequence[Var]
    impose: Impose
    acceleration: NDArray[np.float64] | float = 0.0
    first_force: NDArray[np.float64] | float = 0.0
    _asked: Iterator[int] = field(default_factory=count, repr=False, compare=False)

    def __call__(
        self, displacement: Sequence[Expr], _velocity: Sequence[Expr], _label: str
    ) -> tuple[list[Step], list[Expr]]:
        """Impose displacements for one sub-step; the forces are those of a `Restoring`, on the other side."""
        steps = self.impose([displacement[i] for i in self.interface], Const(next(self._asked)))
        forces: list[Expr] = [Const(0.0)] * len(displacement)
        for i, f in zip(self.interface, self.force, strict=True):
            forces[i] = -f
        return steps, forces
