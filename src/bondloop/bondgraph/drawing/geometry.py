"""A bond graph as text boxes and lines on paper, and what is wrong with a layout of it.

Lengths are in bonds: one unit is one bond on paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 0.22
"""Least white between two texts."""
SYMBOL_EM, LABEL_EM, LINE = 0.105, 0.082, 0.26
"""Half the width of a letter of a symbol, the width of a letter of a label, the height of its lines."""
FRAME, FRAME_IN_FRAME, FRAMES_APART = 0.16, 0.12, 0.12
"""White within a sub-model's frame, more where another frame is in it, and between two frames."""
FRAME_NAME = 0.17
"""Height of the name in a frame."""
SIDEWAYS = (0.0, 0.5, -0.5, 1.0, -1.0)
"""How far to the side of the straight way out of a frame a place is tried."""
SOURCES = frozenset({"Se", "Sf", "SS", "MSe", "MSf", "port"})

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Node:
    """An element, junction or block to be drawn.

    Parameters
    ----------
    path
        Its unique name, ``"m1.spring_side"``.
    symbol
        What is drawn large: ``"0"``, ``"1"``, ``"I"``, ``"Se"``, ``"MTF"``, ``"∫"``.
    label
        What is drawn small after a colon, or beside a junction or two-port.
    group
        Path of the sub-model it sits in; empty at the top.
    mark
        ``"dependent"`` for a storage in derivative causality, ``"conflict"`` where causality has one.
    box
        Whether it stands for a whole sub-model.
    """

    path: str
    symbol: str
    label: str
    group: str = ""
    mark: str = ""
    box: bool = False


@dataclass(frozen=True)
class Edge:
    """A bond or a signal between two nodes.

    Parameters
    ----------
    tail, head
        Indices of the nodes; power is positive from tail to head.
    stroke
        The end that carries the causal stroke, ``"head"`` or ``"tail"``; None without causality.
    signal
        True for an activated bond or a signal: a full arrow and no stroke.
    size
        Number of bonds in a vector bond.
    flow_stroke
        Of a bicausal bond: the end with the half stroke of the flow; `stroke` is then that of the effort.
    mark
        ``"loop"`` on an algebraic loop, ``"conflict"`` where causality has one.
    tail_port, head_port
        Names of the ports at the two ends, where an element has several; empty otherwise.
    """

    tail: int
    head: int
    stroke: str | None
    signal: bool = False
    size: int = 1
    flow_stroke: str | None = None
    mark: str = ""
    tail_port: str = ""
    head_port: str = ""


def label_lines(label: str, longest: int = 12) -> list[str]:
    """Break a long label into two lines, at an underscore, dot or space near its middle.

    >>> label_lines("mass"), label_lines("left_bearing_friction")
    (['mass'], ['left_bearing', '_friction'])
    """
    breaks = [i for i in range(1, len(label)) if label[i] in "_. "]
    if len(label) <= longest or not breaks:
        return [label]
    at = min(breaks, key=lambda i: abs(i - len(label) / 2))
    return [label[:at], label[at:].lstrip(" ")]


def _label_width(label: str) -> float:
    return max(map(len, label_lines(label))) * LABEL_EM if label else 0.0


