"""The HHT-α scheme with a fixed number of iterations."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bondloop.data.described import Parameter
from bondloop.integrate.structural.iterations import Iterations
from bondloop.integrate.structural.ranges import check_alpha, check_iterations
from bondloop.integrate.structural.specimen import Estimating

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bondloop.integrate.structural.base import Motion, Restoring, Stepped
    from bondloop.integrate.structural.matrices import Array
    from bondloop.program.expr import Expr

__all__ = ["HHTAlpha"]


@dataclass(frozen=True)
class HHTAlpha(Estimating):
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
        x = self.alpha
        made = Iterations(x, (1 - x) ** 2 / 4, 0.5 - x, self.iterations, self.path)
        return made.advance((M, C, K), self.estimates(len(M)), period, motion, load, restoring)
