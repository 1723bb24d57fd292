"""A model on moving ground: what its structures are loaded with, and in which coordinates the rest moves.

Structures are computed in coordinates that move with the ground, and loaded by -(M ι + M_a e) ẍ; dashpots to
a support that moves by itself load them with -(C ι + C_a e) ẋ.
What is bonded to them (a tuned mass, a brace, an interface) may be in either coordinates. Where it has masses
of its own it has to move as it does in space: its flows there are the structure's and the ground's together,
and no one needs to know how its masses lie. Where it stands on the ground itself it has to move as its
structure does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bondloop.bondgraph import (
    INTERFACE,
    Model,
    One,
    Port,
    Terminal,
    Zero,
    bond,
    bonds_of,
    interfaces,
    reading,
    sides_of,
    unbond,
)
from bondloop.bondgraph.elements import (
    SS,
    TF,
    C,
    CField,
    I,
    IField,
    Input,
    MSe,
    MSf,
    Multiport,
    R,
    RField,
    Se,
    Sf,
)
from bondloop.errors import InputError
from bondloop.structures import DOFS, StructureModel, known_footing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph import Bond, Part


Coordinates = Literal["relative", "absolute"]
"""Relative to the ground, or in space."""


@dataclass
class _Group:
    """Parts that hang together outside of structures.

    Attributes
    ----------
    parts
        The parts.
    joints
        Bonds to structures, each with the structure and its degree of freedom.
    ends
        Numbers of the interfaces among the parts.
    """

    parts: list[Part]
    joints: list[tuple[Bond, StructureModel, str]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


class GroundFrame:
    """A model of which structures stand on moving ground.

    Parameters
    ----------
    model
        A whole model, or a half.
    wheres
        Directions in which all supports move (``"ux"``), or supports that move one by one (``"foot.ux"``).
    carried
        Of a physical half: how far each of its interfaces goes with the ground, by direction.
    rounding
        Share of the ground's motion that rounding leaves.

    Examples
    --------
    >>> from bondloop.bondgraph import C, I, Model, One
    >>> from bondloop.structures import Matrices, field_form
    >>> whole = Model("tower")
    >>> whole.frame = field_form(Matrices([[2.0]], None, [[8.0]], ("top.ux",)), "frame")
    >>> whole.v = One()
    >>> _ = whole.frame.top.ux >> whole.v >> [I(mass=0.1), C(stiffness=1.0)]
    >>> GroundFrame(whole, ["ux"]).moved()
    Traceback (most recent call last):
    bondloop.errors.InputError: ground: I stands on the ground by C and has mass of its own...
    """

    def __init__(
        self,
        model: Model,
        wheres: Sequence[str],
        carried: Sequence[Mapping[str, float]] | None = None,
        *,
        rounding: float = 1e-12,
    ) -> None:
        self.model, self.wheres, self.carried, self.rounding = model, list(wheres), carried, rounding
        self.uniform = all(w in DOFS for w in self.wheres)
        self.structures = [p for _, p in model.walk() if isinstance(p, StructureModel)]
        if not self.structures and carried is None:
            raise InputError(
                "ground: there is no structure that stands on it; make one of the model with field_form, "
                "network_form or modal_form, or drive the model's own source that is the ground"
            )
        self.sensors = interfaces(model) if INTERFACE in model.__dict__ else []
        self.groups = self._grouped()

    # ---------------------------------------------------------------- what there is

    def _grouped(self) -> list[_Group]:
        """Return what is left without the structures, as parts that hang together."""
        inside: dict[Part, StructureModel] = {}
        for s in self.structures:
            devices = s.device_parts()  # move by the rules for what is bonded, though they are in it by name
            inside.update({p: s for _, p in s.walk() if p not in devices})
        left = [
            p
            for _, p in self.model.walk()
            if p not in inside and not isinstance(p, Model) and not p.is_signal
        ]
        seen: set[Part] = set()
        groups = []
        for first in left:
            if first in seen:
                continue
            group, work = _Group([]), [first]
            seen.add(first)
            while work:
                part = work.pop()
                group.parts.append(part)
                if part in self.sensors:
                    group.ends.append(self.sensors.index(part))
                for b in bonds_of(part):
                    other = b.head if b.tail is part else b.tail
                    if not is_power(b):
                        continue
                    if other in inside:
                        group.joints.append((b, inside[other], self._dof(inside[other], other)))
                    elif other not in seen:
                        seen.add(other)
                        work.append(other)
            groups.append(group)
        return groups

    def _dof(self, structure: StructureModel, part: Part) -> str:
        for dof in structure.dofs:
            if structure.junction(dof) is part:
                return dof
        return ""  # a force on a coordinate that is none of a node's

    def _along(self, group: _Group, where: str) -> tuple[dict[Bond, float], bool]:
        """Return the flows of a group that is carried along, and whether that stretches something."""
        imposed = {b: s.ground_motion(where)[dof] for b, s, dof in group.joints if dof}
        if not group.joints and self.carried is not None:
            imposed = {bonds_of(self.sensors[i])[0]: self.carried[i][where] for i in group.ends}
        return rigid_flows(group.parts, imposed)

    def _tests(self, group: _Group) -> list[str]:
        """Return the rigid motions by which it is told whether a group stands on the ground."""
        if self.uniform:
            return self.wheres
        known = [set(known_footing(s).rigid) for _, s, _ in group.joints]
        if not group.joints and self.carried is not None:
            known = [set(c) for c in self.carried]
        return [d for d in ("ux", "uy", "uz") if known and all(d in k for k in known)]

    def natural(self, group: _Group) -> Coordinates | None:
        """Return the coordinates that a group needs; None where either will do."""
        bound = bool(group.joints) or (self.carried is not None and bool(group.ends))
        if not bound:
            return None
        along = [self._along(group, w) for w in self._tests(group)]
        self._refuse_unstated_mass(group, along)
        inertias = [p for p in group.parts if has_mass(p)]
        if any(stretched for _, stretched in along):
            if inertias:
                springs = [
                    p.path
                    for p in group.parts
                    if isinstance(p, (C, R, CField, RField, Sf)) or getattr(p, "mass_is", None) == "standing"
                ]
                raise InputError(
                    f"ground: {_names(inertias)} stands on the ground by {', '.join(springs[:3])} and has "
                    "mass of its own, and a bond graph does not tell how that goes with the ground; make it "
                    "part of a structure (field_form), or put its mass into the structure and leave it none"
                )
            if not self.uniform:
                raise InputError(
                    f"ground: {_names(group.parts)} stands on the ground itself, and which support moves it "
                    "cannot be told; make it an element of the structure"
                )
            return "relative"
        if not self.uniform:
            return "absolute"
        moved = [b for flows, _ in along for b, f in flows.items() if abs(f) > self.rounding]
        return "absolute" if any(b in bonds_of(p) for p in inertias for b in moved) else None

    def _refuse_unstated_mass(self, group: _Group, along: list[tuple[dict[Bond, float], bool]]) -> None:
        """Refuse laws that the ground moves and that do not say whether they have mass."""
        moved = {b for flows, _ in along for b, f in flows.items() if abs(f) > self.rounding}
        for part in group.parts:
            if has_unstated_mass(part) and moved.intersection(bonds_of(part)):
                kind = type(getattr(part, "law", part)).__name__
                raise InputError(
                    f"ground: {part.path} is a {kind}, which does not say whether it has mass; write in its "
                    "class mass_is = 'none' (a brace, a damper that stands on the ground), 'carried' (all of "
                    "it hangs on its end, as a tuned mass) or 'standing' (it has mass, and stands on the "
                    "ground)"
                )

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs that are the ground's accelerations."""
        return [ground_input(where) for where in self.wheres]

    @cached_property
    def masses(self) -> list[str]:
        """Paths of what has mass and goes with the ground; of a half, its structures too."""
        structures = [s.path for s in self.structures] if self.carried is not None else []
        return structures + [
            p.path for g in self.groups if self.natural(g) == "absolute" for p in g.parts if has_mass(p)
        ]

    @property
    def at_interfaces(self) -> Coordinates | None:
        """Coordinates that the groups at the interfaces need; None where either will do."""
        needs = {self.natural(g) for g in self.groups if g.ends} - {None}
        if self.structures and self.carried is not None:
            # One that stands on the ground is loaded in the ground's coordinates.
            needs |= {"absolute" if self.floats else "relative"}
        if len(needs) > 1:
            raise InputError(
                "ground: one part of the specimen stands on the ground, another has masses that go with it; "
                "cut them into two tests, or make them one structure"
            )
        return next(iter(needs), None)

    @cached_property
    def floats(self) -> bool:
        """Whether a specimen that has structures in it goes along with the ground without any force."""
        groups = [self.natural(g) for g in self.groups]
        tests = [(s, d) for s in self.structures for d in ("ux", "uy", "uz") if d in known_footing(s).rigid]
        return self.uniform and all(s.floats(d) for s, d in tests) and "relative" not in groups

    def ends(self) -> list[dict[str, float]]:
        """Return for each interface how far it goes with the ground, by direction or support."""
        found: list[dict[str, float]] = [{} for _ in self.sensors]
        for group in self.groups:
            if not group.ends:
                continue
            for where in dict.fromkeys([*self.wheres, *self._tests(group)]):
                flows, _ = self._along(group, where)
                for i in group.ends:
                    found[i][where] = flows[bonds_of(self.sensors[i])[0]]
        return found

    # ---------------------------------------------------------------- the model that moves

    def moved(self, coordinates: Coordinates = "relative") -> Model:
        """Return a copy of the model with the ground's acceleration among its inputs.

        Parameters
        ----------
        coordinates
            Of what happens at its interfaces, where it has any.
        """
        if self.carried is not None and self.structures and coordinates == "absolute" and self.floats:
            return self.model.copy()  # moved in space, it needs nothing else
        copy = self.model.copy()
        twins = dict(zip((p for _, p in self.model.walk()), (p for _, p in copy.walk()), strict=True))
        bonds = dict(zip(self.model.bonds(), copy.bonds(), strict=True))
        totals = [
            (opened(copy, bonds[b], i), gains)
            for i, (b, gains) in enumerate(self._gains(coordinates).items())
        ]
        for where in self.wheres:
            loads = [(twins[one], x) for s in self.structures for one, x in s.ground_load(where)]
            drags = [(twins[one], x) for s in self.structures for one, x in s.ground_drag(where)]
            flows = [(total, gains[where]) for total, gains in totals if abs(gains[where]) > self.rounding]
            drive(copy, where, loads, drags, flows)
        return copy

    def _gains(self, coordinates: Coordinates) -> dict[Bond, dict[str, float]]:
        """Return by bond and direction what its head's flow gains of the ground's velocity."""
        gained: dict[Bond, dict[str, float]] = {}

        def add(b: Bond, head: bool, gains: Mapping[str, float]) -> None:
            total = gained.setdefault(b, dict.fromkeys(self.wheres, 0.0))
            for where, gain in gains.items():
                total[where] += gain if head else -gain

        for group in self.groups:
            frame = self.natural(group) or (coordinates if group.ends else "relative")
            for b, s, dof in group.joints if frame == "absolute" else ():
                if dof:
                    add(b, b.head in group.parts, {w: s.ground_motion(w)[dof] for w in self.wheres})
            for i in group.ends if frame != coordinates else ():
                sign = 1.0 if coordinates == "absolute" else -1.0
                b = bonds_of(self.sensors[i])[0]
                own = {w: sign * self._along(group, w)[0][b] for w in self.wheres}
                add(b, b.head is self.sensors[i], own)
        return {b: x for b, x in gained.items() if any(abs(gain) > self.rounding for gain in x.values())}


