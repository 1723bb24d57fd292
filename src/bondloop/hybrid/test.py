"""A hybrid test: numerical half, rig, controller, excitation; checked, rehearsed, recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from bondloop.bondgraph import ROTATION, TRANSLATION, Model, interfaces, known_domains
from bondloop.control import Compensator, Controller, Direct, RestoringForce, as_controller
from bondloop.engine.data import POSITIVE, Range, checked_values, number
from bondloop.engine.ir import Var
from bondloop.engine.passes import prefixed, with_values
from bondloop.errors import InputError, unknown_name
from bondloop.hybrid.arguments import (
    as_signal,
    checked_reference,
    command_units,
    cut_structure,
    expect,
    expect_kind_of_signal,
    expect_limits_of,
    expect_one_domain,
    expect_same_command,
    expect_units_of_command,
    expect_units_of_controller,
    fold_halves,
    names_of,
    refuse_arguments_of_parts,
    refuse_opaque,
)
from bondloop.hybrid.coupling import Extrapolation, blended, usable
from bondloop.hybrid.ground import (
    GroundedHalves,
    ground_signals,
    half_loaded_cares,
    needed_excitation,
    refuse_half_loaded,
)
from bondloop.hybrid.held_excitation import held_grounds, held_input, with_own_signals_held
from bondloop.hybrid.rehearsable import Checkable
from bondloop.hybrid.structure_readings import described
from bondloop.hybrid.uncut import uncut_structure
from bondloop.hybrid.wiring import Wiring, structures_of
from bondloop.integrate import RK4, Integrator
from bondloop.rehearsal import SCALE, SCALE_RANGE, check_tunable
from bondloop.rigs import SEED, Emulated, Sensor, rig_tick
from bondloop.safety import FORCE_SWITCH, Limits
from bondloop.substructure import (
    ExternalHalf,
    GroundFrame,
    NumericalHalf,
    Pins,
    ground_input,
    indexed,
    numerical_half,
    orientation,
)
from bondloop.transfer import capacity_of, transfer_system, width

if TYPE_CHECKING:
    from bondloop.bondgraph import Domain
    from bondloop.check import Check, CheckPolicy
    from bondloop.control import Design
    from bondloop.engine import System
    from bondloop.engine.ir import Expr, Quantity, Switching, Tick, Tunable
    from bondloop.hybrid.coupling import Switches
    from bondloop.hybrid.ground import Ground
    from bondloop.rehearsal import UncutStructure
    from bondloop.rigs import RigSystem
    from bondloop.safety import Interlock
    from bondloop.signals import Signal, Signals
    from bondloop.transfer import Transfer


GAP = 0.02
"""Seconds that a loop may stand still, where a test says nothing else; less than a rig's watchdog bears."""


