"""How a structure goes with the ground: alike everywhere, or support by support."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.structures.dofs import dof_word
from bondloop.structures.elements.base import DOFS, Array
from bondloop.structures.factor import factor

if TYPE_CHECKING:
    from scipy import sparse

    from bondloop.structures.assembly import Assembly
    from bondloop.structures.matrices import Matrices, Sparse
    from bondloop.structures.modes import Modes

    Columns: TypeAlias = sparse.csc_array[np.float64]

__all__ = ["Footing", "footing_of", "keep_footing"]


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
    told
        By support ι, M ι + M_a e and C ι + C_a e, where these are known without the matrices.
    """

    rigid: Mapping[str, tuple[Array, Array]]
    refused: Mapping[str, str] = field(default_factory=dict)
    supports: tuple[str, ...] = ()
    columns: tuple[Columns, Columns, Columns] | None = None
    damping: Any = None
    told: Mapping[str, tuple[Array, Array, Array]] = field(default_factory=dict)


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
        if where in known.told:
            return known.told[where]
        if where in known.refused:
            raise InputError(f"ground['{where}']: {known.refused[where]}")
        if where not in known.supports or known.columns is None:
            names = [*known.rigid, *known.supports, *known.told]
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
