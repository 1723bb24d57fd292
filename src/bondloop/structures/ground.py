"""How a structure goes with the ground: alike everywhere, or support by support."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bondloop.display import brief
from bondloop.errors import InputError, unknown_name
from bondloop.structures.dofs import dof_word
from bondloop.structures.elements.base import DOFS, Array
from bondloop.structures.factor import factor
from bondloop.structures.tolerances import DESCRIBED_SUPPORTS

if TYPE_CHECKING:
    from scipy import sparse

    from bondloop.structures.analysis.modal_analysis import Modes
    from bondloop.structures.assembly import Assembly
    from bondloop.structures.matrices import Matrices, Sparse

    Columns: TypeAlias = sparse.csc_array[np.float64]


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a structure on the ground.

    Attributes
    ----------
    rigid
        By direction the rigid motion r of the free degrees of freedom, and M r.
    refused
        By direction why there is none.
    supports
        Names of the k held degrees of freedom.
    columns
        M_a, C_a and K_a of these, sparse, shape (n, k); C_a is the elements'.
    damping
        C of the elements (dashpots, βK of their own), sparse, shape (n, n).
    stated
        By support ι, M ι + M_a e and C ι + C_a e, where these are known without the matrices.
    """

    rigid: Mapping[str, tuple[Array, Array]]
    refused: Mapping[str, str] = field(default_factory=dict)
    supports: tuple[str, ...] = ()
    columns: tuple[Columns, Columns, Columns] | None = None
    damping: Any = None
    stated: Mapping[str, tuple[Array, Array, Array]] = field(default_factory=dict)


def _assembled(assembly: Assembly, xyz: Array) -> Known:
    rigid: dict[str, tuple[Array, Array]] = {}
    refused: dict[str, str] = {}
    for d in DOFS:
        try:
            r = assembly.rigid(xyz, d)
        except InputError as error:
            refused[d] = str(error)
            continue
        rigid[d] = (r[assembly.free], np.asarray(assembly.T.T @ (assembly.M @ r)))
    # A support that constraints name as well moves what they lead; its columns would not say so.
    tied = {i for row in assembly.rows for i, _ in row}
    held = [int(i) for i in np.flatnonzero(assembly.held) if i not in tied]
    M_a, C_a, K_a = (assembly.T.T @ part[:, held] for part in (assembly.M, assembly.C, assembly.K))
    supports = tuple(assembly.names[i] for i in held)
    return Known(rigid, refused, supports, (M_a, C_a, K_a), assembly.reduced(assembly.C))


