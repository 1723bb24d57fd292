"""The base of all signals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, overload

import numpy as np

from bondloop.data.described import Described, common_unit, number, stated_units, with_si_unit
from bondloop.display import brief
from bondloop.errors import InputError
from bondloop.program.calculus import derivative
from bondloop.program.expr import Expr, Var
from bondloop.program.signals.arrays import evaluate_array
from bondloop.units import multiplied

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Signal", "signal_from"]


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

        >>> from bondloop.program.signals import Sine
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
        from bondloop.program.signals.combined import Derivative

        return Derivative(self)

    def shifted(self, by: float | str) -> Signal:
        """Return the signal later by some seconds: its value at t is that of this one at t - by."""
        from bondloop.program.signals.combined import Shifted

        return Shifted(self, number(by, "shifted", "s"))

    def __add__(self, other: Signal | float) -> Signal:
        from bondloop.program.signals.combined import Sum
        from bondloop.program.signals.pulses import Constant

        right = other if isinstance(other, Signal) else Constant(other)
        return Sum((*_terms(self), *_terms(right)))

    def __radd__(self, other: float) -> Signal:
        from bondloop.program.signals.pulses import Constant

        return Constant(other) + self

    def __sub__(self, other: Signal | float) -> Signal:
        return self + (-other)

    def __rsub__(self, other: float) -> Signal:
        return -self + other

    def __mul__(self, factor: float) -> Signal:
        from bondloop.program.signals.combined import Scaled

        return Scaled(self, factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Signal:
        return self * (1 / divisor)

    def __neg__(self) -> Signal:
        from bondloop.program.signals.combined import Scaled

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
    from bondloop.program.signals.combined import Sum

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
