"""A model on moving ground: what its structures are loaded with, and in which coordinates the rest moves.

Structures are computed in coordinates that move with the ground, and loaded by -(M ι + M_a e) ẍ.
What is bonded to them (a tuned mass, a brace, an interface) may be in either coordinates. Where it has masses
of its own it has to move as it does in space: its flows there are the structure's and the ground's together,
and no one needs to know how its masses lie. Where it stands on the ground itself it has to move as its
structure does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from bondloop.bondgraph import I, Input, Model, MSe, MSf, One, Zero, bond
from bondloop.bondgraph.cut import INTERFACE, interfaces
from bondloop.bondgraph.field_elements import IField
from bondloop.bondgraph.parts import Port, Terminal, reading
from bondloop.errors import InputError
from bondloop.structures.elements.base import DOFS
from bondloop.structures.forms import StructureModel
from bondloop.substructure.rigid_flows import is_power, rigid_flows

if TYPE_CHECKING:
    from bondloop.bondgraph.parts import Bond, Part

__all__ = ["Coordinates", "GroundFrame", "ground_input"]

Coordinates = Literal["relative", "absolute"]
"""Relative to the ground, or in space."""


def ground_input(where: str) -> str:
    """Return the name of the input that is the ground's acceleration in a direction, or of a support.

    >>> ground_input("ux"), ground_input("pier[2].ux")
    ('ground_ux', 'ground_pier_2_ux')
    """
    words = "".join(c if c.isalnum() else "_" for c in where.replace("]", ""))
    return f"ground_{words}"


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

    Examples
    --------
    >>> from bondloop.bondgraph import C
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
        self, model: Model, wheres: Sequence[str], carried: Sequence[Mapping[str, float]] | None = None
    ) -> None:
        self.model, self.wheres, self.carried = model, list(wheres), carried
        self.uniform = all(w in DOFS for w in self.wheres)
        self.structures = [p for _, p in model.walk() if isinstance(p, StructureModel)]
        if not self.structures and carried is None:
            raise InputError(
                "ground: there is no structure that stands on it; make one of the model with field_form, "
                "network_form or modal_form, or drive the model's own source that is the ground"
            )
        if INTERFACE in model.__dict__:
            self.sensors = interfaces(model)
        else:
            self.sensors = []
        self.groups = self._grouped()

    # ---------------------------------------------------------------- what there is

    def _grouped(self) -> list[_Group]:
        """Return what is left without the structures, as parts that hang together."""
        inside: dict[Part, StructureModel] = {}
        for s in self.structures:
            inside.update({p: s for _, p in s.walk()})
        left = [
            p for _, p in self.model.walk() if p not in inside and hasattr(p, "_bonds") and not p.is_signal
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
                for b in part._bonds:
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
            imposed = {self.sensors[i]._bonds[0]: self.carried[i][where] for i in group.ends}
        rigid = rigid_flows(group.parts, imposed)
        return dict(rigid.flows), rigid.stretched

    def _tests(self, group: _Group) -> list[str]:
        """Return the rigid motions by which it is told whether a group stands on the ground."""
        if self.uniform:
            return self.wheres
        known = [set(s._known_footing().rigid) for _, s, _ in group.joints]
        if not group.joints and self.carried is not None:
            known = [set(c) for c in self.carried]
        return [d for d in ("ux", "uy", "uz") if known and all(d in k for k in known)]

    def natural(self, group: _Group) -> Coordinates | None:
        """Return the coordinates that a group needs; None where either will do."""
        bound = bool(group.joints) or (self.carried is not None and bool(group.ends))
        if not bound:
            return None
        along = [self._along(group, w) for w in self._tests(group)]
        inertias = [p for p in group.parts if isinstance(p, (I, IField))]
        if any(stretched for _, stretched in along):
            if inertias:
                springs = [
                    p.path for p in group.parts if type(p).__name__ in ("C", "R", "CField", "RField", "Sf")
                ]
                raise InputError(
                    f"ground: {_names(inertias)} stands on the ground by {', '.join(springs[:3])} and has "
                    "mass of its own, and a bond graph does not tell how that goes with the ground; make it "
                    "part of a structure (field_form), or put its mass into the structure"
                )
            if not self.uniform:
                raise InputError(
                    f"ground: {_names(group.parts)} stands on the ground itself, and which support moves it "
                    "cannot be told; make it part of the structure"
                )
            return "relative"
        if not self.uniform:
            return "absolute"
        moved = [b for flows, _ in along for b, f in flows.items() if abs(f) > 1e-12]
        return "absolute" if any(b in p._bonds for p in inertias for b in moved) else None

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs that are the ground's accelerations."""
        return [ground_input(where) for where in self.wheres]

    @cached_property
    def masses(self) -> list[str]:
        """Paths of what has mass and goes with the ground; of a half, its structures too."""
        structures = [s.path for s in self.structures] if self.carried is not None else []
        return structures + [
            p.path
            for g in self.groups
            if self.natural(g) == "absolute"
            for p in g.parts
            if isinstance(p, (I, IField))
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
        tests = [(s, d) for s in self.structures for d in ("ux", "uy", "uz") if d in s._known_footing().rigid]
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
                    found[i][where] = flows[self.sensors[i]._bonds[0]]
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
        shifts: dict[Bond, _Shift] = {}
        for group in self.groups:
            need = self.natural(group)
            frame = need or (coordinates if group.ends else "relative")
            if frame == "absolute":
                for b, s, dof in group.joints:
                    if dof:
                        _add(
                            shifts,
                            b,
                            b.head in group.parts,
                            {w: s.ground_motion(w)[dof] for w in self.wheres},
                        )
            if group.ends and frame != coordinates:
                sign = 1.0 if coordinates == "absolute" else -1.0
                for i in group.ends:
                    b = self.sensors[i]._bonds[0]
                    gains = {w: sign * self._along(group, w)[0][b] for w in self.wheres}
                    _add(shifts, b, b.head is self.sensors[i], gains)
        copy = self.model.copy()
        twins = dict(zip((p for _, p in self.model.walk()), (p for _, p in copy.walk()), strict=True))
        bonds = dict(zip(self.model.bonds(), copy.bonds(), strict=True))
        totals: list[tuple[Zero, _Shift]] = []
        for b, shift in shifts.items():
            if any(abs(gain) > NOTHING for gain in shift.gains.values()):
                totals.append((_opened(copy, bonds[b], len(totals)), shift))
        for where in self.wheres:
            loads = [(twins[one], x) for s in self.structures for one, x in s.ground_load(where)]
            flows = [(total, x.into_head * x.gains[where]) for total, x in totals]
            _drive(copy, where, loads, [(total, gain) for total, gain in flows if abs(gain) > NOTHING])
        return copy


NOTHING = 1e-12
"""Share of the ground's motion that rounding leaves."""


@dataclass
class _Shift:
    """The ground's velocity in a bond: how much by direction; +1 where the head's flow gains it, else -1."""

    into_head: int
    gains: dict[str, float]


def _add(shifts: dict[Bond, _Shift], b: Bond, head: bool, gains: Mapping[str, float]) -> None:
    sign = 1 if head else -1
    if b not in shifts:
        shifts[b] = _Shift(sign, dict(gains))
        return
    for where, gain in gains.items():
        shifts[b].gains[where] += gain * sign * shifts[b].into_head


def _opened(model: Model, b: Bond, number: int) -> Zero:
    """Put a 0-junction into a bond, where flows add up."""
    total = Zero(domain=b.tail.domain or b.head.domain)
    setattr(model, f"ground_total_{number}", total)
    tail = b.tail if b.tail_index is None else Terminal(b.tail, b.tail_index)
    head = b.head if b.head_index is None else Terminal(b.head, b.head_index)
    model._unbond(b)
    bond(tail, total)
    bond(total, head)
    return total


def _drive(
    model: Model, where: str, loads: list[tuple[Part, float]], flows: list[tuple[Zero, float]]
) -> None:
    """Put the ground's acceleration on a model: forces on 1-junctions, velocities into 0-junctions."""
    name = ground_input(where)
    if not loads and not flows:
        return
    source = Input(name, unit="m/s^2")
    setattr(model, name, source)
    for i, (one, load) in enumerate(loads):
        force = MSe(_times(load))
        setattr(model, f"{name}_force_{i}", force)
        bond(source, force)
        bond(force, one)
    if not flows:
        return
    # A mass of 1 kg that is pushed by as many newtons has the ground's velocity.
    push, velocity, mass = MSe(_times(1.0)), One(), I(mass=1.0)
    for word, part in (("push", push), ("velocity", velocity), ("mass", mass)):
        setattr(model, f"{name}_{word}", part)
    bond(source, push)
    bond(push, velocity)
    bond(velocity, mass)
    for i, (total, gain) in enumerate(flows):
        flow = MSf(_times(gain))
        setattr(model, f"{name}_flow_{i}", flow)
        bond(reading(mass, "momentum"), flow)
        bond(flow, total)


def _times(factor: float) -> Callable[[Any], Any]:
    return lambda signal: factor * signal


def _names(parts: Sequence[Part]) -> str:
    paths = [p.path for p in parts if not isinstance(p, Port)]
    return ", ".join(paths[:3]) + (" ..." if len(paths) > 3 else "")
