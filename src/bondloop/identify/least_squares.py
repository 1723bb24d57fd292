"""Gauss-Newton with bounds, the one optimiser of all fits; and the confidence in what it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.errors import InputError
from bondloop.identify.tolerances import HARDLY_DETERMINED
from bondloop.transfer import dot, gram, times

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

SIGNIFICANCE = 0.01
"""A test of residuals fails below this probability."""
CONFIDENCE = 0.95
"""Of the intervals of parameters."""


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
    level: float = CONFIDENCE,
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
    level: float = SIGNIFICANCE

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
    residual: ArrayLike, command: ArrayLike, lags: int = 25, *, level: float = SIGNIFICANCE
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
    level
        A test fails below this probability.

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
        level=level,
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
    squares = (r[1:] / r[0]) ** 2
    # Where there is no correlation its estimate has this variance, by those at shorter lags (Bartlett): what
    # could be chance is left out.
    chance = (1 + 2 * (np.cumsum(squares) - squares)) / n
    total = 1 + 2 * float(squares[squares > 9 * chance].sum())
    return n / total


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


Evaluate = Callable[["Array"], "tuple[Array, Array] | None"]
"""Gives residuals (n,) and their derivatives (p, n), a row a parameter; None where the model has no value."""


@dataclass(frozen=True)
class Minimum:
    """Where a sum of squares is least.

    Attributes
    ----------
    theta, residual, jacobian
        Parameters, residuals, and their derivatives, shape (p, n).
    at_bound
        Which parameters a bound holds.
    converged
        Whether the steps became small before their number ran out.
    evaluations
        How many times the model was evaluated.
    """

    theta: Array
    residual: Array
    jacobian: Array
    at_bound: NDArray[np.bool_]
    converged: bool
    evaluations: int

    @property
    def cost(self) -> float:
        """Sum of squares."""
        return dot(self.residual, self.residual)


def minimise(
    evaluate: Evaluate, start: Array, low: Array, high: Array, *, most: int = 60, precision: float = 1e-7
) -> Minimum | None:
    """Minimise a sum of squares between bounds (Levenberg and Marquardt; steps are cut at the bounds).

    Parameters
    ----------
    evaluate
        The model.
    start, low, high
        Start and bounds of the parameters.
    most
        Most steps.
    precision
        The end: a step that changes the cost by less than this part of itself, and every parameter by less
        than a hundredth of its standard deviation or this part of itself.

    Returns
    -------
    Minimum or None
        None if the model cannot be evaluated at the start.

    Examples
    --------
    >>> line = lambda p: (p[0] - np.array([1.0, 3.0]), np.ones((1, 2)))
    >>> minimise(line, np.zeros(1), np.array([-9.0]), np.array([9.0])).theta.round(6).tolist()
    [2.0]
    """
    theta = np.clip(start, low, high)
    found = evaluate(theta)
    if found is None:
        return None
    r, J = found
    cost, damping, evaluations, converged = dot(r, r), 1e-3, 1, False
    for _ in range(most):
        gradient, H = times(J, r), gram(J, J)
        blocked = ((theta <= low) & (gradient > 0)) | ((theta >= high) & (gradient < 0))
        free = np.flatnonzero(~blocked & (np.diag(H) > 0))
        if not free.size:
            converged = True
            break
        size = np.sqrt(np.diag(H)[free])
        scaled, pull = H[np.ix_(free, free)] / np.outer(size, size), gradient[free] / size
        accepted = False
        while damping < 1e12:
            step = np.zeros_like(theta)
            step[free] = -np.linalg.solve(scaled + damping * np.eye(free.size), pull) / size
            tried = np.clip(theta + step, low, high)
            found = evaluate(tried)
            evaluations += 1
            better = np.inf if found is None else dot(found[0], found[0])
            if better < cost:
                accepted = True
                break
            damping = max(damping, 1e-6) * 10
            # No step helps any more once the gain it promises is below rounding.
            if damping > 1e3 and np.abs(pull @ pull) <= 1e-14 * cost:
                break
        if not accepted or found is None:
            converged = True
            break
        moved = np.abs(tried - theta)
        spread = np.sqrt(better / r.size) / np.maximum(np.sqrt(np.diag(H)), 1e-300)
        small = moved <= np.maximum(1e-2 * spread, precision * np.abs(tried))
        gained = cost - better
        # Nielsen's rule: where the model is less linear than the step took it for, the next step is shorter.
        full = step[free] * size
        promised = float(-2 * full @ pull - full @ scaled @ full)
        ratio = gained / promised if promised > 0 else 0.0
        theta, (r, J) = tried, found
        cost, damping = better, max(damping, 1e-12) * max(0.1, 1 - (2 * min(ratio, 1.0) - 1) ** 3)
        if gained <= 1e-10 * cost or (gained <= precision * cost and bool(np.all(small))):
            converged = True
            break
    return Minimum(theta, r, J, (theta <= low) | (theta >= high), converged, evaluations)
