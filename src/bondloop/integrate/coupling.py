"""What a scheme is given of a rig: the way to it and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from bondloop.program.expr import Const, Expr, Var
from bondloop.program.tick import Step

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Coupling", "Impose"]

Impose = Callable[[Sequence[Expr], Expr], list[Step]]
"""``impose(commands, number)`` gives the statements that make the rig follow a command per interface for one
sub-step (the ``number``-th of the step, from 0) and then renew the measured forces."""


@dataclass(frozen=True)
class Coupling:
    """The numerical half's way to the rig and back; called as a `Restoring`, it is asked once a sub-step.

    Attributes
    ----------
    interface
        Positions of the interface's degrees of freedom.
    force
        States of the tick: the newest measured coupling forces on the numerical half.
    impose
        Makes the rig follow a command for one sub-step and renews the forces.
    acceleration
        Accelerations at the interface before the first step, m/s²; zero unless given.
    first_force
        Coupling forces before the first step, N; zero unless given.
    """

    interface: Sequence[int]
    force: Sequence[Var]
    impose: Impose
    acceleration: NDArray[np.float64] | float = 0.0
    first_force: NDArray[np.float64] | float = 0.0
    _asked: Iterator[int] = field(default_factory=count, repr=False, compare=False)

    def __call__(
        self, displacement: Sequence[Expr], _velocity: Sequence[Expr], _label: str
    ) -> tuple[list[Step], list[Expr]]:
        """Impose displacements for one sub-step; the forces are those of a `Restoring`, on the other side."""
        steps = self.impose([displacement[i] for i in self.interface], Const(next(self._asked)))
        forces: list[Expr] = [Const(0.0)] * len(displacement)
        for i, f in zip(self.interface, self.force, strict=True):
            forces[i] = -f
        return steps, forces
