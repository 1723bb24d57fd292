"""Sine waves and sweeps; and signals that begin and end: step, ramp, pulse, half sine, smooth rise."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bondloop.engine.data import Parameter, each_number, number, state_unit, with_si_unit
from bondloop.engine.ir import Const, Expr, Op, function, select
from bondloop.errors import InputError, one_or_all
from bondloop.signals.base import Signal
from bondloop.units import multiplied, unit_in

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
    def steady_from(self) -> float:
        """When it steps."""
        return self.at

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
    def steady_from(self) -> float:
        """Its end."""
        return self.duration

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
    def steady_from(self) -> float:
        """Its end."""
        return self.duration

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
    def steady_from(self) -> float:
        """Its end."""
        return self.duration

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
    def steady_from(self) -> float:
        """Its end."""
        return self.duration

    @property
    def smoothness(self) -> float:
        """Three: its second derivative bends at the ends."""
        return 3

    def expression(self, t: Expr) -> Expr:
        """Return the rise as an expression."""
        inside = function("fmin", function("fmax", t, self.start), self.end)
        s = (inside - self.start) / (self.end - self.start)
        return self.amplitude * (s * s * s * (10.0 + s * (6.0 * s - 15.0)))


def _sine(amplitude: float, frequency: float, phase: float, t: Expr) -> Expr:
    """Write whole quarter turns as sin or cos of the plain angle: exact, and the two share work."""
    angle = (2 * math.pi * frequency) * t
    turns = phase / (math.pi / 2)
    quarters = round(turns)
    if abs(turns - quarters) > 1e-15 * abs(quarters):
        return amplitude * function("sin", angle + phase)
    wave = function("cos" if quarters % 2 else "sin", angle)
    return (-amplitude if quarters % 4 >= 2 else amplitude) * wave


@dataclass(frozen=True)
class Sine(Signal):
    """A sine wave: amplitude sin(2π frequency t + phase) + offset.

    Parameters
    ----------
    amplitude, offset
        In SI, or text with a unit.
    frequency
        Hz, not negative.
    phase
        Radians, or text such as ``"90 deg"``.

    Examples
    --------
    >>> Sine(amplitude="5 mm", frequency="5 Hz")(0.05)
    0.005
    """

    amplitude: Parameter = Parameter()
    frequency: Parameter = Parameter(least=0, unit="Hz")
    phase: Parameter = Parameter(0.0, unit="rad")
    offset: Parameter = Parameter(0.0)

    @property
    def cycle(self) -> float:
        """Its period."""
        return 1.0 / self.frequency if self.frequency else 0.0

    @property
    def highest_frequency(self) -> float:
        """Its frequency."""
        return self.frequency

    def expression(self, t: Expr) -> Expr:
        """Return the sine as an expression."""
        return _sine(self.amplitude, self.frequency, self.phase, t) + self.offset

    def derivative(self) -> Signal:
        """Return the cosine, as a sine a quarter turn ahead."""
        rate = 2 * math.pi * self.frequency
        return Sine(self._rate(self.amplitude * rate), self.frequency, self.phase + math.pi / 2)


@dataclass(frozen=True)
class SumOfSines(Signal):
    """A sum of sine waves.

    Parameters
    ----------
    amplitudes, frequencies, phases
        One of each per wave: amplitudes in one unit, frequencies in Hz; phases in radians, zero where none
        are given.

    Examples
    --------
    >>> round(SumOfSines(["1 mm", "2 mm"], [3, 5], phases=["0 deg", "90 deg"])(0.0), 12)
    0.002
    """

    amplitudes: tuple[Any, ...]
    frequencies: tuple[Any, ...]
    phases: tuple[Any, ...] | Sequence[Any] | None = None

    def __post_init__(self) -> None:
        phases = [0.0] * len(self.frequencies) if self.phases is None else self.phases
        faults: list[str] = []
        for i, amplitude in enumerate(self.amplitudes):
            state_unit(self, f"amplitudes[{i}]", amplitude)
        for name, given, units in (
            ("amplitudes", self.amplitudes, ()),
            ("frequencies", self.frequencies, ("Hz",)),
            ("phases", phases, ("rad",)),
        ):
            object.__setattr__(self, name, each_number(given, "SumOfSines", name, units, faults))
        try:
            _ = self.unit  # that of all amplitudes
        except InputError as error:
            faults.append(str(error))
        if faults:
            raise one_or_all("SumOfSines", faults)
        for name in ("amplitudes", "frequencies", "phases"):
            values = getattr(self, name)
            if len(values) != len(self.amplitudes) or not values:
                raise InputError(
                    f"SumOfSines({name}): expected one for each of {len(self.amplitudes)} waves; "
                    f"found {len(values)}"
                )
        if min(self.frequencies) < 0:
            raise InputError(
                f"SumOfSines(frequencies): expected none negative; found {min(self.frequencies):g}"
            )

    @property
    def highest_frequency(self) -> float:
        """The highest of its frequencies."""
        return float(max(self.frequencies))

    def expression(self, t: Expr) -> Expr:
        """Return the sum as an expression."""
        assert self.phases is not None
        total: Expr = Const(0.0)
        for a, f, p in zip(self.amplitudes, self.frequencies, self.phases, strict=True):
            total = total + _sine(a, f, p, t)
        return total

    def derivative(self) -> Signal:
        """Return the sum of the derivatives."""
        assert self.phases is not None
        rates = [2 * math.pi * f for f in self.frequencies]
        amplitudes = tuple(self._rate(a * w) for a, w in zip(self.amplitudes, rates, strict=True))
        return SumOfSines(amplitudes, self.frequencies, tuple(p + math.pi / 2 for p in self.phases))


class _Swept(Signal):
    """Phase 2π ∫ f dt with f from start to stop over the duration; before and after, f stays where it is."""

    amplitude: Parameter = Parameter()
    start: Parameter = Parameter(least=0, unit="Hz")
    stop: Parameter = Parameter(least=0, unit="Hz")
    duration: Parameter = Parameter(above=0, unit="s")
    phase: Parameter = Parameter(0.0, unit="rad")

    @property
    def highest_frequency(self) -> float:
        """The higher of its two ends."""
        return max(self.start, self.stop)

    @property
    def smoothness(self) -> float:
        """The frequency has a kink at either end, so the second derivative jumps there."""
        return 2

    def _cycles(self, t: Expr) -> Expr:
        """Cycles completed at a time between 0 and the duration."""
        raise NotImplementedError

    def expression(self, t: Expr) -> Expr:
        """Return the swept sine as an expression."""
        # The middle branch is held at its ends where it is not taken, so that it cannot overflow there.
        middle = self._cycles(function("fmin", function("fmax", t, 0.0), self.duration))
        total = self._cycles(Const(self.duration))
        after = total + self.stop * (t - self.duration)
        cycles = select(t < 0.0, self.start * t, select(t < self.duration, middle, after))
        return self.amplitude * function("sin", (2 * math.pi) * cycles + self.phase)


@dataclass(frozen=True)
class Sweep(_Swept):
    """A linear sweep: the frequency goes from start to stop in the duration and stays there.

    Parameters
    ----------
    amplitude
        In SI, or text with a unit.
    start, stop
        Hz; either may be the higher.
    duration
        Seconds.
    phase
        Radians, at t = 0.

    Examples
    --------
    >>> sweep = Sweep("5 mm", start=0, stop=10, duration=100)
    >>> sweep.frequency([0, 50, 100, 120]).tolist()
    [0.0, 5.0, 10.0, 10.0]
    """

    amplitude: Parameter = Parameter()
    start: Parameter = Parameter(least=0, unit="Hz")
    stop: Parameter = Parameter(least=0, unit="Hz")
    duration: Parameter = Parameter(above=0, unit="s")
    phase: Parameter = Parameter(0.0, unit="rad")

    def _cycles(self, t: Expr) -> Expr:
        return self.start * t + ((self.stop - self.start) / (2 * self.duration)) * t * t

    def frequency(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return the frequency in Hz at times ``t`` [s]; before and after it, that of its ends."""
        fraction = np.clip(np.asarray(t, dtype=float) / self.duration, 0, 1)
        return np.asarray(self.start + (self.stop - self.start) * fraction)


