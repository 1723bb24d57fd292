"""Amplitude and delay in the frequency domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import POSITIVE, number
from bondloop.errors import InputError
from bondloop.results.assess.samples import same_length

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class FrequencyIndex:
    """The frequency evaluation index of a pair of signals.

    Attributes
    ----------
    amplitude
        Mean gain from desired to actual; 1 is perfect.
    delay
        Mean delay of the actual signal [s]; positive: it lags.
    frequency
        Equivalent frequency [Hz] that turns the phase into the delay.
    """

    amplitude: float
    delay: float
    frequency: float


def frequency_evaluation_index(
    desired: ArrayLike,
    actual: ArrayLike,
    sample_period: float | str,
    power: float = 2.0,
    highest: float | str | None = None,
) -> FrequencyIndex:
    r"""Return amplitude and delay as means over the spectrum, weighted by what was desired.

    With Y_I and Y_O the Fourier transforms of the desired and the actual signal::

        FEI = Σ_j  Y_O(f_j)/Y_I(f_j) · w_j,   w_j = |Y_I(f_j)|^l / Σ_i |Y_I(f_i)|^l
        amplitude = |FEI|,   f_eq = Σ_j w_j f_j,   delay = −arg(FEI) / (2π f_eq)

    over the positive frequencies; a constant offset (f = 0) has no delay and is left out. l = 2 weights by
    power. The phase is taken in (−π, π]: a delay of more than half a period of f_eq comes out wrong.

    Parameters
    ----------
    desired, actual
        Signals, shape (n,).
    sample_period
        Seconds between samples, or text: ``"1 ms"``.
    power
        The exponent l.
    highest
        Frequencies above this [Hz, or text] are left out; half the sample rate unless given.

    Returns
    -------
    FrequencyIndex
        NaN throughout where the desired signal is constant.

    References
    ----------
    Guo, Chen, Xu and Sanchez (2014), A frequency response analysis approach for quantitative assessment of
    actuator tracking for real-time hybrid simulation, Smart Materials and Structures 23(4).

    Examples
    --------
    >>> t = np.arange(1000) * 1e-3
    >>> x, y = np.sin(2 * np.pi * 5 * t), 0.9 * np.sin(2 * np.pi * 5 * (t - 0.004))
    >>> index = frequency_evaluation_index(x, y, 1e-3)
    >>> round(index.amplitude, 9), round(index.delay, 9), round(index.frequency, 9)
    (0.9, 0.004, 5.0)
    """
    period = POSITIVE.check(sample_period, "sample_period", "s")
    x, y = same_length(desired=desired, actual=actual)
    frequencies = np.fft.rfftfreq(x.size, period)
    top = np.inf if highest is None else number(highest, "highest", "Hz")
    kept = slice(1, int(np.searchsorted(frequencies, top, "right")))
    nothing = FrequencyIndex(float("nan"), float("nan"), float("nan"))
    largest = np.abs(x).max()
    if largest == 0 or not np.isfinite(largest):
        return nothing
    spectrum_in = np.fft.rfft(x / largest)[kept]
    spectrum_out = np.fft.rfft(y / largest)[kept]
    size = np.abs(spectrum_in)
    # What a constant signal leaves at f > 0 is rounding, and a ratio of roundings is no gain.
    if size.size == 0 or size.max() < 1e-12 * x.size:
        return nothing
    weight = size**power
    weight /= weight.sum()
    # Y_O/Y_I · |Y_I|^l written without the quotient where Y_I is zero: such lines have no weight.
    heard = size > 0
    index = complex(np.sum(spectrum_out[heard] / spectrum_in[heard] * weight[heard]))
    mean = float(np.sum(weight * frequencies[kept]))
    return FrequencyIndex(abs(index), float(-np.angle(index) / (2 * np.pi * mean)), mean)


@dataclass(frozen=True)
class Response:
    """Gain and phase from the desired to the actual signal at one frequency.

    Attributes
    ----------
    gain
        Ratio of the amplitudes.
    phase
        Phase of the actual signal [rad] in (−π, π]; negative: it lags.
    frequency
        Where [Hz].
    """

    gain: float
    phase: float
    frequency: float

    __repr__ = brief

    @property
    def delay(self) -> float:
        """The phase as a delay [s]; positive: the actual signal lags."""
        return -self.phase / (2 * np.pi * self.frequency)


def response_at(
    desired: ArrayLike, actual: ArrayLike, sample_period: float | str, frequency: float | str
) -> Response:
    """Return gain and phase at one frequency from the Fourier coefficients over whole periods.

    The last whole periods of the record are used, so that a starting transient weighs least. With a whole
    number of samples a period the coefficients are the Fourier sums; otherwise they are fitted by least
    squares together with the mean, which is exact for a sine of that frequency at any sample rate.

    Parameters
    ----------
    desired, actual
        Samples of both signals.
    sample_period
        In s, or text: ``"1 ms"``.
    frequency
        In Hz, or text.

    Examples
    --------
    >>> t = np.arange(3000) * 1e-3
    >>> x, y = np.cos(2 * np.pi * 3 * t), 2 + 0.5 * np.cos(2 * np.pi * 3 * t - 0.25)
    >>> found = response_at(x, y, 1e-3, 3.0)
    >>> round(found.gain, 9), round(found.phase, 9)
    (0.5, -0.25)
    """
    period, f = (
        POSITIVE.check(sample_period, "sample_period", "s"),
        POSITIVE.check(frequency, "frequency", "Hz"),
    )
    x, y = same_length(desired=desired, actual=actual)
    if f >= 0.5 / period:
        raise InputError(f"{f:g} Hz is not below half the sample rate ({0.5 / period:g} Hz)")
    whole = int(np.floor(x.size * period * f * (1 + 1e-9)))
    if whole < 1:
        raise InputError(f"{x.size * period:g} s hold no whole period of {f:g} Hz; record longer")
    count = min(x.size, round(whole / (f * period)))
    angle = 2 * np.pi * f * period * np.arange(x.size - count, x.size)
    basis = np.column_stack((np.cos(angle), np.sin(angle), np.ones(count)))
    tail = np.column_stack((x[-count:], y[-count:]))
    fit = np.linalg.lstsq(basis, tail, rcond=None)[0]
    lines = fit[0] - 1j * fit[1]
    if abs(lines[0]) <= 1e-12 * np.abs(tail[:, 0]).max():
        return Response(float("nan"), float("nan"), f)
    ratio = complex(lines[1] / lines[0])
    return Response(abs(ratio), float(np.angle(ratio)), f)
