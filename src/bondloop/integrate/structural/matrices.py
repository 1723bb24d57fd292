"""Checks of a structure's matrices, and inverses that say what is singular."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bondloop.engine.ir import LEAST, Factored, SingularError, worth_factors
from bondloop.errors import InputError
from bondloop.integrate.tolerances import SINGULAR

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from bondloop.integrate.structural.base import Motion, Scheme


Array = NDArray[np.float64]


def square(what: str, matrix: ArrayLike | None, size: int) -> Array:
    """Return a finite matrix of a given size; None is zero, a number stands for a matrix of one entry.

    >>> square("the mass matrix", [[1, 2]], 2)
    Traceback (most recent call last):
    bondloop.errors.InputError: the mass matrix must have the shape (2, 2); found (1, 2)
    """
    if matrix is None:
        return np.zeros((size, size))
    dense: Any = cast("Any", matrix).toarray() if hasattr(matrix, "toarray") else matrix
    found = np.atleast_2d(np.asarray(dense, dtype=float))
    if found.shape != (size, size):
        raise InputError(f"{what} must have the shape ({size}, {size}); found {found.shape}")
    if not np.isfinite(found).all():
        raise InputError(f"{what} has entries that are not finite")
    return found


class Inverse:
    """A number times the inverse of a matrix, which is formed only where it is asked for as an array.

    Parameters
    ----------
    left
        The matrix.
    factor
        The number.

    Examples
    --------
    >>> half = 0.5 * Inverse(np.eye(2))
    >>> (half @ np.ones((2, 2))).tolist(), np.asarray(-half)[0].tolist(), half.factors
    ([[0.5, 0.5], [0.5, 0.5]], [-0.5, -0.0], None)
    """

    __array_ufunc__ = None  # so that numbers of NumPy leave products to this class

    def __init__(self, left: Array, factor: float = 1.0) -> None:
        self.left, self.factor = left, factor

    def __rmul__(self, number: float) -> Inverse:
        return Inverse(self.left, float(number) * self.factor)

    def __neg__(self) -> Inverse:
        return Inverse(self.left, -self.factor)

    def __matmul__(self, other: ArrayLike) -> Array:
        return np.asarray(np.asarray(self) @ np.asarray(other), dtype=float)

    def __rmatmul__(self, other: ArrayLike) -> Array:
        return np.asarray(np.asarray(other) @ np.asarray(self), dtype=float)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.array(self.factor * np.linalg.inv(self.left), dtype=dtype or float)

    @cached_property
    def factors(self) -> Factored | None:
        """The factors, where solving with them is less work than a product with the inverse."""
        if len(self.left) < LEAST or not self.factor:
            return None
        found = Factored(self.left / self.factor)
        try:
            return found if worth_factors(found) else None
        except SingularError:
            return None


def inverse(matrix: Array, motion: Motion, what: str, remedy: str) -> Inverse:
    """Return the inverse, or say which degree of freedom makes the matrix singular."""
    result = Inverse(matrix)
    if result.factors is not None:
        return result
    scale = np.sqrt(np.abs(matrix).max(axis=1, initial=0.0))
    bad = np.flatnonzero(scale == 0.0)
    if not len(bad):
        _, s, right = np.linalg.svd(matrix / np.outer(scale, scale))
        bad = np.abs(right[-1:]).argmax(axis=1) if len(s) and s[-1] <= SINGULAR * s[0] else bad
    if len(bad):
        raise InputError(f"{what} is singular at '{motion.names[int(bad[0])]}'; {remedy}")
    return result


def regular_mass(scheme: Scheme, M: Array, motion: Motion) -> Inverse:
    """Return the inverse of the mass matrix, which an explicit scheme needs."""
    name = type(scheme).__name__
    return inverse(
        M, motion, "the mass matrix", f"{name} is explicit and divides by the mass: give this degree of "
        "freedom a mass, condense it, or take AlphaOS, HHTAlpha or NewmarkImplicit",
    )  # fmt: skip
