"""Two-stage adaptive delay compensation (Wang, Ning, Xu, Zhou and Wu 2019)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bondloop.control.demand_history import earlier, weighted
from bondloop.control.polynomial_prediction import PolynomialPrediction
from bondloop.control.recursive_fir import RecursiveFir
from bondloop.errors import InputError
from bondloop.program.block import Applied
from bondloop.program.described import Whole

if TYPE_CHECKING:
    from bondloop.program.block import Context
    from bondloop.program.expr import Expr

__all__ = ["TwoStageAdaptive"]


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

    def _stage_delay(self) -> float:
        """Return the delay that the prediction makes up for."""
        return float(self.prediction.delay)

    def _stage(self, value: Expr, context: Context, word: str) -> Applied:
        """Return a value's prediction."""
        ticks, weights = self.prediction.ticks(context.period), self.prediction.weights(context.period)
        steps, past = earlier(value, ticks, context, f"{word}_history")
        return Applied(steps, weighted(weights.tolist(), past))
