"""A model on moving ground: what its structures are loaded with, and in which coordinates the rest moves.

Structures are computed in coordinates that move with the ground, and loaded by -(M ι + M_a e) ẍ; dashpots to
a support that moves by itself load them with -(C ι + C_a e) ẋ.
What is bonded to them (a tuned mass, a brace, an interface) may be in either coordinates. Where it has masses
of its own it has to move as it does in space: its flows there are the structure's and the ground's together,
and no one needs to know how its masses lie. Where it stands on the ground itself it has to move as its
structure does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from bondloop.bondgraph import C, Model, R, Sf
from bondloop.bondgraph.cut import INTERFACE, interfaces
from bondloop.bondgraph.elements import CField, RField
from bondloop.bondgraph.parts import Port, bonds_of
from bondloop.errors import InputError
from bondloop.structures.elements.base import DOFS
from bondloop.structures.forms.structure_model import StructureModel, known_footing
from bondloop.substructure.ground_edits import NOTHING, Shift, add_shift, drive, ground_input, opened
from bondloop.substructure.rigid_flows import has_mass, is_power, is_untold, rigid_flows

if TYPE_CHECKING:
    from bondloop.bondgraph import Zero
    from bondloop.bondgraph.parts import Bond, Part

__all__ = ["Coordinates", "GroundFrame"]

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
        rigid = rigid_flows(group.parts, imposed)
        return dict(rigid.flows), rigid.stretched

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
        self._refuse_untold(group, along)
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
        moved = [b for flows, _ in along for b, f in flows.items() if abs(f) > 1e-12]
        return "absolute" if any(b in bonds_of(p) for p in inertias for b in moved) else None

    def _refuse_untold(self, group: _Group, along: list[tuple[dict[Bond, float], bool]]) -> None:
        """Refuse laws that the ground moves and that do not say whether they have mass."""
        moved = {b for flows, _ in along for b, f in flows.items() if abs(f) > NOTHING}
        for part in group.parts:
            if is_untold(part) and moved.intersection(bonds_of(part)):
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
        shifts: dict[Bond, Shift] = {}
        for group in self.groups:
            need = self.natural(group)
            frame = need or (coordinates if group.ends else "relative")
            if frame == "absolute":
                for b, s, dof in group.joints:
                    if dof:
                        add_shift(
                            shifts,
                            b,
                            b.head in group.parts,
                            {w: s.ground_motion(w)[dof] for w in self.wheres},
                        )
            if group.ends and frame != coordinates:
                sign = 1.0 if coordinates == "absolute" else -1.0
                for i in group.ends:
                    b = bonds_of(self.sensors[i])[0]
                    gains = {w: sign * self._along(group, w)[0][b] for w in self.wheres}
                    add_shift(shifts, b, b.head is self.sensors[i], gains)
        copy = self.model.copy()
        twins = dict(zip((p for _, p in self.model.walk()), (p for _, p in copy.walk()), strict=True))
        bonds = dict(zip(self.model.bonds(), copy.bonds(), strict=True))
        totals: list[tuple[Zero, Shift]] = []
        for b, shift in shifts.items():
            if any(abs(gain) > NOTHING for gain in shift.gains.values()):
                totals.append((opened(copy, bonds[b], len(totals)), shift))
        for where in self.wheres:
            loads = [(twins[one], x) for s in self.structures for one, x in s.ground_load(where)]
            drags = [(twins[one], x) for s in self.structures for one, x in s.ground_drag(where)]
            flows = [(total, x.into_head * x.gains[where]) for total, x in totals]
            drive(copy, where, loads, drags, [(total, gain) for total, gain in flows if abs(gain) > NOTHING])
        return copy


def _names(parts: Sequence[Part]) -> str:
    paths = [p.path for p in parts if not isinstance(p, Port)]
    return ", ".join(paths[:3]) + (" ..." if len(paths) > 3 else "")
