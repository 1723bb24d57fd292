"""From an acceleration to velocity and displacement: integrals, and the baseline without which they drift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BASELINES", "ORDER", "corrected", "integrated"]

BASELINES = ("none", "constant", "linear", "high-pass")
"""Ways to correct an acceleration."""

ORDER = 2
"""Of the Butterworth filter, which runs forwards and backwards: four in all, and no shift of phases."""


def integrated(a: NDArray[np.float64], h: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Velocity and displacement from rest, exact for an acceleration that is linear between samples.

    >>> v, d = integrated(np.array([0.0, 1.0, 2.0]), 1.0)
    >>> v.tolist(), round(float(d[-1]), 12)
    ([0.0, 0.5, 2.0], 1.333333333333)
    """
    zero = np.zeros((1, *a.shape[1:]))
    v = np.concatenate([zero, np.cumsum(h / 2 * (a[:-1] + a[1:]), axis=0)])
    d = np.concatenate([zero, np.cumsum(h * v[:-1] + h**2 / 6 * (2 * a[:-1] + a[1:]), axis=0)])
    return v, d


def corrected(
    a: NDArray[np.float64], sample_period: float, baseline: str, corner: float
) -> NDArray[np.float64]:
    """Return an acceleration with its baseline corrected.

    The constant and the line are those nearest to the acceleration (least squares). The high-pass filter is
    Butterworth's, run forwards and backwards over the record without its mean, which would be a step at
    either end, and with zeros before and after it, 1.5 · order / corner at either end (Converse and Brady
    1992; Boore 2005). What the filter puts there stays: to cut it off would bring back the drift. The answer
    is longer by as much.

    Parameters
    ----------
    a
        Acceleration, shape (n,).
    sample_period
        Seconds between samples.
    baseline
        One of `BASELINES`.
    corner
        Of the filter, in Hz.

    Examples
    --------
    >>> corrected(np.array([1.0, 2.0, 3.0]), 0.1, "constant", 1.0).tolist()
    [-1.0, 0.0, 1.0]
    """
    if baseline == "none":
        return a
    if baseline == "constant":
        return np.asarray(a - a.mean())
    if baseline == "linear":
        t = np.arange(a.size) - (a.size - 1) / 2
        slope = t @ a / (t @ t) if a.size > 1 else 0.0
        return np.asarray(a - a.mean() - slope * t)
    from scipy import signal

    if not 0 < 2 * corner * sample_period < 1:
        raise InputError(
            f"a high-pass filter at {corner:g} Hz: samples every {sample_period:g} s show frequencies below "
            f"{0.5 / sample_period:g} Hz; lower the corner"
        )
    pad = padding(sample_period, corner)
    if a.size + 2 * pad > MOST:
        raise InputError(
            f"a high-pass filter at {corner:g} Hz needs {pad * sample_period:g} s of silence before and "
            f"after the record, {a.size + 2 * pad:,} samples in all; at most {MOST:,} are filtered: "
            "raise the corner"
        )
    sections = signal.butter(ORDER, corner, "highpass", fs=1 / sample_period, output="sos")
    # From rest both ways: the zeros at either end are what sosfiltfilt would guess otherwise.
    forwards = signal.sosfilt(sections, np.concatenate([np.zeros(pad), a - a.mean(), np.zeros(pad)]))
    return np.asarray(signal.sosfilt(sections, forwards[::-1])[::-1])


MOST = 20_000_000
"""Samples of a padded record, at most: 55 hours at 100 Hz."""


def padding(sample_period: float, corner: float) -> int:
    """Return how many samples the high-pass filter adds at either end.

    >>> padding(0.01, 0.1)
    3000
    """
    return int(np.ceil(1.5 * ORDER / (corner * sample_period) * (1 - 1e-12)))
