"""A shaking table: commanded by accelerations, with its own dynamics and limits."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bondloop.data.described import Parameter
from bondloop.data.ranges import POSITIVE, Range
from bondloop.display import brief
from bondloop.errors import InputError
from bondloop.program.compose import connect
from bondloop.program.expr import Const, Expr, Var, function
from bondloop.program.schedule import Assign
from bondloop.program.system import System
from bondloop.program.system_data import Interface
from bondloop.program.tick import Delay
from bondloop.rigs.sub_stepped import OVERSHOOT, BuiltRig, SubSteppedRig, machine
from bondloop.rigs.table_drive import TableDrive, drives_of

if TYPE_CHECKING:
    from bondloop.program.tick import Step

__all__ = ["ShakingTable"]

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
