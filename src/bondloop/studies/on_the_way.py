"""Measures that a test accumulates as it runs: its history need not be kept.

A measure becomes a few states of the tick, so that whatever executes ticks (one by one, in lanes, on a
graphics processor) measures without knowing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.program.expr import Const, Expr, Op, Var, function, select, substitute, variables
from bondloop.program.quantity import Role
from bondloop.program.schedule import Assign
from bondloop.program.tick import Tick, Update

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.compile.batch import BatchResult

__all__ = ["Measure", "Measuring", "measuring", "named_measure"]

Kind = Literal["rms", "mean", "peak", "largest", "smallest", "last", "first"]

KINDS = ("rms", "mean", "peak", "largest", "smallest", "last", "first")

TRIP = ("trip", "trip_time")
"""Whether a test was stopped, by a limit or by its interlock, and when: they are told by how it ended."""


@dataclass(frozen=True)
class Measure:
    """Something to measure of every test.

    Parameters
    ----------
    kind
        ``"rms"``, ``"mean"``, ``"peak"`` (largest magnitude), ``"largest"``, ``"smallest"`` or ``"last"`` of
        the values at all samples; ``"first"`` is the first time in s at which the value is not zero, NaN if
        it never is.
    of
        An expression of channels: `Var` with the name of one.
    over
        What is measured is divided by the same measure of this.

    Examples
    --------
    >>> actual, desired = Var("actual.displacement"), Var("desired.displacement")
    >>> error = Measure("rms", actual - desired, over=desired)
    """

    kind: Kind
    of: Expr
    over: Expr | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(unknown_name("kind of measure", str(self.kind), KINDS))
        for expr in (self.of, self.over):
            if expr is not None and not isinstance(expr, Expr):
                raise InputError(
                    f"Measure: expected an expression of channels, such as Var('force'); found {expr!r}"
                )


def named_measure(name: str, tick: Tick) -> Measure:
    """Return a measure by name: ``error``, or ``peak:CHANNEL`` and the like.

    Parameters
    ----------
    name
        ``error`` is the rms error of the first transfer system over the rms of what it should follow.
    tick
        Of the test.
    """
    kind, colon, channel = name.partition(":")
    if colon and kind in KINDS:
        return Measure(kind, Var(channel))  # type: ignore[arg-type]
    if name == "error":
        desired, actual = (_channel(tick, role) for role in (Role.DESIRED, Role.ACTUAL))
        return Measure("rms", actual - desired, over=desired)
    known = ["error", *TRIP, *(f"{k}:CHANNEL" for k in KINDS)]
    raise InputError(unknown_name("measure", name, known))


def _channel(tick: Tick, role: Role) -> Var:
    for c in tick.channels:
        if (
            c.meaning.role == role
            and c.meaning.interface in (0, None)
            and c.meaning.quantity == "displacement"
        ):
            return Var(c.name)
    raise InputError(f"{tick.name} has no {role} displacement to measure an error of")


@dataclass(frozen=True)
class Measuring:
    """A tick that measures, and how the measures follow from its last states."""

    tick: Tick
    states: tuple[str, ...]
    readers: Mapping[str, Callable[[BatchResult, NDArray[np.float64]], NDArray[np.float64]]]

    def read(self, result: BatchResult, steps: int) -> dict[str, NDArray[np.float64]]:
        """Return the measures of all tests, each up to where it stopped."""
        samples = np.where(result.ends.code != 0, result.ends.tick + 1, steps).astype(float)
        return {name: reader(result, samples) for name, reader in self.readers.items()}


def measuring(tick: Tick, measures: Mapping[str, Measure]) -> Measuring:
    """Return a tick that measures as it runs.

    Parameters
    ----------
    tick
        Of a test.
    measures
        By name.
    """
    channels = {c.name: c.value for c in tick.channels}
    first: dict[Var, Expr] = {}
    states: dict[Var, float] = {}
    pairs: list[tuple[Var, Expr]] = []
    readers: dict[str, Callable[..., NDArray[np.float64]]] = {}

    def of_channels(expr: Expr, name: str) -> Expr:
        for v in variables(expr):
            if v.name not in channels:
                raise InputError(f"the measure '{name}': {unknown_name('channel', v.name, channels)}")
        value = substitute(expr, {v: channels[v.name] for v in variables(expr)})
        # A state in a channel stands for its value at the beginning of the tick.
        for v in variables(value):
            if v in tick.states:
                first.setdefault(v, Var(f"{v.name}.first"))
        return substitute(value, first)

    def accumulate(kind: Kind, expr: Expr, word: str) -> Callable[..., NDArray[np.float64]]:
        state = Var(f"measure.{word}")
        initial, update = _accumulator(kind, state, expr, tick)
        states[state] = initial
        pairs.append((state, update))
        return lambda result, samples: _end(kind, result[state.name], samples)

    for name, measure in measures.items():
        top = accumulate(measure.kind, of_channels(measure.of, name), name)
        if measure.over is None:
            readers[name] = top
            continue
        below = accumulate(measure.kind, of_channels(measure.over, name), f"{name}.over")
        readers[name] = lambda result, samples, a=top, b=below: _ratio(a(result, samples), b(result, samples))
    before = [Assign(copy, v) for v, copy in first.items() if isinstance(copy, Var)]
    steps = (*before, *tick.steps, Update(tuple(pairs)))
    whole = replace(tick, states={**tick.states, **states}, steps=steps)
    return Measuring(whole, tuple(v.name for v in states), readers)


def _accumulator(kind: Kind, state: Var, expr: Expr, tick: Tick) -> tuple[float, Expr]:
    if kind == "rms":
        return 0.0, state + expr * expr
    if kind == "mean":
        return 0.0, state + expr
    if kind == "last":
        return 0.0, expr
    if kind == "peak":
        return 0.0, function("fmax", state, function("fabs", expr))
    if kind == "largest":
        return -np.finfo(float).max, function("fmax", state, expr)
    if kind == "smallest":
        return np.finfo(float).max, function("fmin", state, expr)
    came = Op("and", (state < 0, Op("ne", (expr, Const(0.0)))))
    return -1.0, select(came, tick.time, state)


def _end(kind: Kind, value: NDArray[np.float64], samples: NDArray[np.float64]) -> NDArray[np.float64]:
    if kind == "rms":
        return np.sqrt(value / np.maximum(samples, 1))
    if kind == "mean":
        return value / np.maximum(samples, 1)
    if kind == "first":
        return np.where(value < 0, np.nan, value)
    return value


def _ratio(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b
