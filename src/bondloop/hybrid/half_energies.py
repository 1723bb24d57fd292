"""Energies of the numerical half of a hybrid test, or of a simulated model, from its bond graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from bondloop.bondgraph.elements import C, CField, I, IField, R, RField
from bondloop.devices import Device
from bondloop.devices.at_rest import elastic_stiffness
from bondloop.devices.ode_specimen import OdeElement
from bondloop.hybrid.energies import WORDS, Balance, Moving
from bondloop.program.paths import within
from bondloop.structures.reading import total

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.hybrid.structure_readings import StructureReadings
    from bondloop.program.expr import Expr, Var
    from bondloop.program.system import System

__all__ = ["HalfEnergies"]

STORES = (C, CField, I, IField, R, RField)
"""Parts that store energy or lose it."""


@dataclass(frozen=True)
class DevicePower:
    """What a device in the computer takes.

    Attributes
    ----------
    path
        Its name.
    efforts, flows
        At its ports.
    stiffness
        By which it would spring back, F²/2k; None where that is not known.
    lifted
        Of a pendulum, the stiffness of the weight that it lifts, and its displacement.
    why
        The stiffness is not known, where it is not.
    """

    path: str
    efforts: tuple[Expr, ...]
    flows: tuple[Expr, ...]
    stiffness: float | None
    lifted: tuple[float, Expr] | None = None
    why: str = "it has no stiffness at rest"

    @classmethod
    def of(cls, element: OdeElement, path: str, system: System) -> DevicePower:
        """Return that of an element of a bond graph, with the parameters that the system has."""
        names = element.port_names
        ports = [path] if len(names) == 1 else [f"{path}.{port}" for port in names]
        efforts, flows = (
            tuple(system.expression(f"{port}.{word}") for port in ports) for word in ("effort", "flow")
        )
        values = {v.name: x for v, x in system.values().items()}
        own = {p: values.get(f"{path}.{p}", x) for p, x in element.law.parameter_values().items()}
        law = replace(element.law, **own)
        stiffness = elastic_stiffness(law)
        weight = law.pendulum_stiffness if isinstance(law, Device) else 0.0
        if weight is None:
            return cls(path, efforts, flows, stiffness, why="it lifts its weight by several pendulums")
        lifted = (weight, system.expression(f"{path}.displacement")) if weight else None
        return cls(path, efforts, flows, stiffness, lifted)

    @property
    def power(self) -> Expr:
        """The power that it takes."""
        return total([e * f for e, f in zip(self.efforts, self.flows, strict=True)])

    @property
    def recoverable(self) -> Expr:
        """What it would give back if it were let go."""
        assert self.stiffness is not None  # or the hysteretic energy is missing
        if self.lifted is None:
            return 0.5 / self.stiffness * total([e * e for e in self.efforts])
        k, x = self.lifted
        friction = self.efforts[0] - k * x
        return 0.5 * k * x * x + 0.5 / self.stiffness * friction * friction


class HalfEnergies:
    """What the energies of a model of structures are made of, as expressions of its equations.

    Parameters
    ----------
    model
        With the structures.
    structures
        Their readings.
    prefix
        What the names of the model's variables begin with.
    supplied
        Power of its sources; None where it cannot be told.
    taken
        Power that its interfaces take, one for each.
    system
        Its equations, where they are known: what the devices in it take.
    """

    def __init__(
        self,
        model: Model,
        structures: Sequence[StructureReadings],
        prefix: str,
        supplied: Expr | None,
        taken: Sequence[Expr],
        system: System,
    ) -> None:
        self.supplied, self.taken = supplied, list(taken)
        self.structures = list(structures)
        self.devices = [
            DevicePower.of(part, prefix + path, system)
            for path, part in model.walk()
            if isinstance(part, OdeElement)
        ]
        self.missing: dict[str, str] = {}
        if not self.devices:
            self.missing["devices"] = "there are no devices in the computer; see energy.specimen"
            self.missing["hysteretic"] = (
                "the elastic stiffness of the specimen is not known here, only in a pseudo-dynamic test "
                "whose scheme has a specimen_stiffness; record energy.specimen, all that it took"
            )
        for device in self.devices:
            if device.stiffness is None:
                self.missing["hysteretic"] = (
                    f"what {device.path} would give back is not known: {device.why}; record "
                    "energy.devices, all that devices took"
                )
        if supplied is None:
            self.missing["input"] = "the power of the sources cannot be told"
        if not structures:
            self.missing |= dict.fromkeys(
                ("kinetic", "strain", "damping"), "there is no structure made of matrices"
            )
        lacking = next((self.missing[w] for w in WORDS[:5] if w in self.missing), None)
        if lacking is not None:
            self.missing["error"] = lacking
        paths = [s.path[:-1] for s in structures]
        others = [
            path
            for path, part in model.walk()
            if isinstance(part, STORES)
            and not any(p == prefix[:-1] or within(prefix + path, p) for p in paths)
        ]
        if others:
            some = ", ".join(others[:4])
            self.missing["error"] = f"energies of parts beside the structures are not counted: {some}"

    @cached_property
    def motions(self) -> list[tuple[StructureReadings, list[Expr], list[Expr]]]:
        """Displacements and velocities of every structure."""
        return [(s, s.all("displacement"), s.all("velocity")) for s in self.structures]

    def names(self, prefix: str) -> list[str]:
        """Return the names of all energies that are known."""
        return [f"{prefix}energy.{word}" for word in WORDS if word not in self.missing]

    @property
    def goals(self) -> list[Expr]:
        """Everything that has to be known of the equations."""
        motion = [e for _, u, v in self.motions for e in (*u, *v)]
        motion += [e for d in self.devices for e in (*d.efforts, *d.flows)]
        motion += [d.lifted[1] for d in self.devices if d.lifted is not None]
        return [*motion, *self.taken, *([] if self.supplied is None else [self.supplied])]

    def balance(self, prefix: str, count: Var, period: float, put: Callable[[Expr], Expr]) -> Balance:
        """Return the energies, with what stands for the variables of the equations in a tick."""
        powers = {"specimen": put(total(self.taken))}
        if self.supplied is not None:
            powers["input"] = put(self.supplied)
        recoverable = None
        if self.devices:
            powers["devices"] = put(total([d.power for d in self.devices]))
            if "hysteretic" not in self.missing:
                recoverable = put(total([d.recoverable for d in self.devices]))
        moving = [
            Moving(s.path, s.matrices, [put(e) for e in u], [put(e) for e in v]) for s, u, v in self.motions
        ]
        return Balance(
            prefix, count, period, moving, powers=powers, recoverable=recoverable, missing=self.missing
        )
