"""Step responses from data of any kind, by frequency-sampling filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError
from bondloop.identify.least_squares import autoregression
from bondloop.identify.tolerances import MOST_FILTERS, NOISE_ORDERS, SAMPLES_OF_SETTLING
from bondloop.results.assess import same_length

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False, repr=False)
class StepResponse:
    """A step response with its uncertainty.

    Attributes
    ----------
    time
        Time since the step [s], shape (n,), from 0 to just under the settling time.
    response
        Output after a unit step of the input, shape (n,).
    deviation
        Its standard deviation, shape (n,).
    gain
        What it settles to.
    gain_deviation
        Standard deviation of the gain.
    filters
        How many frequency-sampling filters were used.
    noise
        Rms of what is left of the output after the fit, in its unit.
    noise_order
        Order of the autoregression that describes that noise.
    sample_period
        Seconds between samples.
    warnings
        What is doubtful, in sentences.
    """

    time: NDArray[np.float64]
    response: NDArray[np.float64]
    deviation: NDArray[np.float64]
    gain: float
    gain_deviation: float
    filters: int
    noise: float
    noise_order: int
    sample_period: float
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<StepResponse: gain {self.gain:.4g}, rise time {self.rise_time:.3g} s, overshoot "
            f"{100 * self.overshoot:.2g} %>"
        )

    def interval(self, confidence: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounds between which the response lies at each time with that probability.

        They know noise only; a number of filters that was chosen from the data makes 95 % about 91 %.

        Parameters
        ----------
        confidence
            That probability, between 0 and 1.
        """
        from scipy.stats import norm

        if not 0 < confidence < 1:
            raise InputError(f"a confidence lies between 0 and 1; found {confidence:g}")
        reach = float(norm.ppf(0.5 + confidence / 2)) * self.deviation
        return self.response - reach, self.response + reach

    @property
    def rise_time(self) -> float:
        """Time [s] from 10 to 90 % of the gain; NaN if it never gets there."""
        part = self.response / self.gain
        if part.max() < 0.9:
            return float("nan")
        low, high = (self._crossing(part, level) for level in (0.1, 0.9))
        return high - low

    @property
    def overshoot(self) -> float:
        """How far the response goes beyond the gain, as part of it; 0 if it does not."""
        return max(0.0, float((self.response / self.gain).max()) - 1)

    def settling_time(self, within: float = 0.02) -> float:
        """Return the time [s] after which the response stays ``within`` a part of the gain, 0.02 for 2 %."""
        outside = np.flatnonzero(np.abs(self.response / self.gain - 1) > within)
        return float(self.time[outside[-1]] + self.sample_period) if outside.size else 0.0

    def _crossing(self, part: NDArray[np.float64], level: float) -> float:
        at = int(np.argmax(part >= level))
        if at == 0:
            return float(self.time[0])
        share = (level - part[at - 1]) / (part[at] - part[at - 1])
        return float(self.time[at - 1] + share * self.sample_period)


