"""Newmark's scheme with sub-steps and error-force compensation (Bayer, Dorka and Füllekrug 2000)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.engine.data import Parameter
from bondloop.engine.ir import Assign, Const, Expr, Repeat, Step, Update, Var
from bondloop.errors import InputError
from bondloop.integrate.structural.base import (
    Inverse,
    Motion,
    Restoring,
    Scheme,
    Stepped,
    combination,
    solved,
)
from bondloop.integrate.tolerances import LARGE_CONDITION

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

    def effective_mass(
        self,
        M: NDArray[np.float64],
        C: NDArray[np.float64],
        K: NDArray[np.float64],
        period: float,
        dofs: Sequence[str] = (),
    ) -> NDArray[np.float64]:
        """M_e of equation 5; an error names what makes it singular.

        Parameters
        ----------
        M, C, K
            Matrices of the structure, shape (n, n).
        period
            The sample period in s, h of the equation.
        dofs
            Names for messages; numbers where there are none.

        Examples
        --------
        >>> one = np.ones((1, 1))
        >>> SubStep().effective_mass(2 * one, 0 * one, 8 * one, 0.5)
        array([[2.5]])
        """
        Me = M + self.delta * period * C + self.alpha * period**2 * K
        size = np.abs(Me).max(axis=1)
        names = dofs or [f"degree of freedom {i}" for i in range(len(Me))]
        empty = [n for n, s in zip(names, size, strict=True) if s == 0]
        if empty:
            raise InputError(
                f"the effective mass is singular: {', '.join(empty)} has neither mass, damping nor "
                "stiffness; give it a mass"
            )
        scale = np.sqrt(np.abs(np.diag(Me)))
        scale[scale == 0] = 1.0
        if np.linalg.cond(Me / np.outer(scale, scale), 1 if len(Me) > LARGE_CONDITION else None) > 1e14:
            raise InputError(
                "the effective mass M + delta h C + alpha h² K is singular: some motion has neither mass, "
                "damping nor stiffness; give every degree of freedom a mass"
            )
        return np.asarray(Me)

    def advance(
        self,
        M: NDArray[np.float64],
        C: NDArray[np.float64],
        K: NDArray[np.float64],
        period: float,
        motion: Motion,
        load: Callable[[float], Sequence[Expr]],
        restoring: Restoring,
    ) -> Stepped:
        """Write one step from t to t + period.

        Parameters
        ----------
        M, C, K
            Matrices of the numerical half, shape (n, n).
        period
            Time step in seconds.
        motion
            The states at t.
        load
            External forces at a fraction of the step, n of them.
        restoring
            The way to the rig and back, a `Coupling`.
        """
        if not isinstance(restoring, Coupling):
            raise InputError(
                "SubStep commands a rig several times in a step, as in a bondloop.hybrid.PseudoDynamicTest; "
                "for a restoring force without a rig take another scheme, such as NewmarkImplicit()"
            )
        return _Writer(self, (M, C, K), period, motion, restoring).write(load)


class _Writer:
    """The matrices of one step, and its statements."""

    def __init__(
        self,
        scheme: SubStep,
        matrices: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
        period: float,
        motion: Motion,
        coupling: Coupling,
    ) -> None:
        self.scheme, self.h, self.motion = scheme, period, motion
        self.M, self.C, self.K = matrices
        self.coupling = coupling
        self.interface, self.force = list(coupling.interface), list(coupling.force)
        self.dofs = [v.name.rpartition(".")[0] for v in motion.displacement]
        self.inverse = Inverse(scheme.effective_mass(self.M, self.C, self.K, period, self.dofs))
        self.into = np.eye(len(self.M))[:, self.interface]
        self.through = np.linalg.solve(self.inverse.left, self.into)
        self.gain = self.through[self.interface]
        if scheme.control == "displacement":
            self.gain = scheme.alpha * period**2 * self.gain

    def write(self, load: Callable[[float], Sequence[Expr]]) -> Stepped:
        s, h, made = self.scheme, self.h, Stepped()
        u, v, a = self.motion.displacement, self.motion.velocity, self.motion.acceleration
        f = self._compensation(made, load(0.0))
        # Equations 6 and 8: F_e of the motion at t, and the part of the acceleration known in advance.
        explicit = self._vars("explicit")
        eye = np.eye(len(u))
        terms: list[tuple[NDArray[np.float64], Sequence[Expr]]] = [
            (-self.K, u),
            (-(self.C + h * self.K), v),
            (-((1 - s.delta) * h * self.C + (0.5 - s.alpha) * h**2 * self.K), a),
            (eye, f),
            (eye, load(1.0)),
        ]
        made.steps += solved(explicit, self.inverse, terms, self.motion, "unbalanced")
        ramp_end = self._ramp_end(made, explicit)
        ramp = [Var(f"scheme.ramp.{self.dofs[i]}") for i in self.interface]
        used = [Var(f"scheme.used_force.{self.dofs[i]}") for i in self.interface]
        made.command = [Const(0.0)] * len(u)
        self._sub_steps(made, ramp, ramp_end, used)
        new = self._vars("new_acceleration")
        made.steps += combination(new, [(eye, explicit), (self.through, used)])
        pairs: list[tuple[Var, Expr]] = []
        for ui, vi, ai, ni in zip(u, v, a, new, strict=True):
            pairs.append((ui, ui + h * vi + (0.5 - s.alpha) * h**2 * ai + s.alpha * h**2 * ni))  # eq. 4
            pairs.append((vi, vi + (1 - s.delta) * h * ai + s.delta * h * ni))  # eq. 3
            pairs.append((ai, ni))
        made.steps.append(Update((*pairs, *zip(ramp, ramp_end, strict=True))))
        size = np.ones(len(ramp))
        began = self.coupling.acceleration * size if s.control == "acceleration" else 0 * size
        first = began - self.gain @ (self.coupling.first_force * size)
        made.states.update(zip(ramp, first.tolist(), strict=True))
        return made

    def _vars(self, word: str) -> list[Var]:
        return [Var(f"scheme.{word}.{d}") for d in self.dofs]

    def _compensation(self, made: Stepped, load: Sequence[Expr]) -> list[Var]:
        """Equations 1 and 9: the error forces at t, the last f(E) included, and what they add to the step."""
        s, h = self.scheme, self.h
        P = Var("scheme.P")
        made.parameters[P] = s.P
        error, applied = self._vars("error"), self._vars("compensation")
        eye = np.eye(len(error))
        m = self.motion
        made.steps += combination(
            error,
            [
                (self.K, m.displacement), (self.C, m.velocity), (self.M, m.acceleration),
                (-self.into, self.force), (-eye, load), (-eye, applied),
            ],
        )  # fmt: skip
        made.error = error
        made.states.update(dict.fromkeys(applied, 0.0))
        sums: list[Expr] = [*error]
        updates: list[tuple[Var, Expr]] = []
        if s.I:
            total = self._vars("error_sum")
            made.states.update(dict.fromkeys(total, 0.0))
            grown = [t + e for t, e in zip(total, error, strict=True)]
            I = Var("scheme.I")
            made.parameters[I] = s.I
            sums = [x + (h * I) * g for x, g in zip(sums, grown, strict=True)]
            updates += zip(total, grown, strict=True)
        if s.D:
            old = self._vars("old_error")
            made.states.update(dict.fromkeys(old, 0.0))
            D = Var("scheme.D")
            made.parameters[D] = s.D
            sums = [x + (D / h) * (e - o) for x, e, o in zip(sums, error, old, strict=True)]
            updates += zip(old, error, strict=True)
        f = self._vars("new_compensation")
        made.steps += [Assign(t, P * x) for t, x in zip(f, sums, strict=True)]
        made.steps.append(Update((*zip(applied, f, strict=True), *updates)))
        return f

    def _ramp_end(self, made: Stepped, explicit: list[Var]) -> list[Var]:
        """Return what the ramp reaches: the explicit acceleration, or the displacement that goes with it."""
        if self.scheme.control == "acceleration":
            return [explicit[i] for i in self.interface]
        s, h, ends = self.scheme, self.h, []
        for i in self.interface:
            u, v, a = (
                x[i] for x in (self.motion.displacement, self.motion.velocity, self.motion.acceleration)
            )
            end = Var(f"scheme.explicit_displacement.{self.dofs[i]}")
            known = u + h * v + (0.5 - s.alpha) * h**2 * a
            made.steps.append(Assign(end, known + s.alpha * h**2 * explicit[i]))
            ends.append(end)
        return ends

    def _sub_steps(self, made: Stepped, ramp: list[Var], ramp_end: list[Var], used: list[Var]) -> None:
        k = self.scheme.sub_steps
        number = Var("scheme.sub_step")
        body: list[Step] = [Assign(x, f) for x, f in zip(used, self.force, strict=True)]
        implicit = [Var(f"scheme.implicit.{self.dofs[i]}") for i in self.interface]
        body += combination(implicit, [(self.gain, used)])
        commands = [Var(f"scheme.command.{self.dofs[i]}") for i in self.interface]
        for i, command, old, new, part in zip(
            self.interface, commands, ramp, ramp_end, implicit, strict=True
        ):
            body.append(Assign(command, old + (new - old) * ((number + 1) / Const(k)) + part))
            made.command[i] = command
        body += self.coupling.impose(commands, number)
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
