"""Bending of a straight member in one plane: the 4 × 4 matrices that beams and frames share.

The order is (w₁, θ₁, w₂, θ₂) with θ = dw/dx. Shear enters through Φ = 12EI/(κGA L²); without it Φ = 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Array

__all__ = ["bending_lumped", "bending_mass", "bending_stiffness", "shear_ratio"]


def shear_ratio(EI: Array, GA: Array, L: Array) -> Array:
    """Φ = 12EI/(κGA L²), and 0 where the shear stiffness κGA is not given (NaN)."""
    return np.where(np.isnan(GA), 0.0, 12 * EI / (np.where(np.isnan(GA), 1.0, GA) * L**2))


def bending_stiffness(EI: Array, L: Array, phi: Array) -> Array:
    """Exact static stiffness, free of locking (Przemieniecki 1968, eq. 5.116), shape (n, 4, 4).

    >>> one = np.ones(1)
    >>> bending_stiffness(one, one, 0 * one)[0]
    array([[ 12.,   6., -12.,   6.],
           [  6.,   4.,  -6.,   2.],
           [-12.,  -6.,  12.,  -6.],
           [  6.,   2.,  -6.,   4.]])
    """
    z = 12 * np.ones_like(L)
    rows = [
        [z, 6 * L, -z, 6 * L],
        [6 * L, (4 + phi) * L**2, -6 * L, (2 - phi) * L**2],
        [-z, -6 * L, z, -6 * L],
        [6 * L, (2 - phi) * L**2, -6 * L, (4 + phi) * L**2],
    ]
    return np.asarray(np.moveaxis(np.array(rows), 2, 0) * (EI / ((1 + phi) * L**3))[:, None, None])


def bending_mass(rhoA: Array, rhoI: Array, L: Array, phi: Array) -> Array:
    """Consistent mass with rotary inertia ρI (Friedman and Kosmatka 1993, eq. 27-28), shape (n, 4, 4).

    >>> one = np.ones(1)
    >>> (420 * bending_mass(one, 0 * one, one, 0 * one)[0]).round(12)
    array([[156.,  22.,  54., -13.],
           [ 22.,   4.,  13.,  -3.],
           [ 54.,  13., 156., -22.],
           [-13.,  -3., -22.,   4.]])
    """
    p, p2 = phi, phi**2
    a, b = 70 * p2 + 147 * p + 78, (35 * p2 + 77 * p + 44) * L / 4
    c, d = 35 * p2 + 63 * p + 27, (35 * p2 + 63 * p + 26) * L / 4
    e, f = (7 * p2 + 14 * p + 8) * L**2 / 4, (7 * p2 + 14 * p + 6) * L**2 / 4
    translation = [[a, b, c, -d], [b, e, d, -f], [c, d, a, -b], [-d, -f, -b, e]]
    g, h = 36 * np.ones_like(L), (3 - 15 * p) * L
    i, j = (10 * p2 + 5 * p + 4) * L**2, (5 * p2 - 5 * p - 1) * L**2
    rotation = [[g, h, -g, h], [h, i, -h, j], [-g, -h, g, -h], [h, j, -h, i]]
    scale = 1 / (1 + phi) ** 2
    return np.asarray(
        np.moveaxis(np.array(translation), 2, 0) * (scale * rhoA * L / 210)[:, None, None]
        + np.moveaxis(np.array(rotation), 2, 0) * (scale * rhoI / (30 * L))[:, None, None]
    )


def bending_lumped(rhoA: Array, rhoI: Array, L: Array) -> Array:
    """Half the mass at each end, with the rotary inertia mL²/78 + ρIL/2 there, shape (n, 4, 4).

    mL²/78 is the diagonal of the consistent mass scaled to the right total (Hinton, Rock and Zienkiewicz
    1976). No rotary inertia at all, a frequent choice, would leave M singular.
    """
    m = rhoA * L
    M = np.zeros((len(L), 4, 4))
    M[:, 0, 0] = M[:, 2, 2] = m / 2
    M[:, 1, 1] = M[:, 3, 3] = m * L**2 / 78 + rhoI * L / 2
    return M
