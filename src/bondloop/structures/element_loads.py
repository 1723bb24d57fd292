"""Loads spread over members, as the forces on degrees of freedom that do the same work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.structures.elements.base import DOFS, Array

if TYPE_CHECKING:
    from bondloop.structures.structure import Structure

__all__ = ["distributed_load"]


def distributed_load(structure: Structure, elements: Iterable[str], force: Array) -> Array:
    """Consistent forces of a uniform load, on 6 · node + dof.

    The load's shape functions are the mass's, so that the load of 1 N/m is M r of a member that weighs
    1 kg/m; with released ends this is the load of the released member.

    Parameters
    ----------
    structure
        What carries the load.
    elements
        Names of members, or one that several share: ``"girder"`` for ``"girder[0]"``, ``"girder[1]"``, ...
    force
        Global components of the load in N per m of member, shape (3,).
    """
    place = {name: i for i, name in enumerate(structure.nodes)}
    load = np.zeros(6 * len(place))
    coordinates = structure.coordinates
    for name in chosen(structure, elements):
        e: Any = structure.elements[name]
        if not hasattr(e, "rho"):
            raise InputError(f"structure '{structure.name}': {name} is no member that could carry a load")
        xyz = coordinates[[place[n] for n in e.nodes]]
        dofs = np.array([DOFS.index(d) for d in e.node_dofs])
        unit = replace(e, rho=1 / float(e.A))
        f = type(e).blocks([unit], xyz[None]).M[0] @ np.tile(np.append(force, np.zeros(3))[dofs], 2)
        whole = force * np.linalg.norm(xyz[1] - xyz[0])
        carried = np.bincount(np.tile(dofs, 2), weights=f, minlength=6)[:3]
        if np.abs(carried - whole).max() > 1e-9 * np.abs(whole).max():
            raise InputError(
                f"structure '{structure.name}': {name} cannot carry {force.tolist()} N/m: a beam bears "
                "nothing along its axis, a plane member nothing out of its plane"
            )
        np.add.at(load, np.concatenate([6 * place[n] + dofs for n in e.nodes]), f)
    return load


def chosen(structure: Structure, elements: Iterable[str]) -> list[str]:
    """Names of elements, with shared names spelt out."""
    groups: dict[str, list[str]] = {}
    for name in structure.elements:
        groups.setdefault(name.partition("[")[0], []).append(name)
    names: list[str] = []
    for wanted in elements:
        if wanted not in structure.elements and wanted not in groups:
            known = (*structure.elements, *groups)
            raise InputError(
                f"structure '{structure.name}': load on {unknown_name('element', wanted, known)}"
            )
        names += [wanted] if wanted in structure.elements else groups[wanted]
    return names
