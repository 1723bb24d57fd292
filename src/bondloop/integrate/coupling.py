"""What a scheme with sub-steps is given of the rig, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bondloop.program.expr import Expr, Var
from bondloop.program.tick import Step

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Coupling", "Impose", "SubStepped"]

Impose = Callable[[Sequence[Expr], Expr], list[Step]]
"""``impose(commands, number)`` gives the statements that make the rig follow a command per interface for one
sub-step (the ``number``-th of the step, from 0) and then renew the measured forces."""


@dataclass(frozen=True)
class Coupling:
    """The numerical half's way to the rig and back.

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


@dataclass
class SubStepped:
    """One step.

    Attributes
    ----------
    steps
        Statements; they end with an update of all states.
    states
        Variables of the scheme's own beyond the motion, with initial values.
    parameters
        Constants that can be changed without compiling anew.
    command
        The last command of the step, one variable per interface.
    error
        The error forces E at the beginning of the step, one variable per degree of freedom.
    """

    steps: list[Step] = field(default_factory=list)
    states: dict[Var, float] = field(default_factory=dict)
    parameters: dict[Var, float] = field(default_factory=dict)
    command: list[Var] = field(default_factory=list)
    error: list[Var] = field(default_factory=list)