@dataclass(frozen=True, eq=False)
class Footing:
    """What a motion of the ground, or of one support, does to the free degrees of freedom.

    The motion is split, u = ι x + z: what follows the ground without inertia, and the rest. With K ι = -K_a e
    the rest obeys M z̈ + C ż + K z = -(M ι + M_a e) ẍ - (C_e ι + C_a e) ẋ (Chopra 2012, section 9.7), with
    C_e the damping of elements, which lies between their ends. Damping of the whole structure (Rayleigh's,
    modal) acts on ż alone. Where all supports move alike, ι is the rigid motion r, and stretches no element.

    Attributes
    ----------
    dofs
        Names of the n free degrees of freedom.
    matrices
        M and K of these, sparse.
    source
        Gives what is known of the ground, when that is asked for.
    basis
        u = T q, where the structure has been reduced; None where it has not.
    coordinates
        Weights of coordinates that stand for degrees of freedom (`in_coordinates`), by name.

    Examples
    --------
    >>> from bondloop.structures import Spring, PointMass, Structure
    >>> s = Structure("two piers")
    >>> for name, x in (("a", 0), ("deck", 1), ("b", 2)):
    ...     s.node(name, x=x)
    >>> _ = s.add(PointMass("deck", m=10.0, dofs=("ux",)))
    >>> _ = s.add(Spring("a", "deck", k=300.0, dof="ux")), s.add(Spring("deck", "b", k=100.0, dof="ux"))
    >>> s.support("a"), s.support("b")
    (None, None)
    >>> footing = footing_of(s.assemble())
    >>> footing.load("ux").tolist(), footing.motion("a.ux"), footing.load("a.ux").tolist()
    ([-10.0], {'deck.ux': 0.75}, [-7.5])
    """

    dofs: tuple[str, ...]
    matrices: tuple[Any, Any]
    source: Callable[[], Known]
    basis: Array | None = None
    coordinates: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def of_assembly(cls, assembly: Assembly, xyz: Array, M: Sparse, K: Sparse) -> Footing:
        """Return the footing of an assembled structure whose reduced M and K are known already."""
        return cls(assembly.free_names, (M, K), partial(_assembled, assembly, xyz))

    @cached_property
    def known(self) -> Known:
        """What is known of the ground."""
        return self.source()

    @property
    def rigid(self) -> Mapping[str, tuple[Array, Array]]:
        """By direction the rigid motion r of the free ones, and M r with what held ones contribute."""
        return self.known.rigid

    @property
    def names(self) -> set[str]:
        """Names of what the motion is known of."""
        return {*self.dofs, *self.coordinates}

    @cached_property
    def _solve(self) -> Callable[[Array], Array]:
        return factor(self.matrices[1])

    def _split(self, where: str) -> tuple[Array, Array, Array]:
        """Return ι, M ι + M_a e, and C_e ι + C_a e, of the free degrees of freedom."""
        known = self.known
        if where in known.rigid:
            r, inertia = known.rigid[where]
            return r, inertia, np.zeros(len(inertia))
        if where in known.stated:
            return known.stated[where]
        if where in known.refused:
            raise InputError(f"ground['{where}']: {known.refused[where]}")
        if where not in known.supports or known.columns is None:
            names = [*known.rigid, *known.supports, *known.stated]
            raise InputError(f"ground: {unknown_name('direction or support', where, names)}")
        j = known.supports.index(where)
        M_a, C_a, K_a = (part[:, [j]].toarray().ravel() for part in known.columns)
        try:
            iota = -np.asarray(self._solve(K_a))
        except RuntimeError:
            iota = np.full(len(self.dofs), np.nan)
        if not np.all(np.isfinite(iota)):
            raise InputError(
                f"ground['{where}']: without its specimen the structure is a mechanism, so that it does not "
                "follow one support; move all supports alike ('ux'), or leave a stiffness in it"
            )
        drag = np.asarray(known.damping @ iota + C_a)
        # Where every element is damped by the same βK nothing is left but rounding.
        size = abs(known.damping) @ np.abs(iota) + np.abs(C_a)
        return (
            iota,
            np.asarray(self.matrices[0] @ iota + M_a),
            np.where(np.abs(drag) > 1e-11 * size, drag, 0.0),
        )

    def motion(self, where: str) -> dict[str, float]:
        """Return by degree of freedom how far it goes with the ground, per unit of its motion."""
        moved = dict(zip(self.dofs, self._split(where)[0].tolist(), strict=True))
        for name, weights in self.coordinates.items():  # each of those before it
            moved[name] = sum(w * moved[d] for d, w in weights.items())
        return moved

    def load(self, where: str) -> Array:
        """Return -(M ι + M_a e), the force on each coordinate per unit of the ground's acceleration."""
        return self._projected(self._split(where)[1])

    def drag(self, where: str) -> Array:
        """Return -(C_e ι + C_a e), the force on each coordinate per unit of the ground's velocity."""
        return self._projected(self._split(where)[2])

    def _projected(self, force: Array) -> Array:
        return -np.asarray(force if self.basis is None else self.basis.T @ force)

    def held(self, places: list[int], rest: Matrices) -> Footing | None:
        """Return the footing of what is left when all other degrees of freedom are held, to move with it."""
        if self.basis is not None:
            return None
        return Footing(rest.dofs, (rest.M, rest.K), partial(self._of_rest, places))

    def _of_rest(self, places: list[int]) -> Known:
        rigid = {d: (r[places], inertia[places]) for d, (r, inertia) in self.rigid.items()}
        return Known(rigid, self.known.refused)

    def projected(self, basis: Array) -> Footing:
        """Return the footing of a reduced structure, u = T q."""
        whole = basis if self.basis is None else self.basis @ basis
        return replace(self, basis=np.asarray(whole, dtype=float))


