"""Section forces of all members at one instant, for figures and for checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.structures.assembly import element_blocks
from bondloop.structures.elements.bar import Bar
from bondloop.structures.elements.base import Member
from bondloop.structures.member_readings import SECTION, local_stiffness, member_axes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.structures.structure import Structure

__all__ = ["MemberForces", "largest_forces", "section_forces"]

CHUNK = 1000
"""Instants that are looked at together."""


@dataclass(frozen=True)
class MemberForces:
    """What a member carries.

    Attributes
    ----------
    ends
        Names of its nodes.
    axes
        Its local axes, as rows of global components.
    start, end
        Section forces at a and b by name, ``"N"``, ``"M"``, in N and N m, linear in between.
    """

    ends: tuple[str, str]
    axes: NDArray[np.float64]
    start: dict[str, float]
    end: dict[str, float]


def section_forces(structure: Structure, nodal: NDArray[np.float64]) -> dict[str, MemberForces]:
    """Return what every member carries when the nodes have moved.

    Parameters
    ----------
    structure
        With the members.
    nodal
        Motion of every node, shape (nodes, 6), in the order of ``structure.nodes``.

    Examples
    --------
    >>> from bondloop.structures import Bar, Structure
    >>> s = Structure("tie")
    >>> s.node("a")
    >>> s.node("b", x=2.0)
    >>> s.add(Bar("a", "b", E=200.0, A=1.0), "tie")
    'tie'
    >>> section_forces(s, np.array([[0.0] * 6, [0.1, 0, 0, 0, 0, 0]]))["tie"].end
    {'N': 10.0}
    """
    place = {name: i for i, name in enumerate(structure.nodes)}
    xyz, moved = structure.coordinates, np.asarray(nodal, dtype=float).ravel()
    result: dict[str, MemberForces] = {}
    for names, codes, blocks in element_blocks(structure):
        elements = [structure.elements[n] for n in names]
        if not isinstance(elements[0], Member):
            continue
        ends = np.array([[place[n] for n in e.nodes] for e in elements])
        local = local_stiffness(elements, xyz[ends], blocks)
        forces = np.einsum("nij,nj->ni", local, moved[codes])
        r = forces.shape[1] // 2
        words = ("N",) if isinstance(elements[0], Bar) else SECTION[r]
        axes = member_axes(elements, xyz[ends])
        for name, e, f, turned in zip(names, elements, forces, axes, strict=True):
            start, end = (dict(zip(words, x.tolist(), strict=False)) for x in (-f[:r], f[r:]))
            result[name] = MemberForces((e.nodes[0], e.nodes[1]), turned[:3, :3], start, end)
    return {name: result[name] for name in structure.elements if name in result}


def largest_forces(structure: Structure, motion: NDArray[np.float64], force: str) -> NDArray[np.float64]:
    """Return the size of a section force in the member that carries most, at every instant.

    Parameters
    ----------
    structure
        With the members.
    motion
        Motion of every node over time, shape (times, nodes, 6).
    force
        ``"N"``, ``"V"``, ``"M"``; in space ``"N"``, ``"Vy"``, ``"Vz"``, ``"T"``, ``"My"``, ``"Mz"``. Zeros
        where no member knows it.

    Examples
    --------
    >>> from bondloop.structures import Bar, Structure
    >>> s = Structure("tie")
    >>> s.node("a")
    >>> s.node("b", x=2.0)
    >>> s.add(Bar("a", "b", E=200.0, A=1.0), "tie")
    'tie'
    >>> largest_forces(s, np.array([[[0.0] * 6, [x, 0, 0, 0, 0, 0]] for x in (0.1, -0.2)]), "N").tolist()
    [10.0, 20.0]
    """
    place = {name: i for i, name in enumerate(structure.nodes)}
    xyz, moved = structure.coordinates, np.asarray(motion, dtype=float).reshape(len(motion), -1)
    result = np.zeros(len(moved))
    for names, codes, blocks in element_blocks(structure):
        elements = [structure.elements[n] for n in names]
        if not isinstance(elements[0], Member):
            continue
        ends = np.array([[place[n] for n in e.nodes] for e in elements])
        local = local_stiffness(elements, xyz[ends], blocks)
        r = local.shape[1] // 2
        words = ("N",) if isinstance(elements[0], Bar) else SECTION[r]
        if force not in words:
            continue
        k = words.index(force)
        rows = local[:, [k, r + k], :]
        for first in range(0, len(moved), CHUNK):
            part = slice(first, first + CHUNK)
            sizes = np.abs(np.einsum("nij,tnj->tni", rows, moved[part][:, codes]))
            result[part] = np.maximum(result[part], sizes.max(axis=(1, 2)))
    return result
