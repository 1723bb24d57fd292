"""Explicit schemes: central differences, Newmark's, CR and KR-α."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bondloop.engine.data import Parameter
from bondloop.integrate.structural.base import (
    EquationOfMotion,
    Estimating,
    Scheme,
    Stepped,
    Terms,
    assigned,
    between,
    combination,
)


@dataclass(frozen=True)
class CentralDifference(Scheme):
    """Central differences of the displacements, the oldest scheme of pseudo-dynamic testing.

    M (u⁺ - 2u + u⁻)/h² + C (u⁺ - u⁻)/(2h) + K u + r(u, v) = F  is solved for u⁺; velocity and acceleration
    are the differences. The scheme keeps u⁺ as a state, so that the motion is complete at every tick. The
    specimen is given the three-point backward difference as its velocity. Second order, stable for ω h ≤ 2,
    without numerical damping; with the same start it gives the motion of `NewmarkExplicit` with γ = 1/2.

    References
    ----------
    Takanashi et al., Nonlinear earthquake response analysis of structures by a computer-actuator on-line
    system, Bulletin of Earthquake Resistant Structure Research Center, University of Tokyo, 8, 1975.
    OpenSees ``CentralDifference``.

    Examples
    --------
    >>> from bondloop.integrate.structural import simulate_structure
    >>> free = simulate_structure(CentralDifference(), 1, 0, 4, period=0.5, steps=4, initial=(1, 0))
    >>> free.displacement[:, 0].tolist()
    [1.0, 0.5, -0.5, -1.0, -0.5]
    """

    opensees: ClassVar[str] = "CentralDifference"
    aliases: ClassVar[tuple[str, ...]] = ("CD",)
    explicit: ClassVar[bool] = True

    @property
    def limit(self) -> float:
        """Largest ω·period at which an undamped linear oscillator stays bounded."""
        return 2.0

    def advance(self, equation: EquationOfMotion) -> Stepped:
        """Write one step: the specimen at u⁺, then the displacement after it."""
        M, C, K, h = equation.M, equation.C, equation.K, equation.period
        equation.mass_inverse(self)
        left = M / h**2 + C / (2 * h)
        D = equation.inverse(left, "the effective mass M + h C / 2", "check the damping matrix")
        eye, u, v, a = equation.eye, equation.displacement, equation.velocity, equation.acceleration
        ahead, beyond = equation.named("ahead", "ahead@next")
        new_v, new_a = equation.named("velocity@next", "acceleration@next")
        request, r = equation.restoring_force(ahead, v + h * a, "end")
        known: Terms = [
            (eye, equation.load(1.0)),
            (-eye, r),
            (2 * M / h**2 - K, ahead),
            (C / (2 * h) - M / h**2, u),
        ]
        steps = [
            *request,
            *equation.solved(beyond, D, known, "unbalanced"),
            *assigned(new_v, (beyond - u) / (2 * h)),
            *assigned(new_a, (beyond - 2 * ahead + u) / h**2),
            equation.update(ahead, new_v, new_a, dict(zip(ahead, beyond, strict=True))),
        ]
        first = u + h * v + h**2 / 2 * a
        return Stepped(steps, dict.fromkeys(ahead, 0.0), list(ahead), dict(zip(ahead, first, strict=True)))


@dataclass(frozen=True)
class NewmarkExplicit(Scheme):
    """Newmark with β = 0: explicit in displacements, implicit in the numerical half's damping.

    u⁺ = u + h v + h²/2 a,  ṽ = v + (1 - γ) h a,  (M + γ h C) a⁺ = F⁺ - C ṽ - K u⁺ - r(u⁺, v + h a),
    v⁺ = ṽ + γ h a⁺. The specimen is given v + h a, which keeps a velocity-dependent specimen at second
    order (ṽ would not).

    Parameters
    ----------
    gamma
        1/2: second order, no numerical damping. Above, up to 1: first order and damped.

    References
    ----------
    Newmark, A method of computation for structural dynamics, ASCE J. Eng. Mech. Div. 85(EM3), 1959; the
    limit with damping: Hughes, The Finite Element Method, 1987, chapter 9. OpenSees
    ``NewmarkExplicit``.

    Examples
    --------
    >>> NewmarkExplicit().limit
    2.0
    >>> NewmarkExplicit(gamma=0.4)
    Traceback (most recent call last):
    bondloop.errors.InputError: NewmarkExplicit: gamma must be between 0.5 and 1 for a stable scheme;
    found 0.4
    """

    gamma: Parameter = Parameter(0.5, unit="1")

    opensees: ClassVar[str] = "NewmarkExplicit"
    explicit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse parameters outside the stable range."""
        between(self, "gamma", self.gamma, 0.5, 1.0)

    @property
    def limit(self) -> float:
        """Largest ω·period at which an undamped linear oscillator stays bounded."""
        return math.sqrt(2 / self.gamma)

    def advance(self, equation: EquationOfMotion) -> Stepped:
        """Write one step: predict, ask, solve for the acceleration."""
        h, g = equation.period, self.gamma
        equation.mass_inverse(self)
        left = equation.M + g * h * equation.C
        D = equation.inverse(left, "the effective mass M + gamma h C", "check the damping matrix")
        u, v, a = equation.displacement, equation.velocity, equation.acceleration
        end, predicted = equation.named("displacement@next", "velocity@predicted")
        new_v, new_a = equation.named("velocity@next", "acceleration@next")
        request, r = equation.restoring_force(end, v + h * a, "end")
        steps = [
            *assigned(end, u + h * v + h**2 / 2 * a),
            *assigned(predicted, v + (1 - g) * h * a),
            *request,
            *equation.solved(new_a, D, equation.unbalanced(1.0, r, predicted, end), "unbalanced"),
            *assigned(new_v, predicted + g * h * new_a),
            equation.update(end, new_v, new_a),
        ]
        return Stepped(steps, command=list(end))


