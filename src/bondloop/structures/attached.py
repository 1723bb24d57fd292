"""Devices between the degrees of freedom of a structure: bars that yield, hinges at the ends of beams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph import TF, Zero, bond
from bondloop.devices import OdeSpecimen
from bondloop.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.structures.forms import StructureModel

__all__ = ["attach"]


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
    given: Any = device
    if not isinstance(given, OdeSpecimen) or given.interfaces != 1:
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
