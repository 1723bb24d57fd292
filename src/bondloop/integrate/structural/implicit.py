"""Schemes that solve for the end of the step: HHT-α, Newmark, α-operator splitting, Rosenbrock.

HHT-α and Newmark ask for a fixed number of commands on a smooth path.
"""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bondloop.engine.data import Parameter
from bondloop.errors import InputError
from bondloop.integrate.structural.base import (
    EquationOfMotion,
    Estimating,
    Stepped,
    Terms,
    Vector,
    assigned,
    between,
    check_alpha,
    combination,
)

if TYPE_CHECKING:
    from bondloop.engine.ir import Expr, Step, Var


class _FixedIterations(Estimating, family="scheme"):
    """An implicit step with a fixed number of commands; α, β, γ as in `HHTAlpha`, Newmark's α being 0.

    With u⁺ = ũ + β h² a⁺ and v⁺ = ṽ + γ h a⁺ each iteration is a⁺ = a° - P (r* - K_s u* - C_s v*): what
    does not depend on the specimen, f°, is computed once.
    """

    iterations: int
    path: int

    def __post_init__(self) -> None:
        """Refuse a number of iterations or an order of the path that cannot be."""
        name, path = type(self).__name__, self.path
        count: object = self.iterations
        if not isinstance(count, int) or count < 1:
            raise InputError(f"{name}: iterations must be a whole number from 1 up; found {count!r}")
        if path not in (1, 2):
            raise InputError(
                f"{name}: path must be 1 or 2, the order of the polynomial of commands; found {path!r}"
            )
        super().__post_init__()

    @property
    @abstractmethod
    def weights(self) -> tuple[float, float, float]:
        """Return α, β and γ."""

    @property
    def calls(self) -> int:
        """How often a step asks for the restoring force."""
        return self.iterations

    def advance(self, equation: EquationOfMotion) -> Stepped:
        """Write one step: a fixed number of commands, then a correction."""
        M, C, K, h, N = equation.M, equation.C, equation.K, equation.period, self.iterations
        x, beta, gamma = self.weights
        Ks, Cs = self.estimates(len(M))
        E = M + (1 + x) * (gamma * h * (C + Cs) + beta * h**2 * (K + Ks))
        P = (1 + x) * equation.inverse(E, "the effective mass", "give it mass, stiffness or damping")
        eye, u, v, a = equation.eye, equation.displacement, equation.velocity, equation.acceleration
        predicted_u, predicted_v = equation.named("displacement@predicted", "velocity@predicted")
        free, old, new_a = equation.named("unbalanced@free", "previous", "acceleration@next")
        g, steps_g, own, starts = _weighted_forces(equation, x, new_a)
        if self.path == 2 and N > 1:
            own.update(zip(old, u, strict=True))
            starts.update(zip(old, u - h * v + h**2 / 2 * a, strict=True))
        without = [(-C - Cs, predicted_v), (-K - Ks, predicted_u), (x / (1 + x) * eye, g)]
        steps: list[Step] = [
            *assigned(predicted_u, u + h * v + h**2 * (0.5 - beta) * a),
            *assigned(predicted_v, v + (1 - gamma) * h * a),
            *combination(free, [(eye, equation.load(1.0)), *without]),
        ]

        def end(target: Vector, label: str) -> tuple[Vector, Vector]:
            """Displacement and velocity at the end of the step that go with an acceleration there."""
            end_u, end_v = equation.named(f"displacement@{label}", f"velocity@{label}")
            steps.extend(assigned(end_u, predicted_u + beta * h**2 * target))
            steps.extend(assigned(end_v, predicted_v + gamma * h * target))
            return end_u, end_v

        # The force at the beginning of the step follows from its equilibrium, r = g - C v - K u + F.
        [target] = equation.named("acceleration@1")
        known: Terms = [(eye, free), (-eye, g), (C + Cs, v), (K + Ks, u), (-eye, equation.load(0.0))]
        steps += equation.solved(target, P, known, "unbalanced@1")
        for i in range(1, N + 1):
            command, velocity = end(target, str(i))
            if i < N:
                way, speeds = self._on_the_way(i / N, (u, command), (v, velocity), old)
                command, velocity = equation.named(f"displacement@command {i}", f"velocity@command {i}")
                steps += [*assigned(command, way), *assigned(velocity, speeds)]
            request, r = equation.restoring_force(command, velocity, f"iteration {i}")
            target = new_a if i == N else equation.named(f"acceleration@{i + 1}")[0]
            measured: Terms = [(eye, free), (-eye, r), (Ks, command), (Cs, velocity)]
            steps += [*request, *equation.solved(target, P, measured, f"unbalanced@{i + 1}")]
        end_u, end_v = end(new_a, "next")
        steps += [*steps_g, equation.update(end_u, end_v, new_a, own)]
        return Stepped(steps, dict.fromkeys(own, 0.0), list(command), starts)

    def _on_the_way(
        self, x: float, u: tuple[Vector, Vector], v: tuple[Vector, Vector], old: Vector
    ) -> tuple[Vector, Vector]:
        """Displacement and velocity at a fraction of the way from the beginning of the step to its end."""
        now, end = u
        speeds = v[0] + x * (v[1] - v[0])
        if self.path == 1:
            return now + x * (end - now), speeds
        return x * (x + 1) / 2 * end + (1 - x**2) * now + x * (x - 1) / 2 * old, speeds


