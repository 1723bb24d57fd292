"""Linear filters in continuous and in discrete time, as statements of a tick."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from bondloop.control.blocks.history import weighted
from bondloop.engine.ir import Assign, Expr, Step, Update, Var
from bondloop.engine.passes import Applied, named

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.passes import Context


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
        steps, u = named(value, context, f"{word}.input")
        n = len(self.F)
        z = [Var(f"{context.name}.{word}.state[{i}]") for i in range(n)]
        outputs: list[Expr] = []
        more: list[Step] = []
        for i in range(len(self.C)):
            y = Var(f"{context.name}.{word}[{i}]")
            more.append(Assign(y, weighted([*self.C[i], self.H[i, 0]], [*z, u])))
            outputs.append(y)
        following = tuple((z[i], weighted([*self.F[i], self.G[i, 0]], [*z, u])) for i in range(n))
        if following:
            more.append(Update(following))
        return Applied([*steps, *more], outputs[0], dict.fromkeys(z, 0.0)), outputs


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
