"""Forces in members: at their ends and in their sections, as rows over the motion of their nodes.

End forces act on a member's ends, in its local axes: K u, as OpenSees calls ``localForce``. Section forces
act on the face whose outward normal is the local x, which runs from a to b: at the end b they are the end
forces, at the beginning a their opposites. An axial force is then positive in tension.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.ir import Quantity
from bondloop.structures.assembly import ElementGroup, element_groups
from bondloop.structures.dofs import ROTATIONS
from bondloop.structures.elements.bars_and_springs import Bar, Dashpot, Link
from bondloop.structures.elements.base import Member, block_diagonal
from bondloop.structures.tolerances import INSTANTS_AT_ONCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.structures.elements.base import Array, Blocks, Element
    from bondloop.structures.structure import Structure


ENDS = {"ux": "fx", "uy": "fy", "uz": "fz", "rx": "mx", "ry": "my", "rz": "mz"}
"""Names of end forces in local axes, by the motion that they work on."""

SECTION = {
    3: ("N", "V", "M"),
    6: ("N", "Vy", "Vz", "T", "My", "Mz"),
}
"""Names of section forces of members in the plane and in space, by how many there are."""

FORCE, MOMENT = Quantity("force", "N", "effort"), Quantity("moment", "N m", "effort")
WORDS = {
    "N": Quantity("axial force", "N", "effort"),
    "V": Quantity("shear force", "N", "effort"),
    "Vy": Quantity("shear force", "N", "effort"),
    "Vz": Quantity("shear force", "N", "effort"),
    "T": Quantity("torsional moment", "N m", "effort"),
    "M": Quantity("bending moment", "N m", "effort"),
    "My": Quantity("bending moment", "N m", "effort"),
    "Mz": Quantity("bending moment", "N m", "effort"),
}

ElementRow = tuple[str, Quantity, str, "Array"]
"""A name below the element's, what it measures, of which motion, and weights over the element's own degrees
of freedom."""


def local_stiffness(group: ElementGroup, blocks: Blocks) -> tuple[Array, Array]:
    """Return local axes, and what turns global motions of the ends into local end forces, shape (n, d, d)."""
    axes = type(group.members[0]).axes(group.members, group.xyz)
    return axes, np.asarray(block_diagonal(axes, blocks.K.shape[1]) @ blocks.K)


def element_rows(group: ElementGroup, blocks: Blocks) -> list[list[ElementRow]]:
    """Return what can be read off each of some elements of one kind."""
    first = group.members[0]
    if isinstance(first, Member):
        local = local_stiffness(group, blocks)[1]
        reader = _bar if isinstance(first, Bar) else _member
        return [list(reader(type(first), k, ends)) for k, ends in zip(local, group.xyz, strict=True)]
    if isinstance(first, Link):
        links = zip(group.members, group.xyz, blocks.K, strict=True)
        return [list(_link(e, ends, block)) for e, ends, block in links]
    return [[] for _ in group.elements]


def _member(kind: type[Element], local: Array, xyz: Array) -> Iterator[ElementRow]:
    del xyz
    r = len(kind.node_dofs)
    for end, rows in (("a", local[:r]), ("b", local[r:])):
        for dof, row in zip(kind.node_dofs, rows, strict=True):
            yield f"{end}.{ENDS[dof]}", MOMENT if dof in ROTATIONS else FORCE, "displacement", row
    start, end_ = -local[:r], local[r:]
    for place, rows in (("start", start), ("middle", (start + end_) / 2), ("end", end_)):
        for word, row in zip(SECTION[r], rows, strict=True):
            yield f"{place}.{word}", WORDS[word], "displacement", row


def _bar(kind: type[Element], local: Array, xyz: Array) -> Iterator[ElementRow]:
    del kind
    along = (xyz[1] - xyz[0]) / np.linalg.norm(xyz[1] - xyz[0])
    yield "N", WORDS["N"], "displacement", local[3]
    yield "extension", Quantity("extension", "m", "displacement"), "displacement", np.append(-along, along)


def _link(element: Any, xyz: Array, K: Array) -> Iterator[ElementRow]:
    """Read a spring or dashpot: pulled apart counts positive, to the ground as its node moves."""
    turns = element.dof in ROTATIONS
    n = np.zeros(6 * len(xyz))
    if element.dof is None:
        n[:3] = (xyz[1] - xyz[0]) / np.linalg.norm(xyz[1] - xyz[0])
    else:
        n[len(ROTATIONS) * turns + "xyz".index(element.dof[1])] = 1.0
    if len(xyz) == 2:
        n = np.concatenate([-n[:6], n[:6]])
    unit = "rad" if turns else "m"
    effort = MOMENT if turns else FORCE
    yield "extension", Quantity("extension", unit, "displacement"), "displacement", n
    if isinstance(element, Dashpot):
        yield "force", effort, "velocity", float(element.c) * n
    elif np.any(K):
        yield "force", effort, "displacement", float(element.k) * n


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
    moved = np.asarray(nodal, dtype=float).ravel()
    result: dict[str, MemberForces] = {}
    for group, words, axes, local in _members(structure):
        forces = np.einsum("nij,nj->ni", local, moved[group.codes])
        r = forces.shape[1] // 2
        for (name, e), f, turned in zip(group.elements.items(), forces, axes, strict=True):
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
    moved = np.asarray(motion, dtype=float).reshape(len(motion), -1)
    result = np.zeros(len(moved))
    for group, words, _, local in _members(structure):
        if force not in words:
            continue
        k, r = words.index(force), local.shape[1] // 2
        rows = local[:, [k, r + k], :]
        for first in range(0, len(moved), INSTANTS_AT_ONCE):
            part = slice(first, first + INSTANTS_AT_ONCE)
            sizes = np.abs(np.einsum("nij,tnj->tni", rows, moved[part][:, group.codes]))
            result[part] = np.maximum(result[part], sizes.max(axis=(1, 2)))
    return result


def _members(structure: Structure) -> Iterator[tuple[ElementGroup, tuple[str, ...], Array, Array]]:
    """Yield members by their kinds, with names of section forces, local axes, and end forces per motion."""
    for group in element_groups(structure):
        if isinstance(group.members[0], Member):
            axes, local = local_stiffness(group, group.blocks())
            bar = isinstance(group.members[0], Bar)
            yield group, ("N",) if bar else SECTION[local.shape[1] // 2], axes, local
