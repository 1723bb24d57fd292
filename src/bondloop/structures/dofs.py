"""What the degrees of freedom of a structure are."""

from __future__ import annotations

from bondloop.bondgraph.domain import ROTATION, TRANSLATION, Domain

__all__ = ["ROTATIONS", "dof_domain", "dof_word"]

ROTATIONS = ("rx", "ry", "rz")
"""Words of degrees of freedom that are rotations."""


def dof_word(dof: str) -> str:
    """Return what a degree of freedom is at its node, the last word of its name.

    >>> dof_word("floor[2].ux")
    'ux'
    """
    return dof.rpartition(".")[2]


def dof_domain(dof: str) -> Domain:
    """Return the domain of a degree of freedom: its name, ``node.word``, is how structures define it.

    >>> dof_domain("tip.rz").name, dof_domain("floor[2].ux").name
    ('rotation', 'translation')
    """
    return ROTATION if dof_word(dof) in ROTATIONS else TRANSLATION
