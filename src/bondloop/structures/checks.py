"""What can be wrong with a structure, found all at once and named."""

from __future__ import annotations

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
    found: list[str] = []
    if not structure.elements:
        found.append("has no elements")
    nodes = structure.nodes
    xyz = structure.coordinates
    size = float(np.linalg.norm(np.ptp(xyz, axis=0))) if len(xyz) else 0.0
    place = {name: i for i, name in enumerate(nodes)}
    for name, e in structure.elements.items():
        missing = [n for n in e.nodes if n not in place]
        found += [f"{name}: {unknown_name('node', n, nodes)}" for n in missing]
        if not missing:
            wrong = e.faults(xyz[[place[n] for n in e.nodes]])
            found += [f"{name} ({' to '.join(e.nodes)}): {w}" for w in wrong]
            f = None if wrong or not size else e.frequency(size)
            if f is not None and f > structure.highest_frequency:
                found.append(
                    f"{name} ({' to '.join(e.nodes)}): a member of this section, {size:.3g} m long as the "
                    f"structure, would vibrate at {f:.3g} Hz; check the units of E, rho and section (SI: Pa, "
                    "kg/m³, m², m⁴) or raise highest_frequency of the structure"
                )
    for node, dofs in structure.supports.items():
        if node not in place:
            found.append(f"support: {unknown_name('node', node, nodes)}")
        found += [
            f"support of '{node}': {unknown_name('degree of freedom', d, DOFS)}"
            for d in dofs
            if d not in DOFS
        ]
    for c in structure.constraints:
        if isinstance(c, RigidFloor):
            wanted, what = (c.master, *c.nodes), f"rigid floor of '{c.master}'"
        else:
            wanted, what = tuple(d.rpartition(".")[0] for d, _ in c.terms), f"constraint {c.label}"
        found += [
            f"{what}: {unknown_name('node', n, nodes)}" for n in dict.fromkeys(wanted) if n not in place
        ]
        if isinstance(c, RigidFloor) and all(n in place for n in wanted):
            found += _out_of_plane(c, xyz, place, size)
    return found + orphans(structure) + unjoined(structure, size)


def _out_of_plane(floor: RigidFloor, xyz: Array, place: dict[str, int], size: float) -> list[str]:
    """Nodes of a floor that are not in its plane: they would move as if they were."""
    axis = ("yz", "xz", "xy").index(floor.plane)
    level = float(xyz[place[floor.master], axis])
    return [
        f"rigid floor of '{floor.master}': node '{n}' lies at {'xyz'[axis]} = {xyz[place[n], axis]:g} m, not "
        f"in the floor's plane {'xyz'[axis]} = {level:g} m; put it there, or into a floor of its own"
        for n in floor.nodes
        if abs(xyz[place[n], axis] - level) > OUT_OF_PLANE * max(size, abs(level))
    ]


def _joined(structure: Structure) -> list[tuple[str, ...]]:
    """Return the nodes that each element or constraint joins."""
    joined: list[tuple[str, ...]] = [tuple(e.nodes) for e in structure.elements.values()]
    for c in structure.constraints:
        if isinstance(c, RigidFloor):
            joined.append((c.master, *c.nodes))
        else:
            joined.append(tuple(d.rpartition(".")[0] for d, _ in c.terms))
    return joined


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
    for n in structure.nodes:
        key = tuple(np.round(np.array(structure.nodes[n]) / (OUT_OF_PLANE * size)).tolist())
        places.setdefault(key, []).append(n)
    crowded = {n: i for i, names in enumerate(places.values()) if len(names) > 1 for n in names}
    leader = {n: n for n in crowded}

    def first(n: str) -> str:
        while leader[n] != n:
            n = leader[n]
        return n

    for names in _joined(structure):
        here = [n for n in names if n in crowded]
        for a in here:
            for b in here:
                if crowded[a] == crowded[b]:
                    leader[first(a)] = first(b)
    for names in structure.separate:
        for n in names[1:]:
            if n in leader and names[0] in leader:
                leader[first(n)] = first(names[0])
    faults = []
    for crowd in places.values():
        at = [n for n in crowd if n in ends]
        apart = {first(n): n for n in at} if len(at) > 1 else {}
        if len(apart) > 1:
            a, b = list(apart.values())[:2]
            faults.append(
                f"nodes '{a}' and '{b}' lie at one place and nothing joins them: use one node, "
                f"tie('{a}', '{b}'), or say that they move apart, apart('{a}', '{b}')"
            )
    return faults


def lonely_masses(structure: Structure, names: tuple[str, ...]) -> list[str]:
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
