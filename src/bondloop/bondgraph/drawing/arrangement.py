"""Places for the nodes of a bond graph: a horizontal spine with its branches, or a search on a grid.

A tree (most bond graphs) becomes a spine, its longest chain of junctions and two-ports, wrapped into rows,
with tidy trees above and below. A graph with loops starts from stress majorisation (Gansner, Koren and North
2005) and from the spine of a spanning tree; heat-bath sweeps on a grid then remove crossings and overlaps,
and the better of the two is kept. Lengths are in bonds: one unit is one bond on paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product, takewhile
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph.drawing.geometry import (
    FRAME,
    FRAME_IN_FRAME,
    FRAMES_APART,
    GAP,
    SOURCES,
    Array,
    Graph,
    Quality,
    Whole,
    crossing,
    measure,
    overlap,
    through,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bondloop.bondgraph.drawing.geometry import Array

ROW = 11.0
"""Widest row of a spine before it is wrapped."""
SEARCHED = 100
"""Nodes of a graph with loops whose layout is searched at length."""
CUT, OVER, CLASH, NARROW, LONG, SLANT = 6.0, 8.0, 9.0, 2.0, 0.8, 1.0
"""Costs of the faults of a layout with loops: a text cut by a bond, bonds that cross, texts that overlap, a
sharp angle, a long bond, a slanted one."""
SAME = 1e6
"""Cost of two nodes in one place: never worth it."""
UPWARD = frozenset({"I", "C", "De", "Df", "IC"})
"""Symbols that are placed above their junction rather than below."""


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
        p, top, spine = np.zeros((len(self.near), 2)), 0.0, self.spine()
        framed, rows = 0.4 * any(v.group for v in self.graph.nodes), self.rows(spine)
        for r, row in enumerate(rows):
            turns = {row[0]: 1} if r else {}
            if r + 1 < len(rows):
                turns.setdefault(row[-1], -1)
            here, high, low = self.row(row[::-1] if r % 2 else row, set(spine), turns, r % 2 == 0, framed)
            shift = p[rows[r - 1][-1], 0] - here[row[0]][0] if r else 0.0
            base = top - high if r else 0.0
            for v, (dx, dy) in here.items():
                p[v] = dx + shift, base + dy
            top = base - low - 1.0 - framed
        return p

    def row(
        self, order: Sequence[int], spine: set[int], turns: Mapping[int, int], to_right: bool, framed: float
    ) -> tuple[dict[int, tuple[float, int]], int, int]:
        """Lay out a row from left to right; return the places in it, and how far it reaches up and down.

        Parameters
        ----------
        order
            Its nodes on the spine.
        spine
            All nodes on the spine.
        turns
            Nodes at which the spine comes from the row above (1) or goes on to the one below (-1).
        to_right
            Whether the spine runs to the right here.
        framed
            Room for the frames between two sub-models.
        """
        g, outline = self.graph, dict[int, float]()
        here: dict[int, tuple[float, int]] = {}
        runs: list[tuple[str, list[int]]] = []  # neighbours on the spine of one sub-model, with all on them
        x, high, low, before = 0.0, 0, 0, -1
        for v in order:
            turn = turns.get(v, 0)
            up, down, out = self.sides((w for w in self.near[v] if w not in spine), turn)
            fans = ((1, self.fan(v, up)[1]), (-1, self.fan(v, down)[1]))
            apart = framed if before >= 0 and g.nodes[v].group != g.nodes[before].group else 0.0
            if before >= 0:
                text = g.inline[v] if self.leaf(before) else g.beside[before] + GAP
                x += max(0.6 + float(g.shy[before] + g.shy[v]), float(text) + 0.1) + apart
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
            here |= dict.fromkeys(out, (x - (turn if to_right else -turn), 0))
            high, low, before = max(high, len(fans[0][1].left)), max(low, len(fans[1][1].left)), v
        self.part(here, runs)
        return here, high, low


def _stress(graph: Graph) -> Array:
    """Stress majorisation from classical scaling: distances on paper near those along the bonds."""
    from scipy.linalg import cho_factor, cho_solve, eigh
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    n, t, h = len(graph.nodes), graph.tail, graph.head
    group = np.unique([v.group for v in graph.nodes], return_inverse=True)[1]
    lengths = np.where(graph.leaf[t] | graph.leaf[h], 1.0, 1.4) + 0.3 * (group[t] != group[h])
    table = coo_array((np.tile(lengths, 2), (np.r_[t, h], np.r_[h, t])), shape=(n, n)).tocsr()
    d = np.asarray(shortest_path(table, method="D"))
    centred = d**2 - (d**2).mean(0) - (d**2).mean(1)[:, None] + (d**2).mean()
    value, vector = eigh(-centred / 2, subset_by_index=[n - 2, n - 1])
    vector *= np.where(vector[np.abs(vector).argmax(0), [0, 1]] < 0, -1.0, 1.0)  # the sign is free: fix it
    x = (vector * np.sqrt(np.maximum(value, 1e-9)))[:, ::-1] + 1e-3 * np.cos(
        np.outer(np.arange(n), [1.0, 2.0])
    )
    w = 1.0 / (d + np.eye(n)) ** 2
    np.fill_diagonal(w, 0.0)
    factor = cho_factor(np.diag(w.sum(1))[1:, 1:] - w[1:, 1:])
    for _ in range(80 if n < 500 else 20):
        apart = np.hypot(x[:, :1] - x[:, 0], x[:, 1:] - x[:, 1])
        b = w * d / np.maximum(apart, 1e-9)
        x = np.vstack([np.zeros(2), cho_solve(factor, (b.sum(1)[:, None] * x - b @ x)[1:])])
    x -= x.mean(0)
    turn = np.linalg.svd(x, full_matrices=False)[2]  # the long side lies flat
    x = x @ turn.T
    return np.asarray(x * np.where(x[np.abs(x).argmax(0), [0, 1]] > 0, -1.0, 1.0))


class _Search:
    """Heat-bath sweeps: each node, or a node with its leaves, draws a new grid place by its cost."""

    def __init__(self, graph: Graph, start: Array, seed: int) -> None:
        self.g, self.rng, n = graph, np.random.default_rng(seed), len(graph.nodes)
        wide = float(np.maximum(graph.half * 2 + graph.inline + 0.1, graph.shy * 2 + 0.6).max())
        self.pitch = np.array([max(1.0, wide), 1.0])
        cells = [(x, y) for x in range(-3, 4) for y in range(-3, 4)]
        self.wide = np.array(cells, dtype=float).T * self.pitch[:, None]
        self.close = self.wide[:, [max(abs(x), abs(y)) <= 2 for x, y in cells]]
        names = [v.group for v in graph.nodes]
        self.mates = [[j for j in range(n) if names[j] == names[i]] if names[i] else [] for i in range(n)]
        tufts = [[i, *(j for j in graph.near[i] if graph.leaf[j])] for i in range(n) if not graph.leaf[i]]
        self.moves = [np.array(m) for m in [*([i] for i in range(n)), *(m for m in tufts if len(m) > 1)]]
        self.bonds = [np.flatnonzero(graph.own[:, m].any(1)) for m in self.moves]
        self.everything = np.arange(n), np.arange(len(graph.tail))
        self.p, self.small = self.snap(start), n <= SEARCHED

    def snap(self, start: Array) -> Array:
        """Find the nearest free grid place for each node, the most connected first; shape (2, n)."""
        taken: set[tuple[int, int]] = set()
        p = np.zeros((2, len(start)))
        ring = sorted(
            ((x, y) for x in range(-6, 7) for y in range(-6, 7)), key=lambda c: (c[0] ** 2 + c[1] ** 2, c)
        )
        for i in sorted(range(len(start)), key=lambda i: (-len(self.g.near[i]), i)):
            x, y = np.rint(start[i] / self.pitch).astype(int).tolist()
            cell = next(((x + u, y + v) for u, v in ring if (x + u, y + v) not in taken), (x, y))
            taken.add(cell)
            p[:, i] = np.array(cell) * self.pitch
        return p

    def cost(self, m: Whole, bonds: Whole, shifts: Array) -> Array:
        """Cost of what touches nodes ``m`` after each of the ``shifts``, shape (2, number of shifts)."""
        g = self.g
        seen, others = self.view(m, bonds, shifts) if len(g.nodes) > 60 else self.everything
        p = np.repeat(self.p[:, None], shifts.shape[1], axis=1)
        p[:, :, m] += shifts[..., None]
        lo, hi = g.boxes(p)
        lo1, hi1, lo2, hi2 = lo[:, :, m], hi[:, :, m], lo[:, :, None, seen], hi[:, :, None, seen]
        a, b = p[:, :, g.tail[bonds]], p[:, :, g.head[bonds]]
        a1, b1 = a[..., None], b[..., None]
        a2, b2 = p[:, :, None, g.tail[others]], p[:, :, None, g.head[others]]
        cut = crossing(a1, b1, a2, b2) & ~g.share[bonds[:, None], others]
        over = through(a1, b1, lo2, hi2) & ~g.own[bonds[:, None], seen]
        under = through(a2, b2, lo1[..., None], hi1[..., None]) & ~g.own[others[:, None], m].T
        clash = overlap(lo1[..., None], hi1[..., None], lo2 - 0.04, hi2 + 0.04) & (m[:, None] != seen)
        far, far2 = np.hypot(*(b - a)) + 1e-9, np.hypot(*(b2 - a2)) + 1e-9
        ux, uy = (b - a) / far
        vx, vy = (b2 - a2) / far2
        narrow = (ux[..., None] * vx + uy[..., None] * vy) * g.facing[bonds[:, None], others] > 0.8
        dx, dy = np.abs(b - a)
        weight = np.where(g.signal[bonds], 0.5, 1.0)
        slant = np.where(np.minimum(dx, dy) < 1e-6, 0.0, np.where(np.abs(dx - dy) < 0.3, 1.0, 1.3))
        total = (weight * (LONG * np.maximum(far - 1, 0) + SLANT * slant)).sum(1)
        faults = ((cut, CUT), (over, OVER), (under, OVER), (clash, CLASH), (narrow, NARROW))
        total = total + sum(w * np.count_nonzero(f, axis=(1, 2)) for f, w in faults)
        # Two fields on the same bonds would stand in one place, and save all their crossings.
        apart = np.abs(p[:, :, m][..., None] - p[:, :, None, seen]).max(0)
        total = total + SAME * np.count_nonzero((apart < 0.3) & (m[:, None] != seen), axis=(1, 2))
        for i in m:
            if self.mates[i]:
                away = p[:, :, i] - p[:, :, self.mates[i]].mean(2)
                total = total + 0.5 * np.hypot(away[0], away[1])
        return np.asarray(total)

    def view(self, m: Whole, bonds: Whole, shifts: Array) -> tuple[Whole, Whole]:
        """Find the nodes and bonds that nodes ``m`` can meet on their way: what keeps a sweep linear."""
        g, ends = self.g, self.p[:, np.r_[m, self.g.tail[bonds], self.g.head[bonds]]]
        low = (ends.min(1) + np.minimum(shifts.min(1), 0) - 2)[:, None]
        high = (ends.max(1) + np.maximum(shifts.max(1), 0) + 2)[:, None]
        a, b = self.p[:, g.tail], self.p[:, g.head]
        others = np.flatnonzero(overlap(np.minimum(a, b), np.maximum(a, b), low, high))
        return np.flatnonzero(overlap(self.p, self.p, low, high)), others

    def total(self) -> float:
        """Cost of the whole layout."""
        return float(self.cost(*self.everything, np.zeros((2, 1)))[0])

    def sweep(self, heat: float) -> None:
        """Let every node, and every node with its leaves, choose its place once."""
        for k in self.rng.permutation(len(self.moves)):
            m, shifts = self.moves[k], self.wide if self.small and not 0 < heat < 0.5 else self.close
            if self.g.leaf[m[0]]:
                shifts = self.p[:, self.g.anchor[m]] + self.close - self.p[:, m]
            cost = self.cost(m, self.bonds[k], shifts)
            best = int(np.argmin(cost / heat - self.rng.gumbel(size=len(cost)) if heat > 0 else cost))
            self.p[:, m] += shifts[:, best, None]

    def squeeze(self) -> None:
        """Take out, or put in, a whole row or column wherever that is cheaper."""
        for axis, step in product((0, 1), (-1.0, 1.0)):
            for line in np.unique(self.p[axis])[:0:-1]:
                before, kept = self.total(), self.p.copy()
                self.p[axis, self.p[axis] >= line - 1e-6] += step * self.pitch[axis]
                if self.total() > before - 1e-6:
                    self.p = kept

    def run(self, heats: Iterable[float]) -> tuple[float, Array]:
        """Cool down; return the lowest cost met and its positions, shape (n, 2)."""
        best = (self.total(), self.p.T.copy())
        for heat in heats:
            self.sweep(heat)
            if heat < 0.5:
                if self.small:
                    self.squeeze()
                best = min(best, (self.total(), self.p.T.copy()), key=lambda pair: pair[0])
        return best


def _tree(graph: Graph) -> list[list[int]]:
    """Neighbour lists of a spanning tree that prefers power bonds, bonds within a group, and junctions."""
    root = list(range(len(graph.nodes)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    near: list[list[int]] = [[] for _ in root]
    rank = [
        (bool(s), graph.nodes[t].group != graph.nodes[h].group, k)
        for k, (s, t, h) in enumerate(zip(graph.signal, graph.tail, graph.head, strict=True))
    ]
    for *_, k in sorted(rank):
        t, h = int(graph.tail[k]), int(graph.head[k])
        if find(t) != find(h):
            root[find(t)] = find(h)
            near[t].append(h)
            near[h].append(t)
    return [sorted(s) for s in near]


def _star(graph: Graph, hub: int) -> Array:
    """Many leaves around one junction, at equal angles, sources on the left."""
    p = np.zeros((len(graph.nodes), 2))
    order = sorted(graph.near[hub], key=lambda v: (graph.nodes[v].symbol not in SOURCES, v))
    for i, v in enumerate(order):
        angle = np.pi - 2 * np.pi * i / len(order)
        p[v] = max(1.15, len(order) / 6.5) * np.array([np.cos(angle), np.sin(angle)])
    return p


def place(graph: Graph) -> Array:
    """Positions of one connected graph."""
    n, core = len(graph.nodes), np.flatnonzero(~graph.leaf)
    if n <= 1:
        return np.zeros((n, 2))
    if len(core) == 1 and n > 6:
        return _star(graph, int(core[0]))
    tree = _tree(graph)
    spine = Spine(graph, tree).place()
    if sum(map(len, graph.near)) == 2 * (n - 1):
        return spine
    small = n <= SEARCHED
    heats = np.r_[np.geomspace(1.5, 0.5, int(np.clip(2000 / n, 3, 90)) if small else 3), 0.2, 0.0, 0.0]
    heats = heats[-1:] if n > 6 * SEARCHED else heats
    stressed, best = _stress(graph), (np.inf, spine)
    for trial, (seed, start) in enumerate(((2, stressed), (2, spine), (1, stressed))):
        best = min(best, _Search(graph, start, seed).run(heats), key=lambda pair: pair[0])
        if not small or (trial and measure(graph, best[1]) == Quality(0, 0, 0)):
            break
    return best[1]


def place_all(graph: Graph) -> Array:
    """Positions of a graph, connected parts side by side in rows; the first node is the origin."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(graph.nodes)
    ones = np.ones(len(graph.tail))
    label = connected_components(coo_array((ones, (graph.tail, graph.head)), shape=(n, n)), directed=False)[1]
    p, x, floor, depth = np.zeros((n, 2)), 0.0, 0.0, 0.0
    for part in sorted(range(int(label.max()) + 1), key=lambda k: -int((label == k).sum())):
        inside, kept = np.flatnonzero(label == part), label[graph.tail] == part
        new = np.zeros(n, dtype=np.intp)
        new[inside] = np.arange(len(inside))
        piece = Graph(
            [graph.nodes[i] for i in inside.tolist()],
            new[graph.tail[kept]],
            new[graph.head[kept]],
            graph.signal[kept],
        )
        q = place(piece).T
        lo, hi = (corner(axis=1) for corner in (piece.boxes(q)[0].min, piece.boxes(q)[1].max))
        if x and x + hi[0] - lo[0] > ROW:
            x, floor, depth = 0.0, floor - depth - 0.7, 0.0
        p[inside] = (q - [[lo[0] - x], [hi[1] - floor]]).T
        x, depth = x + float(hi[0] - lo[0]) + 0.7, max(depth, float(hi[1] - lo[1]))
    return np.asarray(p - p[0])
