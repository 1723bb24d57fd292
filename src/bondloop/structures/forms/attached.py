"""Devices between the degrees of freedom of a structure: bars that yield, hinges at the ends of beams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import Zero, bond, own_part
from bondloop.bondgraph.elements import TF, C
from bondloop.devices import LargeBar, OdeSpecimen
from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError, unknown_name
from bondloop.units import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bondloop.bondgraph import Part, Terminal
    from bondloop.structures.elements.base import Number
    from bondloop.structures.forms.structure_model import StructureModel
    from bondloop.structures.structure import Structure


def attach(model: StructureModel, name: str, device: OdeSpecimen, way: Mapping[str, float]) -> None:
    """Put a device between degrees of freedom of a structure, in either form.

    Its displacement is the sum of weights times degrees of freedom, and its force acts on each with that
    weight: between two floors ``{"two.ux": 1, "one.ux": -1}``, of a truss bar `elongation`. A plastic hinge
    is a device between the rotations of two nodes at one place that are tied in all else (`Structure.tie`).

    Parameters
    ----------
    model
        From `field_form` or `network_form`.
    name
        Of the device in the model, by which its parameters are set.
    device
        A device, or a specimen of one's own with one interface.
    way
        Weights by degree of freedom.

    Examples
    --------
    >>> from bondloop.devices import Bilinear
    >>> from bondloop.structures import ShearBuilding, attach, field_form
    >>> building = ShearBuilding(masses=[2000, 1500], stiffnesses=[8e5, 6e5])
    >>> model = field_form(building.assemble(), "building", forces={"floor[2].ux": "wind"})
    >>> attach(model, "brace", Bilinear("1 kN/mm", "5 kN"), {"floor[2].ux": 1, "floor[1].ux": -1})
    >>> sorted(p for p in model.compile().parameters if p.startswith("brace"))[:2]
    ['brace.hardening', 'brace.isotropic']
    """
    given: object = device
    if not isinstance(given, OdeSpecimen) or given.interfaces != 1:
        raise InputError(f"attach: expected a device with one interface; found {device!r:.60}")
    try:
        weights = {dof: float(weight) for dof, weight in way.items() if weight}
    except (AttributeError, TypeError, ValueError):
        weights = {}
    if not weights or not np.isfinite([*weights.values()]).all():
        raise InputError(
            "attach: expected finite weights by degree of freedom, {'b.ux': 1, 'a.ux': -1}; found "
            f"{way!r:.60}"
        )
    element = device.element()
    _put(model, name, element)
    _bond_along(model, name, element, weights)
    model._devices[name] = (device, (weights,))


def attach_bar(
    model: StructureModel,
    name: str,
    structure: Structure,
    a: str,
    b: str,
    *,
    EA: Number,
    tension: Number = 0.0,
    tension_only: bool = False,
) -> None:
    """Put a bar or a cable between two nodes that may move by any amount: its force follows its axis.

    It has no mass; give its nodes theirs. `Bar` is the same for small displacements, where it stays linear.

    Parameters
    ----------
    model
        From `field_form` or `network_form`, whose degrees of freedom are those of the structure.
    name
        Of the bar in the model.
    structure
        With the nodes.
    a, b
        Names of its ends.
    EA
        Modulus times area, N.
    tension
        Force that it carries between the nodes as they are described, N.
    tension_only
        Whether it goes slack when it is pushed: a cable.

    Examples
    --------
    A cable of two pieces across 2 m, without a force in it, sags under a load in its middle:

    >>> from bondloop.structures import PointMass, Structure, attach_bar, field_form, static
    >>> s = Structure("line")
    >>> for node, x in (("left", 0.0), ("middle", 1.0), ("right", 2.0)):
    ...     s.node(node, x=x)
    ...     _ = s.add(PointMass(node, m=2.0, dofs=("ux", "uy")))
    >>> for end in ("left", "right"):
    ...     s.support(end)
    >>> model = field_form(s.assemble(free=True), "line")
    >>> for name, ends in {"one": ("left", "middle"), "other": ("middle", "right")}.items():
    ...     attach_bar(model, name, s, *ends, EA="1 MN", tension="2 kN", tension_only=True)
    >>> static(model, {"middle.uy": -1000.0}).round(4).tolist()
    [0.0, -0.0869]
    """
    for node in (a, b):
        if node not in structure.nodes:
            raise InputError(f"attach_bar: {unknown_name('node', node, structure.nodes)}")
    stiffness = POSITIVE.check(EA, "attach_bar(EA)", "N")
    force = quantity(tension, "N") if isinstance(tension, str) else float(tension)
    if not -stiffness < force < np.inf:
        raise InputError(f"attach_bar(tension): expected more than -EA = {-stiffness:g} N; found {force:g} N")
    span = np.array(structure.nodes[b]) - structure.nodes[a]
    length = float(np.linalg.norm(span))
    assembly = structure.assembly()
    ways = []
    for letter, part in zip("xyz", span.tolist(), strict=True):
        ends = {f"{b}.u{letter}": 1.0, f"{a}.u{letter}": -1.0}
        free = [dof for dof in ends if dof in model.dofs]
        for dof in ends:
            if dof not in free and dof in assembly.names and not assembly.held[assembly.names.index(dof)]:
                model.junction(dof)  # which says why it is not there
        ways.append({dof: ends[dof] for dof in free})
        if part and not free:
            raise InputError(
                f"attach_bar: neither {a} nor {b} can move along {letter}, but the bar between them extends "
                f"there by {part:g} m; bars between nodes that move in the plane lie in it"
            )
    flat = not ways[2]
    if not ways[0] or not ways[1]:
        raise InputError(
            f"attach_bar: the nodes {a} and {b} cannot move in x and y; give one of them both degrees of "
            "freedom (a PointMass with dofs=('ux', 'uy'))"
        )
    bar = LargeBar(
        stiffness=stiffness,
        length=length / (1 + force / stiffness),
        **dict(zip(("span_x", "span_y", "span_z"), span.tolist(), strict=True)),
        dimensions=2 if flat else 3,
        tension_only=tension_only,
    )
    element = bar.element()
    _put(model, name, element)
    for i, way in enumerate(ways[: bar.interfaces]):
        _bond_along(model, f"{name}_{'xyz'[i]}", getattr(element, element.port_names[i]), way)
    model._devices[name] = (bar, tuple(ways[: bar.interfaces]))
    _keep_places(model, [dof for way in ways for dof in way])


def _keep_places(model: StructureModel, dofs: Iterable[str]) -> None:
    """Let degrees of freedom that nothing else holds know where they are: a spring of no stiffness."""
    K = model.matrices.K if model.matrices is not None else None
    for dof in dofs:
        place = f"{dof.replace('.', '_')}_place"
        if K is None or own_part(model, place) is not None or K[[model.dofs.index(dof)]].nnz:
            continue
        setattr(model, place, C(stiffness=0.0))
        bond(model.junction(dof), getattr(model, place))


def _put(model: StructureModel, name: str, part: Part) -> None:
    """Put a part of a device into a structure, which remembers that it is none of its own."""
    setattr(model, name, part)
    model._device_parts.append(name)


def _bond_along(
    model: StructureModel, name: str, port: Part | Terminal, weights: Mapping[str, float]
) -> None:
    """Bond a port of an element to the sum of weights times degrees of freedom."""
    junctions = [model.junction(dof) for dof in weights]
    stretch = Zero()
    _put(model, f"{name}_stretch", stretch)
    for i, (junction, weight) in enumerate(zip(junctions, weights.values(), strict=True)):
        ends = (junction, stretch) if weight > 0 else (stretch, junction)
        if abs(weight) == 1:
            bond(*ends)
            continue
        lever = TF(modulus=abs(weight) if weight > 0 else 1 / abs(weight))
        _put(model, f"{name}_lever_{i}", lever)
        bond(ends[0], lever)
        bond(lever, ends[1])
    bond(stretch, port)
