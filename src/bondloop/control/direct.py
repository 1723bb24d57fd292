"""No controller: the desired displacement is sent as the command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.control.base import Controller, Design, displacement_state
from bondloop.errors import ForceOutputError, InputError
from bondloop.program.compose import connect
from bondloop.program.expr import Expr, Var
from bondloop.transfer.base import ForceOutput, force_output, transfer_system

if TYPE_CHECKING:
    from bondloop.program.statespace import StateSpace
    from bondloop.substructure.half import NumericalHalf

__all__ = ["Direct"]


@dataclass(frozen=True)
class Direct(Controller):
    """Direct command: the baseline that both Gawthrop 2005 and Wagg 2001 compare with.

    The command is the desired displacement divided by the static gain of the transfer system (one for a set
    point), so that a motion slow enough is followed exactly. The gain is that without load; for a transfer
    system that gives a force, it tells where its port comes to rest when nothing is attached.
    """

    def design(self, half: NumericalHalf, actuators: Sequence[Any]) -> Design:
        """Send each desired displacement, divided by the static gain of its transfer system."""
        states = dict(zip(half.system.state_vars, half.system.rate_exprs, strict=True))
        extra: dict[Var, Expr] = {}
        desired: list[Expr] = []
        commands: list[Expr] = []
        parameters: dict[Var, float | None] = {}
        for i, (flow, actuator, domain) in enumerate(zip(half.flows, actuators, half.domains, strict=True)):
            index = f"[{i}]" if len(half.flows) > 1 else ""
            z, new = displacement_state(
                {**states, **extra}, flow, f"controller.desired{index}.displacement", domain
            )
            extra.update(new)
            desired.append(z)
            gain = Var(f"controller.gain{index}")
            parameters[gain] = 1 / _static_gain(actuator)
            commands.append(z * gain)
        outputs = {f"command[{i}]": c for i, c in enumerate(commands)}
        system = connect(
            *("computer", [half.system], {}, outputs),
            inputs=half.efforts,
            states=extra,
            parameters=parameters,
        )
        return Design(system, tuple(commands), half.efforts, tuple(desired), half.flows)


def _static_gain(actuator: Any) -> float:
    """Displacement per unit of command at rest and without load."""
    try:
        t = transfer_system(actuator)
    except ForceOutputError:
        return _static_gain_of_force(force_output(actuator))
    space = t.system.linearise()
    omega = _slow(space)
    j = space.inputs.index(t.command.name)
    # The slope of velocity/command at the origin.
    return _real_gain(space.frequency_response([omega])[0, 0, j] / (1j * omega), t.system.name)


def _static_gain_of_force(given: ForceOutput) -> float:
    """Where the port of a massless transfer system comes to rest: where its force vanishes."""
    by_command, by_displacement = given.responses(_slow(given.system.linearise()))
    return _real_gain(-by_command / by_displacement if by_displacement else np.inf, given.system.name)


def _slow(space: StateSpace) -> float:
    return 1e-6 * max(1.0, float(abs(space.poles()).max(initial=1.0)))


def _real_gain(gain: complex, name: str) -> float:
    if not 1e-12 < abs(gain.real) < 1e12 or abs(gain.imag) > 1e-2 * abs(gain.real):
        raise InputError(
            f"{name} has no static gain from command to displacement ({gain.real:.3g}); a direct "
            "command needs a transfer system that comes to rest at a position"
        )
    return float(gain.real)