def _names(parts: Sequence[Part]) -> str:
    paths = [p.path for p in parts if not isinstance(p, Port)]
    return ", ".join(paths[:3]) + (" ..." if len(paths) > 3 else "")


def opened(model: Model, b: Bond, number: int) -> Zero:
    """Put a 0-junction into a bond, where flows add up."""
    total = Zero(domain=b.tail.domain or b.head.domain)
    setattr(model, f"ground_total_{number}", total)
    tail = b.tail if b.tail_index is None else Terminal(b.tail, b.tail_index)
    head = b.head if b.head_index is None else Terminal(b.head, b.head_index)
    unbond(b)
    bond(tail, total)
    bond(total, head)
    return total


def drive(
    model: Model,
    where: str,
    loads: list[tuple[Part, float]],
    drags: list[tuple[Part, float]],
    flows: list[tuple[Zero, float]],
) -> None:
    """Put the ground's acceleration on a model.

    Parameters
    ----------
    model, where
        The model, and the direction or support.
    loads, drags
        1-junctions, and the forces on them per unit of the ground's acceleration and of its velocity.
    flows
        0-junctions, and the shares of the ground's velocity that they gain.
    """
    name = ground_input(where)
    if not loads and not drags and not flows:
        return
    source = Input(name, unit="m/s^2")
    setattr(model, name, source)
    for i, (one, load) in enumerate(loads):
        force = MSe(_times(load))
        setattr(model, f"{name}_force_{i}", force)
        bond(source, force)
        bond(force, one)
    if not drags and not flows:
        return
    # A mass of 1 kg that is pushed by as many newtons has the ground's velocity.
    push, velocity, mass = MSe(_times(1.0)), One(), I(mass=1.0)
    for word, part in (("push", push), ("velocity", velocity), ("mass", mass)):
        setattr(model, f"{name}_{word}", part)
    bond(source, push)
    bond(push, velocity)
    bond(velocity, mass)
    for i, (one, load) in enumerate(drags):
        force = MSe(_times(load))
        setattr(model, f"{name}_drag_{i}", force)
        bond(reading(mass, "momentum"), force)
        bond(force, one)
    for i, (total, gain) in enumerate(flows):
        flow = MSf(_times(gain))
        setattr(model, f"{name}_flow_{i}", flow)
        bond(reading(mass, "momentum"), flow)
        bond(flow, total)


