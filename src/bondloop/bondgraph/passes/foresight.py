"""Foresight in the assignment of causality: which choices can still be completed.

Every junction needs exactly one bond that imposes its common variable: a matching. Edmonds' search for
augmenting paths (1965), with odd rings shrunk, finds one; some vertices need no edge, and a path may end at
one of those by leaving it without.

The flows at all ports of a matrix transformer are linear in those of one side: the rows of [identity;
matrix]. Flows can be imposed at a set of ports if their rows are independent and determine all others: a
basis. The efforts follow at those ports and are imposed at the rest. The identity chosen whole is the
causality of one side; any other basis asks for the inverse of a part of the matrix.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph.elements import two_ports
from bondloop.bondgraph.passes.flat_graph import GY, ONE, TF, ZERO
from bondloop.bondgraph.tolerances import DRAWN_SIGNALS, NO_ROW
from bondloop.errors import CausalityError, ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bondloop.bondgraph.parts import Part
    from bondloop.bondgraph.passes.flat_graph import FlatGraph


class DependentPorts(Exception):  # noqa: N818 - turned into a CausalityError by the assignment, with trails
    """Flows (or efforts) that are imposed at ports depend on each other."""

    def __init__(self, text: str, ports: list[int]) -> None:
        super().__init__(text)
        self.ports = ports


class PortRanks:
    """The ports of one matrix transformer.

    Attributes
    ----------
    nodes
        Nodes of its ports: first those whose flows are multiplied, then those whose flows come out.
    count
        How many of the first there are; flows can be imposed at that many ports.
    values
        The matrix, as numbers: flow of the second ports = values @ flow of the first. A modulated one is
        taken at drawn signals, where its rank is what it is almost everywhere.
    """

    def __init__(self, flat: FlatGraph, part: Part) -> None:
        assert isinstance(part, (two_ports.TF, two_ports.MTF))
        assert part._sides is not None
        self.path = flat.paths[part]
        first, (taken, given) = flat.first[part], part._sides
        sides = [range(first, first + taken), range(first + taken, first + taken + given)]
        values = _drawn(flat, part)
        if part.form == "div":  # the ratio of efforts: the flows of the outputs are multiplied
            sides.reverse()
            values = values.T
        self.nodes, self.count, self.values = [*sides[0], *sides[1]], len(sides[0]), values
        self.names = [flat.path[node] for node in self.nodes]
        self.rows = np.vstack([np.eye(self.count), _level(values)])

    @property
    def entries(self) -> list[tuple[int, int]]:
        """Rows and columns of the entries that are not zero."""
        return [(int(i), int(j)) for i, j in zip(*np.nonzero(self.values), strict=True)]

    def follow(self, takes_flow: Sequence[bool | None]) -> list[tuple[int, bool]]:
        """Return the ports whose causality follows: (port, whether its flow is imposed).

        Parameters
        ----------
        takes_flow
            For every port whether its flow is imposed (True) or its effort (False); None where it is open.
        """
        imposed = [k for k, flow in enumerate(takes_flow) if flow]
        undecided = [k for k, flow in enumerate(takes_flow) if flow is None]
        basis = _basis(self.rows[imposed])
        if len(basis) < len(imposed):
            raise DependentPorts(
                f"the flows at {self._named(imposed)} cannot all be imposed: by the matrix of {self.path} "
                f"{len(basis)} of them determine the other{'s' if len(imposed) - len(basis) > 1 else ''}",
                imposed,
            )
        rest = self.rows[undecided] - (self.rows[undecided] @ basis.T) @ basis
        rest[np.linalg.norm(rest, axis=1) < NO_ROW] = 0.0
        need = self.count - len(imposed)
        if len(_basis(rest)) < need:
            closed = [k for k, flow in enumerate(takes_flow) if flow is False]
            raise DependentPorts(
                f"the efforts at {self._named(closed)} cannot all be imposed: by the matrix of {self.path} "
                "some of them determine the others",
                closed,
            )
        follows = []
        for k, row in enumerate(rest):
            if not row.any():
                follows.append((undecided[k], False))
            elif self._needed(rest, k, need):
                follows.append((undecided[k], True))
        return follows

    @staticmethod
    def _needed(rest: NDArray[np.float64], k: int, need: int) -> bool:
        """Whether the flows would not be determined without port k."""
        return len(rest) == need or len(_basis(np.delete(rest, k, axis=0))) < need

    def reduced(self, imposed: Sequence[int]) -> NDArray[np.float64] | None:
        """Return K of f_rest = K f_imposed where numbers cancel in it; None where zeros alone make its zeros.

        What cancels is seen by comparison with another matrix that is zero in the same places.
        """
        rest = [k for k in range(len(self.nodes)) if k not in imposed]
        drawn = np.random.default_rng(1).uniform(0.5, 1.5, self.values.shape)
        level = self.rows[self.count :]
        here, there = (
            np.linalg.solve(rows[list(imposed)].T, rows[rest].T).T
            for rows in (self.rows, np.vstack([np.eye(self.count), level * drawn]))
        )
        zero = np.abs(here) < NO_ROW
        if not (zero & (np.abs(there) > NO_ROW)).any():
            return None
        rows = np.vstack([np.eye(self.count), self.values])
        K = np.linalg.solve(rows[list(imposed)].T, rows[rest].T).T
        return np.where(zero, 0.0, K)

    def _named(self, ports: list[int]) -> str:
        shown = ", ".join(self.names[k] for k in ports[:6])
        return shown + (", ..." if len(ports) > 6 else "")


def _basis(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an orthonormal basis of the span of some rows."""
    if not rows.size:
        return np.zeros((0, rows.shape[1]))
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(directions[sizes > NO_ROW], dtype=float)


