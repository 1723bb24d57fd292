"""Parameters that are uncertain together: what is known of one says something about the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.studies.distributions import Distribution, distribution

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Correlated", "open_shares"]

ROUNDING = 1e-9
"""How far a matrix of correlations may be from one by rounding."""


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
        good = np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=0, atol=ROUNDING)
        if not good or not np.allclose(np.diag(matrix), 1.0, rtol=0, atol=ROUNDING):
            raise InputError(f"{what}: expected a symmetric matrix of correlations with ones on the diagonal")
        if np.linalg.eigvalsh(matrix)[0] < -ROUNDING * n:
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
