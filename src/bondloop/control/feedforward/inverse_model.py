"""Inverses of a process: exact (du Bois 2010, eqs. 4-8), as a series for slow motions, and of a lag alone."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.control.base import Compensator
from bondloop.control.blocks.filters import LinearFilter, earlier, fit_weights, from_line, rational, weighted
from bondloop.control.feedforward.polynomial_prediction import PolynomialPrediction
from bondloop.control.tolerances import IDLE_ZERO
from bondloop.engine.data import POSITIVE, Parameter, si_array
from bondloop.engine.ir import Const, Expr
from bondloop.engine.passes import Applied, Context, Statements
from bondloop.errors import InputError, unknown_name
from bondloop.transfer import Process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from bondloop.control.base import Measured


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
    ahead
        By how many samples the motion leads the demand: 0.5 makes up for the hold of the command. The
        polynomial through the newest samples is read so much later. A prediction has a delay of its own.

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
    ahead: Parameter = Parameter(0.0, least=0, most=10, unit="1")

    def __post_init__(self) -> None:
        expect_process(self.process, "InverseModel(process)")
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
        if type(self.prediction) not in (PolynomialPrediction, type(None)):
            raise InputError(
                f"InverseModel(prediction): {type(self.prediction).__name__} adapts, and would never learn "
                "what the inverse leaves; write AdaptiveRemainder(InverseModel(process), "
                f"{type(self.prediction).__name__}(...))"
            )
        if self.ahead and self.prediction is not None:
            raise InputError(
                "InverseModel(ahead): with a prediction, add it to the prediction's delay: half a sample "
                "period for the hold"
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
        a, b = _polynomials(self.process)
        quotient = np.polydiv(a, b)[0]
        # Of the difference the highest powers are nothing but rounding, however large beside a small zero's.
        remainder = np.polysub(a, np.polymul(quotient, b))[len(quotient) :]
        left = rational(remainder, b) if len(b) > 1 else None
        return np.asarray(quotient[::-1], dtype=float), left

    def _differences(self, period: float) -> list[NDArray[np.float64]]:
        """Weights of the newest samples in the demand, its first, second, ... derivatives that are needed."""
        highest = len(self._parts()[0]) - 1
        times = [-i * period for i in range(max(highest, 2) + 1)]
        return [fit_weights(times, len(times) - 1, self.ahead * period, d) for d in range(highest + 1)]

    def response(self, frequency: ArrayLike, period: float | str) -> NDArray[np.complex128]:
        """Return the ratio of command to demand at frequencies in Hz, for a sample period in s.

        Parameters
        ----------
        frequency
            Frequencies in Hz.
        period
            The sample period in s.
        """
        period = POSITIVE.check(period, "period", "s")
        f = si_array(frequency, "frequency", "Hz")
        s = 2j * np.pi * f
        quotient, left = self._parts()
        differences = self._differences(period)
        past = np.exp(-s[..., None] * period * np.arange(len(differences[0])))
        ahead = np.asarray(past @ differences[0] if self.ahead else np.ones_like(s), dtype=complex)
        if self.prediction is not None:
            ahead = self.prediction.response(f, period) * np.exp(s * self.prediction.delay)
        total = quotient[0] * ahead
        for d, weights in enumerate(differences[1:], start=1):
            if self.derivatives == "polynomial" and self.prediction is not None:
                perfect = s**d * np.exp(s * self.prediction.delay)
                rate = self.prediction.response(f, period, d) * perfect
            else:
                rate = past @ weights * (1.0 if self.ahead else ahead)
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
        lead = self.ahead * context.period
        if self.prediction is None:
            applied, line, slope = from_line(desired, context)
            now = applied.value
        else:
            wanted = range(highest + 1 if self.derivatives == "polynomial" else 1)
            lead = float(self.prediction.delay)
            applied, predicted, line, slope = self.prediction.predictions(desired, context, list(wanted))
            now, rates = predicted[0], predicted[1:]
        body = Statements(context.name)
        body.add(applied)
        point = body.once("predicted", now)
        if self.derivatives == "difference" and (highest or self.ahead):
            differences = self._differences(context.period)
            more, past = earlier(point, range(len(differences[0])), context, "predicted")
            body.steps += more
            rates = [weighted(w.tolist(), past) for w in differences[1:]]
            if self.ahead:
                point = body.once("ahead", weighted(differences[0].tolist(), past))
        total: Expr = weighted(quotient.tolist(), [point, *rates])
        if left is not None:
            total = total + body.add(left.apply(point, context, "zeros")[0])
        # Of the line: a straight line through a/b is its value at rest, and the slope there times its rate.
        a, b = (np.array([0.0, *c])[-2:] for c in _polynomials(self.process))
        static, gradient = a[1] / b[1], (a[0] * b[1] - a[1] * b[0]) / b[1] ** 2
        return body.applied(Const(static) * line + Const(static * lead + gradient) * slope + total)


def _polynomials(process: Process) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return denominator and numerator without idle zeros, in whose division all digits would be lost."""
    a, b = np.array(process.denominator, dtype=float), np.array(process.numerator, dtype=float)
    fastest = max(np.abs(process.poles()), default=0.0)
    zeros = process.zeros()
    kept = [z for z in zeros if not fastest or abs(z) <= IDLE_ZERO * fastest]
    if len(kept) == len(zeros):
        return a, b
    slow = np.atleast_1d(np.poly(kept)).real
    return a, slow * (b[-1] / slow[-1])


