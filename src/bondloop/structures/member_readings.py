"""Forces in members: at their ends and in their sections, as rows over the motion of their nodes.

End forces act on a member's ends, in its local axes: K u, as OpenSees calls ``localForce``. Section forces
act on the face whose outward normal is the local x, which runs from a to b: at the end b they are the end
forces, at the beginning a their opposites. An axial force is then positive in tension.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.program.quantity import Quantity
from bondloop.structures.dofs import ROTATIONS
from bondloop.structures.elements.axes import plane_axes, space_axes
from bondloop.structures.elements.bar import Bar
from bondloop.structures.elements.base import Member
from bondloop.structures.elements.beam import PlaneBending
from bondloop.structures.elements.beam_3d import SpaceBending
from bondloop.structures.elements.dashpot import Dashpot
from bondloop.structures.elements.spring import Link

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Array, Blocks, Element

__all__ = ["SECTION", "ElementRow", "element_rows", "local_stiffness", "member_axes"]

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


def member_axes(elements: Sequence[Element], xyz: Array) -> Array:
    """Return the local axes of members of one kind for one end, shape (n, r, r), r freedoms at an end."""
    if isinstance(elements[0], SpaceBending):
        none = (np.nan, np.nan, np.nan)
        given: list[tuple[float, float, float] | None] = [getattr(e, "reference", None) for e in elements]
        axes = space_axes(xyz, np.array([none if r is None else r for r in given], dtype=float))
        turned = np.zeros((len(elements), 6, 6))
        turned[:, :3, :3] = turned[:, 3:, 3:] = axes
        return turned
    if isinstance(elements[0], PlaneBending):
        return plane_axes(xyz)
    return space_axes(xyz, np.full((len(elements), 3), np.nan))


def local_stiffness(elements: Sequence[Element], xyz: Array, blocks: Blocks) -> Array:
    """Return what turns global motions of the ends into local end forces, shape (n, d, d)."""
    axes = member_axes(elements, xyz)
    r = axes.shape[-1]
    T = np.zeros_like(blocks.K)
    T[:, :r, :r] = T[:, r:, r:] = axes
    return np.asarray(T @ blocks.K)


def element_rows(elements: Sequence[Element], xyz: Array, blocks: Blocks) -> list[list[ElementRow]]:
    """Return what can be read off each of some elements of one kind."""
    first = elements[0]
    if isinstance(first, Member):
        local = local_stiffness(elements, xyz, blocks)
        reader = _bar if isinstance(first, Bar) else _member
        return [list(reader(type(e), k, ends)) for e, k, ends in zip(elements, local, xyz, strict=True)]
    if isinstance(first, Link):
        return [list(_link(e, ends, block)) for e, ends, block in zip(elements, xyz, blocks.K, strict=True)]
    return [[] for _ in elements]


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
