"""Gain, phase and distortion at one frequency, from a steady periodic record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.assess.samples import same_length
from bondloop.data.ranges import POSITIVE
from bondloop.display import brief
from bondloop.errors import InputError
from bondloop.identify.policy import POLICY

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["FourierPoint", "fourier_point"]


@dataclass(frozen=True, eq=False)
class FourierPoint:
    """The response to a sine of one frequency and amplitude.

    Attributes
    ----------
    frequency
        Of the excitation [Hz].
    amplitude
        Of the input's sine, in its unit, as measured.
    response
        Complex ratio of the Fourier coefficients of output and input at the frequency.
    deviation
        Standard deviation of the real and of the imaginary part of the response; divided by the gain it is
        that of the gain's relative error and of the phase [rad]. The residual is taken for white noise.
    input_lines, output_lines
        Complex amplitudes of mean, fundamental and harmonics, shape (1 + harmonics,): the signal is
        Re Σ_k lines[k] exp(jkωt), t counted from the first sample used.
    distortion, input_distortion
        Total harmonic distortion: rms of the harmonics over the rms of the fundamental.
    distortion_floor
        The distortion that the noise alone would seem to be.
    noise
        Rms of what is left of the output over the rms of its fundamental.
    drift
        Relative change of the response from the first to the second half of the periods; NaN for one period.
    periods
        Whole periods used.
    """

    frequency: float
    amplitude: float
    response: complex
    deviation: float
    input_lines: NDArray[np.complex128]
    output_lines: NDArray[np.complex128]
    distortion: float
    input_distortion: float
    distortion_floor: float
    noise: float
    drift: float
    periods: int

    __repr__ = brief

    @property
    def gain(self) -> float:
        """Ratio of the amplitudes."""
        return abs(self.response)

    @property
    def phase(self) -> float:
        """Phase of the output against the input [rad] in (−π, π]; negative: it lags."""
        return float(np.angle(self.response))

    @property
    def delay(self) -> float:
        """The phase as a delay [s]; positive: the output lags."""
        return -self.phase / (2 * np.pi * self.frequency)

    @property
    def settled(self) -> bool:
        """Whether the response stayed the same over the record, as far as the noise lets one see."""
        if np.isnan(self.drift):
            return True
        # Each half has twice the variance, their difference four times.
        return self.drift <= POLICY.unsettled + 6 * self.deviation / self.gain


def fourier_point(
    input: ArrayLike,  # noqa: A002 - the word of the interface
    output: ArrayLike,
    frequency: float | str,
    sample_period: float | str,
    harmonics: int = 10,
) -> FourierPoint:
    """Return the response at one frequency over the last whole periods of a record.

    Mean, fundamental and harmonics are fitted together by least squares,

        x(t) ≈ x_0 + Σ_k Re(X_k exp(jkωt)),   k = 1 ... harmonics, kω below half the sample rate,

    which equals the Fourier sums where a period has a whole number of samples, and stays exact where it has
    not (du Bois 2010, section 2.2: Fourier coefficients over an integer number of periods).

    Parameters
    ----------
    input, output
        Signals, shape (n,), at least one period long; cut off the settling before, or record so many periods
        that the last ones are steady.
    frequency
        Of the excitation [Hz].
    sample_period
        Seconds between samples.
    harmonics
        How many are looked at, the fundamental included.

    Examples
    --------
    >>> t = np.arange(2000) * 1e-3
    >>> u = 2 * np.sin(2 * np.pi * 7 * t)
    >>> y = 1.5 * np.sin(2 * np.pi * 7 * t - 0.4) + 0.03 * np.sin(2 * np.pi * 21 * t)
    >>> point = fourier_point(u, y, 7.0, 1e-3)
    >>> round(point.amplitude, 9), round(point.gain, 9), round(point.phase, 9), round(point.distortion, 9)
    (2.0, 0.75, -0.4, 0.02)
    """
    h, f = POSITIVE.check(sample_period, "sample_period", "s"), POSITIVE.check(frequency, "frequency", "Hz")
    u, y = same_length(input=input, output=output)
    if not (np.isfinite(u).all() and np.isfinite(y).all()):
        raise InputError(f"the signals at {f:g} Hz have values that are not finite; measure this point again")
    if f >= 0.49 / h:
        raise InputError(f"{f:g} Hz is not below half the sample rate ({0.5 / h:g} Hz); sample faster")
    whole = int(np.floor(u.size * h * f * (1 + 1e-9)))
    if whole < 1:
        raise InputError(
            f"{u.size * h:g} s hold no whole period of {f:g} Hz; measure for at least {1 / f:g} s after "
            "settling"
        )
    count = min(u.size, round(whole / (f * h)))
    # Too many harmonics for too few samples would fit the noise; a line near half the rate is half seen.
    orders = max(1, min(int(harmonics), int(0.49 / (f * h)), (count - 2) // 4))
    if count < 8:
        raise InputError(f"{count} samples of {f:g} Hz are too few for a fit; measure more periods")
    signals = np.column_stack((u[-count:], y[-count:]))
    lines, left = _lines(signals, f * h, orders)
    first = np.abs(lines[1])
    if first[0] <= 1e-12 * np.abs(signals[:, 0]).max():
        raise InputError(
            f"the input has nothing at {f:g} Hz; check the frequency, or which channel is the input"
        )
    response = complex(lines[1, 1] / lines[1, 0])
    variance = (left**2).sum(axis=0) / (count - 1 - 2 * orders)
    # A fitted complex amplitude has the variance 2σ²/n in each of its parts.
    deviation = float(np.sqrt(2 / count * (variance[1] + abs(response) ** 2 * variance[0])) / first[0])
    harmonic = np.sqrt((np.abs(lines[2:]) ** 2).sum(axis=0))
    floor = np.sqrt(4 * variance[1] / count * max(orders - 1, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return FourierPoint(
            f, float(first[0]), response, deviation, lines[:, 0], lines[:, 1],
            float(harmonic[1] / first[1]), float(harmonic[0] / first[0]), float(floor / first[1]),
            float(np.sqrt(2 * variance[1]) / first[1]), _drift(signals, f * h, whole), whole,
        )  # fmt: skip


def _lines(
    signals: NDArray[np.float64], turns: float, orders: int
) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    """Return the complex amplitudes at multiples of `turns` per sample, mean first, and what is left."""
    angle = 2 * np.pi * turns * np.arange(signals.shape[0])[:, None] * np.arange(1, orders + 1)
    basis = np.column_stack((np.ones(signals.shape[0]), np.cos(angle), np.sin(angle)))
    # Over whole periods the columns are all but orthogonal, so the normal equations lose no digits.
    fit = np.linalg.solve(basis.T @ basis, basis.T @ signals)
    lines = np.concatenate((fit[:1] + 0j, fit[1 : orders + 1] - 1j * fit[orders + 1 :]))
    return lines, signals - basis @ fit


def _drift(signals: NDArray[np.float64], turns: float, whole: int) -> float:
    """Return how much the response changes between the first and the second half of the periods."""
    half = round((whole // 2) / turns)
    if whole < 2 or half < 8:
        return float("nan")
    early, late = (_lines(part, turns, 1)[0][1] for part in (signals[:half], signals[-half:]))
    if early[0] == 0 or late[0] == 0 or late[1] == 0:
        return float("nan")
    return float(abs(early[1] / early[0] - late[1] / late[0]) / abs(late[1] / late[0]))
