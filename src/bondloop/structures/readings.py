"""Readings: everything that can be read off a structure, by name, each a sum over its motion."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import origin_of, plain, restore
from bondloop.engine.ir import Const, Expr, Op, Quantity
from bondloop.errors import InputError, unknown_name
from bondloop.structures.assembly import ElementGroup, element_groups
from bondloop.structures.dofs import dof_domain
from bondloop.structures.elements.base import DOFS
from bondloop.structures.members import element_rows
from bondloop.structures.storeys import ShearBuilding, crossing, vertical
from bondloop.structures.structure import Structure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.structures.analysis.dynamics import History
    from bondloop.structures.assembly import Assembly
    from bondloop.structures.elements.base import Array, Blocks
    from bondloop.structures.matrices import Matrices


MOTIONS = ("displacement", "velocity", "acceleration")
"""What a reading may be a sum of."""

Row = Mapping[int, float]
"""Weights by the number of a degree of freedom."""


@dataclass(frozen=True)
class Reading:
    """A sum over displacements, velocities and accelerations of degrees of freedom.

    Attributes
    ----------
    quantity
        What it measures.
    displacement, velocity, acceleration
        Weights by the number of a degree of freedom, in the order of the matrices it is of.
    ground
        Weights of the ground's acceleration by direction, ``"ux"``, where the motion is counted from a ground
        that moves.

    Examples
    --------
    >>> from bondloop.engine.ir.quantity import Quantity
    >>> drift = Reading(Quantity("storey drift", "m", "displacement"), {0: -1.0, 1: 1.0})
    >>> drift.of([[0.01, 0.03], [0.02, 0.05]]).round(9).tolist()
    [0.02, 0.03]
    """

    quantity: Quantity
    displacement: Row = field(default_factory=dict)
    velocity: Row = field(default_factory=dict)
    acceleration: Row = field(default_factory=dict)
    ground: Mapping[str, float] = field(default_factory=dict)

    def of(
        self,
        displacement: ArrayLike,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        ground: Mapping[str, ArrayLike] | None = None,
    ) -> NDArray[np.float64]:
        """Return its values over time.

        Parameters
        ----------
        displacement, velocity, acceleration
            Motion of all degrees of freedom, shape (times, n); what is left out is zero, as in statics.
        ground
            Accelerations of the ground by direction, shape (times,).
        """
        values = np.zeros(np.shape(displacement)[:-1])
        for word, motion in zip(MOTIONS, (displacement, velocity, acceleration), strict=True):
            if motion is not None:
                for i, weight in getattr(self, word).items():
                    values = values + weight * np.asarray(motion, dtype=float)[..., i]
        for direction, weight in self.ground.items():
            if ground and direction in ground:
                values = values + weight * np.asarray(ground[direction], dtype=float)
        return values

    def over(self, history: History) -> NDArray[np.float64]:
        """Return its values over a time history of all degrees of freedom."""
        return self.of(history.displacements, history.velocities, history.accelerations)

    def expression(
        self, motion: Callable[[str, int], Expr], ground: Mapping[str, Expr] | None = None
    ) -> Expr:
        """Return it as an expression.

        Parameters
        ----------
        motion
            Gives the displacement, velocity or acceleration (the word) of a degree of freedom (its number).
        ground
            Accelerations of the ground by direction; none where the motion is counted from rest.
        """
        terms = [w * motion(word, i) for word in MOTIONS for i, w in getattr(self, word).items()]
        terms += [w * ground[d] for d, w in self.ground.items() if ground and d in ground]
        return total(terms)


def total(terms: Sequence[Expr]) -> Expr:
    """Return the sum of many terms as one operation, however many there are.

    >>> print(total([Const(2.0), Const(3.0)]), total([]))
    2 + 3 0
    """
    if len(terms) < 2:
        return terms[0] if terms else Const(0.0)
    return Op("add", tuple(terms))


def weights(row: Array) -> dict[int, float]:
    """Return the entries of a vector that are not zero."""
    dense = np.asarray(row, dtype=float).ravel()
    return {int(i): float(dense[i]) for i in np.flatnonzero(dense)}


def single(
    quantity: Quantity, word: str, row: dict[int, float], ground: Mapping[str, float] | None = None
) -> Reading:
    """Return a reading of one kind of motion alone."""
    u, v, a = (row if word == motion else {} for motion in MOTIONS)
    return Reading(quantity, u, v, a, dict(ground or {}))


Maker = Callable[[], Reading]
"""Makes a reading when it is asked for: there are very many."""


AXES = "xyz"


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that one with ``*``, which stands for anything, fits.

    >>> matching("girder[*].M", ["girder[0].M", "girder[0].N", "girder[12].M"])
    ['girder[0].M', 'girder[12].M']
    """
    form = re.compile(".*".join(re.escape(part) for part in re.split(r"\*", pattern)))
    return [name for name in names if form.fullmatch(name)]


