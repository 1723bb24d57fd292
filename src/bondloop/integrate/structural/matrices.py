"""Checks of a structure's matrices, and inverses that say what is singular."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.integrate.structural.base import Motion, Scheme

__all__ = ["Array", "inverse", "regular_mass", "square"]

Array = NDArray[np.float64]

SINGULAR = 1e-13
"""Smallest over largest singular value, after scaling, at which a matrix is taken for singular."""


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


def inverse(matrix: Array, motion: Motion, what: str, remedy: str) -> Array:
    """Return the inverse, or say which degree of freedom makes the matrix singular."""
    scale = np.sqrt(np.abs(matrix).max(axis=1, initial=0.0))
    bad = np.flatnonzero(scale == 0.0)
    if not len(bad):
        _, s, right = np.linalg.svd(matrix / np.outer(scale, scale))
        bad = np.abs(right[-1:]).argmax(axis=1) if len(s) and s[-1] <= SINGULAR * s[0] else bad
    if len(bad):
        raise InputError(f"{what} is singular at '{motion.names[int(bad[0])]}'; {remedy}")
    return np.asarray(np.linalg.inv(matrix), dtype=float)


def regular_mass(scheme: Scheme, M: Array, motion: Motion) -> Array:
    """Return the inverse of the mass matrix, which an explicit scheme needs."""
    name = type(scheme).__name__
    return inverse(
        M, motion, "the mass matrix", f"{name} is explicit and divides by the mass: give this degree of "
        "freedom a mass, condense it, or take AlphaOS, HHTAlpha or NewmarkImplicit",
    )  # fmt: skip
