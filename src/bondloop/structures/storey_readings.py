"""Storeys of a structure: between which nodes they lie, and the members that cross them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Array
    from bondloop.structures.structure import Structure

__all__ = ["checked_column_line", "crossing", "vertical"]


def checked_column_line(structure: Structure, nodes: Sequence[str]) -> tuple[str, ...]:
    """Return nodes that lie one above the other, or say which do not."""
    for name in nodes:
        if name not in structure.nodes:
            raise InputError(f"structure '{structure.name}': {unknown_name('node', name, structure.nodes)}")
    if len(nodes) < 2:
        raise InputError(
            f"structure '{structure.name}': a storey lies between two nodes; name them from the ground up"
        )
    up = vertical(structure.nodes, nodes)
    heights = np.diff([structure.nodes[n][up] for n in nodes])
    for k, rise in enumerate(heights):
        if rise <= 0:
            raise InputError(
                f"structure '{structure.name}': node '{nodes[k + 1]}' of the storeys does not lie above "
                f"'{nodes[k]}'; name nodes from the ground up"
            )
    return tuple(nodes)


def vertical(places: Mapping[str, tuple[float, float, float]], nodes: Sequence[str]) -> int:
    """Return the axis along which nodes are stacked: 0, 1 or 2."""
    return int(np.argmax(np.abs(np.subtract(places[nodes[-1]], places[nodes[0]]))))


def crossing(heights: Array, ends: Array) -> Array:
    """Return which ends of elements are the upper ones of those that cross a height, shape (n, 2).

    Parameters
    ----------
    heights
        The height, and how near to it counts as on it.
    ends
        Heights of both ends of each element, shape (n, 2).
    """
    height, near = heights
    above, below = ends > height + near, ends < height - near
    crosses = above.any(axis=1) & below.any(axis=1)
    return np.asarray(above & crosses[:, None])