def step_response(
    input: ArrayLike,  # noqa: A002 - the word of the interface
    output: ArrayLike,
    sample_period: float | str,
    *,
    settling: float | str | None = None,
    filters: int | None = None,
    at_rest: bool = False,
) -> StepResponse:
    """Return the step response that data of any shape (steps, sweeps, noise) show.

    With N samples in the settling time and Ω = 2π/N, a system that settles within N samples is

        G(z) = Σ_l G(e^{jlΩ}) H_l(z),   H_l(z) = (1/N) (1 − z^{−N}) / (1 − e^{jlΩ} z^{−1}),

    and since it is smooth, a few low l are enough. The values G(e^{jlΩ}) are fitted by least squares, as many
    of them as predict best (the PRESS statistic). The step response follows linearly, and its deviation
    with an autoregression as the model of the noise. The deviation knows noise only: corners sharper than the
    highest filter, above all the first instants, are rounded. Gawthrop 2005 (section 5.1, Figure 12)
    identified the transfer system so.

    Parameters
    ----------
    input, output
        Signals, shape (n,).
    sample_period
        Seconds between samples.
    settling
        Time [s] in which the step response becomes flat. Too short bends it; too long costs certainty. Unless
        given, times from 32 samples on are tried, each twice the last, and that with the best fit is taken.
    filters
        How many, an odd number; unless given the number with the best PRESS.
    at_rest
        Whether the system rested at the input's first value before the record begins. Otherwise what was
        before is unknown and the first `settling` seconds are given up.

    References
    ----------
    Wang and Cluett (2000), From Plant Data to Process Control, chapters 2 to 4.

    Examples
    --------
    >>> u = np.repeat(np.random.default_rng(2).choice([-1.0, 1.0], 100), 20)  # a binary sequence
    >>> y = np.zeros(u.size)
    >>> for k in range(1, u.size):
    ...     y[k] = 0.9 * y[k - 1] + 0.2 * u[k - 1]  # gain 2, time constant 9.5 samples
    >>> found = step_response(u, y, 0.01, settling=1.0)
    >>> round(found.gain, 3), round(found.rise_time, 2)  # rise time 2.2 time constants
    (2.0, 0.21)
    """
    h = POSITIVE.check(sample_period, "sample_period", "s")
    u, y = same_length(input=input, output=output)
    if not (np.isfinite(u).all() and np.isfinite(y).all()):
        raise InputError("the signals have values that are not finite; measure again, or cut them out")
    if np.ptp(u) == 0:
        raise InputError("the input does not vary; drive it with steps, a binary sequence, a sweep or noise")
    if filters is not None and (filters < 1 or filters % 2 == 0):
        raise InputError(f"the number of filters must be odd and positive; found {filters}")
    if settling is not None:
        return _fitted(
            u, y, h, max(4, round(POSITIVE.check(settling, "settling", "s") / h)), filters, at_rest
        )
    return _fitted(
        u, y, h, _span(u[:SAMPLES_OF_SETTLING], y[:SAMPLES_OF_SETTLING], filters, at_rest), filters, at_rest
    )


def _span(u: NDArray[np.float64], y: NDArray[np.float64], filters: int | None, at_rest: bool) -> int:
    """Return the settling time in samples whose fit leaves least; of equals, the shortest."""
    best, least = 0, np.inf
    N = 32
    while u.size >= 3 * N or best == 0:
        left = _fitted(u, y, 1.0, N, filters, at_rest).noise
        if left < 0.99 * least:
            best, least = N, left
        N *= 2
    return best


