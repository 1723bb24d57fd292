"""Bars, springs, dashpots and point masses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from bondloop.structures.elements.base import (
    DOFS,
    Array,
    Blocks,
    Element,
    Member,
    Number,
    column,
    damped_blocks,
    lengths,
    stiff,
)


def rod_stiffness(k: Array) -> Array:
    """Stiffness of a two-node rod or shaft, k [[1, -1], [-1, 1]], shape (n, 2, 2)."""
    return np.asarray(k[:, None, None] * np.array([[1.0, -1], [-1, 1]]))


def rod_mass(m: Array) -> Array:
    """Consistent mass of a two-node rod or shaft, m/6 [[2, 1], [1, 2]], shape (n, 2, 2)."""
    return np.asarray(m[:, None, None] * np.array([[2.0, 1], [1, 2]]) / 6)


def rod_lumped(m: Array) -> Array:
    """Half the mass at each end, shape (n, 2, 2)."""
    return m[:, None, None] * np.eye(2) / 2


@dataclass(frozen=True)
class Bar(Member):
    """Truss bar: EA/L along its axis, in one, two or three dimensions.

    It uses the translations that its axis has components along: a bar along x only ux. Its mass moves with
    every translation that its nodes have.

    Parameters
    ----------
    a, b
        Names of the end nodes.
    E, A, rho
        Modulus in Pa, area in m², density in kg/m³.
    beta
        Stiffness-proportional damping in s: its damping matrix is beta times its stiffness.

    Examples
    --------
    >>> from bondloop.structures import Structure
    >>> s = Structure("rod")
    >>> s.node("wall", x=0)
    >>> s.node("end", x="2 m")
    >>> s.add(Bar("wall", "end", E="210 GPa", A="1 cm^2", rho=7850))
    'bar[0]'
    >>> s.support("wall")
    >>> m = s.assemble()
    >>> m.dofs, float(m.K[0, 0])
    (('end.ux',), 10500000.0)
    """

    kind: ClassVar[str] = "bar"
    node_dofs: ClassVar[tuple[str, ...]] = ("ux", "uy", "uz")
    positive: ClassVar[tuple[str, ...]] = ("E", "A")
    not_negative: ClassVar[tuple[str, ...]] = ("rho", "beta")

    E: Number = field(kw_only=True)
    A: Number = field(kw_only=True)
    rho: Number = field(kw_only=True, default=0.0)

    @classmethod
    def blocks(cls, elements: Sequence[Self], xyz: Array) -> Blocks:
        """Global matrices: k ⊗ (x xᵀ) and m ⊗ identity, shape (n, 6, 6)."""
        L = lengths(xyz)
        x = (xyz[:, 1] - xyz[:, 0]) / L[:, None]
        E, A, rho = (column(elements, name) for name in ("E", "A", "rho"))
        along = x[:, :, None] * x[:, None, :]
        K = np.einsum("nij,nkl->nikjl", rod_stiffness(E * A / L), along).reshape(-1, 6, 6)
        M, lumped = (
            np.einsum("nij,kl->nikjl", part(rho * A * L), np.eye(3)).reshape(-1, 6, 6)
            for part in (rod_mass, rod_lumped)
        )
        return damped_blocks(elements, K, M, lumped)

    def frequency(self, size: float) -> float | None:
        """First axial frequency of a bar fixed at both ends, c / 2L."""
        rho = float(self.rho)
        return math.sqrt(float(self.E) / rho) / (2 * size) if rho else None


@dataclass(frozen=True)
class Link(Element, family="element"):
    """Base of spring and dashpot: along one degree of freedom, or along the line between two nodes."""

    node_dofs: ClassVar[tuple[str, ...]] = DOFS
    a: str
    b: str | None = None
    dof: str | None = field(kw_only=True, default=None)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the ends; a link to ground has one."""
        return (self.a,) if self.b is None else (self.a, self.b)

    def geometry_faults(self, xyz: Array) -> list[str]:
        """Without `dof` the line between the nodes must have a length."""
        if self.dof is not None:
            return (
                []
                if self.dof in DOFS
                else [f"unknown degree of freedom '{self.dof}'; known: {', '.join(DOFS)}"]
            )
        if self.b is None:
            return [f"to ground needs a direction; give dof=, one of {', '.join(DOFS)}"]
        if float(np.linalg.norm(xyz[1] - xyz[0])) == 0.0:
            return [f"has no length: nodes '{self.a}' and '{self.b}' are at the same place; give dof="]
        return []


def link_blocks(elements: Sequence[Link], xyz: Array, value: Array) -> Array:
    """Matrices value · n nᵀ with n = (direction, -direction), shape (n, 6 nodes, 6 nodes)."""
    n = np.zeros((len(elements), xyz.shape[1] * 6))
    for i, e in enumerate(elements):
        if e.dof is not None:
            n[i, DOFS.index(e.dof)] = 1.0
        else:
            n[i, :3] = (xyz[i, 1] - xyz[i, 0]) / np.linalg.norm(xyz[i, 1] - xyz[i, 0])
        if xyz.shape[1] == 2:
            n[i, 6:] = -n[i, :6]
    return np.asarray(value[:, None, None] * n[:, :, None] * n[:, None, :])


