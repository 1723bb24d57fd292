"""Schemes for M ü + C u̇ + K u + r(u, u̇) = F, the form in which hybrid simulation knows them.

The restoring force ``r`` belongs to the specimen: an expression in a rehearsal of the scheme alone, a rig in a
hybrid test. A scheme asks for it by handing over trial displacements and velocities and gets statements and forces
back; how often it asks is fixed, so its work is bounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bondloop.errors import InputError
from bondloop.program.expr import Expr, Var
from bondloop.program.tick import Product, Step

__all__ = ["Motion", "Restoring", "Scheme", "Stepped", "combination"]

Restoring = Callable[[Sequence[Expr], Sequence[Expr], str], tuple[list[Step], list[Expr]]]
"""``restoring(displacements, velocities, label)`` gives statements and the forces r after them, one per degree of
freedom. ``label`` is unique to the call and goes into variable names."""


@dataclass(frozen=True)
class Motion:
    """The state of a structure: displacements, velocities, accelerations; variables that the tick keeps."""

    displacement: tuple[Var, ...]
    velocity: tuple[Var, ...]
    acceleration: tuple[Var, ...]

    @classmethod
    def named(cls, dofs: Sequence[str], prefix: str = "numerical.") -> Motion:
        """Variables named after degrees of freedom: ``numerical.tip.uy.displacement``."""
        return cls(
            *(
                tuple(Var(f"{prefix}{d}.{word}") for d in dofs)
                for word in ("displacement", "velocity", "acceleration")
            )
        )


@dataclass
class Stepped:
    """One step of a scheme.

    Attributes
    ----------
    steps
        Statements; they end with an update of all states.
    states
        Variables of the scheme's own beyond the motion, with initial values.
    command
        The displacements with which the restoring force was last asked for.
    """

    steps: list[Step] = field(default_factory=list)
    states: dict[Var, float] = field(default_factory=dict)
    command: list[Expr] = field(default_factory=list)


class Scheme(ABC):
    """A time-stepping scheme for structures, one per file."""

    order: ClassVar[int] = 2
    """Order of accuracy."""
    opensees: ClassVar[str] = ""
    """Name of the scheme in OpenSees, by which users may look for it."""

    @abstractmethod
    def advance(
        self,
        M: NDArray[np.float64],
        C: NDArray[np.float64],
        K: NDArray[np.float64],
        period: float,
        motion: Motion,
        load: Callable[[float], Sequence[Expr]],
        restoring: Restoring,
    ) -> Stepped:
        """Write one step from t to t + period.

        Parameters
        ----------
        M, C, K
            Matrices of the numerical half; ``K`` may also serve as the initial stiffness that a scheme needs.
        period
            Time step in seconds.
        motion
            The states at t.
        load
            External forces at a fraction of the step, one per degree of freedom.
        restoring
            Gives the specimen's forces.
        """

    def describe(self) -> dict[str, Any]:
        """Description for run files."""
        return {"scheme": type(self).__name__}


def combination(targets: Sequence[Var], terms: Sequence[tuple[ArrayLike, Sequence[Expr]]]) -> list[Step]:
    """Statements for ``targets = sum of matrix @ vector`` over terms, as one constant matrix product."""
    n = len(targets)
    blocks: list[NDArray[np.float64]] = []
    sources: list[Expr] = []
    for matrix, vector in terms:
        block = np.atleast_2d(np.asarray(matrix, dtype=float))
        if block.shape != (n, len(vector)):
            raise InputError(
                f"a matrix of shape {block.shape} does not fit {n} targets and {len(vector)} sources"
            )
        blocks.append(block)
        sources += list(vector)
    return [Product(tuple(targets), np.hstack(blocks), tuple(sources))]
