"""Beams and frame members in space: bending in two planes, axial stiffness, torsion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from bondloop.engine.data import number
from bondloop.structures.elements.bars_and_springs import rod_lumped, rod_mass, rod_stiffness
from bondloop.structures.elements.base import (
    DOFS,
    Array,
    Blocks,
    Member,
    Number,
    column,
    condense,
    lengths,
    rotate,
    space_axes,
    stiff,
)
from bondloop.structures.elements.plane_beams import (
    bending_lumped,
    bending_mass,
    bending_stiffness,
    first_bending,
    shear_ratio,
)

ABOUT_Z = [1, 5, 7, 11]
ABOUT_Y = [2, 4, 8, 10]
MIRROR = np.array([1.0, -1, 1, -1])
"""Motion along z turns the other way round: θ_y = -dw/dx."""


@dataclass(frozen=True)
class SpaceBending(Member, family="element"):
    """Base of the members in space."""

    node_dofs: ClassVar[tuple[str, ...]] = DOFS
    positive: ClassVar[tuple[str, ...]] = ("E", "G", "A", "Iy", "Iz", "J", "kappa_y", "kappa_z")
    not_negative: ClassVar[tuple[str, ...]] = ("rho", "beta")

    E: Number = field(kw_only=True)
    A: Number = field(kw_only=True)
    Iy: Number = field(kw_only=True)
    Iz: Number = field(kw_only=True)
    rho: Number = field(kw_only=True, default=0.0)
    reference: tuple[float, float, float] | None = field(kw_only=True, default=None)
    release_a: tuple[str, ...] = field(kw_only=True, default=())
    release_b: tuple[str, ...] = field(kw_only=True, default=())

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.reference, (list, tuple)) and any(isinstance(x, str) for x in self.reference):
            what = f"{type(self).__name__}(reference)"
            object.__setattr__(self, "reference", tuple(number(x, what, "1") for x in self.reference))

    def faults(self, xyz: Array) -> list[str]:
        """Also that only rotations are released, and the reference is not along the member."""
        found = super().faults(xyz)
        for d in sorted({d for d in (*self.release_a, *self.release_b) if d not in DOFS[3:]}):
            found.append(f"cannot release '{d}'; a member in space can release local 'rx', 'ry', 'rz'")
        if self.reference is not None:
            x, v = xyz[1] - xyz[0], np.asarray(self.reference, dtype=float)
            if v.shape != (3,) or np.linalg.norm(np.cross(x, v)) <= 1e-6 * np.linalg.norm(x) * np.linalg.norm(
                v
            ):
                found.append(f"reference {self.reference} must be a vector that is not along the member")
        return found

    def frequency(self, size: float) -> float | None:
        """First bending frequency of a pinned beam."""
        EI = float(self.E) * min(float(self.Iy), float(self.Iz))
        return first_bending(EI, float(self.rho) * float(self.A), size)


def bend(elements: Sequence[SpaceBending], L: Array) -> tuple[Array, Array, Array]:
    """Local K, M and lumped M of bending in both planes, shape (n, 12, 12)."""
    E, A, rho = (column(elements, name) for name in ("E", "A", "rho"))
    rigid = np.full(len(L), np.nan)
    shear = hasattr(elements[0], "G")
    K, M, lumped = np.zeros((3, len(L), 12, 12))
    for places, moment, factor, sign in (
        (ABOUT_Z, "Iz", "kappa_y", np.ones(4)),
        (ABOUT_Y, "Iy", "kappa_z", MIRROR),
    ):
        I = column(elements, moment)
        GA = column(elements, factor) * column(elements, "G") * A if shear else rigid
        phi = shear_ratio(E * I, GA, L)
        rhoI = np.where(np.isnan(GA), 0.0, rho * I)
        at, signs = np.ix_(range(len(L)), places, places), sign[:, None] * sign
        K[at] = bending_stiffness(E * I, L, phi) * signs
        M[at] = bending_mass(rho * A, rhoI, L, phi) * signs
        lumped[at] = bending_lumped(rho * A, rhoI, L)
    return K, M, lumped


def turn(elements: Sequence[SpaceBending], xyz: Array, K: Array, M: Array, lumped: Array) -> Blocks:
    """Release ends and turn local matrices into global axes."""
    none = (np.nan, np.nan, np.nan)
    axes = space_axes(
        xyz, np.array([none if e.reference is None else e.reference for e in elements], dtype=float)
    )
    K, M, lumped = condense(elements, DOFS, K, M, lumped)
    # Rotary inertias that differ about the member's axes would be products of inertia about global ones. The
    # largest, that of bending, about every axis keeps a lumped mass diagonal however the member lies.
    for end in (3, 9):
        block = lumped[:, end : end + 3, end : end + 3]
        block[:] = np.einsum("nii->ni", block).max(axis=1)[:, None, None] * np.eye(3)
    K, M, lumped = (rotate(part, axes) for part in (K, M, lumped))
    return Blocks(K, column(elements, "beta")[:, None, None] * K, M, lumped, stiff(K, DOFS))


@dataclass(frozen=True)
class Beam3D(SpaceBending):
    """Euler–Bernoulli beam in space: bending about both local axes, nothing along and about its own.

    A beam along x uses uy, uz, ry, rz. Set obliquely it is a mechanism by itself; `Frame3D` is not.

    Parameters
    ----------
    a, b
        Names of the end nodes.
    E, A, Iy, Iz, rho
        Modulus in Pa, area in m², second moments of area in m⁴ about the local axes, density in kg/m³.
    reference
        Vector in the local x–z plane, as for `Frame3D`.
    beta
        Stiffness-proportional damping in s: its damping matrix is beta times its stiffness.
    release_a, release_b
        Local rotations released at that end, of ``"ry"``, ``"rz"``.

    Examples
    --------
    >>> from bondloop.structures import Structure
    >>> s = Structure("needle")
    >>> s.node("root", x=0)
    >>> s.node("tip", x=1)
    >>> s.add(Beam3D("root", "tip", E=1.0, A=1.0, Iy=1.0, Iz=2.0, rho=1.0))
    'beam3d[0]'
    >>> s.support("root")
    >>> m = s.assemble()
    >>> m.dofs, m.K.diagonal().tolist()
    (('tip.uy', 'tip.uz', 'tip.ry', 'tip.rz'), [24.0, 12.0, 4.0, 8.0])
    """

    kind: ClassVar[str] = "beam3d"

    @classmethod
    def blocks(cls, elements: Sequence[Self], xyz: Array) -> Blocks:
        """Global matrices for all six degrees of freedom at both ends, shape (n, 12, 12)."""
        return turn(elements, xyz, *bend(elements, lengths(xyz)))


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