class Readings(Mapping[str, Reading]):
    """What an engineer reads off a structure: drifts, member forces, reactions, nodes that follow others.

    =========================================  ==========================================================
    name                                       what
    =========================================  ==========================================================
    ``a.ux.displacement``, ``.velocity``,      motion of any node, tied ones too
    ``.acceleration``
    ``a.ux.absolute_acceleration``             with the ground's, where the motion is counted from it
    ``foot.ux.reaction``                       force of a support on the structure
    ``base.shear_x``                           force of the structure on all its supports
    ``storey[1].drift_x``, ``.drift_ratio_x``  between the nodes named with ``structure.storeys(...)``
    ``storey[1].shear_x``                      of all members that cross the middle of the storey
    ``storey[1].acceleration_x``               of the node at its top, absolute
    ``girder[0].a.fx``, ``.fy``, ``.mz``       end forces, in the member's axes
    ``girder[0].start.N``, ``.V``, ``.M``      section forces (``middle``, ``end``); in space N, Vy, Vz, T,
                                               My, Mz
    ``brace.N``, ``brace.extension``           of a bar
    ``spring[0].force``, ``.extension``        of a spring or dashpot
    =========================================  ==========================================================

    Parameters
    ----------
    matrices
        Of ``structure.assemble()``, of a `ShearBuilding`, or a reduction of these.

    Examples
    --------
    >>> from bondloop.structures import Frame2D, Structure
    >>> s = Structure("cantilever")
    >>> s.node("foot")
    >>> s.node("head", y=2.0)
    >>> s.add(Frame2D("foot", "head", E=1.0, A=1.0, I=1.0), "column")
    'column'
    >>> s.support("foot")
    >>> m = s.assemble()
    >>> u = np.linalg.solve(m.K.toarray(), s.load_vector({"head.ux": 3.0}))
    >>> readings = Readings(m)
    >>> [round(float(readings[n].of(u)), 9) for n in ("column.start.M", "column.a.fy", "foot.ux.reaction")]
    [-6.0, 3.0, -3.0]
    """

    __repr__ = brief

    def __init__(self, matrices: Matrices) -> None:
        source = source_of(matrices)
        self.matrices, self.structure, self.basis = matrices, source.structure, source.basis
        self._mass = source.mass
        self._known: dict[str, Reading] = {}

    def __getitem__(self, name: str) -> Reading:
        if name not in self._known:
            if name in self.absent:
                raise InputError(f"there is no '{name}': {self.absent[name]}")
            if name not in self._makers:
                raise InputError(
                    unknown_name("reading", name, self._makers, where=getattr(self.structure, "name", "it"))
                )
            self._known[name] = self._makers[name]()
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def matching(self, pattern: str) -> list[str]:
        """Return the names that a ``pattern`` with ``*`` (for anything) stands for: ``"girder[*].end.M"``."""
        return matching(pattern, self._makers)

    @cached_property
    def _makers(self) -> dict[str, Maker]:
        if isinstance(self.structure, ShearBuilding):
            return dict(building_readings(self.structure, self._row))
        makers: dict[str, Maker] = {}
        for part in (
            self._of_nodes(),
            self._of_elements(),
            self._of_storeys(self.structure),
            self._of_base(),
        ):
            makers.update((name, maker) for name, maker in part if name not in makers)
        return makers

    def _row(self, row: Array) -> dict[int, float]:
        """Return weights over the matrices' degrees of freedom of a row over the structure's free ones."""
        return weights(row if self.basis is None else row @ self.basis)

    # ---------------------------------------------------------------- a structure of elements

    @cached_property
    def _assembly(self) -> Assembly:
        assert not isinstance(self.structure, ShearBuilding)
        return self.structure.assembly(self._mass)  # type: ignore[arg-type]

    @cached_property
    def _place(self) -> dict[int, int]:
        """Number of each degree of freedom that exists, by 6 · node + dof."""
        return {int(code): i for i, code in enumerate(self._assembly.codes)}

    def _over_all(self, row: Array) -> dict[int, float]:
        """Return weights of a row over all degrees of freedom that exist, supported and tied ones too."""
        return self._row(self._assembly.T.T @ row)

    def _over_codes(self, codes: Array, row: Array) -> dict[int, float]:
        """Return weights of a row over degrees of freedom given as 6 · node + dof."""
        whole = np.zeros(len(self._assembly.names))
        for code, weight in zip(codes, row, strict=True):
            if weight and int(code) in self._place:
                whole[self._place[int(code)]] += weight
        return self._over_all(whole)

    @cached_property
    def _rigid(self) -> dict[str, Array]:
        """Motion of all degrees of freedom when the ground moves by one, by direction in which it can."""
        xyz = self.structure.coordinates  # type: ignore[union-attr]
        found: dict[str, Array] = {}
        for direction in DOFS[:3]:
            try:
                found[direction] = self._assembly.rigid(xyz, direction)
            except InputError:  # a constraint holds it back
                continue
        return found

    def _ground(self, row: Array) -> dict[str, float]:
        """Return what a row over all degrees of freedom is of a unit motion of the ground, by direction."""
        moved = {direction: float(row @ r) for direction, r in self._rigid.items()}
        return {direction: w for direction, w in moved.items() if w}

    def _of_nodes(self) -> Iterator[tuple[str, Maker]]:
        assembly = self._assembly
        for i, name in enumerate(assembly.names):
            domain = dof_domain(name)
            kinds = (domain.displacement, domain.flow, domain.acceleration)
            if assembly.held[i]:
                yield f"{name}.reaction", partial(self._reaction, i)
            else:
                for word, quantity in zip(MOTIONS, kinds, strict=True):
                    yield f"{name}.{word}", partial(self._motion, i, word, quantity)
            yield f"{name}.absolute_acceleration", partial(self._absolute, i)

    def _unit(self, i: int) -> Array:
        row = np.zeros(len(self._assembly.names))
        row[i] = 1.0
        return row

    def _motion(self, i: int, word: str, quantity: Quantity) -> Reading:
        return single(quantity, word, self._over_all(self._unit(i)))

    def _absolute(self, i: int) -> Reading:
        quantity = dof_domain(self._assembly.names[i]).acceleration
        row = self._unit(i)
        return Reading(quantity, acceleration=self._over_all(row), ground=self._ground(row))

    def _reaction(self, i: int) -> Reading:
        """Return (K u + C u̇ + M ü) of a held degree of freedom: what the support adds to balance it."""
        row = self._unit(i)
        domain = dof_domain(self._assembly.names[i])
        quantity = Quantity("reaction", domain.effort.unit, "effort")
        return Reading(quantity, **self._balance(row))

    def _balance(self, row: Array) -> dict[str, Any]:
        """Return the weights of row · (K u + C u̇ + M ü), Rayleigh's damping included."""
        a = self._assembly
        alpha, beta = self.structure._proportional  # type: ignore[union-attr]
        K, C, M = (np.asarray(row @ x) for x in (a.K, a.C, a.M))
        return {
            "displacement": self._over_all(K),
            "velocity": self._over_all(C + alpha * M + beta * K),
            "acceleration": self._over_all(M),
            "ground": self._ground(M),
        }

    def _of_base(self) -> Iterator[tuple[str, Maker]]:
        a = self._assembly
        for d, axis in enumerate(AXES):
            held = a.held & (a.codes % 6 == d)
            if held.any():
                yield f"base.shear_{axis}", partial(self._base, -held.astype(float))

    @cached_property
    def absent(self) -> dict[str, str]:
        """Readings that other structures have and this one has not, with why and what to read instead."""
        if isinstance(self.structure, ShearBuilding):
            return {}
        names = {f"base.shear_{axis}": DOFS[d] for d, axis in enumerate(AXES)}
        return {
            name: f"no support of the structure holds {dof}, so nothing passes to the ground there; what it "
            "stands on takes the shear: read the force of that (of a specimen the channel 'force'), or a "
            "storey's shear"
            for name, dof in names.items()
            if name not in self._makers
        }

    def _base(self, row: Array) -> Reading:
        return Reading(Quantity("base shear", "N", "effort"), **self._balance(row))

    @cached_property
    def _groups(self) -> list[tuple[ElementGroup, Blocks]]:
        """Elements by their kinds, with their matrices."""
        groups = element_groups(self.structure)  # type: ignore[arg-type]
        return [(group, group.blocks()) for group in groups]

    def _of_elements(self) -> Iterator[tuple[str, Maker]]:
        for group, blocks in self._groups:
            for element, places, own in zip(
                group.elements, group.codes, element_rows(group, blocks), strict=True
            ):
                for name, quantity, word, row in own:
                    yield f"{element}.{name}", partial(self._of_element, places, quantity, word, row)

    def _of_element(self, codes: Array, quantity: Quantity, word: str, row: Array) -> Reading:
        return single(quantity, word, self._over_codes(codes, row))

    # ---------------------------------------------------------------- storeys

    def _of_storeys(self, structure: Structure) -> Iterator[tuple[str, Maker]]:
        line = structure.column_line
        if not line:
            return
        up = vertical(structure.nodes, line)
        number = {name: i for i, name in enumerate(structure.nodes)}
        for k in range(1, len(line)):
            lower, upper = line[k - 1], line[k]
            for d, axis in enumerate(AXES):
                codes = np.array([6 * number[lower] + d, 6 * number[upper] + d])
                if d == up or int(codes[1]) not in self._place:
                    continue
                height = structure.nodes[upper][up] - structure.nodes[lower][up]
                head = f"storey[{k}]"
                yield f"{head}.drift_{axis}", partial(self._drift, codes, axis, 1.0)
                yield f"{head}.drift_ratio_{axis}", partial(self._drift, codes, axis, height)
                yield f"{head}.shear_{axis}", partial(self._shear, lower, upper, up, d)
                at = self._place[int(codes[1])]
                yield f"{head}.acceleration_{axis}", partial(self._absolute, at)

    def _drift(self, codes: Array, axis: str, height: float) -> Reading:
        what = f"storey drift in {axis}"
        quantity = (
            Quantity(what, "m", "displacement")
            if height == 1.0
            else Quantity(f"storey drift ratio in {axis}")
        )
        return Reading(quantity, self._over_codes(codes, np.array([-1.0, 1.0]) / height))

    def _shear(self, lower: str, upper: str, up: int, d: int) -> Reading:
        """Return what the part above the middle of a storey passes to the part below, by elastic forces."""
        structure: Any = self.structure
        low, high = (structure.nodes[n][up] for n in (lower, upper))
        row = np.zeros(len(self._assembly.names))
        for group, blocks in self._groups:
            if group.xyz.shape[1] != 2:
                continue
            tops = crossing(np.array([(low + high) / 2, 1e-9 * (high - low)]), group.xyz[:, :, up])
            per_end = group.codes.shape[1] // 2
            for e, end in zip(*np.nonzero(tops), strict=True):
                own = group.codes[e]
                mine = [i for i in range(end * per_end, (end + 1) * per_end) if own[i] % 6 == d]
                for j, weight in enumerate(blocks.K[e][mine].sum(axis=0)):
                    if weight and int(own[j]) in self._place:
                        row[self._place[int(own[j])]] += weight
        return Reading(Quantity(f"storey shear in {AXES[d]}", "N", "effort"), self._over_all(row))


