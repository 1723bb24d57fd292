"""Explicit schemes: central differences, Newmark's, CR and KR-α."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.engine.data import Parameter
from bondloop.engine.ir import ConstantMatrix, MatrixRow
from bondloop.integrate.base import check_period
from bondloop.integrate.structural.base import (
    Array,
    Estimating,
    Motion,
    Restoring,
    Scheme,
    Stepped,
    ask,
    assigned,
    between,
    combination,
    inverse,
    moved,
    named,
    regular_mass,
    solved,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bondloop.engine.ir import Expr, Var


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
        """Write one step: the specimen at u⁺, then the displacement after it."""
        h = check_period(period).value
        regular_mass(self, M, motion)
        left = M / h**2 + C / (2 * h)
        D = inverse(left, motion, "the effective mass M + h C / 2", "check the damping matrix")
        eye = np.eye(len(M))
        u, v, a = motion.displacement, motion.velocity, motion.acceleration
        ahead, beyond = named(motion, "ahead"), named(motion, "ahead@next")
        fastest = [w + h * b for w, b in zip(v, a, strict=True)]
        asking, r = ask(restoring, motion, ahead, fastest, "end")
        new_v, new_a = named(motion, "velocity@next"), named(motion, "acceleration@next")
        steps = [
            *asking,
            *solved(
                beyond,
                D,
                [(eye, load(1.0)), (-eye, r), (2 * M / h**2 - K, ahead), (C / (2 * h) - M / h**2, u)],
                motion,
                "unbalanced",
            ),
            *assigned(new_v, [(b - d) / (2 * h) for b, d in zip(beyond, u, strict=True)]),
            *assigned(new_a, [(b - 2 * n + d) / h**2 for b, n, d in zip(beyond, ahead, u, strict=True)]),
            moved(motion, ahead, new_v, new_a, dict(zip(ahead, beyond, strict=True))),
        ]
        first = [d + h * w + h**2 / 2 * b for d, w, b in zip(u, v, a, strict=True)]
        return Stepped(steps, dict.fromkeys(ahead, 0.0), list(ahead), dict(zip(ahead, first, strict=True)))


# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class


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
        """Write one step: predict, ask, solve for the acceleration."""
        h, g = check_period(period).value, self.gamma
        regular_mass(self, M, motion)
        D = inverse(M + g * h * C, motion, "the effective mass M + gamma h C", "check the damping matrix")
        eye = np.eye(len(M))
        u, v, a = motion.displacement, motion.velocity, motion.acceleration
        end, predicted = named(motion, "displacement@next"), named(motion, "velocity@predicted")
        new_v, new_a = named(motion, "velocity@next"), named(motion, "acceleration@next")
        fastest = [w + h * b for w, b in zip(v, a, strict=True)]
        asking, r = ask(restoring, motion, end, fastest, "end")
        steps = [
            *assigned(end, [d + h * w + h**2 / 2 * b for d, w, b in zip(u, v, a, strict=True)]),
            *assigned(predicted, [w + (1 - g) * h * b for w, b in zip(v, a, strict=True)]),
            *asking,
            *solved(
                new_a, D, [(eye, load(1.0)), (-eye, r), (-C, predicted), (-K, end)], motion, "unbalanced"
            ),
            *assigned(new_v, [w + g * h * b for w, b in zip(predicted, new_a, strict=True)]),
            moved(motion, end, new_v, new_a),
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
        """Write one step: move, ask, divide by the mass."""
        h = check_period(period).value
        over_mass = regular_mass(self, M, motion)
        Ks, Cs = self.estimates(len(M))
        effective = 4 * M + 2 * h * (C + Cs) + h**2 * (K + Ks)
        alpha = inverse(effective, motion, "the effective mass", "check stiffness and damping") @ (4 * M)
        u, v = motion.displacement, motion.velocity
        b, new_b, start = weighted_acceleration(motion, alpha)
        end, rate = named(motion, "displacement@next"), named(motion, "velocity@half")
        new_v, new_a = named(motion, "velocity@next"), named(motion, "acceleration@next")
        fastest = [w + h * q for w, q in zip(v, b, strict=True)]
        asking, r = ask(restoring, motion, end, fastest, "end")
        eye = np.eye(len(M))
        steps = [
            *assigned(end, [d + h * w + h**2 / 2 * q for d, w, q in zip(u, v, b, strict=True)]),
            *assigned(rate, [w + h / 2 * q for w, q in zip(v, b, strict=True)]),
            *asking,
            # The specimen was asked at v + h α a; C_s takes its force back to ẋ⁺.
            *solved(
                (*new_a, *new_b),
                np.vstack([over_mass, alpha @ over_mass]),
                [(eye, load(1.0)), (-eye, r), (-C, rate), (-K, end), (h / 2 * Cs, b)],
                motion,
                "unbalanced",
            ),
            *assigned(new_v, [w + h / 2 * q for w, q in zip(rate, new_b, strict=True)]),
            moved(motion, end, new_v, new_a, dict(zip(b, new_b, strict=True))),
        ]
        return Stepped(steps, dict.fromkeys(b, 0.0), list(end), start)


def weighted_acceleration(
    motion: Motion, alpha: Array
) -> tuple[tuple[Var, ...], tuple[Var, ...], dict[Var, Expr]]:
    """Return variables of α a now and at the end of the step, and its initial value."""
    b, after = named(motion, "weighted_acceleration"), named(motion, "weighted_acceleration@next")
    start: dict[Var, Expr] = {}
    matrix = ConstantMatrix(alpha, "alpha")
    for i, var in enumerate(b):
        start[var] = MatrixRow(matrix, i, motion.acceleration)
    return b, after, start


# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class


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
        """Write one step: move, ask, divide by the effective mass."""
        h, rho = check_period(period).value, self.rho_inf
        af, am = rho / (rho + 1), (2 * rho - 1) / (rho + 1)
        gamma = 0.5 - am + af
        beta = (0.5 + gamma) ** 2 / 4
        over_mass = regular_mass(self, M, motion)
        Ks, Cs = self.estimates(len(M))
        rest = gamma * h * (C + Cs) + beta * h**2 * (K + Ks)
        over_A = inverse(M + rest, motion, "the effective mass", "check stiffness and damping")
        alpha1 = over_A @ M
        # M (1 - α₃) = M A⁻¹ ((1 - α_m) M + (1 - α_f) (A - M))
        left = (1 - am) * M + (1 - af) * rest
        D = (
            inverse(left, motion, "the effective mass", "check stiffness and damping")
            @ (M + rest)
            @ over_mass
        )
        u, v, a = motion.displacement, motion.velocity, motion.acceleration
        b, new_b, starts = weighted_acceleration(motion, alpha1)
        g, new_g = named(motion, "weighted_force"), named(motion, "weighted_force@next")
        end, rate = named(motion, "displacement@next"), named(motion, "velocity@late")
        new_v, new_a = named(motion, "velocity@next"), named(motion, "acceleration@next")
        fastest = [w + h * q for w, q in zip(v, b, strict=True)]
        asking, r = ask(restoring, motion, end, fastest, "end")
        eye = np.eye(len(M))
        steps = [
            *assigned(end, [d + h * w + h**2 / 2 * q for d, w, q in zip(u, v, b, strict=True)]),
            *assigned(rate, [w + (1 - gamma) * h * q for w, q in zip(v, b, strict=True)]),
            *asking,
            *combination(new_g, [(-eye, load(1.0)), (eye, r), (C, rate), (K, end), (-gamma * h * Cs, b)]),
            # M α₃ a = M (α_m b + α_f (a - b)) with b = α₁ a
            *solved(
                (*new_a, *new_b),
                -np.vstack([D, alpha1 @ D]),
                [((1 - af) * eye, new_g), (af * eye, g), (af * M, a), ((am - af) * M, b)],
                motion,
                "unbalanced",
            ),
            *assigned(new_v, [w + gamma * h * q for w, q in zip(rate, new_b, strict=True)]),
            moved(motion, end, new_v, new_a, dict(zip((*b, *g), (*new_b, *new_g), strict=True))),
        ]
        # In equilibrium at the start, with the late velocity v - γ h α₁ a.
        _, _, at_start = weighted_acceleration(motion, -M - gamma * h * (C + Cs) @ alpha1)
        starts.update(zip(g, at_start.values(), strict=True))
        return Stepped(steps, dict.fromkeys((*b, *g), 0.0), list(end), starts)