@dataclass(frozen=True)
class Spring(Link):
    """Massless spring: along the line from a to b, or between the same degree of freedom `dof` of both.

    Without b it goes from a to ground. A negative stiffness is accepted, as da Silva 1994 needs it.

    Parameters
    ----------
    a, b
        Names of the nodes; no b: ground.
    k
        Stiffness in N/m (rotations: N m/rad).
    dof
        Name such as ``"rz"``; None: along the line between the nodes.
    beta
        Stiffness-proportional damping in s: its damping matrix is beta times its stiffness.

    Examples
    --------
    >>> from bondloop.structures import Structure
    >>> s = Structure("two springs")
    >>> s.node("a")
    >>> s.add(Spring("a", k=3.0, dof="rz")), s.add(Spring("a", k=4.0, dof="rz"))
    ('spring[0]', 'spring[1]')
    >>> s.assemble().K.toarray().tolist()
    [[7.0]]
    """

    kind: ClassVar[str] = "spring"

    k: Number = field(kw_only=True)

    @classmethod
    def blocks(cls, elements: Sequence[Self], xyz: Array) -> Blocks:
        """Stiffness, and damping beta times it."""
        K = link_blocks(elements, xyz, column(elements, "k"))
        return damped_blocks(elements, K, np.zeros_like(K), np.zeros_like(K))


@dataclass(frozen=True)
class Dashpot(Link):
    """Viscous dashpot: along the line from a to b, or between the same degree of freedom `dof` of both.

    Parameters
    ----------
    a, b
        Names of the nodes; no b: ground.
    c
        Damping in N s/m (rotations: N m s/rad).
    dof
        Name such as ``"ux"``; None: along the line between the nodes.
    beta
        Stiffness-proportional damping in s: its damping matrix is beta times its stiffness.

    Examples
    --------
    >>> from bondloop.structures import Spring, Structure
    >>> s = Structure("damped")
    >>> s.node("a")
    >>> s.add(Spring("a", k=3.0, dof="ux")), s.add(Dashpot("a", c="0.5 N s/m", dof="ux"))
    ('spring[0]', 'dashpot[0]')
    >>> s.assemble().C.toarray().tolist()
    [[0.5]]
    """

    kind: ClassVar[str] = "dashpot"
    not_negative: ClassVar[tuple[str, ...]] = ("c", "beta")

    c: Number = field(kw_only=True)

    @classmethod
    def blocks(cls, elements: Sequence[Self], xyz: Array) -> Blocks:
        """Damping only."""
        C = link_blocks(elements, xyz, column(elements, "c"))
        zero = np.zeros_like(C)
        return Blocks(zero, C, zero, zero, stiff(C, DOFS))


@dataclass(frozen=True)
class PointMass(Element):
    """Mass and rotary inertia at a node.

    The mass acts on every translation that the node has, the inertias on its rotations. With `dofs` it
    acts on those alone, and brings them into being.

    Parameters
    ----------
    a
        Name of the node.
    m
        Mass in kg.
    Jx, Jy, Jz
        Mass moments of inertia about the global axes in kg m².
    dofs
        Names such as ``("ux",)``; None: what the node has.
    beta
        Stiffness-proportional damping in s: its damping matrix is beta times its stiffness.

    Examples
    --------
    >>> from bondloop.structures import Spring, Structure
    >>> s = Structure("oscillator")
    >>> s.node("mass")
    >>> s.add(Spring("mass", k="1 kN/m", dof="ux"))
    'spring[0]'
    >>> s.add(PointMass("mass", m="2 kg"))
    'mass[0]'
    >>> s.assemble().M.toarray().tolist()
    [[2.0]]
    """

    kind: ClassVar[str] = "mass"
    node_dofs: ClassVar[tuple[str, ...]] = DOFS
    not_negative: ClassVar[tuple[str, ...]] = ("m", "Jx", "Jy", "Jz")

    a: str
    m: Number = field(kw_only=True)
    Jx: Number = field(kw_only=True, default=0.0)
    Jy: Number = field(kw_only=True, default=0.0)
    Jz: Number = field(kw_only=True, default=0.0)
    dofs: tuple[str, ...] | None = field(kw_only=True, default=None)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Name of the node."""
        return (self.a,)

    def faults(self, xyz: Array) -> list[str]:
        """Also that `dofs` are names of degrees of freedom."""
        wrong = [d for d in self.dofs or () if d not in DOFS]
        return super().faults(xyz) + [
            f"unknown degree of freedom '{d}'; known: {', '.join(DOFS)}" for d in wrong
        ]

    @classmethod
    def blocks(cls, elements: Sequence[Self], xyz: Array) -> Blocks:
        """Diagonal mass, shape (n, 6, 6)."""
        del xyz
        values = np.stack([column(elements, name) for name in ("m", "m", "m", "Jx", "Jy", "Jz")], axis=1)
        uses = np.zeros(values.shape, dtype=bool)
        for i, e in enumerate(elements):
            if e.dofs is not None:
                uses[i] = [d in e.dofs for d in DOFS]
                values[i, ~uses[i]] = 0.0
        M = values[:, :, None] * np.eye(6)
        zero = np.zeros_like(M)
        return Blocks(zero, zero, M, M, uses)
