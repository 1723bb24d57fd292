"""A PID controller around the actuator's own loop, with a lead on the demand."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bondloop.control.base import Compensator
from bondloop.control.blocks.filters import LinearFilter, rational
from bondloop.control.blocks.history import from_first
from bondloop.control.tolerances import SHORTEST_LAG
from bondloop.engine.data import Parameter
from bondloop.engine.passes import Applied, Context
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.control.base import Measured
    from bondloop.engine.ir import Expr


@dataclass(frozen=True)
class OuterLoop(Compensator):
    """PID on what is left of the demand when the measured displacement is taken away.

    The demand goes through a lead, (lead s + 1)/(lag s + 1); of the difference e between it and the measured
    displacement the command is

        u = (proportional + integral/s + derivative s/(lag s + 1)) e.

    Between samples all signals count as straight lines, so the integral is the trapezoidal rule. It is slow
    to be wrong and slow to be right: its gains are bounded by the actuator's delay, and what it cannot do the
    lead must. It is the sample controller of the field's benchmark.

    Parameters
    ----------
    proportional
        Command per error.
    integral
        Command per error and second, in 1/s.
    derivative
        In s; needs a lag.
    lead, lag
        Time constants of the lead in s; none by default.

    Examples
    --------
    >>> sample = OuterLoop(2.0, 95.0, lead="5.931 ms", lag="0.1167 ms")  # of the benchmark
    >>> round(sample.lead / sample.lag, 1)
    50.8

    References
    ----------
    Silva, Gomez, Maghareh, Dyke and Spencer (2020), Mechanical Systems and Signal Processing 135, 106381.
    """

    set_point: ClassVar[bool] = True

    proportional: Parameter = Parameter(1.0, least=0, unit="1")
    integral: Parameter = Parameter(0.0, least=0, unit="1/s")
    derivative: Parameter = Parameter(0.0, least=0, unit="s")
    lead: Parameter = Parameter(0.0, least=0, unit="s")
    lag: Parameter = Parameter(0.0, least=0, unit="s")

    def __post_init__(self) -> None:
        if 0 < self.lag < SHORTEST_LAG:
            raise InputError(
                f"OuterLoop(lag): {self.lag:g} s are shorter than any loop can tell; expected 0, or "
                f"{SHORTEST_LAG:g} s and more"
            )
        if not self.lag and (self.lead or self.derivative):
            word = "lead" if self.lead else "derivative"
            raise InputError(
                f"OuterLoop({word}): a {word} alone has no end to its gain for fast motions; give it a lag, "
                f"OuterLoop({word}='5 ms', lag='0.1 ms')"
            )
        if not (self.proportional or self.integral):
            raise InputError("OuterLoop: neither proportional nor integral is above 0, so it moves nothing")

    @property
    def _lead(self) -> LinearFilter:
        return rational([self.lead, 1.0], [self.lag, 1.0]) if self.lag else rational([1.0], [1.0])

    @property
    def _pid(self) -> LinearFilter:
        p, i, d, t = self.proportional, self.integral, self.derivative, self.lag
        if d:
            return rational([p * t + d, p + i * t, i], [t, 1.0, 0.0])
        return rational([p, i], [1.0, 0.0]) if i else rational([p], [1.0])

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command."""
        applied, origin = from_first(desired, context)
        led, _ = self._lead.apply(applied.value, context, "lead")
        error = led.value - (measured.displacement - origin)
        pushed, _ = self._pid.apply(error, context, "pid")
        return Applied(
            [*applied.steps, *led.steps, *pushed.steps],
            origin + pushed.value,
            {**applied.states, **led.states, **pushed.states},
        )
