"""Geometric stiffness: what an axial force adds to the stiffness of a member across its axis.

Tension stiffens, compression softens. From the work of the axial force N on the shortening ½ ∫ w'² dx, with
the shapes w of the element ("consistent", which also bends the member between its ends, P-δ), or with the
straight line between its ends alone ("string", P-Δ: OpenSees' transformation ``PDelta``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.structures.elements.axes import lengths, plane_axes, space_axes
from bondloop.structures.elements.bar import Bar, rod_stiffness
from bondloop.structures.elements.base import DOFS, Member, column, condense, rotate
from bondloop.structures.elements.beam import BENDING, PlaneBending
from bondloop.structures.elements.beam_3d import ABOUT_Y, ABOUT_Z, MIRROR, SpaceBending, bend
from bondloop.structures.elements.bending import bending_stiffness, shear_ratio

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Array

__all__ = ["bending_geometric", "carries_axial_force", "member_geometric"]


def bending_geometric(N: Array, L: Array, phi: Array, *, string: bool) -> Array:
    """Geometric stiffness in one plane, order (w₁, θ₁, w₂, θ₂), shape (n, 4, 4).

    Przemieniecki (1968), chapter 15, for Φ = 0; with shear from the same integral over the shapes of
    `bending_stiffness`, in which θ is the turn of the section and w' that of the axis.

    >>> one = np.ones(1)
    >>> (30 * bending_geometric(one, one, 0 * one, string=False)[0]).round(12)
    array([[ 36.,   3., -36.,   3.],
           [  3.,   4.,  -3.,  -1.],
           [-36.,  -3.,  36.,  -3.],
           [  3.,  -1.,  -3.,   4.]])
    """
    if string:
        whole = np.zeros((len(L), 4, 4))
        whole[np.ix_(range(len(L)), [0, 2], [0, 2])] = rod_stiffness(N / L)
        return whole
    a, b = 6 / 5 + 2 * phi + phi**2, L / 10
    c, d = L**2 * (2 / 15 + phi / 6 + phi**2 / 12), L**2 * (1 / 30 + phi / 6 + phi**2 / 12)
    rows = [[a, b, -a, b], [b, c, -b, -d], [-a, -b, a, -b], [b, -d, -b, c]]
    return np.asarray(np.moveaxis(np.array(rows), 2, 0) * (N / (L * (1 + phi) ** 2))[:, None, None])


def carries_axial_force(element: object) -> bool:
    """Whether a kind of element has a geometric stiffness."""
    return isinstance(element, (Bar, PlaneBending, SpaceBending))


def member_geometric(elements: Sequence[Member], xyz: Array, N: Array, *, string: bool) -> Array:
    """Geometric stiffness of members of one kind in global axes, shape (n, d, d).

    Parameters
    ----------
    elements
        Bars, plane or space members.
    xyz
        Their ends, shape (n, 2, 3).
    N
        Their axial forces in N, tension positive.
    string
        Of the straight line between the ends alone.
    """
    L = lengths(xyz)
    if isinstance(elements[0], Bar):
        x = (xyz[:, 1] - xyz[:, 0]) / L[:, None]
        across = np.eye(3) - x[:, :, None] * x[:, None, :]
        return np.asarray(np.einsum("nij,nkl->nikjl", rod_stiffness(N / L), across).reshape(-1, 6, 6))
    return (_plane if isinstance(elements[0], PlaneBending) else _space)(elements, xyz, L, N, string)


def _plane(elements: Sequence[Any], xyz: Array, L: Array, N: Array, string: bool) -> Array:
    E, I = column(elements, "E"), column(elements, "I")
    phi = shear_ratio(E * I, type(elements[0]).shear(elements)[0], L)
    K, G = np.zeros((2, len(L), 6, 6))
    at = np.ix_(range(len(L)), BENDING, BENDING)
    K[at], G[at] = bending_stiffness(E * I, L, phi), bending_geometric(N, L, phi, string=string)
    return rotate(condense(elements, elements[0].node_dofs, K, G, G)[1], plane_axes(xyz))


def _space(elements: Sequence[Any], xyz: Array, L: Array, N: Array, string: bool) -> Array:
    """Both planes of bending; what an axial force does to torsion is left out."""
    E, A = column(elements, "E"), column(elements, "A")
    K = bend(elements, L)[0]
    torsion = np.ix_(range(len(L)), [3, 9], [3, 9])
    K[torsion] = rod_stiffness(np.ones(len(L)))  # so that a release of it can be eliminated; it is not used
    G = np.zeros_like(K)
    rigid = np.full(len(L), np.nan)
    for places, moment, factor, sign in (
        (ABOUT_Z, "Iz", "kappa_y", np.ones(4)),
        (ABOUT_Y, "Iy", "kappa_z", MIRROR),
    ):
        shears = hasattr(elements[0], "G")
        GA = column(elements, factor) * column(elements, "G") * A if shears else rigid
        phi = shear_ratio(E * column(elements, moment), GA, L)
        at = np.ix_(range(len(L)), places, places)
        G[at] = bending_geometric(N, L, phi, string=string) * (sign[:, None] * sign)
    none = (np.nan, np.nan, np.nan)
    references = [none if e.reference is None else e.reference for e in elements]
    axes = space_axes(xyz, np.array(references, dtype=float))
    return rotate(condense(elements, DOFS, K, G, G)[1], axes)
