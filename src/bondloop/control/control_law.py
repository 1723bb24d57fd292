"""A controller of one's own: parameters, states and one step in Python, traced; or any Python function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np

from bondloop.control.base import Compensator, Controller, Measured
from bondloop.control.blocks.transfer_model import carried, sending, transfer_models
from bondloop.engine.data import NOT_NEGATIVE, POSITIVE, is_truth, number
from bondloop.engine.ir import Assign, Call, Channel, Const, Expr, Op, Quantity, Role, Update, Var, substitute
from bondloop.engine.laws import (
    Law,
    Readings,
    Traced,
    Value,
    array_of,
    as_samples,
    called,
    entries,
    expect_same_formula,
    formulas,
    in_si,
    named_parts,
    one_number,
)
from bondloop.engine.passes import Applied, Context, at_interface
from bondloop.errors import InputError, ModelError, unknown_name
from bondloop.substructure import indexed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control.base import Design
    from bondloop.substructure import NumericalHalf
    from bondloop.transfer import TransferSystem


@dataclass(frozen=True)
class Desired(Readings):
    """What a transfer system should do at this sample; arrays, one entry each, for several.

    Attributes
    ----------
    displacement, velocity
        Of the numerical half's interface, in m and m/s.
    """

    displacement: Value
    velocity: Value = 0.0


_TOLD = {
    "desired.displacement": ("m", "rad"),
    "desired.velocity": ("m/s", "rad/s"),
    "measured.force": ("N", "N m"),
    "measured.displacement": ("m", "rad"),
    "measured.velocity": ("m/s", "rad/s"),
}
"""What `ControlLaw.respond` is told at every sample, and what it may measure."""


class _Position:
    """What a transfer system should do, where only the displacement is known."""

    def __init__(self, displacement: Value) -> None:
        self.displacement = displacement

    @property
    def velocity(self) -> NoReturn:
        raise ModelError(
            "the desired velocity is not known where a compensator stands without a numerical half; take "
            "differences of the desired displacement"
        )


class ControlLaw(Law, Compensator):
    """A controller that is written down in Python: derive a class from it, and write its ``step``.

    A class derived from it is a frozen dataclass by itself. Fields with the type ``float`` are its
    parameters, which a test can change by path (``controller.gain``). `step` uses Python's operators and the
    functions of `bondloop.math`, and reads and assigns the states as attributes of ``self``, which also has
    ``time`` in s and ``period``, the time from sample to sample. When a test is built it is traced once into
    the tick, so it is compiled, checked and recorded like everything else.

    Attributes
    ----------
    states
        What it keeps from sample to sample, by name, with initial values.
    adapted
        Names of the states that it adapts (gains, estimates), so that the check holds them still where it
        asks for the loop's poles, and watches whether they stay. They are recorded.
    record
        Names of states that are recorded, each with its unit.
    sensors
        Virtual sensors: variables of the numerical half by name and path, such as
        ``{"roof": "numerical.roof.v.flow"}``, or of the model of the transfer system, such as
        ``{"pressure": "transfer.chamber.effort"}`` (``transfer[1].`` for one of several where the law is
        coupled). `step` reads them as attributes, as they are at this sample.
    transfer
        Model of the transfer system, or one for each, whose variables virtual sensors read; or a property
        that returns it. It runs beside the rig, driven by the command and by the measured force; what is read
        of it is recorded. The command acts on it at once: a latency of the rig is no part of it.
    coupled
        Of several transfer systems: False for a step of its own for each, with states of its own; True for
        one step of arrays, which returns as many commands.

    Examples
    --------
    >>> from bondloop.control import ControlLaw, Desired, Measured
    >>> class Integral(ControlLaw):
    ...     '''Adds the integral of the error to the desired displacement.'''
    ...
    ...     gain: float = 5.0
    ...     states = {"sum": 0.0}
    ...
    ...     def step(self, desired, measured):
    ...         error = desired.displacement - measured.displacement
    ...         self.sum = self.sum + self.gain * self.period * error
    ...         return desired.displacement + self.sum
    >>> law = Integral(gain=10).started(period=0.01)
    >>> [law.step(Desired(1.0), Measured(displacement=x)) for x in (0.0, 0.5)]
    [1.1, 1.15]
    """

    reserved: ClassVar[tuple[str, ...]] = ("time", "period")
    adapted: ClassVar[tuple[str, ...]] = ()
    record: ClassVar[Mapping[str, str]] = {}
    sensors: ClassVar[Mapping[str, str]] = {}
    transfer: ClassVar[TransferSystem | Sequence[TransferSystem] | None] = None
    coupled: ClassVar[bool] = False

    if TYPE_CHECKING:
        time: ClassVar[Any]
        period: ClassVar[Any]

    def __init_subclass__(cls, **rest: object) -> None:
        super().__init_subclass__(**rest)
        names = cls.__dict__.get("adapted", ())
        if isinstance(names, str) or not all(isinstance(n, str) for n in names):
            raise ModelError(f"{cls.__name__}.adapted: expected names of states; found {names!r:.60}")
        cls.adapts = bool(cls.adapted)
        cls._check_sensors()

    @classmethod
    def _check_sensors(cls) -> None:
        """Refuse virtual sensors that are none, or whose names mean something else."""
        paths: object = cls.sensors
        if not isinstance(paths, Mapping) or not all(isinstance(path, str) for path in paths.values()):
            raise ModelError(
                f'{cls.__name__}.sensors: expected paths by name, {{"roof": "numerical.roof.v.flow"}}; found '
                f"{paths!r:.60}"
            )
        states: object = cls.states
        taken = {*(states if isinstance(states, Mapping) else ()), *(f.name for f in fields(cls))}
        for name in paths:
            fit = isinstance(name, str) and name.isidentifier() and not name.startswith("_")
            if not fit or name in {*taken, *cls.reserved} or hasattr(cls, name):
                raise ModelError(f"{cls.__name__}.sensors: none can be called {name!r}; choose another name")

    def step(self, desired: Desired, measured: Measured) -> Value:  # noqa: ARG002 - what every law has to say
        """Return the command of one sample, and assign the states that change.

        Parameters
        ----------
        desired
            What the transfer system should do: ``displacement``, ``velocity``.
        measured
            What the sensors read: ``displacement``, ``velocity``, ``force``.
        """
        raise ModelError(f"{type(self).__name__}: write its method step(self, desired, measured)")

    def started(self, period: float | str, time: float | str = 0.0, **states: object) -> Self:
        """Return a copy that runs: its ``step`` takes numbers, and its states are attributes.

        Parameters
        ----------
        period
            Time from sample to sample, in s.
        time
            Time of the next step, in s; set it again, ``law.started(...)``, for another.
        **states
            States that do not stand at their initial values; and what the virtual sensors read, 0 otherwise.
        """
        T = POSITIVE.check(period, "period", "s")
        now = NOT_NEGATIVE.check(time, "time", "s")
        read = {name: number(states.pop(name, 0.0), name) for name in self.sensors}
        return self.running(read, self.checked_states(states), period=T, time=now)

    def respond(self, desired: Desired, measured: Measured, period: float | str) -> NDArray[np.float64]:
        """Return the commands for samples that are known, one after the other, computed with plain numbers.

        The numbers are NumPy's: 1/0 is infinite, as it is in the tick, and no exception. What is true counts
        as 1, as it does there.

        Parameters
        ----------
        desired, measured
            Arrays, an entry a sample (a row, for laws that are coupled), or texts with units; or numbers that
            stay.
        period
            Time from sample to sample, in s.
        """
        kind = type(self).__name__
        law = self.started(period)
        measures = (measured.force, measured.displacement, measured.velocity)
        tables = [
            in_si(x, f"{kind}.respond({where})", *units)
            for (where, units), x in zip(
                _TOLD.items(), (desired.displacement, desired.velocity, *measures), strict=True
            )
        ]
        lengths = {where: len(t) for where, t in zip(_TOLD, tables, strict=True) if t.ndim}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{n} of {where}" for where, n in lengths.items())
            raise InputError(f"{kind}.respond: expected as many samples of each; found {found}")
        commands = []
        for k in range(max(lengths.values(), default=1)):
            law.__dict__["time"] = k * law.period
            law.__dict__.update({n: as_samples(x) for n, x in law.__dict__.items()})
            row = [as_samples(t[k] if t.ndim else t) for t in tables]
            with np.errstate(all="ignore"):
                command = called(law.step, f"{kind}.step", Desired(*row[:2]), Measured(*row[2:]))
            commands.append(command if self.coupled else one_number(command, f"{kind}.step"))
        return np.array(commands, dtype=float)

    # ---------------------------------------------------------------- as a part of a test

    def design(self, half: NumericalHalf, actuators: Sequence[TransferSystem]) -> Design:
        """Hand on the desired displacements, and put the parameters among those of the test."""
        design = super().design(half, actuators)
        ranges, values = self.parameter_ranges(), self.parameter_values()
        mine: dict[Var, float | None] = {Var(f"controller.{n}", ranges[n]): x for n, x in values.items()}
        system = design.system.replaced(parameters={**design.system.parameters_by_var, **mine})
        numerical = [path for path in self.sensors.values() if not self._of_transfer(path)]
        loads = tuple(e if sign > 0 else -e for e, sign in zip(design.efforts, half.signs, strict=True))
        sensed = tuple(system.expression(path) for path in numerical)
        return replace(design, system=system, sensed=sensed, loads=loads)

    def _of_transfer(self, path: str) -> bool:
        """Whether a virtual sensor is on the model of the transfer system."""
        return self.transfer is not None and path.startswith(("transfer.", "transfer["))

    def commands(
        self,
        design: Design,
        values: Mapping[Var, Expr],
        measured: Sequence[Measured],
        contexts: Sequence[Context],
    ) -> list[Applied]:
        """Return the statements that make the commands: the step, traced."""
        by_name = {p.name: p for p in design.system.parameters_by_var}
        parameters = {n: by_name[f"controller.{n}"] for n in self.parameter_ranges()}
        numbers = design.system.values()
        law = self.with_parameters({n: numbers[p] for n, p in parameters.items()})
        numerical = [n for n, path in self.sensors.items() if not self._of_transfer(path)]
        read = {n: substitute(e, dict(values)) for n, e in zip(numerical, design.sensed, strict=True)}
        known: dict[str, Expr] = {**parameters, **read}
        desired = [substitute(e, dict(values)) for e in design.commands]
        velocities = [substitute(e, dict(values)) for e in design.desired_velocities]
        forces = dict(zip(design.efforts, (m.force for m in measured), strict=True))
        loads = [substitute(e, dict(forces)) for e in design.loads]
        paths = {n: path for n, path in self.sensors.items() if self._of_transfer(path)}
        models = (
            transfer_models(law.transfer, contexts, type(self).__name__, coupled=self.coupled)
            if paths
            else []
        )
        if self.coupled:
            context = replace(contexts[0], name="controller")
            before, more = carried(models, loads, paths, context)
            made = law._traced(desired, velocities, measured, context, {**known, **more})
            return sending(before, made, models)
        result = []
        for i, (x, v, m, context) in enumerate(zip(desired, velocities, measured, contexts, strict=True)):
            own = models[i : i + 1]
            before, more = carried(own, loads[i : i + 1], paths, context)
            made = law._traced([x], [v], [m], context, {**known, **more})
            result.append(at_interface(sending(before, made, own)[0], i))
        return result

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the step for one transfer system, with parameters of its own."""
        if self.sensors:
            raise ModelError(
                f"{type(self).__name__}: virtual sensors ({', '.join(self.sensors)}) read the numerical "
                "half, and a compensator that stands alone, without a hybrid test, has none"
            )
        ranges = self.parameter_ranges()
        parameters = {n: Var(f"{context.name}.{n}", ranges[n]) for n in ranges}
        applied = self._traced([desired], None, [measured], context, parameters)[0]
        values = self.parameter_values()
        return replace(applied, parameters={p: values[n] for n, p in parameters.items()})

    def _traced(
        self,
        desired: Sequence[Expr],
        velocities: Sequence[Expr] | None,
        measured: Sequence[Measured],
        context: Context,
        readable: Mapping[str, Expr],
    ) -> list[Applied]:
        """Trace one step twice, and before and after with other variables: what a law keeps shows."""
        count, moving, what = len(desired), velocities is not None, f"{type(self).__name__}.step"
        before, _ = self._probe(count, moving, context, readable)
        result = self._applied(desired, velocities, measured, context, readable)
        again = self._applied(desired, velocities, measured, context, readable)
        after, known = self._probe(count, moving, context, readable)
        expect_same_formula(before, after, known, what)
        expect_same_formula(_formulas(result), _formulas(again), None, what)
        return result

    def _probe(
        self, count: int, moving: bool, context: Context, readable: Mapping[str, Expr]
    ) -> tuple[list[Expr], set[Var]]:
        """Return the formulas of one step, of variables that nothing else has, and these variables."""
        words = [f"desired.{w}" for w in ("displacement", "velocity")]
        words += [f"measured.{w}" for w in ("force", "displacement", "velocity")]
        x, v, *readings = ([Var(f"{word}{i}") for i in indexed("", count)] for word in words)
        measured = [Measured(*row) for row in zip(*readings, strict=True)]
        own = {n: Var(p.name if isinstance(p, Var) else n) for n, p in readable.items()}
        here = replace(context, count=Var("count"))
        blocks = self._applied(x, v if moving else None, measured, here, own)
        known = {here.count, *x, *v, *(r for row in readings for r in row), *own.values()}
        for block in blocks:
            known |= {*block.states, *(target for step in block.steps for target, _ in step.defines)}
        return _formulas(blocks), known

    def _applied(
        self,
        desired: Sequence[Expr],
        velocities: Sequence[Expr] | None,
        measured: Sequence[Measured],
        context: Context,
        readable: Mapping[str, Expr],
    ) -> list[Applied]:
        """Trace one step; the first of the results holds its statements, one for each command."""
        name, kind = context.name, type(self).__name__
        traced, variables = entries(f"{name}.", self.initial_states())
        law = self.running(
            {n: Traced(p) for n, p in readable.items()},
            traced,
            period=context.period,
            time=Traced(Op("mul", (context.count, Const(context.period)))),
        )
        position = self._vector(desired)
        demand = _Position(position) if velocities is None else Desired(position, self._vector(velocities))
        words = ("displacement", "velocity", "force")
        reading = Measured(**{w: self._vector([getattr(m, w) for m in measured]) for w in words})
        result = called(law.step, f"{kind}.step", demand, reading)
        if self.coupled:
            result = array_of(result)
            if result.shape != (len(desired),):
                raise ModelError(
                    f"{kind}.step: expected {len(desired)} commands; found the shape {result.shape}"
                )
        else:
            result = one_number(result, f"{kind}.step")
        commands = formulas(result, f"{kind}.step")
        pairs = [
            (variable, new)
            for state, known in variables.items()
            for (variable, _), new in zip(
                known, formulas(getattr(law, state), f"{kind}: the state '{state}'"), strict=True
            )
            if new is not variable
        ]
        steps, values = named_parts([*commands, *(new for _, new in pairs)], f"{name}.step")
        indices = [f"[{i}]" for i in range(len(commands))] if self.coupled else [""]
        targets = [Var(f"{name}.step.command{i}") for i in indices]
        rest = zip([variable for variable, _ in pairs], values[len(commands) :], strict=True)
        first = Applied(
            [
                *steps,
                *(Assign(t, v) for t, v in zip(targets, values, strict=False)),
                *([Update(tuple(rest))] if pairs else []),
            ],
            targets[0],
            {variable: x for known in variables.values() for variable, x in known},
            channels=self._channels(variables, len(desired)),
            adapted=tuple(
                v for n in self._named(self.adapted, "adapted", variables) for v, _ in variables[n]
            ),
        )
        return [first, *(Applied([], t) for t in targets[1:])]

    def _vector(self, values: Sequence[Expr]) -> Value:
        if not self.coupled:
            return Traced(values[0])
        return array_of([Traced(v) for v in values])

    def _named(
        self, names: Sequence[str] | Mapping[str, str], word: str, known: Mapping[str, object]
    ) -> Sequence[str]:
        for n in names:
            if n not in known:
                raise ModelError(f"{type(self).__name__}.{word}: {unknown_name('state', n, known)}")
        return list(names)

    def _channels(
        self, variables: Mapping[str, Sequence[tuple[Var, float]]], count: int
    ) -> tuple[Channel, ...]:
        """Return what is recorded; a coupled state of one entry for each command is at their interfaces."""
        units = {**dict.fromkeys(self.adapted, ""), **self.record}
        return tuple(
            Channel.of(
                v.name,
                v,
                Quantity(n, units[n]),
                Role.ESTIMATE if n in self.adapted else Role.STATE,
                i if self.coupled and len(variables[n]) == count else None,
            )
            for n in self._named(units, "record", variables)
            for i, (v, _) in enumerate(variables[n])
        )


