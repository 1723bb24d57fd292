"""What every kind of test offers: to run and to write its tick; and with a rig, what its check reads."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bondloop.display import notebook, table, with_progress
from bondloop.engine.data import file_digests, in_python, number, plain, same, without_folders
from bondloop.engine.ir import calls
from bondloop.engine.passes import placed
from bondloop.errors import BondloopError, InputError, unknown_name
from bondloop.rehearsal import SCALE, STRUCTURES, refuse_beyond_memory, steps_of
from bondloop.signals import tabulated_inputs

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.check import Check, CheckPolicy
    from bondloop.engine.ir import Switching, Tick
    from bondloop.rehearsal import ExactReference, PreparedTest, Run, UncutStructure
    from bondloop.rigs import Sensor
    from bondloop.safety import Interlock, Limits
    from bondloop.signals import Signal, Signals


def exact_reference_of(test: Checkable, values: Mapping[str, float], seconds: float) -> ExactReference | str:
    """Return the exact reference of a run: the complete structure uncut, or why there is none.

    Parameters
    ----------
    test
        The test.
    values
        Parameters and first states that were other ones in the run, by path.
    seconds
        Length of the run.
    """
    from bondloop.rehearsal import exact_reference

    try:
        return exact_reference(test.with_values(values) if values else test, seconds, with_scheme=False)
    except BondloopError as error:
        return str(error)


HALVES = ("whole", "computer", "rig")
"""What can be written of a hybrid test."""


def write_test_fmu(
    test: Rehearsable, path: str | Path, *, half: str, version: int, seconds: float, binary: bool
) -> Path:
    """Write a test as an FMU; see `Rehearsable.write_fmu`.

    Parameters
    ----------
    test
        The test, or a simulation.
    path
        Of the file.
    half
        One of `HALVES`.
    version
        Of FMI.
    seconds
        For how long signals are tabulated.
    binary
        Whether the binary for this platform is built.
    """
    from bondloop.fmu import write_tick_fmu

    tick, signals = _half(test, half)
    for function in calls(tick).values():
        raise InputError(
            f"{function.__qualname__} is a program of its own (a Python function, an FMU), which cannot be "
            "written into an FMU; write a controller as a ControlLaw"
        )
    steps = steps_of(seconds, tick.period)
    refuse_beyond_memory(steps, len(signals), 0)
    table = tabulated_inputs(signals, steps, tick.period) if signals else None
    name = f"{getattr(test, 'name', tick.name)}{'' if half == 'whole' else f', {half}'}"
    return write_tick_fmu(
        tick, path, version=version, name=name, table=table, seconds=(steps - 1) * tick.period, binary=binary
    )


def _half(test: Any, half: str) -> tuple[Tick, Sequence[Signal]]:
    """Return the tick of a half, and the signals that its first inputs are read from."""
    if half not in HALVES:
        raise InputError(unknown_name("half", half, HALVES))
    if half == "whole":
        return test.tick, list(test.tables.values())
    if not hasattr(type(test), "computer_tick"):  # the property itself would derive it
        raise InputError(f"{type(test).__name__}: it has no rig apart from the computer; give half='whole'")
    if test.coupling == "continuous":
        raise InputError(
            "computer and rig of a continuous coupling are integrated as one system, and cannot be stepped "
            "apart; use coupling='sampled', or give half='whole'"
        )
    if half == "rig":
        return test.rig_tick(), []
    tick = test.computer_tick
    by_input = {f"{name}.now": signal for name, signal in test.tables.items()}
    first = [v.name for v in tick.inputs[: len(tick.inputs) - len(tick.measured)]]
    return tick, [by_input[name] for name in first[::2]]


LENGTH = 10.0
"""Seconds of a test whose length is not said and whose excitation has no end."""


SHORT, LONG = 60, 400
"""Letters of an argument in a repr, and in a notebook."""

_PREPARED = "_prepared"
"""Where a test keeps what it has compiled, by back end, while it does not run."""


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}..."


def _made_with(kind: type[Rehearsable], arguments: Mapping[str, Any], seconds: float | None) -> Rehearsable:
    test = kind(**arguments)
    test.seconds = seconds
    return test


class Rehearsable(ABC):
    """A test, or a simulation, that comes down to one tick."""

    period: float
    """Seconds between ticks."""

    seconds: float | None = None
    """Length of a run that the test's file gives; None where it gives none."""

    @property
    def seed(self) -> int | None:
        """Seed of all noise; None where there is none."""
        return None

    @property
    def remedies(self) -> dict[str, str]:
        """What to do when a channel passes its limit, by the channel's name."""
        return {}

    @property
    @abstractmethod
    def tick(self) -> Tick:
        """One step: what is rehearsed is what runs."""

    @property
    @abstractmethod
    def signals_in_tick(self) -> Signals:
        """What drives it, as variables of the tick."""

    @property
    def tables(self) -> dict[str, Signal]:
        """Signals that are read from tables, by name."""
        return {name: signal for name, (signal, _, _) in self.signals_in_tick.tables.items()}

    @property
    @abstractmethod
    def signals(self) -> Sequence[Signal]:
        """What drives it."""

    @property
    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """What it was made with, by the names of the constructor."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, float | None]:
        """All parameters by path, with the values in force."""

    def with_values(self, values: Mapping[str, float | str]) -> Self:
        """Return the same test with some parameters changed, by path.

        A value is held to the range that the part's own constructor asks of it: a mass to more than zero. The
        seed of an emulated rig's noise, ``rig.seed``, counts as one.

        Parameters
        ----------
        values
            New values by path, ``{"rig.specimen.m3.I.mass": "2 kg"}``: numbers in SI or texts with a
            unit. They are added to those changed before; a path that is no parameter is refused.
        """
        return self.replaced(**self._changes(values))

    def _changes(self, values: Mapping[str, float | str]) -> dict[str, object]:
        """Return the arguments that change with values of parameters."""
        return {"values": {**self.arguments["values"], **values}}

    def replaced(self, **changes: object) -> Self:
        """Return a test that differs from this one in some of its arguments, by name.

        What has been derived of this one and does not depend on the changes is not derived again.

        Parameters
        ----------
        **changes
            Arguments of the constructor with their new values, ``replaced(rate=2000)``; those not named
            stay as they are.
        """
        arguments = self.arguments
        for name in changes:
            if name not in arguments:
                raise InputError(unknown_name("argument", name, arguments, where="the test"))
        test = type(self).__new__(type(self))
        test.__dict__.update(self._still_good(changes))  # before the constructor, which derives
        test.__init__(**{**arguments, **changes})  # type: ignore[misc]
        test.seconds = self.seconds
        return test

    def _still_good(self, changes: Mapping[str, object]) -> dict[str, object]:  # noqa: ARG002
        """Return what has been derived already and does not depend on the changes."""
        return {}

    def describe(self) -> dict[str, Any]:
        """Return the test as data, from which the same one can be made again."""
        arguments = {name: value for name, value in self.arguments.items() if value is not None}
        for name in ("values", "record"):
            if not arguments.get(name):
                arguments.pop(name, None)
        first: dict[str, object] = {"test": type(self).__name__, "name": arguments.pop("name")}
        return first | {name: plain(value) for name, value in self._folded(arguments).items()}

    def _folded(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as a description has them."""
        return arguments

    @property
    def structure(self) -> Model | None:
        """The whole structure of a hybrid test, or its numerical half where that was not cut from one."""
        return None

    def about(self) -> dict[str, Any]:
        """Return what run files say of the test: its description, and what follows from it.

        What a Python file defines is named by the file and its own name, without the folder, and ``files``
        has digests of what stood in them: a run is repeated by its tick, and no Python file is run for a
        file of results.
        """
        read = {STRUCTURES: self.structures_read} if self.structures_read else {}
        described = self.describe()
        files = file_digests(described)
        told: dict[str, Any] = without_folders(described)
        named = {"files": files} if files else {}
        return {**told, "rate": 1.0 / self.period, "parameters": self.parameters, **read, **named}

    @property
    def structures_read(self) -> dict[str, object]:
        """Structures of which something is recorded, described, by what the names of theirs begin with."""
        return {}

    def __eq__(self, other: object) -> bool:
        """Whether the descriptions are complete and equal."""
        return self is other or (isinstance(other, type(self)) and same(self, other))

    def __hash__(self) -> int:
        return hash((type(self), self.period))

    def __repr__(self) -> str:
        said = ", ".join(f"{key}={_cut(text, SHORT)}" for key, text in self._described())
        return f"{type(self).__name__}({said})"

    def _repr_html_(self) -> str:
        rows = [(key, _cut(text, LONG)) for key, text in self._described()]
        rows.append(("rate", f"{1 / self.period:.6g} Hz"))
        return notebook(type(self).__name__, [table(("", ""), dict(rows).items())])

    def _described(self) -> list[tuple[str, str]]:
        """Return what was said of it, as Python."""
        data = {k: v for k, v in self.describe().items() if v is not None}
        return [(key, in_python(value)) for key, value in list(data.items())[1:]]

    @property
    def length(self) -> float:
        """Seconds of a run whose length is not said: what the test's file says, or as long as the excitation.

        Where that has no end, or something else happens later (a switch that closes, a fault of a sensor),
        10 s more than until all only goes on as it is; two of its slowest cycles, if these are longer.
        """
        if self.seconds is not None:
            return self.seconds
        signals = self.signals
        longest = max((s.duration for s in signals), default=math.inf)
        last = self.last_event
        if 0 < longest < math.inf and last <= longest:
            return max(longest, 100 * self.period)
        return last + max([LENGTH, *(2 * s.cycle for s in signals)])

    @property
    def last_event(self) -> float:
        """Seconds after which nothing new happens to it."""
        return max((s.last_event for s in self.signals), default=0.0)

    @with_progress("rehearsing")
    def run(
        self,
        seconds: float | str | None = None,
        *,
        backend: str = "auto",
        every: int = 1,
        progress: Callable[[int, int], None] | None = None,
        sets: Mapping[int, Mapping[str, float]] | None = None,
        check: Check | None = None,
    ) -> Run:
        """Rehearse it.

        Parameters
        ----------
        seconds
            Length of the run, or text, ``"2 min"``; where none is given that of the test's file, of the
            excitation, or 10 s.
        backend
            ``"c"``, ``"numpy"``, or ``"auto"``: C where a compiler is found.
        every
            Record every so many samples.
        progress
            Called with (samples done, samples in all).
        sets
            What an operator would set meanwhile, ``{1200: {"excitation.scale": 0.5}}``: values of tunable
            parameters by the first sample for which they hold.
        check
            What the check had found before: its open findings become part of the run's verdict.
        """
        idle = self.__dict__.setdefault(_PREPARED, {})
        prepared: PreparedTest = idle.pop(backend, None) or self.prepare(backend)
        try:
            run = prepared.run(None, seconds, every=every, progress=progress, sets=sets)
        finally:
            idle[backend] = prepared
        return run if check is None else run.with_check(check)

    def prepare(self, backend: str = "auto") -> PreparedTest:
        """Return the test with its tick built and compiled, for many runs that differ in numbers only.

        Parameters
        ----------
        backend
            As of `run`.
        """
        from bondloop.rehearsal import PreparedTest

        reference = partial(exact_reference_of, self) if isinstance(self, Checkable) else None
        return PreparedTest(self, backend, reference)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what it was made with, for copies and other processes: they derive the rest again."""
        return _made_with, (type(self), self.arguments, self.seconds)

    def write_c(self, folder: str | Path) -> Path:
        """Write the tick as C into a folder; return the file."""
        from bondloop.engine.codegen import write_c

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.tick.name}.c"
        path.write_text(write_c(self.tick))
        return path

    def write_fmu(
        self,
        path: str | Path,
        *,
        half: str = "whole",
        version: int = 3,
        seconds: float | str | None = None,
        binary: bool = True,
    ) -> Path:
        """Write the test, or one half of it, as an FMU for co-simulation; return the file.

        Its step is the test's period, and its outputs are the channels of a rehearsal, to the last bit.

        Parameters
        ----------
        path
            Of the file, ``"test.fmu"``.
        half
            ``"whole"``; of a hybrid test also ``"computer"``, with what the sensors read as inputs and the
            commands among the outputs, or ``"rig"``, the other way round.
        version
            Of FMI, 2 or 3.
        seconds
            For how long tabulated signals (a ground motion) are put into the file; as of `run`.
        binary
            Whether a binary for this platform is built and put in beside the C sources.
        """
        length = self.length if seconds is None else number(seconds, "seconds", "s")
        return write_test_fmu(self, path, half=half, version=version, seconds=length, binary=binary)


class Checkable(Rehearsable):
    """A test with a rig: it has interfaces that move, limits, sensors, and an excitation that can be scaled.

    Its tick has the channels ``desired.displacement``, ``actual.displacement``, ``desired.velocity``,
    ``actual.velocity`` and ``force`` of every interface, and the parameter ``excitation.scale``.
    """

    name: str
    limits: Limits | None
    interlock: Interlock | None = None
    feedback: bool = True
    overrides: dict[str, float]
    """Values of parameters that were changed, by path."""

    @property
    def ground_cares(self) -> list[tuple[str, str]]:
        """What asks for care where the ground moves, each in a sentence and in some words."""
        return []

    @property
    def led(self) -> bool:
        """Whether another program computes the numerical half, and so leads the motion."""
        return False

    @property
    @abstractmethod
    def switching(self) -> Sequence[Switching]:
        """What switches in its parts: stops, clutches, diodes."""

    @property
    @abstractmethod
    def interfaces(self) -> int:
        """How many degrees of freedom the two halves share."""

    @property
    def scale(self) -> float:
        """What the excitation is multiplied by: 1, or the ``excitation.scale`` among ``values``."""
        return placed(SCALE, self.overrides.get(SCALE, 1.0))

    @property
    @abstractmethod
    def sensors(self) -> Mapping[str, Sensor]:
        """The emulated sensors, by the channel that holds what they read."""

    @property
    def capacities(self) -> Mapping[str, float]:
        """What the machines can do, by channel, where that does not stop a run."""
        return {}

    @property
    def adapts(self) -> bool:
        """Whether the controller changes as it runs, so that how it starts is not how it stays."""
        return False

    @property
    def compensates(self) -> bool:
        """Whether a compensator works on its commands, sample by sample."""
        return False

    @property
    def has_adaptive_gains(self) -> bool:
        """Whether it has gains that are never at rest, products of what is measured."""
        return False

    def settled(self) -> Self:
        """Return the same test with the switches between the halves where their schedule leads, at once."""
        return self

    @abstractmethod
    def held(self, at: float) -> Self:
        """Return the same test whose excitation is held after an instant.

        Displacements stay where they are; forces, velocities and accelerations go to zero. What no longer
        changes by then stays as it is, such as a weight, and so does an input of which nothing is known. Up
        to that instant the two tests do the same, to the last bit.

        A moving ground is brought to rest by its own largest acceleration, and a velocity whose rate is
        needed by its own largest rate. All else stops at once. The removal of a force that had grown slowly
        and still changes is thus a harder blow than its growth was: at most a step of its last value.

        Parameters
        ----------
        at
            The last instant of the excitation, in s.
        """

    @abstractmethod
    def uncut(self) -> UncutStructure:
        """Return the complete structure: numerical half and specimen joined ideally, in the values in force.

        There is no transfer system, no sensor, no controller and no sampling in it. Halves that cannot be
        joined are refused with an error that says why.
        """

    @abstractmethod
    def unlimited(self) -> Self:
        """Return the same test without any limits."""

    @abstractmethod
    def analysed(self, seconds: float, *, policy: CheckPolicy) -> Check:
        """Return the check of the test, which can be built, for a run of some seconds.

        Parameters
        ----------
        seconds
            How long the run is.
        policy
            The limits by which it judges.
        """

    def check(
        self,
        seconds: float | str | None = None,
        *,
        accept: Mapping[str, str] | None = None,
        policy: CheckPolicy | None = None,
    ) -> Check:
        """Whether this test may be run, with reasons.

        Parameters
        ----------
        seconds
            The length of the run it is meant for, or text, ``"2 min"``; the excitation's, or 10 s, where none
            is given.
        accept
            Findings that the laboratory accepts, and why: ``{"BL302": "delay measured on the rig"}``. They
            stay in the check, and no longer decide.
        policy
            The limits by which it judges; the defaults unless given.
        """
        from bondloop.check import CheckPolicy, check

        return check(self, seconds, accept=accept, policy=policy or CheckPolicy())
