"""Polynomial forward prediction (Wallace 2005; du Bois 2010, eqs. 2-3)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.control.base import Compensator
from bondloop.control.blocks.filters import earlier, fit_weights, from_line, weighted
from bondloop.engine.data import POSITIVE, Parameter, Whole, number, si_array
from bondloop.engine.ir import Const
from bondloop.engine.passes import Applied, Context
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.control.base import Measured
    from bondloop.engine.ir import Expr


@dataclass(frozen=True)
class PolynomialPrediction(Compensator):
    """Sends what the demand will be a delay later, by a polynomial through its history.

    The least-squares polynomial through ``points`` samples spread over ``span`` (T_s) is evaluated at the
    time ``delay`` ahead (du Bois 2010, eqs. 2-3). The whole is a sum of past samples with weights that are
    computed once.

    The points stand T_s/(n_s - 1) apart, rarely a whole number of sample periods (0.1 s and 20 points at
    1 kHz: 5.26 ms). Each is moved to the nearest sample, and the polynomial is fitted at the times so moved:
    it stays exact for every polynomial up to its order, which an interpolated history would not be.

    Parameters
    ----------
    delay
        How far ahead, in s.
    order
        Order of the polynomial.
    span
        T_s, the time in s from the oldest point to the newest.
    points
        n_s, how many points; more than ``order``.

    Examples
    --------
    Good to about 40 Hz; the paper's other setting, 20 points over 0.1 s, only to 10 Hz:

    >>> quick = PolynomialPrediction(0.005, span=0.01, points=10)
    >>> slow = PolynomialPrediction(0.005, span=0.1, points=20)
    >>> [[abs(p.response(f, 0.001)).round(2).item() for f in (5, 10, 15, 40)] for p in (quick, slow)]
    [[1.0, 1.0, 1.0, 1.06], [1.0, 1.0, 0.19, 4.41]]

    The price is in the weights: an error of 1 in every sample can become one of

    >>> [round(p.amplification(0.001)) for p in (quick, slow)]
    [1907, 10]

    References
    ----------
    Wallace, Wagg and Neild (2005), Proc. R. Soc. A 461(2064), 3807.
    """

    set_point: ClassVar[bool] = True

    delay: Parameter = Parameter(least=0, unit="s")
    order: Whole = Whole(6, least=0, most=12)
    span: Parameter = Parameter(0.01, above=0, unit="s")
    points: Whole = Whole(10, least=1, most=1000)

    def __post_init__(self) -> None:
        if self.points <= self.order:
            raise InputError(
                f"{type(self).__name__}: a polynomial of order {self.order} needs at least {self.order + 1} "
                f"points; found {self.points}"
            )

    def ticks(self, period: float | str) -> tuple[int, ...]:
        """Return how many sample periods [s] ago the points are, newest first.

        Parameters
        ----------
        period
            The sample period in s; points that would lie closer than that are refused.

        Examples
        --------
        >>> PolynomialPrediction(0.005, span=0.01, points=10).ticks(0.001)
        (0, 1, 2, 3, 4, 6, 7, 8, 9, 10)
        """
        period = POSITIVE.check(period, "period", "s")
        spacing = self.span / max(self.points - 1, 1)
        if spacing < period * (1 - 1e-9):
            least = (self.points - 1) * period
            most = int(self.span / period * (1 + 1e-9)) + 1
            what = f"a span of at least {least:g} s, or at most {most} points, fits"
            raise InputError(
                f"{type(self).__name__}: {self.points} points over {self.span:g} s are {spacing:g} s apart, "
                f"closer than the sample period of {period:g} s; {what}"
            )
        return tuple(int(i * spacing / period + 0.5 + 1e-9) for i in range(self.points))

    def weights(
        self, period: float | str, derivative: int = 0, ahead: float | str | None = None
    ) -> NDArray[np.float64]:
        """Return the weights of the points, newest first.

        Parameters
        ----------
        period
            The sample period in s.
        derivative
            0 for the prediction, 1 for its rate, and so on.
        ahead
            How far ahead in s; the delay where none is given.
        """
        period = POSITIVE.check(period, "period", "s")
        times = [-n * period for n in self.ticks(period)]
        return fit_weights(
            times, self.order, self.delay if ahead is None else number(ahead, "ahead", "s"), derivative
        )

    def response(
        self, frequency: ArrayLike, period: float | str, derivative: int = 0
    ) -> NDArray[np.complex128]:
        """Return gain and phase relative to the perfect prediction, as complex numbers.

        ``sum_j w_j exp(-i w t_j)`` divided by ``(i w)^derivative exp(i w delay)``: du Bois 2010, Figure 15,
        in closed form. It is 1 where the prediction is perfect, and at frequency zero.

        Parameters
        ----------
        frequency
            In Hz.
        period
            The sample period in s.
        derivative
            0 for the prediction, 1 for its rate, and so on.
        """
        period = POSITIVE.check(period, "period", "s")
        s = 2j * np.pi * si_array(frequency, "frequency", "Hz")
        ago = np.array(self.ticks(period)) * period
        found = np.exp(-s[..., None] * ago) @ self.weights(period, derivative)
        perfect = s**derivative * np.exp(s * self.delay)
        still = s == 0
        ratio = np.where(still, 1.0, found / np.where(still, 1.0, perfect))
        return np.asarray(ratio, dtype=complex)

    def amplification(self, period: float | str, derivative: int = 0) -> float:
        """Return the largest error that errors of 1 in the samples can make: the sum of all |weights|.

        Parameters
        ----------
        period
            The sample period in s.
        derivative
            0 of the prediction, 1 of its rate, and so on.
        """
        return float(np.abs(self.weights(period, derivative)).sum())

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:  # noqa: ARG002
        """Return the predicted demand."""
        applied, values, line, rate = self.predictions(desired, context, (0,))
        return Applied(applied.steps, line + Const(self.delay) * rate + values[0], applied.states)

    def predictions(
        self, demand: Expr, context: Context, derivatives: Sequence[int]
    ) -> tuple[Applied, list[Expr], Expr, Expr]:
        """Return statements, derivatives of the predicted deviation from a line, the line now, and its rate.

        Parameters
        ----------
        demand
            The demand at this sample.
        context
            Names and period.
        derivatives
            Which derivatives; 0 for the prediction itself.
        """
        applied, line, rate = from_line(demand, context)
        steps, past = earlier(applied.value, self.ticks(context.period), context, "demand")
        values = [weighted(self.weights(context.period, d).tolist(), past) for d in derivatives]
        return Applied([*applied.steps, *steps], applied.value, applied.states), values, line, rate
