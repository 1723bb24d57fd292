"""Emulated rigs: transfer systems with the specimen attached, and sensors; as equations and in a tick."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from bondloop.bondgraph import TRANSLATION, Domain, Model, One, Port, bond, domains_of, interfaces
from bondloop.control import displacement_state
from bondloop.display import brief
from bondloop.engine.analysis.simulation import starting_states
from bondloop.engine.data import NOT_NEGATIVE, Described, Parameter, Whole
from bondloop.engine.ir import (
    Assign,
    Channel,
    Const,
    Delay,
    Expr,
    Repeat,
    Role,
    Step,
    Tick,
    Update,
    Var,
    identifier,
    instantiate,
    quantity_of,
    reads,
    substitute,
    variables,
)
from bondloop.engine.passes import Context, connect, placed, prefixed
from bondloop.errors import InputError, ModelError
from bondloop.integrate import RK4, Integrator
from bondloop.rigs.imperfections import Imperfection, checked, expect_unit, in_turn
from bondloop.rigs.mounting import FmuSpecimen
from bondloop.rigs.sensor import Sensor, checked_sensor
from bondloop.substructure import Coupler, indexed, orientation
from bondloop.transfer import Transfer, check_commands, coupled_transfer, out_ports, width

if TYPE_CHECKING:
    from bondloop.engine import System
    from bondloop.engine.ir import Expr
    from bondloop.transfer import TransferSystem


@dataclass(frozen=True)
class RigSystem:
    """Equations of an emulated rig.

    Attributes
    ----------
    system
        Transfer systems and specimen together.
    commands
        Inputs, one per transfer system.
    forces, displacements, velocities
        At each interface: the cut bond's force, and the motion of the transfer system.
    stated
        Domain of each interface, as the cut knows it; None where it cannot be told.
    excitations
        Further inputs that the test drives: the ground's acceleration, where it acts on the specimen itself.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_three_mass
    >>> from bondloop.transfer import MassSpringDamper
    >>> physical = gawthrop_three_mass.model().cut("m2.right >> m3.left")[1]
    >>> rig = Emulated(physical, MassSpringDamper(1, 1, 1)).system()
    >>> rig.commands, rig.velocities
    ((<Var rig.transfer.u>,), (<Var rig.transfer.v.flow>,))
    """

    system: System
    commands: tuple[Var, ...]
    forces: tuple[Expr, ...]
    displacements: tuple[Expr, ...]
    velocities: tuple[Expr, ...]
    stated: tuple[Domain | None, ...] = ()
    excitations: tuple[Var, ...] = ()

    __repr__ = brief

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Domain of every interface; translation where nothing tells it."""
        return domains_of(self.stated, map(quantity_of, self.forces), map(quantity_of, self.velocities))


