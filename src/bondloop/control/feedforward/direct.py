"""No controller: the desired displacement is sent as the command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.control.base import Controller, Design, desired_motion
from bondloop.engine.ir import Const, Expr, Var
from bondloop.engine.passes import connect
from bondloop.errors import ForceOutputError, InputError
from bondloop.transfer import ForceOutput, force_output, motion_space, transfer_system, width

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import StateSpace
    from bondloop.substructure import NumericalHalf
    from bondloop.transfer import TransferSystem


@dataclass(frozen=True)
class Direct(Controller):
    """Direct command: the baseline that both Gawthrop 2005 and Wagg 2001 compare with.

    The command is the desired displacement divided by the static gain of the transfer system (one for a set
    point), so that a motion slow enough is followed exactly. The gain is that without load; for a transfer
    system that gives a force, it tells where its port comes to rest when nothing is attached.
    """

    def design(self, half: NumericalHalf, actuators: Sequence[TransferSystem]) -> Design:
        """Send each desired displacement, divided by the static gain of its transfer system."""
        desired, velocities, extra = desired_motion(half)
        commands: list[Expr] = []
        parameters: dict[Var, float | None] = {}
        for actuator in actuators:
            at, n = len(commands), width(actuator)
            if n > 1:  # the commands that bring all its ports to where they should be
                inverse = _static_gains(actuator)
                for i in range(n):
                    total: Expr = Const(0.0)
                    for j in range(n):
                        gain = Var(f"controller.gain[{at + i}][{at + j}]")
                        parameters[gain] = float(inverse[i, j])
                        total = total + desired[at + j] * gain
                    commands.append(total)
                continue
            gain = Var(f"controller.gain[{at}]" if len(desired) > 1 else "controller.gain")
            parameters[gain] = 1 / _static_gain(actuator)
            commands.append(desired[at] * gain)
        outputs = {} if half.coupler else {f"command[{i}]": c for i, c in enumerate(commands)}
        system = connect(
            *("computer", [half.system], {}, outputs),
            inputs=half.efforts,
            states=extra,
            parameters=parameters,
        )
        return Design(system, tuple(commands), half.efforts, tuple(desired), tuple(velocities))


def _static_gains(actuator: TransferSystem) -> NDArray[np.float64]:
    """Commands per displacement at rest and without load, of a coupled transfer system."""
    A, B, C = motion_space(actuator)
    omega = 1e-6 * max(1.0, float(np.abs(np.linalg.eigvals(A)).max(initial=1.0)))
    gains = C @ np.linalg.solve(1j * omega * np.eye(len(A)) - A, B)
    if not np.isfinite(gains).all() or not np.linalg.cond(gains) < 1e12:
        raise InputError(
            "the coupled transfer system has no static gain from its commands to its displacements; a direct "
            "command needs one that comes to rest at a position"
        )
    for gain in np.diag(gains):
        _real_gain(complex(gain), "the coupled transfer system")
    return np.asarray(np.linalg.inv(gains.real))


def _static_gain(actuator: TransferSystem) -> float:
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
