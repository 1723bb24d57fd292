"""Energies of a test: what came in, what moves, what is strained, what was lost, and what is unaccounted for.

What is stored follows from the motion at an instant. What has come and gone is work, summed up tick by tick
in one of two ways: of a power that is known at every instant by Adams and Moulton's rule of fourth order; of
forces on displacements by ½ (f + f⁻) (u - u⁻), which closes exactly for constant average acceleration, the
scheme of the long steps of pseudo-dynamic tests (Filiatrault, Léger and Tinawi 1994).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import bonds_of
from bondloop.bondgraph.elements import C, CField, I, IField, MSe, MSf, R, RField, Se, Sf
from bondloop.devices import Device, OdeElement, elastic_stiffness
from bondloop.engine.analysis.spectrum import within
from bondloop.engine.ir import (
    Assign,
    Channel,
    Const,
    Expr,
    Product,
    Quantity,
    Role,
    Step,
    Update,
    Var,
    every,
    select,
)
from bondloop.errors import InputError
from bondloop.structures import total
from bondloop.units import is_of_kind, multiplied

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.engine import System
    from bondloop.engine.ir import Expr
    from bondloop.hybrid.structure_readings import StructureReadings
    from bondloop.structures import Matrices


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


JOULE = "J"
ENERGIES = {
    "energy.input": Quantity("input energy", JOULE),
    "energy.kinetic": Quantity("kinetic energy", JOULE),
    "energy.strain": Quantity("strain energy", JOULE),
    "energy.damping": Quantity("damping energy", JOULE),
    "energy.specimen": Quantity("energy of the specimen", JOULE),
    "energy.devices": Quantity("energy of devices", JOULE),
    "energy.hysteretic": Quantity("hysteretic energy", JOULE),
    "energy.error": Quantity("energy error", JOULE),
}
"""Channels of a test's energies, with what they measure."""

WORDS = ("input", "kinetic", "strain", "damping", "specimen", "devices", "hysteretic", "error")
"""The same without what they begin with; the first six make up the balance."""


@dataclass(frozen=True)
class Moving:
    """A structure whose energy is counted.

    Parameters
    ----------
    name
        In the names of variables.
    matrices
        M, C and K.
    displacement, velocity
        Of its degrees of freedom.
    """

    name: str
    matrices: Matrices
    displacement: Sequence[Expr]
    velocity: Sequence[Expr]

    def product(self, part: str, steps: list[Step]) -> list[Var]:
        """Write M v, C v or K u, and return its entries."""
        source = self.displacement if part == "K" else self.velocity
        result = [Var(f"{self.name}energy.{part}[{i}]") for i in range(len(source))]
        steps.append(Product(tuple(result), getattr(self.matrices, part).toarray(), tuple(source)))
        return result

    def stored(self, part: str, steps: list[Step]) -> Expr:
        """Write v · M v / 2 or u · K u / 2."""
        source = self.displacement if part == "K" else self.velocity
        return 0.5 * total([x * y for x, y in zip(source, self.product(part, steps), strict=True)])


