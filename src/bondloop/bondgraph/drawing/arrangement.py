"""Places for the nodes of a bond graph: a horizontal spine with its branches, or a search on a grid.

A tree (most bond graphs) becomes a spine, its longest chain of junctions and two-ports, wrapped into rows,
with tidy trees above and below. A graph with loops starts from stress majorisation (Gansner, Koren and North
2005) and from the spine of a spanning tree; heat-bath sweeps on a grid then remove crossings and overlaps,
and the better of the two is kept. Lengths are in bonds: one unit is one bond on paper.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph.drawing.geometry import (
    Array,
    Graph,
    Quality,
    Whole,
    crossing,
    measure,
    overlap,
    through,
)
from bondloop.bondgraph.drawing.policy import CLASH, CUT, LONG, NARROW, OVER, ROW, SEARCHED, SLANT, SOURCES
from bondloop.bondgraph.drawing.spine import Spine

if TYPE_CHECKING:
    from collections.abc import Iterable

SAME = 1e6
"""Cost of two nodes in one place: never worth it."""


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
