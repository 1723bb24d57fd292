"""Wiring a test into one tick, or its computer into that of a real-time loop, and what is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bondloop.bondgraph import interfaces
from bondloop.engine.data import NOT_NEGATIVE
from bondloop.engine.ir import Channel, Expr, Quantity, Role, Step, Tick, Var, identifier, substitute
from bondloop.engine.passes import connect
from bondloop.errors import InputError, UnknownNameError, unknown_name
from bondloop.hybrid.computer import Computer
from bondloop.hybrid.energies import (
    ENERGIES,
    Balance,
    HalfEnergies,
    inserted,
    known_expression,
    names_energy,
    power_of_sources,
)
from bondloop.hybrid.structure_readings import EVERYTHING, StructureReadings, chosen, read_off, readings_in
from bondloop.rehearsal import (
    POWER,
    SCALE,
    diverged,
    limit_word,
    loop_links,
    role_of,
    targets_from_outside,
    tunable_tick,
)
from bondloop.rigs import MEASURED, RigBlock
from bondloop.signals import Signals
from bondloop.substructure import indexed
from bondloop.units import multiplied

if TYPE_CHECKING:
    from bondloop.control import Design
    from bondloop.engine import System
    from bondloop.hybrid.test import HybridTest
    from bondloop.rigs import RigSystem
    from bondloop.safety import Limits


Part = Literal["computer", "rig", "reference"]
"""The parts of a test."""


@dataclass(frozen=True)
class Wanted:
    """An expression of one part that is recorded, before wiring; fields as those of a `Channel`."""

    name: str
    value: Expr
    quantity: Quantity | None
    part: Part
    role: Role = Role.OTHER
    interface: int | None = None
    counterpart: str = ""


class Wiring:
    """All parts of a test joined: the tick, and what is worth recording."""

    def __init__(self, test: HybridTest) -> None:
        self.test = test
        self.design: Design = test.design
        self.rig: RigSystem = test.rig_system
        self.count_of_interfaces = len(self.rig.forces)
        self.time, self.count = Var("t"), Var("k")
        self.scale = Var(SCALE, range=NOT_NEGATIVE)
        self.signals = Signals(self.time, test.period, self.scale)
        self.computer = Computer(test, self.signals, self.count)
        self.states: dict[Var, float] = {}
        self.parameters: dict[Var, float] = {self.scale: test.scale}
        self.steps: list[Step] = []
        self.values: dict[Var, Expr] = {}
        self.measured: dict[str, list[Var]] = {}  # what the sensors read, before any guard
        summed = half_energies(test) if any(names_energy(name) for name in test.record) else None
        structures = structures_of(test) if any(EVERYTHING in name for name in test.record) else []
        self.record = chosen(test.record, structures, [] if summed is None else summed.names(""))
        self.energies = summed if self._energies else None
        self.balance: Balance | None = None
        self.wanted = self._wanted()

    # ---------------------------------------------------------------- the tick

    def tick(self) -> Tick:
        """Build the tick of the whole test."""
        if self.test.coupling == "continuous":
            self._continuous()
        else:
            self._sampled()
        self._sum_up()
        return self._finish((), self._channels())

    def _sum_up(self) -> None:
        """Sum up energies, of the motion as it is at the beginning of the tick."""
        if self.energies is None:
            return
        at_start: Callable[[Expr], Expr] = lambda e: substitute(e, self.values)  # noqa: E731
        self.balance = self.energies.balance("", self.count, self.test.period, at_start)
        self.steps = inserted(self.steps, self.balance.write(self._energies), self.states)
        self.states.update(self.balance.states)

    def computer_tick(self) -> Tick:
        """Build the tick of the computer alone; what the sensors read is among its inputs."""
        if self.test.coupling == "continuous":
            raise InputError("a continuous coupling cannot run in real time; use coupling='sampled'")
        measured = {
            word: [
                Var(name, quantity=getattr(domain, kind))
                for name, domain in zip(self._names(f"measured.{word}"), self.rig.domains, strict=True)
            ]
            for word, kind in MEASURED.items()
        }
        self._compute(measured)
        self._refer()
        self._sum_up()
        inputs = tuple(v for values in measured.values() for v in values)
        return self._finish(inputs, self._channels(alone=True), "_computer")

    def _finish(self, measured: tuple[Var, ...], channels: list[Channel], suffix: str = "") -> Tick:
        test = self.test
        tick = Tick(
            identifier(test.name, "test_") + suffix,
            test.period, self.time, self.count, (*self.signals.inputs, *measured), self.states,
            self.parameters, (*self.signals.steps, *self.steps), tuple(channels),
            bounds_of(channels, test.limits), measured,
        )  # fmt: skip
        return tunable_tick(tick, {**targets_from_outside(test.numerical), **test.tunable})

    def _continuous(self) -> None:
        """Integrate computer and rig as one system: the ideal coupling, without sampling."""
        test, design, rig = self.test, self.design, self.rig
        if test.rig.sensors or test.rig.drive or test.rig.latency:
            raise InputError(
                "continuous coupling is ideal: it has no sensors, no latency and no drive imperfections; "
                "use coupling='sampled'"
            )
        if test.switches is not None or test.interlock is not None or test.controller.sampled:
            raise InputError(
                "switches, interlock and compensators work sample by sample; use coupling='sampled'"
            )
        parts = [design.system, rig.system]
        if test.reference_system is not None:
            parts.append(test.reference_system)
        whole = connect("test", parts, loop_links(design, rig, feedback=test.feedback), {})
        self.computer.add(whole)
        self._keep(self.computer)
        goals = [w.value for w in self.wanted] + ([] if self.energies is None else self.energies.goals)
        made = test.integrator.discretise(whole, test.period, self.computer.inputs_at(whole, {}), goals)
        self.steps += [*made.first, *made.rest]
        self.values = made.table

    def _sampled(self) -> None:
        """Let the computer sample the rig once a tick; the rig runs on between samples."""
        block = RigBlock(
            self.test.rig, self.rig, self.count, self.test.period, self._of("rig"), self._excited
        )
        self.steps += block.measure()
        self.values.update(block.table)
        self.measured = block.measured
        self._compute(block.measured)
        self.steps += block.advance(self.computer.commands)
        self._keep(block)
        self._refer()

    def _excited(self, u: Var, passed: Expr) -> Expr:
        """Return what drives the rig beside its commands."""
        name = self.test.input_name(u)
        return self.signals.within(name, self.test.signal(name), passed)

    def _compute(self, measured: Mapping[str, Sequence[Var]]) -> None:
        self.steps += self.computer.steps(measured, self._of("computer"))
        self.values.update(self.computer.values)
        self._keep(self.computer)

    def _refer(self) -> None:
        """Run the complete model beside the test."""
        reference = self.test.reference_system
        if reference is None:
            return
        self.computer.add(reference)
        self._keep(self.computer)
        inputs = self.computer.inputs_at(reference, {})
        made = self.test.integrator.discretise(reference, self.test.period, inputs, self._of("reference"))
        self.steps += [*made.first, *made.rest]
        self.values.update(made.table)

    def _keep(self, part: Computer | RigBlock) -> None:
        self.states.update(part.states)
        self.parameters.update(part.parameters)

    # ---------------------------------------------------------------- channels

    def _names(self, word: str) -> list[str]:
        return indexed(word, self.count_of_interfaces)

    def _of(self, part: Part) -> list[Expr]:
        more = self.energies.goals if self.energies is not None and part == "computer" else []
        return [*(w.value for w in self.wanted if w.part == part), *more]

    @property
    def _energies(self) -> list[str]:
        """What is recorded of the energies, by name."""
        return [name for name in self.record if name in ENERGIES]

    def _wanted(self) -> list[Wanted]:
        """Expressions of the parts that are recorded."""
        design, rig, test = self.design, self.rig, self.test
        ours, theirs = test.domains, rig.domains
        desired, actual = Role.DESIRED, Role.ACTUAL
        commands = [u.quantity for u in rig.commands]
        motions: tuple[tuple[str, Sequence[Expr], Sequence[Quantity | None], Role, Part], ...] = (
            ("desired.displacement", design.desired_displacements, [d.displacement for d in ours],
             desired, "computer"),
            ("actual.displacement", rig.displacements, [d.displacement for d in theirs], actual, "rig"),
            ("desired.velocity", design.desired_velocities, [d.flow for d in ours], desired, "computer"),
            ("actual.velocity", rig.velocities, [d.flow for d in theirs], actual, "rig"),
            ("force", rig.forces, [d.effort for d in theirs], actual, "rig"),
            ("command", design.commands, commands, Role.COMMAND, "computer"),
        )  # fmt: skip
        wanted = [
            Wanted(n, e, q, part, role, i)
            for word, exprs, measures, role, part in motions
            for i, (n, e, q) in enumerate(zip(self._names(word), exprs, measures, strict=True))
        ]
        wanted += [self._of_controller(c, commands) for c in design.channels]
        power = supplied_power(test)
        if power is not None:
            watts = Quantity("power", "W", "power")
            wanted.append(Wanted(POWER, power, watts, "computer", Role.EXCITATION))
        if test.reference_system is not None:
            pairs = counterparts(test)
            wanted += [
                Wanted(f"reference.{n}", e, q, "reference", Role.REFERENCE, None, pairs.get(n, ""))
                for n, e, q in test.reference_outputs
            ]
            wanted += [
                Wanted(n, e, ours[i].flow, "reference", Role.REFERENCE, i, self._names("desired.velocity")[i])
                for i, n, e in interface_velocities(test)
            ]
            taken = {w.name for w in wanted}
            wanted += [recorded(test, path) for path in pairs.values() if path not in taken]
        taken = {w.name for w in wanted}
        asked = [path for path in self.record if path not in taken and path not in ENERGIES]
        return wanted + [recorded(test, path) for path in asked]

    def _of_controller(self, c: Channel, commands: Sequence[Quantity | None]) -> Wanted:
        """Return what a controller wants recorded; a gain's unit is its command's over what it multiplies."""
        m = c.meaning
        unit = c.unit
        if m.role is Role.GAIN:
            command = None if m.interface is None else commands[m.interface]
            # Without a quantity nothing is known of what it multiplies, such as a reference of one's own.
            unit = "" if command is None or not m.quantity else multiplied(command.unit, unit)
        return Wanted(c.name, c.value, Quantity(m.quantity, unit, m.kind), "computer", m.role, m.interface)

    def _channels(self, *, alone: bool = False) -> list[Channel]:
        """Return what is recorded; with the computer alone the rig is known by its sensors only."""
        test = self.test
        sampled = test.coupling == "sampled"
        taken = {w.name for w in self.wanted}
        channels: list[Channel] = []
        inputs = {test.input_name(u): u.quantity for u in test.half.excitations}
        for name, signal in test.excitation.items():
            label = f"excitation.{name}" if name in taken else name
            value = self.signals.at(name, signal, 0.0)
            channels.append(Channel.of(label, value, inputs[name], Role.EXCITATION))
        byname: dict[str, Expr] = {}
        if sampled:
            byname.update(zip(self._names("command"), self.computer.commands, strict=True))
        if alone:
            for word in MEASURED:
                names = self._names(word if word == "force" else f"actual.{word}")
                byname.update(zip(names, self.computer.measured[word], strict=True))
        for w in self.wanted:
            if w.name not in byname:
                if alone and w.part == "rig":
                    continue
                byname[w.name] = substitute(w.value, self.values)
            channels.append(
                Channel.of(w.name, byname[w.name], w.quantity, w.role, w.interface, w.counterpart)
            )
        for i, suffix in enumerate(self._names("")):
            v = byname[f"actual.velocity{suffix}"] - byname[f"desired.velocity{suffix}"]
            flow = test.domains[i].flow
            channels.append(Channel.of(f"synchronisation.velocity{suffix}", v, flow, Role.ERROR, i))
        if sampled:
            channels += self.computer.channels
            for i, suffix in enumerate(self._names("")):
                domain = self.rig.domains[i]
                seen = self.computer.measured["force"][i]
                channels.append(Channel.of(f"measured.force{suffix}", seen, domain.effort, Role.MEASURED, i))
                difference = byname[f"force{suffix}"] - self.computer.forces[i]
                name = f"synchronisation.force{suffix}"
                channels.append(Channel.of(name, difference, domain.effort, Role.ERROR, i))
                for word in ("displacement", "velocity"):
                    if alone or word in test.rig.sensors:
                        value = self.computer.measured[word][i]
                        quantity = getattr(domain, MEASURED[word])
                        name = f"measured.{word}{suffix}"
                        channels.append(Channel.of(name, value, quantity, Role.MEASURED, i))
        return channels if self.balance is None else [*channels, *self.balance.channels(self._energies)]


def bounds_of(channels: Iterable[Channel], limits: Limits | None) -> dict[str, float]:
    """Return what channels must not pass: limits, or what no rig reaches."""
    bounds = {}
    for c in channels:
        word = limit_word(c.meaning)
        limit = getattr(limits, word, None) if word else None
        bounds[c.name] = diverged(c.meaning) if limit is None else float(limit)
    return bounds


def recorded(test: HybridTest, path: str) -> Wanted:
    """Return what is recorded by a path that begins with a part of the test, ``"rig.specimen.m3.v.flow"``."""
    head = path.partition(".")[0]
    owners: dict[str, Part] = {
        "numerical": "computer",
        "simulated": "computer",
        "controller": "computer",
        "rig": "rig",
        "reference": "reference",
    }
    systems = {
        "computer": test.design.system,
        "rig": test.rig_system.system,
        "reference": test.reference_system,
    }
    system = systems[owners[head]] if head in owners else None
    if system is None:
        known = [k for k, owner in owners.items() if systems[owner] is not None]
        whole = [f"{k}.{path}" for k in known if _knows(systems[owners[k]], f"{k}.{path}")]
        hint = f"write '{whole[0]}'" if whole else unknown_name("part of the test", head, known)
        raise InputError(f"cannot record '{path}': {hint}")
    try:
        value, quantity = system.expression(path), system.quantity(path)
    except UnknownNameError as error:
        value, quantity = read_off(path, structures_of(test), error)
    return Wanted(path, value, quantity, owners[head], role_of(system, value))


def structures_of(test: HybridTest) -> list[StructureReadings]:
    """Return the readings of all structures in numerical half, specimen and reference."""
    reference = test.reference[0] if isinstance(test.reference, tuple) else test.reference
    return [
        *readings_in(test.numerical, "numerical.", test.design.system, list(test.ground)),
        *readings_in(test.rig.physical, "rig.specimen.", test.rig_system.system, test.grounds_of_specimen),
        *readings_in(reference, "reference.", test.reference_system, list(test.ground)),
    ]


def half_energies(test: HybridTest) -> HalfEnergies:
    """Return what the energies of the numerical half are made of."""
    half = test.half
    # By its path: behind a force switch it is not what was measured.
    ends = interfaces(test.numerical)
    felt = [test.design.system.expression(f"numerical.{end.path}.effort") for end in ends]
    taken = [s * e * f for s, e, f in zip(half.signs, felt, half.flows, strict=True)]
    structures = readings_in(test.numerical, "numerical.", test.design.system)
    supplied = power_of_sources(test.numerical_on_ground, half.system, "numerical.")
    return HalfEnergies(test.numerical, structures, "numerical.", supplied, taken, test.design.system)


def _knows(system: System | None, path: str) -> bool:
    try:
        return system is not None and system.expression(path) is not None
    except InputError:
        return False


def interface_velocities(test: HybridTest) -> list[tuple[int, str, Expr]]:
    """Return the velocities in the complete model where the interfaces are, as far as it has them by name.

    Each with the number of the interface and the name of its channel.

    The numerical half is a copy of a part of the complete model, and its paths are those of the latter.
    """
    reference = test.reference_system
    velocities: list[tuple[int, str, Expr]] = []
    if reference is None or test.rig.coupler is not None:  # what is desired there are strokes
        return velocities
    names = indexed("reference.velocity", len(test.half.flows))
    for i, (name, flow) in enumerate(zip(names, test.half.flows, strict=True)):
        path = flow.name.removeprefix("numerical.") if isinstance(flow, Var) else ""
        velocity = known_expression(reference, f"reference.{path}")
        if velocity is not None:
            velocities.append((i, name, velocity))
    return velocities


def counterparts(test: HybridTest) -> dict[str, str]:
    """Return by the name of each of the reference's outputs what it is compared with, as far as there is one.

    A path in numerical half or specimen. What is an interface's velocity is compared as that: the desired one
    is recorded anyway.
    """
    paths: dict[str, str] = {}
    if test.reference_system is None:
        return paths
    for name, _, _ in test.reference_outputs:
        ours = known_expression(test.design.system, f"numerical.{name}")
        if ours is not None:
            if not any(ours is flow for flow in test.half.flows):
                paths[name] = f"numerical.{name}"
        elif known_expression(test.rig_system.system, f"rig.specimen.{name}") is not None:
            paths[name] = f"rig.specimen.{name}"
    return paths


def supplied_power(test: HybridTest) -> Expr | None:
    """Return the power [W] that the numerical half's sources supply; None where it cannot be told.

    Each source has its own domain: effort times flow, but in an engineer's network of heat the flow alone.
    """
    if test.ground:
        return None  # the ground moves the specimen too
    return power_of_sources(test.numerical, test.half.system, "numerical.")
