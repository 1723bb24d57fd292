"""Masses of nodes in OpenSees, as elements of a structure."""

from __future__ import annotations

from collections.abc import Mapping

from bondloop.structures.elements.point_mass import PointMass

__all__ = ["nodal_masses"]


def nodal_masses(node: str, masses: Mapping[str, float], length: float, force: float) -> list[PointMass]:
    """Return masses and inertias by degree of freedom; equal ones together.

    Parameters
    ----------
    node
        Its name.
    masses
        In the units of the model.
    length, force
        Those units.

    >>> [(m.m, m.dofs) for m in nodal_masses("top", {"ux": 2.0, "uy": 2.0, "rz": 0.0}, 1.0, 1e3)]
    [(2000.0, ('ux', 'uy'))]
    """
    moved = {d: x * force / length for d, x in masses.items() if d[0] == "u" and x}
    parts = [
        PointMass(node, m=value, dofs=tuple(d for d, x in moved.items() if x == value))
        for value in dict.fromkeys(moved.values())
    ]
    turned = {d: x * force * length for d, x in masses.items() if d[0] == "r" and x}
    if turned:
        inertias = {f"J{d[1]}": x for d, x in turned.items()}
        parts.append(PointMass(node, m=0.0, dofs=tuple(turned), **inertias))
    return parts
