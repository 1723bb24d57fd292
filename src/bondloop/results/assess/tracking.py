"""How well a motion follows the one it should: errors, delay, gain over frequency, all without drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import POSITIVE, number
from bondloop.errors import InputError
from bondloop.results.assess.tolerances import (
    AS_GOOD,
    FALSE_ALARM,
    FEWEST_PERIODS,
    LARGEST,
    LEAST_VIBRATION,
    SLOW,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from bondloop.results.records.record import Record


def same_length(**signals: ArrayLike) -> list[NDArray[np.float64]]:
    """Return the named signals as float64 rows of one length, or say which one does not fit.

    Examples
    --------
    >>> same_length(desired=[1, 2], actual=[1, 2, 3])
    Traceback (most recent call last):
    bondloop.errors.InputError: signals of one length are needed; found desired (2,), actual (3,)
    """
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in signals.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) > 1 or any(array.ndim != 1 for array in arrays.values()):
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(f"signals of one length are needed; found {found}")
    if next(iter(shapes)) == (0,):
        raise InputError(f"{', '.join(arrays)}: no samples")
    return list(arrays.values())


def ratio(part: float, whole: float) -> float:
    """Return part / whole; NaN where the whole is zero, for there is nothing to compare with."""
    return float(part / whole) if whole != 0 else float("nan")


def finite_part(record: Record, names: Sequence[str]) -> tuple[list[NDArray[np.float64]], float | None]:
    """Return channels up to the first value that cannot be reckoned with, and its time if there is one."""
    signals = [record[name] for name in names]
    good = np.logical_and.reduce([np.abs(signal) < LARGEST for signal in signals])
    if good.all():
        return signals, None
    count = int(np.argmin(good))
    return [signal[:count] for signal in signals], float(record.time[count])


def mean_period(record: Record) -> float:
    """Return the mean time between samples [s]; a record in real time may lack some of them."""
    return float(record.time[-1] - record.time[0]) / (len(record) - 1)


def delay(
    desired: ArrayLike, actual: ArrayLike, sample_period: float | str, longest: float | str | None = None
) -> float:
    """Return the delay of `actual` behind `desired` [s]; positive: the actual motion lags.

    The lag k at which the correlation coefficient of the overlapping parts::

        ρ(k) = cov(x_i, y_{i+k}) / (σ_x σ_y)

    is greatest, refined between samples by the parabola through ρ(k−1), ρ(k), ρ(k+1). Each lag is
    normalised by its own overlap, so a short record is not drawn towards zero lag as the plain sum is. Of
    peaks equally high to 2 % the one nearest to zero lag is taken: for a sine the result lies within half a
    period.

    Parameters
    ----------
    desired, actual
        Signals, shape (n,).
    sample_period
        Seconds between samples, or text: ``"1 ms"``.
    longest
        Lags beyond this, in s or as text, are not looked at; a quarter of the record unless given.

    Returns
    -------
    float
        NaN where a signal is constant, for then every delay fits.

    Examples
    --------
    >>> t = np.arange(2000) * 1e-3
    >>> x, y = (np.sin(20 * (t - late)) + np.sin(33 * (t - late)) for late in (0.0, 0.0075))
    >>> round(delay(x, y, 1e-3), 5)
    0.0075
    >>> round(delay(y, x, 1e-3), 5)
    -0.0075
    """
    period = POSITIVE.check(sample_period, "sample_period", "s")
    x, y = same_length(desired=desired, actual=actual)
    if x.size < 4:
        raise InputError(f"a delay needs at least 4 samples; found {x.size}")
    reach = x.size // 4 if longest is None else round(POSITIVE.check(longest, "longest", "s") / period)
    reach = min(max(reach, 1), x.size // 2)
    rho = correlation(x, y, reach + 1)
    if not np.isfinite(rho).any():
        return float("nan")
    rho = np.nan_to_num(rho, nan=-1.0)
    inner = rho[1:-1]
    peaks = np.flatnonzero((inner >= rho[:-2]) & (inner >= rho[2:])) + 1
    if peaks.size == 0:
        raise InputError(
            f"no delay within ±{reach * period:g} s fits: the correlation grows to the end of that range; "
            "give a greater `longest` or a longer record"
        )
    high = peaks[rho[peaks] >= rho[peaks].max() - AS_GOOD]
    best = int(high[np.argmin(np.abs(high - reach - 1))])
    before, at, after = rho[best - 1 : best + 2]
    bend = before - 2 * at + after
    shift = 0.5 * (before - after) / bend if bend < 0 else 0.0
    return float((best - reach - 1 + shift) * period)


def correlation(x: NDArray[np.float64], y: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    """Return ρ(k) for k = −reach ... reach, over the overlap of x_i and y_{i+k}; NaN where one is constant.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0])
    >>> (correlation(x, np.roll(x, 1), 1).round(12) + 0.0).tolist()
    [-1.0, 0.0, 1.0]
    """
    scaled_x, scaled_y = _unit_scale(x), _unit_scale(y)
    if scaled_x is None or scaled_y is None:
        return np.full(2 * reach + 1, np.nan)
    from scipy.fft import irfft, next_fast_len, rfft

    x, y, n = scaled_x, scaled_y, x.size
    size = next_fast_len(n + reach, real=True)
    product = irfft(np.conj(rfft(x, size)) * rfft(y, size), size)
    lags = np.arange(-reach, reach + 1)
    count = n - np.abs(lags)
    first_x, first_y = np.maximum(0, -lags), np.maximum(0, lags)
    sums = [_window(values, first, count) for values, first in ((x, first_x), (y, first_y))]
    squares = [_window(values**2, first, count) for values, first in ((x, first_x), (y, first_y))]
    spread = [np.maximum(square - total**2 / count, 0.0) for square, total in zip(squares, sums, strict=True)]
    covariance = product[lags] - sums[0] * sums[1] / count
    # Against rounding: an overlap in which a signal stands still has no correlation.
    alive = (spread[0] > 1e-12 * n) & (spread[1] > 1e-12 * n)
    scale = np.sqrt(np.where(alive, spread[0] * spread[1], 1.0))
    return np.where(alive, covariance / scale, np.nan)


def _unit_scale(signal: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the signal less its mean, over its standard deviation; None for a constant or non-finite one."""
    largest = np.abs(signal).max()
    if not np.isfinite(largest) or largest == 0:
        return None
    scaled = signal / largest
    scaled = scaled - scaled.mean()
    deviation = scaled.std()
    return scaled / deviation if deviation > 1e-14 else None


