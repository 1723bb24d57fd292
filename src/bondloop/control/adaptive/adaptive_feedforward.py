"""Feedforward of the demand's derivatives with coefficients that adapt: three published laws."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from bondloop.control.base import LearnsRemainder, channel
from bondloop.control.blocks.filters import (
    LinearFilter,
    backward_differences,
    dot,
    earlier,
    from_first,
    from_line,
    late,
    motion_gate,
    moved,
    state_variable_filter,
    weighted,
)
from bondloop.control.blocks.least_squares import MovingWindow, RecursiveLeastSquares, solve_symmetric
from bondloop.control.feedforward.inverse_model import expect_process, inverse_series, shifted
from bondloop.control.tolerances import PRIOR_WEIGHT
from bondloop.engine.data import NOT_NEGATIVE, Parameter, Whole
from bondloop.engine.ir import Channel, Const, Expr, Op, Quantity, Role, Var, select
from bondloop.engine.passes import Applied, Context, Statements
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.control.adaptive.recursive_fir import RecursiveFir
    from bondloop.control.base import Measured
    from bondloop.transfer import Process


@dataclass(frozen=True)
class Learning:
    """What a law learns from at a sample; coefficients and regressors in the units of `scales`.

    Attributes
    ----------
    regressors
        The measured motion and its derivatives, behind the filter.
    command
        The command that caused it, behind the same filter.
    coefficients
        As they are.
    moving
        Whether the command moves.
    bounds
        Of the coefficients, in SI units.
    context
        Names and period.
    """

    regressors: Sequence[Var]
    command: Var
    coefficients: Sequence[Var]
    moving: Var
    bounds: Sequence[tuple[float, float]]
    context: Context


def expect_beginning(law: AdaptiveFeedforward | RecursiveFir, other: str, *, leading: bool) -> None:
    """Refuse first coefficients that are given twice, or that are beyond their bounds.

    Parameters
    ----------
    law
        The compensator.
    other
        What else it is given to begin with; "" for nothing.
    leading
        Whether its inverse may be late as well as early.
    """
    name = type(law).__name__
    if law.least_gain > 1:
        raise InputError(
            f"{name}: least_gain must be at most 1, from where the gain starts; found {law.least_gain:g}"
        )
    if law.process is None:
        return
    expect_process(law.process, f"{name}(process)")
    if other:
        raise InputError(f"{name}: {other} and a process are two beginnings; give one of them")
    gain, lag = inverse_series(law.process, 1, f"{name}(process)")
    if not law.least_gain <= gain <= law.largest_gain:
        raise InputError(
            f"{name}: the inverse of the process has a gain of {gain:g}, which is not between "
            f"{law.least_gain:g} and {law.largest_gain:g}; change least_gain or largest_gain"
        )
    least = -law.largest_delay if leading else 0.0
    if not least <= lag <= law.largest_delay:
        raise InputError(
            f"{name}: the inverse of the process has {lag:g} s for the rate, which is not between "
            f"{least:g} and the largest delay, {law.largest_delay:g} s; raise largest_delay"
        )


@dataclass(frozen=True)
class AdaptiveFeedforward(LearnsRemainder, family="controller"):
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
        expect_beginning(self, f"a delay of {self.delay:g} s" if self.delay else "", leading=False)

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
    def _targets(self, known: Learning) -> tuple[Applied, list[Expr]]:
        """Return statements, and where the coefficients (in their units inside) should go if it moves."""

    def _smooth(self, factor: float = 5.0) -> LinearFilter:
        """Return the filter whose outputs are the derivatives that an `AdaptiveRemainder` works with.

        Its corner is a multiple of that of the filter that is learned by. Differences of what an inverse has
        differentiated already would make the loop's gain for fast motions larger than 1.
        """
        return state_variable_filter(self.order, factor * self.filter_frequency)

    def _command(
        self, demand: Expr, coefficients: Sequence[Var], smooth: bool, context: Context, word: str
    ) -> Applied:
        """Return statements whose value is the sum of the demand's derivatives times the coefficients."""
        scales, points = self.scales(), max(self.order, 2) + 1
        first, line, rate = from_line(demand, context)
        body = Statements(context.name)
        body.add(first)
        if smooth:
            applied, rates = self._smooth().apply(first.value, context, "smooth")
            body.add(applied)
        else:
            steps, past = earlier(first.value, range(points), context, "demand")
            body.steps += steps
            differences = [backward_differences(j, points, context.period) for j in range(self.order + 1)]
            rates = [weighted(weights.tolist(), past) for weights in differences]
        total: Expr = coefficients[0] * (line + first.value) + coefficients[1] * (scales[1] * rate)
        for j in range(1, self.order + 1):
            total = total + coefficients[j] * (Const(scales[j]) * rates[j])
        return body.applied(body.put(word, total))

    def _adapted(self, desired: Expr, sent: Expr | None, measured: Measured, context: Context) -> Applied:
        scales, bounds, name = self.scales(), self.bounds(both=sent is not None), context.name
        body = Statements(name)
        first = [a / s for a, s in zip(self.initial(context.period), scales, strict=True)]
        coefficients = [body.state(f"coefficient[{j}]", a) for j, a in enumerate(first)]
        chained = sent is not None
        outgoing = command = body.add(self._command(desired, coefficients, chained, context, "feedforward"))
        if sent is not None:
            through = replace(context, name=f"{name}.through", velocity=None)
            outgoing = body.add(self._command(sent, coefficients, chained, through, "command"))
        low = state_variable_filter(self.order, self.filter_frequency)
        begun, origin = from_first(desired, replace(context, name=f"{name}.start"))
        rest = self.initial()[0] * origin
        commanded, sent_outputs = low.settled(command, rest, context, "filtered_command")
        started, stood = from_first(measured.displacement, replace(context, name=f"{name}.motion"))
        # Motion that counts as so much later is compensated for, and so comes so much earlier.
        more, motion = late(started.value, self.ahead, context, "motion")
        seen, seen_outputs = low.settled(stood + motion, stood, context, "filtered_motion")
        gate, moving = motion_gate(self.largest_delay * sent_outputs[1], self.threshold, context)
        body.add(begun, commanded, started)
        body.steps += more
        body.add(seen, gate)
        if chained:  # what the command is made of, of the measured motion
            rated, rates = self._smooth().apply(seen_outputs[0] - stood, context, "smooth_motion")
            body.add(rated)
            seen_outputs = [seen_outputs[0], *rates[1:]]
        scaled = enumerate(zip(scales, seen_outputs, strict=True))
        regressors = [body.put(f"regressor[{j}]", s * y) for j, (s, y) in scaled]
        filtered = body.put("sent", sent_outputs[0])
        law, targets = self._targets(Learning(regressors, filtered, coefficients, moving, bounds, context))
        body.add(law)
        changes: dict[Var, Expr] = {}
        for c, target, s, (least, most) in zip(coefficients, targets, scales, bounds, strict=True):
            step = self.slew * context.period * (most - least) / s
            near = moved(c, target, least / s, most / s, step)
            changes[c] = select(moving > 0.5, near, c)
        body.update(changes)
        units = ("", "s", "s^2", "s^3")
        body.channels += [
            Channel.of(channel(context, f"a{j}"), c * s, Quantity("coefficient", units[j]), Role.ESTIMATE)
            for j, (c, s) in enumerate(zip(coefficients, scales, strict=True))
        ]
        body.adapted += coefficients
        return body.applied(outgoing)


