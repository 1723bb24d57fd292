"""The computer's half of a tick: what the sensors read in, commands out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.control import Measured
from bondloop.engine.analysis.simulation import starting_states
from bondloop.engine.ir import Assign, Channel, Const, Expr, Quantity, Role, Var, as_expr, substitute
from bondloop.engine.passes import Applied, Context, placed
from bondloop.errors import InputError
from bondloop.rehearsal import adjustable_limits
from bondloop.rigs import MEASURED, SEED
from bondloop.safety import DISPLACEMENT_SWITCH, FORCE_SWITCH, INTERLOCK, Watched, either
from bondloop.substructure import indexed

if TYPE_CHECKING:
    from bondloop.control import Design
    from bondloop.engine import System
    from bondloop.engine.ir import Step
    from bondloop.hybrid.coupling import Carried
    from bondloop.hybrid.test import HybridTest
    from bondloop.integrate import InputsAt
    from bondloop.safety import Guarded, RampedSwitch
    from bondloop.signals import Signal, Signals


class Computer:
    """Numerical half, controller, switches and interlock as statements of a tick.

    Parameters
    ----------
    test
        The test.
    signals
        Its excitations.
    count
        Variable of the number of the tick.

    Attributes
    ----------
    states, parameters
        What it keeps from tick to tick, with initial values; its constants.
    values
        What every variable of numerical half and controller is at the beginning of the tick.
    measured
        What it works with, by word and interface: after the interlock's guards, where there is one.
    forces
        What the numerical half is given for the forces: measured, estimated, or zero without feedback.
    computed
        Forces that are computed from the motion, where they are: at the interfaces, then elsewhere.
    commands
        What goes to the rig.
    adapted
        What the controller adapts as the test runs.
    channels
        What the blocks have to record.
    """

    def __init__(self, test: HybridTest, signals: Signals, count: Var) -> None:
        self.test, self.signals, self.count = test, signals, count
        self.states: dict[Var, float] = {}
        self.parameters: dict[Var, float] = {}
        self.values: dict[Var, Expr] = {}
        self.channels: list[Channel] = []
        self.measured: dict[str, list[Expr]] = {}
        self.forces: list[Expr] = []
        self.computed: list[Var] = []
        self.commands: list[Var] = []
        self.adapted: list[Var] = list(test.design.gains)
        self._flags: list[tuple[Expr, Expr]] = []
        self._carried: dict[Var, Carried] = {}
        self._latch = Var(f"{INTERLOCK}.latched")  # the cause of a trip, as of the last tick
        self.add(test.design.system)

    def add(self, system: System) -> None:
        """Take over a system's states and parameters."""
        self.states.update(starting_states(system))
        self.parameters.update(system.values())

    def steps(self, measured: Mapping[str, Sequence[Var]], goals: Sequence[Expr]) -> list[Step]:
        """Return the statements of one tick.

        Parameters
        ----------
        measured
            What the sensors read, by word and interface.
        goals
            Further expressions of the design's variables that are wanted.
        """
        test, design = self.test, self.test.design
        steps = self._guard(measured)
        sensors = [
            Measured(*(self.measured[word][i] for word in MEASURED)) for i in range(len(design.efforts))
        ]
        more, inputs = self._at_interfaces(sensors)
        steps += more
        applied, adapted = test.controller.observe(design, sensors, self._context("controller"))
        steps += self._take(applied)
        # Estimated forces take the place of measured ones, where forces are fed back at all.
        inputs.update({v: e for v, e in adapted.items() if test.feedback or v not in design.efforts})
        steps += self._carry(inputs)
        if test.rig.coupler is None:
            self.forces = [inputs[e] for e in design.efforts]
        steps += self._force_switch(inputs)
        wanted = [*design.commands, *design.desired_displacements, *design.desired_velocities]
        wanted += [*design.sensed, *goals]
        made = test.integrator.discretise(
            design.system, test.period, self.inputs_at(design.system, inputs), wanted
        )
        steps += made.first
        self.values.update(made.table)
        names = indexed("command", len(design.commands))
        raw: list[Expr] = []
        contexts = [self._context(prefix) for prefix in indexed("controller", len(names))]
        more, demanded = self._early(made.table)
        steps += more
        for applied in test.controller.commands(demanded, made.table, sensors, contexts):
            steps += self._take(applied)
            raw.append(applied.value)
        more, outgoing = self._safe(raw, sensors)
        steps += more
        for name, value, u in zip(names, outgoing, test.rig_system.commands, strict=True):
            self.commands.append(Var(name, quantity=u.quantity))
            steps.append(Assign(self.commands[-1], value))
        return [*steps, *made.rest]

    def _at_interfaces(self, sensors: Sequence[Measured]) -> tuple[list[Step], dict[Var, Expr]]:
        """Return what is measured, or computed of it, in the coordinates of the interfaces."""
        test, design = self.test, self.test.design
        force, motion, velocity = (
            [as_expr(getattr(m, word)) for m in sensors] for word in ("force", "displacement", "velocity")
        )
        steps: list[Step] = []
        coupler = test.rig.coupler
        if coupler is not None:
            applied, motion = coupler.pose(motion, self._context("coupler"))
            steps += self._take(applied)
            self.forces = force
            velocity, force = coupler.rates(motion, velocity), coupler.efforts(motion, force)
            for i, (q, domain) in enumerate(zip(motion, test.half.domains, strict=True)):
                name = f"pose[{i}]"
                self.channels.append(Channel.of(name, q, domain.displacement, Role.MEASURED, i))
        held: dict[Var, Expr] = {}
        if test.restoring_force is not None:
            applied, self.computed = test.restoring_force.apply(motion, self._context("restoring_force"))
            steps += self._take(applied)
            force = list(self.computed)
            by_name = {test.input_name(u): u for u in test.half.excitations}
            count = test.restoring_force.columns
            for name, value in zip(test.restoring_force.inputs, force[count:], strict=True):
                held[by_name[name]] = value if test.feedback else Const(0.0)
            force = force[:count]
            if coupler is not None:
                self.forces = coupler.forces(motion, force)
        if not test.feedback:
            force = self.forces = [Const(0.0)] * len(force)
        held.update(zip(design.efforts, force, strict=True))
        held.update(zip(design.displacements, motion, strict=False))
        held.update(zip(design.velocities, velocity, strict=False))
        return steps, held

    def _context(self, name: str) -> Context:
        seed = placed(SEED, self.test.rig.seed)
        return Context(name, self.count, self.test.period, seed)

    def _take(self, applied: Applied) -> list[Step]:
        self.states.update(applied.states)
        self.parameters.update(applied.parameters)
        self.channels += applied.channels
        self.adapted += applied.adapted
        return list(applied.steps)

    def _guard(self, measured: Mapping[str, Sequence[Var]]) -> list[Step]:
        """Let the interlock's guards stand before what the sensors read."""
        interlock = self.test.interlock
        steps: list[Step] = []
        if interlock is None:
            self.measured = {word: list(values) for word, values in measured.items()}
            return steps
        count = len(measured["force"])
        found: list[list[Guarded]] = [[] for _ in range(count)]
        for word, values in measured.items():
            self.measured[word] = []
            for i, (v, name) in enumerate(zip(values, indexed(f"{INTERLOCK}.{word}", count), strict=True)):
                guarded = interlock.guard(v, self._context(name))
                steps += self._take(guarded.applied)
                self.measured[word].append(guarded.applied.value)
                found[i].append(guarded)
        self._flags = [
            (either(*(g.bad for g in guards)), either(*(g.frozen for g in guards))) for guards in found
        ]
        return steps

    def _carry(self, inputs: dict[Var, Expr]) -> list[Step]:
        """Let the forces go on over the step, where the test says so."""
        extrapolation, efforts = self.test.extrapolation, self.test.design.efforts
        steps: list[Step] = []
        if extrapolation is None or not self.test.feedback:
            return steps
        for e, name in zip(efforts, indexed("extrapolation.force", len(efforts)), strict=True):
            applied, self._carried[e] = extrapolation.carried(inputs[e], self._context(name))
            steps += self._take(applied)
            inputs[e] = applied.value
        return steps

    def _early(self, values: Mapping[Var, Expr]) -> tuple[list[Step], Design]:
        """Let the controller have the demands early, where the test says so."""
        extrapolation, design = self.test.extrapolation, self.test.design
        if extrapolation is None or not extrapolation.command:
            return [], design
        names = indexed("extrapolation.demand", len(design.commands))
        blocks, early = extrapolation.early(design, values, [self._context(name) for name in names])
        return [step for applied in blocks for step in self._take(applied)], early

    def _force_switch(self, inputs: dict[Var, Expr]) -> list[Step]:
        """Move the force switch, and give it to the numerical half."""
        switches = self.test.switches
        if switches is None:
            return []
        steps, gamma = self._switch(switches.force, FORCE_SWITCH)
        inputs[next(u for u in self.test.design.system.input_vars if u.name == FORCE_SWITCH)] = gamma
        return steps

    def _switch(self, switch: RampedSwitch, name: str) -> tuple[list[Step], Expr]:
        """Return the statements that move a switch, and where it then stands."""
        interlock = self.test.interlock
        target = switch.target(self.signals.time)
        if target is None:  # a schedule without a closed form is read from a table
            target = self.signals.at(f"{name}.schedule", switch.schedule, 0.0, steady=True)
        tripped = Const(0.0) if interlock is None else self._latch
        release = switch.ramp if interlock is None else interlock.release
        applied = switch.apply(target, tripped, release, self._context(name))
        position = Var(f"{name}.position", quantity=Quantity("switch"))
        self.channels.append(Channel.of(name, position, Quantity("switch"), Role.SAFETY))
        return [*self._take(applied), Assign(position, applied.value)], position

    def _safe(self, raw: list[Expr], sensors: Sequence[Measured]) -> tuple[list[Step], Sequence[Expr]]:
        """Let displacement switch and interlock stand before the commands."""
        test, design = self.test, self.test.design
        steps: list[Step] = []
        delta: Expr = Const(1.0)
        if test.switches is not None:
            steps, delta = self._switch(test.switches.displacement, DISPLACEMENT_SWITCH)
        if test.interlock is None:
            return steps, [delta * c for c in raw]
        watched = [
            Watched(
                force=m.force,
                displacement=m.displacement,
                velocity=m.velocity,
                desired_displacement=substitute(design.desired_displacements[i], self.values),
                desired_velocity=substitute(design.desired_velocities[i], self.values),
                command=raw[i],
                bad=self._flags[i][0],
                frozen=self._flags[i][1],
                switch=delta,
            )
            for i, m in enumerate(sensors)
        ]
        watch = test.interlock.watch(
            watched,
            self.signals.time,
            self._context(INTERLOCK),
            latch=self._latch,
            adjustable=adjustable_limits(test),
        )
        return [*steps, *self._take(watch.applied)], watch.commands

    def inputs_at(self, system: System, held: Mapping[Var, Expr]) -> InputsAt:
        """Return a function that gives a system's inputs at fractions of the step: held ones, signals."""
        sources: dict[Var, tuple[str, Signal]] = {}
        for u in system.input_vars:
            if u not in held:
                sources[u] = self._signal_of(u)
        unknown = [u.name for u in system.input_rates if u in held]
        if unknown:
            raise InputError(
                f"the rate of {', '.join(unknown)} is needed, which is not measured: a storage of the "
                "numerical half is driven directly at the interface; cut elsewhere, or put a mass there"
            )
        rates = {r: self._signal_of(u) for u, r in system.input_rates.items()}

        excited = {*self.test.excitation, *(u.name for u in self.test.design.signals)}

        def at(fraction: float) -> dict[Var, Expr]:
            given = {**held, **{e: carried(fraction) for e, carried in self._carried.items() if e in held}}
            for u, (name, signal) in sources.items():
                given[u] = self.signals.at(name, signal, fraction, steady=name not in excited)
            for r, (name, signal) in rates.items():
                rate = signal.derivative()
                given[r] = self.signals.at(f"d/dt {name}", rate, fraction, steady=name not in excited)
            return given

        return at

    def _signal_of(self, u: Var) -> tuple[str, Signal]:
        if u in self.test.design.signals:
            return u.name, self.test.design.signals[u]
        name = self.test.input_name(u)
        return name, self.test.signal(name)
