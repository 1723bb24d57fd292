"""Motion without its mean and its drift, which would flatter every error that is divided by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import POSITIVE
from bondloop.results.assess.samples import same_length
from bondloop.results.assess.tolerances import FALSE_ALARM, FEWEST_PERIODS, LEAST_VIBRATION, SLOW
from bondloop.results.assess.tracking import rms

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
    lines = _cosine_lines(tapered)
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


def _cosine_lines(x: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.fft import dct

    return np.asarray(dct(x, norm="ortho"), dtype=np.float64)


def _without_lines(x: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return x less the first lines of its cosine transform."""
    from scipy.fft import idct

    lines = _cosine_lines(x)
    lines[:count] = 0.0
    return np.asarray(idct(lines, norm="ortho"), dtype=np.float64)
