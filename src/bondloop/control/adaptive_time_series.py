"""The adaptive time series compensator of Chae, Kazemibidokhti and Ricles (2013)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bondloop.control.adaptive_feedforward import AdaptiveFeedforward
from bondloop.control.moving_sums import BLOCKS, moving_sums
from bondloop.control.small_solve import solve_symmetric
from bondloop.program.described import Parameter
from bondloop.program.expr import Const, Expr, Op, Var, select
from bondloop.program.schedule import Assign

if TYPE_CHECKING:
    from bondloop.program.block import Applied, Context
    from bondloop.program.tick import Step

__all__ = ["AdaptiveTimeSeries"]

PRIOR = 1e-6
"""Weight of the first coefficients beside the data."""


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

    def _targets(
        self,
        regressors: Sequence[Var],
        command: Var,
        coefficients: Sequence[Var],
        moving: Var,  # noqa: ARG002 - the base sees to it
        bounds: Sequence[tuple[float, float]],  # noqa: ARG002 - the base sees to them
        context: Context,
    ) -> tuple[Applied, list[Expr]]:
        n = len(regressors)
        pairs = [(i, j) for i in range(n) for j in range(i + 1)]
        products = [regressors[i] * regressors[j] for i, j in pairs]
        products += [r * command for r in regressors]
        samples = max(BLOCKS, round(self.window / context.period))
        applied, sums = moving_sums(products, samples, context, "sum")
        matrix = dict(zip(pairs, sums[: len(pairs)], strict=True))
        right = sums[len(pairs) :]
        active, size = Var(f"{context.name}.adapting"), Var(f"{context.name}.size")
        trace: Expr = Const(0.0)
        for i in range(n):
            trace = trace + matrix[i, i]
        enough = float(self.threshold) ** 2 * samples * (BLOCKS - 1) / BLOCKS
        steps: list[Step] = [
            *applied.steps,
            Assign(active, Op("gt", (matrix[0, 0], Const(enough)))),
            Assign(size, trace),
        ]
        start = [a / s for a, s in zip(self.initial(context.period), self.scales(), strict=True)]
        entries: list[list[Expr]] = []
        given: list[Expr] = []
        for i in range(n):
            prior = PRIOR * (matrix[i, i] + size)
            row: list[Expr] = [select(active > 0.5, matrix[i, j], 0) for j in range(i)]
            entries.append([*row, select(active > 0.5, matrix[i, i] + prior, 1)])
            given.append(select(active > 0.5, right[i] + prior * start[i], 0))
        more, solution = solve_symmetric(entries, given, f"{context.name}.fit")
        targets = [select(active > 0.5, x, c) for x, c in zip(solution, coefficients, strict=True)]
        return replace(applied, steps=[*steps, *more]), targets
