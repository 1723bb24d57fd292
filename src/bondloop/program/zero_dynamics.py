"""Zero dynamics: what moves inside a system while its outputs are held, and whether it comes to rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ZeroDynamics", "judged"]

RESTING = 1e-7
"""A zero this near the imaginary axis, relative to the fastest one, counts as on it."""


@dataclass(frozen=True)
class ZeroDynamics:
    """What moves inside a system while its outputs are held: the dynamics of its inverse.

    Attributes
    ----------
    states
        Names of the states that the imposed motions leave free.
    zeros
        Their eigenvalues in rad/s: the zeros of the system.
    verdict
        ``"none"``, ``"stable"``, ``"marginal"`` (a zero on the imaginary axis) or ``"unstable"``.

    Examples
    --------
    >>> ZeroDynamics(("C.displacement",), np.array([-2.0 + 0j]), "stable").verdict
    'stable'
    """

    states: tuple[str, ...]
    zeros: NDArray[np.complex128]
    verdict: str

    @property
    def is_stable(self) -> bool:
        """Whether an error of the inverse's states dies out."""
        return self.verdict in ("none", "stable")

    def __str__(self) -> str:
        if self.verdict == "none":
            return "no zero dynamics: every state follows from the imposed motions"
        ends = {
            "stable": "stable, what is wrong at the start is forgotten",
            "marginal": "marginal, what is wrong at the start stays",
            "unstable": "unstable, the inputs that keep the outputs to their motions grow without bound",
        }
        zeros = ", ".join(f"{z:.4g}" if z.imag else f"{z.real:.4g}" for z in self.zeros[:6])
        more = ", ..." if len(self.zeros) > 6 else ""
        return f"zero dynamics of {', '.join(self.states)}: zeros {zeros}{more} rad/s; {ends[self.verdict]}"


def judged(states: tuple[str, ...], zeros: NDArray[np.complex128]) -> ZeroDynamics:
    """Judge zero dynamics by their eigenvalues."""
    size = RESTING * max(1.0, float(np.abs(zeros).max(initial=0.0)))
    worst = float(zeros.real.max(initial=-np.inf))
    verdict = "unstable" if worst > size else "marginal" if worst > -size else "stable"
    return ZeroDynamics(states, zeros, verdict if states else "none")
