"""Measures that a test accumulates as it runs: its history need not be kept.

A measure becomes a few states of the tick, so that whatever executes ticks (one by one, in lanes, on a
graphics processor) measures without knowing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from bondloop.display import brief
from bondloop.errors import InputError, unknown_name
from bondloop.program.expr import Expr, Var, substitute, variables
from bondloop.program.schedule import Assign
from bondloop.program.tick import Tick, Update
from bondloop.safety.channel_names import CAUSE
from bondloop.studies.accumulators import KINDS, OF_TWO, accumulator
from bondloop.studies.stretches import Stretches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.compile.batch import BatchResult

    Reader = Callable[[BatchResult, NDArray[np.float64]], NDArray[np.float64]]

__all__ = ["Measure", "Measuring", "measuring"]

Kind = Literal[
    "rms", "mean", "peak", "largest", "smallest", "last", "first", "growth", "delay", "work", "exchange"
]


@dataclass(frozen=True)
class Measure:
    """Something to measure of every test.

    Parameters
    ----------
    kind
        ``"rms"``, ``"mean"``, ``"peak"`` (largest magnitude), ``"largest"``, ``"smallest"`` or ``"last"`` of
        the values at all samples; ``"first"`` is the first time in s at which the value is not zero, NaN if
        it never is. ``"growth"`` is the rate in 1/s at which the rms about a straight line grows from the
        second to the last quarter of the test, infinite where it stopped. Of two signals, ``"delay"`` is how
        late in s this one follows the other, by a regression on the other and its rate: exact for a sine that
        is late by less than half a period. ``"work"`` is the integral of this one over the other, by the
        trapezoidal rule; ``"exchange"`` is that of its magnitude.
    of
        An expression of channels: `Var` with the name of one.
    over
        What is measured is divided by the same measure of this, or by this measure.
    along
        The other signal of a measure of two.
    during
        Only the first stretch of samples at which this is not zero is measured; all of the test unless given.

    Examples
    --------
    >>> force, actual, desired = Var("force"), Var("actual.displacement"), Var("desired.displacement")
    >>> error = Measure("rms", actual - desired, over=desired)
    >>> late = Measure("delay", actual, along=desired)
    >>> through = Measure("exchange", force, along=desired)
    >>> energy = Measure("work", force, along=actual - desired, over=through)
    """

    kind: Kind
    of: Expr
    over: Expr | Measure | None = None
    along: Expr | None = None
    during: Expr | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(unknown_name("kind of measure", str(self.kind), KINDS))
        exprs = (self.of, self.along, self.during, None if isinstance(self.over, Measure) else self.over)
        for expr in exprs:
            if expr is not None and not isinstance(expr, Expr):
                raise InputError(
                    f"Measure: expected an expression of channels, such as Var('force'); found {expr!r}"
                )
        if (self.kind in OF_TWO) != (self.along is not None):
            wanted = "two signals, of and along" if self.kind in OF_TWO else "one signal, without along"
            raise InputError(f"Measure: {self.kind} is a measure of {wanted}")
        if self.kind == "growth" and self.during is not None:
            raise InputError("Measure: growth is of a whole test, without during")

    @property
    def words(self) -> str:
        """What it is, as ``rms of x over rms of y``."""
        plain = f"{self.kind} of {self.of}"
        plain += f" along {self.along}" if self.along is not None else ""
        plain += f" during {self.during}" if self.during is not None else ""
        return plain if (below := self.below) is None else f"{plain}, over {below.words}"

    @property
    def below(self) -> Measure | None:
        """The measure by which it is divided; None where it is not."""
        if self.over is None or isinstance(self.over, Measure):
            return self.over
        return Measure(self.kind, self.over, along=self.along, during=self.during)


@dataclass(frozen=True)
class Measuring:
    """A tick that measures, and how the measures follow from its last states."""

    tick: Tick
    states: tuple[str, ...]
    readers: Mapping[str, Reader]

    def read(self, result: BatchResult, steps: int) -> dict[str, NDArray[np.float64]]:
        """Return the measures of all tests, each up to and including the sample at which it stopped."""
        samples = np.where(result.ends.code != 0, result.ends.tick + 1, steps).astype(float)
        return {name: reader(result, samples) for name, reader in self.readers.items()}


def measuring(tick: Tick, measures: Mapping[str, Measure], steps: int | None = None) -> Measuring:
    """Return a tick that measures as it runs.

    Parameters
    ----------
    tick
        Of a test.
    measures
        By name.
    steps
        Ticks of the test, which growth needs.
    """
    channels = {c.name: c.value for c in tick.channels}
    first: dict[Var, Expr] = {}
    states: dict[Var, float] = {}
    pairs: list[tuple[Var, Expr]] = []
    readers: dict[str, Reader] = {}

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

    stretches = Stretches(tick.count, of_channels(Var(CAUSE), CAUSE) if CAUSE in channels else None)

    def accumulate(measure: Measure, name: str, word: str) -> Reader:
        along = None if measure.along is None else of_channels(measure.along, name)
        stretch = stretches.of(None if measure.during is None else of_channels(measure.during, name))
        of = of_channels(measure.of, name)
        one = accumulator(measure.kind, word, of, along, tick, steps, stretch.before)
        states.update(one.initial)
        pairs.extend((state, stretch.only(state, update)) for state, update in one.updates)
        names = [v.name for v in one.initial]

        def top(result: BatchResult, samples: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(one.end([result[n] for n in names], stretch.samples(result, samples)))

        if (under := measure.below) is None:
            return top
        below = accumulate(under, name, f"{word}.over")
        return lambda result, samples: _ratio(top(result, samples), below(result, samples))

    for name, measure in measures.items():
        readers[name] = accumulate(measure, name, name)
    states.update(dict.fromkeys((v for v, _ in stretches.updates), 0.0))
    pairs.extend(stretches.updates)
    before = [Assign(copy, v) for v, copy in first.items() if isinstance(copy, Var)]
    whole = replace(
        tick, states={**tick.states, **states}, steps=(*before, *tick.steps, Update(tuple(pairs)))
    )
    return Measuring(whole, tuple(v.name for v in states), readers)


def _ratio(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b