@dataclass(frozen=True)
class ChenRicles(Estimating):
    """CR: explicit in displacement and velocity, with the poles of constant average acceleration.

    As published:  ẋ⁺ = ẋ + h α a,  x⁺ = x + h ẋ + h² α a,  M a⁺ + C ẋ⁺ + K x⁺ + r⁺ = F⁺,  with the matrix
    α = 4 (4 M + 2 h C + h² K)⁻¹ M. The published ẋ is the backward difference of x, the velocity half a step
    earlier: taken for the velocity at the step it spoils a start with an acceleration, and is first order.
    The motion here carries v = ẋ + h/2 α a instead, the same algorithm in other variables:

    u⁺ = u + h v + h²/2 α a,  ẋ⁺ = v + h/2 α a,  v⁺ = ẋ⁺ + h/2 α a⁺,

    of second order in displacement and velocity. K and C in α include the estimates of the specimen. No
    numerical damping. A specimen that is stiffer than estimated brings the limit of `AlphaOS` back.

    Parameters
    ----------
    specimen_stiffness, specimen_damping
        Estimates K_s, C_s; see `Estimating`.

    References
    ----------
    Chen and Ricles, Development of direct integration algorithms for structural dynamics using discrete
    control theory, ASCE J. Eng. Mech. 134(8), 2008.

    Examples
    --------
    >>> from bondloop.integrate.structural import simulate_structure
    >>> free = simulate_structure(ChenRicles(), 1, 0, 4, period=1, steps=4, initial=(1, 0))
    >>> free.displacement[:, 0].round(12).tolist()  # cos θ = (1 - 1) / (1 + 1): a quarter turn a step
    [1.0, 0.0, -1.0, 0.0, 1.0]
    """

    aliases: ClassVar[tuple[str, ...]] = ("CR",)
    explicit: ClassVar[bool] = True

    def advance(self, equation: EquationOfMotion) -> Stepped:
        """Write one step: move, ask, divide by the mass."""
        M, h = equation.M, equation.period
        over_mass = equation.mass_inverse(self)
        Ks, Cs = self.estimates(len(M))
        effective = 4 * M + 2 * h * (equation.C + Cs) + h**2 * (equation.K + Ks)
        alpha = equation.inverse(effective, "the effective mass", "check stiffness and damping") @ (4 * M)
        u, v = equation.displacement, equation.velocity
        b, new_b = equation.named("weighted_acceleration", "weighted_acceleration@next")
        end, rate = equation.named("displacement@next", "velocity@half")
        new_v, new_a = equation.named("velocity@next", "acceleration@next")
        request, r = equation.restoring_force(end, v + h * b, "end")
        # The specimen was asked at v + h α a; C_s takes its force back to ẋ⁺.
        known = [*equation.unbalanced(1.0, r, rate, end), (h / 2 * Cs, b)]
        both = np.concatenate([new_a, new_b])
        steps = [
            *assigned(end, u + h * v + h**2 / 2 * b),
            *assigned(rate, v + h / 2 * b),
            *request,
            *equation.solved(both, np.vstack([over_mass, alpha @ over_mass]), known, "unbalanced"),
            *assigned(new_v, rate + h / 2 * new_b),
            equation.update(end, new_v, new_a, dict(zip(b, new_b, strict=True))),
        ]
        starts = equation.of_acceleration(alpha, "alpha", b)
        return Stepped(steps, dict.fromkeys(b, 0.0), list(end), starts)


