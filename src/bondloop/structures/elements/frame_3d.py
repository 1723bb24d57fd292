"""Frame member in space: two planes of bending, axial stiffness, torsion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from bondloop.structures.elements.bar import rod_lumped, rod_mass, rod_stiffness
from bondloop.structures.elements.base import Array, Blocks, Number, column, lengths
from bondloop.structures.elements.beam_3d import SpaceBending, bend, turn


@dataclass(frozen=True)
class Frame3D(SpaceBending):
    """Member of a space frame in any direction: all six degrees of freedom at both ends.

    Local x runs from a to b, `reference` lies in the local x–z plane (OpenSees's vecxz); without it the local
    z is as near to the global z as can be, or to the global x for a vertical member. Iy is bending about the
    local y (motion along z), Iz about the local z (motion along y). The lumped mass is
    diagonal in local axes.

    Parameters
    ----------
    a, b
        Names of the end nodes.
    E, G, A, Iy, Iz, J, rho
        Moduli in Pa, area in m², second moments of area and torsion constant in m⁴, density in kg/m³.
    kappa_y, kappa_z
        Shear factors for motion along the local y and z; with one given, that plane is a Timoshenko beam.
    reference
        Vector in the local x–z plane.
    release_a, release_b
        Local rotations released at that end, of ``"rx"``, ``"ry"``, ``"rz"``.
    beta
        Stiffness-proportional damping in s: its damping matrix is beta times its stiffness.

    Examples
    --------
    >>> from bondloop.structures import Structure
    >>> s = Structure("mast")
    >>> s.node("foot", z=0)
    >>> s.node("head", z=2)
    >>> s.add(Frame3D("foot", "head", E=8.0, G=3.0, A=1.0, Iy=1.0, Iz=2.0, J=4.0, rho=1.0))
    'frame3d[0]'
    >>> s.support("foot")
    >>> m = s.assemble()
    >>> m.dofs[:3], m.K.diagonal().round(9).tolist()  # 12EI/L³ twice, EA/L, 4EI/L twice, GJ/L
    (('head.ux', 'head.uy', 'head.uz'), [12.0, 24.0, 4.0, 32.0, 16.0, 6.0])
    """

    kind: ClassVar[str] = "frame3d"
    optional: ClassVar[tuple[str, ...]] = ("kappa_y", "kappa_z")

    G: Number = field(kw_only=True)
    J: Number = field(kw_only=True)
    kappa_y: Number | None = field(kw_only=True, default=None)
    kappa_z: Number | None = field(kw_only=True, default=None)

    @classmethod
    def blocks(cls, elements: Sequence[Self], xyz: Array) -> Blocks:
        """Global matrices for all six degrees of freedom at both ends, shape (n, 12, 12)."""
        L = lengths(xyz)
        E, G, A, Iy, Iz, J, rho = (column(elements, name) for name in ("E", "G", "A", "Iy", "Iz", "J", "rho"))
        K, M, lumped = bend(elements, L)
        axial, torsion = (np.ix_(range(len(L)), k, k) for k in ([0, 6], [3, 9]))
        polar = rho * (Iy + Iz) * L
        K[axial], K[torsion] = rod_stiffness(E * A / L), rod_stiffness(G * J / L)
        M[axial], M[torsion] = rod_mass(rho * A * L), rod_mass(polar)
        lumped[axial], lumped[torsion] = rod_lumped(rho * A * L), rod_lumped(polar)
        return turn(elements, xyz, K, M, lumped)
