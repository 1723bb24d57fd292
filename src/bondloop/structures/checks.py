"""What can be wrong with a structure, found all at once and named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.structures.dofs import RigidFloor
from bondloop.structures.elements.base import DOFS, Array, Member
from bondloop.structures.factor import factor
from bondloop.structures.tolerances import NULL_STIFFNESS, OUT_OF_PLANE

if TYPE_CHECKING:
    from bondloop.structures.matrices import Sparse
    from bondloop.structures.structure import Structure


def raise_faults(name: str, faults: list[str], shown: int = 20) -> None:
    """Raise all faults in one error."""
    if faults:
        more = [f"and {len(faults) - shown} more"] if len(faults) > shown else []
        head = f"structure '{name}': " + (f"{len(faults)} faults" if len(faults) > 1 else "one fault")
        raise InputError("\n  ".join([head, *faults[:shown], *more]))


def structure_faults(structure: Structure) -> list[str]:
    """Faults of elements, supports and constraints, each with the name of what has it."""
    xyz = structure.coordinates
    size = float(np.linalg.norm(np.ptp(xyz, axis=0))) if len(xyz) else 0.0
    found = [] if structure.elements else ["has no elements"]
    found += (
        _element_faults(structure, size) + _support_faults(structure) + _constraint_faults(structure, size)
    )
    return found + orphans(structure) + unjoined(structure, size)


def _unknown_nodes(structure: Structure, what: str, nodes: Iterable[str]) -> list[str]:
    return [f"{what}: {unknown_name('node', n, structure.nodes)}" for n in nodes if n not in structure.nodes]


def _element_faults(structure: Structure, size: float) -> list[str]:
    found: list[str] = []
    for name, e in structure.elements.items():
        missing = _unknown_nodes(structure, name, e.nodes)
        if missing:
            found += missing
            continue
        where = f"{name} ({' to '.join(e.nodes)})"
        wrong = e.faults(np.array([structure.nodes[n] for n in e.nodes]))
        found += [f"{where}: {w}" for w in wrong]
        f = None if wrong or not size else e.frequency(size)
        if f is not None and f > structure.highest_frequency:
            found.append(
                f"{where}: a member of this section, {size:.3g} m long as the structure, would vibrate at "
                f"{f:.3g} Hz; check the units of E, rho and section (SI: Pa, kg/m³, m², m⁴) or raise "
                "highest_frequency of the structure"
            )
    return found


def _support_faults(structure: Structure) -> list[str]:
    found: list[str] = []
    for node, dofs in structure.supports.items():
        found += _unknown_nodes(structure, "support", [node])
        wrong = [unknown_name("degree of freedom", d, DOFS) for d in dofs if d not in DOFS]
        found += [f"support of '{node}': {words}" for words in wrong]
    return found


def _constraint_faults(structure: Structure, size: float) -> list[str]:
    found: list[str] = []
    for c in structure.constraints:
        missing = _unknown_nodes(structure, c.label, dict.fromkeys(c.joined))
        found += missing
        if isinstance(c, RigidFloor) and not missing:
            found += _out_of_plane(c, structure.nodes, size)
    return found


def _out_of_plane(
    floor: RigidFloor, nodes: Mapping[str, tuple[float, float, float]], size: float
) -> list[str]:
    """Nodes of a floor that are not in its plane: they would move as if they were."""
    axis = ("yz", "xz", "xy").index(floor.plane)
    level = nodes[floor.master][axis]
    return [
        f"{floor.label}: node '{n}' lies at {'xyz'[axis]} = {nodes[n][axis]:g} m, not in the floor's plane "
        f"{'xyz'[axis]} = {level:g} m; put it there, or into a floor of its own"
        for n in floor.nodes
        if abs(nodes[n][axis] - level) > OUT_OF_PLANE * max(size, abs(level))
    ]


def _joined(structure: Structure) -> list[tuple[str, ...]]:
    """Return the nodes that each element or constraint joins."""
    return [tuple(e.nodes) for e in structure.elements.values()] + [c.joined for c in structure.constraints]


def orphans(structure: Structure) -> list[str]:
    """Nodes that nothing is joined to."""
    used = {n for names in _joined(structure) for n in names}
    lonely = [n for n in structure.nodes if n not in used] if structure.elements else []
    return [f"node '{n}': no element and no constraint uses it; remove it" for n in lonely]


def unjoined(structure: Structure, size: float) -> list[str]:
    """Members that end at one place, at nodes that nothing joins there: two names for what is one node."""
    ends = {n for e in structure.elements.values() if isinstance(e, Member) for n in e.nodes}
    ends &= set(structure.nodes)
    if size <= 0 or len(ends) < 2:
        return []
    places: dict[tuple[float, ...], list[str]] = {}
    for n, at in structure.nodes.items():
        key = tuple(np.round(np.array(at) / (OUT_OF_PLANE * size)).tolist())
        places.setdefault(key, []).append(n)
    crowds = [names for names in places.values() if len(names) > 1]
    body = _bodies(structure, crowds)
    faults = []
    for crowd in crowds:
        apart = {body[n]: n for n in crowd if n in ends}
        if len(apart) > 1:
            a, b = list(apart.values())[:2]
            faults.append(
                f"nodes '{a}' and '{b}' lie at one place and nothing joins them: use one node, "
                f"tie('{a}', '{b}'), or say that they move apart, apart('{a}', '{b}')"
            )
    return faults


def _bodies(structure: Structure, crowds: list[list[str]]) -> dict[str, int]:
    """Return a number for each node at a shared place, the same for nodes that are joined or said apart."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    place = {n: i for i, names in enumerate(crowds) for n in names}
    number = {n: k for k, n in enumerate(place)}
    pairs: list[tuple[int, int]] = []
    for names in _joined(structure):
        first: dict[int, str] = {}
        here = [n for n in names if n in place]
        pairs += [(number[first.setdefault(place[n], n)], number[n]) for n in here]
    for names in structure.separate:
        pairs += [(number[names[0]], number[n]) for n in names[1:] if n in number and names[0] in number]
    rows, columns = zip(*pairs, strict=True) if pairs else ((), ())
    graph = coo_array((np.ones(len(pairs)), (rows, columns)), shape=(len(number), len(number)))
    return dict(zip(number, connected_components(graph, directed=False)[1].tolist(), strict=True))