@dataclass(frozen=True, eq=False)
class Emulated(Described, member_of="rig"):
    """A rig in the computer: the physical half on its transfer systems, as it would stand in the laboratory.

    Parameters
    ----------
    physical
        The physical half of a cut.
    actuators
        A transfer system, or one per interface; a coupled one (`bondloop.transfer.coupled_transfer`) stands
        at as many interfaces as it has ports.
    sensors
        For ``"force"``, ``"displacement"``, ``"velocity"``: a sensor with its imperfections.
    drive
        Imperfections of the command on its way to the actuators.
    latency
        Delay of the command in seconds (or text), any from 0 to a minute: whole steps of the rig are exact,
        for a part of one see below.
    substeps
        Rig steps in one sample of the controller.
    integrator
        Scheme of the rig's own integration.
    seed
        Seed of all its noise.
    coupler
        Geometry between the specimen's interfaces and the actuators: `bondloop.substructure.Pins`,
        ``LinearCoupler``. Commands, sensors and compensators are then those of the actuators. None where each
        interface has an actuator of its own.

    Notes
    -----
    With a latency of L + f steps h of the rig, 0 < f < 1, the held command changes within a step: the old one
    acts for f h, then the new one. Over that step the rig is given their mean, f old + (1 - f) new, which has
    the same integral over time; only *when* within the step it acts is lost. A linear rig dx/dt = A x + B u
    is wrong after a jump d of the command by A B d f (1 - f) h²/2, so by the second order of h, at most at
    half a step. For slow motion at ω the gain is 1 - f (1 - f) (ωh)²/2 and the phase leads by
    f (1 - f) (1 - 2f) (ωh)³/6, those of an interpolating `PureDelay` with the period h: at 10 Hz, with steps
    of 0.25 ms, at most 0.003 % of the gain. More substeps make it smaller.
    """

    physical: Model
    actuators: TransferSystem | Sequence[TransferSystem]
    sensors: Mapping[str, Imperfection] = field(default_factory=dict)
    drive: tuple[Imperfection, ...] = ()
    latency: Parameter = Parameter(0.0, least=0, most=60, unit="s")
    substeps: Whole = Whole(4, least=1, most=100_000)
    integrator: Integrator = field(default_factory=RK4)
    seed: Whole = Whole(0, least=0, most=2**53 - 1)
    coupler: Coupler | None = None

    _allowed: ClassVar[Mapping[str, Any]] = {"sensors": ("force", "displacement", "velocity")}

    __repr__ = brief

    def __post_init__(self) -> None:
        if not isinstance(self.physical, Model):
            raise InputError(
                "Emulated(physical): expected the physical half of a cut, as model.cut('m2 >> m3')[1] gives "
                f"it, or bondloop.rigs.mounted(device); found {self.physical!r:.60}"
            )
        if not isinstance(self.sensors, Mapping):
            raise InputError(
                "Emulated(sensors): expected sensors by what they measure, such as {'force': "
                f"bondloop.rigs.LoadCell()}}; found {self.sensors!r:.60}"
            )
        for name, sensor in self.sensors.items():
            if name not in self._allowed["sensors"]:
                raise InputError(
                    "Emulated(sensors): expected sensors of 'force', 'displacement' and 'velocity'; found "
                    f"{name!r}"
                )
            checked_sensor(sensor, f"Emulated(sensors): {name}")
        # Copies: the caller's own may change afterwards.
        object.__setattr__(self, "sensors", dict(self.sensors))
        if isinstance(self.actuators, list):
            object.__setattr__(self, "actuators", tuple(self.actuators))
        object.__setattr__(self, "drive", checked(self.drive, "Emulated(drive)"))
        if not isinstance(self.coupler, (Coupler, type(None))):
            raise InputError(
                "Emulated(coupler): expected a coupler, such as bondloop.substructure.Pins(points); found "
                f"{self.coupler!r:.60}"
            )

    @property
    def in_units(self) -> bool:
        """Whether something of its sensors or its drive was given in a unit, which its equations must fit."""
        return any(part.value_unit for part in (*self.sensors.values(), *self.drive))

    def actuator_list(self) -> list[TransferSystem]:
        """Return the transfer systems as a list."""
        return list(self.actuators) if isinstance(self.actuators, (list, tuple)) else [self.actuators]

    def system(self, prefix: str = "rig.", excited: Sequence[str] = ()) -> RigSystem:
        """Equations of transfer systems and specimen together.

        Parameters
        ----------
        prefix
            Put before the names of its variables.
        excited
            Inputs of the specimen that a test drives.
        """
        actuators = self.actuator_list()
        count = len(interfaces(self.physical))
        widths = [width(a) for a in actuators]
        if sum(widths) != count:
            ports = f" with {sum(widths)} ports" if max(widths, default=1) > 1 else ""
            raise ModelError(
                f"the rig does not fit the cut: {count} interfaces, {len(actuators)} transfer systems"
                f"{ports}; give one for each"
            )
        if self.coupler is not None and self.coupler.size != count:
            raise ModelError(
                f"the coupler does not fit the cut: {count} interfaces, {self.coupler.size} coordinates"
            )
        if self.coupler is None and all(isinstance(a, Model) for a in actuators):
            return self._bonded(actuators, prefix, excited)
        return self._composed(actuators, prefix, excited)

    def _bonded(self, actuators: list[Model], prefix: str, excited: Sequence[str]) -> RigSystem:
        """Bond the specimen to the transfer systems: one bond graph, whatever its causality."""
        several = len(actuators) > 1
        rig = Model("rig")
        rig.specimen = self.physical.copy()
        directions = orientation(rig.specimen)
        copies = [a.copy() for a in actuators]
        rig.transfer = copies if several else copies[0]
        outs = [a.ports[name] for a in copies for name in out_ports(a)]
        names = []
        for i, (out, direction) in enumerate(zip(outs, directions, strict=True)):
            name = f"interface[{i}]" if len(outs) > 1 else "interface"
            port = Port(domain=rig.specimen.find(name).domain)
            rig.specimen.swap(name, port)
            if direction < 0:
                bond(out, port)
            else:  # the specimen's bond points outwards: both lead into a 1-junction
                join = One()
                setattr(rig, f"join_{i}", join)
                bond(out, join)
                bond(port, join)
            names.append(f"specimen.{name}")
        outputs = [f"{n}.{word}" for n in names for word in ("effort", "flow")]
        system = prefixed(rig.compile(outputs), prefix)
        forces = [system.output_exprs[f"{prefix}{n}.effort"] for n in names]
        velocities = [system.output_exprs[f"{prefix}{n}.flow"] for n in names]
        commands = []
        for i, a in enumerate(actuators):
            start = f"{prefix}transfer[{i}]." if several else f"{prefix}transfer."
            own = [u for u in system.input_vars if u.name.startswith(start)]
            if width(a) == 1 != len(own):
                raise ModelError(
                    f"transfer system {i + 1} must have exactly one input, the command; "
                    f"found {', '.join(u.name for u in own) or 'none'}"
                )
            check_commands(own, width(a), a)
            commands += own
        return self._finish(system, commands, forces, velocities, prefix, excited)

    def _composed(self, actuators: list[TransferSystem], prefix: str, excited: Sequence[str]) -> RigSystem:
        """Connect transfer systems given as equations to the specimen's equations."""
        several = len(actuators) > 1
        specimen = prefixed(self.physical.compile(), f"{prefix}specimen.")
        transfers = [
            coupled_transfer(a, f"{prefix}transfer[{i}]." if several else f"{prefix}transfer.")
            for i, a in enumerate(actuators)
        ]
        velocities = [v for t in transfers for v in t.velocities]
        flows = velocities
        at: list[Expr] = []
        extra: dict[Var, Expr] = {}
        if self.coupler is not None:
            at, flows, extra = self._posed(self.coupler, transfers, prefix)
        by_name = dict(zip(specimen.inputs, specimen.input_vars, strict=True))
        links: dict[Var, Expr] = {}
        efforts: list[Expr] = []
        pushes: list[Expr] = []
        ends = [prefix + f"specimen.{end.path}" for end in interfaces(self.physical)]
        for i, (flow, direction) in enumerate(zip(flows, orientation(self.physical), strict=True)):
            name = ends[i]
            if f"{name}.flow" not in by_name:
                raise ModelError(
                    f"{name}: the specimen begins with a mass, so it cannot be joined to a transfer system "
                    "given "
                    "as equations; give the transfer system as a bond graph"
                )
            effort = specimen.output_exprs[f"{name}.effort"]
            links[by_name[f"{name}.flow"]] = flow
            pushes.append(effort if direction < 0 else -effort)
            efforts.append(effort)
        forces = efforts
        if self.coupler is not None:
            forces = self.coupler.forces(at, efforts)
            pushes = self.coupler.forces(at, pushes)
        links.update(zip((load for t in transfers for load in t.loads), pushes, strict=True))
        system = connect("rig", [specimen, *(t.system for t in transfers)], links, {}, states=extra)
        commands = [u for t in transfers for u in t.commands]
        return self._finish(system, commands, forces, velocities, prefix, excited)

    def _posed(
        self, coupler: Coupler, transfers: Sequence[Transfer], prefix: str
    ) -> tuple[list[Expr], list[Expr], dict[Var, Expr]]:
        """Return the pose that the actuators hold, its rates, and the states that this needs."""
        velocities = [v for t in transfers for v in t.velocities]
        stated = [end.domain for end in interfaces(self.physical)]
        at = [
            Var(f"{prefix}pose[{i}]", quantity=None if d is None else d.displacement)
            for i, d in enumerate(stated)
        ]
        flows = coupler.rates(at, velocities)
        if not any(v in at for flow in flows for v in variables(flow)):
            return list(at), flows, {}  # a linear one is the same at every pose
        systems = [t.system for t in transfers]
        states = {x: r for s in systems for x, r in zip(s.state_vars, s.rate_exprs, strict=True)}
        back = 10.0  # 1/s: at which a pose returns to its strokes when rounding has led it away from them
        extra: dict[Var, Expr] = {}
        off: list[Expr] = []
        for i, (v, stroke) in enumerate(zip(velocities, coupler.strokes(at), strict=True)):
            x, new = displacement_state({**states, **extra}, v, f"{prefix}displacement[{i}]", TRANSLATION)
            extra.update(new)
            off.append(v - Const(back) * (stroke - x))
        # The pose follows from the strokes; as an integral it would be free to drift away from them.
        return list(at), flows, {**extra, **dict(zip(at, coupler.rates(at, off), strict=True))}

    def _finish(
        self,
        system: System,
        commands: list[Var],
        forces: list[Expr],
        velocities: list[Expr],
        prefix: str,
        excited: Sequence[str],
    ) -> RigSystem:
        if system.input_rates:
            names = ", ".join(u.name for u in system.input_rates)
            raise ModelError(
                f"the rig would need the rate of {names}: the command drives a mass directly; model the "
                "stiffness or the lag between them"
            )
        ours = {f"{prefix}specimen.{name}" for name in excited}
        excitations = tuple(u for u in system.input_vars if u.name in ours)
        foreign = self.physical if isinstance(self.physical, FmuSpecimen) else None
        pushed = foreign.sources(system, f"{prefix}specimen.") if foreign is not None else []
        system = _constant_sources(system, [*commands, *excitations, *pushed])
        states = dict(zip(system.state_vars, system.rate_exprs, strict=True))
        extra: dict[Var, Expr] = {}
        displacements: list[Expr] = []
        stated = tuple(end.domain for end in interfaces(self.physical))
        if self.coupler is not None:
            stated = (TRANSLATION,) * len(stated)
        motions = indexed(f"{prefix}displacement", len(velocities))
        for name, v, domain in zip(motions, velocities, stated, strict=True):
            x, new = displacement_state({**states, **extra}, v, name, domain)
            extra.update(new)
            displacements.append(x)
        if extra:
            system = connect("rig", [system], {}, system.output_exprs, states=extra)
        if foreign is not None:
            system = foreign.driven(system, pushed, displacements, velocities)
        found = tuple(commands), tuple(forces), tuple(displacements), tuple(velocities)
        rig = RigSystem(system, *found, stated, excitations)
        self._expect_units(rig)
        return rig

    def _expect_units(self, rig: RigSystem) -> None:
        """Refuse sensors and imperfections in other units than what they measure, or than the command."""
        for word, sensor in self.sensors.items():
            units = [getattr(domain, MEASURED[word]).unit for domain in rig.domains]
            expect_unit(sensor, units, f"rig.sensors.{word}")
        for part in self.drive:
            expect_unit(part, [u.unit for u in rig.commands], "rig.drive")


