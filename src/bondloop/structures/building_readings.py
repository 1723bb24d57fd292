"""What is read off a shear building."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.program.quantity import Quantity
from bondloop.structures.dofs import dof_domain
from bondloop.structures.reading import MOTIONS, Maker, Reading, single

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Array
    from bondloop.structures.storeys import ShearBuilding

__all__ = ["building_readings"]

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
            yield f"{name}.{word}", partial(_read, weigh, quantity, word, floors[i])
        storey = f"storey[{i + 1}]"
        for at in (f"{name}.absolute_acceleration", f"{storey}.acceleration_x"):
            yield at, partial(_absolute, weigh, floors[i])
        moved = Quantity("storey drift in x", "m", "displacement")
        yield f"{storey}.drift_x", partial(_read, weigh, moved, "displacement", drift)
        force = Quantity("storey shear in x", "N", "effort")
        yield f"{storey}.shear_x", partial(_read, weigh, force, "displacement", float(k) * drift)
    yield "base.shear_x", partial(_base, weigh, building, floors[0])


def _read(weigh: Weigh, quantity: Quantity, word: str, row: Array) -> Reading:
    return single(quantity, word, weigh(row))


def _absolute(weigh: Weigh, row: Array) -> Reading:
    quantity = dof_domain("floor.ux").acceleration
    return single(quantity, "acceleration", weigh(row), {"ux": 1.0})


def _base(weigh: Weigh, building: ShearBuilding, first: Array) -> Reading:
    """Return what spring and dashpot of the first storey pass to the ground."""
    k = float(building.stiffnesses[0])
    c = 0.0 if building.dampings is None else float(building.dampings[0])
    slow = weigh((c + float(building.rayleigh[1]) * k) * first)
    return Reading(Quantity("base shear", "N", "effort"), weigh(k * first), slow)
