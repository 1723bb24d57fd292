"""What a change of temperature does to members, as forces on degrees of freedom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.structures.element_loads import chosen
from bondloop.structures.elements import Bar, Frame2D, Frame3D
from bondloop.structures.elements.axes import plane_axes, space_axes
from bondloop.structures.elements.base import DOFS, Array

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Element
    from bondloop.structures.structure import Structure

__all__ = ["thermal_load"]


def thermal_load(
    structure: Structure, elements: Iterable[str], strain: float, curvatures: tuple[float, float]
) -> Array:
    """Return the forces of free strains that members would have, on 6 · node + dof.

    A member that may not lengthen by ε or bend by κ presses with EAε and EIκ: f = ∫ Bᵀ E (ε, κ) dx, which for
    constant values are forces along its axis and moments at its ends.

    Parameters
    ----------
    structure
        What is heated.
    elements
        Names of members, or one that several share.
    strain
        α ΔT, along the axis.
    curvatures
        α times the rise of temperature per m along the local y and z.
    """
    place = {name: i for i, name in enumerate(structure.nodes)}
    load = np.zeros(6 * len(place))
    coordinates = structure.coordinates
    for name in chosen(structure, elements):
        e: Element = structure.elements[name]
        what = f"structure '{structure.name}': {name}"
        if not isinstance(e, (Bar, Frame2D, Frame3D)):
            raise InputError(f"{what} does not expand; bars and frame members do")
        xyz = coordinates[[place[n] for n in e.nodes]]
        f = _bar(e, xyz, strain) if isinstance(e, Bar) else _frame(e, xyz, strain, curvatures, what)
        if isinstance(e, Bar) and any(curvatures):
            raise InputError(f"{what} is a bar, which does not bend; give it no gradient")
        dofs = np.array([DOFS.index(d) for d in e.node_dofs])
        np.add.at(load, np.concatenate([6 * place[n] + dofs for n in e.nodes]), f)
    return load


def _bar(bar: Bar, xyz: Array, strain: float) -> Array:
    axis = (xyz[1] - xyz[0]) / np.linalg.norm(xyz[1] - xyz[0])
    return float(bar.E) * float(bar.A) * strain * np.concatenate([-axis, axis])


def _frame(
    e: Frame2D | Frame3D, xyz: Array, strain: float, curvatures: tuple[float, float], what: str
) -> Array:
    """Return forces in global axes, with released rotations condensed as in the stiffness."""
    along_y, along_z = curvatures
    E = float(e.E)
    axial = E * float(e.A) * strain
    # A fibre at y lengthens by α g y, and -y v'' is the strain of bending: v'' = -α g.
    if isinstance(e, Frame2D):
        if along_z:
            raise InputError(f"{what} is a plane member, which does not bend along z")
        moment = E * float(e.I) * along_y
        f = np.array([-axial, 0, moment, axial, 0, -moment])
        axes = plane_axes(xyz[None])[0]
    else:
        about_z, about_y = E * float(e.Iz) * along_y, E * float(e.Iy) * along_z
        f = np.zeros(12)
        f[[0, 6]], f[[5, 11]], f[[4, 10]] = [-axial, axial], [about_z, -about_z], [-about_y, about_y]
        reference = np.full(3, np.nan) if e.reference is None else np.array(e.reference, dtype=float)
        axes = space_axes(xyz[None], reference[None])[0]
    T = np.kron(np.eye(2 if isinstance(e, Frame2D) else 4), axes)
    released = _released(e)
    if released:
        whole = replace(e, release_a=(), release_b=())
        K = T @ type(e).blocks([whole], xyz[None]).K[0] @ T.T  # type: ignore[list-item]
        kept = [i for i in range(len(f)) if i not in released]
        f[kept] -= K[np.ix_(kept, released)] @ np.linalg.solve(K[np.ix_(released, released)], f[released])
        f[released] = 0.0
    return np.asarray(T.T @ f)


def _released(e: Frame2D | Frame3D) -> list[int]:
    dofs = list(e.node_dofs)
    return [dofs.index(d) for d in e.release_a] + [len(dofs) + dofs.index(d) for d in e.release_b]