def _constant_sources(system: System, commands: Sequence[Var]) -> System:
    """Turn sources with a value, such as a weight, into parameters; refuse inputs that nothing drives."""
    others = [u for u in system.input_vars if u not in commands]
    driven = [u.name for u in others if u.name not in system.input_defaults]
    if driven:
        raise ModelError(
            f"the physical half has inputs of its own ({', '.join(driven)}); an excitation must act on the "
            "numerical half: cut elsewhere, or give the source a value, as in Se(effort=10)"
        )
    if not others:
        return system
    constants = {u: Var(u.name, quantity=u.quantity) for u in others}
    parameters: dict[Var, float | None] = {constants[u]: system.input_defaults[u.name] for u in others}
    return connect("rig", [system], constants, system.output_exprs, parameters=parameters)


MEASURED = {"force": "effort", "displacement": "displacement", "velocity": "flow"}
"""What the sensors of a rig read, with the kind of variable that it is on the cut bond."""

SEED = "rig.seed"
"""Parameter of a tick from which all noise of its sensors follows."""


class RigBlock:
    """An emulated rig as statements of a tick.

    Execute ``measure()`` first, then give the commands to ``advance()``: the rig runs on for one period while
    they are held.

    Parameters
    ----------
    emulated, rig
        The rig, and its equations.
    count
        Variable of the number of the tick.
    period
        Seconds between ticks.
    wanted
        Further expressions of the rig's variables that will be recorded.
    excited
        Gives what drives the rig beside its commands, at a part of the tick that has passed.

    Attributes
    ----------
    states, parameters
        What it keeps from tick to tick, with initial values; its constants.
    measured
        For each word of `MEASURED` a variable per interface.
    table
        What every variable of the rig is at the beginning of the tick.
    """

    def __init__(
        self,
        emulated: Emulated,
        rig: RigSystem,
        count: Var,
        period: float,
        wanted: Iterable[Expr] = (),
        excited: Callable[[Var, Expr], Expr] | None = None,
    ) -> None:
        if rig.excitations and excited is None:
            driven = ", ".join(u.name for u in rig.excitations)
            raise InputError(
                f"the ground acts on the specimen itself ({driven}), and a rig by itself has no ground: let "
                "the rig impose the motion in space (coordinates='absolute') of a specimen that does not "
                "stand on the ground, or the relative motion of one without mass"
            )
        self.emulated, self.rig, self.count, self.period = emulated, rig, count, period
        self.excited = excited
        self.wanted = list(wanted)
        system = rig.system
        self.states = starting_states(system)
        self.parameters: dict[Var, float] = dict(system.values())
        # A parameter: other draws of the noise are other values, not another tick to compile.
        self.seed = Var(SEED, range=NOT_NEGATIVE)
        names = indexed("command", len(rig.commands))
        self.held = {u: Var(f"{c}.held") for u, c in zip(rig.commands, names, strict=True)}
        self.measured: dict[str, list[Var]] = {}
        self.table: Mapping[Var, Expr] = {}

    def measure(self) -> list[Step]:
        """Return the statements that give what the sensors read at the beginning of the tick."""
        rig = self.rig
        goals = [*rig.forces, *rig.displacements, *rig.velocities, *self.wanted]
        program = rig.system.schedule(goals)
        needed = reads(program)
        given: dict[Var, Expr] = {v: v for v in rig.system.state_vars}
        for u, h in self.held.items():
            given[u] = h
            if u in needed or any(u in variables(g) for g in goals):
                self.states[h] = 0.0
            else:
                given[u] = Const(0.0)
        given.update(self._excited(Const(0.0)))
        copied, self.table = instantiate(program, given, "")
        steps: list[Step] = list(copied)
        for number, (word, exprs) in enumerate(
            (("force", rig.forces), ("displacement", rig.displacements), ("velocity", rig.velocities))
        ):
            sensor = self.emulated.sensors.get(word)
            chain = sensor.imperfections if isinstance(sensor, Sensor) else ()
            self.measured[word] = []
            for i, (name, e) in enumerate(zip(indexed(f"measured.{word}", len(exprs)), exprs, strict=True)):
                steps += self._through(chain, substitute(e, self.table), name, 16 * number, i)
                self.measured[word].append(Var(name, quantity=getattr(rig.domains[i], MEASURED[word])))
                steps.append(Assign(self.measured[word][-1], self._value))
        return steps

    def advance(self, commands: Sequence[Expr]) -> list[Step]:
        """Return the statements that carry the rig through one period with the commands held."""
        emulated, rig = self.emulated, self.rig
        fine = self.period / emulated.substeps
        whole, part = _whole_and_part(emulated.latency / fine)
        steps: list[Step] = []
        body: list[Step] = []
        inputs: dict[Var, Expr] = {}
        newest: dict[Var, Expr] = {}
        for i, (u, command) in enumerate(zip(rig.commands, commands, strict=True)):
            steps += self._through(emulated.drive, command, f"rig.drive[{i}]", 64, i)
            inputs[u] = newest[u] = self._value
            if whole:
                late = Var(f"{u.name}.late")
                body.append(Delay(late, self._value, whole))
                inputs[u] = newest[u] = late
            if part:
                # The old command acts for this part of the fine step, the new one for the rest of it: their
                # mean has the same integral over the step (see `Emulated`).
                older, mean = Var(f"{u.name}.later"), Var(f"{u.name}.mean")
                body += [
                    Delay(older, newest[u], 1),
                    Assign(mean, (1.0 - part) * newest[u] + part * older),
                ]
                inputs[u] = mean
        number = Var("substep")

        def at(fraction: float) -> dict[Var, Expr]:
            driven: dict[Var, Expr] = {}
            for u, value in self._excited((number + fraction) / Const(emulated.substeps)).items():
                key = (u, fraction)
                if key not in computed:
                    computed[key] = Var(f"{u.name}@{fraction:g}")
                    body.append(Assign(computed[key], value))
                driven[u] = computed[key]
            return {**inputs, **driven}

        computed: dict[tuple[Var, float], Var] = {}
        made = emulated.integrator.discretise(rig.system, fine, at, [])
        body += [*made.first, *made.rest]
        # At the end of a fine step the newest command acts alone, whatever part of the step it had.
        kept = [(h, newest[u]) for u, h in self.held.items() if h in self.states]
        if kept:
            body.append(Update(tuple(kept)))
        steps.append(Repeat(emulated.substeps, number, tuple(body)))
        return steps

    def _excited(self, passed: Expr) -> dict[Var, Expr]:
        """Return what drives the rig beside its commands, at a part of the tick that has passed."""
        return {u: self.excited(u, passed) for u in self.rig.excitations} if self.excited else {}

    def _through(
        self, chain: Sequence[Imperfection], value: Expr, name: str, first: int, i: int
    ) -> list[Step]:
        contexts = [
            Context(
                f"{name}.{k}",
                self.count,
                self.period,
                self.seed,
                (first + i) * 16 + k,
                common=first * 16 + k,
            )
            for k in range(len(chain))
        ]
        if any(part.streams for part in chain):
            self.parameters[self.seed] = placed(SEED, float(self.emulated.seed))
        applied = in_turn(chain, value, contexts)
        self.states.update(applied.states)
        self.parameters.update(applied.parameters)
        self._value = applied.value
        return list(applied.steps)


