"""The history of a demand as statements of a tick, and polynomials through it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import Assign, Const, Delay, Expr, Step, Update, Var, select
from bondloop.engine.passes import Applied, named

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.passes import Context


def from_first(value: Expr, context: Context) -> tuple[Applied, Var]:
    """Measure a demand from its first sample.

    A history that begins with zeros would see a jump where a test begins away from zero, and a derivative or
    a prediction makes a blow of it. The deviation from the first sample begins at zero by itself.

    Returns
    -------
    applied, origin
        Its value is the deviation; ``origin`` is the first sample, to be added back.
    """
    steps, now = named(value, context, "demand")
    first, origin = Var(f"{context.name}.first_demand"), Var(f"{context.name}.origin")
    deviation = Var(f"{context.name}.deviation")
    result: list[Step] = [
        *steps,
        Assign(origin, select(context.count < 0.5, now, first)),
        Assign(deviation, now - origin),
        Update(((first, origin),)),
    ]
    return Applied(result, deviation, {first: 0.0}), origin


def from_line(value: Expr, context: Context) -> tuple[Applied, Expr, Expr]:
    """Measure a demand from the straight line on which it begins, where its velocity is known.

    What `from_first` does for a position, for a velocity too: a test that begins with one would show a kink,
    of which second differences make a blow.

    Returns
    -------
    applied, line, rate
        Its value is the deviation; ``line``, which is to be added back, changes by ``rate`` in a second.
    """
    if context.velocity is None:
        applied, origin = from_first(value, context)
        return applied, origin, Const(0.0)
    steps, now = named(value, context, "demand")
    words = ("first_demand", "first_rate", "origin", "rate", "line", "deviation")
    first, first_rate, origin, rate, line, deviation = (Var(f"{context.name}.{word}") for word in words)
    starting = context.count < 0.5
    result: list[Step] = [
        *steps,
        Assign(origin, select(starting, now, first)),
        Assign(rate, select(starting, context.velocity, first_rate)),
        Assign(line, origin + rate * (Const(context.period) * context.count)),
        Assign(deviation, now - line),
        Update(((first, origin), (first_rate, rate))),
    ]
    return Applied(result, deviation, {first: 0.0, first_rate: 0.0}), line, rate


def earlier(value: Expr, ticks: Sequence[int], context: Context, word: str) -> tuple[list[Step], list[Expr]]:
    """Return a value as it was some ticks ago, for rising numbers of ticks; 0 is now."""
    steps, now = named(value, context, f"{word}_now")
    result: list[Expr] = []
    at, before = 0, now
    for n in ticks:
        if n > at:
            late = Var(f"{context.name}.{word}_{n}_ago")
            steps.append(Delay(late, before, n - at))
            at, before = n, late
        result.append(before)
    return steps, result


def late(value: Expr, samples: float, context: Context, word: str) -> tuple[list[Step], Expr]:
    """Return a value as it was some samples ago, straight between samples."""
    whole = math.floor(samples)
    part = samples - whole
    steps, past = earlier(value, range(whole, whole + 1 + (part > 0)), context, word)
    return steps, weighted([1 - part, part], past) if part else past[0]


def weighted(weights: Iterable[float], values: Sequence[Expr]) -> Expr:
    """Return the sum of values with constant weights, in their order."""
    total: Expr = Const(0.0)
    for w, v in zip(weights, values, strict=True):
        total = total + Const(float(w)) * v
    return total


def coefficient_matrix(times: Sequence[float], order: int) -> tuple[NDArray[np.float64], float]:
    """Return the matrix that makes a polynomial's coefficients of samples, and the unit of its time.

    The least-squares polynomial through samples x(t_j) is ``sum_i a_i (t/scale)^i`` with ``a = matrix @ x``
    (du Bois 2010, eq. 2). Time is divided by the span of the samples before the pseudo-inverse: in seconds
    the columns of a sixth-order fit over 0.1 s differ by a factor of a million.

    Parameters
    ----------
    times
        Times of the samples in s.
    order
        Order of the polynomial; samples fewer than ``order + 1`` leave it undetermined.
    """
    t = np.asarray(times, dtype=float)
    scale = float(t.max() - t.min()) or 1.0
    powers = np.vander(t / scale, order + 1, increasing=True)
    return np.asarray(np.linalg.pinv(powers), dtype=float), scale


def fit_weights(times: Sequence[float], order: int, at: float, derivative: int = 0) -> NDArray[np.float64]:
    """Return the weights of samples in a derivative of their least-squares polynomial.

    Parameters
    ----------
    times
        Times of the samples in s.
    order
        Order of the polynomial.
    at
        Where it is evaluated, in s.
    derivative
        Which derivative; 0 for the value itself.

    Examples
    --------
    A straight line through two samples, carried on by one period:

    >>> fit_weights([0.0, -1.0], order=1, at=1.0).round(12).tolist()
    [2.0, -1.0]
    """
    matrix, scale = coefficient_matrix(times, order)
    row = [
        math.perm(i, derivative) * (at / scale) ** (i - derivative) if i >= derivative else 0.0
        for i in range(order + 1)
    ]
    return np.asarray(np.array(row) @ matrix / scale**derivative, dtype=float)


def backward_differences(derivative: int, points: int, period: float) -> NDArray[np.float64]:
    """Return the weights of the newest samples, newest first, in a derivative at the newest one.

    It is the derivative of the polynomial through them all. Of three samples it gives du Bois 2010, eqs. 5-8
    with the division by the period that the paper leaves out: (3 x0 - 4 x1 + x2)/(2 T) and
    (x0 - 2 x1 + x2)/T^2.

    Examples
    --------
    >>> backward_differences(1, 3, 0.5).round(9).tolist(), backward_differences(2, 3, 0.5).round(9).tolist()
    ([3.0, -4.0, 1.0], [4.0, -8.0, 4.0])
    """
    times = [-i * period for i in range(points)]
    return fit_weights(times, points - 1, 0.0, derivative)
