"""Coordinates of the engineer's own in the place of degrees of freedom.

A coordinate is a weighted sum of degrees of freedom, y = w · u; `bondloop.structures.analysis.coordinates`
finds weights from geometry. In its own coordinates a structure is joined to a specimen at `y` alone, by one
actuator: the force f on it acts on the degrees of freedom as w f, and the power is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import Kind, register
from bondloop.errors import InputError, unknown_name
from bondloop.structures.analysis.reduction import Reduced, project
from bondloop.structures.dofs import dof_domain, weight_of
from bondloop.structures.elements.base import DOFS, Array, plane_axes, space_axes
from bondloop.structures.ground import keep_footing
from bondloop.structures.matrices import remember
from bondloop.structures.tolerances import DEPENDENT

if TYPE_CHECKING:
    from bondloop.structures.matrices import Matrices
    from bondloop.structures.structure import Structure


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
    remember(made.matrices, "in_coordinates", of=matrices, coordinates=plain)
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


Weights = dict[str, float]
"""Of a coordinate, by degree of freedom."""


def motion_of(structure: Structure, dof: str) -> Weights:
    """Return the motion of any node as weights of free degrees of freedom: one of a floor, by its master's.

    Parameters
    ----------
    structure
        With supports and constraints.
    dof
        Of any node, ``"corner.ux"``; one that a support holds has no weights.

    Examples
    --------
    >>> from bondloop.structures import PointMass, Spring, Structure
    >>> s = Structure("floor")
    >>> s.node("master"), s.node("corner", x=3.0, y=4.0)
    (None, None)
    >>> for dof in ("ux", "uy", "rz"):
    ...     _ = s.add(Spring("master", k=1.0, dof=dof)), s.add(Spring("corner", k=1.0, dof=dof))
    >>> s.rigid_floor(master="master", nodes=["corner"])
    >>> motion_of(s, "corner.ux")
    {'master.ux': 1.0, 'master.rz': -4.0}
    """
    assembly = structure.assembly()
    if dof not in assembly.names:
        raise InputError(
            f"structure '{structure.name}': {unknown_name('degree of freedom', dof, assembly.names)}"
        )
    return _free(structure, {assembly.names.index(dof): 1.0})


def elongation(structure: Structure, a: str, b: str) -> Weights:
    """Return how much farther apart two nodes are, as weights: the one coordinate of a brace.

    Parameters
    ----------
    structure
        With the nodes, and supports and constraints.
    a, b
        Names of the nodes.

    Examples
    --------
    >>> from bondloop.structures import Frame2D, Structure
    >>> s = Structure("column")
    >>> s.node("foot"), s.node("head", y=3.0), s.node("anchor", x=4.0)
    (None, None, None)
    >>> _ = (
    ...     s.add(Frame2D("foot", "head", E=1.0, A=1.0, I=1.0)),
    ...     s.add(Frame2D("foot", "anchor", E=1, A=1, I=1)),
    ... )
    >>> s.support("foot"), s.support("anchor")
    (None, None)
    >>> elongation(s, "anchor", "head")
    {'head.ux': -0.8, 'head.uy': 0.6}
    """
    along = _line(structure, a, b)
    length = float(np.linalg.norm(along))
    return _free(structure, _at(structure, {b: along / length, a: -along / length}))


def member_coordinates(
    structure: Structure, a: str, b: str, *, name: str, reference: Sequence[float] | None = None
) -> dict[str, Weights]:
    """Return the basic coordinates of a member: elongation, and rotations of its ends against the chord.

    Rigid motions of the member are not among them: three in the plane (``name.ux``, ``name_a.rz``,
    ``name_b.rz``), six in space (also ``name_a.ry``, ``name_b.ry`` and the twist ``name.rx``), in local axes.

    Parameters
    ----------
    structure
        With the nodes, and supports and constraints.
    a, b
        Names of its ends.
    name
        What coordinates are called by.
    reference
        In space: vector in the local x-z plane, as of `Frame3D`.

    References
    ----------
    McGuire, Gallagher and Ziemian (2000), Matrix structural analysis, 2nd edition, chapter 4; OpenSees calls
    them the basic system.
    """
    along = _line(structure, a, b)
    length = float(np.linalg.norm(along))
    xyz = np.array([[structure.nodes[a], structure.nodes[b]]])
    turning = [d for d in DOFS[3:] if f"{a}.{d}" in structure.assembly().names]
    plane = turning == ["rz"] and abs(along[2]) <= 1e-9 * length
    if plane:
        x, y = plane_axes(xyz)[0, :2, :2]
        x, y, z = np.append(x, 0.0), np.append(y, 0.0), np.array([0.0, 0.0, 1.0])
    else:
        given = np.full((1, 3), np.nan) if reference is None else np.array([reference], dtype=float)
        x, y, z = space_axes(xyz, given)[0]
    found = {f"{name}.ux": elongation(structure, a, b)}
    # The chord turns by the motion across, apart over the length: about z by y, about y by -z.
    for axis, across, sign, word in ((z, y, 1.0, "rz"), *(() if plane else ((y, z, -1.0, "ry"),))):
        for end, node in (("a", a), ("b", b)):
            chord = {b: -sign * across / length, a: sign * across / length}
            found[f"{name}_{end}.{word}"] = _free(structure, _at(structure, chord, {node: axis}))
    if not plane:
        found[f"{name}.rx"] = _free(structure, _at(structure, {}, {b: x, a: -x}))
    return found


def strokes(
    structure: Structure,
    node: str,
    points: Sequence[Sequence[float]],
    *,
    name: str,
    directions: Sequence[Sequence[float]] = (),
    anchors: Sequence[Sequence[float]] = (),
) -> dict[str, Weights]:
    """Return the strokes of actuators that hold a rigid block on a node: ``name[0]``, ``name[1]``, ...

    Parameters
    ----------
    structure
        With the node, and supports and constraints.
    node
        With which the block moves.
    points
        Where actuators are pinned to the block, (x, y, z) each, in m from the node.
    name
        What strokes are called by.
    directions, anchors
        Of the actuators: in which direction each pushes, or where its other end is, in m from the node.
    """
    if node not in structure.nodes:
        raise InputError(f"structure '{structure.name}': {unknown_name('node', node, structure.nodes)}")
    rows = stroke_rows(points, directions, anchors)
    return {
        f"{name}[{i}]": _free(structure, _at(structure, {node: row[:3]}, {node: row[3:]}))
        for i, row in enumerate(rows)
    }


def stroke_rows(
    points: Sequence[Sequence[float]],
    directions: Sequence[Sequence[float]] = (),
    anchors: Sequence[Sequence[float]] = (),
) -> Array:
    """Return the strokes of actuators per unit of a body's (x, y, z, rx, ry, rz), shape (actuators, 6).

    A pin at r moves by u + θ × r, and a stroke is that along the actuator: e · u + (r × e) · θ.

    >>> stroke_rows([[0.0, 2.0, 0.0]], directions=[[1.0, 0.0, 0.0]]).tolist()
    [[1.0, 0.0, 0.0, 0.0, 0.0, -2.0]]
    """
    try:
        r = np.array([list(p) for p in points], dtype=float)
        given = np.array([list(p) for p in directions or anchors], dtype=float)
    except (TypeError, ValueError):
        r = given = np.zeros(0)
    if (
        r.ndim != 2
        or r.shape != given.shape
        or r.shape[1] != 3
        or bool(len(directions)) == bool(len(anchors))
    ):
        raise InputError(
            "actuators: expected (x, y, z) of a point for each, and for each a direction or an anchor, one "
            f"of the two; found {len(points)} points, {len(directions)} directions and {len(anchors)} anchors"
        )
    e = given if len(directions) else r - given
    size = np.linalg.norm(e, axis=1, keepdims=True)
    if not np.all(np.isfinite(r)) or not np.all(size > 0):
        raise InputError("actuators: each needs a finite point and a direction that is not zero")
    return np.hstack([e / size, np.cross(r, e / size)])


def _line(structure: Structure, a: str, b: str) -> Array:
    for node in (a, b):
        if node not in structure.nodes:
            raise InputError(f"structure '{structure.name}': {unknown_name('node', node, structure.nodes)}")
    along = np.subtract(structure.nodes[b], structure.nodes[a])
    if not np.linalg.norm(along) > 0:
        raise InputError(f"structure '{structure.name}': nodes '{a}' and '{b}' are at the same place")
    return along


def _at(
    structure: Structure, moved: Mapping[str, Array], turned: Mapping[str, Array] | None = None
) -> dict[int, float]:
    """Return weights by number of translations and rotations of nodes; those that do not exist have none."""
    assembly = structure.assembly()
    place = {name: i for i, name in enumerate(assembly.names)}
    row: dict[int, float] = {}
    for words, parts in ((DOFS[:3], moved), (DOFS[3:], turned or {})):
        for node, vector in parts.items():
            for word, weight in zip(words, vector, strict=True):
                k = place.get(f"{node}.{word}")
                if k is not None and weight:
                    row[k] = row.get(k, 0.0) + float(weight)
    return row


def _free(structure: Structure, row: Mapping[int, float]) -> Weights:
    """Return weights over free degrees of freedom, by name: supports hold, constraints lead."""
    assembly = structure.assembly()
    whole = np.zeros(len(assembly.names))
    for k, weight in row.items():
        whole[k] = weight
    free = np.asarray(assembly.T.T @ whole)
    names = assembly.free_names
    near = 1e-14 * np.abs(free).max(initial=0.0)
    return {names[i]: float(free[i]) for i in np.flatnonzero(np.abs(free) > near)}
