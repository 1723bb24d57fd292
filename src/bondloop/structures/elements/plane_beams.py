"""Beams and frame members in the plane: Euler–Bernoulli, Timoshenko, with axial stiffness."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from bondloop.structures.elements.bars_and_springs import rod_lumped, rod_mass, rod_stiffness
from bondloop.structures.elements.base import (
    Array,
    Blocks,
    Member,
    Number,
    column,
    condense,
    lengths,
    plane_axes,
    rotate,
    stiff,
)

BENDING = [1, 2, 4, 5]
"""Places of (uy, rz, uy, rz) among the local (ux, uy, rz, ux, uy, rz)."""


def first_bending(EI: float, rhoA: float, size: float) -> float | None:
    """First frequency in Hz of a pinned beam of this section and length, π/2 √(EI/ρA)/L²."""
    return math.pi / 2 * math.sqrt(EI / rhoA) / size**2 if rhoA else None


@dataclass(frozen=True)
class PlaneBending(Member, family="element"):
    """Base of the plane beams: bending in the xy-plane, no axial stiffness and no axial mass."""

    plane: ClassVar[bool] = True
    node_dofs: ClassVar[tuple[str, ...]] = ("ux", "uy", "rz")
    positive: ClassVar[tuple[str, ...]] = ("E", "A", "I", "G", "kappa")
    not_negative: ClassVar[tuple[str, ...]] = ("rho", "beta")

    E: Number = field(kw_only=True)
    A: Number = field(kw_only=True)
    I: Number = field(kw_only=True)
    rho: Number = field(kw_only=True, default=0.0)
    release_a: tuple[str, ...] = field(kw_only=True, default=())
    release_b: tuple[str, ...] = field(kw_only=True, default=())

    @classmethod
    def shear(cls, elements: Sequence[Self]) -> tuple[Array, Array]:
        """Return κGA (NaN: rigid in shear) and the rotary inertia ρI per length of each of ``elements``."""
        raise NotImplementedError

    @classmethod
    def blocks(cls, elements: Sequence[Self], xyz: Array) -> Blocks:
        """Global matrices for (ux, uy, rz) at both ends, shape (n, 6, 6)."""
        L = lengths(xyz)
        E, A, I, rho, beta = (column(elements, name) for name in ("E", "A", "I", "rho", "beta"))
        GA, rhoI = cls.shear(elements)
        phi = shear_ratio(E * I, GA, L)
        K, M, lumped = np.zeros((3, len(L), 6, 6))
        at = np.ix_(range(len(L)), BENDING, BENDING)
        K[at] = bending_stiffness(E * I, L, phi)
        M[at] = bending_mass(rho * A, rhoI, L, phi)
        lumped[at] = bending_lumped(rho * A, rhoI, L)
        K, M, lumped = condense(elements, cls.node_dofs, K, M, lumped)
        K, M, lumped = (rotate(part, plane_axes(xyz)) for part in (K, M, lumped))
        return Blocks(K, beta[:, None, None] * K, M, lumped, stiff(K, cls.node_dofs))

    def faults(self, xyz: Array) -> list[str]:
        """Also that only rz is released."""
        wrong = sorted({d for d in (*self.release_a, *self.release_b) if d != "rz"})
        return super().faults(xyz) + [f"cannot release '{d}'; a plane member can release 'rz'" for d in wrong]

    def frequency(self, size: float) -> float | None:
        """First bending frequency of a pinned beam."""
        return first_bending(float(self.E) * float(self.I), float(self.rho) * float(self.A), size)


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

    @classmethod
    def shear(cls, elements: Sequence[Self]) -> tuple[Array, Array]:
        """κGA and ρI."""
        G, kappa, A, I, rho = (column(elements, name) for name in ("G", "kappa", "A", "I", "rho"))
        return kappa * G * A, rho * I


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
