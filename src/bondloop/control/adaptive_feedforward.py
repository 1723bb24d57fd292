"""What adaptive feedforward compensators share: the command, the filters, the bounds."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from bondloop.control.bounded import moved
from bondloop.control.compensator import Compensator, channel
from bondloop.control.demand_history import earlier, from_first, from_line, late, weighted
from bondloop.control.inverse_series import expect_process, inverse_series, shifted
from bondloop.control.linear_filter import LinearFilter, state_variable_filter
from bondloop.control.motion_gate import motion_gate
from bondloop.control.polynomial_fit import backward_differences
from bondloop.errors import InputError
from bondloop.program.block import Applied, Context
from bondloop.program.described import Parameter, Whole
from bondloop.program.expr import Const, Expr, Var, select
from bondloop.program.quantity import Quantity, Role
from bondloop.program.ranges import NOT_NEGATIVE
from bondloop.program.schedule import Assign
from bondloop.program.tick import Channel, Update

if TYPE_CHECKING:
    from bondloop.control.base import Measured
    from bondloop.transfer.process import Process

__all__ = ["AdaptiveFeedforward"]

SMOOTHER = 5.0
"""Corner of the derivatives in a chain, in corners of the filter that is learned by. Differences of what an
inverse has differentiated already would make the loop's gain for fast motions larger than 1."""


