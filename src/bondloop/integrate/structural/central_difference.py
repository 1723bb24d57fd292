"""The central difference method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.integrate.base import check_period
from bondloop.integrate.structural.base import (
    Motion,
    Restoring,
    Scheme,
    Stepped,
    ask,
    assigned,
    moved,
    named,
    solved,
)
from bondloop.integrate.structural.matrices import Array, inverse, regular_mass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bondloop.engine.ir import Expr


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
