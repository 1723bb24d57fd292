"""A shaking table: commanded by accelerations, with its own dynamics and limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bondloop.program.expr import Const, Expr, Var, function
from bondloop.program.ranges import POSITIVE
from bondloop.program.schedule import Assign
from bondloop.program.system import System
from bondloop.rigs.sub_stepped import OVERSHOOT, BuiltRig, SubSteppedRig, machine

if TYPE_CHECKING:
    from bondloop.program.tick import Step

__all__ = ["ShakingTable"]


@dataclass(frozen=True, eq=False)
class ShakingTable(SubSteppedRig):
    """A table (or several, one per interface) that holds the commanded acceleration over each sub-step.

    An ideal table has ẍ = (1 + overshoot) a. With a bandwidth its acceleration follows as A/A_c = ω²/(s² +
    2ζωs + ω²). Nothing returns the table to its place: as on a real one under pure acceleration control, its
    displacement is what the accelerations add up to, and it may drift.

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

    Examples
    --------
    >>> from bondloop.rigs import Specimen
    >>> from bondloop.structures import Matrices
    >>> payload = Matrices([[0, 0], [0, 5.0]], None, [[1e4, -1e4], [-1e4, 1e4]], ("table.ux", "payload.ux"))
    >>> table = ShakingTable(Specimen.from_matrices(payload, "table.ux"), stroke="75 mm", bandwidth="60 Hz")
    >>> table.bounds
    {'displacement': 0.075}
    """

    control: ClassVar[str] = "acceleration"
    limited: ClassVar[tuple[str, ...]] = ("stroke", "velocity", "acceleration")

    bandwidth: float | str | None = None
    damping: float = 0.7
    stroke: float | str | None = None
    velocity: float | str | None = None
    acceleration: float | str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        units = {
            "bandwidth": "Hz", "damping": "%", "stroke": "m", "velocity": "m/s", "acceleration": "m/s^2"
        }  # fmt: skip
        for name, unit in units.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, POSITIVE.check(value, f"ShakingTable({name})", unit))

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
        parameters: dict[Var, float | None] = {overshoot: float(self.overshoot)}
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
        own = System("table", states, drives, {}, parameters, {})
        joined = machine(self, specimen, own, motions, prefix, values)
        applied = joined.sensors(period)
        wanted = [Var(f"{n}acceleration_command") for n in names]
        peak = [Var(f"{n}peak_acceleration") for n in names]

        def impose(commands: Sequence[Expr], number: Expr) -> list[Step]:
            steps: list[Step] = []
            for w, p, command in zip(wanted, peak, commands, strict=True):
                steps.append(Assign(w, (1 + overshoot) * command))
                steps.append(Assign(p, function("fmax", p, abs(w))))
            steps += joined.advance(wanted, period)
            return [*steps, *joined.measure(wanted, number, applied)]

        motion = {word: [m[word] for m in motions] for word in ("displacement", "velocity")}
        built = joined.built(motion, applied, impose)
        built.before += [Assign(p, Const(0.0)) for p in peak]
        built.peak = peak
        return built