@dataclass
class Graph:
    """One connected bond graph as arrays: neighbours, text sizes, and which ends of bonds are leaves."""

    nodes: Sequence[Node]
    tail: npt.NDArray[np.intp]
    head: npt.NDArray[np.intp]
    signal: Flags
    near: list[list[int]] = field(init=False)
    leaf: Flags = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.nodes)
        sets: list[set[int]] = [set() for _ in range(n)]
        for t, h in zip(self.tail.tolist(), self.head.tolist(), strict=True):
            sets[t].add(h)
            sets[h].add(t)
        self.near = [sorted(s) for s in sets]
        self.leaf = np.array([len(s) == 1 for s in sets], dtype=bool)
        self.anchor = np.array([s[0] if s else i for i, s in enumerate(self.near)], dtype=np.intp)
        self.half = np.array(
            [0.08 * len(v.symbol) + 0.12 if v.box else SYMBOL_EM * len(v.symbol) for v in self.nodes]
        )
        # What a bond leaves of its length at each end; a box is as wide as its name.
        self.shy = np.array([half if v.box else 0.2 for v, half in zip(self.nodes, self.half, strict=True)])
        inline = [_label_width(v.label) + 0.2 if v.label else 0.0 for v in self.nodes]
        self.inline = np.where(self.leaf, inline, 0.0)  # ": label", written on the far side of a leaf's bond
        t, h, each = self.tail, self.head, np.arange(n)
        self.share = (t[:, None] == t) | (t[:, None] == h) | (h[:, None] == t) | (h[:, None] == h)
        self.own = (t[:, None] == each) | (h[:, None] == each)
        facing = (t[:, None] == t) | (h[:, None] == h)
        self.facing = np.where(facing, 1.0, -1.0) * (self.share & ~np.eye(len(t), dtype=bool))
        self.beside = np.where(self.leaf, 0.0, [_label_width(v.label) for v in self.nodes])

    def boxes(self, p: Array) -> tuple[Array, Array]:
        """Lower left and upper right corners of every text at positions ``p`` of shape (2, ..., n)."""
        left = p[0][..., self.anchor] - p[0] > 0.2
        lo = np.stack([p[0] - (self.half + np.where(left, self.inline, 0.0)), p[1] - LINE / 2])
        hi = np.stack([p[0] + (self.half + np.where(left, 0.0, self.inline)), p[1] + LINE / 2])
        return lo, hi


def crossing(p: Array, q: Array, r: Array, s: Array) -> Flags:
    """Whether the open segments pq and rs cross; points have shape (2, ...) and broadcast."""
    ux, uy, vx, vy = q[0] - p[0], q[1] - p[1], s[0] - r[0], s[1] - r[1]
    wx, wy = r[0] - p[0], r[1] - p[1]
    area = ux * vy - uy * vx
    area = np.where(np.abs(area) < 1e-9, np.inf, area)  # parallel segments do not cross
    at, on = (wx * vy - wy * vx) / area, (wx * uy - wy * ux) / area
    return np.asarray((np.abs(at - 0.5) < 0.5 - 1e-6) & (np.abs(on - 0.5) < 0.5 - 1e-6), dtype=bool)


def through(p: Array, q: Array, lo: Array, hi: Array) -> Flags:
    """Whether the segment pq meets the box from ``lo`` to ``hi``; shapes (2, ...) broadcast."""
    d = q - p
    d = np.where(np.abs(d) < 1e-12, 1e-12, d)
    enter, leave = np.float64(0.0), np.float64(1.0)
    for k in (0, 1):
        a, b = (lo[k] - p[k]) / d[k], (hi[k] - p[k]) / d[k]
        enter, leave = np.maximum(enter, np.minimum(a, b)), np.minimum(leave, np.maximum(a, b))
    return np.asarray(enter <= leave, dtype=bool)


def overlap(lo: Array, hi: Array, lo2: Array, hi2: Array) -> Flags:
    """Whether two boxes overlap; corners have shape (2, ...) and broadcast."""
    flags = (lo[0] < hi2[0]) & (lo2[0] < hi[0]) & (lo[1] < hi2[1]) & (lo2[1] < hi[1])
    return np.asarray(flags, dtype=bool)


@dataclass(frozen=True)
class Quality:
    """What is wrong with a layout: bonds that cross, bonds over foreign texts, texts over texts."""

    crossings: int
    bonds_over_nodes: int
    overlaps: int


def measure(graph: Graph, positions: Array) -> Quality:
    """Count the faults of ``positions``, shape (n, 2)."""
    t, h, p = graph.tail, graph.head, positions.T
    a, b = p[:, t], p[:, h]
    lo, hi = graph.boxes(p)
    cut = crossing(a[..., None], b[..., None], a[:, None], b[:, None]) & ~graph.share
    over = through(a[..., None], b[..., None], lo[:, None], hi[:, None]) & ~graph.own
    clash = np.triu(overlap(lo[..., None], hi[..., None], lo[:, None], hi[:, None]), 1)
    return Quality(int(cut.sum()) // 2, int(over.sum()), int(clash.sum()))


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
        low[1], high[1] = low[1] - FRAME_NAME, high[1] + FRAME_NAME
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
    for aside, (axis, side) in product(SIDEWAYS, product((0, 1), (-1, 1))):
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
