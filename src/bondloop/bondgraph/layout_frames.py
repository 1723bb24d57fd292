"""Sources that stand clear of the frames of sub-models that they are no part of.

A frame encloses the texts of its sub-model. A source bonded to something within belongs outside: the bond
crosses the frame as power crosses the border of the sub-model.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from bondloop.bondgraph.layout_geometry import (
    FRAME,
    FRAME_IN_FRAME,
    GAP,
    LINE,
    SOURCES,
    Array,
    Graph,
    measure,
    overlap,
)

__all__ = ["clear_of_frames"]

NAME = 0.17
"""Height of the name in a frame."""
ASIDE = (0.0, 0.5, -0.5, 1.0, -1.0)
"""How far beside the straight way out a place is tried."""


def clear_of_frames(graph: Graph, positions: Array) -> Array:
    """Return positions in which sources on the end of a bond stand outside of frames, where there is a place.

    A place counts if no bond crosses another, or a text, that did not before.

    Parameters
    ----------
    graph
        The bond graph.
    positions
        Of its nodes, shape (nodes, 2).
    """
    p = positions
    for i in np.flatnonzero(graph.leaf).tolist():
        node = graph.nodes[i]
        if node.symbol in SOURCES:
            for _ in range(2):  # out of one frame, it may stand in the next
                frame = _around(graph, p, i)
                if frame is None:
                    break
                moved = _outside(graph, p, i, *frame)
                if moved is None:
                    break
                p = moved
    return p


def _around(graph: Graph, p: Array, i: int) -> tuple[Array, Array] | None:
    """Return the largest frame that a node stands in without being a part of its sub-model."""
    own, anchor = graph.nodes[i].group, graph.nodes[graph.anchor[i]].group
    words = anchor.split(".") if anchor else []
    lo, hi = graph.boxes(p.T)
    for k in range(1, len(words) + 1):  # the outermost first
        name = ".".join(words[:k])
        if own == name or own.startswith(f"{name}."):
            continue
        inside = [j for j, v in enumerate(graph.nodes) if v.group == name or v.group.startswith(f"{name}.")]
        depth = max(graph.nodes[j].group.count(".") for j in inside) - name.count(".")
        pad = FRAME + FRAME_IN_FRAME * depth
        low, high = lo[:, inside].min(1) - pad, hi[:, inside].max(1) + pad
        low[1], high[1] = low[1] - NAME, high[1] + NAME
        if overlap(lo[:, i], hi[:, i], low, high):
            return low, high
    return None


def _outside(graph: Graph, p: Array, i: int, low: Array, high: Array) -> Array | None:
    """Return the positions with a node at the nearest place outside of a frame; None where there is none."""
    before = measure(graph, p)
    faults = before.crossings + before.bonds_over_nodes + before.overlaps
    anchor = p[graph.anchor[i]]
    wide, tall = float(graph.half[i]) + GAP, LINE / 2 + GAP
    tried = []
    for aside, (axis, side) in product(ASIDE, product((0, 1), (-1, 1))):
        place = anchor.copy()
        edge = low[axis] if side < 0 else high[axis]
        place[axis] = edge + side * (wide if axis == 0 else tall)
        place[1 - axis] += aside
        tried.append((float(np.hypot(*(place - anchor))) + 0.5 * abs(aside), place))
    for _, place in sorted(tried, key=lambda t: t[0]):
        moved = p.copy()
        moved[i] = place
        lo, hi = (corner[:, i] for corner in graph.boxes(moved.T))
        after = measure(graph, moved)
        if after.crossings + after.bonds_over_nodes + after.overlaps <= faults and not overlap(
            lo, hi, low, high
        ):
            return moved
    return None
