"""Matrices whose entries name their degrees of freedom, one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.containers import MOST
from bondloop.errors import FaultsError, InputError
from bondloop.structures.elements.base import DOFS

if TYPE_CHECKING:
    from bondloop.structures.matrices import Sparse

__all__ = ["OPEN", "Entries", "labelled_content", "refuse_faults", "role_of", "united"]

Label = tuple[int, int]
"""A node and a degree of freedom from 1 to 6; 0 for a scalar point."""
Entries = list[tuple[Label, Label, float]]
"""Row, column, value."""

_SET = re.compile(r"[KMB]([A-Z])\1X?")
"""A matrix of a set of degrees of freedom, twice the letter of the set."""

OPEN = "open"
"""The entry of a file's content that says: a degree of freedom without an entry is none that is missing."""


def dof_name(label: Label) -> str:
    """Return the name of a degree of freedom.

    >>> dof_name((12, 6)), dof_name((7, 0))
    ('n12.rz', 's7')
    """
    node, dof = label
    point = f"n{node}" if node >= 0 else f"internal{-node}"
    return f"s{node}" if dof == 0 else f"{point}.{DOFS[dof - 1]}" if dof <= 6 else f"{point}.dof{dof}"


def labelled_content(matrices: Mapping[str, tuple[Entries, bool]]) -> dict[str, Any]:
    """Return matrices over all degrees of freedom that any of them names, by node and degree of freedom.

    Parameters
    ----------
    matrices
        By name: the entries, and whether only one triangle of a symmetric matrix is written.
    """
    from scipy import sparse

    labels = sorted({label for entries, _ in matrices.values() for i, j, _ in entries for label in (i, j)})
    if len(labels) > MOST:
        raise InputError(f"{len(labels):,} degrees of freedom; at most {MOST:,} are read")
    place = {label: k for k, label in enumerate(labels)}
    content: dict[str, Any] = {"dofs": tuple(dof_name(label) for label in labels), OPEN: True}
    for name, (entries, triangle) in matrices.items():
        i = np.array([place[a] for a, _, _ in entries], dtype=np.int64)
        j = np.array([place[b] for _, b, _ in entries], dtype=np.int64)
        x = np.array([value for _, _, value in entries], dtype=np.float64)
        if triangle:
            off = i != j
            i, j, x = np.concatenate([i, j[off]]), np.concatenate([j, i[off]]), np.concatenate([x, x[off]])
        content[name] = sparse.coo_array((x, (i, j)), shape=(len(labels),) * 2).tocsr()
    return content


def united(
    matrices: Mapping[str, Sparse], order: Sequence[str], more: Mapping[str, Sparse], own: Sequence[str]
) -> tuple[dict[str, Sparse], tuple[str, ...]]:
    """Return the matrices of two files over the degrees of freedom of both; what one does not name is zero.

    Parameters
    ----------
    matrices, order
        Those read before, and their degrees of freedom.
    more, own
        Those of the next file.
    """
    from scipy import sparse

    known = set(order)
    names = (*order, *(name for name in own if name not in known))
    place = {name: k for k, name in enumerate(names)}

    def spread(matrix: Sparse, dofs: Sequence[str]) -> Sparse:
        if matrix.shape != (len(dofs), len(dofs)):
            return matrix
        entries, at = sparse.coo_array(matrix), np.array([place[name] for name in dofs], dtype=np.int64)
        i, j = entries.coords
        return sparse.coo_array((entries.data, (at[i], at[j])), shape=(len(names),) * 2).tocsr()

    both = {name: spread(matrix, order) for name, matrix in matrices.items()}
    return both | {name: spread(matrix, own) for name, matrix in more.items()}, names


def role_of(names: Iterable[str]) -> dict[str, str]:
    """Return which matrix of a Nastran file is M, C and K: KAA, KGG, KAAX or the like, where only one may be.

    Where none is called so, one that begins with the letter will do.

    >>> role_of(["KAAX", "MAAX", "K4AAX", "BAAX", "MUG1"])
    {'KAAX': 'K', 'MAAX': 'M', 'BAAX': 'C'}
    """
    known = list(names)
    roles = {}
    for letter, role in (("K", "K"), ("M", "M"), ("B", "C")):
        sets = [name for name in known if _SET.fullmatch(name.upper()) and name[:1].upper() == letter]
        # K4 is structural damping, no stiffness.
        alike = sets or [n for n in known if n[:1].upper() == letter and n[:2].upper() != "K4"]
        if len(alike) == 1 and role not in known:
            roles[alike[0]] = role
    return roles


def refuse_faults(faults: Sequence[str]) -> None:
    """Refuse a file with all its faults."""
    if len(faults) == 1:
        raise InputError(faults[0])
    if faults:
        raise FaultsError(
            "the file", [*faults[:20], *([f"and {len(faults) - 20} more"] if len(faults) > 20 else [])]
        )
