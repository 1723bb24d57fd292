"""Bicausal bonds: source-sensors that impose both variables of a bond, or neither.

The equations are derived with ordinary causality first and turned round along the path between the two
(:mod:`bondloop.engine.passes.inversion`). On that path effort and flow go the same way, and the causal stroke
falls apart into two halves (Gawthrop 1995): that of the effort at the end that receives the effort, that of
the flow at the end that gives the flow.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.passes.flat_graph import ONE, ZERO
from bondloop.engine.ir import Expr, Var
from bondloop.engine.passes import invert_for
from bondloop.errors import CausalityError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bondloop.bondgraph.passes.equations import Derivation
    from bondloop.engine import System


def turned_round(d: Derivation, system: System) -> System:
    """Find what the source-sensors that impose neither must give for what the others impose."""
    if len(d.imposed) != len(d.sought):
        raise CausalityError(
            f"{len(d.imposed)} source-sensors impose both effort and flow ({_list(d, 'both')}) and "
            f"{len(d.sought)} impose neither ({_list(d, 'neither')}); there must be as many of the one as of "
            "the other"
        )
    return invert_for(system, d.imposed, d.sought, system.output_exprs)


def _list(d: Derivation, imposes: str) -> str:
    flat = d.flat
    paths = [flat.path[n] for n in _bicausal_nodes(d, imposes)]
    return ", ".join(paths) or "none"


def _bicausal_nodes(d: Derivation, imposes: str) -> list[int]:
    return [n for n, p in enumerate(d.flat.part) if isinstance(p, el.SS) and p.imposes == imposes]


def directions(d: Derivation, system: System) -> tuple[list[int], list[int]]:
    """Return for every bond where its effort goes and where its flow goes: 1 to the head, -1 to the tail."""
    to_head = d.graph.to_head
    if system.inversion is None:
        return list(to_head), [-way for way in to_head]
    flat = d.flat
    owner: dict[Var, int] = {}  # the node whose law gives each variable
    for variables, kind, sign in ((d.variables.effort, ZERO, 1), (d.variables.flow, ONE, -1)):
        for b, v in enumerate(variables):
            giver = flat.tail[b] if sign * to_head[b] > 0 else flat.head[b]
            if flat.kind[giver] != kind and isinstance(v, Var):
                owner[v] = giver
    sources = _bicausal_nodes(d, "both")
    for turn in system.inversion.turns:
        at: int | None = sources[turn.output]
        if turn.storage is not None:
            at = d.nodes_by_path.get(turn.storage.name.rpartition(".")[0])
        for v in turn.path:
            before = owner.get(v)
            if at is not None:
                owner[v] = at
            at = before
    return _ways(d, d.variables.effort, ZERO, owner), _ways(d, d.variables.flow, ONE, owner)


def _ways(d: Derivation, variables: Sequence[Expr], shared_by: int, owner: dict[Var, int]) -> list[int]:
    """Follow each variable from the node that gives it, through the junctions that share it."""
    flat = d.flat
    carried: dict[Var, list[int]] = {}
    for b, v in enumerate(variables):
        if isinstance(v, Var):
            carried.setdefault(v, []).append(b)
    ways = [0] * len(variables)
    for v, bonds in carried.items():
        at: dict[int, list[int]] = {}
        for b in bonds:
            at.setdefault(flat.tail[b], []).append(b)
            at.setdefault(flat.head[b], []).append(b)
        queue = deque([owner[v]] if v in owner else [])
        while queue:
            node = queue.popleft()
            for b in at.get(node, ()):
                if not ways[b]:
                    ways[b] = 1 if flat.tail[b] == node else -1
                    other = flat.head[b] if ways[b] > 0 else flat.tail[b]
                    if flat.kind[other] == shared_by:
                        queue.append(other)
    return ways
