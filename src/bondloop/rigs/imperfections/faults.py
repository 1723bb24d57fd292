"""Faults that begin at a given time: what an interlock is rehearsed with.

They stand among the imperfections of a sensor or of a drive; until their time comes the value stays as it is.
"""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass

from bondloop.engine.data import Parameter, number
from bondloop.engine.ir import Assign, Const, Expr, Op, Update, Var, select
from bondloop.engine.passes import Applied, Context, named
from bondloop.errors import InputError
from bondloop.rigs.imperfections.base import Imperfection


class _Fault(Imperfection):
    """Base of the faults: when they begin and end."""

    at: Parameter
    until: float | str | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.until is None:
            return
        name = type(self).__name__
        until = number(self.until, f"{name}(until)", "s")
        if until <= self.at:
            raise InputError(
                f"{name}(until): expected a time after its beginning at {self.at:g} s; found {until:g} s"
            )
        object.__setattr__(self, "until", until)

    @property
    def last_event(self) -> float:
        """When it comes, or goes again."""
        return float(self.at if self.until is None else self.until)

    def _present(self, context: Context) -> Expr:
        """Return whether the fault is there; samples are counted, so that no rounding of the time matters."""
        began = context.count >= _sample(self.at, context)
        if self.until is None:
            return began
        assert isinstance(self.until, float)
        return Op("and", (began, context.count < _sample(self.until, context)))


def _sample(time: float, context: Context) -> int:
    return math.ceil(time / context.period - 1e-9)


@dataclass(frozen=True)
class NotANumber(_Fault):
    """The value is NaN: a converter that fails, a division by zero in someone's driver.

    Parameters
    ----------
    at
        Seconds: the first faulty sample is the first one not before this time.
    until
        Seconds: the first good sample again is the first one not before this time; None for never.

    Examples
    --------
    >>> NotANumber("1.5 s", until=2).until
    2.0
    """

    at: Parameter = Parameter(least=0, unit="s")
    until: float | str | None = None

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return NaN while the fault is there."""
        return Applied([], select(self._present(context), Const(math.nan), value))


@dataclass(frozen=True)
class Infinite(_Fault):
    """The value is infinite.

    Parameters
    ----------
    at
        Seconds: the first faulty sample is the first one not before this time.
    until
        Seconds: the first good sample again is the first one not before this time; None for never.

    Examples
    --------
    >>> from bondloop.engine.ir import evaluate
    >>> x, n = Var("x"), Var("n")
    >>> shown = Infinite(at="1.5 s", until="2 s").apply(x, Context("rig.force", n, period=0.5)).value
    >>> [float(evaluate(shown, {x: 7.0, n: sample})) for sample in (2, 3, 4)]
    [7.0, inf, 7.0]
    """

    at: Parameter = Parameter(least=0, unit="s")
    until: float | str | None = None

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return infinity while the fault is there."""
        return Applied([], select(self._present(context), Const(math.inf), value))


@dataclass(frozen=True)
class Frozen(_Fault):
    """The value stays at what the sample before the fault was: a lost link, a sensor that hangs.

    Present from the first sample on, it stays at that one.

    Parameters
    ----------
    at
        Seconds: the first faulty sample is the first one not before this time.
    until
        Seconds: the first good sample again is the first one not before this time; None for never.
    """

    at: Parameter = Parameter(least=0, unit="s")
    until: float | str | None = None

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the held value while the fault is there."""
        steps, u = named(value, context, "moving")
        held, y = Var(f"{context.name}.held"), Var(f"{context.name}.frozen")
        holds = Op("and", (self._present(context), context.count > 0))
        return Applied([*steps, Assign(y, select(holds, held, u)), Update(((held, y),))], y, {held: 0.0})


@dataclass(frozen=True)
class Jump(_Fault):
    """The value is off by a constant: a slipped mounting, a drifted zero, a broken wire.

    Parameters
    ----------
    at
        Seconds: the first faulty sample is the first one not before this time.
    size
        By how much, in the unit of the value.
    until
        Seconds: the first good sample again is the first one not before this time; None for never.
    """

    at: Parameter = Parameter(least=0, unit="s")
    size: Parameter = Parameter()
    until: float | str | None = None

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return value + size while the fault is there."""
        return Applied([], value + select(self._present(context), self.size, 0.0))