@dataclass
class Balance:
    """The energies of a numerical half.

    Parameters
    ----------
    prefix
        Before the names of its channels.
    count, period
        Variable of the number of the tick; seconds between ticks.
    structures
        What moves.
    by_work
        Whether damping is summed up by forces on displacements, not by power.
    powers
        By energy, ``"input"``, the power that it is the integral of.
    works
        By energy the forces with the displacements on which they work.
    recoverable
        What the devices in the computer, or the specimen where there are none, would give back if they were
        let go; None where that is not known.
    missing
        Why an energy is not known, by energy.

    Attributes
    ----------
    states
        What the statements keep from tick to tick, with initial values.
    values
        The energies that have been written.

    Examples
    --------
    >>> E = Balance("", Var("k"), 0.1, powers={"input": Var("P")})
    >>> E.names(["energy.input", "force"]), len(E.write(["energy.input"]))
    (['energy.input'], 3)
    """

    prefix: str
    count: Var
    period: float
    structures: Sequence[Moving] = ()
    by_work: bool = False
    powers: Mapping[str, Expr] = field(default_factory=dict)
    works: Mapping[str, Sequence[tuple[Expr, Expr]]] = field(default_factory=dict)
    recoverable: Expr | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    states: dict[Var, float] = field(default_factory=dict)
    values: dict[str, Expr] = field(default_factory=dict)

    def names(self, record: Iterable[str]) -> list[str]:
        """Return those of some names that are energies of this test, in the order of the table."""
        asked = set(record)
        return [f"{self.prefix}{n}" for n in ENERGIES if f"{self.prefix}{n}" in asked]

    def write(self, names: Sequence[str]) -> list[Step]:
        """Return the statements of some energies, with the prefix; they belong before the states go on."""
        steps: list[Step] = []
        wanted = [word for word in WORDS if f"{self.prefix}energy.{word}" in names]
        summed = [w for w in WORDS[:6] if w != "devices" or self._has_devices]
        needed = {"error": summed, "hysteretic": ("devices" if self._has_devices else "specimen",)}
        for word in dict.fromkeys(n for w in wanted for n in (*needed.get(w, ()), w)):
            why = self.missing.get(word)
            if why is not None:
                asked = word if word in wanted else "error"
                raise InputError(f"cannot record '{self.prefix}energy.{asked}': {why}")
            self.values[word] = self._one(word, steps)
        return steps

    @property
    def _has_devices(self) -> bool:
        return "devices" in self.powers

    def channels(self, names: Sequence[str]) -> list[Channel]:
        """Return the channels of energies that have been written."""
        return [
            Channel.of(name, self.values[word], ENERGIES[f"energy.{word}"], Role.OTHER)
            for word in self.values
            if (name := f"{self.prefix}energy.{word}") in names
        ]

    def _one(self, word: str, steps: list[Step]) -> Expr:
        target = Var(f"{self.prefix}energy.{word}", quantity=ENERGIES[f"energy.{word}"])
        if word in ("kinetic", "strain"):
            part = "M" if word == "kinetic" else "K"
            value = total([s.stored(part, steps) for s in self.structures])
        elif word == "error":
            value = self._unaccounted(steps)
        elif word == "hysteretic":
            assert self.recoverable is not None  # or it is missing
            value = self.values["devices" if self._has_devices else "specimen"] - self.recoverable
        elif word == "damping":
            lost = [(s, s.product("C", steps)) for s in self.structures]
            if self.by_work:
                pairs = [p for s, f in lost for p in zip(f, s.displacement, strict=True)]
                return self._work(target, pairs, steps)
            power = total([x * y for s, f in lost for x, y in zip(s.velocity, f, strict=True)])
            return self._integral(target, power, steps)
        elif word in self.powers:
            return self._integral(target, self.powers[word], steps)
        else:
            return self._work(target, self.works.get(word, ()), steps)
        steps.append(Assign(target, value))
        return target

    def _unaccounted(self, steps: list[Step]) -> Expr:
        """Return what came in, less what went, less what has been stored since the first tick."""
        v = self.values
        stored = Var(f"{self.prefix}energy.stored")
        first, kept = (Var(f"{self.prefix}energy.{word}") for word in ("first_stored", "kept_stored"))
        steps.append(Assign(stored, v["kinetic"] + v["strain"]))
        steps.append(Assign(first, select(self.count < 1, stored, kept)))
        steps.append(Update(((kept, first),)))
        self.states[kept] = 0.0
        rest = v["input"] - v["specimen"] - v["damping"] - (stored - first)
        return rest - v["devices"] if self._has_devices else rest

    def _integral(self, target: Var, power: Expr, steps: list[Step]) -> Expr:
        """Write E = E⁻ + h/24 (9 P + 19 P⁻ - 5 P⁻⁻ + P⁻⁻⁻); in the first ticks by trapezia."""
        h = self.period
        kept, now = Var(f"{target.name}.kept"), Var(f"{target.name}.power")
        old = [Var(f"{target.name}.power_before[{i}]") for i in range(3)]
        smooth = (h / 24) * (9 * now + 19 * old[0] - 5 * old[1] + old[2])
        first = select(self.count < 1, Const(0.0), (h / 2) * (now + old[0]))
        steps.append(Assign(now, power))
        steps.append(Assign(target, kept + select(self.count < 3, first, smooth)))
        steps.append(Update(((kept, target), (old[0], now), (old[1], old[0]), (old[2], old[1]))))
        self.states.update(dict.fromkeys((kept, *old), 0.0))
        return target

    def _work(self, target: Var, pairs: Sequence[tuple[Expr, Expr]], steps: list[Step]) -> Expr:
        """Write E = E⁻ + Σ ½ (f + f⁻) (u - u⁻)."""
        kept = Var(f"{target.name}.kept")
        parts: list[Expr] = [kept]
        keep: list[tuple[Var, Expr]] = [(kept, target)]
        for i, (force, displacement) in enumerate(pairs):
            f, u = (Var(f"{target.name}.{word}[{i}]") for word in ("force", "displacement"))
            f_old, u_old = (Var(f"{target.name}.{word}_before[{i}]") for word in ("force", "displacement"))
            steps += [Assign(f, force), Assign(u, displacement)]
            parts.append(0.5 * (f + f_old) * (u - u_old))
            keep += [(f_old, f), (u_old, u)]
        steps.append(Assign(target, select(self.count < 1, Const(0.0), total(parts))))
        steps.append(Update(tuple(keep)))
        self.states.update(dict.fromkeys((v for v, _ in keep), 0.0))
        return target


