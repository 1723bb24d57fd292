"""What every element has: nodes, values in SI, matrices of many elements at once, end releases."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from bondloop.engine.data import Described, alias
from bondloop.errors import InputError
from bondloop.structures.tolerances import NO_STIFFNESS
from bondloop.units import quantity

if TYPE_CHECKING:
    from bondloop.structures.elements.beams import BendingMember


Array = np.ndarray[Any, np.dtype[Any]]
Number = float | str
alias("Number", Number)

UNITS = {
    "E": ("Pa",), "G": ("Pa",), "A": ("m^2",), "I": ("m^4",), "Iy": ("m^4",), "Iz": ("m^4",), "J": ("m^4",),
    "rho": ("kg/m^3",), "kappa": ("1",), "kappa_y": ("1",), "kappa_z": ("1",), "beta": ("s",), "m": ("kg",),
    "Jx": ("kg m^2",), "Jy": ("kg m^2",), "Jz": ("kg m^2",), "k": ("N/m", "N m/rad"),
    "c": ("N s/m", "N m s/rad"),
}  # fmt: skip
"""What the parameters of elements measure, any one of several; of springs by the degree of freedom."""
DOFS = ("ux", "uy", "uz", "rx", "ry", "rz")
"""The names a degree of freedom of a node can have: three translations, three rotations."""


class Blocks(NamedTuple):
    """Matrices of n elements of one kind in global axes, each of shape (n, d, d).

    `uses` of shape (n, d) says which degrees of freedom these elements bring into being. A mass may also
    act on a degree of freedom that only a neighbour uses; where nobody uses one, it does not exist.
    """

    K: Array
    C: Array
    M: Array
    lumped: Array
    uses: Array


@dataclass(frozen=True)
class Element(Described, ABC, family="element"):
    """Base of the elements: a frozen value that names its nodes.

    Attributes
    ----------
    beta
        Stiffness-proportional damping of this element, in s: its damping matrix is beta times its stiffness.

    Examples
    --------
    >>> from bondloop.structures import Element, PointMass
    >>> issubclass(PointMass, Element), PointMass.kind
    (True, 'mass')
    """

    kind: ClassVar[str]
    node_dofs: ClassVar[tuple[str, ...]]
    positive: ClassVar[tuple[str, ...]] = ()
    not_negative: ClassVar[tuple[str, ...]] = ("beta",)
    optional: ClassVar[tuple[str, ...]] = ()

    beta: Number = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        for name in quantities(type(self)):
            value = getattr(self, name)
            if isinstance(value, str):
                try:
                    object.__setattr__(self, name, quantity(value, *UNITS.get(name, ())))
                except InputError as error:
                    raise InputError(f"{type(self).__name__}({name}): {error}") from None

    @property
    @abstractmethod
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes, in the element's order."""

    @classmethod
    @abstractmethod
    def blocks(cls, elements: Sequence[Self], xyz: Array) -> Blocks:
        """Matrices of many elements; `xyz` holds the coordinates of their nodes, shape (n, nodes, 3)."""

    def faults(self, xyz: Array) -> list[str]:
        """Return what is wrong with this element, its nodes at ``xyz`` [m], as sentences without its name."""
        found = []
        for name in quantities(type(self)):
            value = getattr(self, name)
            if value is None and name in self.optional:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
                found.append(f"{name} is {value!r}; expected a number or text with a unit")
            elif not math.isfinite(value):
                found.append(f"{name} = {value} is not finite")
            elif name in self.positive and value <= 0:
                found.append(f"{name} = {value:g} must be positive")
            elif name in self.not_negative and value < 0:
                found.append(f"{name} = {value:g} must not be negative")
        return found + self.geometry_faults(xyz)

    def geometry_faults(self, xyz: Array) -> list[str]:
        """Return what is wrong with where this element lies, its nodes at ``xyz`` [m]."""
        del xyz
        return []

    def frequency(self, size: float) -> float | None:
        """First frequency in Hz of a member of this section and the length ``size`` [m]; None: unknown."""
        del size
        return None


