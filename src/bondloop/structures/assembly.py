"""Assembly: element matrices summed into named degrees of freedom, supports and constraints applied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bondloop.errors import InputError
from bondloop.structures.checks import raise_faults
from bondloop.structures.dofs import RigidFloor, eliminate, floor_rows
from bondloop.structures.elements.base import DOFS, Array, Blocks, Element
from bondloop.structures.ground import rigid_motion
from bondloop.structures.tolerances import ELEMENTS_AT_ONCE

if TYPE_CHECKING:
    from bondloop.structures.matrices import Sparse
    from bondloop.structures.structure import Structure


Entries = tuple[Array, Array, Array]


@dataclass(frozen=True)
class Assembly:
    """Matrices of every degree of freedom that exists, and how they follow from the free ones.

    Attributes
    ----------
    M, C, K
        Sparse, shape (n, n), supported degrees of freedom included.
    names
        Names of those n degrees of freedom.
    codes
        Their places, 6 · node + dof.
    held
        Which of them a support holds.
    rows
        Constraints as (degree of freedom, coefficient).
    T
        Sparse, shape (n, m): u = T q.
    free
        Places of the m free degrees of freedom among the n.
    G
        The share of K that axial forces have in it, shape (n, n); None without `Structure.p_delta`.
    """

    M: Sparse
    C: Sparse
    K: Sparse
    names: tuple[str, ...]
    codes: Array
    held: Array
    rows: list[list[tuple[int, float]]]
    T: Any
    free: Array
    G: Sparse | None = None

    @property
    def free_names(self) -> tuple[str, ...]:
        """Names of the free degrees of freedom."""
        return tuple(self.names[i] for i in self.free)

    def absent(self, dof: str) -> str:
        """Say why a degree of freedom is not among the free ones; empty where it is, or is unknown."""
        if dof not in self.names:
            return ""
        i = self.names.index(dof)
        if self.held[i]:
            return f"'{dof}' is held by a support"
        if i in self.free:
            return ""
        row = self.T[[i]].tocoo()
        leaders = [self.names[self.free[j]] for j in row.coords[1]]
        words = ", ".join(leaders) or "the ground"
        return f"'{dof}' is eliminated: a constraint makes it follow {words}; use that"

    def rigid(self, xyz: Array, direction: str) -> Array:
        """Motion of all degrees of freedom when the ground moves by one, which constraints must allow."""
        r = rigid_motion(xyz, self.codes, direction)
        for row in self.rows:
            if abs(sum(c * r[i] for i, c in row)) > 1e-9 * sum(abs(c * r[i]) for i, c in row):
                names = ", ".join(self.names[i] for i, _ in row)
                raise InputError(
                    f"a constraint between {names} does not let the structure move with the ground"
                )
        return r

    def reduced(self, matrix: Sparse) -> Any:
        """Return TᵀAT."""
        if self.T.nnz == len(self.free):
            return matrix[self.free][:, self.free]
        return (self.T.T @ matrix @ self.T).tocsr()


class ElementGroup(NamedTuple):
    """Elements of one kind.

    Attributes
    ----------
    elements
        By name.
    codes
        Places of their degrees of freedom, 6 · node + dof, shape (n, d).
    xyz
        Coordinates of their nodes in m, shape (n, nodes, 3).
    """

    elements: dict[str, Any]
    codes: Array
    xyz: Array

    @property
    def members(self) -> list[Any]:
        """The elements."""
        return list(self.elements.values())

    def blocks(self) -> Blocks:
        """Compute their matrices."""
        blocks: Blocks = type(self.members[0]).blocks(self.members, self.xyz)
        return blocks


def element_groups(structure: Structure) -> Iterator[ElementGroup]:
    """Yield the elements by their kinds, in parts whose matrices can be held at once."""
    place = {name: i for i, name in enumerate(structure.nodes)}
    xyz = structure.coordinates
    groups: dict[tuple[type[Element], int], list[str]] = {}
    for name, e in structure.elements.items():
        groups.setdefault((type(e), len(e.nodes)), []).append(name)
    for (kind, _), names in groups.items():
        dofs = np.array([DOFS.index(d) for d in kind.node_dofs])
        for k in range(0, len(names), ELEMENTS_AT_ONCE):
            elements = {name: structure.elements[name] for name in names[k : k + ELEMENTS_AT_ONCE]}
            ends = np.array([[place[node] for node in e.nodes] for e in elements.values()])
            codes = (6 * ends[:, :, None] + dofs).reshape(len(elements), -1)
            yield ElementGroup(elements, codes, xyz[ends])


def assemble_all(structure: Structure, mass: str, released: frozenset[str]) -> Assembly:
    """Assemble a checked structure; supports of the degrees of freedom in `released` are left out."""
    nodes = list(structure.nodes)
    place = {name: i for i, name in enumerate(nodes)}
    parts = {"M": "lumped" if mass == "lumped" else "M", "C": "C", "K": "K"}
    found: dict[str, list[Entries]] = {name: [] for name in parts}
    used = np.zeros(6 * len(nodes), dtype=bool)
    for group in element_groups(structure):
        blocks = group.blocks()
        used[group.codes[blocks.uses]] = True
        for name, part in parts.items():
            found[name].append(_entries(group.codes, getattr(blocks, part)))
    for floor in structure.constraints:
        if isinstance(floor, RigidFloor):
            used[[6 * place[floor.master] + d for d in floor.freedoms]] = True
    known = np.flatnonzero(used)
    number = np.full(len(used), -1)
    number[known] = np.arange(len(known))
    n = len(known)

    matrices = {name: _summed(found.pop(name), number, n) for name in parts}
    names = tuple(f"{nodes[c // 6]}.{DOFS[c % 6]}" for c in known)
    held = np.zeros(n, dtype=bool)
    for node, dofs in structure.supports.items():
        for d in dofs:
            k = number[6 * place[node] + DOFS.index(d)]
            if k >= 0 and f"{node}.{d}" not in released:
                held[k] = True
    constraints = constraint_rows(structure, place, number, used)
    T, free = eliminate(constraints, held)
    return Assembly(**matrices, names=names, codes=known, held=held, rows=constraints, T=T, free=free)


def _entries(codes: Array, block: Array) -> Entries:
    """Return the entries of some elements' matrices that are not zero: two places and a value each."""
    block = (block + block.transpose(0, 2, 1)) / 2  # exact symmetry, whatever the rounding of rotations
    at = codes.astype(np.int32)
    i, j = np.broadcast_arrays(at[:, :, None], at[:, None, :])
    kept = block != 0
    return i[kept], j[kept], block[kept]


