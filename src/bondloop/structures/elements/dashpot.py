"""Viscous dashpot between two nodes, or from a node to ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from bondloop.structures.elements.base import DOFS, Array, Blocks, Number, column, stiff
from bondloop.structures.elements.spring import Link, link_blocks


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