@dataclass(frozen=True)
class KRAlpha(Estimating):
    """KR-α: explicit, with the poles of the generalised-α scheme.

    As published:  ẋ⁺ = ẋ + h α₁ a,  x⁺ = x + h ẋ + h² (1/2 + γ) α₁ a, and at the end of the step, with
    forces weighted (1 - α_f) new and α_f old,

    M (a⁺ - α₃ a⁺ + α₃ a) + (1 - α_f) g⁺ + α_f g = 0,  g = C ẋ + K x + r - F,
    α₁ = A⁻¹ M,  α₃ = A⁻¹ (α_m M + α_f (A - M)),  A = M + γ h C + β h² K,
    α_f = ρ/(ρ + 1),  α_m = (2ρ - 1)/(ρ + 1),  γ = 1/2 - α_m + α_f,  β = (1/2 + γ)²/4.

    As in `ChenRicles` the published ẋ lags, here by γ h; the motion carries v = ẋ + γ h α₁ a, the velocity
    at the step. Second order in displacement and velocity; the acceleration is that of (1/2 - γ) h later.

    Parameters
    ----------
    rho_inf
        Spectral radius at infinite frequency: 1 no numerical damping, 0 most.
    specimen_stiffness, specimen_damping
        Estimates; they join K and C in the parameter matrices. See `Estimating`.

    References
    ----------
    Kolay and Ricles, Development of a family of unconditionally stable explicit direct integration
    algorithms with controllable numerical energy dissipation, EESD 43, 2014. OpenSees ``KRAlphaExplicit``.

    Notes
    -----
    Displacements from rest are OpenSees' to the last digit, for every ρ. Its velocities are the published
    ones, which lag by γ h; a test that starts with a velocity, or out of balance, is another one there.

    Examples
    --------
    >>> from bondloop.integrate.structural import find_scheme
    >>> find_scheme("KRAlphaExplicit").__name__
    'KRAlpha'
    """

    rho_inf: Parameter = Parameter(0.5, unit="1")

    opensees: ClassVar[str] = "KRAlphaExplicit"
    aliases: ClassVar[tuple[str, ...]] = ("KR-alpha",)
    explicit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse parameters outside the stable range."""
        between(self, "rho_inf", self.rho_inf, 0.0, 1.0)
        super().__post_init__()

    def advance(self, equation: EquationOfMotion) -> Stepped:
        """Write one step: move, ask, divide by the effective mass."""
        M, C, K, h, rho = equation.M, equation.C, equation.K, equation.period, self.rho_inf
        af, am = rho / (rho + 1), (2 * rho - 1) / (rho + 1)
        gamma = 0.5 - am + af
        beta = (0.5 + gamma) ** 2 / 4
        what, remedy = "the effective mass", "check stiffness and damping"
        over_mass = equation.mass_inverse(self)
        Ks, Cs = self.estimates(len(M))
        rest = gamma * h * (C + Cs) + beta * h**2 * (K + Ks)
        alpha1 = equation.inverse(M + rest, what, remedy) @ M
        # M (1 - α₃) = M A⁻¹ ((1 - α_m) M + (1 - α_f) (A - M))
        D = equation.inverse((1 - am) * M + (1 - af) * rest, what, remedy) @ (M + rest) @ over_mass
        eye, u, v, a = equation.eye, equation.displacement, equation.velocity, equation.acceleration
        b, new_b = equation.named("weighted_acceleration", "weighted_acceleration@next")
        g, new_g = equation.named("weighted_force", "weighted_force@next")
        end, rate = equation.named("displacement@next", "velocity@late")
        new_v, new_a = equation.named("velocity@next", "acceleration@next")
        request, r = equation.restoring_force(end, v + h * b, "end")
        forces: Terms = [(-eye, equation.load(1.0)), (eye, r), (C, rate), (K, end), (-gamma * h * Cs, b)]
        # M α₃ a = M (α_m b + α_f (a - b)) with b = α₁ a
        known: Terms = [((1 - af) * eye, new_g), (af * eye, g), (af * M, a), ((am - af) * M, b)]
        both = np.concatenate([new_a, new_b])
        own = dict(zip((*b, *g), (*new_b, *new_g), strict=True))
        steps = [
            *assigned(end, u + h * v + h**2 / 2 * b),
            *assigned(rate, v + (1 - gamma) * h * b),
            *request,
            *combination(new_g, forces),
            *equation.solved(both, -np.vstack([D, alpha1 @ D]), known, "unbalanced"),
            *assigned(new_v, rate + gamma * h * new_b),
            equation.update(end, new_v, new_a, own),
        ]
        # In equilibrium at the start, with the late velocity v - γ h α₁ a.
        starts = equation.of_acceleration(alpha1, "alpha", b)
        starts |= equation.of_acceleration(-M - gamma * h * (C + Cs) @ alpha1, "alpha", g)
        return Stepped(steps, dict.fromkeys(own, 0.0), list(end), starts)