def summed_entries(found: list[tuple[Array, Array]], codes: Array, count: int) -> Sparse:
    """One matrix over some degrees of freedom from places and matrices of elements.

    Parameters
    ----------
    found
        Places 6 · node + dof, shape (n, d), and matrices, shape (n, d, d).
    codes
        Those that exist.
    count
        How many places there are.
    """
    number = np.full(count, -1)
    number[codes] = np.arange(len(codes))
    return _summed([_entries(places, block) for places, block in found], number, len(codes))


def _summed(found: list[Entries], number: Array, n: int) -> Sparse:
    """One matrix from the entries of elements.

    An entry that two elements cancel stays stored as zero: da Silva's network has a spring there.
    """
    from scipy import sparse

    none = np.zeros(0, dtype=np.int32)
    i, j, values = (np.concatenate(part) for part in zip((none, none, np.zeros(0)), *found, strict=True))
    number = number.astype(np.int32)
    i, j = number[i], number[j]
    kept = (i >= 0) & (j >= 0)
    if not kept.all():
        i, j, values = i[kept], j[kept], values[kept]
    return sparse.coo_array((values, (i, j)), shape=(n, n)).tocsr()


def constraint_rows(
    structure: Structure, place: dict[str, int], number: Array, used: Array
) -> list[list[tuple[int, float]]]:
    """Return all constraints in numbers of degrees of freedom."""
    rows: list[tuple[tuple[int, float], ...]] = []
    faults = []
    for c in structure.constraints:
        if isinstance(c, RigidFloor):
            rows += floor_rows(c, place, structure.coordinates, used)
            continue
        split = [(d.rpartition("."), a) for d, a in c.terms]
        row = tuple((6 * place[node] + DOFS.index(dof), a) for (node, _, dof), a in split)
        missing = [d for (d, _), (code, _) in zip(c.terms, row, strict=True) if not used[code]]
        if not missing:
            rows.append(row)
        elif not c.lenient:
            faults.append(f"{c.label}: no element uses {', '.join(missing)}")
    raise_faults(structure.name, faults)
    return [[(int(number[code]), a) for code, a in row] for row in rows]
