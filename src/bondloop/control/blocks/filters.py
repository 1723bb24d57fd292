"""Histories of a signal, filters and bounds as statements of a tick."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import Const, Delay, Expr, Op, Var, as_expr, select
from bondloop.engine.passes import Applied, Statements, named

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.ir import Number, Step
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
    body = Statements(context.name)
    now, first = body.once("demand", value), body.state("first_demand")
    origin = body.put("origin", select(context.count < 0.5, now, first))
    deviation = body.put("deviation", now - origin)
    body.update({first: origin})
    return body.applied(deviation), origin


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
    body = Statements(context.name)
    now = body.once("demand", value)
    first, first_rate = body.state("first_demand"), body.state("first_rate")
    starting = context.count < 0.5
    origin = body.put("origin", select(starting, now, first))
    rate = body.put("rate", select(starting, context.velocity, first_rate))
    line = body.put("line", origin + rate * (Const(context.period) * context.count))
    deviation = body.put("deviation", now - line)
    body.update({first: origin, first_rate: rate})
    return body.applied(deviation), line, rate


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
    return dot((Const(float(w)) for w in weights), values)


def dot(a: Iterable[Expr], b: Iterable[Expr]) -> Expr:
    """Return the sum of products, in their order."""
    total: Expr = Const(0.0)
    for p, q in zip(a, b, strict=True):
        total = total + p * q
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


@dataclass(frozen=True)
class DiscreteFilter:
    """z(k+1) = F z(k) + G u(k), y(k) = C z(k) + H u(k), with one input and any number of outputs.

    Attributes
    ----------
    F, G, C, H
        Matrices; G and H have one column.
    """

    F: NDArray[np.float64]
    G: NDArray[np.float64]
    C: NDArray[np.float64]
    H: NDArray[np.float64]

    def response(self, frequency: ArrayLike, period: float) -> NDArray[np.complex128]:
        """Return the frequency response at frequencies in Hz, outputs last."""
        z = np.exp(2j * np.pi * np.asarray(frequency, dtype=float) * period)[..., None, None]
        G = np.broadcast_to(self.G, (*z.shape[:-2], *self.G.shape))
        y = self.C @ np.linalg.solve(z * np.eye(len(self.F)) - self.F, G) + self.H
        return np.asarray(y[..., 0], dtype=complex)

    def apply(self, value: Expr, context: Context, word: str) -> tuple[Applied, list[Expr]]:
        """Return statements (their value is the first output) and all outputs at this sample."""
        body = Statements(context.name)
        u = body.once(f"{word}.input", value)
        z = [body.state(f"{word}.state[{i}]") for i in range(len(self.F))]
        outputs: list[Expr] = [
            body.put(f"{word}[{i}]", weighted([*row, h], [*z, u]))
            for i, (row, h) in enumerate(zip(self.C, self.H[:, 0], strict=True))
        ]
        if z:
            rows = zip(z, self.F, self.G[:, 0], strict=True)
            body.update({v: weighted([*row, g], [*z, u]) for v, row, g in rows})
        return body.applied(outputs[0]), outputs


@dataclass(frozen=True)
class LinearFilter:
    """dz/dt = A z + B u, y = C z + D u, with one input and any number of outputs.

    Discretised exactly for an input that is linear between samples (``held=False``), or for one that is held,
    as a command is (``held=True``); the input at a sample is then the one held since the sample before.

    Attributes
    ----------
    A, B, C, D
        Matrices; B and D have one column.
    held
        How the input goes on between samples.
    """

    A: NDArray[np.float64]
    B: NDArray[np.float64]
    C: NDArray[np.float64]
    D: NDArray[np.float64]
    held: bool = False

    def discrete(self, period: float) -> tuple[NDArray[np.float64], ...]:
        """Return F, G, C, H of z(k+1) = F z(k) + G u(k), y(k) = C z(k) + H u(k).

        With an input linear between samples, dz/dt's own solution is z(k+1) = F z + G0 u(k) + G1 u(k+1);
        z - G1 u is then kept instead of z.
        """
        from scipy.linalg import expm

        n = len(self.A)
        big = np.zeros((n + 2, n + 2))
        big[:n, :n], big[:n, n : n + 1] = self.A * period, self.B * period
        big[n, n + 1] = 1.0
        e = expm(big)
        F, held, ramp = e[:n, :n], e[:n, n : n + 1], e[:n, n + 1 :]
        if self.held:  # what is kept is the state at the sample before
            return F, held, self.C @ F, self.C @ held + self.D
        return F, held - ramp + F @ ramp, self.C, self.D + self.C @ ramp

    def response(self, frequency: ArrayLike, period: float) -> NDArray[np.complex128]:
        """Return the discrete filter's frequency response at frequencies in Hz, outputs last."""
        return DiscreteFilter(*self.discrete(period)).response(frequency, period)

    def settled(self, value: Expr, start: Expr, context: Context, word: str) -> tuple[Applied, list[Expr]]:
        """Return the same as `apply` for a low pass that has settled at a value before the first sample.

        Its first output must have a gain of 1, the others 0, at rest. A filter that begins with zeros takes a
        signal that begins away from zero for a jump.
        """
        applied, outputs = self.apply(value - start, context, word)
        first = start + outputs[0]
        return replace(applied, value=first), [first, *outputs[1:]]

    def apply(self, value: Expr, context: Context, word: str) -> tuple[Applied, list[Expr]]:
        """Return statements (their value is the first output) and all outputs at this sample."""
        return DiscreteFilter(*self.discrete(context.period)).apply(value, context, word)


