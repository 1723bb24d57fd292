"""A PID controller around the actuator's own loop, and the Smith predictor around that (Smith 1957)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.control.base import Compensator
from bondloop.control.blocks.filters import DiscreteFilter, LinearFilter, from_first, rational
from bondloop.control.feedforward.inverse_model import expect_process
from bondloop.control.feedforward.polynomial_prediction import PolynomialPrediction
from bondloop.control.tolerances import SHORTEST_LAG
from bondloop.engine.data import Parameter
from bondloop.engine.ir import Delay, Expr
from bondloop.engine.passes import Applied, Context, Statements
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.control.base import Measured
    from bondloop.engine.ir import Expr
    from bondloop.transfer import Process


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
        body = Statements(context.name)
        first, origin = from_first(desired, context)
        led = body.add(first, self._lead.apply(first.value, context, "lead")[0])
        error = led - (measured.displacement - origin)
        return body.applied(origin + body.add(self._pid.apply(error, context, "pid")[0]))


@dataclass(frozen=True)
class SmithPredictor(Compensator):
    """Closes a loop around a transfer system as if it had no delay.

    A delay bounds the gains of a loop. Here a model G₀(s) e^(-sτ) runs beside the transfer system. The loop
    is closed on the model's motion *before* its delay, and what the measured motion x differs from the
    model's after it is added::

        u = C(s) (x_d - [G₀ u + x - G₀ e^(-sτ) u])

    With the right model the delay drops out of the loop, and x is what C and G₀ would give without a delay,
    τ later: the gains may be those for G₀ alone. The delay itself stays. Where it must go, as in a
    hybrid test, give a ``prediction`` of the demand over it.

    The model is discretised exactly for a held command, with any part of a sample in its delay.

    Parameters
    ----------
    process
        Model of the transfer system, stable, with its delay; one that jumps with its command is refused.
    loop
        C: gains and, on the demand, a lead.
    prediction
        Of the demand; None for none.

    Examples
    --------
    >>> from bondloop.transfer import first_order
    >>> late = first_order(gain=1.0, time_constant=0.015, delay=0.009)
    >>> law = SmithPredictor(late, OuterLoop(3.0, 200.0), PolynomialPrediction("9 ms", 2, span="20 ms"))
    >>> law.process.delay, law.loop.integral
    (0.009, 200.0)

    References
    ----------
    Smith (1957), Closer control of loops with dead time, Chemical Engineering Progress 53(5).
    """

    process: Process
    loop: OuterLoop
    prediction: PolynomialPrediction | None = None

    def __post_init__(self) -> None:
        expect_process(self.process, "SmithPredictor(process)")
        for word, kind in (("loop", OuterLoop), ("prediction", PolynomialPrediction)):
            part = getattr(self, word)
            if not isinstance(part, kind) and not (word == "prediction" and part is None):
                raise InputError(
                    f"SmithPredictor({word}): expected {kind.__name__}(...); found {type(part).__name__}"
                )
        if self.prediction is not None and self.prediction.adapts:
            raise InputError("SmithPredictor(prediction): one that adapts is not taken; its loop is fixed")
        if not self.process.stable:
            raise InputError(
                "SmithPredictor: the process model is not stable, so it would leave what it models; "
                f"its poles are at {', '.join(f'{p:.4g}' for p in self.process.poles())} rad/s"
            )
        if self.process.relative_degree < 1:
            raise InputError(
                "SmithPredictor: the process model jumps with its command, which closes a loop without "
                "delay; give one with more poles than zeros"
            )

    def _model(self, period: float) -> tuple[DiscreteFilter, int]:
        """Return the model for a held command, and by how many whole samples its second output is later.

        Its input is the command that acted since the last sample, its state the model's at that sample. The
        first output is the motion without the delay, at this sample; the second the motion some part of a
        sample ago. Both go forward from the last sample: backwards a fast pole would explode.
        """
        from scipy.linalg import expm

        plain = rational(self.process.numerator, self.process.denominator)
        samples = self.process.delay / period
        whole = math.floor(samples + 1e-9)
        part = max(samples - whole, 0.0) * period

        def over(time: float) -> tuple[np.ndarray, np.ndarray]:
            n = len(plain.A)
            big = np.zeros((n + 1, n + 1))
            big[:n, :n], big[:n, n:] = plain.A * time, plain.B * time
            e = expm(big)
            return e[:n, :n], e[:n, n:]

        (F, G), (F_left, G_left) = over(period), over(period - part)
        C = np.vstack([plain.C @ F, plain.C @ F_left])
        return DiscreteFilter(F, G, C, np.vstack([plain.C @ G, plain.C @ G_left])), whole

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command."""
        name, body = context.name, Statements(context.name)
        first, origin = from_first(desired, context)
        wanted: Expr = origin + body.add(first)
        if self.prediction is not None:
            place = Context(f"{name}.predicted", context.count, context.period)
            wanted = body.add(self.prediction.compensate(wanted, measured, place))
        model, whole = self._model(context.period)
        before = body.var("sent_before")
        moved, (now, then) = model.apply(before, context, "model")
        body.add(moved)
        body.states[before] = 0.0
        if whole:
            late = body.var("late")
            body.steps.append(Delay(late, then, whole))
            then = late
        corrected = body.put("corrected", measured.displacement - then + now)
        place = Context(f"{name}.loop", context.count, context.period)
        closed = self.loop.compensate(wanted, replace(measured, displacement=corrected), place)
        command = body.put("smith", body.add(closed))
        body.update({before: command - origin})
        return body.applied(command)
