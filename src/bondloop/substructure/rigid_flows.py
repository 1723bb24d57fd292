"""How far parts of a bond graph go along with a rigid motion, when nothing in them is stretched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph.elements import SS, TF, I, IField, MSe, Multiport, Se
from bondloop.bondgraph.parts import One, Port, Zero, bonds_of, sides_of
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph.parts import Bond, Part

__all__ = ["Rigid", "has_mass", "is_power", "is_untold", "rigid_flows"]

EXACT = 1e-9
"""Residual, relative to the imposed flows, below which parts move without being stretched."""


@dataclass(frozen=True)
class Rigid:
    """Flows of the bonds among some parts while they are carried along.

    Attributes
    ----------
    flows
        By bond, the flow per unit of the motion.
    stretched
        Whether something is stretched by it: a spring, a dashpot, a source of flow that is fixed to the
        ground.
    """

    flows: Mapping[Bond, float]
    stretched: bool


def is_untold(part: Part) -> bool:
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


def rigid_flows(parts: Iterable[Part], imposed: Mapping[Bond, float]) -> Rigid:
    """Return the flows among parts, of which some are imposed, with nothing stretched if that can be.

    Junctions, ports and transformers are equations of flows. A compliance, a resistor, a gyrator or a source
    of flow asks for no flow; an inertia, a mass that is carried, a source of effort or an interface for
    nothing.

    Parameters
    ----------
    parts
        The parts, each with one-component bonds.
    imposed
        Flows that are known, by bond.
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
    flows, residual = _solved(_rows(hard + soft, len(bonds)), values, known)
    stretched = residual > EXACT * max(total, 1e-300)
    if stretched:  # what moves it, without asking what that stretches
        flows, residual = _solved(_rows(hard, len(bonds)), values, known)
    return Rigid(dict(zip(bonds, flows.tolist(), strict=True)), stretched)


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
