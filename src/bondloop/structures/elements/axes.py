"""Local axes of members in the plane and in space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Array

__all__ = ["lengths", "plane_axes", "space_axes"]


def lengths(xyz: Array) -> Array:
    """Length of each member, shape (n,)."""
    return np.asarray(np.linalg.norm(xyz[:, 1] - xyz[:, 0], axis=1))


def plane_axes(xyz: Array) -> Array:
    """Axes of members in the xy-plane for (ux, uy, rz), shape (n, 3, 3)."""
    c, s = ((xyz[:, 1] - xyz[:, 0])[:, :2] / lengths(xyz)[:, None]).T
    axes = np.zeros((len(c), 3, 3))
    axes[:, 0, 0] = axes[:, 1, 1] = c
    axes[:, 0, 1] = s
    axes[:, 1, 0] = -s
    axes[:, 2, 2] = 1.0
    return axes


def space_axes(xyz: Array, reference: Array) -> Array:
    """Axes of members in space, shape (n, 3, 3): x along the member, `reference` in the local x–z plane.

    `reference` of shape (n, 3) is what OpenSees calls vecxz. A row of NaN asks for the default: the
    global z, or the global x for a vertical member, so that a member along the global x has the global axes.

    >>> space_axes(np.array([[[0.0, 0, 0], [2, 0, 0]]]), np.full((1, 3), np.nan))[0]
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    x = (xyz[:, 1] - xyz[:, 0]) / lengths(xyz)[:, None]
    vertical = np.hypot(x[:, 0], x[:, 1]) < 1e-6
    default = np.where(vertical[:, None], np.array([1.0, 0, 0]), np.array([0.0, 0, 1]))
    v = np.where(np.isnan(reference), default, reference)
    y = np.cross(v, x)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    return np.stack([x, y, np.cross(x, y)], axis=1)
