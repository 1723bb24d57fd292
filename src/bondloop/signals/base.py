"""Signals: what all have in common, the constant, and sums, multiples and shifts of signals."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import Described, Parameter, Whole, common_unit, number, stated_units, with_si_unit
from bondloop.engine.ir import Const, Expr, Op, Var, apply, derivative, substitute
from bondloop.errors import InputError
from bondloop.units import is_of_kind, multiplied

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "exp": np.exp, "log": np.log,
    "sqrt": np.sqrt, "cbrt": np.cbrt, "fabs": np.abs, "floor": np.floor, "sign": np.sign, "fmin": np.minimum,
    "fmax": np.maximum, "pow": np.power, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal, "and": np.logical_and, "or": np.logical_or,
    "not": np.logical_not, "select": np.where,
}  # fmt: skip


def evaluate_array(expr: Expr, values: Mapping[Var, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Evaluate an expression for arrays of values of its variables.

    >>> x = Var("x")
    >>> evaluate_array(2 * x + 1, {x: np.array([1.0, 2.0])})
    array([3., 5.])
    """

    def walk(e: Expr) -> Any:
        if isinstance(e, Var):
            return values[e]
        if isinstance(e, Const):
            return e.value
        assert isinstance(e, Op)
        args = [walk(a) for a in e.args]
        return _FUNCTIONS[e.name](*args) if e.name in _FUNCTIONS else apply(e.name, args)

    with np.errstate(all="ignore"):  # both branches of a select are evaluated; the one not taken may overflow
        result = walk(expr)
    shape = np.broadcast_shapes(*(v.shape for v in values.values()))
    return np.array(np.broadcast_to(np.asarray(result, dtype=float), shape))


