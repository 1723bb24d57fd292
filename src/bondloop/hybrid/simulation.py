"""A plain simulation: systems side by side under the same excitation, compiled and recorded like a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from bondloop.bondgraph import Model
from bondloop.engine import System
from bondloop.engine.analysis.simulation import starting_states
from bondloop.engine.analysis.spectrum import within
from bondloop.engine.data import POSITIVE, Range, checked_values
from bondloop.engine.ir import Channel, Expr, Quantity, Role, Step, Tick, Var, identifier, substitute
from bondloop.engine.passes import prefixed, with_values
from bondloop.errors import InputError, UnknownNameError, unknown_name
from bondloop.hybrid.arguments import as_signal, expect_kind_of_signal
from bondloop.hybrid.energies import HalfEnergies, inserted, names_energy, power_of_sources
from bondloop.hybrid.ground import ground_signals, needed_excitation
from bondloop.hybrid.rehearsable import Rehearsable
from bondloop.hybrid.structure_readings import EVERYTHING, chosen, described, read_off, readings_in
from bondloop.integrate import RK4, Integrator
from bondloop.rehearsal import diverged, role_of
from bondloop.signals import Signals
from bondloop.substructure import GroundFrame, ground_input

if TYPE_CHECKING:
    from bondloop.engine.ir import Quantity
    from bondloop.hybrid.ground import Ground
    from bondloop.signals import Signal


def model_of(system: System) -> Model | None:
    """Return the model that a system was compiled from; None where it was not."""
    origin = vars(system).get("_origin")
    model = None if origin is None else origin.arguments.get("of")
    return model if isinstance(model, Model) else None


class RecordingSelection:
    """What is to be recorded of one system.

    Parameters
    ----------
    key
        Its name in the simulation, with which the names of its variables begin.
    system
        Its equations.
    model
        What it was compiled from, if that is known.
    record
        What is asked for, of all systems.
    wheres
        Directions or supports in which the ground moves.
    """

    def __init__(
        self, key: str, system: System, model: Model | None, record: Sequence[str], wheres: Sequence[str]
    ) -> None:
        prefix = f"{key}."
        self.prefix, self.system = prefix, system
        self.names = [n for n in record if within(n, key) or n.startswith(EVERYTHING)]
        structures = readings_in(model, prefix, system, wheres)
        self.energies: HalfEnergies | None = None
        if model is not None and any(names_energy(n) for n in self.names):
            supplied = power_of_sources(model, system, prefix)
            self.energies = HalfEnergies(model, structures, prefix, supplied, [], system)
        known = [] if self.energies is None else self.energies.names(prefix)
        paths = chosen(self.names, structures, known)
        self._summed = [n for n in paths if n.startswith(f"{prefix}energy.") and self.energies is not None]
        self._values: dict[str, tuple[Expr, Quantity | None]] = {}
        for path in paths:
            if path in self._summed:
                continue
            try:
                self._values[path] = system.expression(path), system.quantity(path)
            except UnknownNameError as error:
                self._values[path] = read_off(path, structures, error)

    @property
    def goals(self) -> list[Expr]:
        """What has to be known of the equations."""
        more = self.energies.goals if self.energies is not None and self._summed else []
        return [*(e for e, _ in self._values.values()), *more]

    def written(
        self, table: Mapping[Var, Expr], count: Var, period: float
    ) -> tuple[list[Step], dict[Var, float], list[Channel]]:
        """Return statements that belong before the states go on, their states, and the channels.

        Parameters
        ----------
        table
            What the variables of the equations are in the tick.
        count, period
            Number of the tick, and seconds between ticks.
        """
        values = dict(table)
        channels = [
            Channel.of(n, substitute(e, values), q, role_of(self.system, e))
            for n, (e, q) in self._values.items()
        ]
        if self.energies is None or not self._summed:
            return [], {}, channels
        balance = self.energies.balance(self.prefix, count, period, lambda e: substitute(e, values))
        steps = balance.write(self._summed)
        return steps, balance.states, [*channels, *balance.channels(self._summed)]


class Simulation(Rehearsable):
    """Systems integrated side by side under one excitation, for comparison.

    Parameters
    ----------
    systems
        The systems by name, or models, which are compiled; their outputs are recorded as ``name.output``.
    excitation
        A signal or a number for each input; an input that several systems have is shared. Inputs that are not
        named keep the value that each system gives them, zero as a rule.
    rate
        Steps a second.
    ground
        The ground's acceleration, as of a `HybridTest`; all systems are then models of structures.
    integrator
        Scheme of all systems.
    record
        Path names of further variables to record, ``name.path``: any variable of a system, and of a
        structure's model all that can be read off it (`bondloop.structures.Readings`) and its energies,
        ``name.energy.kinetic``. A ``*`` stands for anything: ``"frame.storey[*].drift_x"``.
    values
        Parameter values by path, ``name.parameter``.
    name
        Name of the simulation.
    """

    _allowed: ClassVar[Mapping[str, Range]] = {"rate": Range(above=0, units=("Hz",))}

    def __init__(
        self,
        systems: Mapping[str, System | Model],
        *,
        excitation: Mapping[str, Signal | float | str] | None = None,
        rate: float | str,
        ground: Ground = None,
        integrator: Integrator | None = None,
        record: Iterable[str] | str = (),
        values: Mapping[str, float | str] | None = None,
        name: str = "simulation",
    ) -> None:
        rate = POSITIVE.check(rate, "rate", "Hz")
        if not systems:
            raise InputError(f"{name}: there are no systems to simulate; give at least one by name")
        self.ground = ground_signals(ground)
        self._models = dict(systems) if self.ground else None
        self.plain = {
            key: _compiled(s, f"{name}(systems)['{key}']", list(self.ground)) for key, s in systems.items()
        }
        excitation = needed_excitation(excitation, ground)
        measured = {u.name: u.quantity for s in self.plain.values() for u in s.input_vars}
        units = {n: "" if q is None else q.unit for n, q in measured.items()}
        self.excitation = {key: as_signal(key, s, units.get(key, "")) for key, s in excitation.items()}
        self.excitation.update({ground_input(where): s for where, s in self.ground.items()})
        self.rate, self.period = rate, 1.0 / rate
        self.integrator = integrator or RK4()
        self.name = name
        self.record = tuple(dict.fromkeys([record] if isinstance(record, str) else record))
        self.systems = {key: prefixed(s, f"{key}.") for key, s in self.plain.items()}
        known = sorted({u for s in self.plain.values() for u in s.inputs})
        for where in self.ground:
            if ground_input(where) not in known:
                raise InputError(f"ground['{where}']: no mass of a structure moves in this direction")
        for given in self.excitation:
            if given not in known:
                raise InputError(unknown_name("input", given, known, where=name))
            expect_kind_of_signal(given, self.excitation[given], measured.get(given))
        parameters = [p for s in self.systems.values() for p in s.parameters_by_var]
        changed = checked_values(parameters, values or {}, name)
        self.values = {v.name: x for v, x in changed.items()}

    @cached_property
    def _built(self) -> tuple[Tick, Signals]:
        from bondloop.signals import Constant

        time, count = Var("t"), Var("k")
        signals = Signals(time, self.period)
        states: dict[Var, float] = {}
        parameters: dict[Var, float] = {}
        steps: list[Step] = []
        channels: list[Channel] = []
        measured: dict[str, Quantity | None] = {}
        unknown = list(self.record)
        for key, given in self.systems.items():
            own = {k: v for k, v in self.values.items() if k in given.parameters}
            system = with_values(given, own) if own else given
            states.update(starting_states(system))
            parameters.update(system.values())
            sources: dict[Var, tuple[str, Signal]] = {}
            for u in system.input_vars:
                name = u.name.removeprefix(f"{key}.")
                if name in self.excitation:
                    sources[u] = (name, self.excitation[name])
                else:  # by its full name: another system may have another value for its input
                    sources[u] = (u.name, Constant(system.input_defaults.get(u.name, 0.0)))

            def at(
                fraction: float, sources: dict[Var, tuple[str, Signal]] = sources, system: System = system
            ) -> dict[Var, Expr]:
                found: dict[Var, Expr] = {u: signals.at(n, s, fraction) for u, (n, s) in sources.items()}
                for u, r in system.input_rates.items():
                    n, s = sources[u]
                    found[r] = signals.at(f"d/dt {n}", s.derivative(), fraction)
                return found

            asked = RecordingSelection(key, system, model_of(self.plain[key]), self.record, list(self.ground))
            unknown = [name for name in unknown if name not in asked.names]
            goals = [*system.output_exprs.values(), *asked.goals]
            made = self.integrator.discretise(system, self.period, at, goals)
            channels += [
                Channel.of(n, substitute(e, made.table), system.quantity(n), role_of(system, e))
                for n, e in system.output_exprs.items()
            ]
            more, kept, further = asked.written(made.table, count, self.period)
            steps += inserted([*made.first, *made.rest], more, states)
            states.update(kept)
            channels += [c for c in further if c.name not in system.output_exprs]
            measured.update({n: u.quantity for u, (n, _) in sources.items()})
        if unknown:
            raise InputError(
                f"cannot record '{unknown[0]}': names begin with that of a system, "
                f"{', '.join(f'{key}.' for key in self.systems)}"
            )
        channels += [
            Channel.of(n, signals.at(n, s, 0.0), measured.get(n), Role.EXCITATION)
            for n, s in self.excitation.items()
        ]
        tick = Tick(
            identifier(self.name, "simulation_"),
            self.period, time, count, signals.inputs, states, parameters, (*signals.steps, *steps),
            tuple(channels),
            {c.name: diverged(c.meaning) for c in channels},
        )  # fmt: skip
        return tick, signals

    @property
    def tick(self) -> Tick:
        """One step of all systems."""
        return self._built[0]

    @property
    def signals_in_tick(self) -> Signals:
        """What drives it, as variables of the tick."""
        return self._built[1]

    @property
    def signals(self) -> list[Signal]:
        """What drives it."""
        return list(self.excitation.values())

    @property
    def structures_read(self) -> dict[str, object]:
        """Structures of which something is recorded, described, by what the names of theirs begin with."""
        found: dict[str, object] = {}
        for key, system in self.systems.items() if self.record else ():
            found |= described(readings_in(model_of(self.plain[key]), f"{key}.", system), self.record)
        return found

    @property
    def arguments(self) -> dict[str, Any]:
        """What it was made with, by the names of the constructor."""
        own = {ground_input(where) for where in self.ground}
        return {
            "systems": self._models or self.plain,
            "excitation": {n: s for n, s in self.excitation.items() if n not in own},
            "ground": self.ground or None, "rate": self.rate,
            "integrator": self.integrator, "record": self.record, "values": self.values, "name": self.name,
        }  # fmt: skip

    @property
    def parameters(self) -> dict[str, float | None]:
        """All parameters by path, ``name.parameter``, with the values in force."""
        own: dict[str, float | None] = {p: x for s in self.systems.values() for p, x in s.parameters.items()}
        return {**own, **self.values}

    def about(self) -> dict[str, Any]:
        """Return what run files say: the description, and the states of every system."""
        return {**super().about(), "states": {name: list(s.states) for name, s in self.systems.items()}}


def _compiled(given: System | Model, what: str, wheres: list[str]) -> System:
    """Return the equations of a system or a model, on the ground if that moves."""
    if isinstance(given, Model):
        return GroundFrame(given, wheres).moved().compile() if wheres else given.compile()
    if wheres:
        raise InputError(f"{what}: the ground moves structures, which equations do not tell; give the model")
    if not isinstance(given, System):
        raise InputError(f"{what}: expected a system or a model; found {given!r:.60}")
    return given