@dataclass(frozen=True)
class Chirp(_Swept):
    """An exponential sweep: the frequency is multiplied by the same factor in every second.

    Parameters
    ----------
    amplitude
        In SI, or text with a unit.
    start, stop
        Hz, positive and different.
    duration
        Seconds.
    phase
        Radians, at t = 0.

    Examples
    --------
    >>> Chirp(1, start=1, stop=16, duration=4).frequency([0, 1, 2, 4]).tolist()
    [1.0, 2.0, 4.0, 16.0]
    """

    amplitude: Parameter = Parameter()
    start: Parameter = Parameter(above=0, unit="Hz")
    stop: Parameter = Parameter(above=0, unit="Hz")
    duration: Parameter = Parameter(above=0, unit="s")
    phase: Parameter = Parameter(0.0, unit="rad")

    def __post_init__(self) -> None:
        if abs(math.log(self.stop / self.start)) < 1e-9:
            raise InputError(f"Chirp: start and stop are both {self.start:g} Hz; use Sine for one frequency")

    def _cycles(self, t: Expr) -> Expr:
        rate = math.log(self.stop / self.start) / self.duration
        return (self.start / rate) * (function("exp", rate * t) - 1)

    def frequency(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return the frequency in Hz at times ``t`` [s]; before and after it, that of its ends."""
        fraction = np.clip(np.asarray(t, dtype=float) / self.duration, 0, 1)
        return np.asarray(self.start * (self.stop / self.start) ** fraction)
