"""Frame member in the plane: beam and bar together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from bondloop.structures.elements.bar import rod_lumped, rod_mass, rod_stiffness
from bondloop.structures.elements.base import (
    Array,
    Blocks,
    Number,
    column,
    condense,
    lengths,
    plane_axes,
    rotate,
    stiff,
)
from bondloop.structures.elements.beam import (
    BENDING,
    PlaneBending,
    bending_lumped,
    bending_mass,
    bending_stiffness,
    shear_ratio,
)

AXIAL = [0, 3]


@dataclass(frozen=True)
class Frame2D(PlaneBending):
    """Member of a plane frame in any direction of the xy-plane: ux, uy, rz at both ends.

    Parameters
    ----------
    a, b
        Names of the end nodes.
    E, A, I, rho
        Modulus in Pa, area in m², second moment of area in m⁴, density in kg/m³.
    G, kappa
        Shear modulus in Pa and shear factor; with G given the member is a Timoshenko beam (with rotary
        inertia), without it Euler–Bernoulli.
    release_a, release_b
        ``("rz",)`` for a hinge at that end.
    beta
        Stiffness-proportional damping in s: its damping matrix is beta times its stiffness.

    Examples
    --------
    A column of 3 m: stiffness 12EI/L³ sideways, EA/L upwards.

    >>> from bondloop.structures import Structure
    >>> s = Structure("column")
    >>> s.node("foot", y=0)
    >>> s.node("head", y=3)
    >>> s.add(Frame2D("foot", "head", E=9e9, A=0.01, I=3e-5, rho=0))
    'frame2d[0]'
    >>> s.support("foot")
    >>> K = s.assemble().K
    >>> [round(float(K[i, i])) for i in range(3)]
    [120000, 30000000, 360000]
    """

    kind: ClassVar[str] = "frame2d"
    optional: ClassVar[tuple[str, ...]] = ("G",)

    G: Number | None = field(kw_only=True, default=None)
    kappa: Number = field(kw_only=True, default=5 / 6)

    @classmethod
    def shear(cls, elements: Sequence[Self]) -> tuple[Array, Array]:
        """κGA and ρI where G is given."""
        G, kappa, A, I, rho = (column(elements, name) for name in ("G", "kappa", "A", "I", "rho"))
        return kappa * G * A, np.where(np.isnan(G), 0.0, rho * I)

    @classmethod
    def blocks(cls, elements: Sequence[Self], xyz: Array) -> Blocks:
        """Global matrices for (ux, uy, rz) at both ends, shape (n, 6, 6)."""
        L = lengths(xyz)
        E, A, I, rho, beta = (column(elements, name) for name in ("E", "A", "I", "rho", "beta"))
        GA, rhoI = cls.shear(elements)
        phi = shear_ratio(E * I, GA, L)
        K, M, lumped = np.zeros((3, len(L), 6, 6))
        along, across = (np.ix_(range(len(L)), k, k) for k in (AXIAL, BENDING))
        K[along], K[across] = rod_stiffness(E * A / L), bending_stiffness(E * I, L, phi)
        M[along], M[across] = rod_mass(rho * A * L), bending_mass(rho * A, rhoI, L, phi)
        lumped[along], lumped[across] = rod_lumped(rho * A * L), bending_lumped(rho * A, rhoI, L)
        K, M, lumped = condense(elements, cls.node_dofs, K, M, lumped)
        K, M, lumped = (rotate(part, plane_axes(xyz)) for part in (K, M, lumped))
        return Blocks(K, beta[:, None, None] * K, M, lumped, stiff(K, cls.node_dofs))