@dataclass(frozen=True)
class AdaptiveTimeSeries(AdaptiveFeedforward):
    """Adaptive time series (ATS): least squares over a moving window, at every sample.

    The command is u = a0 x + a1 dx/dt + a2 d2x/dt2, of the demand x. The coefficients are those that give,
    of the *measured* displacement, the commands that were sent: the least-squares solution over the last
    ``window`` seconds. They move towards it by a limited rate, within bounds. The hold of the command is
    part of what is identified, so a1 includes half a sample period.

    A single sine cannot tell a0 from a2; a prior of relative weight 1e-6 then keeps both near where they
    began. Where the measured motion is below ``threshold``, nothing is adapted.

    Parameters
    ----------
    delay
        The expected delay in s; the coefficients begin as 1, delay, delay^2/2.
    order
        Highest derivative of the demand.
    largest_delay
        L in s: coefficient j stays between 0 and L^j/j!.
    least_gain, largest_gain
        Bounds of a0.
    slew
        How much of its range a coefficient may cross in a second.
    filter_frequency
        Corner in Hz of the filter (order + 1 equal poles) through which command and measured motion go.
    threshold
        Rms displacement in m over the window below which nothing is adapted.
    ahead
        By how many samples the motion leads the demand, to make up for the hold and a force that comes late.
    window
        Length of the window in s.
    process
        Model of the transfer system, in place of a delay: the coefficients begin as those of its inverse for
        slow motions, as far as their bounds allow.

    References
    ----------
    Chae, Kazemibidokhti and Ricles (2013), EESD 42(11), 1697-1715.
    """

    window: Parameter = Parameter(1.0, above=0, unit="s")

    def _targets(self, known: Learning) -> tuple[Applied, list[Expr]]:
        regressors, context, n = known.regressors, known.context, len(known.regressors)
        pairs = [(i, j) for i in range(n) for j in range(i + 1)]
        products = [regressors[i] * regressors[j] for i, j in pairs]
        products += [r * known.command for r in regressors]
        window = MovingWindow.of(self.window, context.period)
        applied, sums = window.sums(products, context, "sum")
        matrix = dict(zip(pairs, sums[: len(pairs)], strict=True))
        right = sums[len(pairs) :]
        trace: Expr = Const(0.0)
        for i in range(n):
            trace = trace + matrix[i, i]
        enough = float(self.threshold) ** 2 * window.samples * (window.parts - 1) / window.parts
        body = Statements(context.name)
        body.add(applied)
        active, size = body.put("adapting", Op("gt", (matrix[0, 0], Const(enough)))), body.put("size", trace)
        start = [a / s for a, s in zip(self.initial(context.period), self.scales(), strict=True)]
        entries: list[list[Expr]] = []
        given: list[Expr] = []
        for i in range(n):
            prior = PRIOR_WEIGHT * (matrix[i, i] + size)
            row: list[Expr] = [select(active > 0.5, matrix[i, j], 0) for j in range(i)]
            entries.append([*row, select(active > 0.5, matrix[i, i] + prior, 1)])
            given.append(select(active > 0.5, right[i] + prior * start[i], 0))
        steps, solution = solve_symmetric(entries, given, f"{context.name}.fit")
        body.steps += steps
        targets = [select(active > 0.5, x, c) for x, c in zip(solution, known.coefficients, strict=True)]
        return body.applied(applied.value), targets


