"""Loads spread over elements, as the forces on degrees of freedom that do the same work."""

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
    elements
        Names of members, or of all that share a name: ``"girder"`` for ``"girder[0]"``, ``"girder[1]"``, ...
    force
        Global components of the load in N per m of member, shape (3,).
    """
    groups: dict[str, list[str]] = {}
    for name in structure.elements:
        groups.setdefault(name.partition("[")[0], []).append(name)
    place = {name: i for i, name in enumerate(structure.nodes)}
    load = np.zeros(6 * len(place))
    for wanted in elements:
        if wanted not in structure.elements and wanted not in groups:
            known = (*structure.elements, *groups)
            raise InputError(
                f"structure '{structure.name}': load on {unknown_name('element', wanted, known)}"
            )
        for name in [wanted] if wanted in structure.elements else groups[wanted]:
            e: Any = structure.elements[name]
            if not hasattr(e, "rho"):
                raise InputError(f"structure '{structure.name}': {name} is no member that could carry a load")
            ends = structure.coordinates[[place[n] for n in e.nodes]][None]
            kind = type(e)
            dofs = [DOFS.index(d) for d in kind.node_dofs]
            unit = replace(e, rho=1 / float(e.A))
            f = kind.blocks([unit], ends).M[0] @ np.tile(np.append(force, np.zeros(3))[dofs], 2)
            length = float(np.linalg.norm(ends[0, 1] - ends[0, 0]))
            carried = np.array(
                [f[[i for i in range(len(f)) if dofs[i % len(dofs)] == d]].sum() for d in range(3)]
            )
            if not np.allclose(carried, force * length, rtol=0, atol=1e-9 * length * np.abs(force).max()):
                raise InputError(
                    f"structure '{structure.name}': {name} cannot carry the load {force.tolist()} N/m: a beam bears "
                    "nothing along its axis, a plane member nothing out of its plane"
                )
            codes = np.concatenate([6 * place[n] + np.array(dofs) for n in e.nodes])
            np.add.at(load, codes, f)
    return load
