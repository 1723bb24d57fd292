"""How uncertain parameters are distributed, alone or together, as objects or as short texts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bondloop.engine.data import number
from bondloop.errors import InputError, unknown_name
from bondloop.studies.tolerances import CORRELATION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray


Kind = Literal["normal", "uniform", "lognormal", "whole"]
KINDS = (*get_args(Kind), "truncated")


@dataclass(frozen=True)
class Distribution:
    """A distribution of one parameter.

    Parameters
    ----------
    kind
        ``"normal"``: mean and standard deviation; ``"uniform"``: lower and upper end; ``"lognormal"``:
        median, and standard deviation of the logarithm (for small ones, the relative standard deviation);
        ``"whole"``: whole numbers from the first to the last, each as likely, for the seed of a noise.
    first, second
        Its two numbers, in SI.
    low, high
        Where it is cut off: what lies beyond is spread over the rest.

    Examples
    --------
    >>> Distribution("normal", 15e3, 750.0).at(np.array([0.5, 0.975])).round()
    array([15000., 16470.])
    """

    kind: Kind
    first: float
    second: float
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if self.kind not in KINDS[:-1]:
            raise InputError(unknown_name("distribution", self.kind, KINDS))
        for value in (self.first, self.second):
            if not math.isfinite(value):
                raise InputError(f"{self}: expected finite numbers")
        if self.kind == "whole" and (self.first % 1 or self.second % 1):
            raise InputError(f"{self}: expected whole numbers")
        if self.kind in ("uniform", "whole"):
            if self.second <= self.first:
                raise InputError(f"{self}: expected the smaller end first")
        elif self.second <= 0:
            raise InputError(f"{self}: expected a standard deviation above 0")
        if self.kind == "lognormal" and self.first <= 0:
            raise InputError(f"{self}: expected a median above 0")
        below, above = self._share(self.low), self._share(self.high)
        if not below < above:
            raise InputError(f"{self}: nothing of it lies between {self.low:g} and {self.high:g}")

    def __str__(self) -> str:
        plain = f"{self.kind}({self.first:g}, {self.second:g})"
        if math.isinf(self.low) and math.isinf(self.high):
            return plain
        return f"truncated({plain}, {self.low:g}, {self.high:g})"

    def at(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values below which given shares of it lie.

        Parameters
        ----------
        shares
            From 0 to 1.
        """
        from scipy.special import ndtri

        below, above = self._share(self.low), self._share(self.high)
        inside = below + (above - below) * np.asarray(shares, dtype=float)
        if self.kind == "uniform":
            values = self.first + (self.second - self.first) * inside
        elif self.kind == "whole":
            values = np.minimum(self.first + np.floor((self.second - self.first + 1) * inside), self.second)
        elif self.kind == "normal":
            values = self.first + self.second * ndtri(inside)
        else:
            values = self.first * np.exp(self.second * ndtri(inside))
        return np.clip(values, self.low, self.high)

    def _share(self, value: float) -> float:
        from scipy.special import ndtr

        if math.isinf(value):
            return float(value > 0)
        if self.kind == "uniform":
            return min(1.0, max(0.0, (value - self.first) / (self.second - self.first)))
        if self.kind == "whole":
            raise InputError(
                f"whole numbers are not cut off; found {value:g} beside {self.first:g} to {self.second:g}"
            )
        if self.kind == "lognormal":
            return float(ndtr(math.log(value / self.first) / self.second)) if value > 0 else 0.0
        return float(ndtr((value - self.first) / self.second))


def distribution(text: str, *units: str) -> Distribution:
    """Read a distribution.

    Parameters
    ----------
    text
        ``normal(MEAN, DEVIATION)``, ``uniform(LOW, HIGH)``, ``lognormal(MEDIAN, DEVIATION)``,
        ``whole(FIRST, LAST)`` or ``truncated(ONE OF THESE, LOW, HIGH)``. Numbers may have units; a deviation
        may be a share, in %, of the mean.
    *units
        What its numbers must measure, where they have units: any unit of the kind of one of these.

    Examples
    --------
    >>> distribution("normal(15 kN/m, 5 %)")
    Distribution(kind='normal', first=15000.0, second=750.0, low=-inf, high=inf)
    >>> print(distribution("truncated(lognormal(2 ms, 10%), 1 ms, 3 ms)"))
    truncated(lognormal(0.002, 0.1), 0.001, 0.003)
    """
    found = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", text, re.DOTALL)
    if found is None:
        raise InputError(
            f"expected a distribution such as normal(15 kN/m, 5%) or uniform(1, 2); found {text!r}"
        )
    kind, inside = found[1], between_commas(found[2])
    if kind not in KINDS:
        raise InputError(unknown_name("distribution", kind, KINDS))
    wanted = 3 if kind == "truncated" else 2
    if len(inside) != wanted:
        raise InputError(f"{kind}(...) takes {wanted} values; found {len(inside)} in {text!r}")
    if kind == "truncated":
        inner = distribution(inside[0], *units)
        low, high = (number(part, text, *units) for part in inside[1:])
        return Distribution(inner.kind, inner.first, inner.second, max(low, inner.low), min(high, inner.high))
    first = number(inside[0], text, *units)
    share = re.fullmatch(r"(.*?)\s*%", inside[1])
    if share is None and kind == "lognormal":
        second = number(inside[1], text, "1")  # of a logarithm: it has no unit
    elif share is None:
        second = number(inside[1], text, *units)
    elif kind in ("uniform", "whole"):
        raise InputError(f"{text!r}: the ends of a {kind} distribution are numbers, not shares")
    else:
        second = number(share[1], text, "1") / 100 * (1.0 if kind == "lognormal" else abs(first))
    return Distribution(kind, first, second)  # type: ignore[arg-type]


