"""P-Δ: members that carry axial forces, and the load under which a structure buckles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bondloop.errors import InputError, SolveError
from bondloop.structures.assembly import element_groups, summed_entries
from bondloop.structures.elements.bars_and_springs import Bar, rod_stiffness
from bondloop.structures.elements.base import condense, lengths, rotate
from bondloop.structures.elements.beams import BendingMember, Frame2D, Frame3D
from bondloop.structures.loads import chosen
from bondloop.structures.members import section_forces
from bondloop.structures.tolerances import DENSE_BUCKLING
from bondloop.units import quantity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bondloop.structures.assembly import Assembly
    from bondloop.structures.elements.base import Array, Number
    from bondloop.structures.matrices import Sparse
    from bondloop.structures.structure import Structure


Shape = Literal["consistent", "string"]


@dataclass(frozen=True)
class AxialForces:
    """Axial forces that stay, by member in N, tension positive, and how members bend under them."""

    forces: Mapping[str, float]
    shape: Shape = "consistent"


@dataclass(frozen=True)
class Buckling:
    """Load factors at which a structure buckles, and its shapes then.

    Attributes
    ----------
    factors
        By how much the axial forces would have to grow, the smallest first.
    shapes
        Columns, of the free degrees of freedom, the largest entry being one.
    dofs
        Their names.

    Examples
    --------
    >>> from bondloop.structures import Frame2D, Structure
    >>> s = Structure("column")
    >>> s.node("foot")
    >>> s.node("head", y=3)
    >>> s.add(Frame2D("foot", "head", E=9e9, A=0.01, I=3e-5), "column")
    'column'
    >>> s.support("foot")
    >>> s.p_delta({"column": "-10 kN"})
    >>> s.buckling().factors.round(2).tolist()  # Euler 7.40; with one element 0.75 % above
    [7.46]
    """

    factors: Array
    shapes: Array
    dofs: tuple[str, ...]


def checked_axial_forces(structure: Structure, forces: Mapping[str, Number], shape: str) -> AxialForces:
    """Return axial forces of members, with names that several share spelt out."""
    where = f"structure '{structure.name}': p_delta"
    if shape not in ("consistent", "string"):
        raise InputError(f"{where}: the shape is 'consistent' or 'string'; found {shape!r}")
    values: dict[str, float] = {}
    for name, force in forces.items():
        value = quantity(force, "N") if isinstance(force, str) else float(force)
        if not np.isfinite(value):
            raise InputError(f"{where}: the axial force of {name} is {value}; expected a finite number in N")
        for member in chosen(structure, [name]):
            if not carries_axial_force(structure.elements[member]):
                raise InputError(
                    f"{where}: {member} is a {type(structure.elements[member]).__name__}, which has no axis "
                    "to be loaded along; give axial forces of bars, beams and frame members"
                )
            values[member] = value
    return AxialForces({name: value for name, value in values.items() if value}, shape)  # type: ignore[arg-type]


def axial_forces(
    structure: Structure, displacement: ArrayLike, free_strain: Mapping[str, Number]
) -> dict[str, float]:
    """Return the axial force of every member that carries one, at displacements of the free ones."""
    assembly = structure.assembly()
    u = np.asarray(displacement, dtype=float)
    if u.shape != (len(assembly.free),):
        raise InputError(
            f"structure '{structure.name}': axial_forces: expected {len(assembly.free)} displacements, as "
            f"`static` gives them; found shape {u.shape}"
        )
    nodal = np.zeros(6 * len(structure.nodes))
    nodal[assembly.codes] = assembly.T @ u
    carried = section_forces(structure, nodal.reshape(-1, 6))
    means = {name: (f.start["N"] + f.end["N"]) / 2 for name, f in carried.items()}
    for name, N in _held_back(structure, free_strain).items():
        means[name] -= N
    most = max((abs(N) for N in means.values()), default=0.0)
    return {name: N for name, N in means.items() if abs(N) > 1e-12 * most}


def _held_back(structure: Structure, free_strain: Mapping[str, Number]) -> dict[str, float]:
    """Return EA ε of members that would lengthen by ε if they were let."""
    where = f"structure '{structure.name}': axial_forces(free_strain)"
    forces: dict[str, float] = {}
    for name, strain in free_strain.items():
        value = quantity(strain, "1") if isinstance(strain, str) else float(strain)
        if not np.isfinite(value):
            raise InputError(f"{where}: expected a finite strain of {name}; found {value}")
        for member in chosen(structure, [name]):
            e = structure.elements[member]
            if not isinstance(e, (Bar, Frame2D, Frame3D)):
                raise InputError(f"{where}: {member} does not expand; bars and frame members do")
            forces[member] = float(e.E) * float(e.A) * value
    return forces


def geometric_stiffness(structure: Structure, axial: AxialForces, assembly: Assembly) -> Sparse:
    """Return the geometric stiffness of all degrees of freedom that there are, sparse, shape (n, n)."""
    found = []
    for group in element_groups(structure):
        at = [i for i, name in enumerate(group.elements) if axial.forces.get(name)]
        if at:
            members, names = group.members, list(group.elements)
            N = np.array([axial.forces[names[i]] for i in at])
            some = [members[i] for i in at]
            G = member_geometric(some, group.xyz[at], N, string=axial.shape == "string")
            found.append((group.codes[at], G))
    return summed_entries(found, assembly.codes, 6 * len(structure.nodes))


def buckling(name: str, assembly: Assembly, count: int) -> Buckling:
    """Solve (K + λ G) φ = 0 for the smallest positive λ: -G φ = (1/λ) K φ, with K without G."""
    if assembly.G is None:
        raise InputError(f"structure '{name}': buckling needs axial forces; give them by p_delta(...)")
    K, G = assembly.reduced(assembly.K - assembly.G), assembly.reduced(assembly.G)
    n = K.shape[0]
    if not 1 <= count <= n:
        raise InputError(f"structure '{name}': buckling(count): from 1 to {n}; found {count}")
    inverse, shapes = _largest(name, -G, K, count)
    order = np.argsort(-inverse)
    inverse, shapes = inverse[order], shapes[:, order]
    kept = inverse > 1e-12 * np.abs(inverse).max(initial=1e-300)
    shapes = shapes[:, kept]
    peaks = shapes[np.abs(shapes).argmax(axis=0), range(shapes.shape[1])]
    return Buckling(1 / inverse[kept], shapes / peaks, assembly.free_names)


def _largest(name: str, A: Sparse, K: Sparse, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of A x = μ K x, K being positive definite."""
    n = K.shape[0]
    mechanism = SolveError(
        f"structure '{name}': without its axial forces the structure is a mechanism, or as good as one; its "
        "buckling load cannot be found without what holds it: add supports or elements"
    )
    if n <= DENSE_BUCKLING or count >= n - 1:
        from scipy import linalg

        try:
            return linalg.eigh(A.toarray(), K.toarray(), subset_by_index=(n - count, n - 1))
        except linalg.LinAlgError:
            raise mechanism from None
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    from bondloop.structures.factor import factor

    try:
        inverse: LinearOperator[np.float64] = LinearOperator((n, n), matvec=factor(K), dtype=float)
        start = np.random.default_rng(1744).standard_normal(n)
        return eigsh(A, count, K, Minv=inverse, which="LA", v0=start)
    except (RuntimeError, ArpackError):
        raise mechanism from None


