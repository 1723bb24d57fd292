"""The power trip: a persistent discrepancy of the power at the interface."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass

from bondloop.engine.data import POSITIVE, Parameter
from bondloop.engine.ir import Assign, Expr, Step, Update, Var, select
from bondloop.engine.passes import Applied, Context
from bondloop.safety.base import SafetyBlock, no


@dataclass(frozen=True)
class PowerTrip(SafetyBlock):
    """The squared power discrepancy, low-pass filtered, against a threshold (du Bois 2010, section 4.4).

    Both halves feel the same force F, but move at v_p (physical) and v_n (numerical): the power that leaves
    one and does not arrive in the other is P = F (v_p - v_n). Its square is filtered by a first-order
    low-pass, y(k) = a y(k-1) + (1 - a) P(k)², a = exp(-2π f_c T), and trips when y exceeds the square of the
    threshold. So a spike is ignored and a discrepancy that persists is not, whichever way the power flows. A
    constant P above the threshold P_t trips after ln(1 - P_t²/P²)/ln(a) ticks; after that the filter holds at
    most 100 thresholds, and is below the threshold again after at most 2 ln(100)/(2π f_c) seconds without
    discrepancy.

    Parameters
    ----------
    threshold
        Root of the filtered square, in W: the trip acts when √y goes beyond it.
    cutoff
        Corner frequency of the filter, Hz: well below the lowest frequency of the motion.
    """

    threshold: Parameter = Parameter(above=0, most=1e100, unit="W")
    cutoff: Parameter = Parameter(1.0, above=0, unit="Hz")

    def decay(self, period: float | str) -> float:
        """Return what is left of the filter's memory after one tick.

        Parameters
        ----------
        period
            The sample period in s.

        Examples
        --------
        >>> round(PowerTrip(20.0).decay(1 / 1000), 6)
        0.993737
        """
        period = POSITIVE.check(period, "period", "s")
        return math.exp(-2 * math.pi * self.cutoff * period)

    def apply(
        self, force: Expr, physical_velocity: Expr, numerical_velocity: Expr, context: Context
    ) -> Applied:
        """Return the statements that filter the squared discrepancy; the value is that, in W².

        Parameters
        ----------
        force
            Measured, in N.
        physical_velocity, numerical_velocity
            Of the rig, and of the numerical half, in m/s.
        context
            Names and period.
        """
        ceiling = 100.0  # thresholds: the memory goes no higher, so that it forgets in a known time
        a, most = self.decay(context.period), (ceiling * self.threshold) ** 2
        filtered, power, mixed, now = (
            Var(f"{context.name}.{w}") for w in ("filtered", "discrepancy", "mixed", "square")
        )
        steps: list[Step] = [
            Assign(power, force * (physical_velocity - numerical_velocity)),
            Assign(mixed, a * filtered + (1 - a) * (power * power)),
            # The comparison is false for NaN and for a square that overflowed: both count as the most.
            Assign(now, select(mixed <= most, mixed, most)),
            Update(((filtered, now),)),
        ]
        return Applied(steps, now, {filtered: 0.0})

    def tripped(self, value: Expr) -> Expr:
        """Return whether ``value``, a filtered square in W², is beyond the threshold, or no number."""
        return no(value <= self.threshold**2)
