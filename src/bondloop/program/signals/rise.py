"""A rise without a jerk: how a constant load, such as gravity, is brought on before a test."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from dataclasses import dataclass

from bondloop.data.described import Parameter
from bondloop.errors import InputError
from bondloop.program.expr import Expr, function
from bondloop.program.signals.base import Signal

__all__ = ["Rise"]


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
