"""Schemes that solve for the end of the step: HHT-α, Newmark, α-operator splitting, Rosenbrock.

HHT-α and Newmark ask for a fixed number of commands on a smooth path.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.engine.data import Parameter
from bondloop.engine.ir import ConstantMatrix, Expr, MatrixRow, Var
from bondloop.integrate.base import check_period
from bondloop.integrate.structural.base import (
    Array,
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
    inverse,
    moved,
    named,
    regular_mass,
    solved,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bondloop.engine.ir import Expr, Step


# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class


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


# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class


@dataclass(frozen=True)
class AlphaOS(Estimating):
    """α-operator splitting: implicit for the numerical half, one explicit command, no iteration.

    The specimen is driven to the predictor ũ = u + h v + h² (1/2 - β) a and its force at the end of the
    step is taken as r⁺ = r(ũ, v + h a) + K_s (u⁺ - ũ) + C_s (v⁺ - v - h a). With it the HHT-α equation

    M a⁺ + (1 + α) (C v⁺ + K u⁺ + r⁺ - F⁺) - α (C v + K u + r - F) = 0

    is linear and solved once; β = (1 - α)²/4, γ = 1/2 - α. Second order; for a linear specimen
    unconditionally stable if K_s is at least its stiffness; otherwise, at α = 0, for h² (k - K_s) < 4 m.

    Parameters
    ----------
    alpha
        From -1/3 (most numerical damping) to 0 (none). OpenSees' α is 1 + alpha.
    specimen_stiffness, specimen_damping
        Estimates K_s, C_s; see `Estimating`.

    References
    ----------
    Combescure and Pegon, α-operator splitting time integration technique for pseudodynamic testing: error
    propagation analysis, Soil Dynamics and Earthquake Engineering 16, 1997. OpenSees ``AlphaOS`` (which
    asks at the α-point instead of weighting the forces; the same for a linear specimen).

    Examples
    --------
    >>> AlphaOS(-0.1, specimen_stiffness=4e5).describe()["alpha"]
    -0.1
    """

    alpha: Parameter = Parameter(0.0, unit="1")

    opensees: ClassVar[str] = "AlphaOS"
    aliases: ClassVar[tuple[str, ...]] = ("alpha-OS", "operator splitting")

    def __post_init__(self) -> None:
        """Refuse parameters outside the stable range."""
        check_alpha(self, self.alpha)
        super().__post_init__()

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
        """Write one step: predict, ask, solve once."""
        h, x = check_period(period).value, self.alpha
        beta, gamma = (1 - x) ** 2 / 4, 0.5 - x
        Ks, Cs = self.estimates(len(M))
        E = M + (1 + x) * (gamma * h * (C + Cs) + beta * h**2 * (K + Ks))
        D = inverse(E, motion, "the effective mass", "give it mass, stiffness or damping")
        u, v, a = motion.displacement, motion.velocity, motion.acceleration
        ahead, predicted = named(motion, "displacement@predicted"), named(motion, "velocity@predicted")
        new_u, new_v, new_a = (
            named(motion, f"{word}@next") for word in ("displacement", "velocity", "acceleration")
        )
        fastest = [w + h * b for w, b in zip(v, a, strict=True)]
        asking, r = ask(restoring, motion, ahead, fastest, "predicted")
        g, steps_g, next_g, start_g = weighted_forces(motion, M, x, new_a)
        eye = np.eye(len(M))
        steps = [
            *assigned(ahead, [d + h * w + h**2 * (0.5 - beta) * b for d, w, b in zip(u, v, a, strict=True)]),
            *assigned(predicted, [w + (1 - gamma) * h * b for w, b in zip(v, a, strict=True)]),
            *asking,
            # ṽ - (v + h a) = -γ h a: what C_s makes of it belongs to the right-hand side.
            *solved(
                new_a,
                (1 + x) * D,
                [
                    (eye, load(1.0)), (-eye, r), (-C, predicted), (-K, ahead), (gamma * h * Cs, a),
                    (x / (1 + x) * eye, g),
                ],
                motion,
                "unbalanced",
            ),
            *assigned(new_u, [d + beta * h**2 * b for d, b in zip(ahead, new_a, strict=True)]),
            *assigned(new_v, [w + gamma * h * b for w, b in zip(predicted, new_a, strict=True)]),
            *steps_g,
            moved(motion, new_u, new_v, new_a, next_g),
        ]  # fmt: skip
        return Stepped(steps, dict.fromkeys(g, 0.0), list(ahead), start_g)


# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class


@dataclass(frozen=True)
class Rosenbrock(Estimating):
    """Linearly implicit, two stages, the second at the middle of the step: LSRT2.

    For ẏ = f(y, t), y = (u, v), with J the Jacobian of the numerical half and of the estimates:

    (1 - γ h J) k₁ = h f(y, t),  (1 - γ h J) k₂ = h (f(y + k₁/2, t + h/2) - γ J k₁),  y⁺ = y + k₂.

    Second order whatever J is (a W-method), so the estimates of the specimen decide about stability alone.
    Stability function, for an exact J: R(z) = (1 + (1 - 2γ) z + (γ² - 2γ + 1/2) z²) / (1 - γ z)².

    Parameters
    ----------
    rho_inf
        Spectral radius at infinite frequency: γ = 1 / (2 + √(2 + 2 ρ)); 0 is the L-stable LSRT2, γ = 1 -
        √2/2.
    specimen_stiffness, specimen_damping
        Estimates; see `Estimating`.

    References
    ----------
    Bursi, Gonzalez-Buelga, Vulcan, Neild and Wagg, Novel coupling Rosenbrock-based algorithms for real-time
    dynamic substructure testing, EESD 37, 2008.

    Examples
    --------
    >>> print(f"{Rosenbrock().gamma:.4f} {Rosenbrock(1.0).gamma:.4f}")
    0.2929 0.2500
    """

    rho_inf: Parameter = Parameter(0.0, unit="1")

    aliases: ClassVar[tuple[str, ...]] = ("LSRT2",)
    explicit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse parameters outside the stable range."""
        between(self, "rho_inf", self.rho_inf, 0.0, 1.0)
        super().__post_init__()

    @property
    def calls(self) -> int:
        """How often a step asks for the restoring force: at its middle and at its end."""
        return 2

    @property
    def gamma(self) -> float:
        """The coefficient γ."""
        return 1 / (2 + math.sqrt(2 + 2 * self.rho_inf))

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
        """Write one step: to its middle, ask, to its end, ask."""
        h, x = check_period(period).value, self.gamma
        over_mass = regular_mass(self, M, motion)
        Ks, Cs = self.estimates(len(M))
        Ct, Kt = C + Cs, K + Ks
        E = M + x * h * Ct + (x * h) ** 2 * Kt
        D = inverse(E, motion, "the effective mass", "check stiffness and damping")
        u, v, a = motion.displacement, motion.velocity, motion.acceleration
        # k = (kᵤ, kᵥ): E kᵥ = h M q - γ h² K p and kᵤ = h p + γ h kᵥ for the right-hand side h (p, q).
        ku, kv = named(motion, "displacement@slope"), named(motion, "velocity@slope")
        middle, speed = named(motion, "displacement@middle"), named(motion, "velocity@middle")
        p, change = named(motion, "velocity@stage"), named(motion, "velocity@change")
        asking, r = ask(restoring, motion, middle, speed, "middle")
        new_u, new_v, new_a = (
            named(motion, f"{word}@next") for word in ("displacement", "velocity", "acceleration")
        )
        ending, r_end = ask(restoring, motion, new_u, new_v, "end")
        eye, known = np.eye(len(M)), [(M, a), (-x * h * Kt, v)]
        stage: list[tuple[Array, Sequence[Expr]]] = [
            (eye, load(0.5)), (-eye, r), (-C, speed), (-K, middle),
            (x * Kt, ku), (x * Ct, kv), (-x * h * Kt, p),
        ]  # fmt: skip
        balance = [(eye, load(1.0)), (-eye, r_end), (-C, new_v), (-K, new_u)]
        steps = [
            *solved(kv, h * D, known, motion, "unbalanced@slope"),
            *assigned(ku, [h * w + x * h * k for w, k in zip(v, kv, strict=True)]),
            *assigned(middle, [d + 0.5 * k for d, k in zip(u, ku, strict=True)]),
            *assigned(speed, [w + 0.5 * k for w, k in zip(v, kv, strict=True)]),
            *asking,
            *assigned(p, [w - x * k for w, k in zip(speed, kv, strict=True)]),
            *solved(change, h * D, stage, motion, "unbalanced@middle"),
            *assigned(new_u, [d + h * w + x * h * k for d, w, k in zip(u, p, change, strict=True)]),
            *assigned(new_v, [w + k for w, k in zip(v, change, strict=True)]),
            *ending,
            *solved(new_a, over_mass, balance, motion, "unbalanced@end"),
            moved(motion, new_u, new_v, new_a),
        ]
        return Stepped(steps, command=list(new_u))