Weigh = Callable[[Any], dict[int, float]]
"""Gives weights over the degrees of freedom of matrices from a row over the floors."""


def building_readings(building: ShearBuilding, weigh: Weigh) -> Iterator[tuple[str, Maker]]:
    """Yield names and makers of a building's readings.

    Parameters
    ----------
    building
        Of storeys in a chain.
    weigh
        From floors to the degrees of freedom of the matrices, which may have been reduced.
    """
    floors = np.eye(len(building.masses))
    domain = dof_domain(building.dofs[0])
    kinds = (domain.displacement, domain.flow, domain.acceleration)
    for i, (name, k) in enumerate(zip(building.dofs, building.stiffnesses, strict=True)):
        drift = floors[i] - (floors[i - 1] if i else 0.0)
        for word, quantity in zip(MOTIONS, kinds, strict=True):
            yield f"{name}.{word}", partial(_read_floor, weigh, quantity, word, floors[i])
        storey = f"storey[{i + 1}]"
        for at in (f"{name}.absolute_acceleration", f"{storey}.acceleration_x"):
            yield at, partial(_absolute_floor, weigh, floors[i])
        moved = Quantity("storey drift in x", "m", "displacement")
        yield f"{storey}.drift_x", partial(_read_floor, weigh, moved, "displacement", drift)
        force = Quantity("storey shear in x", "N", "effort")
        yield f"{storey}.shear_x", partial(_read_floor, weigh, force, "displacement", float(k) * drift)
    yield "base.shear_x", partial(_building_base, weigh, building, floors[0])