def _whole_and_part(steps: float) -> tuple[int, float]:
    """Return a number of fine steps as a whole number and a part; a part below 1e-6 is rounding.

    >>> _whole_and_part(3.0000001), _whole_and_part(2.25)
    ((3, 0.0), (2, 0.25))
    """
    nearest = round(steps)
    if abs(steps - nearest) <= 1e-6:
        return nearest, 0.0
    whole = math.floor(steps)
    return whole, steps - whole


def rig_tick(emulated: Emulated, rig: RigSystem, period: float, name: str = "rig") -> Tick:
    """Return the rig alone as a tick: commands in, what its sensors read out.

    The channels are the measurements at the beginning of the tick; then the rig goes on for one period with
    the commands.

    Parameters
    ----------
    emulated, rig
        The rig, and its equations (``emulated.system()``).
    period
        Seconds between ticks.
    name
        Name of the tick.
    """
    time, count = Var("t"), Var("k")
    block = RigBlock(emulated, rig, count, period)
    names = indexed("command", len(rig.commands))
    commands = [Var(n, quantity=u.quantity) for n, u in zip(names, rig.commands, strict=True)]
    steps = [*block.measure(), *block.advance(commands)]
    channels = [
        Channel.of(v.name, v, v.quantity, Role.MEASURED, i)
        for measured in block.measured.values()
        for i, v in enumerate(measured)
    ]
    return Tick(
        *(identifier(name, "rig_"), period, time, count, tuple(commands)),
        *(block.states, block.parameters, tuple(steps), tuple(channels)),
    )
