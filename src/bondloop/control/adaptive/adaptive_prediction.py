"""Adaptive polynomial forward prediction (Wallace, Wagg and Neild 2005)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from bondloop.control.base import LearnsRemainder, channel
from bondloop.control.blocks.filters import clipped, coefficient_matrix, earlier, from_line, late
from bondloop.control.feedforward.inverse_model import expect_process, inverse_series
from bondloop.control.feedforward.polynomial_prediction import PolynomialPrediction
from bondloop.engine.data import NOT_NEGATIVE, Parameter, Whole
from bondloop.engine.ir import (
    Assign,
    Channel,
    Const,
    Expr,
    Op,
    Product,
    Quantity,
    Role,
    Step,
    Var,
    select,
)
from bondloop.engine.passes import Applied, Context, Statements
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.control.base import Measured
    from bondloop.transfer import Process


@dataclass(frozen=True)
class AdaptivePrediction(LearnsRemainder, PolynomialPrediction):
    """Polynomial forward prediction whose gain and delay follow the synchronisation error.

    The command is gain * P(t + delay), P the least-squares polynomial through the demand's history. Twice a
    cycle each is corrected where the error shows it alone:

    - at the demand's turning points a lateness does not show: between two of them the error
      e = x - x_measured grows by the missing gain times the stroke, and the gain grows by ``gain_step`` of
      what is missing;
    - half-way between two turning points, where the demand is fastest, the error beyond the mean of theirs is
      the speed times the time by which the motion is late: the delay grows by ``delay_step`` of that time.

    For a sine about zero these are its peaks and zero crossings. Taking differences makes both indifferent to
    a mean position and to a sensor's offset. A small stroke far from zero says little of the gain, whose
    change would move the command much there: it counts as stroke^2/(stroke^2 + both turning points' squares).
    Gain and delay stay within bounds, and strokes below the threshold change nothing.

    Parameters
    ----------
    delay
        First value of the delay, in s.
    order, span, points
        The polynomial, as in `PolynomialPrediction`; Wallace uses fourth order.
    gain
        First value of the gain.
    largest_delay
        The delay stays between 0 and this, in s.
    least_gain, largest_gain
        Bounds of the gain.
    delay_step, gain_step
        Share of the error that is corrected at once; 0 adapts nothing.
    threshold
        Stroke in m between turning points below which nothing is adapted.
    ahead
        By how many samples the motion leads the demand, to make up for the hold and a force that comes late.
    process
        Model of the transfer system: gain and delay then begin at what makes up for its own at rest.

    References
    ----------
    Wallace, Wagg and Neild (2005), Proc. R. Soc. A 461(2064), 3807-3826.
    """

    adapts: ClassVar[bool] = True

    delay: Parameter = Parameter(0.0, least=0, unit="s")
    order: Whole = Whole(4, least=1, most=12)
    span: Parameter = Parameter(0.015, above=0, unit="s")
    points: Whole = Whole(16, least=1, most=1000)
    gain: Parameter = Parameter(1.0, above=0, unit="1")
    largest_delay: Parameter = Parameter(0.05, above=0, unit="s")
    least_gain: Parameter = Parameter(0.5, above=0, unit="1")
    largest_gain: Parameter = Parameter(2.0, above=0, unit="1")
    delay_step: Parameter = Parameter(0.25, least=0, most=1, unit="1")
    gain_step: Parameter = Parameter(0.25, least=0, most=1, unit="1")
    threshold: Parameter = Parameter(1e-4, above=0, unit=("m", "rad"))
    ahead: Parameter = Parameter(0.0, least=0, most=10, unit="1")
    process: Process | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.process is not None:
            expect_process(self.process, "AdaptivePrediction(process)")
            if self.delay or self.gain != 1:
                raise InputError(
                    f"AdaptivePrediction: a process and a delay of {self.delay:g} s with a gain of "
                    f"{self.gain:g} are two beginnings; give one of them"
                )
        gain, delay = self.initial()
        if delay > self.largest_delay:
            raise InputError(
                f"AdaptivePrediction: the delay of {delay:g} s is longer than the largest, "
                f"{self.largest_delay:g} s; raise largest_delay"
            )
        if delay < 0:
            raise InputError(f"AdaptivePrediction(process): it is {-delay:g} s early, so there is no delay")
        if not self.least_gain <= gain <= self.largest_gain:
            raise InputError(
                f"AdaptivePrediction: the gain of {gain:g} is not between {self.least_gain:g} and "
                f"{self.largest_gain:g}; change least_gain or largest_gain"
            )

    def initial(self, period: float | str = 0.0) -> tuple[float, float]:
        """Return the first gain and delay; `ahead` is in units of ``period`` [s], and 0 leaves it out."""
        period = NOT_NEGATIVE.check(period, "period", "s")
        gain, lag = self.gain, self.gain * self.delay
        if self.process is not None:
            gain, lag = inverse_series(self.process, 1, "AdaptivePrediction(process)")
        return gain, min(lag / gain + self.ahead * period, max(self.largest_delay, lag / gain))

    def _adapted(self, desired: Expr, sent: Expr | None, measured: Measured, context: Context) -> Applied:
        if sent is not None:  # what the fixed part makes of the demand has another velocity
            context = replace(context, velocity=None)
        name, T = context.name, context.period
        tau, gain = Var(f"{name}.adapted_delay"), Var(f"{name}.adapted_gain")
        first, line, rate = from_line(desired if sent is None else sent, context)
        ticks = self.ticks(T)
        more, past = earlier(first.value, ticks, context, "demand")
        matrix, scale = coefficient_matrix([-n * T for n in ticks], self.order)
        coefficients = tuple(Var(f"{name}.coefficient[{i}]") for i in range(self.order + 1))
        ahead = Var(f"{name}.ahead")
        value: Expr = coefficients[-1]
        for c in reversed(coefficients[:-1]):  # Horner's rule
            value = value * ahead + c
        command = Var(f"{name}.prediction")
        used = Var(f"{name}.delay"), Var(f"{name}.gain")
        demand = line + first.value if sent is None else desired
        least = 0.0 if sent is None else -self.largest_delay
        later, motion = late(measured.displacement, self.ahead, context, "motion")
        law = self._law(demand, motion, tau, gain, least, context)
        steps: list[Step] = [
            *first.steps,
            *more,
            *later,
            *law.steps,
            Product(coefficients, matrix, tuple(past)),
            Assign(used[0], tau),
            Assign(used[1], gain),
            Assign(ahead, used[0] / scale),
            Assign(command, used[1] * (line + used[0] * rate + value)),
        ]
        channels = (
            Channel.of(channel(context, "delay"), used[0], Quantity("delay", "s"), Role.ESTIMATE),
            Channel.of(channel(context, "gain"), used[1], Quantity("gain"), Role.ESTIMATE),
        )
        states = {**law.states, **first.states, **dict(zip((gain, tau), self.initial(T), strict=True))}
        return Applied(steps, command, states, channels=channels, adapted=(tau, gain))

    def _law(
        self, demand: Expr, motion: Expr, tau: Var, gain: Var, least: float, context: Context
    ) -> Applied:
        """Correct delay and gain; both are states, updated before they are used."""
        body, T, most = Statements(context.name), context.period, self.largest_delay
        x_1, e_1, rise_1 = (body.state(f"{w}_before") for w in ("x", "error", "rise"))
        p, y_p, q, y_q = (body.state(w) for w in ("turn", "turn_motion", "older_turn", "older_motion"))
        start = context.count < 0.5
        x = body.put("x", demand)
        e = body.put("error", x - motion)
        # A test begins at rest: its first sample stands for a turning point.
        first = {x_1: x, e_1: e, p: x, y_p: motion, q: x, y_q: motion}
        body.update({a: select(start, b, a) for a, b in first.items()})
        rise = body.put("rise", x - x_1)
        turned = Op("and", (Op("le", (rise * rise_1, Const(0.0))), Op("ne", (rise_1, Const(0.0)))))
        far = Op("gt", (abs(x_1 - p), Const(self.threshold)))
        turning = body.put("turning", Op("and", (turned, far)))
        stroke = body.put("stroke", select(turning > 0.5, x_1 - p, 1))
        size = stroke * stroke + x_1 * x_1 + p * p
        missing = body.put("missing", (e_1 - (p - y_p)) * stroke / size)
        # One bad sample may not carry a parameter across its range.
        share = clipped(self.gain_step * missing, -0.1, 0.1, 0)
        adapted = clipped(gain * (1 + share), self.least_gain, self.largest_gain, gain)
        louder = body.put("louder", select(turning > 0.5, adapted, gain))
        middle = body.put("middle", 0.5 * (p + q))
        passed = Op("le", ((x - middle) * (x_1 - middle), Const(0.0)))
        apart = Op("gt", (abs(p - q), Const(self.threshold)))
        moving = Op("ne", (rise, Const(0.0)))
        crossing = body.put("crossing", Op("and", (Op("and", (passed, apart)), moving)))
        divisor = body.put("divisor", select(crossing > 0.5, rise, 1))
        beside = body.put("beside", middle - 0.5 * (y_p + y_q))
        # The error where the straight line between the samples crosses, over the line's slope.
        at_crossing = e_1 + (middle - x_1) * ((e - e_1) / divisor)
        late = body.put("late", (at_crossing - beside) * T / divisor)
        step = clipped(self.delay_step * late, -0.1 * most, 0.1 * most, 0)
        # Under another gain the motion at the turning points would have been another.
        ratio = louder / gain
        moved = {q: p, y_q: y_p * ratio, p: x_1, y_p: (x_1 - e_1) * ratio}
        body.update(
            {
                tau: select(crossing > 0.5, clipped(tau + step, least, most, tau), tau),
                gain: louder,
                **{a: select(turning > 0.5, b, a) for a, b in moved.items()},
                x_1: x,
                e_1: e,
                rise_1: rise,
            }
        )
        return body.applied(late)
