"""Adaptive model-based compensation with a gradient law (Chen, Chang, Spencer and Tsai 2015)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.control.adaptive_feedforward import AdaptiveFeedforward
from bondloop.program.block import Applied
from bondloop.program.described import Parameter
from bondloop.program.expr import Const, Expr, Var
from bondloop.program.schedule import Assign

if TYPE_CHECKING:
    from bondloop.program.block import Context
    from bondloop.program.tick import Step

__all__ = ["AdaptiveModelBased"]


@dataclass(frozen=True)
class AdaptiveModelBased(AdaptiveFeedforward):
    """The inverse of a model of first, second or third order, adapted by a normalised gradient.

    The command is u = a0 x + a1 dx/dt + a2 d2x/dt2, of the demand x. With the measured motion's own
    derivatives phi and the estimation error e = u - a.phi, the coefficients follow
    da/dt = rate * phi e/(threshold^2 + phi.phi), a gradient whose step never overshoots: the error that the
    old data leaves cannot grow. Simpler and steadier than least squares, and slower where the motion is
    nearly a single sine. The hold of the command is part of what is identified, so a1 includes half a sample
    period.

    Parameters
    ----------
    delay
        The expected delay in s; the coefficients begin as 1, delay, delay^2/2.
    order
        Highest derivative of the demand: the order of the model.
    largest_delay
        L in s: coefficient j stays between 0 and L^j/j!; L also weighs the gradient's components.
    least_gain, largest_gain
        Bounds of a0.
    slew
        How much of its range a coefficient may cross in a second.
    filter_frequency
        Corner in Hz of the filter (order + 1 equal poles) through which command and measured motion go.
    threshold
        Displacement in m below which adaptation fades; a tenth of it ends it, see `motion_gate`.
    ahead
        By how many samples the motion leads the demand, to make up for the hold and a force that comes late.
    rate
        Speed of adaptation in 1/s.
    process
        Model of the transfer system, in place of a delay: the coefficients begin as those of its inverse for
        slow motions, as far as their bounds allow.

    References
    ----------
    Chen, Chang, Spencer and Tsai (2015), Bulletin of Earthquake Engineering 13(6), 1683-1714.
    """

    rate: Parameter = Parameter(20.0, above=0, unit="1/s")

    def _targets(
        self,
        regressors: Sequence[Var],
        command: Var,
        coefficients: Sequence[Var],
        moving: Var,  # noqa: ARG002 - the base sees to it
        bounds: Sequence[tuple[float, float]],  # noqa: ARG002 - the base sees to them
        context: Context,
    ) -> tuple[Applied, list[Expr]]:
        error, size = Var(f"{context.name}.estimation_error"), Var(f"{context.name}.size")
        explained: Expr = Const(0.0)
        total: Expr = Const(0.0)
        for r, c in zip(regressors, coefficients, strict=True):
            explained = explained + r * c
            total = total + r * r
        steps: list[Step] = [Assign(error, command - explained), Assign(size, total)]
        level = float(self.threshold) ** 2
        step = min(1.0, self.rate * context.period)
        push = Var(f"{context.name}.push")
        steps.append(Assign(push, step * error / (size + level)))
        return Applied(steps, error), [c + push * r for c, r in zip(coefficients, regressors, strict=True)]
