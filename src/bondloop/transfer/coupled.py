"""Coupled transfer systems: several commands move several ports, and each command moves all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import Model, bond, name_or_kind
from bondloop.bondgraph.elements import SS
from bondloop.display import brief
from bondloop.engine import System
from bondloop.engine.ir import StateSpace
from bondloop.engine.passes import prefixed
from bondloop.errors import ForceOutputError, InputError, ModelError
from bondloop.transfer.base import OUT, as_system, force_output, transfer_system
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import Expr, Var
    from bondloop.transfer.base import TransferSystem


@dataclass(frozen=True)
class CoupledTransfer:
    """A transfer system with one port or several, ready for analysis.

    Attributes
    ----------
    system
        Its equations, with the specimen's forces as inputs.
    commands
        The inputs that the computer gives.
    loads
        The inputs for the forces that the specimen takes from it, as many.
    velocities
        The velocities of its ports, as many.
    """

    system: System
    commands: tuple[Var, ...]
    loads: tuple[Var, ...]
    velocities: tuple[Expr, ...]

    __repr__ = brief


def out_ports(model: Model) -> list[str]:
    """Return the names of the ports for the specimen: ``out``, or ``out[0]``, ``out[1]``, ..."""
    names = list(model.ports)
    several: list[str] = []
    while f"{OUT}[{len(several)}]" in names:
        several.append(f"{OUT}[{len(several)}]")
    return [OUT] if OUT in names else several


def width(given: TransferSystem) -> int:
    """Return at how many interfaces a transfer system stands.

    Parameters
    ----------
    given
        As `coupled_transfer` takes it.

    Examples
    --------
    >>> from bondloop.transfer import MassSpringDamper, ProcessMatrix, first_order
    >>> strong, weak = first_order(1.0, "10 ms"), first_order(0.1, "10 ms")
    >>> width(MassSpringDamper(1, 1, 1)), width(ProcessMatrix(((strong, weak), (weak, strong))).actuator())
    (1, 2)
    """
    if isinstance(given, Model):
        ports = out_ports(given)
        if not ports:
            raise ModelError(
                f"the transfer system {name_or_kind(given)} has no port '{OUT}' (or "
                f"'{OUT}[0]', '{OUT}[1]', ...); its ports are {', '.join(given.ports) or 'none'}"
            )
        return len(ports)
    if isinstance(given, (System, StateSpace)):
        return max(1, len(given.outputs))
    return int(getattr(given, "noutputs", None) or 1)  # python-control's word


def coupled_transfer(given: TransferSystem, prefix: str = "") -> CoupledTransfer:
    """Return the equations of a transfer system with one port or several.

    Parameters
    ----------
    given
        A model with the ports ``out[0]``, ``out[1]``, ... and as many inputs; or a `System`, a `StateSpace`
        or a python-control system with the inputs (commands, then loads) and the velocities as outputs; or
        whatever `transfer_system` takes.
    prefix
        Put before all its names.

    Examples
    --------
    >>> from bondloop.transfer import ProcessMatrix, first_order
    >>> strong, weak = first_order(1.0, "10 ms"), first_order(0.1, "10 ms")
    >>> coupled_transfer(ProcessMatrix(((strong, weak), (weak, strong))).actuator()).commands
    (<Var command[0]>, <Var command[1]>)
    """
    n = width(given)
    if n == 1:
        one = transfer_system(given, prefix)
        return CoupledTransfer(one.system, (one.command,), (one.load,), (one.velocity,))
    if isinstance(given, Model):
        return _coupled_model(given, prefix)
    system = prefixed(as_system(given), prefix)
    if len(system.inputs) != 2 * n:
        raise InputError(
            f"a coupled transfer system with {n} outputs (velocities) needs {2 * n} inputs, {n} commands and "
            f"then {n} loads; found {list(system.inputs)}"
        )
    inputs = system.input_vars
    return CoupledTransfer(system, tuple(inputs[:n]), tuple(inputs[n:]), tuple(system.output_exprs.values()))


def _coupled_model(model: Model, prefix: str) -> CoupledTransfer:
    ports = out_ports(model)
    alone = model.copy()
    alone.load = [SS("effort") for _ in ports]
    for port, load in zip(alone.out, alone.load, strict=True):
        bond(port, load)
    system = prefixed(alone.compile([f"load[{i}].flow" for i in range(len(ports))]), prefix)
    by_name = dict(zip(system.inputs, system.input_vars, strict=True))
    loads = [f"{prefix}load[{i}].effort" for i in range(len(ports))]
    missing = [name for name in loads if name not in by_name]
    if missing or system.input_rates:
        raise ModelError(
            f"the transfer system {name_or_kind(model)} gives a force at one of its ports "
            "and takes the velocity there; give it the mass that moves with it (rod, load cell, clevis)"
        )
    commands = tuple(u for u in system.input_vars if u.name not in loads)
    check_commands(commands, len(ports), model)
    velocities = tuple(system.output_exprs[f"{prefix}load[{i}].flow"] for i in range(len(ports)))
    return CoupledTransfer(system, commands, tuple(by_name[name] for name in loads), velocities)


def check_commands(commands: Sequence[Var], count: int, model: Model) -> None:
    """Refuse a transfer system that has not as many inputs as ports."""
    if len(commands) != count:
        raise ModelError(
            f"the transfer system {name_or_kind(model)} must have as many inputs (commands) "
            f"as ports, {count}; found {', '.join(u.name for u in commands) or 'none'}"
        )


def motion_space(
    given: TransferSystem,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return A, B, C of a transfer system from its commands to its displacements, without load.

    The displacements are integrals of the velocities, states of their own at the end.

    Parameters
    ----------
    given
        As `coupled_transfer` takes it; linear.
    """
    transfer = coupled_transfer(given)
    if not transfer.system.is_linear:
        raise InputError(
            f"{transfer.system.name} is not linear; give a linear model of it, an identified one or one that "
            "is linearised"
        )
    outputs = {f"velocity[{i}]": v for i, v in enumerate(transfer.velocities)}
    space = transfer.system.replaced(outputs=outputs).numeric().explicit()
    a, b, c, d = (np.asarray(M.toarray(), dtype=float) for M in (space.A, space.B, space.C, space.D))
    columns = [space.inputs.index(u.name) for u in transfer.commands]
    n, m = len(a), len(columns)
    A = np.block([[a, np.zeros((n, m))], [c, np.zeros((m, m))]])
    B = np.vstack([b[:, columns], d[:, columns]])
    return A, B, np.hstack([np.zeros((m, n)), np.eye(m)])


def expect_set_point(actuator: TransferSystem, who: str, unit: str = "m", port: int = 0) -> None:
    """Refuse a transfer system whose command is known to be something else than a displacement.

    Parameters
    ----------
    actuator
        The transfer system.
    who
        What sends it displacements, for the message.
    unit
        Of the displacement.
    port
        Which of its ports, of a coupled one.

    Examples
    --------
    >>> from bondloop.transfer import MassSpringDamper
    >>> expect_set_point(MassSpringDamper(1, 1, 1, drive="position"), "ATS")
    >>> expect_set_point(MassSpringDamper(1, 1, 1, drive="force"), "ATS")
    Traceback (most recent call last):
    bondloop.errors.InputError: ATS sends displacements, in m; the command of the transfer system is in N: ...
    """
    try:
        command = coupled_transfer(actuator).commands[port]
    except ForceOutputError:
        command = force_output(actuator).command
    known = command.unit
    if known and not is_of_kind(f"1 {known}", unit):
        raise InputError(
            f"{who} sends displacements, in {unit}; the command of the transfer system is in {known}: give "
            "one with a displacement loop of its own (drive='position'), or a controller that makes forces"
        )