class Signal(Described, family="signal"):
    """A function of time.

    A signal with a closed form defines `expression`; one without (a table, noise) defines `_values` and
    `_derivatives` instead.
    """

    __repr__ = brief

    @property
    def duration(self) -> float:
        """Seconds until it has said what it has to say; infinite where it goes on for ever."""
        return math.inf

    @property
    def unit(self) -> str:
        """The unit in which its values were given; empty where they came as plain numbers, in SI."""
        return common_unit({f"{type(self).__name__}({n})": u for n, u in stated_units(self).items()})

    @property
    def steady_from(self) -> float:
        """Seconds from which on its value does not change any more; infinite where that is not known."""
        return math.inf

    @property
    def last_event(self) -> float:
        """Seconds after which it only goes on as it is, or is at rest: what comes later is nothing new."""
        return self.duration if math.isfinite(self.duration) else 0.0

    @property
    def cycle(self) -> float:
        """Seconds of the slowest cycle in which it repeats itself; 0 where it has none."""
        return 0.0

    @property
    def highest_frequency(self) -> float | None:
        """The highest frequency in it, in Hz, where there is one and it is known."""
        return None

    @property
    def smoothness(self) -> float:
        """How many times it can be differentiated before an impulse appears."""
        return math.inf

    def expression(self, t: Expr) -> Expr | None:  # noqa: ARG002 - the meaning of the base class
        """Return it as an expression of the time ``t``, for generated code; None without a closed form."""
        return None

    @overload
    def __call__(self, t: float) -> float: ...

    @overload
    def __call__(self, t: NDArray[np.floating | np.integer] | list[float]) -> NDArray[np.float64]: ...

    def __call__(self, t: ArrayLike) -> float | NDArray[np.float64]:
        """Return the value at a time, or the values at an array of times."""
        times = np.asarray(t, dtype=float)
        values = self._values(times)
        return float(values) if times.ndim == 0 else values

    def sampled(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return the values at increasing times, refusing steps too long for the signal's frequencies.

        >>> from bondloop.signals import Sine
        >>> Sine(1, frequency=1).sampled([0, 0.25, 0.5]).round(12).tolist()
        [0.0, 1.0, 0.0]
        >>> Sine(1, frequency="60 Hz").sampled([0, 0.01, 0.02])
        Traceback (most recent call last):
        ...
        bondloop.errors.InputError: Sine: sampled every 0.01 s, which shows frequencies below 50 Hz; ...
        """
        grid = np.asarray(times, dtype=float)
        name = type(self).__name__
        if grid.ndim != 1:
            raise InputError(f"{name}: expected a list of times; found shape {grid.shape}")
        if not np.all(np.isfinite(grid)):
            raise InputError(f"{name}: the times to sample at have entries that are not finite")
        steps = np.diff(grid)
        if np.any(steps <= 0):
            raise InputError(
                f"{name}: the times to sample at must increase; check entry {steps.argmin() + 1}"
            )
        highest = self.highest_frequency
        if highest is not None and len(steps) and 2 * highest * steps.max() * (1 + 1e-12) >= 1:
            raise InputError(
                f"{name}: sampled every {steps.max():g} s, which shows frequencies below "
                f"{0.5 / steps.max():g} Hz; the signal goes up to {highest:g} Hz; "
                f"sample faster than {2 * highest:g} Hz"
            )
        return self._values(grid)

    def derivative(self) -> Signal:
        """Return the derivative with respect to time; refused where it would be an impulse."""
        return Derivative(self)

    def shifted(self, by: float | str) -> Signal:
        """Return the signal later by some seconds: its value at t is that of this one at t - by."""
        return Shifted(self, number(by, "shifted", "s"))

    def __add__(self, other: Signal | float) -> Signal:
        right = other if isinstance(other, Signal) else Constant(other)
        return Sum((*_terms(self), *_terms(right)))

    def __radd__(self, other: float) -> Signal:
        return Constant(other) + self

    def __sub__(self, other: Signal | float) -> Signal:
        return self + (-other)

    def __rsub__(self, other: float) -> Signal:
        return -self + other

    def __mul__(self, factor: float) -> Signal:

        return Scaled(self, factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Signal:
        return self * (1 / divisor)

    def __neg__(self) -> Signal:

        return Scaled(self, with_si_unit(-1.0, "1"))  # a factor without a unit might be a mass

    def _rate(self, value: float) -> float | str:
        """Return a slope of its values in their unit a second; a plain number where they have none."""
        return with_si_unit(value, multiplied(self.unit, "s", -1) if self.unit else "")

    def _values(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        t = Var("t")
        expression = self.expression(t)
        assert expression is not None, "a signal without a closed form defines _values"
        return evaluate_array(expression, {t: times})

    def _derivatives(self, times: NDArray[np.float64], order: int) -> NDArray[np.float64]:
        """Values of the derivative of some order."""
        t = Var("t")
        expression = self.expression(t)
        assert expression is not None, "a signal without a closed form defines _derivatives"
        for _ in range(order):
            expression = derivative(expression, t)
        return evaluate_array(expression, {t: times})


def _terms(signal: Signal) -> tuple[Signal, ...]:

    return signal.terms if isinstance(signal, Sum) else (signal,)


def signal_from(description: Mapping[str, object]) -> Signal:
    """Return the signal of a description, the inverse of ``signal.describe()``.

    Parameters
    ----------
    description
        As ``signal.describe()`` returns it.

    Examples
    --------
    >>> signal_from({"signal": "Sine", "amplitude": "5 mm", "frequency": 2})
    Sine(amplitude=0.005, frequency=2.0, phase=0.0, offset=0.0)
    """
    return Signal.from_description(description)


def _check(signal: object, where: str) -> None:
    if not isinstance(signal, Signal):
        raise InputError(f"{where}: expected a signal; found {signal!r:.60}")


@dataclass(frozen=True)
class Constant(Signal):
    """A constant.

    Parameters
    ----------
    value
        In the unit of what it drives.

    Examples
    --------
    >>> Constant("2 kN")(3.0)
    2000.0
    """

    value: Parameter = Parameter()

    @property
    def steady_from(self) -> float:
        """The start."""
        return 0.0

    def expression(self, t: Expr) -> Expr:  # noqa: ARG002 - does not depend on it
        """Return the constant."""
        return Const(self.value)

    def derivative(self) -> Signal:
        """Return zero."""
        return Constant(self._rate(0.0))


@dataclass(frozen=True)
class Sum(Signal):
    """A sum of signals.

    Parameters
    ----------
    terms
        At least one signal.

    Examples
    --------
    >>> from bondloop.signals import Constant
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
    def steady_from(self) -> float:
        """When the last of its terms is steady."""
        return max(term.steady_from for term in self.terms)

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
class Modified(Signal):
    """Another signal, changed; what does not change is that of the signal inside.

    Parameters
    ----------
    of
        The signal inside.
    """

    of: Signal

    def __post_init__(self) -> None:
        _check(self.of, f"{type(self).__name__}(of)")

    @property
    def unit(self) -> str:
        """That of the signal inside."""
        return self.of.unit

    @property
    def duration(self) -> float:
        """That of the signal inside."""
        return self.of.duration

    @property
    def steady_from(self) -> float:
        """That of the signal inside."""
        return self.of.steady_from

    @property
    def cycle(self) -> float:
        """That of the signal inside."""
        return self.of.cycle

    @property
    def last_event(self) -> float:
        """That of the signal inside."""
        return self.of.last_event

    @property
    def highest_frequency(self) -> float | None:
        """That of the signal inside."""
        return self.of.highest_frequency

    @property
    def smoothness(self) -> float:
        """That of the signal inside."""
        return self.of.smoothness


@dataclass(frozen=True)
class Scaled(Modified):
    """A multiple of a signal.

    Parameters
    ----------
    of
        The signal.
    factor
        What its values are multiplied by.

    Examples
    --------
    >>> from bondloop.signals import Constant
    >>> (-2 * Constant(3))(0.0)
    -6.0
    """

    factor: Parameter = Parameter()

    @property
    def unit(self) -> str:
        """That of the signal, times the factor's; empty where that is a plain number: a mass, say."""
        factor = stated_units(self).get("factor", "")
        return multiplied(self.of.unit, factor) if self.of.unit and factor else ""

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
class Shifted(Modified):
    """A signal later in time: value(t) = of(t - by).

    Parameters
    ----------
    of
        The signal.
    by
        How much later, in s.

    Examples
    --------
    >>> from bondloop.signals import Ramp
    >>> Ramp(1, start=0, end=1).shifted("500 ms")(1.0)
    0.5
    """

    by: Parameter = Parameter(unit="s")

    @property
    def duration(self) -> float:
        """The signal's duration and the shift."""
        return self.of.duration + self.by

    @property
    def steady_from(self) -> float:
        """When the signal is steady, later by the shift."""
        return self.of.steady_from + self.by

    @property
    def last_event(self) -> float:
        """The signal's last event, later by the shift."""
        return self.of.last_event + self.by

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
class Derivative(Modified):
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
    >>> from bondloop.signals import Sweep
    >>> round(Sweep(1, start=1, stop=3, duration=10).derivative()(0.0), 6)
    6.283185
    """

    order: Whole = Whole(1, least=1, most=8)

    def __post_init__(self) -> None:
        super().__post_init__()
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