def _times(factor: float) -> Callable[[Any], Any]:
    return lambda signal: factor * signal


def ground_input(where: str) -> str:
    """Return the name of the input that is the ground's acceleration in a direction, or of a support.

    >>> ground_input("ux"), ground_input("pier[2].ux")
    ('ground_ux', 'ground_pier_2_ux')
    """
    words = "".join(c if c.isalnum() else "_" for c in where.replace("]", ""))
    return f"ground_{words}"


def has_unstated_mass(part: Part) -> bool:
    """Return whether nobody has said how the mass of a part, if any, goes with the ground."""
    return isinstance(part, Multiport) and not isinstance(part, IField) and part.mass_is is None


def has_mass(part: Part) -> bool:
    """Return whether a part has mass of its own."""
    if isinstance(part, (I, IField)):
        return True
    return isinstance(part, Multiport) and part.mass_is in ("carried", "standing")


def is_power(b: Bond) -> bool:
    """Return whether a bond carries power, not a signal."""
    return b.word is None and not b.tail.is_signal and not b.head.is_signal


def rigid_flows(
    parts: Iterable[Part], imposed: Mapping[Bond, float], residual: float = 1e-9
) -> tuple[dict[Bond, float], bool]:
    """Return the flows among parts that are carried along, and whether something is stretched by it.

    Some flows are imposed; the others are such that nothing is stretched, if that can be: no spring, dashpot,
    or source of flow that is fixed to the ground.

    Junctions, ports and transformers are equations of flows. A compliance, a resistor, a gyrator or a source
    of flow asks for no flow; an inertia, a mass that is carried, a source of effort or an interface for
    nothing.

    Parameters
    ----------
    parts
        The parts, each with one-component bonds.
    imposed
        Flows that are known, by bond.
    residual
        What is left of the equations, relative to the imposed flows, where nothing is stretched.
    """
    members = list(parts)
    bonds = list(dict.fromkeys(b for p in members for b in bonds_of(p) if is_power(b)))
    place = {b: i for i, b in enumerate(bonds)}
    hard: list[dict[int, float]] = []
    soft: list[dict[int, float]] = []
    for part in members:
        own = [b for b in bonds_of(part) if is_power(b)]
        if isinstance(part, (One, Port, Zero, TF)) and max(part.size or 1, *(sides_of(part) or (1,))) > 1:
            raise InputError(f"ground: {part.path} has vector bonds, and is not followed; draw single ones")
        if isinstance(part, (One, Port)):
            hard += [{place[own[0]]: 1.0, place[b]: -1.0} for b in own[1:]]
        elif isinstance(part, Zero):
            hard.append({place[b]: 1.0 if b.head is part else -1.0 for b in own})
        elif isinstance(part, TF):
            hard += _transformer(part, own, place)
        elif not (isinstance(part, (I, IField, Se, MSe, SS)) or _follows(part)):
            soft += [{place[b]: 1.0} for b in own]
    values = np.array([imposed.get(b, np.nan) for b in bonds])
    known = ~np.isnan(values)
    total = float(np.abs(values[known]).max(initial=0.0))
    flows, left = _solved(_rows(hard + soft, len(bonds)), values, known)
    stretched = left > residual * max(total, 1e-300)
    if stretched:  # what moves it, without asking what that stretches
        flows, _ = _solved(_rows(hard, len(bonds)), values, known)
    return dict(zip(bonds, flows.tolist(), strict=True)), stretched


