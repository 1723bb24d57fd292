"""Beams and frame members, in the plane and in space: Euler–Bernoulli, Timoshenko, with axial stiffness."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

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
    damped_blocks,
    lengths,
    plane_axes,
    rotate,
    space_axes,
)


class Bending(NamedTuple):
    """Bending of members of one kind in one of their planes.

    Attributes
    ----------
    places
        Of (w, θ, w, θ) among the local degrees of freedom of both ends.
    signs
        Of their products, shape (4, 4): in the local x–z plane a rotation is θ_y = -dw/dx.
    EI, phi, rhoI
        Stiffness, ratio of bending to shear stiffness, and rotary inertia per length, shape (n,).
    """

    places: list[int]
    signs: Array
    EI: Array
    phi: Array
    rhoI: Array


@dataclass(frozen=True)
class BendingMember(Member, family="element"):
    """Base of the members that bend, in one plane or in two."""

    releasable: ClassVar[tuple[str, ...]]
    not_negative: ClassVar[tuple[str, ...]] = ("rho", "beta")
    axial: ClassVar[bool] = False
    """Whether it resists and weighs along its axis."""

    E: Number = field(kw_only=True)
    A: Number = field(kw_only=True)
    rho: Number = field(kw_only=True, default=0.0)
    release_a: tuple[str, ...] = field(kw_only=True, default=())
    release_b: tuple[str, ...] = field(kw_only=True, default=())

    @classmethod
    @abstractmethod
    def planes(cls, elements: Sequence[Self], L: Array) -> list[Bending]:
        """Return the bending of some ``elements`` of the lengths ``L`` in each of their planes."""

    @classmethod
    def local(cls, elements: Sequence[Self], L: Array) -> tuple[Array, Array, Array]:
        """Return local K, M and lumped M of ``elements`` of the lengths ``L``, nothing released."""
        E, A, rho = (column(elements, name) for name in ("E", "A", "rho"))
        d = 2 * len(cls.node_dofs)
        K, M, lumped = np.zeros((3, len(L), d, d))
        for plane in cls.planes(elements, L):
            at = np.ix_(range(len(L)), plane.places, plane.places)
            K[at] = bending_stiffness(plane.EI, L, plane.phi) * plane.signs
            M[at] = bending_mass(rho * A, plane.rhoI, L, plane.phi) * plane.signs
            lumped[at] = bending_lumped(rho * A, plane.rhoI, L)
        if cls.axial:
            at = np.ix_(range(len(L)), [0, d // 2], [0, d // 2])
            K[at], M[at], lumped[at] = (
                rod_stiffness(E * A / L),
                rod_mass(rho * A * L),
                rod_lumped(rho * A * L),
            )
        return K, M, lumped

    @classmethod
    def blocks(cls, elements: Sequence[Self], xyz: Array) -> Blocks:
        """Global matrices for the degrees of freedom of both ends, shape (n, d, d)."""
        axes = cls.axes(elements, xyz)
        parts = condense(elements, cls.node_dofs, *cls.local(elements, lengths(xyz)))
        for end in (3, 9) if cls.node_dofs == DOFS else ():
            # Rotary inertias that differ about the member's axes would be products of inertia about global
            # ones. The largest, that of bending, about every axis keeps a lumped mass diagonal however the
            # member lies.
            block = parts[2][:, end : end + 3, end : end + 3]
            block[:] = np.einsum("nii->ni", block).max(axis=1)[:, None, None] * np.eye(3)
        return damped_blocks(elements, *(rotate(part, axes) for part in parts))

    def faults(self, xyz: Array) -> list[str]:
        """Also that only rotations are released that can be."""
        wrong = sorted({*self.release_a, *self.release_b} - {*self.releasable})
        known = ", ".join(f"'{d}'" for d in self.releasable)
        what = f"{type(self).__name__} can release {'local ' if len(self.releasable) > 1 else ''}{known}"
        return super().faults(xyz) + [f"cannot release '{d}'; a {what}" for d in wrong]

    @property
    @abstractmethod
    def weakest(self) -> float:
        """The smallest second moment of area, m⁴."""

    def frequency(self, size: float) -> float | None:
        """First bending frequency in Hz of a pinned beam of this section and length, π/2 √(EI/ρA)/L²."""
        rhoA = float(self.rho) * float(self.A)
        return math.pi / 2 * math.sqrt(float(self.E) * self.weakest / rhoA) / size**2 if rhoA else None


@dataclass(frozen=True)
class PlaneBending(BendingMember, family="element"):
    """Base of the plane beams: bending in the xy-plane, no axial stiffness and no axial mass."""

    plane: ClassVar[bool] = True
    node_dofs: ClassVar[tuple[str, ...]] = ("ux", "uy", "rz")
    releasable: ClassVar[tuple[str, ...]] = ("rz",)
    positive: ClassVar[tuple[str, ...]] = ("E", "A", "I", "G", "kappa")

    I: Number = field(kw_only=True)

    @classmethod
    def axes(cls, elements: Sequence[Member], xyz: Array) -> Array:
        """Local axes of ``elements``, their ends at ``xyz``, for (ux, uy, rz)."""
        del elements
        return plane_axes(xyz)

    @classmethod
    def shear(cls, elements: Sequence[Self]) -> tuple[Array, Array]:
        """Return κGA (NaN: rigid in shear) and the rotary inertia ρI per length of each of ``elements``."""
        G, kappa, A, I, rho = (column(elements, name) for name in ("G", "kappa", "A", "I", "rho"))
        return kappa * G * A, np.where(np.isnan(G), 0.0, rho * I)

    @classmethod
    def planes(cls, elements: Sequence[Self], L: Array) -> list[Bending]:
        """Return the bending in the one plane that there is."""
        EI = column(elements, "E") * column(elements, "I")
        GA, rhoI = cls.shear(elements)
        return [Bending([1, 2, 4, 5], np.ones((4, 4)), EI, shear_ratio(EI, GA, L), rhoI)]

    @property
    def weakest(self) -> float:
        """The second moment of area, m⁴."""
        return float(self.I)


@dataclass(frozen=True)
class SpaceBending(BendingMember, family="element"):
    """Base of the members in space."""

    node_dofs: ClassVar[tuple[str, ...]] = DOFS
    releasable: ClassVar[tuple[str, ...]] = DOFS[3:]
    positive: ClassVar[tuple[str, ...]] = ("E", "G", "A", "Iy", "Iz", "J", "kappa_y", "kappa_z")

    Iy: Number = field(kw_only=True)
    Iz: Number = field(kw_only=True)
    reference: tuple[float, float, float] | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.reference, (list, tuple)) and any(isinstance(x, str) for x in self.reference):
            what = f"{type(self).__name__}(reference)"
            object.__setattr__(self, "reference", tuple(number(x, what, "1") for x in self.reference))

    @classmethod
    def axes(cls, elements: Sequence[Member], xyz: Array) -> Array:
        """Local axes of ``elements``, their ends at ``xyz``: x along, the reference in the x–z plane."""
        given = [getattr(e, "reference", None) or (np.nan, np.nan, np.nan) for e in elements]
        return space_axes(xyz, np.array(given, dtype=float))

    @classmethod
    def planes(cls, elements: Sequence[Self], L: Array) -> list[Bending]:
        """Return the bending about the local z and about the local y."""
        E, A, rho = (column(elements, name) for name in ("E", "A", "rho"))
        mirror = np.array([1.0, -1, 1, -1])
        found = []
        for places, moment, factor, sign in (
            ([1, 5, 7, 11], "Iz", "kappa_y", np.ones(4)),
            ([2, 4, 8, 10], "Iy", "kappa_z", mirror),
        ):
            I, GA = column(elements, moment), np.full(len(L), np.nan)
            if hasattr(elements[0], "G"):
                GA = column(elements, factor) * column(elements, "G") * A
            rhoI = np.where(np.isnan(GA), 0.0, rho * I)
            found.append(Bending(places, sign[:, None] * sign, E * I, shear_ratio(E * I, GA, L), rhoI))
        return found

    @property
    def weakest(self) -> float:
        """The smaller of the second moments of area, m⁴."""
        return min(float(self.Iy), float(self.Iz))

    def faults(self, xyz: Array) -> list[str]:
        """Also that the reference is not along the member."""
        found = super().faults(xyz)
        if self.reference is not None:
            x, v = xyz[1] - xyz[0], np.asarray(self.reference, dtype=float)
            least = 1e-6 * np.linalg.norm(x) * np.linalg.norm(v)
            if v.shape != (3,) or np.linalg.norm(np.cross(x, v)) <= least:
                found.append(f"reference {self.reference} must be a vector that is not along the member")
        return found


@dataclass(frozen=True)
class Beam(PlaneBending):
    """Euler–Bernoulli beam in the xy-plane: bending only, no shear, no rotary inertia.

    A beam along x uses uy and rz. It neither resists nor weighs along its axis; `Frame2D` does.

    Parameters
    ----------
    a, b
        Names of the end nodes.
    E, A, I, rho
        Modulus in Pa, area in m², second moment of area in m⁴, density in kg/m³.
    release_a, release_b
        ``("rz",)`` for a hinge at that end.
    beta
        Stiffness-proportional damping in s: its damping matrix is beta times its stiffness.

    Examples
    --------
    >>> from bondloop.structures import Structure
    >>> s = Structure("cantilever")
    >>> s.node("root", x=0)
    >>> s.node("tip", x=1)
    >>> s.add(Beam("root", "tip", E=210e9, A=1e-4, I=1e-8, rho=7850))
    'beam[0]'
    >>> s.support("root")
    >>> m = s.assemble()
    >>> m.dofs, m.K.toarray().tolist()
    (('tip.uy', 'tip.rz'), [[25200.0, -12600.0], [-12600.0, 8400.0]])
    """

    kind: ClassVar[str] = "beam"

    @classmethod
    def shear(cls, elements: Sequence[Self]) -> tuple[Array, Array]:
        """No shear deformation, no rotary inertia."""
        return np.full(len(elements), np.nan), np.zeros(len(elements))


@dataclass(frozen=True)
class Timoshenko(PlaneBending):
    """Timoshenko beam in the xy-plane, exact in statics and therefore free of shear locking.

    Parameters
    ----------
    a, b
        Names of the end nodes.
    E, G, A, I, rho
        Modulus and shear modulus in Pa, area in m², second moment of area in m⁴, density in kg/m³.
    kappa
        Shear factor: 5/6 for a rectangle.
    release_a, release_b
        ``("rz",)`` for a hinge at that end.
    beta
        Stiffness-proportional damping in s: its damping matrix is beta times its stiffness.

    References
    ----------
    Friedman and Kosmatka 1993, An improved two-node Timoshenko beam finite element, Comput. Struct. 47(3).

    Examples
    --------
    >>> from bondloop.structures import Structure
    >>> s = Structure("deep beam")
    >>> s.node("root", x=0)
    >>> s.node("tip", x=1)
    >>> s.add(Timoshenko("root", "tip", E=3.0, G=1.0, A=6.0, I=1.0, rho=1.0, kappa=0.5))
    'timoshenko[0]'
    >>> s.support("root")
    >>> compliance = __import__("numpy").linalg.inv(s.assemble().K.toarray())
    >>> round(float(compliance[0, 0]), 12)  # L³/3EI + L/κGA = 1/9 + 1/3
    0.444444444444
    """

    kind: ClassVar[str] = "timoshenko"

    G: Number = field(kw_only=True)
    kappa: Number = field(kw_only=True, default=5 / 6)


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
    axial: ClassVar[bool] = True

    G: Number | None = field(kw_only=True, default=None)
    kappa: Number = field(kw_only=True, default=5 / 6)


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
    axial: ClassVar[bool] = True

    G: Number = field(kw_only=True)
    J: Number = field(kw_only=True)
    kappa_y: Number | None = field(kw_only=True, default=None)
    kappa_z: Number | None = field(kw_only=True, default=None)

    @classmethod
    def local(cls, elements: Sequence[Self], L: Array) -> tuple[Array, Array, Array]:
        """Torsion, too: GJ/L."""
        K, M, lumped = super().local(elements, L)
        G, Iy, Iz, J, rho = (column(elements, name) for name in ("G", "Iy", "Iz", "J", "rho"))
        torsion, polar = np.ix_(range(len(L)), [3, 9], [3, 9]), rho * (Iy + Iz) * L
        K[torsion], M[torsion], lumped[torsion] = rod_stiffness(G * J / L), rod_mass(polar), rod_lumped(polar)
        return K, M, lumped


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