def _fitted(
    u: NDArray[np.float64],
    y: NDArray[np.float64],
    h: float,
    N: int,
    filters: int | None,
    at_rest: bool,
) -> StepResponse:
    lost = 0 if at_rest else N - 1
    left = u.size - lost
    most = min(MOST_FILTERS if filters is None else filters, N - 1 + N % 2, (left // 4) // 2 * 2 + 1)
    if left < max(2 * N if not at_rest else 0, 16) and not at_rest:
        raise InputError(
            f"a record of {u.size * h:g} s is too short for a settling time of {N * h:g} s; record at least "
            f"{3 * N * h:g} s, or say at_rest=True if the system rested before the record began"
        )
    if filters is not None and most < filters:
        raise InputError(
            f"{u.size} samples cannot tell {filters} filters apart; at most {most}, or record longer"
        )
    X = _regressors(u - u[0] if at_rest else u, N, most)[lost:]
    target = y[lost:]
    # One factorisation serves all the nested fits: the columns are made orthogonal in their order.
    Q, R = np.linalg.qr(X)
    count = _best(Q, target) if filters is None else most
    warnings: list[str] = []
    weak = np.abs(np.diag(R)) < 1e-7 * np.linalg.norm(X[:, 1:], axis=0).max()
    weak[0] = False
    if weak[1]:
        raise InputError(
            "the input has nothing near zero frequency, so where a step settles cannot be told; drive it "
            "with steps, a binary sequence or noise"
        )
    if weak[: 1 + count].any():
        apart = int(np.argmax(weak)) - 1
        count = apart - (1 - apart % 2)
        warnings.append(
            f"the input tells only {count} filters apart, frequencies up to "
            f"{(count - 1) / 2 / (N * h):.3g} Hz; drive it with a faster binary sequence, a sweep or noise"
        )
    theta, covariance, residual, order = _fit(Q[:, : 1 + count], R[: 1 + count, : 1 + count], target)
    S = np.column_stack((np.zeros(N), _steps(N, count)))
    response = S @ theta
    deviation = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", S, covariance, S), 0.0))
    gain, spread = float(theta[1]), float(np.sqrt(covariance[1, 1]))
    if abs(gain) < 2 * spread:
        warnings.append("the gain is lost in the noise; excite more, or record longer")
    elif np.ptp(response[-(N // 5 + 1) :]) > 0.1 * abs(gain) + 6 * float(np.median(deviation)):
        warnings.append(f"the response has not settled after {N * h:g} s; give a longer settling time")
    return StepResponse(
        np.arange(float(N)) * h, response, deviation, gain, spread, count,
        float(np.sqrt(np.mean(residual**2))), order, h, tuple(warnings),
    )  # fmt: skip


def _regressors(u: NDArray[np.float64], N: int, count: int) -> NDArray[np.float64]:
    """Return a column of ones and the filters' outputs: the mean of N samples, then pairs of real parts.

    f_l(k) = (1/N) Σ_{i<N} e^{jlΩi} u(k − i) is a difference of running sums of e^{−jlΩk} u(k), turned.
    """
    k = np.arange(u.size)
    columns = [np.ones(u.size)]
    for l in range((count + 1) // 2):
        # The angle of a whole number of turns is taken off before it can lose digits.
        turn = np.exp(2j * np.pi * ((l * k) % N) / N)
        total = np.cumsum(u * turn.conj())
        total[N:] -= total[:-N].copy()
        f = turn * total / N
        columns += [f.real] if l == 0 else [2 * f.real, -2 * f.imag]
    return np.column_stack(columns)


def _steps(N: int, count: int) -> NDArray[np.float64]:
    """Return the step response of each filter, to be weighted by the fitted values, shape (N, count)."""
    unit = np.zeros(N)
    unit[0] = 1.0
    return np.cumsum(_regressors(unit, N, count)[:, 1:], axis=0)


def _best(Q: NDArray[np.float64], y: NDArray[np.float64]) -> int:
    """Return the number of filters whose fit predicts samples left out of it best (PRESS).

    Sample i, left out, is missed by e_i / (1 − Σ_j Q_ij²).
    """
    error, leverage = y - Q[:, 0] * (Q[:, 0] @ y), Q[:, 0] ** 2
    best, least = 1, np.inf
    for last in range(1, Q.shape[1], 2):
        added = Q[:, max(1, last - 1) : last + 1]
        error = error - added @ (added.T @ y)
        leverage = leverage + (added**2).sum(axis=1)
        press = float(np.sum((error / np.maximum(1 - leverage, 1e-9)) ** 2))
        # A fit that is better by rounding is not better.
        if press < least * (1 - 1e-6):
            best, least = last, press
    return best


def _fit(
    Q: NDArray[np.float64], R: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int]:
    """Return parameters, their covariance, the residual and the order of its autoregression.

    With noise A⁻¹ e (A the triangular matrix of its autoregression, e white) the covariance of ordinary least
    squares is σ² X⁺ A⁻¹ A⁻ᵀ X⁺ᵀ. Generalised least squares, which fits A X to A y, was rejected: what is left
    is partly no noise but the truncated model, and whitening that spoils the fit where it matters.
    """
    from scipy.signal import lfilter

    weights = Q.T @ y
    theta = np.asarray(np.linalg.solve(R, weights), dtype=np.float64)
    left = y - Q @ weights
    a = autoregression(left, NOISE_ORDERS)
    power = float(np.mean(np.convolve(left, a)[a.size - 1 : left.size] ** 2))
    # A⁻ᵀ Q is Q filtered backwards in time.
    coloured = lfilter([1.0], a, Q[::-1], axis=0) if a.size > 1 else Q
    half = np.linalg.solve(R, coloured.T @ coloured)
    covariance = power * y.size / max(y.size - theta.size, 1) * np.linalg.solve(R, half.T)
    return theta, covariance, left, a.size - 1
