"""Shaking tables for tests in sub-steps, and the actuators that make them follow accelerations."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.control import displacement_state
from bondloop.display import brief
from bondloop.engine import System
from bondloop.engine.data import POSITIVE, Described, Parameter, Range
from bondloop.engine.ir import Assign, Const, Delay, Expr, Interface, Var, function
from bondloop.engine.passes import connect
from bondloop.errors import InputError
from bondloop.rigs.sub_stepped import OVERSHOOT, BuiltRig, SubSteppedRig, machine
from bondloop.transfer import TransferSystem, expect_set_point, transfer_system

if TYPE_CHECKING:
    from bondloop.engine.ir import Step


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


DELAY = Range(least=0, most=1, units=("s",))
"""Beyond a second a table does not follow at all; and every sub-step of it takes a place in a delay line."""


@dataclass(frozen=True, eq=False)
class ShakingTable(SubSteppedRig):
    """A table (or several, one per interface) that holds the commanded acceleration over each sub-step.

    An ideal table has ẍ = (1 + overshoot) a. With a bandwidth its acceleration follows as A/A_c = ω²/(s² +
    2ζωs + ω²); with a drive it is moved by an actuator, such as a servo-hydraulic one, that gives way to the
    specimen. Each command may reach it late. Nothing returns the table to its place: as on a real one under
    pure acceleration control, its displacement is what the accelerations add up to, and it may drift.

    Parameters
    ----------
    specimen, overshoot, sensor, seed, integration_steps
        As for every rig in sub-steps. The overshoot scales the command, as in Bayer et al. (2000).
    bandwidth
        Natural frequency of the acceleration loop in Hz (or text); None for an ideal table.
    damping
        Damping ratio of that loop.
    stroke, velocity, acceleration
        Limits of the table in m, m/s and m/s² (or text, ``"75 mm"``); None where there is none. Beyond them a
        run is stopped, with the time and the value. The acceleration is checked in every sub-step.
    delay
        Dead time between a command and the motion in s (or text, ``"1 ms"``), at most a second: exact for
        any, a whole number of sub-steps or not.
    drive
        A `TableDrive` that moves the table, or one per interface; None for a table that follows whatever
        the specimen does. A specimen with a mass at its interface is then refused.

    Examples
    --------
    >>> from bondloop.rigs import Specimen
    >>> from bondloop.structures import Matrices
    >>> payload = Matrices([[0, 0], [0, 5.0]], None, [[1e4, -1e4], [-1e4, 1e4]], ("table.ux", "payload.ux"))
    >>> table = ShakingTable(Specimen.from_matrices(payload, "table.ux"), stroke="75 mm", bandwidth="60 Hz")
    >>> table.bounds
    {'displacement': 0.075}
    >>> from bondloop.rigs import TableDrive
    >>> from bondloop.transfer import ServoHydraulic
    >>> specimen = Specimen.from_matrices(payload, "table.ux")
    >>> hydraulic = ShakingTable(specimen, delay="1 ms", drive=TableDrive.tuned(ServoHydraulic()))
    >>> hydraulic.delay, type(hydraulic.drive.actuator).__name__
    (0.001, 'ServoHydraulic')
    """

    control: ClassVar[str] = "acceleration"
    limited: ClassVar[tuple[str, ...]] = ("stroke", "velocity", "acceleration")

    bandwidth: float | str | None = None
    damping: Parameter = Parameter(0.7, above=0, unit="1")
    stroke: float | str | None = None
    velocity: float | str | None = None
    acceleration: float | str | None = None
    delay: float | str = 0.0
    drive: TableDrive | Sequence[TableDrive] | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        super().__post_init__()
        units = {"bandwidth": "Hz", "stroke": "m", "velocity": "m/s", "acceleration": "m/s^2"}
        for name, unit in units.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, POSITIVE.check(value, f"ShakingTable({name})", unit))
        object.__setattr__(self, "delay", DELAY.check(self.delay, "ShakingTable(delay)"))
        if self.drive is not None:
            drives_of(self.drive, len(self.specimen.motions))
            if isinstance(self.drive, list):
                object.__setattr__(self, "drive", tuple(self.drive))
            if self.bandwidth is not None:
                raise InputError(
                    "ShakingTable: a table has a bandwidth or a drive, which has dynamics of its own; leave "
                    "one of them out"
                )

    @property
    def bounds(self) -> dict[str, float]:
        """Stroke, velocity and acceleration, where they are limited."""
        given = {"displacement": self.stroke, "velocity": self.velocity, "acceleration": self.acceleration}
        return {word: float(x) for word, x in given.items() if x is not None}

    def build(
        self, period: float, prefix: str = "rig.", values: Mapping[str, float] | None = None
    ) -> BuiltRig:
        """Write table and specimen for sub-steps of a given length."""
        specimen = self.specimen.prefixed(f"{prefix}specimen.")
        count = len(specimen.motions)
        names = [f"{prefix}table[{i}]." if count > 1 else f"{prefix}table." for i in range(count)]
        overshoot = Var(f"{prefix}overshoot", OVERSHOOT)
        own, motions, loads = self._alone(names, prefix) if self.drive is None else self._driven(names)
        own = connect("table", [own], {}, {}, parameters={overshoot: float(self.overshoot)})
        # Equations of an actuator have momenta: its velocity is no state of them, and is read as forces are.
        watched = {Var(f"{n}velocity"): m["velocity"] for n, m in zip(names, motions, strict=True) if loads}
        joined = machine(self, specimen, own, motions, prefix, values, loads, watched)
        applied = joined.sensors(period)
        wanted = [Var(f"{n}acceleration_command") for n in names]
        peak = [Var(f"{n}peak_acceleration") for n in names]
        late = _Late(names, wanted, float(self.delay), period)

        def impose(commands: Sequence[Expr], number: Expr) -> list[Step]:
            steps: list[Step] = []
            for w, p, command in zip(wanted, peak, commands, strict=True):
                steps.append(Assign(w, (1 + overshoot) * command))
                steps.append(Assign(p, function("fmax", p, abs(w))))
            steps += late.steps
            for held, seconds in late.parts:
                steps += joined.advance(held, seconds)
            return [*steps, *joined.measure(late.parts[-1][0], number, applied)]

        motion = {word: [m[word] for m in motions] for word in ("displacement", "velocity")}
        if watched:
            motion["velocity"] = list(watched)
        built = joined.built(motion, applied, impose)
        built.before += [Assign(p, Const(0.0)) for p in peak]
        built.peak = peak
        return built

    def _alone(
        self, names: Sequence[str], prefix: str
    ) -> tuple[System, list[dict[str, Expr]], tuple[Var, ...]]:
        """Equations of tables that the specimen does not hold up: ideal ones, or with a bandwidth."""
        parameters: dict[Var, float | None] = {}
        drives = [Var(f"{n}drive") for n in names]
        states: dict[Var, Expr] = {}
        motions: list[dict[str, Expr]] = []
        omega, zeta = (Var(f"{prefix}table.{w}", POSITIVE) for w in ("natural_frequency", "damping"))
        if self.bandwidth is not None:
            parameters.update({omega: 2 * math.pi * float(self.bandwidth), zeta: self.damping})
        for name, drive in zip(names, drives, strict=True):
            x, v = Var(f"{name}displacement"), Var(f"{name}velocity")
            achieved: Var = drive
            if self.bandwidth is not None:
                achieved, rate = Var(f"{name}acceleration"), Var(f"{name}jerk")
                states[achieved] = rate
                spring = (omega * omega) * drive - (omega * omega) * achieved
                states[rate] = spring - (2 * zeta * omega) * rate
            states[x] = v
            states[v] = achieved
            motions.append({"displacement": x, "velocity": v, "acceleration": achieved})
        return System("table", Interface(states, drives, parameters=parameters)), motions, ()

    def _driven(self, names: Sequence[str]) -> tuple[System, list[dict[str, Expr]], tuple[Var, ...]]:
        """Equations of tables on actuators, which carry the specimen's force."""
        assert self.drive is not None
        drives = drives_of(self.drive, len(names))
        tables = [drive.table(name) for drive, name in zip(drives, names, strict=True)]
        own = connect("table", [t.system for t in tables], {}, {}, inputs=[t.acceleration for t in tables])
        motions = [{"displacement": t.displacement, "velocity": t.velocity} for t in tables]
        return own, motions, tuple(t.load for t in tables)


class _Late:
    """Commands that reach the tables after a delay: what is held in each part of a sub-step, and how long.

    A command is held for a sub-step, so a delay of n + f sub-steps lets the one of n + 1 sub-steps ago act
    for the first part f of a sub-step and the one of n sub-steps ago for the rest. That is exact.
    """

    def __init__(self, names: Sequence[str], wanted: Sequence[Var], delay: float, period: float) -> None:
        whole = math.floor(delay / period + 1e-9)
        part = delay / period - whole
        self.steps: list[Step] = []
        newer = self._older(names, wanted, whole)
        self.parts: list[tuple[list[Var], float]] = [(newer, period)]
        if part > 1e-9:
            older = self._older(names, wanted, whole + 1)
            self.parts = [(older, part * period), (newer, (1 - part) * period)]

    def _older(self, names: Sequence[str], wanted: Sequence[Var], count: int) -> list[Var]:
        """Return what was wanted a number of sub-steps ago."""
        if not count:
            return list(wanted)
        delayed = [Var(f"{n}acceleration_command_{count}_ago") for n in names]
        self.steps += [Delay(d, w, count) for d, w in zip(delayed, wanted, strict=True)]
        return delayed