@dataclass(frozen=True)
class Member(Element, family="element"):
    """A straight element from node `a` to node `b`.

    Parameters
    ----------
    a, b
        Names of the end nodes.
    beta
        As for `Element`.

    Examples
    --------
    >>> from bondloop.structures import Bar
    >>> from bondloop.structures import Member
    >>> bar = Bar("wall", "end", E="210 GPa", A="1 cm^2", rho=7850)
    >>> isinstance(bar, Member), bar.nodes
    (True, ('wall', 'end'))
    """

    plane: ClassVar[bool] = False
    a: str
    b: str

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the two ends."""
        return (self.a, self.b)

    def geometry_faults(self, xyz: Array) -> list[str]:
        """Refuse a member without length, and a plane one that leaves the xy-plane."""
        length = math.dist(xyz[0], xyz[1])
        if length <= 1e-12 * max(1e-300, float(np.abs(xyz).max())):
            return [f"has no length: nodes '{self.a}' and '{self.b}' are at the same place"]
        if self.plane and abs(xyz[1, 2] - xyz[0, 2]) > 1e-9 * length:
            return [f"leaves the xy-plane (z from {xyz[0, 2]:g} to {xyz[1, 2]:g} m); use Frame3D or Beam3D"]
        return []

    @classmethod
    def axes(cls, elements: Sequence[Member], xyz: Array) -> Array:
        """Local axes of ``elements``, ends at ``xyz``, as rows of global components, shape (n, r, r)."""
        return space_axes(xyz, np.full((len(elements), 3), np.nan))

    def piece(self, a: str, b: str, *, first: bool, last: bool) -> Self:
        """Return this member between other nodes, a part of the whole: only outer ends stay released.

        Parameters
        ----------
        a, b
            Names of its nodes.
        first, last
            Whether it is the piece at the beginning, or at the end, of the whole.
        """
        changes: dict[str, Any] = {"a": a, "b": b}
        if not first and hasattr(self, "release_a"):
            changes["release_a"] = ()
        if not last and hasattr(self, "release_b"):
            changes["release_b"] = ()
        return replace(self, **changes)


@cache
def quantities(kind: type[Element]) -> tuple[str, ...]:
    """Names of the fields of a kind of element that hold a quantity."""
    return tuple(f.name for f in fields(kind) if str(f.type).startswith("Number"))


def column(elements: Sequence[Element], name: str) -> Array:
    """One value of each element, shape (n,); NaN where it is None."""
    return np.array([getattr(e, name) for e in elements], dtype=float)


def rotate(local: Array, axes: Array) -> Array:
    """Turn matrices from local to global axes: Tᵀ A T with T the block diagonal of `axes`.

    Parameters
    ----------
    local
        Shape (n, d, d).
    axes
        Shape (n, r, r), the rows being the local axes in global components; d is a multiple of r.
    """
    T = block_diagonal(axes, local.shape[1])
    return np.asarray(T.transpose(0, 2, 1) @ local @ T)


def block_diagonal(axes: Array, size: int) -> Array:
    """Return matrices of a ``size`` with ``axes`` again and again on the diagonal, shape (n, size, size)."""
    r = axes.shape[-1]
    T = np.zeros((len(axes), size, size))
    for k in range(0, size, r):
        T[:, k : k + r, k : k + r] = axes
    return T


def stiff(K: Array, node_dofs: Sequence[str]) -> Array:
    """Which degrees of freedom have stiffness, shape (n, d); rotations are compared with rotations."""
    diagonal = np.abs(np.einsum("nii->ni", K))
    uses = np.zeros(diagonal.shape, dtype=bool)
    for kind in "ur":
        k = [i for i in range(diagonal.shape[1]) if node_dofs[i % len(node_dofs)][0] == kind]
        if k:
            part = diagonal[:, k]
            uses[:, k] = part > NO_STIFFNESS * part.max(axis=1, keepdims=True, initial=0.0)
    return uses


def damped_blocks(elements: Sequence[Element], K: Array, M: Array, lumped: Array) -> Blocks:
    """Return global matrices of elements of one kind, damped in proportion to their stiffness."""
    damping = column(elements, "beta")[:, None, None] * K
    return Blocks(K, damping, M, lumped, stiff(K, type(elements[0]).node_dofs))


def condense(
    elements: Sequence[BendingMember], dofs: Sequence[str], K: Array, M: Array, lumped: Array
) -> tuple[Array, Array, Array]:
    """Release ends: static condensation of the released local rotations.

    With r released and k kept, u_r = -K_rr⁻¹ K_rk u_k = T u_k; K and the consistent M become TᵀKT and TᵀMT,
    which is the exact consistent mass for the shape functions of the released element. The lumped mass of a
    released rotation is dropped, so that a lumped matrix stays diagonal. Matrices are local, shape (n, d, d).
    """
    patterns: dict[tuple[int, ...], list[int]] = {}
    for i, e in enumerate(elements):
        if e.release_a or e.release_b:
            at_b = len(dofs)
            released = [dofs.index(d) for d in e.release_a] + [at_b + dofs.index(d) for d in e.release_b]
            patterns.setdefault(tuple(sorted(set(released))), []).append(i)
    K, M, lumped = K.copy(), M.copy(), lumped.copy()
    d = K.shape[1]
    for released_, members in patterns.items():
        r = list(released_)
        k = [i for i in range(d) if i not in r]
        Ke = K[members]
        Krr, Krk = Ke[:, r][:, :, r], Ke[:, r][:, :, k]
        if np.any(np.linalg.cond(Krr) > 1e13):
            raise InputError(
                f"member {elements[members[0]].a} to {elements[members[0]].b}: these releases let it "
                "spin or swing by itself; release torsion (rx) at one end only"
            )
        T = np.zeros((len(members), d, d))
        T[:, k, k] = 1.0
        T[np.ix_(range(len(members)), r, k)] = -np.linalg.solve(Krr, Krk)
        Tt = T.transpose(0, 2, 1)
        K[members] = Tt @ Ke @ T
        K[np.ix_(members, r, range(d))] = 0.0
        K[np.ix_(members, range(d), r)] = 0.0
        M[members] = Tt @ M[members] @ T
        L = lumped[members]
        L[:, r, :] = 0.0
        L[:, :, r] = 0.0
        lumped[members] = L
    return K, M, lumped


def lengths(xyz: Array) -> Array:
    """Length of each member, shape (n,)."""
    return np.asarray(np.linalg.norm(xyz[:, 1] - xyz[:, 0], axis=1))


def plane_axes(xyz: Array) -> Array:
    """Axes of members in the xy-plane for (ux, uy, rz), shape (n, 3, 3)."""
    c, s = ((xyz[:, 1] - xyz[:, 0])[:, :2] / lengths(xyz)[:, None]).T
    axes = np.zeros((len(c), 3, 3))
    axes[:, 0, 0] = axes[:, 1, 1] = c
    axes[:, 0, 1] = s
    axes[:, 1, 0] = -s
    axes[:, 2, 2] = 1.0
    return axes


def space_axes(xyz: Array, reference: Array) -> Array:
    """Axes of members in space, shape (n, 3, 3): x along the member, `reference` in the local x–z plane.

    `reference` of shape (n, 3) is what OpenSees calls vecxz. A row of NaN asks for the default: the
    global z, or the global x for a vertical member, so that a member along the global x has the global axes.

    >>> space_axes(np.array([[[0.0, 0, 0], [2, 0, 0]]]), np.full((1, 3), np.nan))[0]
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    x = (xyz[:, 1] - xyz[:, 0]) / lengths(xyz)[:, None]
    vertical = np.hypot(x[:, 0], x[:, 1]) < 1e-6
    default = np.where(vertical[:, None], np.array([1.0, 0, 0]), np.array([0.0, 0, 1]))
    v = np.where(np.isnan(reference), default, reference)
    y = np.cross(v, x)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    return np.stack([x, y, np.cross(x, y)], axis=1)