def _formulas(blocks: Sequence[Applied]) -> list[Expr]:
    """Return all expressions that some blocks compute."""
    return [e for block in blocks for step in block.steps for _, e in step.defines]


@dataclass(frozen=True)
class PythonControl(Compensator):
    """Any Python function as a controller: it may use ``if``, NumPy, a neural network, a file.

    bondloop knows nothing of it but what it returns. So it can be rehearsed, in Python; it cannot be written
    as C, run in real time or repeated from a run file, and the check cannot linearise its loop and therefore
    never passes it. What is meant for a rig is written as a `ControlLaw`. A function given to a test in place
    of a controller is made one of these.

    Parameters
    ----------
    function
        ``function(desired, measured, time)`` returns the command: called once at every sample, with numbers
        (`Desired`, `Measured`, the time in s). Of several transfer systems these are arrays, and it returns
        as many commands. If it keeps something from sample to sample it must have a method ``reset``, which
        is called at the first sample of every run.

    Examples
    --------
    >>> def bang(desired, measured, time):
    ...     return 1.0 if desired.displacement > measured.displacement else -1.0
    >>> PythonControl(bang).describe()["controller"]
    'PythonControl'
    """

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(f"PythonControl: expected a function; found {self.function!r:.60}")
        try:
            inspect.signature(self.function).bind(None, None, None)
        except TypeError as error:
            raise InputError(
                f"PythonControl: {self.opaque} must take three arguments, (desired, measured, time); {error}"
            ) from None
        except ValueError:  # of some built-in functions nothing is known
            pass

    @property
    def opaque(self) -> str:
        """Module and name of the function, or of the class of what is called."""
        named = self.function if hasattr(self.function, "__qualname__") else type(self.function)
        module = getattr(named, "__module__", None)
        known = "" if module in (None, "__main__") else f"{module}."
        return f"{known}{named.__qualname__}"

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:  # noqa: ARG002
        """Refuse: without a test there is nobody to call it."""
        raise ModelError(f"{self.opaque} is a Python function; it can be called in hybrid tests only")

    def commands(
        self,
        design: Design,
        values: Mapping[Var, Expr],
        measured: Sequence[Measured],
        contexts: Sequence[Context],
    ) -> list[Applied]:
        """Return the statements that call it, one for each command."""
        count, table = len(design.commands), dict(values)
        commands = lru_cache(maxsize=1)(partial(self._called, count))  # once a sample, however many are read
        context = contexts[0]
        arguments: list[Expr] = [context.count, Op("mul", (context.count, Const(context.period)))]
        for exprs in (design.commands, design.desired_velocities):
            arguments += [substitute(e, table) for e in exprs]
        for word in ("force", "displacement", "velocity"):
            arguments += [getattr(m, word) for m in measured]
        applied = []
        for i, name in enumerate(contexts):

            def command(*arguments: float, index: int = i) -> float:
                return commands(*arguments)[index]

            command.__qualname__ = self.opaque
            target = Var(f"{name.name}.command")
            call = Call(f"python_command_{i}", command, tuple(arguments))
            applied.append(Applied([Assign(target, call)], target))
        return applied

    def _called(self, n: int, k: float, time: float, *values: float) -> list[float]:
        """Return the commands of a sample, checked."""
        function = self.function
        if k == 0 and hasattr(function, "reset"):
            function.reset()
        x: list[Any] = [values[i * n : (i + 1) * n] for i in range(5)]
        x = [v[0] if n == 1 else np.array(v) for v in x]
        result = function(Desired(*x[:2]), Measured(*x[2:]), time)
        try:
            commands = [
                float(c) for c in ([result] if n == 1 else result) if not (isinstance(c, str) or is_truth(c))
            ]
        except (TypeError, ValueError):
            commands = []
        if len(commands) != n:
            wanted = "a number, the command" if n == 1 else f"{n} numbers, the commands"
            raise InputError(f"{self.opaque}: expected {wanted}; found {result!r:.60} at t = {time:.6g} s")
        return commands


def as_controller(value: Controller | Callable[..., Any]) -> Controller:
    """Return a function as a controller that calls it; a controller, or what is neither, as it is.

    Parameters
    ----------
    value
        What was given for a controller.
    """
    if callable(value) and not isinstance(value, (type, Controller)):
        return PythonControl(value)
    return value  # type: ignore[return-value]  # a class is refused by whoever needs one of its values
