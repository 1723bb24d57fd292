"""Actuators that ramp to each displacement and hold it: the classical pseudo-dynamic rig."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bondloop.data.described import Parameter
from bondloop.data.ranges import POSITIVE
from bondloop.program.expr import Const, Expr, Var
from bondloop.program.schedule import Assign
from bondloop.program.system import System
from bondloop.program.system_data import Interface
from bondloop.rigs.sub_stepped import OVERSHOOT, BuiltRig, SubSteppedRig, machine

if TYPE_CHECKING:
    from bondloop.program.tick import Step

__all__ = ["RampHold"]


@dataclass(frozen=True, eq=False)
class RampHold(SubSteppedRig):
    """Each sub-step the actuators move to the commanded displacements at a steady speed, then stand still.

    The force is read at the end. With ``ramp=1`` the motion never stops (a continuous test); with a shorter
    ramp rate effects of the specimen relax during the hold.

    Parameters
    ----------
    specimen, overshoot, sensor, seed, integration_steps
        As for every rig in sub-steps.
    ramp
        Part of the sub-step in which it moves, above 0, at most 1.
    stroke
        Limit of the displacement in m (or text); beyond it a run is stopped.
    """

    control: ClassVar[str] = "displacement"
    limited: ClassVar[tuple[str, ...]] = ("stroke",)

    ramp: Parameter = Parameter(1.0, above=0, most=1, unit="1")
    stroke: float | str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stroke is not None:
            object.__setattr__(self, "stroke", POSITIVE.check(self.stroke, "RampHold(stroke)", "m"))

    @property
    def bounds(self) -> dict[str, float]:
        """The stroke, where it is limited."""
        return {} if self.stroke is None else {"displacement": float(self.stroke)}

    def build(
        self, period: float, prefix: str = "rig.", values: Mapping[str, float] | None = None
    ) -> BuiltRig:
        """Write actuators and specimen for sub-steps of a given length."""
        specimen = self.specimen.prefixed(f"{prefix}specimen.")
        count = len(specimen.motions)
        names = [f"{prefix}actuator[{i}]." if count > 1 else f"{prefix}actuator." for i in range(count)]
        overshoot = Var(f"{prefix}overshoot", OVERSHOOT)
        position = [Var(f"{n}displacement") for n in names]
        speeds = [Var(f"{n}velocity") for n in names]
        own = System(
            "actuators",
            Interface(
                dict(zip(position, speeds, strict=True)),
                speeds,
                parameters={overshoot: float(self.overshoot)},
            ),
        )
        motions = [{"displacement": x, "velocity": v} for x, v in zip(position, speeds, strict=True)]
        joined = machine(self, specimen, own, motions, prefix, values)
        applied = joined.sensors(period)
        rates = [Var(f"{n}rate") for n in names]
        moving, resting = self.ramp * period, (1 - self.ramp) * period

        def impose(commands: Sequence[Expr], number: Expr) -> list[Step]:
            steps: list[Step] = [
                Assign(r, ((1 + overshoot) * d - x) / Const(moving))
                for r, d, x in zip(rates, commands, position, strict=True)
            ]
            steps += joined.advance(rates, moving)
            if not resting:
                return [*steps, *joined.measure(rates, number, applied)]
            still = [Const(0.0)] * count
            return [*steps, *joined.advance(still, resting), *joined.measure(still, number, applied)]

        # Its speed is that of the last ramp: what the machine has to do, though it rests in between.
        return joined.built({"displacement": position, "velocity": rates}, applied, impose)