def _read_floor(weigh: Weigh, quantity: Quantity, word: str, row: Array) -> Reading:
    return single(quantity, word, weigh(row))


def _absolute_floor(weigh: Weigh, row: Array) -> Reading:
    quantity = dof_domain("floor.ux").acceleration
    return single(quantity, "acceleration", weigh(row), {"ux": 1.0})


def _building_base(weigh: Weigh, building: ShearBuilding, first: Array) -> Reading:
    """Return what spring and dashpot of the first storey pass to the ground."""
    k = float(building.stiffnesses[0])
    c = 0.0 if building.dampings is None else float(building.dampings[0])
    slow = weigh((c + float(building.rayleigh[1]) * k) * first)
    return Reading(Quantity("base shear", "N", "effort"), weigh(k * first), slow)


@dataclass(frozen=True)
class Source:
    """What matrices came from.

    Attributes
    ----------
    structure
        As it was when they were assembled.
    mass
        ``"consistent"`` or ``"lumped"``.
    basis
        Shape (n, r): the structure's n free degrees of freedom from the r of the matrices; None where they
        are the same.
    """

    structure: Structure | ShearBuilding
    mass: str = "consistent"
    basis: NDArray[np.float64] | None = None


def structure_data(matrices: Matrices) -> Any:
    """Return the description of the structure that matrices came from; None where that is not known."""
    while "_reduced" in vars(matrices):
        matrices = vars(matrices)["_reduced"].full
    origin = origin_of(matrices)
    return None if origin is None else plain(origin.arguments.get("structure"))


