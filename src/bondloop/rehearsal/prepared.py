"""Prepared tests: the tick built and compiled once, run with other numbers; and runs that are repeated."""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import with_progress
from bondloop.engine.codegen import Result, Runner
from bondloop.engine.data import checked_values
from bondloop.engine.ir import Meaning, calls, dump_tick
from bondloop.errors import InputError
from bondloop.rehearsal.rehearsal import DIVERGED, limit_word, refuse_beyond_memory, run_length, steps_of
from bondloop.rehearsal.repeating import difference, repetition_of
from bondloop.rehearsal.run import COMPARISON, Run
from bondloop.rehearsal.tunables import checked_sets
from bondloop.results.records import Record
from bondloop.rigs import SEED
from bondloop.safety import CAUSE, cause_words
from bondloop.signals import tabulated_inputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import Tick
    from bondloop.hybrid import Rehearsable
    from bondloop.rehearsal.against_reference import Reference


class PreparedTest:
    """A test whose tick is built and compiled: from run to run only numbers change.

    Parameters
    ----------
    test
        The test, or the simulation.
    backend
        As of ``test.run``.
    reference
        Computes the exact reference of a run from the numbers changed and the seconds; None where such a
        test has none.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_three_mass
    >>> prepared = gawthrop_three_mass.test().prepare()
    >>> runs = [prepared.run({"rig.specimen.m3.I.mass": mass}, seconds=1) for mass in ("0.9 kg", "1.1 kg")]
    >>> bool(abs(runs[0]["force"] - runs[1]["force"]).max() > 0)
    True
    """

    def __init__(
        self,
        test: Rehearsable,
        backend: str = "auto",
        reference: Callable[[Mapping[str, float], float], Reference | str] | None = None,
    ) -> None:
        self.test = test
        self._reference = reference
        self._tick, self._tables, self._remedies = test.tick, test.tables, test.remedies
        self._worked_in = self._tick.worked_in
        self._runner = Runner(self._tick, backend)
        self._about = test.about()
        self._inputs: tuple[int, NDArray[np.float64] | None] | None = None

    def __repr__(self) -> str:
        return f"PreparedTest({self._tick.name}, backend='{self._runner.backend}')"

    def run(
        self,
        values: Mapping[str, float | str] | None = None,
        seconds: float | str | None = None,
        *,
        every: int = 1,
        progress: Callable[[int, int], None] | None = None,
        sets: Mapping[int, Mapping[str, float]] | None = None,
    ) -> Run:
        """Run the test, with other numbers if given. What the controller was designed for stays as it was.

        Parameters
        ----------
        values
            Parameters and first states of the tick by path, ``{"rig.specimen.m3.I.mass": "2 kg"}``: numbers
            in SI or texts with a unit. One that the integrator has worked into its matrices is refused: that
            takes a new tick, ``test.with_values(...)``.
        seconds
            Length of the run, or text, ``"2 min"``; by default that of the test.
        every, progress, sets
            As of ``test.run``.
        """
        length = self.test.length if seconds is None else run_length(seconds)
        tick, tables = self._tick, self._tables
        steps = steps_of(length, tick.period)
        refuse_beyond_memory(steps, len(tables), len(tick.channels), every)
        states, parameters = self._numbers(values or {})
        planned = checked_sets(tick, sets or {}, steps)
        self._runner.reset(states)
        result = _run_with(self._runner, steps, self._tabulated(steps), every, progress, planned, parameters)
        changed = {**states, **parameters}
        seed = int(parameters[SEED]) if SEED in parameters else self.test.seed
        own = {name: value for name, value in parameters.items() if name != SEED}

        def description() -> dict[str, Any]:
            whole = {**self._about, "seconds": length, "every": every}
            if own or states:
                whole["parameters"] = {**whole["parameters"], **own, **states}
            if own:
                whole["values"] = {**whole.get("values", {}), **own}
            if SEED in parameters:
                whole["rig"] = {**whole["rig"], "seed": seed}
            if not calls(tick):  # a Python function is in no file
                repeated = dump_tick(_with_numbers(tick, changed))
                described = {name: signal.describe() for name, signal in tables.items()}
                whole["repeat"] = {"tick": repeated, "steps": steps, "tables": described}
                if planned:
                    whole["repeat"]["sets"] = [[at, numbers] for at, numbers in planned.items()]
            if self._remedies:
                whole["remedies"] = self._remedies
            return whole

        run = _finish(tick, result, self._runner, description, self._remedies, {"seed": seed})
        return run if self._reference is None else run.with_reference(self._exact(changed, length, planned))

    def _exact(
        self, changed: Mapping[str, float], seconds: float, planned: Mapping[int, object]
    ) -> Callable[[], Reference | str]:
        """Return what computes the exact reference of a run."""
        reference = self._reference
        assert reference is not None
        if planned:
            return lambda: "parameters were set while the test ran"
        return partial(reference, changed, seconds)

    def _tabulated(self, steps: int) -> NDArray[np.float64] | None:
        """Return the rows of the tabulated signals, which are the same in every run of a length."""
        if self._inputs is None or self._inputs[0] != steps:
            rows = tabulated_inputs(self._tables.values(), steps, self._tick.period) if self._tables else None
            self._inputs = steps, rows
        return self._inputs[1]

    def _numbers(self, values: Mapping[str, float | str]) -> tuple[dict[str, float], dict[str, float]]:
        """Return first states and parameters in SI by name; what the tick does not have is refused."""
        tick = self._tick
        for name in values:
            if name in self._worked_in:
                raise InputError(
                    f"the integrator has worked '{name}' into its matrices, and a prepared test keeps them; "
                    "take test.with_values(...), which makes them anew"
                )
        checked = checked_values([*tick.parameters, *tick.states], values, tick.name)
        states, parameters = (
            {v.name: x for v, x in checked.items() if v in of} for of in (tick.states, tick.parameters)
        )
        return states, parameters


