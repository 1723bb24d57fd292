"""H-infinity loop shaping around the actuator's own loop (McFarlane and Glover 1992)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from bondloop.control.discrete_filter import DiscreteFilter
from bondloop.control.linear_filter import LinearFilter
from bondloop.control.tracking_feedback import TrackingFeedback
from bondloop.errors import InputError
from bondloop.program.described import Parameter
from bondloop.program.ranges import NOT_NEGATIVE, POSITIVE
from bondloop.transfer.process import Process

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control.compensator import Compensator

    Array = NDArray[np.float64]

__all__ = ["LoopShaping"]

PADE = 2
"""Order of the rational functions that stand for delays, well beyond what a loop around them can reach."""


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
        """Return A, B and C of process and weight in series, with the hold of a sample period in s."""
        period = NOT_NEGATIVE.check(period, "period", "s")
        late = replace(self.process, delay=self.process.delay + period / 2)
        blocks = [_space(self.weight), *(_space(part) for part in late.factors(PADE))]
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