@dataclass(frozen=True)
class AdaptiveFeedforward(Compensator, family="controller"):
    """Base: u = a0 x + a1 dx/dt + a2 d2x/dt2 ... with coefficients that are adapted.

    The coefficients are those with which the measured motion gives the command that caused it. Command and
    measured displacement go through the same low-pass filter, whose states are the derivatives, so nothing
    measured is differentiated. Derivatives of the demand are differences of its newest samples.

    What is measured shows neither the hold of the command, half a sample, nor that the force comes back a
    sample late and is held too. ``ahead`` is by how many samples the motion is to lead the demand to make up
    for it: the measured motion counts as if it came so much later.

    Nothing is adapted where the command does not move: see `motion_gate`.

    Inside, each coefficient is divided by what its bound is for the largest delay, L^j/j!; so all are of
    the order of one.
    """

    adapts: ClassVar[bool] = True
    set_point: ClassVar[bool] = True

    delay: Parameter = Parameter(0.0, least=0, unit="s")
    order: Whole = Whole(2, least=1, most=3)
    largest_delay: Parameter = Parameter(0.05, above=0, unit="s")
    least_gain: Parameter = Parameter(0.5, above=0, unit="1")
    largest_gain: Parameter = Parameter(2.0, least=1, unit="1")
    slew: Parameter = Parameter(1.0, above=0, unit="1/s")
    filter_frequency: Parameter = Parameter(20.0, above=0, unit="Hz")
    threshold: Parameter = Parameter(1e-4, above=0, unit=("m", "rad"))
    ahead: Parameter = Parameter(0.0, least=0, most=10, unit="1")
    process: Process | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.delay > self.largest_delay:
            raise InputError(
                f"{type(self).__name__}: the expected delay of {self.delay:g} s is longer than the largest, "
                f"{self.largest_delay:g} s; raise largest_delay"
            )
        if self.least_gain > 1:
            raise InputError(
                f"{type(self).__name__}: least_gain must be at most 1, from where the gain starts; found "
                f"{self.least_gain:g}"
            )
        if self.process is None:
            return
        name = type(self).__name__
        expect_process(self.process, f"{name}(process)")
        if self.delay:
            raise InputError(
                f"{name}: a delay of {self.delay:g} s and a process are two beginnings; give one of them"
            )
        gain, lag = inverse_series(self.process, 1, f"{name}(process)")
        if not self.least_gain <= gain <= self.largest_gain:
            raise InputError(
                f"{name}: the inverse of the process has a gain of {gain:g}, which is not between "
                f"{self.least_gain:g} and {self.largest_gain:g}; change least_gain or largest_gain"
            )
        if not 0 <= lag <= self.largest_delay:
            raise InputError(
                f"{name}: the inverse of the process has {lag:g} s for the rate, which is not between "
                f"0 and the largest delay, {self.largest_delay:g} s; raise largest_delay"
            )

    def scales(self) -> list[float]:
        """Return the units of the coefficients inside: L^j/j!."""
        return [self.largest_delay**j / math.factorial(j) for j in range(self.order + 1)]

    def initial(self, period: float | str = 0.0) -> list[float]:
        """Return the first coefficients, with what the motion is to be ahead by, within their bounds.

        Those of a pure delay are t^j/j!, those of a process its inverse's.

        Parameters
        ----------
        period
            The sample period in s, of which `ahead` is a multiple; 0 leaves that out.
        """
        period = NOT_NEGATIVE.check(period, "period", "s")
        series = [self.delay**j / math.factorial(j) for j in range(self.order + 1)]
        if self.process is not None:
            series = inverse_series(self.process, self.order, "process")
        early = shifted(series, self.ahead * period)
        return [min(max(a, least), most) for a, (least, most) in zip(early, self.bounds(), strict=True)]

    def bounds(self, *, both: bool = False) -> list[tuple[float, float]]:
        """Return the least and the largest value of every coefficient.

        Parameters
        ----------
        both
            Whether what is left of a plant may lead as well as lag.
        """
        return [(self.least_gain, self.largest_gain), *((-s if both else 0.0, s) for s in self.scales()[1:])]

    @abstractmethod
    def _targets(
        self,
        regressors: Sequence[Var],
        command: Var,
        coefficients: Sequence[Var],
        moving: Var,
        bounds: Sequence[tuple[float, float]],
        context: Context,
    ) -> tuple[Applied, list[Expr]]:
        """Return statements, and where the coefficients (in their units inside) should go if it moves."""

    def _smooth(self) -> LinearFilter:
        """Return the filter whose outputs are the derivatives that an `AdaptiveRemainder` works with."""
        return state_variable_filter(self.order, SMOOTHER * self.filter_frequency)

    def _command(
        self, demand: Expr, coefficients: Sequence[Var], smooth: bool, context: Context, word: str
    ) -> Applied:
        """Return statements whose value is the sum of the demand's derivatives times the coefficients."""
        scales, points = self.scales(), max(self.order, 2) + 1
        first, line, rate = from_line(demand, context)
        states = dict(first.states)
        if smooth:
            applied, rates = self._smooth().apply(first.value, context, "smooth")
            steps = applied.steps
            states.update(applied.states)
        else:
            steps, past = earlier(first.value, range(points), context, "demand")
            differences = [backward_differences(j, points, context.period) for j in range(self.order + 1)]
            rates = [weighted(weights.tolist(), past) for weights in differences]
        total: Expr = coefficients[0] * (line + first.value) + coefficients[1] * (scales[1] * rate)
        for j in range(1, self.order + 1):
            total = total + coefficients[j] * (Const(scales[j]) * rates[j])
        command = Var(f"{context.name}.{word}")
        return Applied([*first.steps, *steps, Assign(command, total)], command, states)

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command."""
        return self._adapted(desired, None, measured, context)

    def remainder(self, desired: Expr, sent: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command of an `AdaptiveRemainder`: acting on one signal, learned of the demand.

        Parameters
        ----------
        desired
            The desired displacement at this sample.
        sent
            What the fixed part makes of it.
        measured
            What the sensors read.
        context
            Names and period.
        """
        return self._adapted(desired, sent, measured, context)

    def _adapted(self, desired: Expr, sent: Expr | None, measured: Measured, context: Context) -> Applied:
        scales, bounds, name = self.scales(), self.bounds(both=sent is not None), context.name
        coefficients = [Var(f"{name}.coefficient[{j}]") for j in range(self.order + 1)]
        states = {
            c: a / s for c, a, s in zip(coefficients, self.initial(context.period), scales, strict=True)
        }
        chained = sent is not None
        learned = self._command(desired, coefficients, chained, context, "feedforward")
        steps, command = [*learned.steps], learned.value
        states.update(learned.states)
        outgoing = command
        if sent is not None:
            through = replace(context, name=f"{name}.through", velocity=None)
            acting = self._command(sent, coefficients, chained, through, "command")
            steps, outgoing = [*steps, *acting.steps], acting.value
            states.update(acting.states)
        low = state_variable_filter(self.order, self.filter_frequency)
        begun, origin = from_first(desired, replace(context, name=f"{name}.start"))
        rest = self.initial()[0] * origin
        commanded, sent_outputs = low.settled(command, rest, context, "filtered_command")
        started, stood = from_first(measured.displacement, replace(context, name=f"{name}.motion"))
        # Motion that counts as so much later is compensated for, and so comes so much earlier.
        more, motion = late(started.value, self.ahead, context, "motion")
        seen, seen_outputs = low.settled(stood + motion, stood, context, "filtered_motion")
        gate, moving = motion_gate(self.largest_delay * sent_outputs[1], self.threshold, context)
        steps += [*begun.steps, *commanded.steps, *started.steps, *more, *seen.steps, *gate.steps]
        for part in (begun, commanded, started, seen, gate):
            states.update(part.states)
        if chained:  # what the command is made of, of the measured motion
            rated, rates = self._smooth().apply(seen_outputs[0] - stood, context, "smooth_motion")
            steps += rated.steps
            states.update(rated.states)
            seen_outputs = [seen_outputs[0], *rates[1:]]
        regressors = [Var(f"{name}.regressor[{j}]") for j in range(self.order + 1)]
        steps += [Assign(r, s * y) for r, s, y in zip(regressors, scales, seen_outputs, strict=True)]
        filtered = Var(f"{name}.sent")
        steps.append(Assign(filtered, sent_outputs[0]))
        law, targets = self._targets(regressors, filtered, coefficients, moving, bounds, context)
        steps += law.steps
        states.update(law.states)
        changes = []
        for c, target, s, (least, most) in zip(coefficients, targets, scales, bounds, strict=True):
            step = self.slew * context.period * (most - least) / s
            near = moved(c, target, least / s, most / s, step)
            changes.append((c, select(moving > 0.5, near, c)))
        steps.append(Update(tuple(changes)))
        units = ("", "s", "s^2", "s^3")
        channels = tuple(
            Channel.of(channel(context, f"a{j}"), c * s, Quantity("coefficient", units[j]), Role.ESTIMATE)
            for j, (c, s) in enumerate(zip(coefficients, scales, strict=True))
        )
        return Applied(steps, outgoing, states, channels=channels, adapted=tuple(coefficients))
