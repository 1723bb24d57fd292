"""Tracking errors in the time domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.assess.samples import ratio, same_length

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["maximum_error", "normalised_peak_error", "normalised_rms_error", "peak_amplitude_error", "rms"]


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
