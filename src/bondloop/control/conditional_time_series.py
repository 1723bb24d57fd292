"""The conditional adaptive time series compensator (Palacio-Betancur and Gutierrez Soto 2019)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.control.adaptive_feedforward import AdaptiveFeedforward
from bondloop.control.recursive_least_squares import RecursiveLeastSquares
from bondloop.program.block import Applied, Context
from bondloop.program.described import Parameter

if TYPE_CHECKING:
    from bondloop.program.expr import Expr, Var

__all__ = ["ConditionalTimeSeries"]

UNCERTAINTY = 0.1
"""Standard deviation of the first coefficients, as a share of their largest values."""


@dataclass(frozen=True)
class ConditionalTimeSeries(AdaptiveFeedforward):
    """Conditional adaptive time series (CATS): recursive least squares under conditions, without a window.

    The command is u = a0 x + a1 dx/dt + a2 d2x/dt2, of the demand x. The coefficients are those that give, of
    the *measured* displacement, the commands that were sent, by recursive least squares with forgetting; so
    every sample costs the same and nothing drops out of a window. Conditions stand in its place. A sample
    is used only if the command moves and the measured motion is above ``threshold``, and what is not used
    makes nothing forgotten either; estimates stay within their bounds, and the coefficients follow them by
    a limited rate. It forgets gradually where `AdaptiveTimeSeries` forgets at once: calmer with noise, slower
    after a change.

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
        Displacement in m: below it (the derivatives weighed by L) a sample is not used.
    ahead
        By how many samples the motion leads the demand, to make up for the hold and a force that comes late.
    memory
        Time in s of motion after which a sample counts 1/e.
    process
        Model of the transfer system, in place of a delay: the coefficients begin as those of its inverse for
        slow motions, as far as their bounds allow.

    References
    ----------
    Palacio-Betancur and Gutierrez Soto (2019), Adaptive tracking control for real-time hybrid simulation of
    structures subjected to seismic loading, Mechanical Systems and Signal Processing 134, 106345.
    """

    memory: Parameter = Parameter(4.0, above=0, unit="s")

    def _targets(
        self,
        regressors: Sequence[Var],
        command: Var,
        coefficients: Sequence[Var],  # noqa: ARG002 - the estimates have their own
        moving: Var,
        bounds: Sequence[tuple[float, float]],
        context: Context,
    ) -> tuple[Applied, list[Expr]]:
        scales = self.scales()
        estimator = RecursiveLeastSquares(
            tuple(a / s for a, s in zip(self.initial(context.period), scales, strict=True)),
            uncertainty=UNCERTAINTY,
            noise=self.threshold,
            memory=self.memory,
            least=tuple(low / s for (low, _), s in zip(bounds, scales, strict=True)),
            most=tuple(high / s for (_, high), s in zip(bounds, scales, strict=True)),
            threshold=UNCERTAINTY,  # of the regressors times the uncertainty over the noise: the threshold's
        )
        place = Context(f"{context.name}.fit", context.count, context.period)
        estimate = estimator.apply(regressors, command, place, when=moving)
        return estimate.applied, list(estimate.parameters)
