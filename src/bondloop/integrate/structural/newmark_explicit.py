"""Newmark's explicit scheme."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.engine.data import Parameter
from bondloop.integrate.base import check_period
from bondloop.integrate.structural.base import (
    Motion,
    Restoring,
    Scheme,
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