def _with_numbers(tick: Tick, numbers: Mapping[str, float]) -> Tick:
    """Return a tick with other values of parameters and first states, by name."""
    parameters, states = (
        {v: float(numbers.get(v.name, x)) for v, x in of.items()} for of in (tick.parameters, tick.states)
    )
    return replace(tick, parameters=parameters, states=states) if numbers else tick


@with_progress("repeating the run")
def rerun(path: str | Path, *, backend: str = "auto", isolated: bool = False) -> Run:
    """Repeat a saved run exactly, from its file alone.

    Of a run in real time, what the loop computed is repeated from what it measured.

    The attribute ``difference`` of its record says how it differs from the file; it is empty where the two
    are equal to the last bit.

    Parameters
    ----------
    path
        A run file.
    backend
        As for ``test.run``.
    isolated
        Whether another process reads the file, as is wise with a stranger's: see `Record.load`.
    """
    old = Record.load(path, isolated=isolated)
    again = repetition_of(old.description, str(path)).of_what_was_measured(old, str(path))
    tick = again.tick
    known = any(c.meaning != Meaning() for c in tick.channels)
    runner = Runner(tick, backend)
    result = _run_with(runner, again.steps, again.inputs(old), again.every, None, again.sets)
    run = _finish(
        tick,
        result,
        runner,
        dict(old.description),
        old.description.get("remedies", {}),
        {"repeats": str(path), "seed": old.attributes.get("seed")},
        None if known else old.meanings,  # a tick of an older file says nothing of its channels
    )
    differs = difference(old, run.record)
    # The check was the run's; what was found against the reference holds for a repetition that is equal.
    told = ("check", "check_passed") if differs else ("check", "check_passed", COMPARISON)
    kept = {word: old.attributes[word] for word in told if word in old.attributes}
    attributes = {**run.record.attributes, **kept, "difference": differs}
    return Run(replace(run.record, attributes=attributes))


def _run_with(
    runner: Runner,
    steps: int,
    inputs: NDArray[np.float64] | None,
    every: int,
    progress: Callable[[int, int], None] | None,
    sets: Mapping[int, Mapping[str, float]],
    parameters: Mapping[str, float] | None = None,
) -> Result:
    """Run a tick with values of parameters by name, and with others from some ticks on."""
    values = dict(parameters or {})
    if not sets:
        return runner.run(steps, inputs, values, every, progress)
    parts: list[Result] = []
    for begin, end in pairwise(sorted({0, *sets, steps})):
        values.update(sets.get(begin, {}))

        def told(done: int, _: int, begin: int = begin) -> None:
            if progress is not None:
                progress(begin + done, steps)

        rows = None if inputs is None else inputs[begin:end]
        parts.append(runner.run(end - begin, rows, values, every, told))
        if not parts[-1].finished:
            break
    return _joined(parts)


