"""Signals in a tick."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.ir import Assign, Const, Expr, Var

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import Step
    from bondloop.signals.base import Signal


class Signals:
    """Excitations as expressions of time, or as tabulated inputs of the tick.

    Parameters
    ----------
    time, period
        Of the tick.
    scale
        A parameter by which excitations are multiplied; None for none.

    Attributes
    ----------
    steps
        Statements that compute the signals.
    tables
        By name, the signals without a closed form: with the inputs for their value now and at the next step.
    made
        The variables that `steps` compute, by name of the signal and fraction of the step.
    """

    def __init__(self, time: Var, period: float, scale: Var | None = None) -> None:
        self.time, self.period, self.scale = time, period, scale
        self.steps: list[Step] = []
        self.tables: dict[str, tuple[Signal, Var, Var]] = {}
        self.made: dict[tuple[str, float], Var] = {}

    @property
    def inputs(self) -> tuple[Var, ...]:
        """Inputs of the tick that are read from tables: of each signal its value now and at the next."""
        return tuple(v for _, now, after in self.tables.values() for v in (now, after))

    def at(self, name: str, signal: Any, fraction: float, *, steady: bool = False) -> Expr:
        """Value of a signal at a fraction of the step.

        Parameters
        ----------
        name, signal
            The signal, and what its variables are called.
        fraction
            Of the step: 0 its beginning, 1 its end.
        steady
            Whether it stays as it is when excitations are scaled: a weight, a schedule.
        """
        scale = None if steady else self.scale
        key = (name, fraction)
        if key in self.made:
            return self.made[key]
        when: Expr = self.time if fraction == 0 else self.time + Const(fraction * self.period)
        expr = signal.expression(when)
        if expr is None:
            if name not in self.tables:
                self.tables[name] = (signal, Var(f"{name}.now"), Var(f"{name}.next"))
            _, now, after = self.tables[name]
            if scale is None and fraction in (0, 1):
                return now if fraction == 0 else after
            expr = now if fraction == 0 else after if fraction == 1 else now + Const(fraction) * (after - now)
        var = Var(name if fraction == 0 else f"{name}@{fraction:g}")
        self.steps.append(Assign(var, expr if scale is None else scale * expr))
        self.made[key] = var
        return var

    def within(self, name: str, signal: Signal, passed: Expr) -> Expr:
        """Value of a signal when a part of the step has passed that is itself computed; linear in a table.

        Parameters
        ----------
        name, signal
            As of `at`.
        passed
            The part, 0 to 1.
        """
        value: Expr | None = signal.expression(self.time + passed * Const(self.period))
        if value is None:
            begin, end = self.at(name, signal, 0.0), self.at(name, signal, 1.0)
            return begin + passed * (end - begin)
        return value if self.scale is None else self.scale * value


def tabulated_inputs(signals: Iterable[Signal], steps: int, period: float) -> NDArray[np.float64]:
    """Return the tabulated inputs of a tick: a row per step, each signal's value now and at the next step.

    >>> from bondloop.signals import Sine
    >>> tabulated_inputs([Sine(1, frequency=1)], 2, 0.25).round(12).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    times = np.arange(steps + 1) * period
    columns = []
    for signal in signals:
        values = np.asarray(signal.sampled(times), dtype=float)
        columns += [values[:-1], values[1:]]
    return np.column_stack(columns)
