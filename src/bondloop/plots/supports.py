"""Symbols of supports in drawings of structures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.plots.page import INK

if TYPE_CHECKING:
    from bondloop.structures.structure import Structure

__all__ = ["draw_supports"]

FIXED: dict[str, Any] = {"marker": "_", "markersize": 15, "markeredgewidth": 3.5}
PINNED: dict[str, Any] = {"marker": 6, "markersize": 9}  # a triangle whose tip is at the node
GUIDED: dict[str, Any] = {"marker": "o", "markersize": 6, "markerfacecolor": "white"}


def draw_supports(axes: Any, structure: Structure, plane: bool) -> None:
    """Draw a bar below nodes that are held altogether, a triangle below hinges, a ring at all others.

    Parameters
    ----------
    axes
        With the structure.
    structure
        Whose supports are drawn, where they are at rest.
    plane
        Whether the drawing is of the xy-plane, in which the rest does not count.
    """
    shifts, turns = ({"ux", "uy"}, {"rz"}) if plane else ({"ux", "uy", "uz"}, {"rx", "ry", "rz"})
    places: dict[str, list[tuple[float, ...]]] = {"fixed": [], "pinned": [], "guided": []}
    for node, dofs in structure.supports.items():
        held = set(dofs) & (shifts | turns)
        if held:
            kind = "guided" if not shifts <= held else "fixed" if turns <= held else "pinned"
            places[kind].append(structure.nodes[node][: 2 if plane else 3])
    for kind, look in (("fixed", FIXED), ("pinned", PINNED), ("guided", GUIDED)):
        if places[kind]:
            axes.plot(
                *np.array(places[kind]).T, color=INK, linestyle="none", label=f"{kind} supports", **look
            )
