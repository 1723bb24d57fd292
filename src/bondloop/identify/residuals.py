"""Tests of what is left over: whether it is white, and whether it has nothing to do with the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.errors import InputError
from bondloop.identify.policy import POLICY, IdentificationPolicy
from bondloop.transfer.thin_products import dot

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["ResidualTests", "autocovariance", "autoregression", "check_residuals", "effective_samples"]


@dataclass(frozen=True)
class ResidualTests:
    """Two tests of residuals.

    Attributes
    ----------
    autocorrelation
        At lags 0, 1, ..., shape (lags + 1,).
    cross_correlation
        With the input, both prewhitened, at lags 0, 1, ...
    band
        99 % of the correlations of white, independent residuals lie within plus and minus this.
    whiteness, independence
        Probabilities of correlations so large by chance (Ljung and Box; Haugh).
    effective_samples
        As many white residuals would say as much about the size of the error.
    level
        A test fails below this probability.
    """

    autocorrelation: Array
    cross_correlation: Array
    band: float
    whiteness: float
    independence: float
    effective_samples: float
    level: float = POLICY.significance

    __repr__ = brief

    @property
    def white(self) -> bool:
        """Whether nothing speaks against white residuals."""
        return self.whiteness >= self.level

    @property
    def independent(self) -> bool:
        """Whether nothing speaks against residuals that have nothing to do with the input."""
        return self.independence >= self.level

    def __str__(self) -> str:
        white = (
            "The residuals are white: what is left over is noise."
            if self.white
            else f"The residuals are not white (p = {self.whiteness:.2g}): disturbances have a colour, or "
            "dynamics are missing; the confidence intervals take the colour into account."
        )
        free = (
            "They have nothing to do with the input."
            if self.independent
            else f"They follow the input (p = {self.independence:.2g}): the model leaves dynamics out."
        )
        return f"{white} {free}"


def check_residuals(
    residual: ArrayLike, command: ArrayLike, lags: int = 25, *, policy: IdentificationPolicy = POLICY
) -> ResidualTests:
    """Test residuals for whiteness and for independence of the input.

    Whiteness is tested by Ljung and Box's Q = N(N+2) sum of r_k^2/(N-k) over the lags; independence by
    Haugh's N sum of c_k^2, where c_k correlates residuals and input after each was whitened by an
    autoregression of its own, so that neither the colour of the noise nor that of the input passes for
    dependence.

    Parameters
    ----------
    residual, command
        Shape (n,).
    lags
        How many lags take part.
    policy
        Thresholds of judgement.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> found = check_residuals(rng.normal(size=2000), rng.normal(size=2000))
    >>> found.white, found.independent
    (True, True)
    """
    from scipy.stats import chi2

    e, u = np.asarray(residual, dtype=float), np.asarray(command, dtype=float)
    if e.shape != u.shape or e.ndim != 1 or e.size < 8:
        raise InputError(f"residuals and input need at least 8 samples each; found {e.shape} and {u.shape}")
    n, e = e.size, e - e.mean()
    lags = max(1, min(lags, n // 4))
    r = autocovariance(e, lags)
    r = r / r[0] if r[0] > 0 else np.eye(1, lags + 1)[0]
    k = np.arange(1, lags + 1)
    Q = n * (n + 2) * float(np.sum(r[1:] ** 2 / (n - k)))
    c = _cross_correlation(_whitened(e), _whitened(u - u.mean()), lags)
    return ResidualTests(
        autocorrelation=r,
        cross_correlation=c,
        band=2.576 / np.sqrt(n),
        whiteness=float(chi2.sf(Q, lags)),
        independence=float(chi2.sf(n * float(np.sum(c**2)), lags + 1)),
        effective_samples=effective_samples(e),
        level=policy.significance,
    )


def autocovariance(e: Array, lags: int) -> Array:
    """Return (1/N) sum of e[n] e[n+k] for k = 0 ... lags."""
    n = e.size
    length = 1 << (n + lags).bit_length()
    spectrum = np.fft.rfft(e, length)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, length)[: lags + 1] / n)


def effective_samples(e: Array) -> float:
    """Return N / (sum of squared autocorrelations): what N coloured samples are worth in white ones."""
    n = e.size
    lags = min(n // 4, int(20 * np.sqrt(n)))
    r = autocovariance(e - e.mean(), lags)
    if r[0] <= 0:
        return float(n)
    # Estimates of zero correlations have the variance total/N (Bartlett): leave out what could be only that.
    squares, total = (r[1:] / r[0]) ** 2, 1.0
    for _ in range(2):
        total = 1 + 2 * float(np.where(squares > 9 * total / n, squares, 0.0).sum())
    return float(max(2.0, n / total))


def autoregression(x: Array, most: int = 20) -> Array:
    """Return a filter (1, a1, ...) that whitens a signal, as long as Akaike's criterion asks (Burg).

    >>> from scipy.signal import lfilter
    >>> x = lfilter([1.0], [1.0, -0.9], np.random.default_rng(1).normal(size=20_000))
    >>> autoregression(x)[:2].round(1).tolist()
    [1.0, -0.9]
    """
    n = x.size
    forward, backward = x[1:], x[:-1]
    power = dot(x, x) / n
    a = np.ones(1)
    best, least = a, n * np.log(max(power, 1e-300))
    for order in range(1, min(most, n // 10) + 1):
        size = dot(forward, forward) + dot(backward, backward)
        if size <= 0:
            break
        k = -2 * dot(forward, backward) / size
        a = np.concatenate([a, [0.0]])
        a = a + k * a[::-1]
        power *= max(1 - k * k, 1e-12)
        forward, backward = (forward + k * backward)[1:], (backward + k * forward)[:-1]
        criterion = n * np.log(max(power, 1e-300)) + 2 * order
        if criterion < least:
            best, least = a, criterion
    return np.asarray(best)


def _whitened(x: Array) -> Array:
    """Return what an autoregression cannot foretell of a signal."""
    from scipy.signal import lfilter

    return np.asarray(lfilter(autoregression(x), [1.0], x))


def _cross_correlation(e: Array, u: Array, lags: int) -> Array:
    """Return the correlation of e[n + k] with u[n]."""
    n = e.size
    length = 1 << (n + lags).bit_length()
    both = np.fft.irfft(np.conj(np.fft.rfft(u, length)) * np.fft.rfft(e, length), length)[: lags + 1]
    size = np.sqrt(dot(e, e) * dot(u, u))
    return np.asarray(both / size) if size > 0 else np.zeros(lags + 1)
