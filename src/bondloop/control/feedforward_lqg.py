"""Model-based control: the inverse of a model, and LQG of the tracking error (Phillips and Spencer 2013)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.control.discrete_filter import DiscreteFilter
from bondloop.control.tracking_feedback import TrackingFeedback
from bondloop.errors import InputError
from bondloop.program.described import Parameter
from bondloop.program.ranges import POSITIVE
from bondloop.transfer.held_input import hold_late

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["FeedforwardLQG"]

LONGEST = 100
"""Whole samples of delay that a model may have: each is a state of the observer."""


@dataclass(frozen=True)
class FeedforwardLQG(TrackingFeedback):
    """Model-based control: a feed-forward, and linear-quadratic-Gaussian feedback of the tracking error.

    With a perfect feed-forward the tracking error is what a disturbance d at the command makes of it. In
    deviations from the demand, with the process model held and late as it is,

        z(k+1) = F z(k) + G (u(k) + d(k)),   x - x_desired = C z + v,   d(k+1) = e^(-2 pi corner T) d(k) + w.

    A Kalman filter estimates z and d of the measured tracking error; the feedback is -K times the estimate,
    with the K that makes the mean of error² + effort u² least. Both come from a discrete Riccati equation.

    d stands for all that the feed-forward does not know. It is large and slow where a feedback shall do much;
    beyond the corner the feedback fades, and the phase that the actuator's delay costs is not spent there.

    Parameters
    ----------
    process
        Model of the transfer system, with more poles than zeros.
    feedforward
        Any compensator; None for the inverse of the process. Without a feedback it is the whole law:
        ``law.forward`` is a compensator by itself.
    effort
        Weight of the feedback's command squared beside that of the error squared.
    disturbance
        Rms of d in m: how wrong the command of the feed-forward may be.
    corner
        Frequency in Hz up to which d is large.
    noise
        Rms of the displacement sensor's noise in m.

    Examples
    --------
    Of an integrator, x(k+1) = x(k) + T u(k), the best K solves a quadratic equation:

    >>> from bondloop.transfer import Process
    >>> law = FeedforwardLQG(Process([1.0], [1.0, 0.0]), effort=0.04)
    >>> K, _ = law.gains(0.001)
    >>> q, r, T = 1.0, 0.04, 0.001
    >>> p = (q + (q * q + 4 * q * r / T**2) ** 0.5) / 2
    >>> bool(abs(K[0] - p * T / (r + p * T * T)) < 1e-9)
    True

    References
    ----------
    Phillips and Spencer (2013), Model-based feedforward-feedback actuator control for real-time hybrid
    simulation, J. Structural Engineering 139(7), 1205-1214; Carrion and Spencer (2007), NSEL report 003,
    University of Illinois.
    """

    effort: Parameter = Parameter(0.1, above=0, unit="1")
    disturbance: Parameter = Parameter(1e-4, above=0, unit=("m", "rad"))
    corner: Parameter = Parameter(1.0, above=0, unit="Hz")
    noise: Parameter = Parameter(2e-5, above=0, unit=("m", "rad"))

    def model(self, period: float | str) -> tuple[Array, Array, Array]:
        """Return F, G and C of the deviations: the model's states, commands on their way, the disturbance.

        Parameters
        ----------
        period
            The sample period in s.
        """
        period = POSITIVE.check(period, "period", "s")
        A, B, C, _, scale = self.process.scaled_space()
        samples = round(self.process.delay / period, 9)  # no state for what is not there but for rounding
        held = hold_late(A, B, period * scale, samples * period * scale)
        n, late = len(A), max(s for s, g in zip(held.shifts, held.gains.T, strict=True) if g.any())
        if late > LONGEST:
            raise InputError(
                f"{type(self).__name__}: the process is late by {late} samples, and each is a state; at most "
                f"{LONGEST} are taken: lower the rate, or fit poles in place of the delay"
            )
        # z, then u(k-1) ... u(k-late), then d; d acts with the command, so it goes the same late way.
        F, G = np.zeros((n + late + 1,) * 2), np.zeros(n + late + 1)
        F[:n, :n] = held.transition
        for shift, gain in zip(held.shifts, held.gains.T, strict=True):
            if shift == 0:
                G[:n] += gain
                F[:n, -1] += gain
            elif shift <= late:
                F[:n, n + shift - 1] += gain
        if late:
            G[n] = F[n, -1] = 1.0
            F[n + 1 : n + late, n : n + late - 1] = np.eye(late - 1)
        F[-1, -1] = math.exp(-2 * math.pi * self.corner * period)
        return F, G, np.concatenate([C, np.zeros(late + 1)])

    def gains(self, period: float | str) -> tuple[Array, Array]:
        """Return K of the regulator, and M by which a measurement corrects the estimate.

        Parameters
        ----------
        period
            The sample period in s.
        """
        from scipy.linalg import solve_discrete_are

        F, G, C = self.model(period)
        drive = np.zeros((len(F), len(F)))
        drive[-1, -1] = (1 - F[-1, -1] ** 2) * (self.disturbance / self.noise) ** 2
        try:
            with np.errstate(all="ignore"):
                P = solve_discrete_are(F, G[:, None], np.outer(C, C), [[self.effort]])
                S = solve_discrete_are(F.T, C[:, None], drive, [[1.0]])
        except (np.linalg.LinAlgError, ValueError):
            raise InputError(
                f"{type(self).__name__}: no best feedback was found at a sample period of {period:g} s; "
                "effort, disturbance, corner or noise are too far from each other or from the process"
            ) from None
        K = (G @ P @ F) / (self.effort + G @ P @ G)
        return K, S @ C / (C @ S @ C + 1.0)

    def feedback(self, period: float | str) -> DiscreteFilter:
        """Return observer and regulator as one filter of the tracking error.

        Parameters
        ----------
        period
            The sample period in s.
        """
        F, G, C = self.model(period)
        K, M = self.gains(period)
        # The estimate before the measurement is kept; the error has the sign of minus the deviation.
        corrected, onward = np.eye(len(F)) - np.outer(M, C), F - np.outer(G, K)
        return DiscreteFilter(
            onward @ corrected, -(onward @ M)[:, None], -(K @ corrected)[None, :], np.array([[K @ M]])
        )