def refuse_buckled(name: str, assembly: Assembly) -> None:
    """Raise where axial forces are beyond those under which the structure buckles."""
    if assembly.G is None or _holds(assembly.reduced(assembly.K)):
        return
    try:
        factors = buckling(name, assembly, 1).factors
        words = f": their load factor is {factors[0]:.3g}, and it must be above 1" if len(factors) else ""
    except SolveError:  # tension alone could have held it
        words = ""
    raise InputError(
        f"structure '{name}' buckles under its axial forces{words}; stiffen it, reduce p_delta(...), or pass "
        "free=True if devices hold it"
    )


def _holds(K: Sparse) -> bool:
    """Whether every motion needs energy: K is positive definite."""
    from scipy import linalg

    if K.shape[0] <= DENSE_BUCKLING:
        try:
            linalg.cholesky(K.toarray(), check_finite=False)
        except linalg.LinAlgError:
            return False
        return True
    from scipy.sparse.linalg import splu

    try:  # pivots on the diagonal alone have the signs of the eigenvalues (Sylvester's law of inertia)
        pivots = splu(K.tocsc(), "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:
        return False
    return bool(np.all(pivots.U.diagonal() > 0) and np.array_equal(pivots.perm_r, pivots.perm_c))


def bending_geometric(N: Array, L: Array, phi: Array, *, string: bool) -> Array:
    """Geometric stiffness in one plane, order (w₁, θ₁, w₂, θ₂), shape (n, 4, 4).

    Przemieniecki (1968), chapter 15, for Φ = 0; with shear from the same integral over the shapes of
    `bending_stiffness`, in which θ is the turn of the section and w' that of the axis.

    >>> one = np.ones(1)
    >>> (30 * bending_geometric(one, one, 0 * one, string=False)[0]).round(12)
    array([[ 36.,   3., -36.,   3.],
           [  3.,   4.,  -3.,  -1.],
           [-36.,  -3.,  36.,  -3.],
           [  3.,  -1.,  -3.,   4.]])
    """
    if string:
        whole = np.zeros((len(L), 4, 4))
        whole[np.ix_(range(len(L)), [0, 2], [0, 2])] = rod_stiffness(N / L)
        return whole
    a, b = 6 / 5 + 2 * phi + phi**2, L / 10
    c, d = L**2 * (2 / 15 + phi / 6 + phi**2 / 12), L**2 * (1 / 30 + phi / 6 + phi**2 / 12)
    rows = [[a, b, -a, b], [b, c, -b, -d], [-a, -b, a, -b], [b, -d, -b, c]]
    return np.asarray(np.moveaxis(np.array(rows), 2, 0) * (N / (L * (1 + phi) ** 2))[:, None, None])


def carries_axial_force(element: object) -> bool:
    """Whether a kind of element has a geometric stiffness."""
    return isinstance(element, (Bar, BendingMember))


def member_geometric(elements: Sequence[Any], xyz: Array, N: Array, *, string: bool) -> Array:
    """Geometric stiffness of members of one kind in global axes, shape (n, d, d).

    Parameters
    ----------
    elements
        Bars, plane or space members.
    xyz
        Their ends, shape (n, 2, 3).
    N
        Their axial forces in N, tension positive.
    string
        Of the straight line between the ends alone.
    """
    L = lengths(xyz)
    if isinstance(elements[0], Bar):
        x = (xyz[:, 1] - xyz[:, 0]) / L[:, None]
        across = np.eye(3) - x[:, :, None] * x[:, None, :]
        return np.asarray(np.einsum("nij,nkl->nikjl", rod_stiffness(N / L), across).reshape(-1, 6, 6))
    kind: type[BendingMember] = type(elements[0])
    K = kind.local(elements, L)[0]
    G = np.zeros_like(K)
    for plane in kind.planes(elements, L):  # what an axial force does to torsion is left out
        at = np.ix_(range(len(L)), plane.places, plane.places)
        G[at] = bending_geometric(N, L, plane.phi, string=string) * plane.signs
    return rotate(condense(elements, kind.node_dofs, K, G, G)[1], kind.axes(elements, xyz))
