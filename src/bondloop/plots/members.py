"""Lines of a structure's members, at rest and bent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.structures.elements.base import DOFS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.structures.elements.base import Element
    from bondloop.structures.structure import Structure

__all__ = ["Lines", "lines", "nodal_motion"]

POINTS = 13
"""Points along a bent member."""


@dataclass(frozen=True)
class Lines:
    """What is drawn of a structure.

    Attributes
    ----------
    rest
        Points of each member at rest, shape (members, points, 3), in m.
    moved
        How each of these points moves, same shape.
    masses, masses_moved
        Places of point masses and how they move, shape (masses, 3).
    """

    rest: NDArray[np.float64]
    moved: NDArray[np.float64]
    masses: NDArray[np.float64]
    masses_moved: NDArray[np.float64]

    @property
    def size(self) -> float:
        """Largest extent of the structure in m."""
        points = np.concatenate([self.rest.reshape(-1, 3), self.masses])
        return float(np.ptp(points, axis=0).max(initial=0.0)) or 1.0

    @property
    def largest(self) -> float:
        """Largest motion of any point in m."""
        points = np.concatenate([self.moved.reshape(-1, 3), self.masses_moved])
        return float(np.linalg.norm(points, axis=1).max(initial=0.0))

    @property
    def plane(self) -> bool:
        """Whether structure and motion stay in the xy-plane."""
        off = np.concatenate([self.rest[..., 2].ravel(), self.masses[:, 2]])
        across = np.concatenate([self.moved[..., 2].ravel(), self.masses_moved[:, 2]])
        return bool(
            np.ptp(off) <= 1e-9 * self.size and np.abs(across).max(initial=0.0) <= 1e-9 * self.largest
        )


def nodal_motion(structure: Structure, motion: ArrayLike | Mapping[str, float]) -> NDArray[np.float64]:
    """Return the motion of every node, shape (nodes, 6), in the order of ``structure.nodes``.

    Parameters
    ----------
    structure
        The structure; supports and constraints are applied.
    motion
        A value for every degree of freedom of ``structure.assemble()``, or some by name, the others zero; or
        the motion of every node, which is returned as it is.
    """
    if not isinstance(motion, Mapping) and np.shape(motion) == (len(structure.nodes), 6):
        return np.asarray(motion, dtype=float)
    assembly = structure.assembly()
    names = assembly.free_names
    if isinstance(motion, Mapping):
        place = {name: i for i, name in enumerate(names)}
        values = np.zeros(len(names))
        for name, value in motion.items():
            if name not in place:
                raise InputError(unknown_name("degree of freedom", name, names, structure.name))
            values[place[name]] = value
    else:
        values = np.asarray(motion, dtype=float)
        if values.shape != (len(names),):
            raise InputError(
                f"structure '{structure.name}' has {len(names)} degrees of freedom; "
                f"found motion of shape {values.shape}"
            )
    result = np.zeros((len(structure.nodes), 6))
    result.ravel()[assembly.codes] = assembly.T @ values
    return result


def lines(structure: Structure, motion: ArrayLike | Mapping[str, float]) -> Lines:
    """Return members as lines: beams as Hermite's cubics of their ends' displacements and rotations."""
    place = {name: i for i, name in enumerate(structure.nodes)}
    xyz, nodal = structure.coordinates, nodal_motion(structure, motion)
    rest, moved, masses, masses_moved = [], [], [], []
    for element in structure.elements.values():
        ends = [place[n] for n in element.nodes]
        if len(ends) == 1:
            masses.append(xyz[ends[0]])
            masses_moved.append(nodal[ends[0], :3])
        elif len(ends) == 2:
            a, b = ends
            along, bent = _member(element, xyz[a], xyz[b], nodal[a], nodal[b])
            rest.append(along)
            moved.append(bent)
    return Lines(
        np.array(rest).reshape(-1, POINTS, 3),
        np.array(moved).reshape(-1, POINTS, 3),
        np.array(masses).reshape(-1, 3),
        np.array(masses_moved).reshape(-1, 3),
    )


def _member(
    element: Element,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    at_a: NDArray[np.float64],
    at_b: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    xi = np.linspace(0, 1, POINTS)[:, None]
    line = a + xi * (b - a)
    straight = at_a[:3] + xi * (at_b[:3] - at_a[:3])
    length = float(np.linalg.norm(b - a))
    turns = any(d in DOFS[3:] for d in element.node_dofs)
    if not turns or not length:
        return line, straight
    axis = (b - a) / length
    slope_a, slope_b = length * np.cross(at_a[3:], axis), length * np.cross(at_b[3:], axis)
    across = at_b[:3] - at_a[:3] - axis * (axis @ (at_b[:3] - at_a[:3]))
    hinge_a, hinge_b = (
        any(d in ("ry", "rz") for d in getattr(element, f"release_{end}", ())) for end in "ab"
    )
    if hinge_a and hinge_b:
        return line, straight
    if hinge_a:  # no moment there: the slope follows from the other end
        slope_a = 1.5 * across - slope_b / 2
    if hinge_b:
        slope_b = 1.5 * across - slope_a / 2
    # Beyond the chord: cubics that vanish at both ends, with the slopes there less the chord's.
    bow = (xi - 2 * xi**2 + xi**3) * (slope_a - across) + (xi**3 - xi**2) * (slope_b - across)
    return line, straight + bow
