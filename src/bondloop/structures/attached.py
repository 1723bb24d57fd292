"""Devices between the degrees of freedom of a structure: bars that yield, hinges at the ends of beams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import TF, Zero, bond
from bondloop.devices import OdeSpecimen
from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.structures.forms import StructureModel
    from bondloop.structures.structure import Structure

__all__ = ["attach", "bar_way"]


def attach(model: StructureModel, name: str, device: OdeSpecimen, way: Mapping[str, float]) -> None:
    """Put a device between degrees of freedom of a structure, in either form.

    Its displacement is the sum of weights times degrees of freedom, and its force acts on each with that
    weight: between two floors ``{"two.ux": 1, "one.ux": -1}``, of a truss bar `bar_way`. A plastic hinge is a
    device between the rotations of two nodes at one place that are tied in all else (`Structure.tie`).

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
    if not isinstance(device, OdeSpecimen) or device.interfaces != 1:
        raise InputError(f"attach: expected a device with one interface; found {device!r:.60}")
    weights = {dof: float(weight) for dof, weight in way.items() if weight}
    if not weights or not np.isfinite([*weights.values()]).all():
        raise InputError(
            "attach: expected finite weights by degree of freedom, {'b.ux': 1, 'a.ux': -1}; found "
            f"{dict(way)}"
        )
    junctions = [model.junction(dof) for dof in weights]
    stretch, element = Zero(), device.element()
    setattr(model, f"{name}_stretch", stretch)
    setattr(model, name, element)
    for i, (junction, weight) in enumerate(zip(junctions, weights.values(), strict=True)):
        ends = (junction, stretch) if weight > 0 else (stretch, junction)
        if abs(weight) == 1:
            bond(*ends)
            continue
        lever = TF(modulus=abs(weight) if weight > 0 else 1 / abs(weight))
        setattr(model, f"{name}_lever_{i}", lever)
        bond(ends[0], lever)
        bond(lever, ends[1])
    bond(stretch, element)


def bar_way(structure: Structure, a: str, b: str) -> dict[str, float]:
    """Return the way of a bar between two nodes: how its elongation follows from the free displacements.

    Parameters
    ----------
    structure
        Where the nodes are; what holds or ties them is taken into account.
    a, b
        Names of the nodes.

    Examples
    --------
    >>> from bondloop.structures import PointMass, Structure, bar_way
    >>> frame = Structure("frame")
    >>> frame.node("foot", x=0, y=0)
    >>> frame.node("top", x=3, y=4)
    >>> frame.support("foot")
    >>> _ = frame.add(PointMass("top", m="2 t", dofs=("ux", "uy")))
    >>> bar_way(frame, "foot", "top")
    {'top.ux': 0.6, 'top.uy': 0.8}
    """
    names = list(structure.nodes)
    for node in (a, b):
        if node not in names:
            raise InputError(unknown_name("node", node, names, where="bar_way"))
    apart = structure.coordinates[names.index(b)] - structure.coordinates[names.index(a)]
    length = float(np.linalg.norm(apart))
    if not length:
        raise InputError(f"bar_way: '{a}' and '{b}' are at one place; a bar has a length")
    assembly = structure.assembly()
    place = {name: i for i, name in enumerate(assembly.names)}
    weights = np.zeros(len(assembly.names))
    for node, sense in ((a, -1.0), (b, 1.0)):
        for word, part in zip(("ux", "uy", "uz"), (apart / length).tolist(), strict=True):
            dof = f"{node}.{word}"
            if not part or word in structure.supports.get(node, ()):
                continue
            if dof not in place:
                raise InputError(
                    f"bar_way: '{dof}' has no mass and no stiffness yet; add a PointMass, or hold it"
                )
            weights[place[dof]] += sense * part
    free = np.asarray(assembly.T.T @ weights)
    return {name: float(w) for name, w in zip(assembly.free_names, free, strict=True) if w}