def recoverable(scheme: object, at: Sequence[int], force: Sequence[Var]) -> Expr | None:
    """Return f · k⁻¹ f / 2 with the specimen's elastic stiffness that a scheme knows; None where it does not.

    Parameters
    ----------
    scheme
        With ``specimen_stiffness`` over all degrees of freedom, or those of the interface alone.
    at
        Numbers of the interface's degrees of freedom.
    force
        Measured there.
    """
    stiffness = getattr(scheme, "specimen_stiffness", None)
    if stiffness is None:
        return None
    k = np.array(stiffness, dtype=float)
    k = k if len(k) == len(at) else k[np.ix_(at, at)]
    if not np.linalg.cond(k) < 1e12:
        return None
    soft = np.linalg.inv(k)
    return 0.5 * total(
        [float(soft[i, j]) * f * g for i, f in enumerate(force) for j, g in enumerate(force) if soft[i, j]]
    )


def names_energy(name: str) -> bool:
    """Whether the name of what is recorded may stand for an energy."""
    return "*" in name or any(name.endswith(energy) for energy in ENERGIES)


def inserted(steps: Sequence[Step], more: Sequence[Step], states: Iterable[Var]) -> list[Step]:
    """Return statements with others before the first one that changes a state which these read.

    Parameters
    ----------
    steps
        Of a tick.
    more
        What reads states as they are at the beginning of the tick.
    states
        Those of the tick.
    """
    if not more:
        return list(steps)
    own = {v for s in every(more) for v in s.writes}
    read = {v for s in every(more) for v in s.reads} & set(states) - own
    for i, step in enumerate(steps):
        if any(v in read for inner in every([step]) for v in inner.writes):
            return [*steps[:i], *more, *steps[i:]]
    return [*steps, *more]


def power_of_sources(model: Model, system: System, prefix: str) -> Expr | None:
    """Return the power [W] that a model's sources supply; None where it cannot be told.

    Parameters
    ----------
    model
        With the sources.
    system
        Its equations.
    prefix
        What the names of its variables begin with there.
    """
    total: Expr = Const(0.0)
    count = 0
    for path, part in model.walk():
        if not isinstance(part, (Se, Sf, MSe, MSf)):
            continue
        bonds = [b for b in bonds_of(part) if not (b.tail.is_signal or b.head.is_signal or b.word)]
        if len(bonds) != 1 or (getattr(part, "size", None) or 1) > 1:
            return None  # one that drives several bonds has as many efforts or flows
        power = _source_power(system, f"{prefix}{path}")
        if power is None:
            return None
        total = total + power if bonds[0].tail is part else total - power
        count += 1
    return total if count else None


def _source_power(system: System, path: str) -> Expr | None:
    """Return the power of a bond; None where it has none that can be told."""
    effort, flow = (known_expression(system, f"{path}.{word}") for word in ("effort", "flow"))
    if effort is None or flow is None:
        return None
    units = [q.unit for q in (system.quantity(f"{path}.{word}") for word in ("effort", "flow")) if q]
    if len(units) < 2 or not all(units):  # of generalised forces and velocities the product is a power
        return effort * flow
    if is_of_kind(f"1 {units[1]}", "W"):
        return flow
    return effort * flow if is_of_kind(f"1 {multiplied(units[0], units[1])}", "W") else None


def known_expression(system: System, path: str) -> Expr | None:
    """Return the expression of a path; None where the system has no such variable."""
    try:
        return system.expression(path)
    except InputError:
        return None
