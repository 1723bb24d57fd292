"""Signals that are brought to rest: held from an instant on."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import Parameter, stated_units, with_si_unit
from bondloop.engine.ir import Expr, select
from bondloop.signals.base import Modified, Scaled, Signal, Sum
from bondloop.signals.waveforms import Pulse, Ramp

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Held(Modified):
    """A signal up to an instant, that instant included; after it a constant.

    Parameters
    ----------
    of
        The signal.
    at
        When, in s.
    value
        The constant, in the unit of what it drives.

    Examples
    --------
    >>> from bondloop.signals import Ramp
    >>> Held(Ramp(1, start=0, end=2), at=1, value=0.5)([0.0, 1.0, 1.5, 9.0]).tolist()
    [0.0, 0.5, 0.5, 0.5]
    """

    at: Parameter = Parameter(unit="s")
    value: Parameter = Parameter()

    @property
    def duration(self) -> float:
        """The instant, or where the signal ends before it."""
        return min(self.of.duration, self.at)

    @property
    def steady_from(self) -> float:
        """The instant."""
        return self.at

    @property
    def last_event(self) -> float:
        """The instant: it may jump there."""
        return self.at

    @property
    def cycle(self) -> float:
        """None: it does not repeat itself."""
        return 0.0

    @property
    def smoothness(self) -> float:
        """At most one, for its slope jumps; none where its value jumps."""
        jumps = self.of(self.at) != self.value
        return min(self.of.smoothness, 0.0 if jumps else 1.0)

    def expression(self, t: Expr) -> Expr | None:
        """Return the signal's expression, and the constant after the instant."""
        e = self.of.expression(t)
        return None if e is None else select(t > self.at, self.value, e)

    def derivative(self) -> Signal:
        """Return the derivative, which is zero after the instant."""
        if self.smoothness < 1:
            return super().derivative()
        return Held(self.of.derivative(), self.at, 0.0)

    def _values(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(times > self.at, self.value, self.of._values(times))

    def _derivatives(self, times: NDArray[np.float64], order: int) -> NDArray[np.float64]:
        return np.where(times > self.at, 0.0, self.of._derivatives(times, order))


def held_still(signal: Signal, at: float) -> Signal:
    """Return a signal that stays at the value it has at an instant, as a displacement is held.

    Parameters
    ----------
    signal
        The signal.
    at
        When, in s.

    Examples
    --------
    >>> from bondloop.signals import Ramp
    >>> held_still(Ramp(1, start=0, end=2), 1.5)([1.0, 9.0]).tolist()
    [0.5, 0.75]
    """
    return signal if signal.steady_from <= at else Held(signal, at, with_si_unit(signal(at), signal.unit))


def held_at_zero(signal: Signal, at: float, *, steady: float | None = None) -> Signal:
    """Return a signal that is zero after an instant; what no longer changes by then stays as it is.

    A weight, as a constant or as a `Rise` that has ended, is no motion of its own and is not taken away.

    Parameters
    ----------
    signal
        The signal.
    at
        When, in s.
    steady
        Since when a signal must not have changed to stay as it is; that instant unless given.

    Examples
    --------
    >>> from bondloop.signals import Constant, Sine
    >>> load = Constant("2 kN") + 3 * Sine("1 kN", frequency=1)
    >>> held_at_zero(load, 2.25)([2.25, 2.3]).tolist()
    [5000.0, 2000.0]
    """
    if signal.steady_from <= (at if steady is None else steady):
        return signal
    if isinstance(signal, Sum):
        return Sum(tuple(held_at_zero(term, at, steady=steady) for term in signal.terms))
    if isinstance(signal, Scaled):
        return Scaled(
            held_at_zero(signal.of, at, steady=steady),
            with_si_unit(signal.factor, stated_units(signal).get("factor", "")),
        )
    return Held(signal, at, 0.0)


def brought_to_rest(signal: Signal, at: float, *, samples: int = 2001) -> Signal:
    """Return a velocity whose rate is needed, brought to zero after an instant at a bounded rate.

    To stop at once it would need an impulse. It goes to zero in a straight line, at the largest rate that the
    signal had up to then, so that nothing is hit harder than before.

    Parameters
    ----------
    signal
        The velocity.
    at
        When, in s.
    samples
        At how many instants its largest rate is looked for.

    Examples
    --------
    >>> from bondloop.signals import Ramp
    >>> brought_to_rest(Ramp(3, start=0, end=3), 1.0)([1.0, 1.5, 2.0, 9.0]).tolist()
    [1.0, 0.5, 0.0, 0.0]
    """
    if signal.steady_from <= 0:
        return signal  # it was there from the start: a belt that runs
    value = signal(at)
    most = float(np.abs(signal.derivative()(np.linspace(0.0, at, samples))).max())
    if not value or not most:
        return Held(signal, at, 0.0) if not value else signal
    stays = Held(signal, at, with_si_unit(value, signal.unit))
    return stays + Ramp(with_si_unit(-value, signal.unit), at, at + abs(value) / most)


def ground_brought_to_rest(acceleration: Signal, at: float, *, samples: int = 20001) -> Signal:
    """Return the acceleration of a ground that comes to rest after an instant.

    Zero acceleration alone would let the ground go on with the velocity that it has. A constant acceleration,
    as large as the largest up to then, takes it away first.

    Parameters
    ----------
    acceleration
        Of the ground, m/s^2.
    at
        When, in s.
    samples
        At how many instants it is looked at up to then.

    Examples
    --------
    >>> from bondloop.signals import Pulse
    >>> pushed = Pulse(2.0, start=0, width=1)
    >>> ground_brought_to_rest(pushed, 3.0)([0.5, 2.0, 3.5, 4.5]).round(2).tolist()
    [2.0, 0.0, -2.0, 0.0]
    """
    times = np.linspace(0.0, at, samples)
    values = acceleration(times)
    most = float(np.abs(values).max())
    velocity = float(np.sum((values[1:] + values[:-1]) / 2) * (times[1] - times[0]))
    stops = held_at_zero(acceleration, at, steady=0.0)
    width = abs(velocity) / most if most else 0.0
    if width <= times[1]:  # less than one of the steps in which the velocity was summed up
        return stops
    return stops + Pulse(with_si_unit(-math.copysign(most, velocity), acceleration.unit), at, width)
