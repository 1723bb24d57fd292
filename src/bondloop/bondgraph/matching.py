"""Matching in a graph: which edges to choose so that every vertex that needs one has exactly one.

Causality is such a problem: every junction needs exactly one bond that imposes its common variable. Edmonds'
search for augmenting paths (1965), with odd rings shrunk; some vertices need no edge, and a path may end at
one of those by leaving it without.
"""

from __future__ import annotations

from collections import deque

__all__ = ["Matching"]


class Matching:
    """A graph and the edges chosen in it.

    Attributes
    ----------
    edges
        The two vertices of every edge.
    chosen
        For every vertex the number of its chosen edge; -1 where it has none.
    """

    def __init__(self) -> None:
        self.edges: list[tuple[int, int]] = []
        self.chosen: list[int] = []
        self._needs: list[bool] = []
        self._at: list[list[int]] = []
        self._gone: set[int] = set()

    def vertex(self, *, needs: bool) -> int:
        """Add a vertex; return its number."""
        self._needs.append(needs)
        self._at.append([])
        self.chosen.append(-1)
        return len(self._at) - 1

    def edge(self, a: int, b: int) -> int:
        """Add an edge; return its number."""
        self.edges.append((a, b))
        number = len(self.edges) - 1
        self._at[a].append(number)
        self._at[b].append(number)
        return number

    def copy(self) -> Matching:
        """Return the same graph with its own choice of edges."""
        twin = Matching()
        twin.edges, twin._needs, twin._at = self.edges, self._needs, self._at
        twin.chosen, twin._gone = self.chosen.copy(), self._gone.copy()
        return twin

    def has(self, edge: int) -> bool:
        """Whether an edge is chosen."""
        return self.chosen[self.edges[edge][0]] == edge

    def complete(self) -> list[int]:
        """Choose edges; return the vertices that are in one another's way where some cannot have one."""
        for v, needs in enumerate(self._needs):  # what is easily had first
            if needs and self.chosen[v] < 0:
                for e in self._at[v]:
                    u = self._other(e, v)
                    if u != v and self.chosen[u] < 0 and e not in self._gone:
                        self.chosen[v] = self.chosen[u] = e
                        break
        for v, needs in enumerate(self._needs):
            if needs and self.chosen[v] < 0:
                stuck = self._augment(v)
                if stuck:
                    return stuck
        return []

    def without(self, edges: list[int]) -> bool:
        """Do without some edges, if that is possible; everything stays as it is where it is not."""
        chosen, gone = self.chosen.copy(), self._gone.copy()
        lost = [v for e in edges if self.has(e) for v in self.edges[e]]
        self._gone.update(edges)
        for v in lost:
            self.chosen[v] = -1
        for v in lost:
            if self._needs[v] and self.chosen[v] < 0 and self._augment(v):
                self.chosen, self._gone = chosen, gone
                return False
        return True

    def beside(self, edge: int) -> list[int]:
        """Return the other edges of a vertex that needs one: without them this edge is chosen."""
        a, b = self.edges[edge]
        v = a if self._needs[a] else b
        return [e for e in self._at[v] if e != edge and e not in self._gone]

    # ---------------------------------------------------------------- Edmonds' search

    def _other(self, edge: int, v: int) -> int:
        a, b = self.edges[edge]
        return b if a == v else a

    def _mate(self, v: int) -> int:
        return -1 if self.chosen[v] < 0 else self._other(self.chosen[v], v)

    def _augment(self, root: int) -> list[int]:
        """Give a vertex an edge by a path of edges taken in turn; return the vertices searched if none is."""
        count = len(self._at)
        self._base = list(range(count))
        self._parent = [-1] * count  # the edge by which an inner vertex was reached
        outer = [False] * count
        outer[root] = True
        queue = deque([root])
        while queue:
            v = queue.popleft()
            for e in self._at[v]:
                u = self._other(e, v)
                if e in self._gone or self._base[u] == self._base[v] or self._mate(v) == u:
                    continue
                mate = self._mate(u)
                if u == root or (mate >= 0 and self._parent[mate] >= 0):
                    self._shrink(v, u, e, outer, queue)
                elif self._parent[u] < 0:
                    self._parent[u] = e
                    if mate < 0:
                        self._flip(u)
                        return []
                    if not self._needs[mate]:  # it can do without: the path ends there
                        self.chosen[mate] = -1
                        self._flip(u)
                        return []
                    outer[mate] = True
                    queue.append(mate)
        return [v for v in range(count) if outer[v]]

    def _flip(self, u: int) -> None:
        """Choose the edges of the path to u that were not chosen, and the other way round."""
        while u >= 0:
            e = self._parent[u]
            v = self._other(e, u)
            following = self._mate(v)
            self.chosen[u] = self.chosen[v] = e
            u = following

    def _shrink(self, v: int, u: int, edge: int, outer: list[bool], queue: deque[int]) -> None:
        """Make one vertex of an odd ring."""
        top = self._common(v, u)
        ring: set[int] = set()
        self._mark(v, top, edge, ring)
        self._mark(u, top, edge, ring)
        for w in range(len(self._base)):
            if self._base[w] in ring:
                self._base[w] = top
                if not outer[w]:
                    outer[w] = True
                    queue.append(w)

    def _common(self, v: int, u: int) -> int:
        """Return the base at which the paths from two outer vertices to the root meet."""
        seen = set()
        while True:
            v = self._base[v]
            seen.add(v)
            mate = self._mate(v)
            if mate < 0:
                break
            v = self._other(self._parent[mate], mate)
        u = self._base[u]
        while u not in seen:
            mate = self._mate(u)
            u = self._base[self._other(self._parent[mate], mate)]
        return u

    def _mark(self, v: int, top: int, edge: int, ring: set[int]) -> None:
        """Note the bases from an outer vertex to the top, and how they are reached the other way round."""
        while self._base[v] != top:
            mate = self._mate(v)
            ring |= {self._base[v], self._base[mate]}
            self._parent[v] = edge
            edge = self._parent[mate]
            v = self._other(edge, mate)
