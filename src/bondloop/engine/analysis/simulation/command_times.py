"""When the commands of switches change, where time alone decides: known before anything is integrated.

A solver does not see an input that acts on a switch alone, so its steps say nothing of how often to look.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis.simulation.inputs import Sampled
from bondloop.engine.ir import (
    FEWEST_COMMAND_SAMPLES,
    GOLDEN_RATIO,
    MOST_COMMAND_SAMPLES,
    SAMPLES_BETWEEN_CHANGES,
    SIMULTANEOUS_COMMANDS,
    Expr,
    Var,
    evaluator,
    variables,
    without_loops,
)
from bondloop.engine.passes import scheduled
from bondloop.errors import AccuracyWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.analysis.simulation.inputs import Inputs, InputValue
    from bondloop.engine.analysis.simulation.settling import Settling


class CommandTimes:
    """The instants at which commands of switches change.

    Parameters
    ----------
    run
        Tells rules and signals.
    inputs_at
        Start and end, and what the inputs are.
    longest
        Step that the caller asks for, in s; infinite where that is not said.
    """

    def __init__(self, run: Settling, inputs_at: Inputs, longest: float) -> None:
        self._run, self._inputs_at = run, inputs_at
        start, end = inputs_at.span
        self.rules: list[int] = []
        """Places of the rules that time alone decides."""
        self._ahead: list[_Changes] = []
        for place, rule in enumerate(run.rules.rules):
            names = _deciding(run, rule.terms) if rule.commanded else None
            if names is None:
                continue
            self.rules.append(place)
            varying = {n: v for n in names if callable(v := inputs_at.value(n)) or isinstance(v, tuple)}
            if varying:
                command = _Command(run, rule.terms, varying)
                fewest = (
                    FEWEST_COMMAND_SAMPLES
                    if not np.isfinite(longest)
                    else max(FEWEST_COMMAND_SAMPLES, 8 * (end - start) / longest)
                )
                times, signs, seen = command.seen((start, end), int(fewest))
                if not seen:
                    warnings.warn(_unseen(run, rule.path, times, signs), AccuracyWarning, stacklevel=6)
                self._ahead.append(_Changes(command, times, signs))

    def after(self, t: float) -> float:
        """Return when a command next changes after a time, just after it has; infinite where none does."""
        following = [changes.after(t) for changes in self._ahead]
        first = min(following, default=np.inf)
        return max(
            (f for f in following if f - first <= SIMULTANEOUS_COMMANDS * self._run.window), default=np.inf
        )


def _deciding(run: Settling, terms: Sequence[Expr]) -> list[str] | None:
    """Return the names of the inputs that decide some terms; None where something else does, too."""
    system = run.system
    names = dict(zip(system.input_vars, system.inputs, strict=True))
    try:
        statements = without_loops(scheduled(system, terms))
    except KeyError:
        return None
    if statements is None:
        return None
    needed = {v for e in (*terms, *(s.expr for s in statements)) for v in variables(e)}
    needed -= {s.target for s in statements}
    if not needed <= {*names, *system.parameters_by_var}:
        return None
    return [name for v, name in names.items() if v in needed]


class _Command:
    """A command as a sign by time: above its threshold, or below."""

    def __init__(self, run: Settling, terms: Sequence[Expr], varying: Mapping[str, InputValue]) -> None:
        system = run.system
        self._run, self._varying = run, varying
        self._places = [system.inputs.index(name) for name in varying]
        self._constant = [
            0.0 if name in varying else s(0.0) for name, s in zip(system.inputs, run.signals, strict=True)
        ]
        arguments: list[Sequence[Var]] = [system.input_vars, tuple(system.parameters_by_var)]
        self._f = evaluator(scheduled(system, terms), arguments, [terms[0] - terms[1]])
        values = dict(zip(system.parameters_by_var, run.parameters, strict=True))
        is_input = terms[0] in system.input_vars
        threshold = terms[1]
        # Where an input is compared as it is, its threshold.
        self._direct = values.get(threshold) if is_input and isinstance(threshold, Var) else None
        # Between the instants of one interpolated row the command is straight.
        self.straight = is_input and not any(map(callable, varying.values()))

    def sign(self, t: float) -> float:
        """Return 1 above the threshold, -1 below, 0 on it."""
        return float(self._signs([self._run.signals[i](t)] for i in self._places)[0])

    def signs(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the signs at many times."""
        return self._signs(
            self._values(v, i, times) for v, i in zip(self._varying.values(), self._places, strict=True)
        )

    def _values(self, value: InputValue, place: int, times: NDArray[np.float64]) -> Sequence[float]:
        if isinstance(value, tuple):
            return [float(y) for y in np.interp(times, *value)]
        if isinstance(value, Sampled):
            return [float(y) for y in value(times)]
        signal = self._run.signals[place]
        return [signal(t) for t in times.tolist()]

    def _signs(self, columns: Iterable[Sequence[float]]) -> NDArray[np.float64]:
        if self._direct is not None:
            return np.asarray(np.sign(np.array(next(iter(columns))) - self._direct), dtype=float)
        u = list(self._constant)
        results = []
        for row in zip(*columns, strict=True):
            for place, value in zip(self._places, row, strict=True):
                u[place] = value
            results.append(self._f(u, self._run.parameters)[0])
        return np.asarray(np.sign(results), dtype=float)

    def seen(
        self, span: tuple[float, float], fewest: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
        """Return times, the signs there, and whether the command is known by them.

        It is looked at twice as often until no more changes appear, and several looks lie between them.
        """
        start, end = span
        rows = [np.asarray(v[0], dtype=float) for v in self._varying.values() if isinstance(v, tuple)]
        times = np.asarray(np.unique(np.clip(np.concatenate([[start, end], *rows]), start, end)), dtype=float)
        signs = self.signs(times)
        if self.straight:
            return *_decided(times, signs), True
        count, changes = 0, -1
        more = fewest // 2
        while True:
            places = (GOLDEN_RATIO * np.arange(count + 1, count + more + 1)) % 1.0
            fresh = np.asarray(start + (end - start) * places, dtype=float)
            times, signs = np.concatenate([times, fresh]), np.concatenate([signs, self.signs(fresh)])
            order = np.argsort(times, kind="stable")
            times, signs = times[order], signs[order]
            count, more = count + more, count + more
            decided = _decided(times, signs)
            at = np.flatnonzero(np.diff(decided[1]))
            settled = len(at) == changes and (np.diff(at) >= SAMPLES_BETWEEN_CHANGES).all()
            if settled or count >= max(MOST_COMMAND_SAMPLES, fewest):
                return *decided, bool(settled)
            changes = len(at)


def _decided(
    times: NDArray[np.float64], signs: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leave out where a command is on its threshold: there it changes nothing."""
    return times[signs != 0], signs[signs != 0]


class _Changes:
    """The changes of one command, each located when it is asked for."""

    def __init__(self, command: _Command, times: NDArray[np.float64], signs: NDArray[np.float64]) -> None:
        at = np.flatnonzero(np.diff(signs))
        self._sign: Callable[[float], float] = command.sign
        self._between = list(
            zip(times[at].tolist(), times[at + 1].tolist(), signs[at + 1].tolist(), strict=True)
        )
        self._next, self._time = 0, -np.inf

    def after(self, t: float) -> float:
        """Return the first change after a time."""
        while self._time <= t:
            if self._next == len(self._between):
                return np.inf
            low, high, sign = self._between[self._next]
            self._next += 1
            while low < (middle := 0.5 * (low + high)) < high:
                low, high = (low, middle) if self._sign(middle) == sign else (middle, high)
            self._time = high
        return self._time


def _unseen(run: Settling, path: str, times: NDArray[np.float64], signs: NDArray[np.float64]) -> str:
    at = np.flatnonzero(np.diff(signs))
    shortest = min((b - a for a, b in pairwise(times[at].tolist())), default=0.0)
    return (
        f"{run.system.name}: the command of {path} was looked at {len(times)} times and changes within "
        f"{shortest:.3g} s, so changes may be missed; simulate a shorter time, give as max_step the shortest "
        "pulse, or give its input as a pair (times, values)"
    )