class HybridTest(Checkable):
    """A hybrid test.

    Parameters
    ----------
    numerical
        The numerical half of a cut.
    rig
        The rig with the physical half: ``bondloop.rigs.Emulated(physical, actuator)``.
    controller
        What makes the transfer systems follow the numerical half; or any Python function, for rehearsals
        (`bondloop.control.PythonControl`).
    excitation
        A signal (or a constant: a number, a text with a unit) for every input of the numerical half; zero
        where none is given.
    rate
        Samples a second, or text (``"1 kHz"``).
    ground
        The ground's acceleration, as a `GroundMotion` or a signal: by direction in which all supports move,
        ``{"ux": el_centro, "uy": other}`` (alone it moves ux), or by support, ``{"pier_a.ux": early,
        "pier_b.ux": late}``. It loads numerical half, specimen and reference alike. The structure's own
        coordinates are relative to the ground, and so is what damps it as a whole.
    coordinates
        What the rig imposes: ``"absolute"`` motion, in space, as of a table that carries a specimen with
        masses; ``"relative"`` motion, against the ground, as of an actuator on the floor that a specimen
        stands on. None: what the specimen needs.
    coupling
        ``"sampled"``: the computer reads the rig once a sample, as in the laboratory; ``"continuous"``:
        computer and rig are integrated as one system, the ideal that papers simulate.
    integrator
        Scheme of the numerical half and controller.
    reference
        The complete model, run beside the test for comparison; or a pair (model, outputs).
    limits
        Beyond them the run stops.
    switches
        The switches between the halves, and the simulated specimen; without them the halves are coupled from
        the start.
    interlock
        What brings the rig to a safe position when something is wrong; a run goes on while it does.
    gap
        In real time: a loop that stood still for longer than so many seconds, or text (``"20 ms"``), does not
        go on but brings the rig to its safe position.
    record_loss
        In real time, when ticks cannot be recorded (the disk is full, the recorder has died or lags by more
        than its buffer): ``"report"`` tells the operator and goes on, ``"retreat"`` brings the rig to its
        safe position, for a test that is worth nothing without its record.
    page_loss
        In real time, when the operator's page stands still for half a second or is killed: ``"report"`` tells
        the operator and goes on, ``"retreat"`` brings the rig to its safe position, where it waits.
    tunable
        Parameters that may be changed while the test runs, by path: ``{"excitation.scale": Tunable(0, 1.2,
        rate=0.5)}``, the span of the excitation; a gain; a limit of the interlock, which may be tightened and
        never widened. All others are fixed, but for the operator's switches.
    record
        Path names of further variables to record: ``"rig.specimen.m3.v.flow"``, ``"numerical.m1.v.flow"``,
        ``"numerical.frame.floor[2].ux.displacement"``; all that can be read off a structure
        (`bondloop.structures.Readings`), ``"numerical.frame.girder[0].start.M"``; energies of the numerical
        half, ``"energy.input"``. A ``*`` stands for anything: ``"numerical.frame.storey[*].drift_x"``.
    extrapolation
        How measured forces go on over a step, and demands are given early, to make up for what sampling makes
        late; without one both are held.
    feedback
        False leaves the measured force out of the numerical half (an open-loop trial of the rig).
    restoring_force
        Computes the forces from the measured motion, in the place of load cells.
    values
        Parameter values by path: ``{"controller.transfer.damper.damping": 165}``; within the ranges that the
        parts' constructors ask for.
    name
        Name of the test.
    """

    _allowed: ClassVar[Mapping[str, Any]] = {
        "rate": Range(above=0, units=("Hz",)),
        "gap": Range(above=0, units=("s",)),
        "coupling": ("sampled", "continuous"),
        "coordinates": ("relative", "absolute"),
        "record_loss": ("report", "retreat"),
        "page_loss": ("report", "retreat"),
    }

    def __init__(  # noqa: PLR0913 - each is one part of the definition above
        self,
        numerical: Model,
        *,
        rig: Emulated,
        controller: Controller | Callable[..., Any],
        excitation: Mapping[str, Signal | float | str] | None = None,
        rate: float | str,
        ground: Ground = None,
        coordinates: str | None = None,
        coupling: str = "sampled",
        integrator: Integrator | None = None,
        reference: Model | tuple[Model, Iterable[str]] | None = None,
        limits: Limits | None = None,
        switches: Switches | None = None,
        interlock: Interlock | None = None,
        gap: float | str = GAP,
        record_loss: str = "report",
        page_loss: str = "report",
        tunable: Mapping[str, Tunable] | None = None,
        record: Iterable[str] | str = (),
        extrapolation: Extrapolation | None = None,
        feedback: bool = True,
        restoring_force: RestoringForce | None = None,
        values: Mapping[str, float | str] | None = None,
        name: str = "hybrid_test",
    ) -> None:
        rate = POSITIVE.check(rate, "rate", "Hz")
        self.gap = POSITIVE.check(gap, "gap", "s")
        options = {"record_loss": record_loss, "page_loss": page_loss, "coupling": coupling}
        if coordinates is not None:
            options["coordinates"] = coordinates
        for word, found in options.items():
            if found not in (allowed := self._allowed[word]):
                raise InputError(f"{word} must be {' or '.join(map(repr, allowed))}; found {found!r}")
        self.record_loss, self.page_loss = record_loss, page_loss
        expect(numerical, Model, "numerical", "the numerical half of a cut, model.cut(...)[0]")
        expect(rig, Emulated, "rig", "bondloop.rigs.Emulated(physical, actuator)")
        controller = as_controller(controller)
        expect(controller, Controller, "controller", "bondloop.control.Direct()")
        expect(limits, (Limits, type(None)), "limits", "bondloop.safety.Limits(displacement='20 mm')")
        refuse_opaque(numerical, controller, ground)
        excitation = needed_excitation(excitation, ground)
        self.numerical, self.rig, self.controller = numerical, rig, controller
        self.ground, self._coordinates = ground_signals(ground), coordinates
        self.excitation = {name: as_signal(name, s) for name, s in excitation.items()}
        self.excitation.update({ground_input(where): s for where, s in self.ground.items()})
        self.rate, self.period = rate, 1.0 / rate
        self.coupling = coupling
        self.integrator = integrator or RK4()
        self.reference = checked_reference(reference)
        for word in ("tracking_error", "command_rate", "warning"):
            if getattr(limits, word, None) is not None:
                raise InputError(
                    f"limits.{word}: a run does not stop for it; give it to an interlock, "
                    f"interlock=Interlock(Limits({word}=...)), which brings the rig to rest"
                )
        self.limits, self.switches, self.interlock = limits, switches, interlock
        self.record = tuple(dict.fromkeys(names_of(record)))
        expect(tunable, (Mapping, type(None)), "tunable", "{'controller.gain': Tunable(least=..., most=...)}")
        self.tunable: dict[str, Tunable] = dict(tunable or {})
        self.feedback, self.restoring_force, self.name = feedback, restoring_force, name
        self.extrapolation = usable(extrapolation, controller, coupling, self.integrator)
        self._given = dict(values or {})
        self.overrides: dict[str, float] = {}
        for path, value in self._given.items():
            try:
                self.overrides[path] = number(value, path)
            except InputError as error:
                raise error.at("values", path) from None
        expect_limits_of(self.domains, limits)
        watched = None if interlock is None else interlock.limits
        expect_limits_of(self.domains, watched, "interlock.limits")
        expect_units_of_controller(self.domains, controller)
        said = command_units(limits, interlock)
        if said or rig.in_units:
            # the rig's equations are derived here only if they are asked for
            expect_units_of_command([u.unit for u in self.rig_system.commands], said)
        self._check_inputs(excitation)
        self._check_coordinates()
        check_tunable(self)

    def _check_inputs(self, excitation: Mapping[str, Signal | float | str]) -> None:
        """Refuse excitations of inputs that there are none of, or in units that are not theirs."""
        known = [u.name.removeprefix("numerical.") for u in self.half.excitations if u.name != FORCE_SWITCH]
        for where in self.ground:
            if ground_input(where) not in known:
                raise InputError(f"ground['{where}']: no mass of the structure moves in this direction")
        refuse_half_loaded(self)
        for given in self.excitation:
            if given not in known:
                fault = InputError(unknown_name("input", given, known, where="the numerical half"))
                raise fault.at("excitation", given)
        for u in self.half.excitations:
            text = excitation.get(self.input_name(u))
            if isinstance(text, str) and u.quantity is not None:
                as_signal(self.input_name(u), text, u.quantity.unit)
            name = self.input_name(u)
            expect_kind_of_signal(name, self.excitation.get(name), u.quantity)

    # ---------------------------------------------------------------- parts

    @cached_property
    def half(self) -> NumericalHalf:
        """The numerical half's equations."""
        half = self._derived_half
        return replace(half, system=with_values(half.system, self.values_for(half.system)))

    @cached_property
    def _derived_half(self) -> NumericalHalf:
        """The same with the values of the model."""
        half = numerical_half(self.numerical_on_ground, "numerical.")
        if self.switches is not None and self._grounded is not None:
            switches, names = self._grounded.switched(self.switches)
            by_name = {u.name: u for u in half.excitations}
            shared = {f"simulated.{n}": by_name[f"numerical.{n}"] for n in names}
            half = blended(half, switches, shared)
        elif self.switches is not None:
            half = blended(half, self.switches)
        return half

    @cached_property
    def _grounded(self) -> GroundedHalves | None:
        """The halves on moving ground; None where it does not move."""
        if not self.ground:
            if self._coordinates is not None:
                raise InputError("coordinates: they are those of a moving ground, ground={'ux': motion}")
            return None
        return GroundedHalves(self.numerical, self.rig.physical, list(self.ground), self._coordinates)

    @property
    def numerical_on_ground(self) -> Model:
        """The numerical half, with what the ground loads it with."""
        return self.numerical if self._grounded is None else self._grounded.numerical

    @property
    def grounds_of_specimen(self) -> list[str]:
        """Directions or supports of the ground from which the specimen's motion is counted."""
        return list(self.ground) if self.coordinates == "relative" else []

    @property
    def coordinates(self) -> str | None:
        """What the rig imposes on moving ground: ``"relative"`` or ``"absolute"`` motion; else None."""
        return None if self._grounded is None else self._grounded.coordinates

    @property
    def ground_cares(self) -> list[tuple[str, str]]:
        """What asks for care in the halves, each in a sentence and in some words."""
        return half_loaded_cares(self) if self._grounded is None else self._grounded.cares

    @property
    def led(self) -> bool:
        """Whether another program computes the numerical half, and so leads the motion."""
        return isinstance(self.numerical, ExternalHalf)

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Domain of every transfer system's motion: that of its interface, or of a coupler's strokes."""
        return self.half.domains if self.rig.coupler is None else (TRANSLATION,) * self.rig.coupler.size

    def _check_coordinates(self) -> None:
        """Refuse values that there are none of, and what cannot work with a coupler or a computed force."""
        self._check_overrides()
        law = self.restoring_force
        example = "bondloop.control.RestoringForce(stiffness=((1e6,),))"
        expect(law, (RestoringForce, type(None)), "restoring_force", example)
        if law is not None:
            if law.columns != len(self.half.flows):
                raise InputError(
                    f"restoring_force: it takes the motion of {law.columns} interfaces; the numerical half "
                    f"has {len(self.half.flows)}"
                )
            known = [self.input_name(u) for u in self.half.excitations]
            for name in law.inputs:
                if name not in known or name in self.excitation:
                    raise InputError(unknown_name("free input", name, known, where="the numerical half"))
        if (law is not None or self.rig.coupler is not None) and self.coupling == "continuous":
            raise InputError("a coupler or a computed force works sample by sample; use coupling='sampled'")
        if isinstance(self.rig.coupler, Pins):
            # What no domain was named for is a translation, so that only the other mistake can be seen.
            for name, domain in zip(self.rig.coupler.coordinates, self.half.domains, strict=False):
                if name != "theta" and domain == ROTATION:
                    raise InputError(
                        f"Pins(coordinates): '{name}' stands where the cut has a rotation; name x, y and "
                        "theta in the order of the cut's bonds"
                    )
        if self.rig.coupler is not None and self.extrapolation is not None and self.extrapolation.command:
            raise InputError(
                "Extrapolation(command): behind a coupler the demand is computed from several motions, and "
                "is not given early; use command=0, and a compensator that leads"
            )
        if self.rig.coupler is not None and not isinstance(self.controller, (Compensator, Direct)):
            raise InputError(
                f"{type(self.controller).__name__} works in the coordinates of the interfaces; behind a "
                "coupler a controller works in those of the actuators: take a compensator, Direct or a "
                "ControlLaw"
            )

    @cached_property
    def rig_system(self) -> RigSystem:
        """The rig's equations."""
        system = self._derived_rig_system
        return replace(system, system=with_values(system.system, self.values_for(system.system)))

    @cached_property
    def _derived_rig_system(self) -> RigSystem:
        """The same with the values of the model."""
        if self._grounded is None:
            system = self.rig.system()
        else:
            rig = replace(self.rig, physical=self._grounded.physical)
            system = rig.system(excited=self._grounded.excited)
        if len(system.commands) != len(self.half.flows):
            raise InputError(
                f"the rig does not fit the numerical half: {len(self.half.flows)} interfaces there, "
                f"{len(system.commands)} transfer systems here"
            )
        for i, (ours, theirs) in enumerate(zip(self.half.signs, orientation(self.rig.physical), strict=True)):
            if ours == theirs:
                raise InputError(
                    f"the rig does not fit the numerical half: at interface {i + 1} the bond points "
                    f"{'out of' if ours > 0 else 'into'} both halves; take the two halves of one cut"
                )
        ends = [end.domain for end in interfaces(self.rig.physical)]
        across = known_domains(ends, system.domains if self.rig.coupler is None else ends)
        expect_one_domain(known_domains(self.half.stated, self.half.domains), across)
        return system

    @cached_property
    def design(self) -> Design:
        """Numerical half and controller together."""
        design = self._derived_design
        return replace(design, system=with_values(design.system, self.values_for(design.system)))

    @cached_property
    def _derived_design(self) -> Design:
        """The same, designed for the numerical half in force, with the controller's own values."""
        fitting = self.rig_system  # whether the rig fits comes first
        half = replace(self.half, coupler=self.rig.coupler)
        design = self.controller.design(half, self.rig.actuator_list()[: len(fitting.commands)])
        if self.controller.inverts:
            expect_same_command(design.commands, fitting.commands, fitting.domains)
        return design

    @cached_property
    def reference_system(self) -> System | None:
        """The complete model's equations, if given."""
        system = self._derived_reference
        return None if system is None else with_values(system, self.values_for(system))

    @cached_property
    def _derived_reference(self) -> System | None:
        """The same with the values of the model."""
        if self.reference is None:
            return None
        model = self.reference[0] if isinstance(self.reference, tuple) else self.reference
        outputs = list(self.reference[1]) if isinstance(self.reference, tuple) else None
        if self.ground:
            model = GroundFrame(model, list(self.ground)).moved()
        system: System = prefixed(model.compile(outputs), "reference.")
        return system

    @property
    def reference_outputs(self) -> list[tuple[str, Expr, Quantity | None]]:
        """Outputs of the complete model: name, expression, and what it measures."""
        system = self.reference_system
        assert system is not None
        return [(n.removeprefix("reference."), e, system.quantity(n)) for n, e in system.output_exprs.items()]

    def input_name(self, u: Var) -> str:
        """Return the name that the user gives to ``u``, an input of a half or of the reference."""
        for system, prefix in ((self.half.system, "numerical."), (self.reference_system, "reference.")):
            if system is not None and u in system.input_vars:
                return u.name.removeprefix(prefix)
        if self.ground and u in self.rig_system.excitations:
            return u.name.removeprefix("rig.specimen.")
        return u.name

    def signal(self, name: str) -> Signal:
        """Return the signal of an input; a constant, the model's own default, where none is given.

        Parameters
        ----------
        name
            Of the input, as the user gives it. One that no system has gets the constant 0.
        """
        from bondloop.signals import Constant

        if name in self.excitation:
            return self.excitation[name]
        defaults = dict(self.half.system.input_defaults)
        if self.reference_system is not None:
            defaults.update(self.reference_system.input_defaults)
        own = defaults.get(f"numerical.{name}", defaults.get(f"reference.{name}", 0.0))
        return Constant(own)

    # ---------------------------------------------------------------- values

    def _systems(self) -> list[System]:
        systems = [self.design.system, self.rig_system.system]
        return [*systems, self.reference_system] if self.reference_system is not None else systems

    def _folded(self, arguments: dict[str, Any]) -> dict[str, Any]:
        fold_halves(arguments)
        return arguments

    @property
    def structure(self) -> Model:
        """The structure from which the halves were cut; where they were not, the numerical half."""
        return cut_structure(self.numerical)

    @property
    def arguments(self) -> dict[str, Any]:
        """What the test was made with, by the names of the constructor."""
        own = {ground_input(where) for where in self.ground}
        return {
            "numerical": self.numerical, "rig": self.rig, "controller": self.controller,
            "excitation": {n: s for n, s in self.excitation.items() if n not in own},
            "ground": self.ground or None, "coordinates": self._coordinates,
            "rate": self.rate, "coupling": self.coupling,
            "integrator": self.integrator, "reference": self.reference, "limits": self.limits,
            "switches": self.switches, "interlock": self.interlock, "gap": self.gap,
            "record_loss": self.record_loss, "page_loss": self.page_loss,
            "tunable": self.tunable or None, "record": self.record,
            "extrapolation": self.extrapolation, "feedback": self.feedback,
            "restoring_force": self.restoring_force, "values": self.overrides, "name": self.name,
        }  # fmt: skip

    @property
    def parameters(self) -> dict[str, float | None]:
        """All parameters by path, with the values in force."""
        values: dict[str, float | None] = {SCALE: self.scale}
        for s in self._systems():
            values.update(s.parameters)
        return values

    def _check_overrides(self) -> None:
        if not self.overrides:
            return
        parameters = [p for s in self._systems() for p in s.parameters_by_var]
        unknown = {p: x for p, x in self._given.items() if p not in {v.name for v in parameters}}
        refuse_arguments_of_parts(unknown, {"rig": self.rig, "controller": self.controller})
        # As given, so that the unit of a text is seen too.
        checked_values([*parameters, Var(SCALE, range=SCALE_RANGE)], self._given, "the test")

    def _changes(self, values: Mapping[str, float | str]) -> dict[str, object]:
        """Return the arguments that change with values of parameters; the seed of the rig's noise is one."""
        others = {path: value for path, value in values.items() if path != SEED}
        if len(others) == len(values):
            return super()._changes(values)
        seed = number(values[SEED], SEED)
        if seed % 1:
            raise InputError(f"{SEED}: expected a whole number; found {seed:g}")
        rig: dict[str, object] = {"rig": replace(self.rig, seed=int(seed))}
        return {**rig, **super()._changes(others)} if others else rig

    def _still_good(self, changes: Mapping[str, object]) -> dict[str, object]:
        """Return what has been derived already and does not depend on the changes: it is derived once."""
        rig = changes.get("rig", self.rig)
        parts = ("physical", "actuators", "coupler")
        same_rig = all(getattr(rig, n, None) is getattr(self.rig, n) for n in parts)
        depends_on = {
            "_derived_half": {"numerical", "switches", "coordinates"},
            "_derived_rig_system": {"numerical", "coordinates"},
            "_derived_design": {"numerical", "switches", "controller", "coordinates"},
            "_derived_reference": {"reference"},
            "_grounded": {"numerical", "coordinates"},
        }
        if "ground" in changes and changes["ground"] is not self.ground:
            return {}
        if not same_rig:
            del depends_on["_derived_rig_system"], depends_on["_derived_design"], depends_on["_grounded"]
            if self.ground:
                del depends_on["_derived_half"]
        kept = [part for part, arguments in depends_on.items() if not arguments & set(changes)]
        if "values" not in changes:
            return {part: self.__dict__[part] for part in kept if part in self.__dict__}
        if "_derived_design" in kept and self._concerns_half(changes["values"]):
            kept.remove("_derived_design")
        return {part: getattr(self, part) for part in kept}  # derived here, once for all other values

    def _concerns_half(self, values: Any) -> bool:
        """Whether other values are other ones of the numerical half, for which the controller is designed."""
        before, after = self.overrides, dict(values or {})
        changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        return not changed.isdisjoint(self.half.system.parameters)

    def values_for(self, system: System) -> dict[str, float]:
        """Return the replaced values that concern one system."""
        return {k: v for k, v in self.overrides.items() if k in system.parameters}

    # ---------------------------------------------------------------- readings

    @cached_property
    def _built(self) -> tuple[Tick, Wiring]:
        wiring = Wiring(self)
        return wiring.tick(), wiring

    @property
    def tick(self) -> Tick:
        """One step of the test: what is rehearsed is what runs."""
        return self._built[0]

    @property
    def wiring(self) -> Wiring:
        """How the parts of the tick are joined."""
        return self._built[1]

    @cached_property
    def _computer_built(self) -> tuple[Tick, Wiring]:
        wiring = Wiring(self)
        return wiring.computer_tick(), wiring

    @property
    def computer_tick(self) -> Tick:
        """The computer's half of the tick: what the sensors read is among its inputs, the last ones."""
        return self._computer_built[0]

    def rig_tick(self, period: float | str | None = None) -> Tick:
        """Return the emulated rig's half of the tick: commands in, what the sensors read out.

        Parameters
        ----------
        period
            Seconds between ticks: the test's own where none is given (then the two halves together are the
            test's tick), or that of a rig that runs at a rate of its own, in one step a tick.
        """
        if period is None:
            return rig_tick(self.rig, self.rig_system, self.period, f"{self.name}_rig")
        step = POSITIVE.check(period, "period", "s")
        return rig_tick(replace(self.rig, substeps=1), self.rig_system, step, f"{self.name}_rig")

    @property
    def signals_in_tick(self) -> Signals:
        """What drives it, as variables of the tick."""
        return self.wiring.signals

    @property
    def structures_read(self) -> dict[str, object]:
        """Structures of which something is recorded, described, by what the names of theirs begin with."""
        return described(structures_of(self), self.record) if self.record else {}

    @property
    def seed(self) -> int:
        """Seed of the rig's noise."""
        return self.rig.seed

    @property
    def signals(self) -> list[Signal]:
        """What drives the test."""
        return list(self.excitation.values())

    @property
    def last_event(self) -> float:
        """Seconds after which nothing new happens: signals, switches on schedule, faults of sensors."""
        switches = self.switches
        parts = [] if switches is None else [switches.displacement, switches.force]
        path = [*self.rig.sensors.values(), *self.rig.drive]
        return max([super().last_event, *(p.last_event for p in parts), *(p.last_event for p in path)])

    @property
    def interfaces(self) -> int:
        """How many interfaces the halves share."""
        return self.wiring.count_of_interfaces

    @property
    def sensors(self) -> dict[str, Sensor]:
        """The emulated sensors, by the channel that holds what they read."""
        known = {w: s for w, s in self.rig.sensors.items() if isinstance(s, Sensor)}
        names = {w: indexed(f"measured.{w}", self.interfaces) for w in known}
        return {channel: known[w] for w, channels in names.items() for channel in channels}

    @property
    def switching(self) -> list[Switching]:
        """What switches in computer and rig."""
        return [part for system in (self.design.system, self.rig_system.system) for part in system.switching]

    @property
    def capacities(self) -> dict[str, float]:
        """What actuators say they can do, by channel."""
        names = {"displacement": "actual.displacement", "velocity": "actual.velocity", "force": "force"}
        ports = [actuator for actuator in self.rig.actuator_list() for _ in range(width(actuator))]
        return {
            indexed(names[word], self.interfaces)[i]: most
            for i, actuator in enumerate(ports)
            for word, most in capacity_of(actuator).items()
        }

    @property
    def adapts(self) -> bool:
        """Whether the controller changes as it runs."""
        return bool(self.controller.adapts or self.design.gains)

    @property
    def compensates(self) -> bool:
        """Whether a compensator works on its commands, sample by sample."""
        return self.controller.sampled

    @property
    def has_adaptive_gains(self) -> bool:
        """Whether the controller has gains that are products of what is measured, and never at rest."""
        return bool(self.design.gains)

    def settled(self) -> HybridTest:
        """Return the same test with the switches between the halves where their schedule leads, at once."""
        switches = self.switches
        if switches is None or not (switches.displacement.scheduled or switches.force.scheduled):
            return self
        return self.replaced(switches=switches.settled())

    def held(self, at: float) -> HybridTest:
        """Return the same test whose excitation, and the controller's own signals, are held."""
        inputs = {self.input_name(u): u for u in self.half.excitations}
        whole = [self.half.system, *([] if self.reference_system is None else [self.reference_system])]
        rated = {self.input_name(u) for system in whole for u in system.input_rates}
        own = {ground_input(where) for where in self.ground}
        excitation = {
            name: held_input(signal, at, inputs[name].quantity, rated=name in rated)
            for name, signal in self.excitation.items()
            if name not in own
        }
        ground = held_grounds(self.ground, at) or None
        controller = with_own_signals_held(self.controller, at)
        changes = {"controller": controller} if controller is not self.controller else {}
        if ground is not None:
            changes["ground"] = ground
        return self.replaced(excitation=excitation, **changes)

    @property
    def halves_on_ground(self) -> tuple[Model, Model]:
        """Numerical half and specimen, with what the ground loads them with."""
        grounded = self._grounded
        if grounded is None:
            return self.numerical, self.rig.physical
        return grounded.numerical, grounded.physical

    def uncut(self) -> UncutStructure:
        """Return the complete structure: numerical half and specimen joined ideally."""
        return uncut_structure(self)

    def unlimited(self) -> HybridTest:
        """Return the same test without limits and interlock."""
        return self.replaced(limits=None, interlock=None)

    @cached_property
    def transfers(self) -> list[Transfer]:
        """The equations of each transfer system by itself, with the values in force."""
        actuators = self.rig.actuator_list()
        found = []
        for i, actuator in enumerate(actuators):
            prefix = f"rig.transfer[{i}]." if len(actuators) > 1 else "rig.transfer."
            transfer = transfer_system(actuator, prefix)
            system = with_values(transfer.system, self.values_for(transfer.system))
            found.append(replace(transfer, system=system))
        return found

    def analysed(self, seconds: float, *, policy: CheckPolicy) -> Check:
        """Return the check of the test, which can be built, for a run of some seconds."""
        from bondloop.check import checked_hybrid

        # Until something is set, a test does what it would do if nothing could be.
        fixed = self.replaced(tunable=None) if self.tunable else self
        return checked_hybrid(fixed, seconds, policy, tunable=self)
