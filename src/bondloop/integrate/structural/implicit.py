"""Implicit schemes with a fixed number of commands on a smooth path: HHT-α and Newmark."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.engine.data import Parameter
from bondloop.engine.ir import ConstantMatrix, Expr, MatrixRow, Var
from bondloop.integrate.base import check_period
from bondloop.integrate.structural.base import (
    Estimating,
    Motion,
    Restoring,
    Stepped,
    ask,
    assigned,
    between,
    check_alpha,
    check_iterations,
    combination,
    moved,
    named,
    solved,
)
from bondloop.integrate.structural.matrices import Array, inverse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bondloop.engine.ir import Step


Vars = tuple[Var, ...]


@dataclass(frozen=True)
class Iterations:
    """One implicit step; α, β, γ as in `HHTAlpha`, α = 0 being Newmark's scheme.

    With u⁺ = ũ + β h² a⁺ and v⁺ = ṽ + γ h a⁺ each iteration is a⁺ = a° - P (r* - K_s u* - C_s v*): what
    does not depend on the specimen, f°, is computed once.
    """

    alpha: float
    beta: float
    gamma: float
    count: int
    path: int

    def advance(
        self,
        matrices: tuple[Array, Array, Array],
        estimates: tuple[Array, Array],
        period: float,
        motion: Motion,
        load: Callable[[float], Sequence[Expr]],
        restoring: Restoring,
    ) -> Stepped:
        """Write one step."""
        (M, C, K), (Ks, Cs) = matrices, estimates
        h, x, N = check_period(period).value, self.alpha, self.count
        E = M + (1 + x) * (self.gamma * h * (C + Cs) + self.beta * h**2 * (K + Ks))
        D = inverse(E, motion, "the effective mass", "give it mass, stiffness or damping")
        P, eye = (1 + x) * D, np.eye(len(M))
        u, v, a = motion.displacement, motion.velocity, motion.acceleration
        predicted_u, predicted_v = (
            named(motion, f"{word}@predicted") for word in ("displacement", "velocity")
        )
        free, old = named(motion, "unbalanced@free"), named(motion, "previous")
        new_a = named(motion, "acceleration@next")
        g, steps_g, own, starts = weighted_forces(motion, M, x, new_a)
        own = dict(own)
        if self.path == 2 and N > 1:
            own.update(zip(old, u, strict=True))
            starts.update((p, d - h * w + h**2 / 2 * b) for p, d, w, b in zip(old, u, v, a, strict=True))
        steps: list[Step] = [
            *assigned(
                predicted_u,
                [d + h * w + h**2 * (0.5 - self.beta) * b for d, w, b in zip(u, v, a, strict=True)],
            ),
            *assigned(predicted_v, [w + (1 - self.gamma) * h * b for w, b in zip(v, a, strict=True)]),
            *combination(
                free,
                [(eye, load(1.0)), (-C - Cs, predicted_v), (-K - Ks, predicted_u), (x / (1 + x) * eye, g)],
            ),
        ]
        # The force at the beginning of the step follows from its equilibrium, r = g - C v - K u + F.
        target = named(motion, "acceleration@1")
        known = [(eye, free), (-eye, g), (C + Cs, v), (K + Ks, u), (-eye, load(0.0))]
        steps += solved(target, P, known, motion, "unbalanced@1")
        command: list[Expr] = []
        for i in range(1, N + 1):
            end_u, end_v, moving = self._end(motion, predicted_u, predicted_v, target, h, str(i))
            steps += moving
            command, velocity, driving = self._command(motion, i / N, end_u, end_v, old)
            steps += driving
            asking, r = ask(restoring, motion, command, velocity, f"iteration {i}")
            steps += asking
            target = new_a if i == N else named(motion, f"acceleration@{i + 1}")
            known = [(eye, free), (-eye, r), (Ks, command), (Cs, velocity)]
            steps += solved(target, P, known, motion, f"unbalanced@{i + 1}")
        end_u, end_v, moving = self._end(motion, predicted_u, predicted_v, new_a, h, "next")
        steps += [*moving, *steps_g, moved(motion, end_u, end_v, new_a, own)]
        return Stepped(steps, dict.fromkeys(own, 0.0), command, starts)

    def _end(
        self, motion: Motion, u: Vars, v: Vars, a: Vars, h: float, label: str
    ) -> tuple[Vars, Vars, list[Step]]:
        """Displacement and velocity at the end of the step that go with an acceleration there."""
        end_u, end_v = (named(motion, f"{word}@{label}") for word in ("displacement", "velocity"))
        bh, gh = self.beta * h**2, self.gamma * h
        steps = assigned(end_u, [d + bh * b for d, b in zip(u, a, strict=True)])
        return end_u, end_v, [*steps, *assigned(end_v, [w + gh * b for w, b in zip(v, a, strict=True)])]

    def _command(
        self, motion: Motion, x: float, u: Vars, v: Vars, old: Vars
    ) -> tuple[list[Expr], list[Expr], list[Step]]:
        """Displacement and velocity at a fraction of the way from the beginning of the step to its end."""
        if x == 1.0:
            return list(u), list(v), []
        now = motion.displacement
        if self.path == 1:
            way: list[Expr] = [d + x * (e - d) for d, e in zip(now, u, strict=True)]
        else:
            weights = x * (x + 1) / 2, 1 - x**2, x * (x - 1) / 2
            way = [
                weights[0] * e + weights[1] * d + weights[2] * o for e, d, o in zip(u, now, old, strict=True)
            ]
        label = u[0].name.rpartition("@")[2] if u else ""
        at, rate = (named(motion, f"{word}@command {label}") for word in ("displacement", "velocity"))
        speeds = [w + x * (e - w) for w, e in zip(motion.velocity, v, strict=True)]
        return list(at), list(rate), [*assigned(at, way), *assigned(rate, speeds)]


def weighted_forces(
    motion: Motion, M: Array, alpha: float, acceleration: Sequence[Var]
) -> tuple[tuple[Var, ...], list[Step], Mapping[Var, Expr], dict[Var, Expr]]:
    """Carry g = C v + K u + r - F, which the α-weighted equation needs from the step before.

    The equation itself gives g⁺ = (α g - M a⁺) / (1 + α); at the start, in equilibrium, g = -M a.

    Returns
    -------
    state, steps, update, start
        Its variables, the statements that compute its next value, the update, its initial value.
    """
    g, after = named(motion, "weighted_force"), named(motion, "weighted_force@next")
    steps = combination(after, [(-M / (1 + alpha), acceleration), (alpha / (1 + alpha) * np.eye(len(g)), g)])
    start: dict[Var, Expr] = {}
    mass = ConstantMatrix(-M, "mass")
    for i, var in enumerate(g):
        start[var] = MatrixRow(mass, i, motion.acceleration)
    return g, steps, dict(zip(g, after, strict=True)), start


@dataclass(frozen=True)
class HHTAlpha(Estimating):
    """Hilber, Hughes and Taylor's implicit scheme with a fixed number of iterations, made for specimens.

    M a⁺ + (1 + α) (C v⁺ + K u⁺ + r⁺ - F⁺) - α (C v + K u + r - F) = 0,  β = (1 - α)²/4, γ = 1/2 - α. Each
    iteration solves it with r⁺ = r* + K_s (u⁺ - u*) + C_s (v⁺ - v*) around the latest measured force r*. A
    specimen must not be driven to and fro by iterates: of N iterations, number i commands the point i/N of
    a polynomial through the past displacements and the latest iterate, the last one the iterate itself; the
    force measured there corrects the motion once more, without a command.

    Parameters
    ----------
    alpha
        From -1/3 (most numerical damping) to 0 (none). OpenSees' α is 1 + alpha.
    iterations
        Commands per step, at least 1.
    path
        Order of the polynomial of commands, 1 or 2.
    specimen_stiffness, specimen_damping
        Estimates K_s, C_s; see `Estimating`. With good ones a single iteration is exact for a linear
        specimen; what poor ones leave over falls as 1/N.

    References
    ----------
    Hilber, Hughes and Taylor, Improved numerical dissipation for time integration algorithms in structural
    dynamics, EESD 5, 1977. Shing, Vannan and Cater, Implicit time integration for pseudodynamic tests, EESD
    20, 1991. Schellenberg, Mahin and Fenves, Advanced implementation of hybrid simulation, PEER 2009/104.
    OpenSees ``HHTHSFixedNumIter``.

    Examples
    --------
    >>> HHTAlpha(-0.1, iterations=5).calls
    5
    >>> HHTAlpha(0.9)
    Traceback (most recent call last):
    bondloop.errors.InputError: HHTAlpha: alpha must be between -0.333333 and 0 for a stable scheme; found 0.9
    (OpenSees' alpha is 1 + ours: give -0.1)
    """

    alpha: Parameter = Parameter(-0.1, unit="1")
    iterations: int = 3
    path: int = 2

    opensees: ClassVar[str] = "HHTHSFixedNumIter"
    aliases: ClassVar[tuple[str, ...]] = ("HHT", "HHT-alpha")

    def __post_init__(self) -> None:
        """Refuse parameters outside the stable range."""
        check_alpha(self, self.alpha)
        check_iterations(self, self.iterations, self.path)
        super().__post_init__()

    @property
    def calls(self) -> int:
        """How often a step asks for the restoring force."""
        return self.iterations

    def advance(
        self,
        M: Array,
        C: Array,
        K: Array,
        period: float,
        motion: Motion,
        load: Callable[[float], Sequence[Expr]],
        restoring: Restoring,
    ) -> Stepped:
        """Write one step: a fixed number of commands, then a correction."""
        x = self.alpha
        made = Iterations(x, (1 - x) ** 2 / 4, 0.5 - x, self.iterations, self.path)
        return made.advance((M, C, K), self.estimates(len(M)), period, motion, load, restoring)


@dataclass(frozen=True)
class NewmarkImplicit(Estimating):
    """Newmark's scheme, M a⁺ + C v⁺ + K u⁺ + r⁺ = F⁺, with commands on a smooth path as in `HHTAlpha`.

    u⁺ = u + h v + h² ((1/2 - β) a + β a⁺),  v⁺ = v + h ((1 - γ) a + γ a⁺).

    Parameters
    ----------
    gamma
        1/2: second order, no numerical damping. Above: first order and damped.
    beta
        1/4 is constant average acceleration. At least γ/2, for unconditional stability.
    iterations, path, specimen_stiffness, specimen_damping
        As in `HHTAlpha`.

    References
    ----------
    Newmark, A method of computation for structural dynamics, ASCE J. Eng. Mech. Div. 85(EM3), 1959. OpenSees
    ``NewmarkHSFixedNumIter``; with one iteration and a linear specimen ``Newmark``.

    Examples
    --------
    >>> NewmarkImplicit(gamma=0.5, beta=1 / 6)
    Traceback (most recent call last):
    bondloop.errors.InputError: NewmarkImplicit: beta must be at least 0.25 for a stable scheme;
    found 0.166667 (gamma/2 is needed; NewmarkExplicit has beta = 0)
    """

    gamma: Parameter = Parameter(0.5, unit="1")
    beta: Parameter = Parameter(0.25, unit="1")
    iterations: int = 3
    path: int = 2

    opensees: ClassVar[str] = "NewmarkHSFixedNumIter"
    aliases: ClassVar[tuple[str, ...]] = ("Newmark", "constant average acceleration")

    def __post_init__(self) -> None:
        """Refuse parameters outside the stable range."""
        between(self, "gamma", self.gamma, 0.5, 1.0)
        remark = " (gamma/2 is needed; NewmarkExplicit has beta = 0)"
        between(self, "beta", self.beta, self.gamma / 2, math.inf, remark)
        check_iterations(self, self.iterations, self.path)
        super().__post_init__()

    @property
    def calls(self) -> int:
        """How often a step asks for the restoring force."""
        return self.iterations

    def advance(
        self,
        M: Array,
        C: Array,
        K: Array,
        period: float,
        motion: Motion,
        load: Callable[[float], Sequence[Expr]],
        restoring: Restoring,
    ) -> Stepped:
        """Write one step: a fixed number of commands, then a correction."""
        made = Iterations(0.0, self.beta, self.gamma, self.iterations, self.path)
        return made.advance((M, C, K), self.estimates(len(M)), period, motion, load, restoring)