def _follows(part: Part) -> bool:
    """Return whether an element of another kind lets itself be moved, or does not say so."""
    return isinstance(part, Multiport) and part.mass_is in ("carried", None)


def _transformer(part: TF, own: list[Bond], place: Mapping[Bond, int]) -> list[dict[int, float]]:
    if len(own) != 2 or not isinstance(part.coefficient, (int, float)):
        return [{place[b]: 1.0} for b in own]
    inward = next((b for b in own if b.head is part), own[0])
    outward = next(b for b in own if b is not inward)
    ratio = float(part.coefficient)
    ratio = ratio if part.form == "mul" else 1.0 / ratio
    return [{place[outward]: 1.0, place[inward]: -ratio}]


def _rows(rows: list[dict[int, float]], count: int) -> NDArray[np.float64]:
    matrix = np.zeros((len(rows), count))
    for i, row in enumerate(rows):
        for j, value in row.items():
            matrix[i, j] += value
    return matrix


def _solved(
    matrix: NDArray[np.float64], values: NDArray[np.float64], known: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float]:
    """Return flows that come closest to the equations, the known ones exact; and what is left over."""
    flows = np.where(known, values, 0.0)
    right = -matrix @ flows
    if (~known).any() and len(matrix):
        flows[~known] = np.linalg.lstsq(matrix[:, ~known], right, rcond=None)[0]
    return flows, float(np.abs(matrix @ flows).max(initial=0.0))
