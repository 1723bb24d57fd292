"""How an uncertain parameter is distributed, as an object or as a short text."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from bondloop.data.ranges import number
from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Distribution", "between_commas", "distribution"]

Kind = Literal["normal", "uniform", "lognormal", "whole"]
KINDS = ("normal", "uniform", "lognormal", "whole", "truncated")


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
