"""Kolay and Ricles' explicit scheme with controlled numerical damping (KR-α)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.engine.data import Parameter
from bondloop.integrate.base import check_period
from bondloop.integrate.structural.base import (
    Estimating,
    Motion,
    Restoring,
    Stepped,
    ask,
    assigned,
    between,
    combination,
    moved,
    named,
    solved,
)
from bondloop.integrate.structural.chen_ricles import weighted_acceleration
from bondloop.integrate.structural.matrices import Array, inverse, regular_mass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bondloop.engine.ir import Expr


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
