"""The sparse eigenvalue problem of a structure, solved from its low end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import SolveError
from bondloop.structures.factor import factor

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bondloop.structures.elements.base import Array
    from bondloop.structures.matrices import Matrices, Sparse

__all__ = ["Pencil", "largest_ratio"]

DENSE = 150
"""Degrees of freedom up to which a dense eigenvalue problem is quicker than Lanczos."""
ROUNDING = 8 * float(np.finfo(float).eps)
"""A motion whose energy is below this share of the sum of its parts costs no energy at all."""


class Pencil:
    """K φ = λ M φ, with the shift at which it is inverted."""

    def __init__(self, matrices: Matrices, scale: float, shift: float | None) -> None:
        self.K, self.M, self.scale = matrices.K, matrices.M, scale
        self.singular = not _resists(self.K)
        self.shift = shift if shift is not None else -1e-11 * scale if self.singular else 0.0

    def solve(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lowest eigenvalues and their vectors as columns, in any order."""
        n = self.K.shape[0]
        small = n <= DENSE or count > n // 3
        values, shapes = self._dense(count) if small else self._lanczos(count)
        elastic = values[values > 1e-14 * self.scale]
        if self.singular and len(elastic) and elastic.min() < -self.shift and not small:
            # The first shift lay far below the lowest elastic mode: once more, closer.
            self.shift = -0.1 * float(elastic.min())
            values, shapes = self._lanczos(count)
        return values, shapes

    def _dense(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from scipy import linalg

        K, M = self.K.toarray(), self.M.toarray()
        n = len(K)
        if count > n // 2:
            try:
                high, upper = linalg.eigh(K, M)
            except linalg.LinAlgError:
                pass  # massless degrees of freedom: the inverted problem has no such trouble
            else:
                return self._joined(K, M, high, upper, count)
        shift = min(self.shift, -1e-6 * self.scale) if self.singular else self.shift
        values, shapes = self._inverted(K, M, shift, count)
        elastic = values[values > 1e-10 * self.scale]
        if self.singular and len(elastic):
            values, shapes = self._inverted(K, M, -0.1 * float(elastic.min()), count)
        return values, shapes

    @staticmethod
    def _inverted(
        K: NDArray[np.float64], M: NDArray[np.float64], shift: float, count: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from scipy import linalg

        n = len(K)
        try:
            inverse, shapes = linalg.eigh(M, K - shift * M, subset_by_index=(n - count, n - 1))
        except linalg.LinAlgError:
            raise SolveError(_unsolved(shift)) from None
        return shift + 1 / inverse, shapes

    def _joined(
        self,
        K: NDArray[np.float64],
        M: NDArray[np.float64],
        high: NDArray[np.float64],
        upper: NDArray[np.float64],
        count: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the upper half of the spectrum as it is, the lower from the inverted problem.

        Rounding leaves an error of the largest eigenvalue's size in one and of the smallest's inverse in
        the other.
        """
        positive = high[high > 1e-12 * self.scale]
        middle = np.sqrt(positive[0] * positive[-1]) if len(positive) else 0.0
        low = int(np.count_nonzero(high < middle))
        if not low:
            return high[:count], upper[:, :count]
        shift = -0.1 * float(positive[0]) if self.singular else self.shift
        values, lower = self._inverted(K, M, shift, low)
        values = np.concatenate([values[::-1], high[low:]])
        return values[:count], np.hstack([lower[:, ::-1], upper[:, low:]])[:, :count]

    def _lanczos(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

        n = self.K.shape[0]
        solve = _factorised(self.K - self.shift * self.M, self.shift)
        inverse: LinearOperator[np.float64] = LinearOperator((n, n), matvec=solve, dtype=float)
        start = np.random.default_rng(2010).standard_normal(n)
        try:
            values, shapes = eigsh(
                self.K, count, self.M, sigma=self.shift, OPinv=inverse, v0=solve(self.M @ start),
                ncv=min(n, max(2 * count + 1, count + 30)),
            )  # fmt: skip
        except ArpackError as error:
            raise SolveError(
                f"{count} modes did not converge: {error}; ask for fewer, or give another shift"
            ) from None
        return values, shapes


def largest_ratio(matrices: Matrices) -> float:
    """Return the order of the largest eigenvalue: the largest K_ii / M_ii."""
    k, m = matrices.K.diagonal(), matrices.M.diagonal()
    ratios = k[m > 0] / m[m > 0]
    return float(np.max(ratios, initial=0.0)) or 1.0


def _factorised(K: Sparse, sigma: float) -> Callable[[Array], Array]:
    try:
        return factor(K)
    except RuntimeError:
        raise SolveError(_unsolved(sigma)) from None


def _unsolved(sigma: float) -> str:
    return (
        f"K - shift M cannot be factorised with a shift of {sigma:g}: a degree of freedom has neither mass "
        "nor stiffness, or the shift is an eigenvalue; support it, or give another shift"
    )


def _resists(K: Any) -> bool:
    """Whether K has no rigid-body motion: no motion is free of energy."""
    try:
        solve = _factorised(K, 0.0)
    except SolveError:
        return False
    x = np.random.default_rng(1994).standard_normal(K.shape[0])
    y = solve(K @ x)
    if not np.all(np.isfinite(y)) or np.linalg.norm(y - x) > 1e-2 * np.linalg.norm(x):
        return False
    for _ in range(4):  # towards the softest motion: is its energy more than rounding?
        x = x / np.linalg.norm(x)
        x = solve(x)
        if not np.all(np.isfinite(x)):
            return False
    size = np.abs(x)
    return bool(x @ (K @ x) > ROUNDING * (size @ (abs(K) @ size)))
