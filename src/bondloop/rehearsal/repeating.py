"""What a run file says of how to repeat its run: believed only as far as the work it asks for is bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.containers import LARGEST
from bondloop.engine.ir import load_tick
from bondloop.errors import BondloopError, InputError
from bondloop.rehearsal.tunables import checked_sets
from bondloop.signals import signal_from, tabulated_inputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import Step, Tick
    from bondloop.results.records import Record
    from bondloop.signals import Signal


def difference(first: Record, again: Record) -> str:
    """Say how a record differs from another; nothing where they are equal to the last bit.

    Parameters
    ----------
    first, again
        The record of a file, and that of its repetition.

    Examples
    --------
    >>> from bondloop.results import Record
    >>> time = np.arange(3.0)
    >>> one = Record(time, {"x": time}, {"x": "m"})
    >>> difference(one, Record(time, {"x": time.copy()}, {"x": "m"}))
    ''
    >>> difference(one, Record(time, {"x": [0.0, 1.0, 2.5]}, {"x": "m"}))
    "'x' differs from t = 2 s on, by up to 0.5 m"
    """
    if list(first) != list(again):
        missing = [name for name in first if name not in again] or [n for n in again if n not in first]
        return f"the channels are others{f': {missing[0]!r} is in one alone' if missing else ''}"
    if len(first.time) != len(again.time):
        return f"it has {len(again.time)} samples in place of {len(first.time)}"
    if not _same(first.time, again.time).all():
        return "its samples stand at other times"
    places = {name: np.flatnonzero(~_same(first[name], again[name])) for name in first}
    differing = {name: at for name, at in places.items() if len(at)}
    if not differing:
        return ""
    name = min(differing, key=lambda n: int(differing[n][0]))
    a, b = first[name], again[name]
    finite = np.isfinite(a) & np.isfinite(b)
    most = f", by up to {abs(a - b)[finite].max():.3g} {first.units[name]}".rstrip() if finite.any() else ""
    others = f" (and {len(differing) - 1} more)" if len(differing) > 1 else ""
    return f"'{name}'{others} differs from t = {first.time[differing[name][0]]:.6g} s on{most}"


def _same(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether numbers are the same, the sign of zero too; NaN is NaN."""
    a, b = np.ascontiguousarray(a, dtype=float), np.ascontiguousarray(b, dtype=float)
    result: NDArray[np.bool_] = (a.view(np.uint64) == b.view(np.uint64)) | (np.isnan(a) & np.isnan(b))
    return result


MOST_A_TICK = 2_000_000
"""Statements that one tick of a file may execute: a few milliseconds of work."""


@dataclass(frozen=True)
class Repetition:
    """How to repeat a run.

    Attributes
    ----------
    tick, steps, every, signals
        What is executed, how often, which ticks are recorded, and the tabulated signals by name.
    sets
        Values of parameters by the first tick for which they hold.
    measured
        Of a run in real time: what came from the rig, inputs of the tick and channels of the file by name.
    """

    tick: Tick
    steps: int
    every: int
    signals: dict[str, Signal]
    sets: dict[int, dict[str, float]] = field(default_factory=dict)
    measured: tuple[str, ...] = ()

    def inputs(self, old: Record) -> NDArray[np.float64] | None:
        """Return the inputs of every tick: tabulated signals, then what was measured, as the file has it.

        Parameters
        ----------
        old
            The record of the file.
        """
        tables = (
            tabulated_inputs(self.signals.values(), self.steps, self.tick.period) if self.signals else None
        )
        if not self.measured:
            return tables
        seen = np.column_stack([old[name][: self.steps] for name in self.measured])
        return seen if tables is None else np.hstack([tables[: self.steps], seen])

    def of_what_was_measured(self, old: Record, path: str) -> Repetition:
        """Return how to repeat a run in real time, as far as it went; refuse one with ticks missing."""
        if not self.measured:
            return self
        missing = [name for name in self.measured if name not in old]
        if missing:
            raise InputError(f"{path}: the run cannot be repeated: {missing[0]!r} was not recorded")
        wanted = self.tick.period * np.arange(len(old.time))
        if not np.allclose(old.time, wanted, rtol=0, atol=0.5 * self.tick.period):
            first = int(np.argmax(np.abs(old.time - wanted) > 0.5 * self.tick.period))
            raise InputError(
                f"{path}: the run cannot be repeated: the tick at t = {wanted[first]:.6g} s was not recorded"
            )
        return replace(self, steps=len(old.time))


def repetition_of(description: Mapping[str, object], path: str) -> Repetition:
    """Return how to repeat the run of a file.

    Parameters
    ----------
    description
        The test's description in the file.
    path
        The file, for errors.

    Raises
    ------
    InputError
        If the file does not say it, or asks for more work or memory than a test could.
    """
    repeat = description.get("repeat")
    if not isinstance(repeat, dict) or not {"tick", "steps", "tables"} <= repeat.keys():
        raise InputError(f"{path}: the file does not hold what is needed to repeat the run")
    try:
        tick = load_tick(repeat["tick"])
        steps = _whole(repeat["steps"], "steps", 0)
        every = _whole(description.get("every", 1), "every", 1)
        tables = repeat["tables"]
        if not isinstance(tables, dict):
            raise InputError(f"the signals are {type(tables).__name__}; a table by name was expected")
        signals = {name: _signal(name, d) for name, d in tables.items()}
        measured = repeat.get("measured", [])
        expected = [v.name for v in tick.inputs[2 * len(signals) :]]
        if measured != expected:
            raise InputError(f"{measured!r:.60} was measured, and the tick takes {expected!r:.60}")
        needed = 8 * (2 * len(signals) * steps + (len(tick.channels) + 1) * (steps // every + 1))
        if needed > LARGEST:
            raise InputError(f"{steps:,} ticks would need {needed / 1e9:.3g} GB of memory")
        sets = checked_sets(tick, _sets(repeat.get("sets", [])), steps)
        work = executed(tick.steps)
        if work > MOST_A_TICK:
            raise InputError(
                f"a tick executes {work:.3g} statements; from a file at most {MOST_A_TICK:,} are executed"
            )
    except BondloopError as error:
        raise InputError(f"{path}: the run cannot be repeated: {error}") from error
    return Repetition(tick, steps, every, signals, sets, tuple(measured))


def executed(steps: Sequence[Step]) -> int:
    """Return how many statements are executed, every repetition counted.

    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.statement import Assign
    >>> from bondloop.engine.ir.tick import Repeat
    >>> one = Assign(Var("a"), Var("b"))
    >>> executed([one, Repeat(10, Var("j"), (one, Repeat(10, Var("i"), (one,))))])
    111
    """
    return sum(s.size + s.times * executed(s.inner) for s in steps)


def _whole(value: object, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"'{name}' must be a whole number from {least} up; found {value!r:.60}")
    return value


def _sets(given: Any) -> dict[int, dict[str, float]]:
    good = isinstance(given, list)
    if not good or not all(isinstance(p, list) and len(p) == 2 and isinstance(p[1], dict) for p in given):
        raise InputError(f"'sets' must be a list of ticks with values by name; found {given!r:.60}")
    return {_whole(at, "sets", 0): values for at, values in given}


def _signal(name: str, description: object) -> Signal:
    if not isinstance(description, dict):
        raise InputError(f"the signal '{name:.60}' is {description!r:.60}; a description was expected")
    return signal_from(description)
