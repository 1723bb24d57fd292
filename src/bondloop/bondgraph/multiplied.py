"""Modulated two-ports that multiply rather than divide by their modulus, where the causality leaves a choice.

A modulus that is a function of signals may pass zero. Multiplied by, that is no matter; divided by, it is
zero by zero. The assignment of causality does not look at it, so what divides is tried the other way round
afterwards. That is taken if no more storages become dependent, and if nothing has to change but linear
storages and resistors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.flatten import GY, ONE, TF
from bondloop.errors import CausalityError

if TYPE_CHECKING:
    from bondloop.bondgraph.causality import Causality
    from bondloop.bondgraph.flatten import Flat

__all__ = ["multiplying", "without_divisions"]

MOST = 50
"""Two-ports that are tried one by one; the work is that of one more assignment for each."""


def multiplying(flat: Flat, node: int) -> tuple[int, int] | None:
    """Return a bond of a modulated two-port and its direction where it multiplies; None for other ones."""
    part = flat.part[node]
    if not isinstance(part, (el.MTF, el.MGY)):
        return None
    first, second = flat.incident[node]
    bond = first if flat.head[first] == node else second
    # flow_out = n flow_in, effort_in = n effort_out: the effort goes to the tail of the bond drawn to it.
    return bond, -1 if part.form == "mul" else 1


def without_divisions(
    flat: Flat, first: Causality, assigned: Callable[[Mapping[int, int]], Causality]
) -> Causality:
    """Return a causality with fewer divisions by a modulus, or the first one.

    Parameters
    ----------
    flat
        The graph.
    first
        Its causality as it was assigned.
    assigned
        Assigns causality again, with directions of bonds that are chosen before those of the storages.
    """
    dividing = _dividing(flat, first)
    if not dividing:
        return first
    every = _tried(flat, first, first, dividing, assigned)
    if every is not None:
        return every
    best, accepted = first, dict[int, int]()
    for bond, direction in list(dividing.items())[:MOST]:
        if best.to_head[bond] != direction:
            wanted = {**accepted, bond: direction}
            better = _tried(flat, first, best, wanted, assigned)
            if better is not None:
                best, accepted = better, wanted
    return best


def _dividing(flat: Flat, causality: Causality) -> dict[int, int]:
    """Return the bonds of two-ports that divide, with the directions in which these would multiply."""
    two_ports = [node for node, kind in enumerate(flat.kind) if kind in (TF, GY)]
    places = (multiplying(flat, node) for node in two_ports)
    return {p[0]: p[1] for p in places if p is not None and causality.to_head[p[0]] != p[1]}


def _tried(
    flat: Flat,
    first: Causality,
    best: Causality,
    wanted: Mapping[int, int],
    assigned: Callable[[Mapping[int, int]], Causality],
) -> Causality | None:
    """Return the causality with some directions wanted, if it is better than the best so far."""
    try:
        new = assigned(wanted)
    except CausalityError:
        return None
    fewer = len(_dividing(flat, new)) < len(_dividing(flat, best))
    if not fewer or len(new.derivative) > len(first.derivative):
        return None
    return new if all(_may_turn(flat, n) for n in _turned(flat, first, new)) else None


def _turned(flat: Flat, one: Causality, other: Causality) -> list[int]:
    """Return the elements whose causality differs."""
    bonds = [b for b, (p, q) in enumerate(zip(one.to_head, other.to_head, strict=True)) if p != q]
    ends = {n for b in bonds for n in (flat.tail[b], flat.head[b])}
    return [n for n in ends if len(flat.incident[n]) == 1 and flat.kind[n] > ONE]


def _may_turn(flat: Flat, node: int) -> bool:
    """Whether an element is as good in its other causality: linear, with nothing to start from."""
    part = flat.part[node]
    if not isinstance(part, el.OnePort) or part.coefficient is None:
        return False
    start = getattr(part, "start", 0.0)
    return not (start[flat.component[node]] if isinstance(start, list) else start)
