"""Marks on a drawing: dependent storages, algebraic loops, causal conflicts, folded sub-models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph.drawing.policy import (
    BOND_COLOURS,
    BOX,
    DASHES,
    GOLD,
    GREY,
    LEGEND_LINE,
    LEGEND_SIZE,
    RING,
    RING_ABOVE,
    SIGNAL_RED,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bondloop.bondgraph.drawing.geometry import Array, Edge, Node
    from bondloop.bondgraph.drawing.page import Page


def ring(node: Node) -> Array:
    """Return how much more room a node takes for what is drawn round its symbol."""
    room: Array = np.array([BOX, BOX]) * node.box + np.array([RING, RING_ABOVE]) * bool(node.mark)
    return room


def cross(middle: Array, along: Array, across: Array) -> list[Array]:
    """Return the two strokes that cross out a bond."""
    one, other = 0.08 * (along + across), 0.08 * (along - across)
    return [np.array([middle - one, middle + one]), np.array([middle - other, middle + other])]


def _frame(page: Page, centre: Array, half: Array, mark: str) -> None:
    """Draw the ring of a dependent storage, the square of a conflict or the box of a sub-model."""
    from matplotlib.patches import FancyBboxPatch

    colour = {"dependent": GOLD, "conflict": SIGNAL_RED}.get(mark, "black")
    lo, (w, h) = centre - half, 2 * half
    round_ = min(w, h) / 2 if mark == "dependent" else 0.02
    frame = FancyBboxPatch(lo.tolist(), w, h, boxstyle=f"round,pad=0,rounding_size={round_}")
    frame.set(facecolor="none", edgecolor=colour, linewidth=1.4 if mark == "conflict" else 0.9, zorder=1.5)
    page.axes.add_patch(frame)


def rings(page: Page) -> None:
    """Draw what goes round the symbols."""
    for node, centre, half in zip(page.graph.nodes, page.p, page.half, strict=True):
        if node.box:
            _frame(page, centre, half - np.array([RING, RING_ABOVE]) * bool(node.mark), "")
        if node.mark:
            _frame(page, centre, half, node.mark)
        if node.box or node.mark:
            page.boxes.append((*(centre - half).tolist(), *(centre + half).tolist()))
            page.owner.append(-1)


def legend(page: Page, edges: Sequence[Edge]) -> None:
    """Explain the marks that the drawing has, below it."""
    from matplotlib.collections import LineCollection

    marks = {v.mark for v in page.graph.nodes} | {e.mark for e in edges}
    lines = []
    if "dependent" in marks:
        lines.append(("dependent", "ringed: in derivative causality, it follows other storages or a source"))
    if "loop" in marks:
        lines.append(("loop", "dashed: on an algebraic loop"))
    if "conflict" in marks:
        lines.append(("conflict", "crossed out, squared: causal conflict"))
    if any(e.flow_stroke not in (None, e.stroke) for e in edges):
        lines.append(("bicausal", "half strokes: bicausal, effort and flow go the same way"))
    if any(v.box for v in page.graph.nodes):
        lines.append(("box", "boxed: a sub-model, folded"))
    if not lines:
        return
    texts = np.array(page.boxes)
    left, low = texts[:, 0].min() + 0.05, texts[:, 1].min() - 0.3
    for k, (mark, text) in enumerate(lines):
        at = np.array([left + 0.18, low - k * LEGEND_LINE])
        along = np.array([[-0.16, 0.0], [0.16, 0.0]])
        if mark in ("dependent", "box"):
            _frame(page, at, np.array([0.12, 0.07]), mark)
        else:
            colour = BOND_COLOURS.get(mark, "black")
            line = LineCollection([at + along], colors=colour, linewidths=0.9)
            line.set_linestyle([DASHES.get(mark, "solid")])
            page.axes.add_collection(line)
        if mark == "bicausal":
            up = np.array([0.0, 0.07])
            halves = [np.array([end, end + side]) for end, side in zip(at + along, (up, -up), strict=True)]
            page.axes.add_collection(LineCollection(halves, colors="black", linewidths=1.7))
        if mark == "conflict":
            strokes = cross(at, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
            page.axes.add_collection(LineCollection(strokes, colors=SIGNAL_RED, linewidths=1.7))
        page.write(text, at[0] + 0.28, at[1] - 0.045, LEGEND_SIZE, -2, color=GREY)