def keep_footing(owner: Matrices | Modes, footing: Footing | None) -> None:
    """Let matrices or modes remember how they go with the ground."""
    if footing is not None:
        object.__setattr__(owner, "_footing", footing)


def footing_of(matrices: Matrices) -> Footing:
    """Return how matrices go with the ground: as their structure told, or by the names of their motions.

    Matrices from elsewhere have no supports that could be moved one by one, and no rotations of the ground.
    """
    remembered: Footing | None = getattr(matrices, "_footing", None)
    if remembered is not None:
        return remembered
    words = [dof_word(dof) for dof in matrices.dofs]
    strange = [dof for dof, word in zip(matrices.dofs, words, strict=True) if word not in DOFS]
    if strange:
        raise InputError(
            f"ground: how '{strange[0]}' goes with the ground cannot be told from its name; call degrees of "
            "freedom as in 'floor.ux', and reduce the structure itself (craig_bampton of its matrices)"
        )
    return Footing(matrices.dofs, (matrices.M, matrices.K), partial(_by_name, matrices.M, tuple(words)))


def _by_name(M: Sparse, words: tuple[str, ...]) -> Known:
    rigid = {}
    for d in ("ux", "uy", "uz"):
        r = np.array([word == d for word in words], dtype=float)
        if r.any():
            rigid[d] = (r, np.asarray(M @ r))
    return Known(rigid)


def footing_data(footing: Footing, dofs: Sequence[str]) -> dict[str, Any]:
    """Return motions, loads and drags by direction and support, as `Matrices` takes them for its ``ground``.

    Parameters
    ----------
    footing
        How a structure goes with the ground.
    dofs
        Names whose motion is asked for; those that are no places of the structure are left out.
    """
    names = [d for d in dofs if d in footing.names]
    supports = [*footing.known.supports, *footing.known.stated]
    motions, loads, drags = {}, {}, {}
    for where in [*footing.rigid, *(supports if len(supports) <= DESCRIBED_SUPPORTS else ())]:
        try:
            motion = footing.motion(where)
        except InputError:  # a mechanism, which does not follow one support
            continue
        motions[where] = [motion[d] for d in names]
        loads[where] = footing.load(where).tolist()
        drag = footing.drag(where)
        if np.any(drag):
            drags[where] = drag.tolist()
    reduced = footing.basis is not None
    return {"reduced": reduced, "dofs": names, "motions": motions, "loads": loads, "drags": drags}


def footing_from(data: object, count: int) -> Footing:
    """Return the footing that `footing_data` describes.

    Parameters
    ----------
    data
        What it gave.
    count
        Number of coordinates on which the loads act.

    Examples
    --------
    >>> data = {"reduced": True, "dofs": ["top.ux"], "motions": {"ux": [1.0]}, "loads": {"ux": [-2.0, -0.5]}}
    >>> footing = footing_from(data, 2)
    >>> (
    ...     footing.motion("ux"),
    ...     footing.load("ux").tolist(),
    ...     footing_data(footing, ["top.ux"]) == {**data, "drags": {}},
    ... )
    ({'top.ux': 1.0}, [-2.0, -0.5], True)
    """
    words = {"reduced", "dofs", "motions", "loads", "drags"}
    if not isinstance(data, Mapping) or not {"dofs", "motions", "loads"} <= set(data) <= words:
        raise InputError(
            "ground of matrices: expected dofs, and by direction motions (one number for each of them) and "
            f"loads (one for each coordinate); found {data!r:.60}"
        )
    names = tuple(data["dofs"])
    drags = data.get("drags", {})
    rigid: dict[str, tuple[Array, Array]] = {}
    stated: dict[str, tuple[Array, Array, Array]] = {}
    for where, motion in data["motions"].items():
        r = _row(where, "motions", motion, len(names))
        inertia = -_row(where, "loads", data["loads"].get(where), count)
        drag = -_row(where, "drags", drags.get(where, [0.0] * count), count)
        if where in DOFS:
            rigid[where] = (r, inertia)
        else:
            stated[where] = (r, inertia, drag)
    known = Known(rigid, stated=stated)
    return Footing(names, (None, None), lambda: known, np.eye(count) if data.get("reduced", True) else None)


