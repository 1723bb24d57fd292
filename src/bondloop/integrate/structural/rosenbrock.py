"""The two-stage real-time Rosenbrock scheme (LSRT2)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
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
    moved,
    named,
    solved,
)
from bondloop.integrate.structural.matrices import Array, inverse, regular_mass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bondloop.engine.ir import Expr


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