@dataclass(frozen=True)
class ConditionalTimeSeries(AdaptiveFeedforward):
    """Conditional adaptive time series (CATS): recursive least squares under conditions, without a window.

    Command and coefficients are as in `AdaptiveTimeSeries`, the latter by recursive least squares with
    forgetting; so every sample costs the same and nothing drops out of a window. Conditions stand in its
    place. A sample is used only if the command moves and the measured motion is above ``threshold``, and what
    is not used makes nothing forgotten either; estimates stay within their bounds, and the coefficients
    follow them by a limited rate. It forgets gradually where `AdaptiveTimeSeries` forgets at once: calmer
    with noise, slower after a change.

    Parameters
    ----------
    delay, order, largest_delay, least_gain, largest_gain, slew, filter_frequency, ahead, process
        As of `AdaptiveTimeSeries`.
    threshold
        Displacement in m: below it (the derivatives weighed by L) a sample is not used.
    memory
        Time in s of motion after which a sample counts 1/e.

    References
    ----------
    Palacio-Betancur and Gutierrez Soto (2019), Adaptive tracking control for real-time hybrid simulation of
    structures subjected to seismic loading, Mechanical Systems and Signal Processing 134, 106345.
    """

    memory: Parameter = Parameter(4.0, above=0, unit="s")

    def _targets(self, known: Learning) -> tuple[Applied, list[Expr]]:
        scales, context = self.scales(), known.context
        uncertainty = 0.1  # standard deviation of the first coefficients, as a share of their largest values
        estimator = RecursiveLeastSquares(
            tuple(a / s for a, s in zip(self.initial(context.period), scales, strict=True)),
            uncertainty=uncertainty,
            noise=self.threshold,
            memory=self.memory,
            least=tuple(low / s for (low, _), s in zip(known.bounds, scales, strict=True)),
            most=tuple(high / s for (_, high), s in zip(known.bounds, scales, strict=True)),
            threshold=uncertainty,  # of the regressors times the uncertainty over the noise: the threshold's
        )
        place = Context(f"{context.name}.fit", context.count, context.period)
        estimate = estimator.apply(known.regressors, known.command, place, when=known.moving)
        return estimate.applied, list(estimate.parameters)


@dataclass(frozen=True)
class AdaptiveModelBased(AdaptiveFeedforward):
    """The inverse of a model of first, second or third order, adapted by a normalised gradient.

    The command is as in `AdaptiveTimeSeries`. With the measured motion's own derivatives phi and the
    estimation error e = u - a.phi, the coefficients follow da/dt = rate * phi e/(threshold^2 + phi.phi), a
    gradient whose step never overshoots: the error that the old data leaves cannot grow. Simpler and steadier
    than least squares, and slower where the motion is nearly a single sine.

    Parameters
    ----------
    delay, order, largest_delay, least_gain, largest_gain, slew, filter_frequency, ahead, process
        As of `AdaptiveTimeSeries`; the largest delay also weighs the gradient's components.
    threshold
        Displacement in m below which adaptation fades; a tenth of it ends it, see `motion_gate`.
    rate
        Speed of adaptation in 1/s.

    References
    ----------
    Chen, Chang, Spencer and Tsai (2015), Bulletin of Earthquake Engineering 13(6), 1683-1714.
    """

    rate: Parameter = Parameter(20.0, above=0, unit="1/s")

    def _targets(self, known: Learning) -> tuple[Applied, list[Expr]]:
        context, regressors, coefficients = known.context, known.regressors, known.coefficients
        body = Statements(context.name)
        error = body.put("estimation_error", known.command - dot(regressors, coefficients))
        size = body.put("size", dot(regressors, regressors))
        level = float(self.threshold) ** 2
        step = min(1.0, self.rate * context.period)
        push = body.put("push", step * error / (size + level))
        return body.applied(error), [c + push * r for c, r in zip(coefficients, regressors, strict=True)]
