"""Wiring a test into one tick."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError, unknown_name
from bondloop.program.block import Context
from bondloop.program.compose import connect
from bondloop.program.expr import Const, Expr, Var, substitute, variables
from bondloop.program.schedule import Assign
from bondloop.program.tick import Channel, Delay, Repeat, Step, Tick, Update, identifier, instantiate, reads

if TYPE_CHECKING:
    from bondloop.control.base import Design
    from bondloop.hybrid.test import HybridTest
    from bondloop.program.system import System
    from bondloop.rigs.emulated import Emulated, RigSystem

__all__ = ["DIVERGED", "Signals", "Wiring", "loop_links", "unit_of"]

DIVERGED = 1e9
"""A channel beyond this magnitude (SI units) has diverged, whatever the limits."""


class Signals:
    """Excitations as expressions of time, or as tabulated inputs of the tick."""

    def __init__(self, time: Var, period: float) -> None:
        self.time, self.period = time, period
        self.steps: list[Step] = []
        self.tables: dict[str, tuple[Any, Var, Var]] = {}
        self._made: dict[tuple[str, float], Var] = {}

    def at(self, name: str, signal: Any, fraction: float) -> Expr:
        """Value of a signal at a fraction of the step."""
        key = (name, fraction)
        if key in self._made:
            return self._made[key]
        when: Expr = self.time if fraction == 0 else self.time + Const(fraction * self.period)
        expr = signal.expression(when)
        if expr is None:
            if name not in self.tables:
                self.tables[name] = (signal, Var(f"{name}.now"), Var(f"{name}.next"))
            _, now, after = self.tables[name]
            if fraction == 0:
                return now
            if fraction == 1:
                return after
            expr = now + Const(fraction) * (after - now)
        var = Var(name if fraction == 0 else f"{name}@{fraction:g}")
        self.steps.append(Assign(var, expr))
        self._made[key] = var
        return var


class Wiring:
    """All parts of a test joined: the tick, and what is worth recording."""

    def __init__(self, test: HybridTest) -> None:
        self.test = test
        self.half = test.half
        self.design: Design = test.design
        self.rig: RigSystem = test.rig_system
        self.time, self.count = Var("t"), Var("k")
        self.signals = Signals(self.time, test.period)
        self.states: dict[Var, float] = {}
        self.parameters: dict[Var, float] = {}
        self.steps: list[Step] = []
        self.values: dict[Var, Expr] = {}

    # ---------------------------------------------------------------- the tick

    def tick(self) -> Tick:
        """Build the tick."""
        test = self.test
        if test.coupling == "continuous":
            self._continuous()
        else:
            self._sampled()
        channels = self._channels()
        bounds = {c.name: DIVERGED for c in channels}
        limits = test.limits
        if limits is not None:
            for word, name in (
                ("displacement", "actual.displacement"),
                ("velocity", "actual.velocity"),
                ("force", "force"),
                ("command", "command"),
            ):
                limit = getattr(limits, word)
                if limit is not None:
                    for c in channels:
                        if re.fullmatch(rf"{re.escape(name)}(\[\d+\])?", c.name):
                            bounds[c.name] = limit
        tables = tuple(v for _, now, after in self.signals.tables.values() for v in (now, after))
        return Tick(
            identifier(test.name, "test_"),
            test.period, self.time, self.count, tables, self.states, self.parameters,
            (*self.signals.steps, *self.steps), tuple(channels), bounds,
        )  # fmt: skip

    def _add(self, system: System) -> None:
        for v in system.state_vars:
            self.states[v] = system.initial_by_var.get(v, 0.0)
        self.parameters.update(system.values())

    def _inputs_at(self, system: System, held: Mapping[Var, Expr]) -> Any:
        """Return a function that gives a system's inputs at fractions of the step: held ones, signals."""
        sources: dict[Var, tuple[str, Any]] = {}
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

        def at(fraction: float) -> dict[Var, Expr]:
            given = dict(held)
            for u, (name, signal) in sources.items():
                given[u] = self.signals.at(name, signal, fraction)
            for r, (name, signal) in rates.items():
                given[r] = self.signals.at(f"d/dt {name}", signal.derivative(), fraction)
            return given

        return at

    def _signal_of(self, u: Var) -> tuple[str, Any]:
        if u in self.design.signals:
            return u.name, self.design.signals[u]
        name = re.sub(r"^(numerical|reference)\.", "", u.name)
        return name, self.test.signal(name)

    def _continuous(self) -> None:
        """Integrate computer and rig as one system: the ideal coupling, without sampling."""
        test, design, rig = self.test, self.design, self.rig
        if test.rig.sensors or test.rig.drive or test.rig.latency:
            raise InputError(
                "continuous coupling is ideal: it has no sensors, no latency and no drive imperfections; "
                "use coupling='sampled'"
            )
        parts = [design.system, rig.system]
        if test.reference_system is not None:
            parts.append(test.reference_system)
        whole = connect("test", parts, loop_links(design, rig, feedback=test.feedback), {})
        self._add(whole)
        goals = [e for _, e, _ in self._wanted()]
        made = test.integrator.discretise(whole, test.period, self._inputs_at(whole, {}), goals)
        self.steps += [*made.first, *made.rest]
        self.values = made.table

    def _sampled(self) -> None:
        """Let the computer sample the rig once a tick; the rig runs on between samples."""
        test, design, rig = self.test, self.design, self.rig
        emulated = test.rig
        self._add(design.system)
        self._add(rig.system)
        held = {u: Var(f"{c}.held") for u, c in zip(rig.commands, self._names("command"), strict=True)}
        given: dict[Var, Expr] = {v: v for v in rig.system.state_vars}
        wanted = self._wanted()
        rig_goals = [
            *rig.forces,
            *rig.displacements,
            *rig.velocities,
            *(e for n, e, _ in wanted if n.startswith("rig.")),
        ]
        program = rig.system.schedule(rig_goals)
        needed = reads(program)
        for u, h in held.items():
            given[u] = h
            if u in needed or any(u in variables(g) for g in rig_goals):
                self.states[h] = 0.0
            else:
                given[u] = Const(0.0)
        steps, table = instantiate(program, given, "")
        self.steps += steps
        self.values.update(table)
        measured = {
            word: [self._measure(word, i, substitute(e, table)) for i, e in enumerate(exprs)]
            for word, exprs in (
                ("force", rig.forces),
                ("displacement", rig.displacements),
                ("velocity", rig.velocities),
            )
        }
        self.measured = measured
        inputs: dict[Var, Expr] = {
            e: f if test.feedback else Const(0.0)
            for e, f in zip(design.efforts, measured["force"], strict=True)
        }
        inputs.update(zip(design.displacements, measured["displacement"], strict=False))
        inputs.update(zip(design.velocities, measured["velocity"], strict=False))
        goals = [*design.commands, *(e for n, e, _ in wanted if not n.startswith(("rig.", "reference.")))]
        goals = [
            g
            for g in goals
            if not any(v in table and v not in design.system.definitions for v in variables(g))
        ]
        made = test.integrator.discretise(
            design.system, test.period, self._inputs_at(design.system, inputs), goals
        )
        self.steps += made.first
        self.values.update(made.table)
        commands: list[Expr] = []
        for i, (c, name) in enumerate(zip(design.commands, self._names("command"), strict=True)):
            value = Var(name)
            self.steps.append(Assign(value, substitute(c, made.table)))
            commands.append(self._through(emulated.drive, value, f"rig.drive[{i}]", 64 + i))
        self._run_rig(emulated, rig, commands, held)
        self.steps += made.rest
        if test.reference_system is not None:
            reference = test.reference_system
            self._add(reference)
            ends = [e for n, e, _ in wanted if n.startswith("reference.")]
            made = test.integrator.discretise(reference, test.period, self._inputs_at(reference, {}), ends)
            self.steps += [*made.first, *made.rest]
            self.values.update(made.table)

    def _run_rig(
        self, emulated: Emulated, rig: RigSystem, commands: list[Expr], held: Mapping[Var, Var]
    ) -> None:
        fine = self.test.period / emulated.substeps
        length = round(emulated.latency / fine)
        if abs(length * fine - emulated.latency) > 1e-6 * fine:
            raise InputError(
                f"rig.latency of {emulated.latency:g} s is not a multiple of the rig's time step {fine:g} s; "
                f"choose {length * fine:g} s, or other substeps"
            )
        body: list[Step] = []
        inputs: dict[Var, Expr] = {}
        for u, command in zip(rig.commands, commands, strict=True):
            if length:
                late = Var(f"{u.name}.late")
                body.append(Delay(late, command, length))
                inputs[u] = late
            else:
                inputs[u] = command
        made = emulated.integrator.discretise(rig.system, fine, lambda _: inputs, [])
        body += [*made.first, *made.rest]
        kept = [(h, inputs[u]) for u, h in held.items() if h in self.states]
        if kept:
            body.append(Update(tuple(kept)))
        self.steps.append(Repeat(emulated.substeps, Var("substep"), tuple(body)))

    def _measure(self, word: str, index: int, value: Expr) -> Expr:
        name = f"measured.{word}" + (f"[{index}]" if len(self.rig.forces) > 1 else "")
        sensor = self.test.rig.sensors.get(word)
        chain = sensor.imperfections if sensor is not None else ()
        stream = {"force": 0, "displacement": 16, "velocity": 32}[word] + index
        out = self._through(chain, value, name, stream)
        var = Var(name)
        self.steps.append(Assign(var, out))
        return var

    def _through(self, chain: Sequence[Any], value: Expr, name: str, stream: int) -> Expr:
        for k, part in enumerate(chain):
            context = Context(
                name=f"{name}.{k}",
                count=self.count,
                period=self.test.period,
                seed=self.test.rig.seed,
                stream=stream * 16 + k,
            )
            applied = part.apply(value, context)
            self.steps += applied.steps
            self.states.update(applied.states)
            value = applied.value
        return value

    # ---------------------------------------------------------------- channels

    def _names(self, word: str) -> list[str]:
        n = len(self.rig.forces)
        return [f"{word}[{i}]" for i in range(n)] if n > 1 else [word]

    def _wanted(self) -> list[tuple[str, Expr, str]]:
        """Expressions of the parts that are recorded, before wiring: (name, expression, unit)."""
        design, rig, test = self.design, self.rig, self.test
        wanted: list[tuple[str, Expr, str]] = []
        for word, exprs, unit in (
            ("desired.displacement", design.desired_displacements, "m"),
            ("actual.displacement", rig.displacements, "m"),
            ("desired.velocity", design.desired_velocities, "m/s"),
            ("actual.velocity", rig.velocities, "m/s"),
            ("force", rig.forces, "N"),
            ("command", design.commands, test.command_unit),
        ):
            wanted += [(n, e, unit) for n, e in zip(self._names(word), exprs, strict=True)]
        wanted += [(n, e, unit) for n, (e, unit) in design.channels.items()]
        if test.reference_system is not None:
            wanted += [(f"reference.{n}", e, u) for n, e, u in test.reference_outputs]
        taken = {name for name, _, _ in wanted}
        wanted += [(path, self._find(path), unit_of(path)) for path in test.record if path not in taken]
        return wanted

    def _find(self, path: str) -> Expr:
        head = path.partition(".")[0]
        systems = {
            "numerical": self.design.system,
            "controller": self.design.system,
            "rig": self.rig.system,
            "reference": self.test.reference_system,
        }
        system = systems.get(head)
        if system is None:
            known = [k for k, s in systems.items() if s is not None]
            raise InputError(f"cannot record '{path}': {unknown_name('part of the test', head, known)}")
        return system.expression(path)

    def _channels(self) -> list[Channel]:
        def put(e: Expr) -> Expr:
            return substitute(e, self.values)

        test = self.test
        channels: list[Channel] = []
        taken = {name for name, _, _ in self._wanted()}
        for name, signal in test.excitation.items():
            label = f"excitation.{name}" if name in taken else name
            channels.append(Channel(label, self.signals.at(name, signal, 0.0), ""))
        byname: dict[str, Expr] = {}
        for name, e, unit in self._wanted():
            value = put(e)
            byname[name] = value
            channels.append(Channel(name, value, unit))
        names = self._names("")
        for suffix in names:
            v = byname[f"actual.velocity{suffix}"] - byname[f"desired.velocity{suffix}"]
            channels.append(Channel(f"synchronisation.velocity{suffix}", v, "m/s"))
        if test.coupling == "sampled":
            for i, suffix in enumerate(names):
                seen = self.measured["force"][i]
                channels.append(Channel(f"measured.force{suffix}", seen, "N"))
                used = seen if test.feedback else Const(0.0)
                channels.append(
                    Channel(f"synchronisation.force{suffix}", byname[f"force{suffix}"] - used, "N")
                )
                for word, unit in (("displacement", "m"), ("velocity", "m/s")):
                    if word in test.rig.sensors:
                        channels.append(Channel(f"measured.{word}{suffix}", self.measured[word][i], unit))
        return channels


def loop_links(design: Design, rig: RigSystem, *, feedback: bool = True) -> dict[Var, Expr]:
    """Return what drives what when computer and rig are joined directly, without sampling."""
    links: dict[Var, Expr] = dict(zip(rig.commands, design.commands, strict=True))
    for effort, force in zip(design.efforts, rig.forces, strict=True):
        links[effort] = force if feedback else Const(0.0)
    links.update(zip(design.displacements, rig.displacements, strict=False))
    links.update(zip(design.velocities, rig.velocities, strict=False))
    return links


def unit_of(path: str) -> str:
    """Return the unit of a mechanical variable, by the last word of its path."""
    return {"displacement": "m", "flow": "m/s", "effort": "N", "momentum": "kg m/s", "value": ""}.get(
        path.rpartition(".")[2], ""
    )
