"""An inverse of a few taps by recursive least squares, alone and behind a prediction."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.control.adaptive.adaptive_feedforward import expect_beginning
from bondloop.control.base import Compensator, channel
from bondloop.control.blocks.filters import (
    LinearFilter,
    butterworth,
    clipped,
    coefficient_matrix,
    dot,
    earlier,
    from_first,
    late,
    motion_gate,
    weighted,
)
from bondloop.control.blocks.least_squares import RecursiveLeastSquares
from bondloop.control.feedforward.inverse_model import inverse_series, shifted
from bondloop.control.feedforward.polynomial_prediction import PolynomialPrediction
from bondloop.engine.data import POSITIVE, Parameter, Whole, number
from bondloop.engine.ir import (
    Assign,
    Channel,
    Const,
    Expr,
    Op,
    Product,
    Quantity,
    Role,
    Var,
    select,
)
from bondloop.engine.passes import Applied, Context, Statements
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control.base import Measured
    from bondloop.transfer import Process


@dataclass(frozen=True)
class RecursiveFir(Compensator):
    """Adaptive inverse of a few taps (RLS-FIR): the newest demands, weighed by recursive least squares.

    With n taps θ and the newest n demands x the command is u = θ·x. The taps are those that give, of the
    newest *measured* displacements φ, the command u that was sent, both through the same low pass (marked by
    a bar)::

        g = P φ̄/(λ + φ̄·P φ̄),   θ ← θ + g (ū - θ·φ̄),   P ← (P - g φ̄ᵀP)/λ.

    The new taps make the command of the same sample, which the filtered command contains with the filter's
    first weight b: a loop without delay, but linear, so it is solved,
    u = (θ·x + (g·x)(ū₀ - θ·φ̄))/(1 - b g·x), with ū₀ the filter's output without u.

    P is kept in factors, and nothing is learned where the command does not move. What the taps are for slow
    motions, a gain a0 = Σ θ_i and derivatives a_j = Σ θ_i (-i T)^j/j!, stays within bounds: as many numbers
    as taps, so the bounds are on the taps too.

    Parameters
    ----------
    taps
        How many demands.
    initial
        First taps, newest demand first, moved to their bounds where beyond them. None for those of
        ``process``, or of no delay at all.
    covariance
        P at the beginning, in 1/m²: a number p for p·I, or a symmetric matrix, row by row. Large means that
        little is known, and that the first motions decide; 0 keeps the taps as they are.
    memory
        Time in s of motion after which a sample counts 1/e, λ = e^(-T/memory); 1e9 for hardly ever, λ = 1.
    filter_frequency
        Corner in Hz of the low pass, of Butterworth and fourth order.
    largest_delay
        L in s: |a_j| is at most L^j/j!.
    least_gain, largest_gain
        Bounds of a0.
    threshold
        In m: where the command moves less than a tenth of it within L, nothing is adapted.
    ahead
        By how many samples the motion leads the demand, to make up for the hold and a force that comes late.
    process
        Model of the transfer system: the taps begin as its inverse for slow motions.

    Examples
    --------
    A plant that is two samples late begins with taps that carry the demand on by two:

    >>> from bondloop.transfer import Process
    >>> law = RecursiveFir(3, process=Process((1.0,), (1.0,), 0.002))
    >>> law.first_taps(0.001).round(6).tolist()
    [6.0, -8.0, 3.0]

    References
    ----------
    Quiroz, Gálmez and Fermandois (2024), Robust decentralized adaptive compensation for the multi-axial
    real-time hybrid simulation benchmark, Frontiers in Built Environment 10, 1394952.
    """

    adapts: ClassVar[bool] = True

    taps: Whole = Whole(4, least=1, most=8)
    initial: tuple[float, ...] | None = None
    covariance: float | tuple[tuple[float, ...], ...] = 1e12
    memory: Parameter = Parameter(1e9, above=0, unit="s")
    filter_frequency: Parameter = Parameter(20.0, above=0, unit="Hz")
    largest_delay: Parameter = Parameter(0.1, above=0, unit="s")
    least_gain: Parameter = Parameter(0.5, above=0, unit="1")
    largest_gain: Parameter = Parameter(2.0, least=1, unit="1")
    threshold: Parameter = Parameter(1e-4, above=0, unit=("m", "rad"))
    ahead: Parameter = Parameter(0.0, least=0, most=10, unit="1")
    process: Process | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        name = type(self).__name__
        expect_beginning(self, "initial taps" if self.initial is not None else "", leading=True)
        if self.initial is not None:
            stated: object = self.initial  # whatever stands in a file
            if isinstance(stated, (list, tuple)):
                stated = [number(x, f"{name}(initial)", "1") if isinstance(x, str) else x for x in stated]
            taps = _finite(stated, f"{name}(initial)", (self.taps,))
            object.__setattr__(self, "initial", tuple(taps.tolist()))
        single = isinstance(self.covariance, (int, float)) and not isinstance(self.covariance, bool)
        rows = _finite(
            self.covariance, f"{name}(covariance)", () if single else (self.taps, self.taps)
        ).tolist()
        object.__setattr__(self, "covariance", rows if single else tuple(tuple(row) for row in rows))
        P = self._covariance()
        sizes = np.linalg.eigvalsh(P)
        if not np.allclose(P, P.T, rtol=1e-9, atol=0) or sizes[0] < -1e-9 * abs(sizes[-1]):
            raise InputError(
                f"{name}(covariance): expected a symmetric matrix without negative eigenvalues; found "
                f"{self.covariance!r:.60}"
            )

    def _covariance(self) -> NDArray[np.float64]:
        if isinstance(self.covariance, float):
            return np.asarray(self.covariance * np.eye(self.taps))
        return np.array(self.covariance)

    def first_taps(self, period: float | str) -> NDArray[np.float64]:
        """Return the taps at the beginning for a sample period in s, within their bounds."""
        period = POSITIVE.check(period, "period", "s")
        to_series, to_taps = self._series(period)
        if self.initial is not None:
            series = to_series @ self.initial
        else:
            plain = [1.0] + [0.0] * (self.taps - 1)
            if self.process is not None:
                plain = inverse_series(self.process, self.taps - 1, "process")
            first = self.first_stage if self.process is not None else None
            early = self.ahead * period - (0.0 if first is None else float(first.delay))
            series = np.array(shifted(plain, early))
        low, high = np.array(self.bounds()).T
        return np.asarray(to_taps @ np.clip(series, low, high), dtype=float)

    def bounds(self) -> list[tuple[float, float]]:
        """Return the least and the largest value of a0, a1, ..."""
        scales = [self.largest_delay**j / math.factorial(j) for j in range(1, self.taps)]
        return [(self.least_gain, self.largest_gain), *((-s, s) for s in scales)]

    def _series(self, period: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the matrices that make a0, a1, ... of taps, and taps of those."""
        n = self.taps
        ago = -period * np.arange(n)
        factorials = [math.factorial(j) for j in range(n)]
        to_series = np.array([ago**j / f for j, f in enumerate(factorials)])
        matrix, scale = coefficient_matrix(ago.tolist(), n - 1)
        weights = np.array([matrix[j] * (f / scale**j) for j, f in enumerate(factorials)])
        return to_series, weights.T

    @property
    def first_stage(self) -> PolynomialPrediction | None:
        """The fixed prediction before the taps; None for none."""
        return None

    def _predicted(self, value: Expr, context: Context, word: str) -> Applied:
        """Return what is done before the taps, without states: to the demand and to the measured motion."""
        first = self.first_stage
        if first is None:
            return Applied([], value)
        ticks, weights = first.ticks(context.period), first.weights(context.period)
        steps, past = earlier(value, ticks, context, f"{word}_history")
        return Applied(steps, weighted(weights.tolist(), past))

    def _low_pass(self, order: int = 4) -> LinearFilter:
        return butterworth(order, self.filter_frequency)

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command."""
        name, n, T, body = context.name, self.taps, context.period, Statements(context.name)
        first, origin = from_first(desired, context)
        wanted = self._predicted(first.value, context, "demand")
        demands, deviations = earlier(wanted.value, range(n), context, "demand")
        x = [origin + d for d in deviations]
        started, place = from_first(measured.displacement, Context(f"{name}.motion", context.count, T))
        later, motion = late(started.value, self.ahead, context, "motion")
        low = self._low_pass()
        seen, _ = low.apply(motion, context, "filtered_motion")
        moved = self._predicted(seen.value, context, "motion")
        past, shifts = earlier(moved.value, range(n), context, "seen")
        phi = [place + d for d in shifts]
        command, before, earlier_still = (body.var(w) for w in ("fir", "sent_before", "sent_earlier"))
        rest = float(self.first_taps(T).sum()) * origin
        sent, _ = low.settled(command, rest, context, "filtered_command")
        stride = (self.largest_delay / T) * (before - earlier_still)
        gate, moving = motion_gate(stride, self.threshold, context)
        body.add(first, wanted)
        body.steps += demands
        body.add(started)
        body.steps += later
        body.add(seen, moved)
        body.steps += past
        body.states |= sent.states
        body.add(gate)
        body.states |= {before: 0.0, earlier_still: 0.0}
        # The filtered command is what its past makes of it, and a share of the command that is to be found.
        _, _, C, H = low.discrete(T)
        known = body.put("known", weighted([*C[0], 1 - H[0, 0]], [*sent.states, rest]))
        law, taps = self._law(phi, x, known, float(H[0, 0]), moving, context)
        body.add(law)
        body.steps.append(Assign(command, dot(taps, x)))
        body.add(sent)
        body.update({before: sent.value - rest, earlier_still: before})
        body.channels += [
            Channel.of(channel(context, f"tap{i}"), t, Quantity("coefficient"), Role.ESTIMATE)
            for i, t in enumerate(taps)
        ]
        return body.applied(command)

    def _law(
        self,
        phi: Sequence[Expr],
        x: Sequence[Expr],
        known: Var,
        fresh: float,
        moving: Var,
        context: Context,
    ) -> tuple[Applied, list[Var]]:
        """Return one update of the taps for an explained command of ``known + fresh u``, and the taps."""
        body, n = Statements(context.name), self.taps
        steps, put = body.steps, body.put
        start = self.first_taps(context.period)
        # With θ = start + R·shift and R Rᵀ = P the covariance of the shift begins as 1.
        sizes, axes = np.linalg.eigh(self._covariance())
        R = axes * np.sqrt(np.maximum(sizes, 0.0))

        def product(word: str, matrix: NDArray[np.float64], values: Sequence[Expr]) -> list[Var]:
            result = [body.var(f"{word}[{i}]") for i in range(len(matrix))]
            steps.append(Product(tuple(result), matrix, tuple(values)))
            return result

        def taps_of(word: str, shift: Sequence[Expr]) -> list[Var]:
            moved = zip(product(f"{word}_shift", R, shift), start.tolist(), strict=True)
            return [put(f"{word}_tap[{i}]", v + first) for i, (v, first) in enumerate(moved)]

        estimator = RecursiveLeastSquares((0.0,) * n, memory=self.memory, threshold=0.0)
        place = Context(f"{body.name}.fit", context.count, context.period)
        correction = estimator.begin(product("rotated", R.T, phi), place, when=moving)
        steps += correction.steps
        done = len(correction.steps)
        old = taps_of("old", correction.estimates)
        error = put("tap_error", known - dot(old, phi))
        reply = put("reply", dot(product("tap_gain", R, correction.gains), x))
        divisor = put("divisor", 1 - fresh * reply)
        plain = put("plain", dot(old, x))
        # A divisor near zero would make a huge command of any error; the old taps' command is explained then.
        sound = divisor > 0.5
        solved = put("solved", select(sound, (plain + reply * error) / select(sound, divisor, 1), plain))
        estimate = correction.finish(known + fresh * solved - weighted(start.tolist(), phi))
        steps += estimate.applied.steps[done:]
        new = taps_of("new", estimate.parameters)
        to_series, to_taps = self._series(context.period)
        series = product("series", to_series, new)
        inside: Expr = Const(1.0)
        kept: list[Expr] = []
        for a, a_first, (least, most) in zip(series, to_series @ start, self.bounds(), strict=True):
            inside = Op("and", (inside, Op("and", (a >= least, a <= most))))
            kept.append(clipped(a, least, most, float(a_first)))
        within = put("within", inside)
        near = product("near_tap", to_taps, [put(f"kept[{i}]", a) for i, a in enumerate(kept)])
        taps = [
            put(f"tap[{i}]", select(within > 0.5, a, b))
            for i, (a, b) in enumerate(zip(new, near, strict=True))
        ]
        body.states.update(estimate.applied.states)
        body.adapted += estimate.adapted
        return body.applied(taps[0]), taps


def _finite(values: object, what: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    words = {0: "a number", 1: "{} numbers", 2: "{} rows of {} numbers"}[len(shape)].format(*shape)
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        array = np.full((), np.nan)
    if array.shape != shape or not np.all(np.isfinite(array)):
        raise InputError(f"{what}: expected {words}; found {values!r:.60}")
    return array


@dataclass(frozen=True)
class TwoStageAdaptive(RecursiveFir):
    """Two-stage adaptive delay compensation (TADC): a prediction for the bulk, adaptive taps for the rest.

    The first stage carries the demand on by a fixed delay τ, by a polynomial. The second is a discrete model
    of what the transfer system is besides that delay, turned round: u = θ·p of the newest predicted demands
    p. Its taps are found by recursive least squares as in `RecursiveFir`, as those that give the command that
    was sent, of the newest measured displacements after the low pass *and the same prediction*; so what the
    prediction does wrong is made up for too. The taps begin near 1, 0, 0 and have less to learn, amplitude
    and delay alike. The prediction's gain for fast motions multiplies that of the taps: a long one of high
    order can make the loop unstable far above the earthquake, so let the check look at it.

    Parameters
    ----------
    taps
        How many predicted demands.
    initial
        First taps, newest first. None for 1, 0, 0, or for those of ``process``.
    covariance
        Of the first taps, in 1/m², see `RecursiveFir`.
    memory
        Time in s of motion after which a sample counts 1/e; 1e9 for hardly ever.
    filter_frequency
        Corner in Hz of the low pass for command and measured motion.
    largest_delay
        L in s: coefficient a_j of the taps is at most L^j/j!, either way.
    least_gain, largest_gain
        Bounds of the taps' sum.
    threshold
        In m: where the command moves less than a tenth of it within L, nothing is adapted.
    ahead
        By how many samples the motion leads the demand, to make up for the hold and a force that comes late.
    process
        Model of the transfer system: the taps begin as the inverse of what it is besides the delay.
    prediction
        The first stage: a `PolynomialPrediction` over the part of the delay that is known.

    Examples
    --------
    >>> from bondloop.transfer import first_order
    >>> late = first_order(gain=1.0, time_constant=0.004, delay=0.008)
    >>> first = PolynomialPrediction("10 ms", order=3, span="20 ms")
    >>> law = TwoStageAdaptive(2, process=late, prediction=first)
    >>> law.first_taps(0.001).round(6).tolist()
    [3.0, -2.0]

    References
    ----------
    Wang, Ning, Xu, Zhou and Wu (2019), High performance compensation using an adaptive strategy for real-time
    hybrid simulation, Mechanical Systems and Signal Processing 133, 106262; Wang, Yan, Ning and Wu (2020),
    Shock and Vibration.
    """

    taps: Whole = Whole(3, least=1, most=8)
    prediction: PolynomialPrediction = field(kw_only=True)

    def __post_init__(self) -> None:
        first: object = self.prediction
        if not isinstance(first, PolynomialPrediction) or first.adapts:
            raise InputError(
                "TwoStageAdaptive(prediction): expected a PolynomialPrediction; the second stage adapts; "
                f"found {type(first).__name__}"
            )
        super().__post_init__()

    @property
    def first_stage(self) -> PolynomialPrediction:
        """The prediction over the part of the delay that is known."""
        return self.prediction