def _joined(parts: Sequence[Result]) -> Result:
    """Return the parts of a run, one after the other, as one; how it ended says the last."""
    return replace(
        parts[-1],
        time=np.concatenate([part.time for part in parts]),
        channels={n: np.concatenate([part.channels[n] for part in parts]) for n in parts[0].channels},
        steps=sum(part.steps for part in parts),
        wall_seconds=sum(part.wall_seconds for part in parts),
    )


def _finish(
    tick: Tick,
    result: Result,
    runner: Runner,
    description: dict[str, Any] | Callable[[], dict[str, Any]],
    remedies: Mapping[str, str],
    extra: Mapping[str, object],
    meanings: Mapping[str, Meaning] | None = None,
) -> Run:
    attributes = {
        "status": "completed" if result.finished else "stopped",
        "message": why_stopped(tick, result, remedies),
        "backend": runner.backend,
        "backend_message": runner.message,
        "wall_seconds": result.wall_seconds,
        "steps": result.steps,
        **_first_cause(result),
        **origin(),
        **extra,
    }
    units = {c.name: c.unit for c in tick.channels}
    own = {c.name: c.meaning for c in tick.channels} if meanings is None else meanings
    return Run(Record(result.time, result.channels, units, description, attributes, own))


def origin() -> dict[str, str | dict[str, str]]:
    """Return what a run file says of when it was made, and with which software."""
    import bondloop

    return {
        "versions": {
            "bondloop": bondloop.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }


def _first_cause(result: Result) -> dict[str, str]:
    """Return the attribute that tells in words why the interlock tripped first, if there is one."""
    if CAUSE not in result.channels:
        return {}
    causes = result.channels[CAUSE]
    return {"cause_words": cause_words(causes[np.argmax(causes != 0)] if len(causes) else 0)}


def why_stopped(tick: Tick, result: Result, remedies: Mapping[str, str]) -> str:
    """Say when and why a run stopped: what was found, what was allowed, what to do."""
    channel = result.stopped_channel
    if result.status == "loop not converged":
        return (
            f"the run {result.message}; give a higher rate, or more iterations (of the integrator, such as "
            "NewmarkAverage(iterations=30)), and check the laws around the loop for jumps"
        )
    if result.status == "not a number":
        in_python = calls(tick, in_python=True)
        foreign = {f.__qualname__: 0 for label, f in calls(tick).items() if label not in in_python}
        if foreign:  # its C says why where it can: in no return value
            return f"{result.message}; {', '.join(foreign)} is a part of it, and says why on standard error"
    if result.finished or channel is None or result.status != "beyond bounds":
        return result.message
    bound = tick.bounds.get(channel, float("inf"))
    values = result.channels[channel]
    recorded = next(c for c in tick.channels if c.name == channel)
    unit = recorded.unit
    when = f"at t = {result.stopped_at:.4g} s"
    if bound >= DIVERGED:
        size = f"{bound:.0e} {unit}".rstrip()
        return f"the test diverged: '{channel}' grew beyond {size} {when}; check() tells why"
    # With `every` above 1 the sample that crossed the limit may not have been recorded.
    crossed = len(values) > 0 and abs(values[-1]) > bound
    found = f"reached {shown(values[-1], unit)}" if crossed else "left its limit"
    word = limit_word(recorded.meaning)
    raised = f", or raise limits.{word}" if word else " or raise its limit"
    remedy = remedies.get(channel, f"lower the excitation, improve the controller{raised}")
    return f"'{channel}' {found} {when}; limit ±{shown(bound, unit)}; {remedy}"


def shown(value: float, unit: str) -> str:
    """Write a value with its unit, in mm where metres would be small.

    >>> shown(0.0251, "m"), shown(512.3, "N"), shown(20_000.0, "N")
    ('25.1 mm', '512.3 N', '20000 N')
    """
    if unit in ("m", "m/s") and abs(value) < 1:
        value, unit = 1e3 * value, f"m{unit}"
    return f"{float(f'{value:.4g}'):.6g} {unit}".rstrip()