def _weighted_forces(
    equation: EquationOfMotion, alpha: float, acceleration: Vector
) -> tuple[Vector, list[Step], dict[Var, Expr], dict[Var, Expr]]:
    """Carry g = C v + K u + r - F, which the α-weighted equation needs from the step before.

    The equation itself gives g⁺ = (α g - M a⁺) / (1 + α); at the start, in equilibrium, g = -M a.
    Returned are its variables, the statements that compute its next value, the update, its initial value.
    """
    g, after = equation.named("weighted_force", "weighted_force@next")
    terms = [(-equation.M / (1 + alpha), acceleration), (alpha / (1 + alpha) * equation.eye, g)]
    starts = equation.of_acceleration(-equation.M, "mass", g)
    return g, combination(after, terms), dict(zip(g, after, strict=True)), starts


@dataclass(frozen=True)
class HHTAlpha(_FixedIterations):
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
        super().__post_init__()

    @property
    def weights(self) -> tuple[float, float, float]:
        """Return α, β and γ."""
        return self.alpha, (1 - self.alpha) ** 2 / 4, 0.5 - self.alpha


@dataclass(frozen=True)
class NewmarkImplicit(_FixedIterations):
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
        super().__post_init__()

    @property
    def weights(self) -> tuple[float, float, float]:
        """Return α = 0, β and γ."""
        return 0.0, self.beta, self.gamma


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

    def advance(self, equation: EquationOfMotion) -> Stepped:
        """Write one step: predict, ask, solve once."""
        M, C, K, h, x = equation.M, equation.C, equation.K, equation.period, self.alpha
        beta, gamma = (1 - x) ** 2 / 4, 0.5 - x
        Ks, Cs = self.estimates(len(M))
        E = M + (1 + x) * (gamma * h * (C + Cs) + beta * h**2 * (K + Ks))
        D = equation.inverse(E, "the effective mass", "give it mass, stiffness or damping")
        u, v, a = equation.displacement, equation.velocity, equation.acceleration
        ahead, predicted = equation.named("displacement@predicted", "velocity@predicted")
        new_u, new_v, new_a = equation.named("displacement@next", "velocity@next", "acceleration@next")
        request, r = equation.restoring_force(ahead, v + h * a, "predicted")
        g, steps_g, own, starts = _weighted_forces(equation, x, new_a)
        # ṽ - (v + h a) = -γ h a: what C_s makes of it belongs to the right-hand side.
        known = equation.unbalanced(1.0, r, predicted, ahead)
        known += [(gamma * h * Cs, a), (x / (1 + x) * equation.eye, g)]
        steps = [
            *assigned(ahead, u + h * v + h**2 * (0.5 - beta) * a),
            *assigned(predicted, v + (1 - gamma) * h * a),
            *request,
            *equation.solved(new_a, (1 + x) * D, known, "unbalanced"),
            *assigned(new_u, ahead + beta * h**2 * new_a),
            *assigned(new_v, predicted + gamma * h * new_a),
            *steps_g,
            equation.update(new_u, new_v, new_a, own),
        ]
        return Stepped(steps, dict.fromkeys(g, 0.0), list(ahead), starts)


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

    def advance(self, equation: EquationOfMotion) -> Stepped:
        """Write one step: to its middle, ask, to its end, ask."""
        M, h, x = equation.M, equation.period, self.gamma
        over_mass = equation.mass_inverse(self)
        Ks, Cs = self.estimates(len(M))
        Ct, Kt = equation.C + Cs, equation.K + Ks
        E = M + x * h * Ct + (x * h) ** 2 * Kt
        D = equation.inverse(E, "the effective mass", "check stiffness and damping")
        u, v, a = equation.displacement, equation.velocity, equation.acceleration
        # k = (kᵤ, kᵥ): E kᵥ = h M q - γ h² K p and kᵤ = h p + γ h kᵥ for the right-hand side h (p, q).
        ku, kv = equation.named("displacement@slope", "velocity@slope")
        middle, speed = equation.named("displacement@middle", "velocity@middle")
        p, change = equation.named("velocity@stage", "velocity@change")
        request, r = equation.restoring_force(middle, speed, "middle")
        new_u, new_v, new_a = equation.named("displacement@next", "velocity@next", "acceleration@next")
        ending, r_end = equation.restoring_force(new_u, new_v, "end")
        stage = [*equation.unbalanced(0.5, r, speed, middle), (x * Kt, ku), (x * Ct, kv), (-x * h * Kt, p)]
        balance = equation.unbalanced(1.0, r_end, new_v, new_u)
        steps = [
            *equation.solved(kv, h * D, [(M, a), (-x * h * Kt, v)], "unbalanced@slope"),
            *assigned(ku, h * v + x * h * kv),
            *assigned(middle, u + 0.5 * ku),
            *assigned(speed, v + 0.5 * kv),
            *request,
            *assigned(p, speed - x * kv),
            *equation.solved(change, h * D, stage, "unbalanced@middle"),
            *assigned(new_u, u + h * p + x * h * change),
            *assigned(new_v, v + change),
            *ending,
            *equation.solved(new_a, over_mass, balance, "unbalanced@end"),
            equation.update(new_u, new_v, new_a),
        ]
        return Stepped(steps, command=list(new_u))
