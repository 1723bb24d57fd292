"""Degrees of freedom, and linear constraints between them.

Supports and constraints leave the independent degrees of freedom q with u = T q; the matrices become TᵀMT,
TᵀCT, TᵀKT and forces Tᵀf, which is exact for workless constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import ROTATION, TRANSLATION, Domain
from bondloop.engine.data import Described, number
from bondloop.errors import InputError
from bondloop.structures.elements.base import DOFS, Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.structures.matrices import Sparse


ROTATIONS = ("rx", "ry", "rz")
"""Words of degrees of freedom that are rotations."""


def dof_word(dof: str) -> str:
    """Return what a degree of freedom is at its node, the last word of its name.

    >>> dof_word("floor[2].ux")
    'ux'
    """
    return dof.rpartition(".")[2]


def dof_domain(dof: str) -> Domain:
    """Return the domain of a degree of freedom: its name, ``node.word``, is how structures define it.

    >>> dof_domain("tip.rz").name, dof_domain("floor[2].ux").name
    ('rotation', 'translation')
    """
    return ROTATION if dof_word(dof) in ROTATIONS else TRANSLATION


def force_on(dof: str, given: object, what: str) -> float:
    """Return a force or moment on a degree of freedom in SI.

    Parameters
    ----------
    dof
        Its name.
    given
        A number, or a text with a unit.
    what
        What it is for, in the message.

    Examples
    --------
    >>> force_on("tip.rz", "2 kN m", "static")
    2000.0
    """
    return number(given, f"{what}: the force on {dof}", dof_domain(dof).effort.unit)


def weight_of(dof: str, given: object, total: Domain, what: str) -> float:
    """Return the weight of a degree of freedom in a sum: a length where a rotation makes a translation.

    Parameters
    ----------
    dof
        Its name.
    given
        A number, or a text with a unit.
    total
        What the sum measures: that of a translation, or of a rotation.
    what
        What it is, for the message.

    Examples
    --------
    >>> weight_of("tip.rz", "20 cm", TRANSLATION, "weight"), weight_of("tip.uy", "5 1/m", ROTATION, "weight")
    (0.2, 5.0)
    """
    own = dof_domain(dof)
    unit = "1" if own is total else "m" if total is TRANSLATION else "1/m"
    return number(given, what, unit)


def forces_in_a_row(given: object, what: str) -> NDArray[np.float64]:
    """Return forces that are not named as an array of floats.

    Parameters
    ----------
    given
        Numbers.
    what
        What they are for, in the message.
    """
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"{what}: expected forces by degree of freedom, {{'floor[1].ux': '10 kN'}}, or all of them as "
            f"numbers; found {given!r:.60}"
        ) from None


@dataclass(frozen=True)
class Constraint(Described, member_of="constraint"):
    """A linear combination of degrees of freedom that stays zero; the first one named is eliminated."""

    terms: tuple[tuple[str, float], ...]
    lenient: bool = False
    """Whether to leave out a constraint on a degree of freedom that does not exist, rather than refuse it."""

    def __post_init__(self) -> None:
        given: object = self.terms  # whatever stands in a file
        if isinstance(given, Mapping):
            given = tuple(given.items())
        try:
            pairs = [(dof, c) for dof, c in given]  # type: ignore[attr-defined]
            totals = {dof_domain(dof) for dof, _ in pairs}
        except (TypeError, ValueError, AttributeError):
            raise InputError(
                "Constraint(terms): expected pairs of a degree of freedom and a number, ('a.ux', 1); "
                f"found {given!r:.60}"
            ) from None
        object.__setattr__(self, "terms", tuple(_weighed(pairs, totals)))

    @property
    def label(self) -> str:
        """The constraint as it may be written, such as ``constraint +1 a.ux -1 b.ux = 0``."""
        return f"constraint {' '.join(f'{c:+g} {d}' for d, c in self.terms)} = 0"

    @property
    def joined(self) -> tuple[str, ...]:
        """Names of the nodes that it joins."""
        return tuple(d.rpartition(".")[0] for d, _ in self.terms)


def _weighed(pairs: Sequence[tuple[str, object]], totals: set[Domain]) -> list[tuple[str, float]]:
    """Return terms as numbers: the sum measures a length, or an angle where it is told so."""
    refusal: InputError | None = None
    for total in (TRANSLATION, ROTATION):
        if total in totals:
            try:
                return [
                    (dof, weight_of(dof, c, total, f"Constraint(terms[{i}])"))
                    for i, (dof, c) in enumerate(pairs)
                ]
            except InputError as error:
                refusal = refusal or error
    if refusal is not None:
        raise refusal
    return []


@dataclass(frozen=True)
class RigidFloor(Described, member_of="constraint"):
    """Nodes that move in their plane like one rigid body, led by a master node."""

    master: str
    nodes: tuple[str, ...]
    plane: str

    @property
    def freedoms(self) -> tuple[int, int, int]:
        """In-plane translations and normal rotation, by their places among the six of a node."""
        first, second = ("xyz".index(axis) for axis in self.plane)
        return first, second, 6 - first - second

    @property
    def label(self) -> str:
        """What errors call it."""
        return f"rigid floor of '{self.master}'"

    @property
    def joined(self) -> tuple[str, ...]:
        """Names of the nodes that it joins."""
        return (self.master, *self.nodes)


def floor_rows(
    floor: RigidFloor, place: Mapping[str, int], xyz: Array, used: Array
) -> Iterable[tuple[tuple[int, float], ...]]:
    """Constraints of a rigid floor, u_s = u_m + θ × d, as rows of (node · 6 + dof, coefficient)."""
    first, second, normal = floor.freedoms
    m = place[floor.master]
    for name in floor.nodes:
        s = place[name]
        if s == m:
            continue
        turn = np.cross(np.eye(3)[normal - 3], xyz[s] - xyz[m])
        for d in (first, second):
            if used[6 * s + d]:
                row = ((6 * s + d, 1.0), (6 * m + d, -1.0), (6 * m + normal, -float(turn[d])))
                yield tuple(term for term in row if term[1])
        if used[6 * s + normal]:
            yield ((6 * s + normal, 1.0), (6 * m + normal, -1.0))


def eliminate(rows: Sequence[Sequence[tuple[int, float]]], held: Array) -> tuple[Sparse, Array]:
    """Solve constraints for dependent degrees of freedom.

    Parameters
    ----------
    rows
        Constraints as (degree of freedom, coefficient); the first term is eliminated where it still can be.
    held
        Shape (n,): degrees of freedom held by supports.

    Returns
    -------
    T, free
        Sparse T of shape (n, m) with u = T q, and the places of the m independent degrees of freedom.

    Examples
    --------
    >>> T, free = eliminate([[(0, 1.0), (2, -2.0)]], np.array([False, True, False]))
    >>> T.toarray().ravel().tolist(), free.tolist()
    ([2.0, 0.0, 1.0], [2])
    """
    from scipy import sparse

    solved: dict[int, dict[int, float]] = {}
    users: dict[int, set[int]] = {}
    for row in rows:
        current: dict[int, float] = {}
        for dof, c in row:
            terms = solved.get(dof, {dof: 1.0})
            for j, t in terms.items():
                if not held[j]:
                    current[j] = current.get(j, 0.0) + c * t
        largest = max(abs(c) for _, c in row)
        current = {j: c for j, c in current.items() if abs(c) > 1e-12 * largest}
        if not current:
            continue  # already satisfied by supports or earlier constraints
        pivot = row[0][0] if row[0][0] in current else max(current, key=lambda j: abs(current[j]))
        cp = current.pop(pivot)
        answer = {j: -c / cp for j, c in current.items()}
        solved[pivot] = answer
        for j in answer:
            users.setdefault(j, set()).add(pivot)
        for user in users.pop(pivot, set()):
            factor = solved[user].pop(pivot)
            for j, t in answer.items():
                solved[user][j] = solved[user].get(j, 0.0) + factor * t
                users[j].add(user)
    independent = ~np.asarray(held)
    independent[list(solved)] = False
    free = np.flatnonzero(independent)
    column = np.full(len(held), -1)
    column[free] = np.arange(len(free))
    entries = [(dof, int(column[other]), t) for dof, terms in solved.items() for other, t in terms.items()]
    entries += [(int(dof), k, 1.0) for k, dof in enumerate(free)]
    rows_, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    T = sparse.coo_array(
        (np.array(values, dtype=float), (np.array(rows_, dtype=int), np.array(columns, dtype=int))),
        shape=(len(held), len(free)),
    )
    return T.tocsr(), free


def checked_floor(master: str, nodes: Sequence[str], plane: str) -> RigidFloor:
    """Return a rigid floor whose plane is known."""
    if plane not in ("xy", "xz", "yz"):
        raise InputError(f"rigid floor of '{master}': plane '{plane}' must be one of xy, xz, yz")
    return RigidFloor(master, tuple(nodes), plane)


def checked_constraint(terms: Mapping[str, float], *, lenient: bool = False) -> Constraint:
    """Return a constraint with at least one term that counts."""
    kept = tuple((d, c) for d, c in Constraint(tuple(terms.items())).terms if c)
    if not kept:
        raise InputError(f"constraint {dict(terms)}: needs at least one coefficient that is not zero")
    for d, _ in kept:
        if dof_word(d) not in DOFS:
            raise InputError(f"constraint {dict(terms)}: '{d}' is not a degree of freedom such as 'a.ux'")
    return Constraint(kept, lenient)
