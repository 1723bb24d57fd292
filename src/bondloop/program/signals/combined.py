"""Signals made of signals: sum, multiple, shifted in time, derivative."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.data.described import Parameter, Whole, stated_units, with_si_unit
from bondloop.errors import InputError
from bondloop.program.calculus import derivative
from bondloop.program.expr import Expr, Var, substitute
from bondloop.program.signals.base import Signal
from bondloop.units import is_of_kind, multiplied

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Derivative", "Scaled", "Shifted", "Sum"]


def _check(signal: object, where: str) -> None:
    if not isinstance(signal, Signal):
        raise InputError(f"{where}: expected a signal; found {signal!r:.60}")


@dataclass(frozen=True)
class Sum(Signal):
    """A sum of signals.

    Parameters
    ----------
    terms
        At least one signal.

    Examples
    --------
    >>> from bondloop.program.signals import Constant
    >>> (Constant(1) + Constant(2))(0.0)
    3.0
    """

    terms: tuple[Signal, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", tuple(self.terms))
        if not self.terms:
            raise InputError("Sum: expected at least one signal")
        for term in self.terms:
            _check(term, "Sum(terms)")

    @property
    def unit(self) -> str:
        """That of the first term that has one."""
        units = [term.unit for term in self.terms if term.unit]
        for unit in units[1:]:
            if not is_of_kind(f"1 {unit}", units[0]):
                raise InputError(f"a sum of signals in {units[0]} and in {unit}, two different things")
        return units[0] if units else ""

    @property
    def duration(self) -> float:
        """The longest of its terms' durations."""
        return max(term.duration for term in self.terms)

    @property
    def cycle(self) -> float:
        """The slowest of its terms' cycles."""
        return max(term.cycle for term in self.terms)

    @property
    def last_event(self) -> float:
        """The last of its terms' events."""
        return max(term.last_event for term in self.terms)

    @property
    def highest_frequency(self) -> float | None:
        """The highest known one of its terms."""
        return max((f for term in self.terms if (f := term.highest_frequency) is not None), default=None)

    @property
    def smoothness(self) -> float:
        """That of the roughest term."""
        return min(term.smoothness for term in self.terms)

    def expression(self, t: Expr) -> Expr | None:
        """Return the sum of the expressions; None if one term has none."""
        total = self.terms[0].expression(t)
        for term in self.terms[1:]:
            e = term.expression(t)
            if total is None or e is None:
                return None
            total = total + e
        return total

    def derivative(self) -> Signal:
        """Return the sum of the derivatives."""
        return Sum(tuple(term.derivative() for term in self.terms))

    def _values(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(sum(term._values(times) for term in self.terms))

    def _derivatives(self, times: NDArray[np.float64], order: int) -> NDArray[np.float64]:
        return np.asarray(sum(term._derivatives(times, order) for term in self.terms))


@dataclass(frozen=True)
class Scaled(Signal):
    """A multiple of a signal.

    Parameters
    ----------
    of
        The signal.
    factor
        What its values are multiplied by.

    Examples
    --------
    >>> from bondloop.program.signals import Constant
    >>> (-2 * Constant(3))(0.0)
    -6.0
    """

    of: Signal
    factor: Parameter = Parameter()

    def __post_init__(self) -> None:
        _check(self.of, "Scaled(of)")

    @property
    def unit(self) -> str:
        """That of the signal, times the factor's; empty where that is a plain number: a mass, say."""
        factor = stated_units(self).get("factor", "")
        return multiplied(self.of.unit, factor) if self.of.unit and factor else ""

    @property
    def duration(self) -> float:
        """That of the signal."""
        return self.of.duration

    @property
    def cycle(self) -> float:
        """That of the signal."""
        return self.of.cycle

    @property
    def last_event(self) -> float:
        """That of the signal."""
        return self.of.last_event

    @property
    def highest_frequency(self) -> float | None:
        """That of the signal."""
        return self.of.highest_frequency

    @property
    def smoothness(self) -> float:
        """That of the signal."""
        return self.of.smoothness

    def expression(self, t: Expr) -> Expr | None:
        """Return the multiple of the signal's expression."""
        e = self.of.expression(t)
        return None if e is None else self.factor * e

    def derivative(self) -> Signal:
        """Return the multiple of the derivative."""
        return Scaled(self.of.derivative(), with_si_unit(self.factor, stated_units(self).get("factor", "")))

    def _values(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.factor * self.of._values(times)

    def _derivatives(self, times: NDArray[np.float64], order: int) -> NDArray[np.float64]:
        return self.factor * self.of._derivatives(times, order)


@dataclass(frozen=True)
class Shifted(Signal):
    """A signal later in time: value(t) = of(t - by).

    Parameters
    ----------
    of
        The signal.
    by
        How much later, in s.

    Examples
    --------
    >>> from bondloop.program.signals import Ramp
    >>> Ramp(1, start=0, end=1).shifted("500 ms")(1.0)
    0.5
    """

    of: Signal
    by: Parameter = Parameter(unit="s")

    def __post_init__(self) -> None:
        _check(self.of, "Shifted(of)")

    @property
    def unit(self) -> str:
        """That of the signal."""
        return self.of.unit

    @property
    def duration(self) -> float:
        """The signal's duration and the shift."""
        return self.of.duration + self.by

    @property
    def cycle(self) -> float:
        """That of the signal."""
        return self.of.cycle

    @property
    def last_event(self) -> float:
        """The signal's last event, later by the shift."""
        return self.of.last_event + self.by

    @property
    def highest_frequency(self) -> float | None:
        """That of the signal."""
        return self.of.highest_frequency

    @property
    def smoothness(self) -> float:
        """That of the signal."""
        return self.of.smoothness

    def expression(self, t: Expr) -> Expr | None:
        """Return the signal's expression at t - by."""
        return self.of.expression(t - self.by)

    def derivative(self) -> Signal:
        """Return the derivative, later by the same time."""
        return Shifted(self.of.derivative(), self.by)

    def _values(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.of._values(times - self.by)

    def _derivatives(self, times: NDArray[np.float64], order: int) -> NDArray[np.float64]:
        return self.of._derivatives(times - self.by, order)


@dataclass(frozen=True)
class Derivative(Signal):
    """The derivative of a signal, of first or higher order.

    At a kink the value is that of one side. A sweep starts with 2π times its first frequency:

    Parameters
    ----------
    of
        The signal.
    order
        Of the derivative, from 1 to 8.

    Examples
    --------
    >>> from bondloop.program.signals import Sweep
    >>> round(Sweep(1, start=1, stop=3, duration=10).derivative()(0.0), 6)
    6.283185
    """

    of: Signal
    order: Whole = Whole(1, least=1, most=8)

    def __post_init__(self) -> None:
        _check(self.of, "Derivative(of)")
        if self.of.smoothness < self.order:
            raise InputError(
                f"the derivative of order {self.order} of {type(self.of).__name__} holds an impulse, which "
                "cannot be evaluated; use a smoother signal (a Ramp for a Step, a HalfSine for a Pulse, "
                "a cubic Table)"
            )

    @property
    def unit(self) -> str:
        """That of the signal, over seconds to the order."""
        return multiplied(self.of.unit, "s", -self.order) if self.of.unit else ""

    @property
    def duration(self) -> float:
        """That of the signal."""
        return self.of.duration

    @property
    def cycle(self) -> float:
        """That of the signal."""
        return self.of.cycle

    @property
    def last_event(self) -> float:
        """That of the signal."""
        return self.of.last_event

    @property
    def highest_frequency(self) -> float | None:
        """That of the signal."""
        return self.of.highest_frequency

    @property
    def smoothness(self) -> float:
        """What is left of the signal's."""
        return self.of.smoothness - self.order

    def expression(self, t: Expr) -> Expr | None:
        """Return the signal's expression, differentiated."""
        time = Var("t")
        e = self.of.expression(time)
        if e is None:
            return None
        for _ in range(self.order):
            e = derivative(e, time)
        return substitute(e, {time: t})

    def derivative(self) -> Signal:
        """Return the derivative of the next order."""
        return Derivative(self.of, self.order + 1)

    def _values(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.of._derivatives(times, self.order)

    def _derivatives(self, times: NDArray[np.float64], order: int) -> NDArray[np.float64]:
        return self.of._derivatives(times, self.order + order)
