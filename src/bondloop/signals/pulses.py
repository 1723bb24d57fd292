"""Signals that begin and end: step, ramp, rectangular pulse, half sine."""
# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from bondloop.engine.data import Parameter, number, with_si_unit
from bondloop.engine.ir import Expr, Op, function, select
from bondloop.errors import InputError
from bondloop.signals.base import Signal
from bondloop.units import multiplied, unit_in


@dataclass(frozen=True)
class Step(Signal):
    """A step from 0 to the amplitude at a time; the amplitude counts from that time on, inclusive.

    Parameters
    ----------
    amplitude
        In the unit of what it drives.
    at
        When, in s.

    Examples
    --------
    >>> Step("1 mm", at=2)([1.9, 2.0]).tolist()
    [0.0, 0.001]
    """

    amplitude: Parameter = Parameter()
    at: Parameter = Parameter(0.0, unit="s")

    @property
    def last_event(self) -> float:
        """When it steps."""
        return self.at

    @property
    def smoothness(self) -> float:
        """None: its derivative is an impulse."""
        return 0

    def expression(self, t: Expr) -> Expr:
        """Return the step as an expression."""
        return select(t >= self.at, self.amplitude, 0.0)


@dataclass(frozen=True)
class Ramp(Signal):
    """A ramp from 0 at start to the amplitude at end, where it stays.

    Parameters
    ----------
    amplitude
        In the unit of what it drives.
    start, end
        In s.

    Examples
    --------
    >>> Ramp("10 mm", start=1, end=3)([0.0, 2.0, 9.0]).tolist()
    [0.0, 0.005, 0.01]
    >>> Ramp.at_rate("5 mm/s", start=1, end=3).amplitude
    0.01
    """

    amplitude: Parameter = Parameter()
    start: Parameter = Parameter(0.0, unit="s")
    end: Parameter = Parameter(1.0, unit="s")

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise InputError(
                f"Ramp: expected an end after the start at {self.start:g} s; found {self.end:g} s"
            )

    @classmethod
    def at_rate(cls, slope: float | str, start: float | str = 0.0, end: float | str = 1.0) -> Self:
        """Return the ramp with a slope, in units per second.

        Parameters
        ----------
        slope
            Units of the signal per second.
        start, end
            When it begins and ends, numbers in s or texts with a unit.
        """
        begin, finish = number(start, "Ramp(start)", "s"), number(end, "Ramp(end)", "s")
        unit = unit_in(slope) if isinstance(slope, str) else ""
        rise = number(slope, "Ramp(slope)") * (finish - begin)
        return cls(with_si_unit(rise, multiplied(unit, "s") if unit else ""), begin, finish)

    @property
    def duration(self) -> float:
        """Its end."""
        return self.end

    @property
    def smoothness(self) -> float:
        """One: its slope is a pulse."""
        return 1

    def expression(self, t: Expr) -> Expr:
        """Return the ramp as an expression."""
        inside = function("fmin", function("fmax", t, self.start), self.end)
        return self.amplitude * ((inside - self.start) / (self.end - self.start))

    def derivative(self) -> Signal:
        """Return the slope, a pulse."""
        width = self.end - self.start
        return Pulse(self._rate(self.amplitude / width), self.start, width)


@dataclass(frozen=True)
class Pulse(Signal):
    """A rectangular pulse: the amplitude from start (inclusive) for a width.

    Parameters
    ----------
    amplitude
        In the unit of what it drives.
    start, width
        In s.

    Examples
    --------
    >>> Pulse(3, start=1, width="500 ms")([0.9, 1.0, 1.4, 1.5]).tolist()
    [0.0, 3.0, 3.0, 0.0]
    """

    amplitude: Parameter = Parameter()
    start: Parameter = Parameter(0.0, unit="s")
    width: Parameter = Parameter(1.0, above=0, unit="s")

    @property
    def duration(self) -> float:
        """Its end."""
        return self.start + self.width

    @property
    def smoothness(self) -> float:
        """None: its derivative holds impulses."""
        return 0

    def expression(self, t: Expr) -> Expr:
        """Return the pulse as an expression."""
        return select(_within(t, self.start, self.width), self.amplitude, 0.0)


@dataclass(frozen=True)
class HalfSine(Signal):
    """Half a sine wave, from start for a width: the usual shock pulse.

    Parameters
    ----------
    amplitude
        In the unit of what it drives.
    start, width
        In s.

    Examples
    --------
    >>> round(HalfSine("10 gn", start=0, width="11 ms")(0.0055), 6)
    98.0665
    """

    amplitude: Parameter = Parameter()
    start: Parameter = Parameter(0.0, unit="s")
    width: Parameter = Parameter(1.0, above=0, unit="s")

    @property
    def duration(self) -> float:
        """Its end."""
        return self.start + self.width

    @property
    def smoothness(self) -> float:
        """One: its slope jumps at both ends."""
        return 1

    def expression(self, t: Expr) -> Expr:
        """Return the pulse as an expression."""
        wave = function("sin", (math.pi / self.width) * (t - self.start))
        return self.amplitude * select(_within(t, self.start, self.width), wave, 0.0)


def _within(t: Expr, start: float, width: float) -> Expr:
    return Op("and", (t >= start, t < start + width))


@dataclass(frozen=True)
class Rise(Signal):
    """A smooth rise from 0 at start to the amplitude at end, where it stays.

    The amplitude times 10s³ - 15s⁴ + 6s⁵, s from 0 to 1: its first and second derivatives are zero at both
    ends, so that what it loads hardly swings if it lasts some of its periods.

    Parameters
    ----------
    amplitude
        In the unit of what it drives.
    start, end
        In s.

    Examples
    --------
    >>> Rise("10 kN", end=4)([0.0, 2.0, 9.0]).tolist()
    [0.0, 5000.0, 10000.0]
    """

    amplitude: Parameter = Parameter()
    start: Parameter = Parameter(0.0, unit="s")
    end: Parameter = Parameter(1.0, unit="s")

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise InputError(
                f"Rise: expected an end after the start at {self.start:g} s; found {self.end:g} s"
            )

    @property
    def duration(self) -> float:
        """Its end."""
        return self.end

    @property
    def smoothness(self) -> float:
        """Three: its second derivative bends at the ends."""
        return 3

    def expression(self, t: Expr) -> Expr:
        """Return the rise as an expression."""
        inside = function("fmin", function("fmax", t, self.start), self.end)
        s = (inside - self.start) / (self.end - self.start)
        return self.amplitude * (s * s * s * (10.0 + s * (6.0 * s - 15.0)))
