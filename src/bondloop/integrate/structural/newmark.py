"""Newmark's implicit scheme with a fixed number of iterations."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bondloop.data.described import Parameter
from bondloop.integrate.structural.iterations import Iterations
from bondloop.integrate.structural.ranges import between, check_iterations
from bondloop.integrate.structural.specimen import Estimating

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bondloop.integrate.structural.base import Motion, Restoring, Stepped
    from bondloop.integrate.structural.matrices import Array
    from bondloop.program.expr import Expr

__all__ = ["NewmarkImplicit"]


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