def rational(numerator: ArrayLike, denominator: ArrayLike) -> LinearFilter:
    """Return the filter b(s)/a(s), deg b <= deg a; coefficients with the highest power first.

    Time is scaled by the size of the poles, so that the states have the size of the signal.
    """
    a = np.atleast_1d(np.asarray(denominator, dtype=float))
    b = np.atleast_1d(np.asarray(numerator, dtype=float))
    n = len(a) - 1
    b = np.concatenate([np.zeros(n + 1 - len(b)), b])
    if not n:
        return LinearFilter(np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.array([[b[0] / a[0]]]))
    rate = abs(a[-1] / a[0]) ** (1 / n) or 1.0
    unit = rate ** np.arange(n, -1, -1)
    a, b = a * unit / (a[0] * unit[0]), b * unit / (a[0] * unit[0])
    A = np.eye(n, k=1)
    A[-1] = -a[:0:-1]
    B = np.zeros((n, 1))
    B[-1] = 1.0
    C = (b[1:] - b[0] * a[1:])[::-1].reshape(1, n)
    return LinearFilter(A * rate, B * rate, C, np.array([[b[0]]]))


def butterworth(order: int, frequency: float) -> LinearFilter:
    """Return the low pass of Butterworth.

    Its poles stand on a circle around zero, evenly; so its gain is as flat as can be below the corner, where
    it is 1/sqrt(2).

    Parameters
    ----------
    order
        How many poles.
    frequency
        Corner frequency in Hz.
    """
    w = 2 * np.pi * frequency
    angles = np.pi * (2 * np.arange(1, order + 1) + order - 1) / (2 * order)
    below = np.poly(w * np.exp(1j * angles)).real
    return rational([below[-1]], below)


def state_variable_filter(order: int, frequency: float, *, held: bool = False) -> LinearFilter:
    """Return a filter whose outputs are a low-passed signal and its first derivatives.

    The low pass is (w/(s + w))^(order + 1); the outputs are the signal through it times s^0 ... s^order.
    Nothing is differentiated: with one pole more than derivatives, each is a state of the filter.

    Parameters
    ----------
    order
        The highest derivative.
    frequency
        Corner frequency w/(2 pi) in Hz.
    held
        How the signal goes on between samples; see `LinearFilter`.
    """
    n, w = order + 1, 2 * np.pi * frequency
    A = np.eye(n, k=1)
    A[-1] = [-comb(n, i) for i in range(n)]  # in units of the corner, so that the states have one size
    B = np.zeros((n, 1))
    B[-1] = 1.0
    return LinearFilter(A * w, B * w, np.diag([w**i for i in range(n)]), np.zeros((n, 1)), held)


def clipped(value: Expr, least: Expr | Number, most: Expr | Number, otherwise: Expr | Number) -> Expr:
    """Return a value within bounds; ``otherwise`` where it is not a number.

    A comparison with NaN is false, so the order of the questions decides what NaN becomes.

    >>> from bondloop.engine.ir.expr import Var, evaluate
    >>> x = Var("x")
    >>> [evaluate(clipped(x, 0, 1, 0.5), {x: v}) for v in (-2.0, 0.3, 7.0, float("nan"))]
    [0.0, 0.3, 1.0, 0.5]
    """
    lower, upper = as_expr(least), as_expr(most)
    return select(
        value >= lower, select(value <= upper, value, upper), select(value < lower, lower, otherwise)
    )


def moved(parameter: Expr, target: Expr, least: Expr | Number, most: Expr | Number, step: float) -> Expr:
    """Return a parameter moved towards a target by at most a step, and kept within bounds."""
    wanted = clipped(target, least, most, parameter)
    up, down = parameter + step, parameter - step
    near = select(wanted > up, up, select(wanted < down, down, wanted))
    return clipped(near, least, most, least)


def motion_gate(
    stride: Expr, threshold: float, context: Context, *, memory: float = 1.0, share: float = 0.1
) -> tuple[Applied, Var]:
    """Say whether the command moves enough to learn from it: the rms of its stride is large enough.

    The *command* decides, not what is measured. At rest a sensor's noise is all there is to see, and its
    derivatives are large; it would be taken for a motion that the command did not cause, and coefficients
    would sink to explain it. A command that stands still says nothing of a delay either, however far from
    zero it stands, so it is the distance that counts by which it moves within the longest delay.

    Parameters
    ----------
    stride
        The filtered command's rate times the longest delay, in m.
    threshold
        The compensator's own, in m.
    context
        Names and period.
    memory
        Time in s over which a motion is looked at: a slow one's turning points are no rest.
    share
        Of the threshold, below which the command stands still: below the threshold adaptation fades, here it
        ends.

    Returns
    -------
    applied, moving
        ``moving`` is 1 where there is motion, else 0.
    """
    kept, body = math.exp(-context.period / memory), Statements(context.name)
    power, now = body.state("stride_power"), body.put("stride", stride)
    body.update({power: clipped(kept * power + (1 - kept) * now * now, 0, 1e300, power)})
    moving = body.put("moving", Op("gt", (power, Const((share * threshold) ** 2))))
    return body.applied(moving), moving
