"""External forces at fractions of the step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError
from bondloop.program.expr import Const, Expr, Var
from bondloop.program.signals.base import Signal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bondloop.integrate.structural.matrices import Array

__all__ = ["Load"]


class Load:
    """External forces on a structure, by expressions of time or by a table.

    Parameters
    ----------
    load
        None; an array of shape (steps + 1, n); or one entry per degree of freedom: a number, a `Signal` or a
        function of the time, an expression. One degree of freedom needs no list.
    names
        Degrees of freedom.
    period, steps
        Time step in seconds, and how many.
    time
        The variable of the time.

    Attributes
    ----------
    inputs, table
        Inputs of the tick for what has no closed form, and their values, a row per tick; None if there are
        none.
    """

    def __init__(self, load: Any, names: Sequence[str], period: float, steps: int, time: Var) -> None:
        self.period, self.time = period, time
        self.inputs: tuple[Var, ...] = ()
        self.table: Array | None = None
        self._entries: list[Callable[[Expr], Expr] | tuple[Var, Var]] = []
        found: list[Array] = []
        for name, column in zip(names, self._columns(load, len(names), steps), strict=True):
            if callable(column):
                self._entries.append(column)
                continue
            now, after = Var(f"{name}.load"), Var(f"{name}.load@next")
            self.inputs += (now, after)
            self._entries.append((now, after))
            found += [column, np.append(column[1:], column[-1:])]
        if found:
            self.table = np.column_stack(found)

    def at(self, fraction: float) -> list[Expr]:
        """Return the forces at a fraction of the step; tables are interpolated."""
        when = self.time + Const(fraction * self.period) if fraction else self.time
        found: list[Expr] = []
        for entry in self._entries:
            if callable(entry):
                found.append(entry(when))
                continue
            now, after = entry
            ends = {0.0: now, 1.0: after}
            found.append(ends.get(fraction, now + fraction * (after - now)))
        return found

    def _columns(self, load: Any, n: int, steps: int) -> list[Any]:
        """Return, for each degree of freedom, a function of the time or values at the instants."""
        if load is None:
            load = [0.0] * n
        elif isinstance(load, Signal) or np.isscalar(load) or callable(load):
            load = [load]
        if not isinstance(load, np.ndarray) and not any(
            isinstance(e, (list, tuple, np.ndarray)) for e in load
        ):
            if len(load) != n:
                raise InputError(f"load: expected {n} entries, one per degree of freedom; found {len(load)}")
            return [self._column(entry, steps) for entry in load]
        rows = np.asarray(load, dtype=float)
        rows = rows[:, None] if rows.ndim == 1 and n == 1 else rows
        if rows.shape != (steps + 1, n):
            raise InputError(
                f"load: expected an array of shape ({steps + 1}, {n}), a row per instant; found {rows.shape}"
            )
        return list(rows.T)

    def _column(self, entry: Any, steps: int) -> Any:
        if isinstance(entry, Signal):
            closed = entry.expression(self.time) is not None
            return entry.expression if closed else entry.sampled(np.arange(steps + 1) * self.period)
        if callable(entry):
            return entry
        value = float(entry)
        return lambda _: Const(value)
