"""Nodes without a reference: 0-junctions whose efforts could all be higher, and nothing would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.bondgraph.flatten import ONE, ZERO

if TYPE_CHECKING:
    from bondloop.bondgraph.flatten import Flat

__all__ = ["floating"]


def floating(flat: Flat) -> list[list[str]]:
    """Return the paths of 0-junctions without a reference, those together that depend on each other.

    Whatever is bonded to a 0-junction is a reference, other junctions apart. A 1-junction is one unless as
    many bonds lead into it from these 0-junctions as lead out to them: it compares their efforts with others.
    """
    groups = _Groups(len(flat.kind))
    bonds = [(tail, head) for tail, head in zip(flat.tail, flat.head, strict=True)]
    for tail, head in bonds:
        if flat.kind[tail] == flat.kind[head] and flat.kind[tail] in (ZERO, ONE):
            groups.join(tail, head)
    nodes, loops = groups, _Groups(len(flat.kind))
    for tail, head in bonds:
        if {flat.kind[tail], flat.kind[head]} == {ZERO, ONE}:
            loops.join(nodes.first(tail), nodes.first(head))
    # Into each group of 1-junctions, bonds from 0-junctions less those to them.
    balance: dict[int, int] = {}
    held: set[int] = set()
    for tail, head in bonds:
        for node, other, sign in ((tail, head, 1), (head, tail, -1)):
            if flat.kind[node] != ZERO:
                continue
            if flat.kind[other] == ONE:
                at = nodes.first(other)
                balance[at] = balance.get(at, 0) + sign
            elif flat.kind[other] != ZERO:
                held.add(loops.first(nodes.first(node)))
    held |= {loops.first(at) for at, count in balance.items() if count}
    result: dict[int, list[str]] = {}
    for node, kind in enumerate(flat.kind):
        group = loops.first(nodes.first(node))
        if kind == ZERO and group not in held:
            result.setdefault(group, []).append(flat.path[node])
    return list(result.values())


class _Groups:
    """Numbers in groups, each known by its first member."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))

    def first(self, i: int) -> int:
        while self._above[i] != i:
            self._above[i] = self._above[self._above[i]]
            i = self._above[i]
        return i

    def join(self, i: int, j: int) -> None:
        i, j = self.first(i), self.first(j)
        self._above[max(i, j)] = min(i, j)
