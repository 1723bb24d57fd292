"""Transfer systems whose command is a set point of their displacement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.errors import ForceOutputError, InputError
from bondloop.transfer.base import force_output
from bondloop.transfer.coupled import coupled_transfer
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from bondloop.transfer.base import TransferSystem

__all__ = ["expect_set_point"]


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
