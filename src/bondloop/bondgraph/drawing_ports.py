"""Names of ports on a drawing, beside the bonds of elements that have several."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bondloop.bondgraph.drawing import Edge, Page

__all__ = ["port_names"]

HEIGHT, GAP = 0.13, 0.045
"""Height of a name, and white between it and its bond, in bonds."""


def port_names(page: Page, edges: Sequence[Edge]) -> None:
    """Write the name of each port near its end of the bond, on the side that is free."""
    from bondloop.bondgraph.drawing import COLOURS, GREY, SMALL

    for edge, (tail, head) in zip(edges, page.spans, strict=True):
        length = max(float(np.hypot(*(head - tail))), 1e-9)
        along = (head - tail) / length
        for name, node, end, u in (
            (edge.tail_port, edge.tail, tail, along),
            (edge.head_port, edge.head, head, -along),
        ):
            if not name:
                continue
            width = page.width(name, SMALL, True)
            half = np.array([width, HEIGHT]) / 2
            boxes = []
            for far, side in product((0.04, 0.12, 0.2, 0.3), (1.0, -1.0)):
                across = side * np.array([-u[1], u[0]])
                centre = end + u * (far + abs(u[0]) * half[0]) + across * (GAP + float(np.abs(across) @ half))
                boxes.append((*(centre - half).tolist(), *(centre + half).tolist()))
            left, low, *_ = page.freest(boxes)
            colour = COLOURS.get(page.graph.nodes[node].symbol, GREY)
            page.write(name, left, low + 0.03, SMALL, node, color=colour, italic=True)
