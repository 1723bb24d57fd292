"""Sine waves: one, or a sum of several."""
# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.data import Parameter, each_number, state_unit
from bondloop.engine.ir import Const, Expr, function, select
from bondloop.errors import InputError, one_or_all
from bondloop.signals.base import Signal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
