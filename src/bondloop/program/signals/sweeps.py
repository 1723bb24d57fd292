"""Sines whose frequency changes: linearly (`Sweep`) or exponentially (`Chirp`) with time."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.data.described import Parameter
from bondloop.errors import InputError
from bondloop.program.expr import Const, Expr, function, select
from bondloop.program.signals.base import Signal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Chirp", "Sweep"]


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
