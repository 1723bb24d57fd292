"""The inverse of a process model (du Bois 2010, eqs. 4-8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.control.compensator import Compensator
from bondloop.control.demand_history import earlier, from_first, weighted
from bondloop.control.linear_filter import LinearFilter, rational
from bondloop.control.polynomial_fit import backward_differences
from bondloop.control.polynomial_prediction import PolynomialPrediction
from bondloop.errors import InputError, unknown_name
from bondloop.program.block import Applied, Context, named
from bondloop.program.expr import Const, Expr
from bondloop.transfer.process import Process

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.control.base import Measured

__all__ = ["InverseModel"]


@dataclass(frozen=True)
class InverseModel(Compensator):
    """Sends what the transfer system needs in order to follow: the demand through 1/G(s).

    For G = b(s)/a(s) the command is a(s)/b(s) times the demand (du Bois 2010, eq. 4). The quotient of the two
    polynomials acts on the demand and its derivatives; the rest, where there are zeros, is a filter with the
    zeros as poles, discretised exactly for a demand that is linear between samples. So G1 needs one
    derivative, G2 two, and n poles with m zeros n - m.

    The delay of G is left to ``prediction``, whose own delay says how far ahead (give it ``process.delay``,
    or more where a latency is to be cancelled too). Without prediction the delay is not compensated; that is
    right where the demand is known beforehand and is given early by the delay, as in du Bois 2010, Figure 7.

    Parameters
    ----------
    process
        Model of the transfer system; its zeros must be stable.
    prediction
        How the demand is predicted; None for no prediction.
    derivatives
        ``"difference"``: from the newest samples of the (predicted) demand, eqs. 5-8 with the missing
        division by the period; ``"polynomial"``: from the prediction's polynomial, eq. 3 differentiated.

    Examples
    --------
    >>> from bondloop.transfer import first_order
    >>> G1 = first_order(gain=0.98, time_constant=0.01)
    >>> loop = InverseModel(G1).response([1.0, 10.0], 0.001) * G1.response([1.0, 10.0])
    >>> abs(loop).round(3).tolist()
    [1.0, 1.0]
    """

    process: Process
    prediction: PolynomialPrediction | None = None
    derivatives: str = "difference"

    def __post_init__(self) -> None:
        if not isinstance(self.process, Process):
            raise InputError(
                "InverseModel(process): expected a process model, such as first_order(gain, time_constant); "
                f"found {type(self.process).__name__}"
            )
        if self.prediction is not None and not isinstance(self.prediction, PolynomialPrediction):
            raise InputError(
                "InverseModel(prediction): expected a PolynomialPrediction or None; found "
                f"{type(self.prediction).__name__}"
            )
        ways = ("difference", "polynomial")
        if self.derivatives not in ways:
            raise InputError(unknown_name("way to derivatives", str(self.derivatives), ways))
        if self.derivatives == "polynomial" and self.prediction is None:
            raise InputError(
                "InverseModel: derivatives of the polynomial need a prediction; give one (with a delay of 0 "
                "it only smooths), or derivatives='difference'"
            )
        self.process.check_invertible()
        highest = len(self._parts()[0]) - 1
        if self.derivatives == "polynomial" and self.prediction and self.prediction.order < highest:
            raise InputError(
                f"InverseModel: the inverse needs {highest} derivatives, the prediction's polynomial of "
                f"order {self.prediction.order} has fewer; raise its order"
            )

    def _parts(self) -> tuple[NDArray[np.float64], LinearFilter | None]:
        """Return the quotient of a and b, lowest power first, and the filter of the remainder."""
        a, b = np.array(self.process.denominator), np.array(self.process.numerator)
        quotient, remainder = np.polydiv(a, b)
        left = rational(remainder, b) if len(b) > 1 else None
        return np.asarray(quotient[::-1], dtype=float), left

    def _differences(self, period: float) -> list[NDArray[np.float64]]:
        """Weights of the newest samples in the derivatives of order 1, 2, ... that are needed."""
        highest = len(self._parts()[0]) - 1
        points = max(highest, 2) + 1
        return [backward_differences(d, points, period) for d in range(1, highest + 1)]

    def response(self, frequency: ArrayLike, period: float) -> NDArray[np.complex128]:
        """Return the ratio of command to demand at frequencies in Hz, for a sample period in s."""
        f = np.asarray(frequency, dtype=float)
        s = 2j * np.pi * f
        quotient, left = self._parts()
        ahead = np.ones_like(s)
        if self.prediction is not None:
            ahead = self.prediction.response(f, period) * np.exp(s * self.prediction.delay)
        total = quotient[0] * ahead
        for d, weights in enumerate(self._differences(period), start=1):
            if self.derivatives == "polynomial" and self.prediction is not None:
                perfect = s**d * np.exp(s * self.prediction.delay)
                rate = self.prediction.response(f, period, d) * perfect
            else:
                rate = np.exp(-s[..., None] * period * np.arange(len(weights))) @ weights * ahead
            total = total + quotient[d] * rate
        if left is not None:
            total = total + left.response(f, period)[..., 0] * ahead
        return np.asarray(total, dtype=complex)

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:  # noqa: ARG002
        """Return the command."""
        quotient, left = self._parts()
        highest = len(quotient) - 1
        rates: list[Expr] = []
        now: Expr
        origin: Expr
        if self.prediction is None:
            applied, origin = from_first(desired, context)
            now = applied.value
        else:
            wanted = range(highest + 1 if self.derivatives == "polynomial" else 1)
            applied, predicted, origin = self.prediction.predictions(desired, context, list(wanted))
            now, rates = predicted[0], predicted[1:]
        steps = list(applied.steps)
        states = dict(applied.states)
        more, point = named(now, context, "predicted")
        steps += more
        if self.derivatives == "difference" and highest:
            differences = self._differences(context.period)
            more, past = earlier(point, range(len(differences[0])), context, "predicted")
            steps += more
            rates = [weighted(w.tolist(), past) for w in differences]
        total: Expr = weighted(quotient.tolist(), [point, *rates])
        static = float(quotient[0])
        if left is not None:
            filtered, _ = left.apply(point, context, "zeros")
            steps += filtered.steps
            states.update(filtered.states)
            total = total + filtered.value
            static = self.process.denominator[-1] / self.process.numerator[-1]
        return Applied(steps, Const(static) * origin + total, states)
