"""What the degrees of freedom of a structure are."""

from __future__ import annotations

from bondloop.bondgraph.domain import ROTATION, TRANSLATION, Domain

__all__ = ["ROTATIONS", "dof_domain"]

ROTATIONS = ("rx", "ry", "rz")
"""Words of degrees of freedom that are rotations."""


def dof_domain(dof: str) -> Domain:
    """Return the domain of a degree of freedom: its name, ``node.word``, is how structures define it.

    >>> dof_domain("tip.rz").name, dof_domain("floor[2].ux").name
    ('rotation', 'translation')
    """
    return ROTATION if dof.rpartition(".")[2] in ROTATIONS else TRANSLATION
