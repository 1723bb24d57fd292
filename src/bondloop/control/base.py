"""What every controller offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from bondloop.program.expr import Expr, Var

if TYPE_CHECKING:
    from bondloop.program.system import System
    from bondloop.substructure.half import NumericalHalf

__all__ = ["Controller", "Design", "displacement_state"]


@dataclass(frozen=True)
class Design:
    """A controller wired to the numerical half: what the computer runs.

    Attributes
    ----------
    system
        Numerical half and controller together.
    commands
        One expression per transfer system.
    efforts
        Inputs for the measured forces, one per interface.
    displacements, velocities
        Inputs for measured motions of the transfer systems; empty where the controller needs none.
    desired_displacements, desired_velocities
        What the transfer systems should follow.
    channels
        Further expressions worth recording, with units: adaptive gains.
    signals
        Inputs that follow signals of the controller's own.
    """

    system: System
    commands: tuple[Expr, ...]
    efforts: tuple[Var, ...]
    desired_displacements: tuple[Expr, ...]
    desired_velocities: tuple[Expr, ...]
    displacements: tuple[Var, ...] = ()
    velocities: tuple[Var, ...] = ()
    channels: Mapping[str, tuple[Expr, str]] = field(default_factory=dict)
    signals: Mapping[Var, Any] = field(default_factory=dict)


class Controller(ABC):
    """Makes the transfer systems follow the numerical half."""

    inverts: ClassVar[bool] = False
    """Whether it needs the transfer systems' inverse (Gawthrop 2005, assumption 5)."""

    @abstractmethod
    def design(self, half: NumericalHalf, actuators: Sequence[Any]) -> Design:
        """Wire the controller to a numerical half.

        Parameters
        ----------
        half
            The numerical half.
        actuators
            The transfer systems of the rig; controllers that need a model use their own.
        """

    def describe(self) -> dict[str, Any]:
        """Describe it for run files."""
        return {"controller": type(self).__name__}


def displacement_state(
    system_states: Mapping[Var, Expr], flow: Expr, name: str
) -> tuple[Var, dict[Var, Expr]]:
    """Return a state that is the integral of a flow: an existing one, or a new one with its rate."""
    for state, rate in system_states.items():
        if rate is flow:
            return state, {}
    state = Var(name)
    return state, {state: flow}
