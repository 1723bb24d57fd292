"""Pseudo-dynamic tests: matrices in the computer, a scheme that asks in sub-steps, a specimen on a rig."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bondloop.engine.data import POSITIVE, Range, checked_values, number
from bondloop.engine.ir import Var
from bondloop.errors import InputError, unknown_name
from bondloop.hybrid.arguments import (
    as_signal,
    command_units,
    expect,
    expect_kind_of_signal,
    expect_limits_of,
    expect_units_of_command,
    refuse_arguments_of_parts,
)
from bondloop.hybrid.ground import (
    SteppedGround,
    expect_scheme,
    ground_signals,
    needed_excitation,
    refuse_stepped_half_loaded,
    stepped_half_loaded_cares,
)
from bondloop.hybrid.held_excitation import held_grounds, held_load
from bondloop.hybrid.pseudo_dynamic_tick import PseudoDynamicTick, assembled
from bondloop.hybrid.rehearsable import Checkable
from bondloop.hybrid.structure_readings import described
from bondloop.hybrid.uncut import uncut_stepped
from bondloop.integrate.structural import Scheme
from bondloop.rehearsal import SCALE, SCALE_RANGE
from bondloop.rigs import SubSteppedRig, expect_unit
from bondloop.safety import Limits
from bondloop.structures import Matrices, dof_domain
from bondloop.substructure import indexed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.check import Check, CheckPolicy
    from bondloop.engine.ir import Switching, Tick
    from bondloop.hybrid.ground import Ground
    from bondloop.rehearsal import UncutStructure
    from bondloop.rigs import Sensor
    from bondloop.signals import Signal, Signals


class PseudoDynamicTest(Checkable):
    """A pseudo-dynamic test with a sub-structure on a rig, in real time or slower.

    Parameters
    ----------
    numerical
        M, C, K of the numerical half; the inertia of a slow test is here.
    scheme
        `SubStep`, or any of `bondloop.integrate.structural` (these command displacements).
    rig
        The specimen on a `ShakingTable` (commanded by accelerations) or on `RampHold` actuators
        (displacements).
    interface
        Degrees of freedom at which the rig is joined, one per interface of the specimen.
    excitation
        Signals by name. One named after a degree of freedom is a force on it; any other is given with its
        pattern, ``{"ground": (signal, {"m1": 65467.0})}``: forces per unit of the signal. An empty pattern:
        only recorded.
    ground
        The ground's acceleration by direction or by support, as of a `HybridTest`: it loads the numerical
        half with -M r, and carries a specimen that has mass.
    coordinates
        What the rig imposes on moving ground, ``"relative"`` or ``"absolute"`` motion; None: what the
        specimen needs. In absolute coordinates the ground's own motion is added to the scheme's commands.
    time_step
        Δt of the scheme in seconds, or text, ``"4 ms"``.
    time_scale
        How many times slower than life the rig moves (displacement control only): 10 for a test in which a
        second of the structure takes ten. Rate effects of the specimen shrink with it, as they do in the
        laboratory.
    reference
        Run the complete structure beside the test for its exact coupling force: True to assemble it from the
        specimen's matrices, or its matrices.
    limits
        Beyond them the run stops, as beyond the rig's own.
    record
        What else to record of the numerical half: ``"numerical.roof.ux.acceleration"`` and all that can be
        read off its structure (`bondloop.structures.Readings`), ``"numerical.girder[0].start.M"``; energies,
        ``"energy.kinetic"``. A ``*`` stands for anything: ``"numerical.storey[*].drift_x"``.
    values
        Parameter values by path: ``{"scheme.P": -1}``, ``{"rig.overshoot": 0.1}``.
    name
        Name of the test.

    Examples
    --------
    >>> from bondloop.integrate import SubStep
    >>> from bondloop.rigs import ShakingTable, Specimen
    >>> from bondloop.signals import HalfSine
    >>> main = Matrices([[20.0]], [[30.0]], [[8e4]], ("floor",))
    >>> damper = Matrices([[0, 0], [0, 1.0]], None, [[4e3, -4e3], [-4e3, 4e3]], ("base", "damper"))
    >>> test = PseudoDynamicTest(
    ...     main,
    ...     scheme=SubStep(5),
    ...     rig=ShakingTable(Specimen.from_matrices(damper, "base")),
    ...     interface="floor",
    ...     excitation={"floor": HalfSine(100, width=0.02)},
    ...     time_step=0.002,
    ...     reference=True,
    ... )
    >>> run = test.run(1.0)
    >>> error = run["force"] - run["reference.force"]
    >>> print(
    ...     test.check().passed, f"{100 * np.sqrt(np.mean(error**2)) / np.std(run['reference.force']):.1f} %"
    ... )
    True 3.1 %
    """

    _allowed: ClassVar[Mapping[str, Range | tuple[str, ...]]] = {
        "time_step": Range(above=0, units=("s",)),
        "time_scale": POSITIVE,
        "coordinates": ("relative", "absolute"),
    }

    def __init__(  # noqa: PLR0913 - each is one part of the definition above
        self,
        numerical: Matrices,
        *,
        scheme: Scheme,
        rig: SubSteppedRig,
        interface: str | Sequence[str],
        excitation: Mapping[str, Any] | None = None,
        time_step: float | str,
        ground: Ground = None,
        coordinates: str | None = None,
        time_scale: float = 1.0,
        reference: bool | Matrices = False,
        limits: Limits | None = None,
        record: Iterable[str] | str = (),
        values: Mapping[str, float | str] | None = None,
        name: str = "pseudo_dynamic_test",
    ) -> None:
        expect(numerical, Matrices, "numerical", "M, C and K as bondloop.structures.Matrices(...)")
        expect(scheme, Scheme, "scheme", "bondloop.integrate.SubStep(4)")
        expect(rig, SubSteppedRig, "rig", "bondloop.rigs.ShakingTable(specimen)")
        expect(limits, (Limits, type(None)), "limits", "bondloop.safety.Limits(force='2 kN')")
        excitation = needed_excitation(excitation, ground)
        for word in ("tracking_error", "command_rate", "warning"):
            if getattr(limits, word, None) is not None:
                raise InputError(f"limits.{word}: a pseudo-dynamic test does not watch it; leave it out")
        self.numerical, self.scheme, self.rig = numerical, scheme, rig
        self.interface = (interface,) if isinstance(interface, str) else tuple(interface)
        self.period = POSITIVE.check(time_step, "time_step", "s")
        self.time_scale = POSITIVE.check(time_scale, "time_scale", "1")
        self.limits, self.name = limits, name
        values = dict(values or {})
        self.overrides = {path: number(value, path) for path, value in values.items()}
        self.reference = reference
        self.record = tuple(dict.fromkeys([record] if isinstance(record, str) else record))
        self._check()
        self.excitation = {n: self._load(n, given) for n, given in excitation.items()}
        refuse_stepped_half_loaded(self)
        self._coordinates = coordinates
        self.ground = self._grounded(ground_signals(ground))
        if self.ground is not None:
            self.excitation.update(self.ground.excitation())
        self.complete = self._complete()
        expect_limits_of(self._writer.domains, limits)
        if rig.sensor is not None:
            expect_unit(rig.sensor, [d.effort.unit for d in self._writer.domains], "rig.sensor")
        said = command_units(limits)
        if said:
            word = "acceleration" if self.rig.control == "acceleration" else "displacement"
            expect_units_of_command([getattr(d, word).unit for d in self._writer.domains], said)
        known = self._writer.all_parameters
        unknown = {p: x for p, x in values.items() if p not in {v.name for v in known}}
        refuse_arguments_of_parts(unknown, {"rig": self.rig, "scheme": self.scheme})
        checked_values([*known, Var(SCALE, range=SCALE_RANGE)], values, "the test")  # as given: units too

    def _check(self) -> None:
        numerical_dofs, count = self.numerical.indices(self.interface), len(self.rig.specimen.motions)
        if len(set(numerical_dofs)) != count:
            raise InputError(
                f"the specimen has {count} interface(s), but the test names {len(set(numerical_dofs))}: "
                f"{', '.join(self.interface)}"
            )
        wanted = self.scheme.control
        if self.rig.control != wanted:
            raise InputError(
                f"{type(self.scheme).__name__} commands {wanted}s, but a {type(self.rig).__name__} takes "
                f"{self.rig.control}s; take a rig that suits, or SubStep(control={self.rig.control!r})"
            )
        if self.time_scale != 1 and self.rig.control == "acceleration":
            raise InputError(
                f"time_scale = {self.time_scale:g}: a table loads the specimen through its own inertia, "
                "which does not slow down with the test; use displacement control, or time_scale = 1"
            )

    def _load(self, name: str, given: Any) -> tuple[Signal, NDArray[np.float64]]:
        if isinstance(given, tuple) and (len(given) != 2 or not isinstance(given[1], Mapping)):
            raise InputError(
                f"the excitation '{name}': expected a signal, or a signal with the forces per unit of it, "
                f"(signal, {{dof: force}}); found {given!r:.60}"
            )
        signal, where = given if isinstance(given, tuple) else (given, {name: 1.0})
        if not isinstance(given, tuple) and name not in self.numerical.dofs:
            raise InputError(
                unknown_name("degree of freedom", name, self.numerical.dofs)
                + "; a load by another name is given with its pattern, (signal, {dof: force})"
            )
        pattern = np.zeros(len(self.numerical))
        for dof, value in where.items():
            pattern[self.numerical.index(dof)] = number(value, f"the excitation '{name}', {dof}")
        answer = as_signal(name, signal)
        if not isinstance(given, tuple):
            expect_kind_of_signal(name, answer, dof_domain(name).effort)
        return answer, pattern

    def _grounded(self, signals: Mapping[str, Signal]) -> SteppedGround | None:
        if not signals:
            if self._coordinates is not None:
                raise InputError("coordinates: they are those of a moving ground, ground={'ux': motion}")
            return None
        specimen = self.rig.specimen
        ground = SteppedGround.of(signals, self.numerical, specimen, self.interface, self._coordinates)
        expect_scheme(self.scheme, ground.coordinates, self.time_scale, masses=ground.masses)
        return ground

    @property
    def coordinates(self) -> str | None:
        """What the rig imposes on moving ground: ``"relative"`` or ``"absolute"`` motion; else None."""
        return None if self.ground is None else self.ground.coordinates

    @property
    def ground_cares(self) -> list[tuple[str, str]]:
        """What asks for care where the ground may move, each in a sentence and in some words."""
        return stepped_half_loaded_cares(self)

    def _complete(self) -> Matrices | None:
        if isinstance(self.reference, Matrices):
            return self.reference
        return assembled(self.numerical, self.rig.specimen, self.interface) if self.reference else None

    # ---------------------------------------------------------------- values

    @property
    def arguments(self) -> dict[str, Any]:
        """What the test was made with, by the names of the constructor."""
        grounds = {} if self.ground is None else self.ground.excitation()
        excitation = {
            n: (s, {d: x for d, x in zip(self.numerical.dofs, p.tolist(), strict=True) if x})
            for n, (s, p) in self.excitation.items()
            if n not in grounds
        }
        return {
            "numerical": self.numerical, "scheme": self.scheme, "rig": self.rig, "interface": self.interface,
            "excitation": excitation, "ground": None if self.ground is None else dict(self.ground.signals),
            "coordinates": self._coordinates, "time_step": self.period, "time_scale": self.time_scale,
            "reference": self.reference, "limits": self.limits, "record": self.record,
            "values": self.overrides, "name": self.name,
        }  # fmt: skip

    @property
    def parameters(self) -> dict[str, float | None]:
        """All parameters by path, with the values in force."""
        return {v.name: self.overrides.get(v.name, x) for v, x in self._writer.all_parameters.items()}

    def held(self, at: float) -> PseudoDynamicTest:
        """Return the same test with its excitation held: forces go to zero, displacements stay."""
        given = self.arguments["excitation"]
        excitation = {n: (held_load(s, at), p) for n, (s, p) in given.items()}
        ground = {} if self.ground is None else held_grounds(self.ground.signals, at)
        return self.replaced(excitation=excitation, ground=ground or None)

    def uncut(self) -> UncutStructure:
        """Return the complete structure: numerical half and specimen joined ideally."""
        return uncut_stepped(self)

    def unlimited(self) -> PseudoDynamicTest:
        """Return the same test without limits, the rig's own included."""
        return self.replaced(limits=None, rig=self.rig.unlimited())

    # ---------------------------------------------------------------- readings

    @cached_property
    def _writer(self) -> PseudoDynamicTick:
        return PseudoDynamicTick(self)

    @property
    def tick(self) -> Tick:
        """One step of the test: what is rehearsed is what runs."""
        return self._writer.tick

    @property
    def structures_read(self) -> dict[str, object]:
        """The structure, described, where something of it is recorded."""
        return described([self._writer.structure], self.record)

    @property
    def seed(self) -> int:
        """Seed of the rig's noise."""
        return self.rig.seed

    @property
    def remedies(self) -> dict[str, str]:
        """What to do when a channel passes its limit."""
        return self._writer.remedies

    @property
    def signals(self) -> list[Signal]:
        """What drives the test."""
        return [signal for signal, _ in self.excitation.values()]

    @property
    def signals_in_tick(self) -> Signals:
        """What drives it, as variables of the tick."""
        return self._writer.signals

    @property
    def interfaces(self) -> int:
        """How many degrees of freedom the halves share."""
        return len(self.interface)

    @property
    def measured(self) -> list[Var]:
        """Variables of the tick: the newest measured force at each interface."""
        return self._writer.built.force

    @property
    def switching(self) -> tuple[Switching, ...]:
        """What switches in the specimen."""
        return self._writer.built.switching

    @property
    def sensors(self) -> dict[str, Sensor]:
        """The emulated sensors of the coupling forces, by channel."""
        sensor = self.rig.sensor
        return {} if sensor is None else dict.fromkeys(indexed("force", self.interfaces), sensor)

    def analysed(self, seconds: float, *, policy: CheckPolicy) -> Check:
        """Return the check of the test, which can be built, for a run of some seconds."""
        from bondloop.check import checked_steps

        return checked_steps(self, seconds, policy)
