"""How well a fit knows its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.identify.policy import POLICY
from bondloop.identify.residuals import autocovariance, autoregression, effective_samples
from bondloop.identify.tolerances import HARDLY_DETERMINED
from bondloop.transfer.thin_products import dot, gram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Estimate", "covariance", "estimates", "freedom"]


@dataclass(frozen=True)
class Estimate:
    """A fitted parameter: value, standard deviation, 95 % confidence interval and unit.

    Parameters
    ----------
    value, deviation
        The parameter and its standard deviation.
    low, high
        The 95 % confidence interval.
    unit
        Of all four.
    at_bound
        Whether the fit ended at the border of what was allowed: the interval then says little.

    Examples
    --------
    >>> print(Estimate(0.0374, 0.0002, 0.037, 0.0378, "s"))
    0.0374 s (95 %: 0.037 to 0.0378)
    """

    value: float
    deviation: float
    low: float
    high: float
    unit: str = ""
    at_bound: bool = False

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        held = " (held by its bound)" if self.at_bound else ""
        return f"{self.value:.6g}{unit} (95 %: {self.low:.6g} to {self.high:.6g}){held}"


def freedom(e: Array, taken: int, *, white: bool) -> float:
    """Return the degrees of freedom of residuals: what they are worth, less the parameters taken off."""
    return max(1.0, (e.size if white else effective_samples(e)) - taken)


def covariance(
    J: Array, e: Array, *, white: bool, free: NDArray[np.bool_] | None = None, besides: int = 0
) -> Array:
    """Return the covariance of least-squares parameters.

    With white residuals it is s^2 (J'J)^-1. With coloured ones it is (J'J)^-1 J' R J (J'J)^-1, where R is the
    covariance of the residuals: the spread that the least-squares estimate has under that noise, although it
    was not weighted for it. R belongs to the spectrum of an autoregression of the residuals times that of
    what it leaves over, under a Parzen window (Andrews and Monahan 1992, doi:10.2307/2951574). The count of
    samples from which the parameters are taken off is then what the coloured samples are worth.

    Parameters
    ----------
    J, e
        Derivatives of the residuals, shape (p, n), and residuals.
    white
        Whether the residuals are taken to be white.
    free
        Which parameters moved freely; those held by a bound count as known.
    besides
        How many more were fitted along, such as an offset, and projected out of ``J`` and ``e``.

    Examples
    --------
    The mean of n values has the variance s^2/n:

    >>> e = np.tile([1.0, -1.0], 50)
    >>> float(covariance(np.ones((1, 100)), e, white=True)[0, 0].round(6))
    0.010101
    """
    p = J.shape[0]
    chosen = np.arange(p) if free is None else np.flatnonzero(free)
    result = np.zeros((p, p))
    if not chosen.size:
        return result
    J = J[chosen]
    size = np.sqrt(np.einsum("in,in->i", J, J))
    size[size == 0] = 1.0
    Q = J / size[:, None]
    # What the data do not determine at all gets an enormous spread, not none as from a pseudo-inverse.
    values, vectors = np.linalg.eigh(gram(Q, Q))
    inverse = vectors / np.maximum(values, 1e-14 * values[-1]) @ vectors.T
    taken = chosen.size + besides
    left = freedom(e, taken, white=white)
    if white:
        whole = inverse * dot(e, e) / left
    else:
        # In a direction that the data hardly determine, rounding rules the product below, and may make the
        # variance negative: there the residuals are taken to be white.
        inner = vectors.T @ _coloured(Q, e) @ vectors
        for i in np.flatnonzero(values < HARDLY_DETERMINED * values[-1]):
            inner[i], inner[:, i] = 0.0, 0.0
            inner[i, i] = max(values[i], 1e-14 * values[-1]) * dot(e, e) / e.size
        whole = inverse @ vectors @ inner @ vectors.T @ inverse * (1 + taken / left)
    result[np.ix_(chosen, chosen)] = whole / np.outer(size, size)
    return result


def _coloured(J: Array, e: Array) -> Array:
    """Return J' R J with R from the residuals' spectrum, by the fast Fourier transform."""
    n = J.shape[1]
    e = e - e.mean()
    a = autoregression(e)
    left = np.convolve(e, a)[a.size - 1 : n]
    lags = min(n // 4, max(20, int(2 * np.sqrt(n))))
    r = autocovariance(left, lags)
    x = np.arange(lags + 1) / (lags + 1)
    parzen = np.where(x <= 0.5, 1 - 6 * x**2 + 6 * x**3, 2 * (1 - x) ** 3)
    length = 1 << (2 * n).bit_length()
    column = np.zeros(length)
    column[: lags + 1] = r * parzen
    column[-lags:] += column[lags:0:-1]
    # What never dies out (an offset, a sine) has its root on the unit circle: only rounding is left there.
    rounding = np.finfo(float).eps * np.abs(a).sum()
    whitens = np.maximum(np.abs(np.fft.rfft(a, length)), rounding)
    spectrum = np.maximum(np.fft.rfft(column).real, 0.0) / whitens**2
    once = np.fft.irfft(np.fft.rfft(J, length, axis=1) * spectrum, length, axis=1)[:, :n]
    inner = gram(J, once)
    return np.asarray((inner + inner.T) / 2)


def estimates(
    values: dict[str, float],
    units: dict[str, str],
    spread: Array,
    left: float,
    held: NDArray[np.bool_],
    level: float = POLICY.confidence,
) -> dict[str, Estimate]:
    """Return values with the intervals that their covariance gives, by Student's distribution."""
    from scipy.stats import t

    found, factor = {}, float(t.ppf(0.5 + level / 2, left))
    for i, (name, value) in enumerate(values.items()):
        deviation = float(np.sqrt(max(0.0, spread[i, i])))
        reach = factor * deviation
        low, high = value - reach, value + reach
        found[name] = Estimate(value, deviation, low, high, units.get(name, ""), bool(held[i]))
    return found