def unattached_masses(structure: Structure, names: tuple[str, ...]) -> list[str]:
    """Point masses on nodes that have no degree of freedom."""
    have = {name.rpartition(".")[0] for name in names}
    return [
        f"{name}: node '{e.nodes[0]}' has no degree of freedom that it could act on; give dofs="
        for name, e in structure.elements.items()
        if e.kind == "mass" and e.nodes[0] not in have
    ]


def refuse_mechanism(name: str, K: Sparse, dofs: tuple[str, ...], xyz: Array) -> None:
    """Raise if there are motions without stiffness, and say what they move."""
    motions = free_motions(K, dofs, float(np.linalg.norm(np.ptp(xyz, axis=0))) or 1.0)
    if motions:
        moving = "; ".join(f"({i}) {', '.join(m)}" for i, m in enumerate(motions, start=1))
        raise InputError(
            f"structure '{name}' is a mechanism: {len(motions)} motion(s) without stiffness (or with less "
            f"than rounding leaves), moving mostly {moving}; add supports or elements, or pass free=True if "
            "it is meant to move freely"
        )


def free_motions(K: Any, names: tuple[str, ...], size: float) -> list[tuple[str, ...]]:
    """Motions without any stiffness, each as the names of the degrees of freedom that move most.

    The null space of K, scaled to a unit diagonal, by a dense eigenproblem or, for larger matrices, by
    inverse iteration on a block of vectors. A mesh with more than about 3,000 elements along one
    cantilever is as soft as this, relative to its elements: double precision can no longer tell.

    Parameters
    ----------
    K
        Sparse, shape (n, n).
    names
        Names of the degrees of freedom.
    size
        Size of the structure in m, to compare rotations with translations.
    """
    n = K.shape[0]
    if n == 0:
        return []
    largest = np.sqrt(np.abs(K).max(axis=1).toarray().ravel()) if K.nnz else np.zeros(n)
    scale = 1 / np.where(largest > 0, largest, 1.0)
    vectors = null_space(K.multiply(scale[:, None]).multiply(scale).tocsc()) * scale[:, None]
    vectors *= np.array([size if name.rpartition(".")[2][0] == "r" else 1.0 for name in names])[:, None]
    return readable(vectors, names)


def null_space(K: Any) -> Array:
    """Vectors that K maps to nothing but rounding, shape (n, k)."""
    from scipy import sparse

    n = K.shape[0]
    if n <= 150:
        values, vectors = np.linalg.eigh(K.toarray())
        return np.asarray(vectors[:, np.abs(values) < NULL_STIFFNESS * max(1.0, np.sqrt(n) / 4)])
    shifted = (K + 1e-13 * sparse.eye_array(n)).tocsc()
    solve = factor(shifted, keep=False)
    rng = np.random.default_rng(0)
    v = rng.standard_normal(n)
    for _ in range(4):
        v = solve(v)
        v /= np.sqrt(v @ v)
    if abs(v @ (K @ v)) >= NULL_STIFFNESS:
        return np.zeros((n, 0))
    Q = rng.standard_normal((n, 8))  # there is at least one; how many are there?
    for _ in range(4):
        Q = np.linalg.qr(solve(Q))[0]
    values, vectors = np.linalg.eigh(Q.T @ (K @ Q))
    return np.asarray(Q @ vectors[:, np.abs(values) < NULL_STIFFNESS])


def readable(vectors: Array, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Turn a basis of free motions into one in which each moves little, and name what moves."""
    from scipy.linalg import qr

    count = vectors.shape[1]
    if not count:
        return []
    pivots = qr(vectors.T, mode="r", pivoting=True)[1][:count]
    basis = vectors @ np.linalg.inv(vectors[pivots])
    motions = []
    for v in basis.T:
        order = np.argsort(-np.abs(v), kind="stable")
        motions.append(tuple(names[i] for i in order[:4] if abs(v[i]) > 0.3 * np.abs(v).max()))
    return motions
