"""The α-operator-splitting scheme."""

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
    check_alpha,
    moved,
    named,
    solved,
)
from bondloop.integrate.structural.implicit import weighted_forces
from bondloop.integrate.structural.matrices import Array, inverse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bondloop.engine.ir import Expr


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