def source_of(matrices: Matrices) -> Source:
    """Return the structure that matrices came from, and the way back to its degrees of freedom.

    Examples
    --------
    >>> from bondloop.structures import ShearBuilding, guyan
    >>> small = guyan(ShearBuilding(masses=(2.0, 1.0), stiffnesses=(6.0, 3.0)).assemble(), ["floor[2].ux"])
    >>> source_of(small.matrices).basis.tolist()
    [[0.3333333333333333], [1.0]]
    """
    known = vars(matrices).get("_source")
    if known is None:
        known = _found_source(matrices)
        object.__setattr__(matrices, "_source", known)  # making a structure anew takes time
    assert isinstance(known, Source)
    return known


def _found_source(matrices: Matrices) -> Source:
    reduced = vars(matrices).get("_reduced")
    if reduced is not None:
        full = source_of(reduced.full)
        basis = reduced.basis if full.basis is None else full.basis @ reduced.basis
        return Source(full.structure, full.mass, basis)
    origin = origin_of(matrices)
    data = None if origin is None else origin.arguments.get("structure")
    if origin is None or data is None:
        raise InputError(
            "these matrices do not say from which structure they come, so that no members, supports and "
            "storeys can be read; use those of structure.assemble(), or a reduction of these"
        )
    structure = data if isinstance(data, (Structure, ShearBuilding)) else restore(data)
    return Source(structure, origin.arguments.get("mass", "consistent"))
