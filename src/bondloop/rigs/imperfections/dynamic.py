"""Imperfections with memory: delay, backlash, rate limit, low-pass filter."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass

from bondloop.engine.data import Parameter
from bondloop.engine.ir import Assign, Delay, Expr, Step, Update, Var, select
from bondloop.engine.passes import Applied, Context, named
from bondloop.rigs.imperfections.base import Imperfection
from bondloop.units import multiplied


@dataclass(frozen=True)
class PureDelay(Imperfection):
    """A pure delay; a part of a period is interpolated linearly between two samples.

    Interpolation at a fraction f of a period T has the gain |1 - f + f exp(-iωT)|: exact for a whole number
    of periods, 1 - f(1 - f)(ωT)²/2 for slow signals in between.

    Parameters
    ----------
    delay
        By which the signal is late, in seconds or as text.
    initial
        The value before the first one has come through.

    Examples
    --------
    >>> PureDelay("2.5 ms").delay
    0.0025
    """

    delay: Parameter = Parameter(least=0, unit="s")
    initial: Parameter = Parameter(0.0)

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the delayed value."""
        periods = self.delay / context.period
        whole = math.floor(periods + 1e-9)
        part = max(periods - whole, 0.0)
        steps, now = named(value, context, "undelayed")
        if whole:
            late = Var(f"{context.name}.delayed")
            steps.append(Delay(late, now, whole, self.initial))
            now = late
        if part < 1e-9:
            return Applied(steps, now)
        later = Var(f"{context.name}.delayed_more")
        steps.append(Delay(later, now, 1, self.initial))
        return Applied(steps, (1 - part) * now + part * later)


@dataclass(frozen=True)
class Backlash(Imperfection):
    """Backlash as a play operator: the output stays until the input has crossed the gap, then follows it.

    Parameters
    ----------
    width
        The whole gap; the output lies within half of it from the input.
    initial
        The output before the first sample.

    Examples
    --------
    >>> Backlash("0.2 mm").width
    0.0002

    References
    ----------
    Krasnosel'skii and Pokrovskii (1989), Systems with Hysteresis.
    """

    width: Parameter = Parameter(least=0)
    initial: Parameter = Parameter(0.0)

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the play's output."""
        steps, u = named(value, context, "tight")
        w, y = Var(f"{context.name}.play"), Var(f"{context.name}.slack")
        half = self.width / 2
        gap = w - u
        moved = select(gap > half, u + half, u - half)
        result: list[Step] = [
            *steps, Assign(y, select(abs(gap) <= half, w, moved)), Update(((w, y),)),
        ]  # fmt: skip
        return Applied(result, y, {w: self.initial})


@dataclass(frozen=True)
class RateLimit(Imperfection):
    """A limit of the rate of change, in units per second, the same both ways.

    Parameters
    ----------
    rate
        The largest rate.
    initial
        The output before the first sample.

    Examples
    --------
    >>> RateLimit("50 mm/s").rate
    0.05
    """

    rate: Parameter = Parameter(above=0)
    initial: Parameter = Parameter(0.0)

    def _value_units(self) -> dict[str, str]:
        units = super()._value_units()
        return {name: multiplied(unit, "s") if name == "rate" else unit for name, unit in units.items()}

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the limited value."""
        steps, u = named(value, context, "fast")
        last, y = Var(f"{context.name}.last"), Var(f"{context.name}.limited")
        most = self.rate * context.period
        change = u - last
        follow = select(change > most, last + most, select(change < -most, last - most, u))
        return Applied([*steps, Assign(y, follow), Update(((last, y),))], y, {last: self.initial})


@dataclass(frozen=True)
class LowPass(Imperfection):
    """A first-order low-pass filter, 1/(1 + s/ω), exact for an input that is linear between samples.

    y(k) = a y(k-1) + b u(k) + c u(k-1), with a = exp(-ωT), g = (1 - a)/(ωT), b = 1 - g, c = g - a. A held
    input instead would make it late by half a period more.

    Parameters
    ----------
    frequency
        Corner frequency, Hz: -3 dB.
    initial
        Input and output before the first sample.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> LowPass("10 Hz").apply(Var("x"), Context("rig.x", Var("n"), period=0.001)).states
    {<Var rig.x.low>: 0.0, <Var rig.x.low_input>: 0.0}
    """

    frequency: Parameter = Parameter(above=0, unit="Hz")
    initial: Parameter = Parameter(0.0)

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the filtered value."""
        steps, u = named(value, context, "unfiltered")
        rate = 2 * math.pi * self.frequency * context.period
        a, g = math.exp(-rate), -math.expm1(-rate) / rate
        last, before, y = (Var(f"{context.name}.{w}") for w in ("low", "low_input", "filtered"))
        result: list[Step] = [
            *steps,
            Assign(y, a * last + (1 - g) * u + (g - a) * before),
            Update(((last, y), (before, u))),
        ]
        return Applied(result, y, {last: self.initial, before: self.initial})
