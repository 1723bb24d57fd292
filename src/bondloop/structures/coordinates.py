"""Coordinates of the engineer's own in the place of degrees of freedom.

A coordinate is a weighted sum of degrees of freedom, y = w · u; `bondloop.structures.coordinate_geometry`
finds weights from geometry. In its own coordinates a structure is joined to a specimen at `y` alone, by one
actuator: the force f on it acts on the degrees of freedom as w f, and the power is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.program.kinds import FAMILIES, Kind, register, stamp
from bondloop.structures.dofs import dof_domain, weight_of
from bondloop.structures.footing import keep_footing
from bondloop.structures.reduction.base import Reduced, project

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Array
    from bondloop.structures.matrices import Matrices

__all__ = ["in_coordinates"]

DEPENDENT = 1e-9
"""Smallest over largest singular value at which coordinates are taken for dependent on each other."""


def in_coordinates(matrices: Matrices, coordinates: Mapping[str, Mapping[str, float]]) -> Reduced:
    """Put coordinates of one's own in the place of degrees of freedom; nothing is lost.

    Each coordinate y = w · u takes the place of one degree of freedom, that in which it is seen best; the
    others stay. M, C and K become RᵀMR, RᵀCR and RᵀKR with u = R q. Members and nodes are read as before
    (`Readings`), and ``loads`` of what is returned turns forces on the old degrees of freedom into forces on
    the new ones.

    Parameters
    ----------
    matrices
        Of the structure.
    coordinates
        By name, ``"brace"``, the weights of each by degree of freedom. A name that ends in ``.rx``, ``.ry``
        or ``.rz`` is that of a rotation. Weights are numbers or texts: without a unit, or lengths where
        rotations make a translation, and so many per length where translations make a rotation.

    Examples
    --------
    >>> from bondloop.structures import Matrices
    >>> two = Matrices(np.eye(2), None, [[2.0, -1.0], [-1.0, 1.0]], ("a.ux", "b.ux"))
    >>> stretched = in_coordinates(two, {"stretch": {"b.ux": 1.0, "a.ux": -1.0}})
    >>> stretched.matrices.dofs, stretched.matrices.K.toarray().tolist()
    (('stretch', 'b.ux'), [[2.0, -1.0], [-1.0, 1.0]])
    >>> stretched.expand([0.5, 2.0]).tolist()
    [1.5, 2.0]
    """
    given: object = coordinates  # whatever stands in a script
    if not isinstance(given, Mapping) or not given:
        raise InputError("coordinates: name at least one, {'brace': {'a.ux': 0.8, 'a.uy': 0.6}}")
    plain = {name: _weights(name, weights) for name, weights in coordinates.items()}
    made = _transformed(matrices, plain)
    footing = getattr(made.matrices, "_footing", None)
    if footing is not None and all(d in footing.names for weights in plain.values() for d in weights):
        moved = {name: weights for name, weights in plain.items() if name not in footing.names}
        keep_footing(made.matrices, replace(footing, coordinates={**footing.coordinates, **moved}))
    stamp(made.matrices, FAMILIES["matrices"]["in_coordinates"], {"of": matrices, "coordinates": plain})
    return made


def matrices_in_coordinates(of: Matrices, coordinates: Mapping[str, Mapping[str, float]]) -> Matrices:
    """Return the matrices of `in_coordinates`, as a description calls them.

    Parameters
    ----------
    of, coordinates
        As of `in_coordinates`.
    """
    return in_coordinates(of, coordinates).matrices


register(Kind("matrices", "in_coordinates", matrices_in_coordinates))


def _weights(name: str, given: object) -> dict[str, float]:
    """Return the weights of a coordinate, which is a translation or, by its name, a rotation."""
    where = f"coordinates['{name}']"
    if not isinstance(given, Mapping):
        raise InputError(
            f"{where}: expected weights by degree of freedom, {{'a.ux': 1}}; found {given!r:.60}"
        )
    return {dof: weight_of(dof, w, dof_domain(name), f"{where}['{dof}']") for dof, w in given.items()}


def _transformed(matrices: Matrices, coordinates: Mapping[str, Mapping[str, float]]) -> Reduced:
    from scipy.linalg import qr

    n = len(matrices)
    L = np.zeros((len(coordinates), n))
    for row, (name, given) in zip(L, coordinates.items(), strict=True):
        row[matrices.indices(given)] = list(given.values())
        if not np.any(row) or not np.all(np.isfinite(row)):
            raise InputError(f"coordinate '{name}': nothing that can move has a finite weight in it")
    scaled = L / np.linalg.norm(L, axis=1, keepdims=True)
    if len(L) > n or np.linalg.svd(scaled, compute_uv=False)[-1] < DEPENDENT:
        raise InputError(
            f"the coordinates {', '.join(coordinates)} depend on each other: one is made up of the others; "
            "leave one out"
        )
    pivots = qr(scaled, mode="r", pivoting=True)[1][: len(L)]
    pivots = _in_order(scaled, pivots)
    names = list(matrices.dofs)
    for p, name in zip(pivots, coordinates, strict=True):
        names[p] = name
    rest = [i for i in range(n) if i not in set(pivots)]
    R = np.eye(n)
    inverse = np.linalg.inv(L[:, pivots])
    R[pivots] = 0.0
    R[np.ix_(pivots, pivots)] = inverse
    R[np.ix_(pivots, rest)] = -inverse @ L[:, rest]
    R[np.abs(R) < 1e-15 * np.abs(R).max()] = 0.0
    kept = [matrices.dofs[i] for i in rest]
    return project(matrices, R, names, kept, f"coordinates {', '.join(coordinates)}")


def _in_order(L: Array, pivots: Array) -> list[int]:
    """Return in the place of which of some degrees of freedom each coordinate goes: where it is seen best."""
    from scipy.optimize import linear_sum_assignment

    _, order = linear_sum_assignment(-np.abs(L[:, pivots]))
    return [int(pivots[j]) for j in order]