def between_commas(text: str) -> list[str]:
    """Return what stands between the commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in [*parts, text[start:]]]


class Correlated:
    """Parameters drawn together.

    Each has its distribution; what they have in common is the correlation of their normal scores (for normal
    distributions that is their own correlation; a Gaussian copula otherwise).

    Parameters
    ----------
    distributions
        By name; texts are read as `distribution` reads them.
    correlation
        Of each with each, (parameters, parameters): ones on the diagonal. For two, a single number will do.

    Attributes
    ----------
    names
        The parameters that are set, in the order of what `at` returns.
    size
        How many numbers are drawn.

    Examples
    --------
    >>> both = Correlated({"m": "normal(2, 1%)", "k": "normal(300, 5%)"}, 0.9)
    >>> drawn = both.at(np.random.default_rng(1).random((2, 4000)))
    >>> both.names, round(float(np.corrcoef(drawn)[0, 1]), 1)
    (('m', 'k'), 0.9)
    """

    def __init__(
        self, distributions: Mapping[str, Distribution | str], correlation: ArrayLike | float
    ) -> None:
        self.distributions = {
            name: distribution(d) if isinstance(d, str) else d for name, d in distributions.items()
        }
        for name, d in self.distributions.items():
            if not isinstance(d, Distribution):
                raise InputError(f"{name}: expected a distribution, such as 'normal(1, 5%)'; found {d!r}")
        self.size = len(self.distributions)
        self.names = tuple(self.distributions)
        self.correlation = self._checked(correlation)
        values, vectors = np.linalg.eigh(self.correlation)
        # The largest part first: a Sobol sequence is most even in its first dimensions.
        self._factor = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]

    def __repr__(self) -> str:
        return f"<Correlated: {', '.join(self.names)}>"

    def _checked(self, given: ArrayLike | float) -> NDArray[np.float64]:
        n, what = self.size, ", ".join(self.distributions)
        if not n:
            raise InputError("nothing is correlated; give at least one distribution")
        try:
            matrix = np.array(given, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"{what}: expected a matrix of correlations; found {given!r:.60}") from None
        if matrix.ndim == 0 and n == 2:
            matrix = np.array([[1.0, matrix], [matrix, 1.0]], dtype=float)
        if matrix.shape != (n, n):
            raise InputError(f"{what}: expected {n} by {n} correlations; found shape {matrix.shape}")
        good = np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=0, atol=CORRELATION)
        if not good or not np.allclose(np.diag(matrix), 1.0, rtol=0, atol=CORRELATION):
            raise InputError(f"{what}: expected a symmetric matrix of correlations with ones on the diagonal")
        if np.linalg.eigvalsh(matrix)[0] < -CORRELATION * n:
            raise InputError(
                f"{what}: no parameters have these correlations, for they contradict each other "
                "(the matrix has a negative eigenvalue)"
            )
        return matrix

    def __str__(self) -> str:
        pairs = [f"{self.correlation[i, j]:g}" for i in range(self.size) for j in range(i + 1, self.size)]
        shown = [f"{name}={d}" for name, d in self.distributions.items()]
        return f"correlated({', '.join([*shown, *pairs])})"

    def at(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values that independent shares stand for, (names, tests).

        Parameters
        ----------
        shares
            From 0 to 1, (size, tests).
        """
        from scipy.special import ndtr, ndtri

        scores = self._factor @ ndtri(open_shares(shares))
        own = open_shares(ndtr(scores))
        return np.array([d.at(u) for d, u in zip(self.distributions.values(), own, strict=True)])


def open_shares(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return shares without 0 and 1, at which a normal distribution is infinite."""
    return np.asarray(np.clip(shares, 2.0**-54, 1 - 2.0**-53))


Method = Literal["sobol", "latin", "random"]
METHODS: tuple[str, ...] = get_args(Method)


def whole_number(value: Any, what: str, least: int, most: int = 2**30) -> int:
    """Return a count as an int; at most as many as a Sobol sequence has points."""
    good = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not good or not least <= value <= most or value % 1:
        found = f"{value:,.12g}" if good else repr(value)
        raise InputError(f"{what}: expected a whole number from {least:,} to {most:,}; found {found}")
    return int(value)


def unit_points(dimensions: int, count: int, method: str, seed: int) -> NDArray[np.float64]:
    """Return points of the unit cube, (dimensions, tests)."""
    from scipy.stats import qmc

    if method not in METHODS:
        raise InputError(unknown_name("method", method, METHODS))
    if method == "random":
        return np.random.default_rng(seed).random((count, dimensions)).T
    random = np.random.default_rng(seed)
    if method == "latin":
        points = qmc.LatinHypercube(dimensions, seed=random).random(count)
    else:
        # The sequence is even in powers of two; of the next power the first so many are taken.
        points = qmc.Sobol(dimensions, seed=random).random_base2(max(0, math.ceil(math.log2(count))))[:count]
    return np.clip(points.T, 2.0**-54, 1 - 2.0**-53)
