"""Delay from the cross-correlation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError
from bondloop.results.assess.samples import same_length
from bondloop.results.assess.tolerances import AS_GOOD

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
