"""Chen and Ricles' explicit, unconditionally stable scheme (CR)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.engine.ir import ConstantMatrix, MatrixRow
from bondloop.integrate.base import check_period
from bondloop.integrate.structural.base import (
    Estimating,
    Motion,
    Restoring,
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

    from bondloop.engine.ir import Expr, Var


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
