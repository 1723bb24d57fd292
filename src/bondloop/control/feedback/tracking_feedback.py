"""A feed-forward with feedback of the tracking error: LQG and H-infinity loop shaping."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from bondloop.control.base import Compensator, expect_compensator
from bondloop.control.blocks.filters import DiscreteFilter, LinearFilter
from bondloop.control.feedforward.inverse_model import InverseModel, expect_process
from bondloop.engine.data import NOT_NEGATIVE, POSITIVE, Parameter
from bondloop.engine.ir import as_expr
from bondloop.engine.passes import Applied, Context, Statements
from bondloop.errors import InputError
from bondloop.transfer import Process, hold_late

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bondloop.control.base import Measured
    from bondloop.engine.ir import Expr

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class TrackingFeedback(Compensator, family="controller"):
    """Base: u = feed-forward of the demand + a linear filter of (demand - measured displacement).

    Where the feed-forward is perfect there is nothing left for the feedback to do; what model, load and wear
    leave, it takes away as far as delay and noise permit.
    """

    process: Process
    feedforward: Compensator | None = None

    def __post_init__(self) -> None:
        kind = type(self).__name__
        expect_process(self.process, f"{kind}(process)")
        if self.process.relative_degree < 1:
            raise InputError(
                f"{kind}(process): the model has as many zeros as poles, so its motion would jump with the "
                "command; fit one with more poles than zeros"
            )
        if self.feedforward is None:
            self.process.check_invertible()
        else:
            expect_compensator(self.feedforward, f"{kind}(feedforward)")
        # A member that adapts goes on to do so: the check has to know.
        object.__setattr__(self, "adapts", self.forward.adapts)

    @property
    def forward(self) -> Compensator:
        """The feed-forward: what is left when the feedback is taken away."""
        held = 0.5  # samples by which a command that is held is late
        return InverseModel(self.process, ahead=held) if self.feedforward is None else self.feedforward

    @property
    def _members(self) -> Sequence[Compensator]:
        return (self.forward,)

    @abstractmethod
    def feedback(self, period: float) -> DiscreteFilter:
        """Return the filter from the tracking error to the feedback's part of the command.

        Parameters
        ----------
        period
            The sample period in s.
        """

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command."""
        body, inner = Statements(context.name), replace(context, name=f"{context.name}.forward")
        ahead = body.add(self.forward.compensate(desired, measured, inner))
        error = desired - as_expr(measured.displacement)
        back = body.add(self.feedback(context.period).apply(error, context, "feedback")[0])
        return body.applied(body.put("tracking_command", ahead + back))


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
        most = 100
        if late > most:
            raise InputError(
                f"{type(self).__name__}: the process is late by {late} samples, and each is a state; at most "
                f"{most} are taken: lower the rate, or fit poles in place of the delay"
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


@dataclass(frozen=True)
class LoopShaping(TrackingFeedback):
    """Feedback of the tracking error that leaves the shaped loop as robust as any can be.

    A weight W in series with the process G gives the open loop the wanted shape: high where errors shall be
    small, 1 at the bandwidth, low beyond. Of all filters K, the feedback W K is the one (but for ``slack``)
    with which G W may be the most wrong, by any stable error of its normalised coprime factors below ε. With
    X and Z of the two Riccati equations of G W = C (s - A)⁻¹ B,

        ε_max = 1/γ_min,   γ_min² = 1 + the largest eigenvalue of X Z.

    No iteration is needed. An ε of 0.3 says that the shape can be had; below 0.2 the bandwidth asks
    for more than delay and process permit (`robustness` tells).

    Delays, that of the process and half a sample for the hold, are written as Padé quotients in the design.

    Parameters
    ----------
    process
        Model of the transfer system, with more poles than zeros.
    feedforward
        Any compensator; None for the inverse of the process. ``LeadCompensation(0)`` sends the demand as it
        is: then the feedback does all.
    weight
        W; from `for_bandwidth`, or any stable process but for poles at zero, of which each makes one more
        kind of motion followed without error.
    slack
        γ over γ_min, above 1: at 1 the filter would have an infinite pole.

    Examples
    --------
    For an integrator the best is known: ε = 1/√2.

    >>> from bondloop.transfer import Process, first_order
    >>> integrator, one = Process([1.0], [1.0, 0.0]), Process([1.0], [1.0])
    >>> round(LoopShaping(integrator, weight=one).robustness(0.0), 6)
    0.707107
    >>> law = LoopShaping.for_bandwidth(first_order(1.0, "20 ms", delay="5 ms"), "4 Hz")
    >>> round(law.robustness(0.001), 2)
    0.71

    References
    ----------
    McFarlane and Glover (1992), A loop shaping design procedure using H∞ synthesis, IEEE Trans. Automatic
    Control 37(6), 759-769; Gao, Castaneda and Dyke (2013), Real time hybrid simulation: from dynamic system,
    motion control to experimental error, EESD 42(6), 815-832.
    """

    weight: Process = Process((1.0,), (1.0,))
    slack: Parameter = Parameter(1.1, above=1, most=10, unit="1")

    @classmethod
    def for_bandwidth(
        cls, process: Process, bandwidth: float | str, feedforward: Compensator | None = None
    ) -> Self:
        """Return the law with a weight that integrates, and gives the open loop the gain 1 at a frequency.

        W = k (1 + w/s), with w the angular frequency of the bandwidth.

        Parameters
        ----------
        process
            Model of the transfer system.
        bandwidth
            In Hz.
        feedforward
            As of the class.
        """
        f = POSITIVE.check(bandwidth, "LoopShaping.for_bandwidth(bandwidth)", "Hz")
        if not isinstance(process, Process):
            raise InputError(
                f"LoopShaping.for_bandwidth(process): expected a process model; found {process!r:.60}"
            )
        size = abs(complex(process.response(f)))
        if not size > 0:
            raise InputError(f"LoopShaping.for_bandwidth: the process does not move at {f:g} Hz")
        k = 1 / (size * 2**0.5)  # |1 + w/s| is the root of two there
        return cls(process, feedforward, Process((k, 2 * np.pi * f * k), (1.0, 0.0)))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.weight, Process):
            raise InputError(
                "LoopShaping(weight): expected a process model; LoopShaping.for_bandwidth(process, '5 Hz') "
                f"makes one; found {self.weight!r:.60}"
            )
        if self.weight.delay:
            raise InputError(f"LoopShaping(weight): a weight has no delay; found {self.weight.delay:g} s")

    def shaped(self, period: float | str) -> tuple[Array, Array, Array]:
        """Return A, B and C of process and weight in series, with the hold of a sample period in s.

        Rational functions of second order stand for delays: well beyond what a loop around them can reach.

        Parameters
        ----------
        period
            The sample period in s; 0 for none.
        """
        period = NOT_NEGATIVE.check(period, "period", "s")
        late = replace(self.process, delay=self.process.delay + period / 2)
        blocks = [_space(self.weight), *(_space(part) for part in late.factors(2))]
        whole = blocks[0]
        for block in blocks[1:]:
            whole = _series(whole, block)
        return whole[0], whole[1], whole[2]

    def riccati(self, period: float | str) -> tuple[Array, Array]:
        """Return X and Z: A'X + XA - XBB'X + C'C = 0, AZ + ZA' - ZC'CZ + BB' = 0.

        Parameters
        ----------
        period
            The sample period in s; 0 for none.
        """
        from scipy.linalg import solve_continuous_are

        A, B, C = self.shaped(period)
        solutions: list[Array] = []
        for a, b, c in ((A, B, C), (A.T, C.T, B.T)):
            try:
                with np.errstate(all="ignore"):
                    X = solve_continuous_are(a, b, c.T @ c, np.eye(1))
                slowest = np.max(np.linalg.eigvals(a - b @ b.T @ X).real)
            except (np.linalg.LinAlgError, ValueError):
                slowest = np.inf
            if not slowest < -1e-9 * np.abs(A).max():
                raise InputError(
                    "LoopShaping: the shaped process cannot be stabilised; does a zero of the process cancel "
                    "a pole of the weight that is not stable, or the other way round?"
                )
            solutions.append(np.asarray(X, dtype=float))
        return solutions[0], solutions[1]

    def robustness(self, period: float | str) -> float:
        """Return ε_max: 0.3 is a good loop, below 0.2 the bandwidth asks too much.

        Parameters
        ----------
        period
            The sample period in s; 0 for none.
        """
        X, Z = self.riccati(period)
        return float(1 / np.sqrt(1 + np.max(np.linalg.eigvals(X @ Z).real)))

    def continuous(self, period: float | str) -> LinearFilter:
        """Return the filter from the tracking error to the feedback's command in continuous time.

        Parameters
        ----------
        period
            The sample period in s, for the hold.
        """
        A, B, C = self.shaped(period)
        X, Z = self.riccati(period)
        gamma = self.slack / self.robustness(period)
        # The observer of the shaped process, with the gain of the suboptimal central solution.
        H = -Z @ C.T
        K = -B.T @ np.linalg.solve((1 - gamma**-2) * np.eye(len(A)) - gamma**-2 * (X @ Z), X)
        # A positive error is a motion that is short, so it enters with the observer's sign turned twice.
        robust = (A + H @ C + B @ K, H, K, np.zeros((1, 1)))
        return LinearFilter(*_series(robust, _space(self.weight)))

    def feedback(self, period: float | str) -> DiscreteFilter:
        """Return the filter from the tracking error to the feedback's part of the command.

        Parameters
        ----------
        period
            The sample period in s.
        """
        period = POSITIVE.check(period, "period", "s")
        with np.errstate(all="ignore"):
            matrices = self.continuous(period).discrete(period)
        if not all(np.all(np.isfinite(matrix)) for matrix in matrices):
            raise InputError(
                f"LoopShaping: the loop is too fast for a sample period of {period:g} s; lower the bandwidth,"
                " the gain of the weight, or the period"
            )
        return DiscreteFilter(*matrices)


def _space(process: Process) -> tuple[Array, Array, Array, Array]:
    """Return the state space of a model without a delay, with inlet and outlet of one size."""
    A, B, C, D, scale = process.scaled_space()
    B = B * scale
    outlet, inlet = (np.sqrt(np.max(np.abs(row), initial=0.0)) or 1.0 for row in (C, B))
    size = outlet / inlet
    return A * scale, (B * size)[:, None], (C / size)[None, :], np.array([[D]])


def _series(
    first: tuple[Array, Array, Array, Array], then: tuple[Array, Array, Array, Array]
) -> tuple[Array, Array, Array, Array]:
    """Return the state space of one system after another."""
    (A, B, C, D), (F, G, H, J) = first, then
    return (
        np.block([[A, np.zeros((len(A), len(F)))], [G @ C, F]]),
        np.vstack([B, G @ D]),
        np.hstack([J @ C, H]),
        J @ D,
    )
