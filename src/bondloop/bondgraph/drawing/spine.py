"""Trees as a horizontal spine, wrapped into rows, with tidy branches above and below."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph.drawing.policy import FRAME, FRAME_IN_FRAME, FRAMES_APART, GAP, ROW, SOURCES, UPWARD

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bondloop.bondgraph.drawing.geometry import Array, Graph


@dataclass
class _Block:
    """A subtree hung from its parent: places (x, depth) from its root, and its outline at each depth."""

    places: dict[int, tuple[float, int]]
    left: list[float]
    right: list[float]


def _beside(blocks: Sequence[_Block]) -> tuple[list[float], _Block]:
    """Set blocks side by side, as close as their outlines allow, centred on the parent."""
    left, right, at = list[float](), list[float](), list[float]()
    for block in blocks:
        x = at[-1] + 0.9 if at else 0.0
        for d in range(min(len(right), len(block.left))):
            x = max(x, right[d] - block.left[d] + GAP)
        at.append(x)
        for d in range(len(block.left)):
            if d == len(left):
                left.append(x + block.left[d])
                right.append(x + block.right[d])
            left[d], right[d] = min(left[d], x + block.left[d]), max(right[d], x + block.right[d])
    k = len(at)
    centre = (at[(k - 1) // 2] + at[k // 2]) / 2 if k else 0.0
    at = [x - centre for x in at]
    places = {v: (x + dx, d) for x, b in zip(at, blocks, strict=True) for v, (dx, d) in b.places.items()}
    return at, _Block(places, [x - centre for x in left], [x - centre for x in right])


class Spine:
    """Layout of a tree given as neighbour lists: rows of spine nodes with subtrees above and below."""

    def __init__(self, graph: Graph, near: list[list[int]]) -> None:
        self.graph, self.near = graph, near

    def leaf(self, v: int) -> bool:
        """Whether a node has a single bond."""
        return len(self.near[v]) == 1

    def order(self, v: int) -> tuple[bool, int, int]:
        """Key that puts branches before leaves, and leaves that hang upwards first."""
        return (self.leaf(v), 0 if self.graph.nodes[v].symbol in UPWARD else 1, v)

    def farthest(self, start: int, among: set[int]) -> list[int]:
        """Find the longest path within ``among`` that ends at ``start``; a source is the better far end."""
        came, depth, queue = {start: -1}, {start: 0}, [start]
        for v in queue:
            for w in self.near[v]:
                if w in among and w not in came:
                    came[w], depth[w] = v, depth[v] + 1
                    queue.append(w)
        path = [max(queue, key=lambda v: (depth[v], self.source(v), self.heavy(v), -v))]
        while came[path[-1]] >= 0:
            path.append(came[path[-1]])
        return path

    def source(self, v: int) -> bool:
        """Whether a node is a source at the end of the graph."""
        return self.graph.nodes[v].symbol in SOURCES and self.leaf(v)

    def heavy(self, v: int) -> bool:
        """Whether a node carries an inertia."""
        return any(self.graph.nodes[w].symbol == "I" and self.leaf(w) for w in self.near[v])

    def spine(self) -> list[int]:
        """Choose the longest chain of the core, a source on its left, with an end leaf where one fits."""
        core = {v for v in range(len(self.near)) if not self.leaf(v) or self.source(v)} or {0}
        path = self.farthest(self.farthest(min(core), core)[0], core)
        forward = set(zip(self.graph.tail.tolist(), self.graph.head.tolist(), strict=True))
        along = sum(1 if pair in forward else -1 for pair in pairwise(path))
        if (self.source(path[-1]), -along) > (self.source(path[0]), along):
            path.reverse()
        for end in (0, -1):
            free = [w for w in self.near[path[end]] if self.leaf(w) and w not in path]
            free.sort(key=lambda w: (self.graph.nodes[w].symbol != "C", w))
            level = len(free) >= 3 or (
                len(free) == 1 and len(path) <= 2
            )  # no room, or no need, above and below
            if level and not self.leaf(path[end]):
                path.insert(0 if end == 0 else len(path), free[0])
            elif len(self.near) == 2 and len(path) == 1:
                path += free
        return path

    def block(self, v: int, parent: int, flip: bool = False) -> _Block:
        """Lay out the subtree of ``v`` seen from ``parent``; ``flip`` writes a leaf's label to its left."""
        g, kids = self.graph, [w for w in self.near[v] if w != parent]
        far, half = float(g.half[v] + g.inline[v]), float(g.half[v])
        left, right = (-far, half) if flip else (-half, max(far, float(g.beside[v]) + GAP))
        mine, deep = [w for w in kids if self.leaf(w)], [w for w in kids if not self.leaf(w)]
        places = {v: (0.0, 0)}
        if len(deep) == 1 and 1 <= len(mine) <= 2:  # a vertical chain: its leaves at right angles
            for sign, w in zip((1, -1), sorted(mine, key=self.order), strict=False):
                reach = 1.0 + float(g.half[w] + g.inline[w])
                places[w] = (float(sign), 0)
                left, right = (left, max(right, reach)) if sign > 0 else (-reach, right)
            kids = deep
        _, under = self.fan(v, kids)
        places |= {w: (x, d + 1) for w, (x, d) in under.places.items()}
        return _Block(places, [left, *under.left], [right, *under.right])

    def fan(self, v: int, kids: Sequence[int]) -> tuple[list[float], _Block]:
        """Subtrees of ``v`` side by side, the deepest in the middle, labels turned outwards."""
        ranked = sorted(kids, key=self.order)
        ranked = ranked[1::2][::-1] + ranked[0::2]
        return _beside([self.block(w, v, 2 * i + 1 < len(ranked)) for i, w in enumerate(ranked)])

    def rows(self, spine: list[int]) -> list[list[int]]:
        """Cut the spine into rows of about equal width, between groups where it can be."""
        shy = self.graph.shy
        width = np.cumsum([max(0.6 + 2 * float(shy[v]), (len(self.near[v]) - 2) / 2) for v in spine])
        count = int(np.ceil((width[-1] - 1.5) / ROW)) or 1
        group = [self.graph.nodes[v].group for v in spine]
        cuts = [0]
        for k in range(1, count):
            ideal = float(width[-1]) * k / count
            ranked = [
                (abs(float(width[i - 1]) - ideal) + (3.0 if group[i] == group[i - 1] else 0.0), i)
                for i in range(cuts[-1] + 2, len(spine) - 1)
            ]
            if not ranked:  # a short spine, wide by the many branches of one node
                break
            cuts.append(min(ranked)[1])
        return [spine[i:j] for i, j in zip(cuts, [*cuts[1:], len(spine)], strict=True)]

    def sides(self, kids: Iterable[int], shut: int) -> tuple[list[int], list[int], list[int]]:
        """Share the branches of a spine node among above, below and, at a turn, outwards."""
        up, down, out = list[int](), list[int](), list[int]()
        for w in sorted(kids, key=self.order):
            if shut:
                open_side = down if shut > 0 else up
                (out if self.leaf(w) and open_side and not out else open_side).append(w)
                continue
            first, other = (up, down) if self.graph.nodes[w].symbol in UPWARD else (down, up)
            (first if len(first) <= len(other) else other).append(w)
        return up, down, out

    def part(self, here: dict[int, tuple[float, int]], runs: Sequence[tuple[str, list[int]]]) -> None:
        """Move the sub-models of a row apart, so that the frame around one meets nothing of the others."""
        g, p = self.graph, np.zeros((2, len(self.near)))
        for v, place in here.items():
            p[:, v] = place
        lo, hi = g.boxes(p)
        right, moved, shifts = -np.inf, 0.0, dict[int, float]()
        for k, (group, nodes) in enumerate(runs):
            if k:
                pads = self.pad(runs[k - 1][0], group) + self.pad(group, runs[k - 1][0])
                moved += max(0.0, right + pads + FRAMES_APART - (float(lo[0, nodes].min()) + moved))
            texts = np.maximum(hi[0, nodes], p[0, nodes] + g.beside[nodes] + 0.1)
            right = max(right, float(texts.max()) + moved)
            shifts |= dict.fromkeys(nodes, moved)
        for v, shift in shifts.items():
            here[v] = (here[v][0] + shift, here[v][1])

    def pad(self, group: str, other: str) -> float:
        """Return how far the frames of a sub-model that do not hold another reach beyond its texts."""
        names, others = (tuple(name.split(".")) if name else () for name in (group, other))
        common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(names, others, strict=False))))
        if len(names) == common:
            return 0.0
        outer = ".".join(names[: common + 1])
        within = [v.group for v in self.graph.nodes if v.group == outer or v.group.startswith(outer + ".")]
        return FRAME + FRAME_IN_FRAME * (max(name.count(".") for name in within) - common)

    def place(self) -> Array:
        """Positions of all nodes."""
        g, p, top = self.graph, np.zeros((len(self.near), 2)), 0.0
        spine = self.spine()
        on, rows = set(spine), self.rows(spine)
        framed = 0.4 * any(v.group for v in g.nodes)
        for r, row in enumerate(rows):
            order = row[::-1] if r % 2 else row
            outline: dict[int, float] = {}
            here: dict[int, tuple[float, int]] = {}
            runs: list[
                tuple[str, list[int]]
            ] = []  # neighbours on the spine of one sub-model, with all on them
            x, high, low, before = 0.0, 0, 0, -1
            for v in order:
                shut = 1 if r and v == row[0] else -1 if r + 1 < len(rows) and v == row[-1] else 0
                up, down, out = self.sides((w for w in self.near[v] if w not in on), shut)
                fans = ((1, self.fan(v, up)[1]), (-1, self.fan(v, down)[1]))
                apart = framed if before >= 0 and g.nodes[v].group != g.nodes[before].group else 0.0
                if before >= 0:
                    text = g.inline[v] if self.leaf(before) else g.beside[before] + GAP
                    bond = 0.6 + float(g.shy[before] + g.shy[v])
                    x += (
                        max(bond, float(text) + 0.1)
                        + apart
                        + (1.0 if out and shut and v == order[0] else 0.0)
                    )
                for sign, fan in fans:
                    for d, edge in enumerate(fan.left, 1):
                        x = max(x, outline.get(sign * d, -np.inf) - edge + GAP + apart)
                for sign, fan in fans:
                    for d, edge in enumerate(fan.right, 1):
                        outline[sign * d] = max(outline.get(sign * d, -np.inf), x + edge)
                    here |= {w: (x + dx, sign * (d + 1)) for w, (dx, d) in fan.places.items()}
                if not runs or runs[-1][0] != g.nodes[v].group:
                    runs.append((g.nodes[v].group, []))
                runs[-1][1].extend([v, *out, *(w for _, fan in fans for w in fan.places)])
                here[v] = (x, 0)
                here |= dict.fromkeys(out, (x + (1.0 if (r % 2 == 0) == (shut < 0) else -1.0), 0))
                high, low, before = max(high, len(fans[0][1].left)), max(low, len(fans[1][1].left)), v
            self.part(here, runs)
            shift = p[rows[r - 1][-1], 0] - here[row[0]][0] if r else 0.0
            base = top - high if r else 0.0
            for v, (dx, dy) in here.items():
                p[v] = dx + shift, base + dy
            top = base - low - 1.0 - framed
        return p
