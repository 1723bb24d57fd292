"""What moves a shaking table: an actuator under displacement control, told accelerations."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.control.base import displacement_state
from bondloop.data.described import Described, Parameter
from bondloop.data.ranges import POSITIVE, Range
from bondloop.errors import InputError
from bondloop.program.compose import connect
from bondloop.program.expr import Expr, Var
from bondloop.transfer.base import TransferSystem, transfer_system
from bondloop.transfer.set_point import expect_set_point

if TYPE_CHECKING:
    from bondloop.program.system import System

__all__ = ["DrivenTable", "TableDrive"]

LEAD = Range(units=("s",))
LEAD_2 = Range(units=("s^2",))


@dataclass(frozen=True)
class DrivenTable:
    """Equations of one table on its actuator.

    Attributes
    ----------
    system
        The equations; its inputs are the wanted acceleration and the load.
    acceleration
        The input for the wanted acceleration, m/s².
    load
        The input for the force that the specimen takes, N.
    displacement, velocity
        Of the table, in m and m/s.
    """

    system: System
    acceleration: Var
    load: Var
    displacement: Expr
    velocity: Expr


@dataclass(frozen=True, eq=False)
class TableDrive(Described, family="table_drive", alone=True):
    """An actuator with a displacement loop of its own, which makes the table follow accelerations.

    The wanted acceleration a is integrated twice, and the actuator's set point is x + T_v v + T_a a: the
    reference of three-variable control. An actuator whose response is 1/(1 + T_v s + T_a s²) follows
    exactly; of any other `tuned` finds the leads that fit best. The specimen's force acts on the actuator,
    which gives way to it. The mass of the table is that of the actuator's piston (``Cylinder(mass=...)``).

    Parameters
    ----------
    actuator
        Any transfer system whose command is a displacement in metres, such as a
        `bondloop.transfer.ServoHydraulic`.
    velocity_lead
        T_v in s (or text, ``"4 ms"``).
    acceleration_lead
        T_a in s².

    Examples
    --------
    >>> from bondloop.transfer import MassSpringDamper
    >>> drive = TableDrive.tuned(MassSpringDamper(20, 4000, 2e6, drive="position"))
    >>> print(f"{1e3 * drive.velocity_lead:.3f} ms, {1e6 * drive.acceleration_lead:.3f} ms²")
    2.000 ms, 10.000 ms²
    """

    actuator: TransferSystem
    velocity_lead: Parameter = Parameter(0.0, unit="s")
    acceleration_lead: Parameter = Parameter(0.0, unit="s^2")

    def __post_init__(self) -> None:
        expect_set_point(self.actuator, "TableDrive")  # which also refuses what is no transfer system

    @classmethod
    def tuned(cls, actuator: TransferSystem, highest: float | str = "30 Hz") -> TableDrive:
        """Return the drive with the leads that fit the actuator, without a specimen, best.

        1/G(iω) is fitted by 1 + T_v iω - T_a ω², by least squares over thirty frequencies.

        Parameters
        ----------
        actuator
            The transfer system.
        highest
            Highest frequency of the fit in Hz (or text); the lowest is a thirtieth of it.
        """
        top = POSITIVE.check(highest, "TableDrive.tuned(highest)", "Hz")
        moved = transfer_system(actuator)
        omega = 2 * math.pi * top * np.arange(1, 31) / 30
        space = connect("moved", [moved.system], {}, {"velocity": moved.velocity}).linearise()
        worst = max(space.poles(), key=lambda pole: pole.real, default=0j)
        if worst.real > 1e-6 * abs(worst) and abs(worst) > 0:
            raise InputError(
                "TableDrive.tuned: the actuator's own loop is unstable, a motion at "
                f"{abs(worst.imag) / (2 * math.pi):.3g} Hz grows at {worst.real:.3g} 1/s; first tune its "
                "controller for the mass that it moves"
            )
        row = space.inputs.index(moved.command.name)
        response = space.frequency_response(omega)[:, 0, row] / (1j * omega)
        if np.abs(response).min() == 0:
            raise InputError(
                f"TableDrive.tuned: the actuator does not answer to its command {moved.command.name}; give "
                "one whose command is a displacement"
            )
        inverse = 1 / response
        return cls(
            actuator,
            float(omega @ inverse.imag / (omega @ omega)),
            float(omega**2 @ (1 - inverse.real) / np.sum(omega**4)),
        )

    def table(self, prefix: str) -> DrivenTable:
        """Write the equations of one table, with ``prefix`` before every name."""
        moved = transfer_system(self.actuator, prefix)
        wanted, x, v = (
            Var(f"{prefix}{word}") for word in ("drive", "reference.displacement", "reference.velocity")
        )
        first = Var(f"{prefix}velocity_lead", LEAD)
        second = Var(f"{prefix}acceleration_lead", LEAD_2)
        states = dict(zip(moved.system.state_vars, moved.system.rate_exprs, strict=True))
        position, extra = displacement_state(states, moved.velocity, f"{prefix}displacement")
        system = connect(
            "table",
            [moved.system],
            {moved.command: x + first * v + second * wanted},
            {},
            inputs=[wanted],
            states={**extra, x: v, v: wanted},
            parameters={first: self.velocity_lead, second: self.acceleration_lead},
        )
        return DrivenTable(system, wanted, moved.load, position, moved.velocity)


def drives_of(drive: object, count: int) -> list[TableDrive]:
    """Return one drive for each of ``count`` tables, of one for all or of one each."""
    drives = []
    for each in drive if isinstance(drive, Sequence) else [drive] * count:
        if not isinstance(each, TableDrive):
            raise InputError(
                "ShakingTable(drive): expected a TableDrive, such as "
                f"TableDrive(bondloop.transfer.ServoHydraulic()); found {each!r:.60}"
            )
        drives.append(each)
    if len(drives) != count:
        raise InputError(f"ShakingTable(drive): expected one drive or {count}; found {len(drives)}")
    return drives
