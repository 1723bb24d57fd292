"""Zero dynamics: what moves inside a system while its outputs are held, and whether it comes to rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis.one_mode import local_space, without_idle
from bondloop.engine.ir import IMAGINARY_AXIS
from bondloop.errors import InputError, SolveError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.ir import SystemData


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


def zero_dynamics(
    system: SystemData,
    states: Mapping[str, float] | ArrayLike | None = None,
    inputs: Mapping[str, float] | ArrayLike | None = None,
    values: Mapping[str, float] | None = None,
) -> ZeroDynamics:
    """Return and judge what the imposed motions of an inverse leave free.

    How far a stop has come that cannot switch here is no part of it.

    Parameters
    ----------
    system
        The inverse.
    states, inputs, values
        The operating point and the values of parameters, as for ``linearise``.
    """
    if system.inversion is None:
        raise InputError(
            f"{system.name} imposes no motions, so it has no zero dynamics: take those of its inverse, "
            "system.inverse(output, input).zero_dynamics()"
        )
    mode, kept = without_idle(system, system.inversion.rules)
    if not kept:
        return judged((), np.zeros(0, dtype=complex))
    x = system.initial(states)[kept]
    try:
        space = local_space(mode, x, inputs, values)
    except SolveError as error:
        u = system.operating_inputs(inputs).tolist()
        point = ", ".join(f"{name} = {value:.6g}" for name, value in zip(system.inputs, u, strict=True))
        raise SolveError(f"{system.name} at {point}: {error}") from error
    return judged(mode.states, space.poles())


def judged(states: tuple[str, ...], zeros: NDArray[np.complex128]) -> ZeroDynamics:
    """Judge zero dynamics by their eigenvalues."""
    size = IMAGINARY_AXIS * max(1.0, float(np.abs(zeros).max(initial=0.0)))
    worst = float(zeros.real.max(initial=-np.inf))
    verdict = "unstable" if worst > size else "marginal" if worst > -size else "stable"
    return ZeroDynamics(states, zeros, verdict if states else "none")