def _level(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring rows and columns to size one, whatever their units; zero ones stay."""
    level = matrix
    for axis in (0, 1, 0, 1, 0, 1):
        size = np.sqrt(np.abs(level).max(axis=axis, keepdims=True))
        level = level / np.where(size > 0, size, 1.0)
    size = np.linalg.norm(level, axis=1, keepdims=True)
    return np.asarray(level / np.where(size > 0, size, 1.0), dtype=float)


def _drawn(flat: FlatGraph, part: two_ports.TF | two_ports.MTF) -> NDArray[np.float64]:
    """Return the matrix as numbers, drawn where signals or symbols have none."""
    import sympy as sp

    formula = part.formula()
    given = {} if isinstance(part, two_ports.TF) else part.parameters
    values = {s: given[n] for n, s in formula.parameters.items() if isinstance(given[n], float)}
    letters = {s: flat.symbol_values.get(s.name) for s in formula.value.free_symbols}
    values |= {s: v for s, v in letters.items() if v is not None and s not in values}
    matrix = formula.value.subs(values)
    symbols = sorted(matrix.free_symbols, key=str)
    rng = np.random.default_rng(0)
    for size in DRAWN_SIGNALS:
        drawn = matrix.subs(
            {s: size * v for s, v in zip(symbols, rng.uniform(0.3, 1.0, len(symbols)), strict=True)}
        )
        try:
            numbers = np.array(drawn.tolist(), dtype=complex)
        except (TypeError, ValueError):
            continue
        if np.isfinite(numbers).all() and not numbers.imag.any():
            return np.asarray(numbers.real, dtype=float)
    raise ModelError(
        f"{flat.paths[part]}: its matrix has no finite value at signals of {min(DRAWN_SIGNALS):g} to "
        f"{max(DRAWN_SIGNALS):g}; check {sp.sstr(formula.value.tolist())}"
    )


class Foresight:
    """Knows for every bond that is open which of its two causalities can be completed.

    A bond between a 0- and a 1-junction imposes on both or on none: it is an edge of a matching. One between
    two junctions of a kind imposes on exactly one of them: two edges that meet at a vertex in its middle. At
    an element it ends at a vertex that may do without. Bonds on both sides of a transformer or gyrator are
    one.
    """

    def __init__(
        self, flat: FlatGraph, to_head: list[int], strong: list[int], ranks: Mapping[Part, PortRanks]
    ) -> None:
        self.flat, self.to_head = flat, to_head
        self.matching = Matching()
        self.at: dict[int, int] = {}
        self.names: dict[int, str] = {}
        for node, kind in enumerate(self.flat.kind):
            if kind <= ONE and strong[node] < 0:
                self.at[node] = v = self.matching.vertex(needs=True)
                self.names[v] = self.flat.path[node]
        self.zero_like: dict[int, bool] = {}
        for one in ranks.values():
            self._matrix(one)
        # For every bond: what is chosen where its effort goes to the head, and to the tail; None for nothing.
        self.edges: dict[int, dict[int, int | None]] = {}
        for bond, direction in enumerate(self.to_head):
            if not direction and bond not in self.edges:
                self._wire(bond)
        stuck = self.matching.complete()
        if stuck:
            error = CausalityError(self._explained(stuck))
            error.nodes = tuple(node for node, v in self.at.items() if v in stuck)
            raise error

    def allows(self, bond: int, direction: int) -> bool:
        """Whether a bond can have a causality; if so it is reckoned with from now on."""
        edges = self.edges.get(bond, {1: None, -1: None})
        yes, no = edges[direction], edges[-direction]
        matching = self.matching
        if no is not None:
            return matching.without([no])
        return yes is None or matching.without(matching.beside(yes))

    def _wire(self, bond: int) -> None:
        """Make the edges of a bond, and of those that transformers and gyrators tie to it."""
        flat = self.flat
        wire = {bond: 1}  # how each bond's direction goes with that of the first
        ends = []  # (junction or None, direction of the first bond that imposes on it)
        for side in (flat.head[bond], flat.tail[bond]):
            b, node = bond, side
            while (across := self._across(b, node)) is not None:
                other, there, gyrates = across
                if other in wire:
                    break
                # Effort goes in here and out there through a transformer; in on both sides of a gyrator.
                in_here = wire[b] if flat.head[b] == node else -wire[b]
                in_there = in_here if gyrates else -in_here
                wire[other] = in_there if flat.head[other] == there else -in_there
                b, node = other, flat.tail[other] if flat.head[other] == there else flat.head[other]
            if flat.kind[node] <= ONE or node in self.zero_like:
                in_ = wire[b] if flat.head[b] == node else -wire[b]
                zero = self.zero_like.get(node, flat.kind[node] == ZERO)
                ends.append((self.at.get(node), in_ if zero else -in_))
            else:
                ends.append((None, 0))
        chosen = self._joined(*ends)
        for b, sign in wire.items():
            self.edges[b] = {1: chosen[sign], -1: chosen[-sign]}

    def _across(self, bond: int, node: int) -> tuple[int, int, bool] | None:
        """Return the other bond of a two-port, the node where it ends, and whether it is a gyrator.

        An element with equations is a two-port if its two ports leave each other no choice.
        """
        flat = self.flat
        if flat.kind[node] in (TF, GY):
            first, second = flat.incident[node]
            return second if bond == first else first, node, flat.kind[node] == GY
        if node not in flat.tied:
            return None
        relations = flat.part[node].relations
        assert relations is not None
        same = {a == b for a, b in relations.causalities or ()} if len(relations.ports) == 2 else set()
        if len(same) != 1 or len(relations.causalities or ()) != 2:
            return None
        there = 2 * flat.tied[node] + 1 - node
        return flat.incident[there][0], there, True in same

    def _matrix(self, ranks: PortRanks) -> None:
        """Make the vertices of a matrix transformer.

        It is a mesh of transformers, one for each entry that is not zero, from a 1-junction at each port
        whose flow is multiplied to a 0-junction at each port whose flow comes out: each is an edge.
        """
        flat = self.flat
        for k, node in enumerate(ranks.nodes):
            zero = self.zero_like[node] = k >= ranks.count
            bond = flat.incident[node][0]
            effort_in = (self.to_head[bond] > 0) == (flat.head[bond] == node)
            if not self.to_head[bond] or effort_in != zero:
                self.at[node] = v = self.matching.vertex(needs=True)
                self.names[v] = flat.path[node]
        for i, j in ranks.entries:
            a, b = self.at.get(ranks.nodes[j]), self.at.get(ranks.nodes[ranks.count + i])
            if a is not None and b is not None:
                self.matching.edge(a, b)

    def _joined(self, one: tuple[int | None, int], other: tuple[int | None, int]) -> dict[int, int | None]:
        """Return the edge that is chosen for each direction of a wire between two ends."""
        (a, imposes_a), (b, imposes_b) = one, other
        matching = self.matching
        chosen: dict[int, int | None] = {1: None, -1: None}
        if a is None and b is None:
            return chosen
        if a is None or b is None:
            end, imposes = (a, imposes_a) if b is None else (b, imposes_b)
            assert end is not None
            chosen[imposes] = matching.edge(end, matching.vertex(needs=False))
        elif imposes_a == imposes_b:
            if a != b:
                chosen[imposes_a] = matching.edge(a, b)
            else:  # it would impose twice on one junction, so it must not impose at all
                chosen[-imposes_a] = matching.edge(matching.vertex(needs=True), matching.vertex(needs=False))
        else:
            middle = matching.vertex(needs=True)
            chosen[imposes_a], chosen[imposes_b] = matching.edge(a, middle), matching.edge(b, middle)
        return chosen

    def _explained(self, stuck: list[int]) -> str:
        names = [self.names[v] for v in stuck if v in self.names]
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        return (
            f"no causality is possible: each of the junctions {shown} needs exactly one bond that imposes "
            "its effort or flow, and however the bonds among them are turned, one of them has none or two: "
            "they are joined in a ring (or to sources) that leaves their variables undetermined; remove a "
            "bond of the ring, or put a resistor or a storage at one of them"
        )


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