def _row(where: str, word: str, given: object, count: int) -> Array:
    try:
        row = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        row = np.zeros(0)
    if row.shape != (count,) or not np.all(np.isfinite(row)):
        raise InputError(f"ground of matrices: {word}.{where}: expected {count} numbers; found {given!r:.60}")
    return row


def rigid_motion(xyz: Array, codes: Array, direction: str) -> Array:
    """Return the unit rigid motion of degrees of freedom given as 6 · node + dof, shape (n,).

    >>> rigid_motion(np.array([[0.0, 2.0, 0.0]]), np.array([0, 1, 5]), "rz").tolist()
    [-2.0, 0.0, 1.0]
    """
    if direction not in DOFS:
        raise InputError(unknown_name("direction", direction, DOFS))
    d = DOFS.index(direction)
    motion = np.zeros((len(xyz), 6))
    motion[:, d] = 1.0
    if d >= 3:
        motion[:, :3] = np.cross(np.eye(3)[d - 3], xyz)
    return np.asarray(motion.ravel()[codes])


@dataclass(frozen=True)
class Prescribed:
    """A structure with some motions imposed.

    M ü + C u̇ + K u = f - M_a ẍ_a - C_a ẋ_a - K_a x_a (du Bois 2010, eq. 15)

    Attributes
    ----------
    matrices
        The remaining degrees of freedom.
    dofs
        Names of the k imposed ones.
    M_a, C_a, K_a
        Their columns, shape (n, k).
    M_aa, C_aa, K_aa
        Their own entries, shape (k, k), for the force that the motion needs.

    Examples
    --------
    A mass on a spring of 10 N/m, whose foot is moved by 0.1 m:

    >>> from bondloop.structures import Matrices
    >>> K = [[10.0, -10.0], [-10.0, 10.0]]
    >>> moved = Prescribed.of(Matrices(np.eye(2), None, K, ("foot.ux", "mass.ux")), ["foot.ux"])
    >>> moved.matrices.dofs, moved.force(0.0, 0.0, 0.1).tolist()
    (('mass.ux',), [1.0])
    """

    matrices: Matrices
    dofs: tuple[str, ...]
    M_a: Array
    C_a: Array
    K_a: Array
    M_aa: Array
    C_aa: Array
    K_aa: Array

    __repr__ = brief

    @classmethod
    def of(cls, whole: Matrices, dofs: Sequence[str]) -> Prescribed:
        """Split the matrices ``whole`` into ``dofs``, which are imposed, and those that remain."""
        a = whole.indices(dofs)
        rest = [i for i in range(len(whole)) if i not in set(a)]
        columns = [part[rest][:, a].toarray() for part in (whole.M, whole.C, whole.K)]
        own = [part[a][:, a].toarray() for part in (whole.M, whole.C, whole.K)]
        return cls(whole.sub([whole.dofs[i] for i in rest]), tuple(dofs), *columns, *own)

    def force(self, acceleration: Array, velocity: Array, displacement: Array) -> Array:
        """Force on the remaining degrees of freedom, (n,) or (n, times), from motions (k,) or (k, times).

        Parameters
        ----------
        acceleration, velocity, displacement
            Of the imposed degrees of freedom, in their order, in SI units.
        """
        x, v, a = (np.atleast_1d(np.asarray(q, dtype=float)) for q in (displacement, velocity, acceleration))
        return np.asarray(-(self.M_a @ a + self.C_a @ v + self.K_a @ x))
