"""Displacements under loads that stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.structures.factor import factor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bondloop.structures.elements.base import Array
    from bondloop.structures.matrices import Matrices

__all__ = ["static"]


def static(matrices: Matrices, force: Mapping[str, float] | ArrayLike) -> Array:
    """Return the displacements K⁻¹ f under a load, or under several at once.

    Parameters
    ----------
    matrices
        The model, which must be supported.
    force
        Forces by degree of freedom, or all n of them, or several loads as columns, shape (n, loads).

    Examples
    --------
    >>> from bondloop.structures import ShearBuilding
    >>> m = ShearBuilding([1.0, 1.0], [100.0, 50.0]).assemble()
    >>> static(m, {"floor[2].ux": 10.0}).round(12).tolist()
    [0.1, 0.3]
    """
    if isinstance(force, Mapping):
        f = np.zeros(len(matrices))
        f[matrices.indices(force)] = list(force.values())
    else:
        f = np.asarray(force, dtype=float)
    if f.ndim not in (1, 2) or f.shape[0] != len(matrices):
        raise InputError(f"static: {len(matrices)} degrees of freedom; found loads of shape {f.shape}")
    if not np.isfinite(f).all():
        raise InputError("static: the load has entries that are not finite")
    try:
        u = np.asarray(factor(matrices.K)(f))
    except RuntimeError:
        u = np.full_like(f, np.nan)
    if not np.isfinite(u).all():
        raise InputError(
            "static: the stiffness is singular; support the structure so that it cannot move freely"
        )
    return u