def _window(
    values: NDArray[np.float64], first: NDArray[np.intp], count: NDArray[np.intp]
) -> NDArray[np.float64]:
    total = np.concatenate(([0.0], np.cumsum(values)))
    return np.asarray(total[first + count] - total[first], dtype=np.float64)


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


@dataclass(frozen=True, eq=False)
class Vibration:
    """Signals without what is slower than a cut-off.

    Attributes
    ----------
    signals
        Each of shape (n,).
    cut_off
        Frequency [Hz] below which everything was taken out, with the mean and a parabola over the record.
    drift
        Rms of what was taken out of the first signal, over the rms of what is left of it.
    """

    signals: tuple[NDArray[np.float64], ...]
    cut_off: float
    drift: float

    __repr__ = brief


def vibration_frequency(motion: ArrayLike, sample_period: float | str, rates: int = 0) -> float:
    """Return the frequency [Hz] below and above which half of abs(v a), velocity times acceleration, lies.

    In a displacement even a small drift outweighs everything, in an acceleration the noise does; with X(ω)
    the motion's spectrum, ω³ abs(X)² stands between the two. A parabola is taken out first: it is what a
    constant error of an acceleration leaves after two integrations.

    Parameters
    ----------
    motion
        Shape (n,).
    sample_period
        Seconds between samples, or text: ``"1 ms"``.
    rates
        How often it is a displacement's rate: 0 for a displacement, 1 for a velocity, 2 for an acceleration
        or a force. In a velocity that jumps the same weight would find the jumps alone.

    Returns
    -------
    float
        NaN where nothing moves, or white noise alone.

    Examples
    --------
    >>> t = np.arange(5000) * 1e-3
    >>> round(vibration_frequency(1e-3 * np.sin(2 * np.pi * 4 * t) + 5 * t**2 + 2, 1e-3))
    4
    """
    period = POSITIVE.check(sample_period, "sample_period", "s")
    (x,) = same_length(motion=motion)
    # Tapered, or the slopes at its ends would look like high frequencies.
    tapered = _without_parabola(x) * np.sin(np.pi * (np.arange(x.size) + 0.5) / x.size) ** 2
    lines = cosine_lines(tapered)
    if not rms(lines) > 1e-13 * rms(x):
        return float("nan")
    squares = (lines / np.abs(lines).max()) ** 2
    # White noise counts most at the highest frequencies, where nothing else is: its lines are left out.
    squares[squares <= _above_noise(x.size) * float(np.median(squares[x.size // 2 :]))] = 0.0
    # The cosine transform's line k has k half periods in the record.
    power = np.maximum(np.arange(x.size), 0.5) ** (3.0 - 2.0 * rates) * squares
    total = float(power.sum())
    if total == 0:
        return float("nan")
    half = int(np.searchsorted(np.cumsum(power), 0.5 * total))
    return 0.5 * half / (x.size * period)


def vibration(
    sample_period: float | str, desired: ArrayLike, *others: ArrayLike, rates: int = 0
) -> Vibration | None:
    """Return signals without mean and drift: all of them less what is slow for the first of them.

    A parabola is fitted and taken out; of the rest the lines of the cosine transform below `SLOW` times the
    vibration's frequency. The cosine transform continues a signal as in a mirror, so a drift makes no jump
    at the ends as it would in a Fourier transform.

    Parameters
    ----------
    sample_period
        Seconds between samples, or text: ``"1 ms"``.
    desired
        The motion that tells what is slow, shape (n,).
    *others
        Further signals, shape (n,), treated alike.
    rates
        How often the first one is a displacement's rate; see `vibration_frequency`.

    Returns
    -------
    Vibration or None
        None where the record holds fewer than three periods, or hardly anything vibrates.

    Examples
    --------
    >>> t = np.arange(10_000) * 1e-3
    >>> sine, drift = np.sin(2 * np.pi * 2 * t), 20 * t**2 - 300
    >>> found = vibration(1e-3, sine + drift, 0.8 * sine + drift)
    >>> round(float(np.std(found.signals[1]) / np.std(found.signals[0])), 3), found.drift > 100
    (0.8, True)
    >>> vibration(1e-3, t, t) is None
    True
    """
    period = POSITIVE.check(sample_period, "sample_period", "s")
    names = [f"signal {i}" for i in range(1 + len(others))]
    signals = same_length(**dict(zip(names, (desired, *others), strict=True)))
    x = signals[0]
    if not all(np.isfinite(s).all() for s in signals):
        return None
    frequency = vibration_frequency(x, period, rates)
    if not frequency * x.size * period >= FEWEST_PERIODS:
        return None
    count = int(np.ceil(2 * SLOW * frequency * x.size * period))
    kept = tuple(_without_lines(_without_parabola(s), count) for s in signals)
    if rms(kept[0]) <= LEAST_VIBRATION * rms(x):
        return None
    return Vibration(kept, SLOW * frequency, rms(x - kept[0]) / rms(kept[0]))


def _above_noise(count: int) -> float:
    """Return how many times its median power the greatest of so many lines of white noise may be.

    Each line is a normal variable: its square stays below 2 σ² erfcinv(p)² but for a probability p, and half
    of them below 2 σ² erfcinv(1/2)². Of n lines none is beyond but for a probability of at most n p.
    """
    from scipy.special import erfcinv

    return float((erfcinv(FALSE_ALARM / count) / erfcinv(0.5)) ** 2)


def _without_parabola(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x less its least-squares parabola."""
    # Orthonormal columns: the fit is a projection, well conditioned however long the record.
    basis = np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, x.size), min(3, x.size)))[0]
    return np.asarray(x - basis @ (basis.T @ x), dtype=np.float64)


def cosine_lines(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the orthonormal cosine transform: the squares of its lines add up to those of the samples.

    Parameters
    ----------
    x
        Samples, shape (n,).

    Examples
    --------
    >>> cosine_lines(np.array([1.0, 1.0, 1.0, 1.0])).round(12).tolist()
    [2.0, 0.0, 0.0, 0.0]
    """
    from scipy.fft import dct

    return np.asarray(dct(x, norm="ortho"), dtype=np.float64)


def _without_lines(x: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return x less the first lines of its cosine transform."""
    from scipy.fft import idct

    lines = cosine_lines(x)
    lines[:count] = 0.0
    return np.asarray(idct(lines, norm="ortho"), dtype=np.float64)


def rms(values: ArrayLike) -> float:
    """Return the root of the mean square, without overflow for values near the largest float.

    Parameters
    ----------
    values
        Samples, in any unit.

    Examples
    --------
    >>> rms([3.0, -4.0, 0.0, 0.0])
    2.5
    """
    (array,) = same_length(values=values)
    scale = float(np.abs(array).max())
    if scale == 0 or not np.isfinite(scale):
        return scale
    return scale * float(np.sqrt(np.mean(np.square(array / scale))))


def normalised_rms_error(desired: ArrayLike, actual: ArrayLike) -> float:
    """Return rms(actual − desired) / rms(desired).

    For a sine of angular frequency ω that lags by τ it is 2 sin(ωτ/2); for one scaled by g it is abs(g − 1).
    NaN where the desired signal is zero throughout.

    Parameters
    ----------
    desired, actual
        Samples of both signals, of one unit and one length.

    Examples
    --------
    >>> round(normalised_rms_error([1.0, -1.0], [1.1, -1.1]), 12)
    0.1
    """
    x, y = same_length(desired=desired, actual=actual)
    return ratio(rms(y - x), rms(x))


def maximum_error(desired: ArrayLike, actual: ArrayLike) -> float:
    """Return max abs(actual − desired), the maximum tracking error, in the unit of the signals.

    Parameters
    ----------
    desired, actual
        Samples of both signals, of one unit and one length.

    Examples
    --------
    >>> maximum_error([0.0, 1.0], [0.0, 0.75])
    0.25
    """
    x, y = same_length(desired=desired, actual=actual)
    return float(np.abs(y - x).max())


def normalised_peak_error(desired: ArrayLike, actual: ArrayLike) -> float:
    """Return max abs(actual − desired) / max abs(desired); NaN where the desired signal is zero throughout.

    Parameters
    ----------
    desired, actual
        Samples of both signals, of one unit and one length.

    Examples
    --------
    >>> normalised_peak_error([0.0, 2.0], [0.5, 2.0])
    0.25
    """
    x, y = same_length(desired=desired, actual=actual)
    return ratio(float(np.abs(y - x).max()), float(np.abs(x).max()))


def peak_amplitude_error(desired: ArrayLike, actual: ArrayLike) -> float:
    """Return max abs(actual) / max abs(desired) − 1: how far the greatest excursion is over- or undershot.

    A delay alone leaves it at zero.

    Parameters
    ----------
    desired, actual
        Samples of both signals, of one unit and one length.

    Examples
    --------
    >>> peak_amplitude_error([0.0, 2.0, 0.0], [0.0, 0.0, 2.5])
    0.25
    """
    x, y = same_length(desired=desired, actual=actual)
    return ratio(float(np.abs(y).max()), float(np.abs(x).max())) - 1.0


def tracking_indicator(desired: ArrayLike, actual: ArrayLike) -> NDArray[np.float64]:
    """Return TI(t), the area enclosed so far in the synchronisation subspace.

    With x the desired and y the actual signal::

        A_{i+1}  = A_i  + ½ (x_{i+1} + x_i)(y_{i+1} − y_i)
        TA_{i+1} = TA_i + ½ (y_{i+1} + y_i)(x_{i+1} − x_i)
        TI = ½ (A − TA),   A_0 = TA_0 = 0

    A rising TI means that the actual motion lags (energy is put into the structure), a falling one that it
    leads; an amplitude error alone leaves it level. A sine of amplitude X that comes out with amplitude Y
    and phase lag φ encloses π X Y sin φ a period.

    Parameters
    ----------
    desired, actual
        Samples of both signals, of one unit and one length.

    Returns
    -------
    ndarray
        In the square of the signals' unit, shape (n,); the first is zero.

    References
    ----------
    Mercan and Ricles (2007), Stability and accuracy analysis of outer loop dynamics in real-time
    pseudodynamic testing of SDOF systems, EESD 36(11).

    Examples
    --------
    >>> t = np.linspace(0, 1, 2001)
    >>> x, y = np.sin(2 * np.pi * t), 0.5 * np.sin(2 * np.pi * t - 0.3)
    >>> round(float(tracking_indicator(x, y)[-1]) / (np.pi * 0.5 * float(np.sin(0.3))), 5)
    1.0
    """
    x, y = same_length(desired=desired, actual=actual)
    # ½ (ΔA − ΔTA) = ½ (x_i y_{i+1} − x_{i+1} y_i), the sector swept from the origin.
    sectors = 0.5 * (x[:-1] * y[1:] - x[1:] * y[:-1])
    return np.concatenate(([0.0], np.cumsum(sectors)))
