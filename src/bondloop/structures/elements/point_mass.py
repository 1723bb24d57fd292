"""Mass at a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from bondloop.structures.elements.base import DOFS, Array, Blocks, Element, Number, column


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
