"""Bar: axial stiffness only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from bondloop.structures.elements.base import Array, Blocks, Member, Number, column, lengths, stiff


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
        E, A, rho, beta = (column(elements, name) for name in ("E", "A", "rho", "beta"))
        along = x[:, :, None] * x[:, None, :]
        K = np.einsum("nij,nkl->nikjl", rod_stiffness(E * A / L), along).reshape(-1, 6, 6)
        M, lumped = (
            np.einsum("nij,kl->nikjl", part(rho * A * L), np.eye(3)).reshape(-1, 6, 6)
            for part in (rod_mass, rod_lumped)
        )
        return Blocks(K, beta[:, None, None] * K, M, lumped, stiff(K, cls.node_dofs))

    def frequency(self, size: float) -> float | None:
        """First axial frequency of a bar fixed at both ends, c / 2L."""
        rho = float(self.rho)
        return math.sqrt(float(self.E) / rho) / (2 * size) if rho else None