def expect_process(value: object, what: str) -> None:
    """Refuse what is no process model."""
    if not isinstance(value, Process):
        raise InputError(
            f"{what}: expected a process model, such as first_order(gain, time_constant); found "
            f"{type(value).__name__}"
        )


def inverse_series(process: Process, order: int, what: str) -> list[float]:
    """Return the first coefficients of 1/G(s) = a0 + a1 s + a2 s^2 ...

    With them a0 x + a1 dx/dt + a2 d2x/dt2 is the command under which G moves by x, the better the slower x
    is. For a pure delay they are those of e^(s delay).

    Parameters
    ----------
    process
        G, its delay included.
    order
        Of the last coefficient.
    what
        Whose process it is, for the error message.

    Examples
    --------
    >>> from bondloop.transfer import first_order
    >>> [round(a, 6) for a in inverse_series(first_order(0.5, 0.02, delay=0.01), 2, "process")]
    [2.0, 0.06, 0.0005]
    """
    a, b = process.denominator[::-1], process.numerator[::-1]
    if not (a[0] and b[0]):
        raise InputError(
            f"{what}: the process model has a {'zero' if a[0] else 'pole'} at 0, so no static gain to begin "
            "with; give one that follows a constant command"
        )
    quotient: list[float] = []
    for j in range(order + 1):  # long division, lowest power first
        rest = a[j] if j < len(a) else 0.0
        rest -= sum(b[i] * quotient[j - i] for i in range(1, min(j, len(b) - 1) + 1))
        quotient.append(rest / b[0])
    return shifted(quotient, process.delay)


def shifted(series: Sequence[float], time: float) -> list[float]:
    """Return the coefficients of e^(s time) times a series in s, as many as it has.

    >>> shifted([1.0, 0.0, 0.0], 0.1)
    [1.0, 0.1, 0.005000000000000001]
    """
    early = [time**j / math.factorial(j) for j in range(len(series))]
    return [sum(series[i] * early[j - i] for i in range(j + 1)) for j in range(len(series))]


@dataclass(frozen=True)
class LeadCompensation(Compensator):
    """A first-order lead, (T s + 1)/(T s/ratio + 1): the inverse of a lag T with a filter.

    For slow motions it leads by T (1 - 1/ratio); T is chosen so that this is ``delay``. For fast ones its
    gain rises to ``ratio``, so a large ratio leads further up in frequency and amplifies noise more.

    With the ratio without bound it is du Bois 2010's inverse of G1; discretised with the filter's pole at
    z = 0 instead, it is the inverse compensation of Chen and Ricles (2009).

    Parameters
    ----------
    delay
        The lag to cancel, in s: a delay, a time constant, or their sum.
    ratio
        Gain for fast motions, above 1.

    Examples
    --------
    >>> lead = LeadCompensation(0.01, ratio=5)
    >>> abs(lead.response([0.0, 500.0], 0.001)).round(3).tolist()
    [1.0, 4.948]

    References
    ----------
    Zhao, French, Shield and Posbergh (2003), EESD 32(11); Chen and Ricles (2009), EESD 38(10).
    """

    set_point: ClassVar[bool] = True

    delay: Parameter = Parameter(least=0, unit="s")
    ratio: Parameter = Parameter(5.0, above=1, unit="1")

    def _filter(self) -> LinearFilter:
        lag = self.delay / (self.ratio - 1)
        return rational([self.ratio * lag, 1.0], [lag, 1.0]) if lag else rational([1.0], [1.0])

    def response(self, frequency: ArrayLike, period: float | str) -> NDArray[np.complex128]:
        """Return the ratio of command to demand at frequencies in Hz, for a sample period in s.

        Parameters
        ----------
        frequency
            Frequencies in Hz.
        period
            The sample period in s.
        """
        period = POSITIVE.check(period, "period", "s")
        return self._filter().response(si_array(frequency, "frequency", "Hz"), period)[..., 0]

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:  # noqa: ARG002
        """Return the command."""
        first, line, rate = from_line(desired, context)
        body = Statements(context.name)
        led = body.add(first, self._filter().apply(first.value, context, "lead")[0])
        return body.applied(line + Const(self.delay) * rate + led)
