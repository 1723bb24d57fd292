"""Spring between two nodes, or from a node to ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from bondloop.structures.elements.base import DOFS, Array, Blocks, Element, Number, column, stiff


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
        zero = np.zeros_like(K)
        return Blocks(K, column(elements, "beta")[:, None, None] * K, zero, zero, stiff(K, DOFS))
