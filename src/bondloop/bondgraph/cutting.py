"""Cutting a model into a numerical and a physical half."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from bondloop.bondgraph.elements.one_ports import SS
from bondloop.bondgraph.parts import Bond, Part, Port, Terminal, bond, unbond
from bondloop.bondgraph.passes.domains import domain_at
from bondloop.bondgraph.passes.flat_graph import flatten
from bondloop.engine.data import FAMILIES, stamp_all
from bondloop.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bondloop.bondgraph.graph import Graph


AnyGraph = TypeVar("AnyGraph", bound="Graph")

INTERFACE = "interface"
"""Name of the source-sensors that stand at the cut in both halves."""


def cut(model: AnyGraph, bonds: Sequence[str], physical: str | None = None) -> tuple[AnyGraph, AnyGraph]:
    """Cut a model at named bonds.

    Both halves are ordinary models, copies of the original with the other half's parts removed. At each cut
    stands a source-sensor ``interface`` (``interface[0]``, ... for several): it imposes what the other half
    would impose and senses what the other half would feel.

    Parameters
    ----------
    model
        The model.
    bonds
        Each written as ``"m2.right >> m3.left"``.
    physical
        Path of any part that is to be physical; by default the half at the head of the first bond.

    Returns
    -------
    numerical, physical
    """
    if not isinstance(physical, (str, type(None))):
        raise ModelError(f"physical: expected the path of a part, such as 'm3'; found {physical!r:.60}")
    if not bonds:
        raise ModelError("a cut needs at least one bond, such as 'm2.right >> m3.left'")
    marked = [model.bond_at(text) for text in bonds]
    for text, b in zip(bonds, marked, strict=True):
        if b.word is not None or b.tail.is_signal or b.head.is_signal:
            raise ModelError(f"'{text}' carries a signal; a cut is made at bonds that carry power")
    if len(set(marked)) != len(marked):
        raise ModelError("the same bond is named twice in the cut")
    whole = flatten(model)  # faults of the whole are reported before those of the halves
    domains = [domain_at(whole, b) for b in marked]
    seed = marked[0].head if physical is None else model.find(physical)
    if not hasattr(seed, "_bonds"):
        inside = [p for path, p in model.walk() if path.startswith(f"{physical}.") and hasattr(p, "_bonds")]
        if not inside:
            raise ModelError(f"{physical} is empty, so it cannot tell which half is physical")
        seed = inside[0]
    reached = _physical_side(seed, marked)
    for text, b in zip(bonds, marked, strict=True):
        if (b.tail in reached) == (b.head in reached):
            side = "physical" if b.tail in reached else "numerical"
            raise ModelError(
                f"the cut does not separate the model at '{text}': both its ends are on the {side} side; the "
                f"physical side holds {_some(reached)}; name every bond between the two halves"
            )
    halves = []
    for keep_physical in (False, True):
        half = model.copy()
        object.__setattr__(
            half, "_name", f"{model._name or 'model'}_{'physical' if keep_physical else 'numerical'}"
        )
        twins = dict(half.walk())
        cuts = [_twin(b, model, twins) for b in marked]
        ends = []
        for b in cuts:
            tail_stays = (_original(b.tail, twins, model) in reached) == keep_physical
            ends.append((b, tail_stays))
        gone = [
            p
            for path, p in twins.items()
            if hasattr(p, "_bonds") and (model.find(path) in reached) != keep_physical
        ]
        sensors = [SS(domain=domain) for domain in domains]
        for (b, tail_stays), sensor in zip(ends, sensors, strict=True):
            stay, index = (b.tail, b.tail_index) if tail_stays else (b.head, b.head_index)
            unbond(b)
            end = stay if index is None else Terminal(stay, index)
            if tail_stays:
                bond(end, sensor, stroke=b.stroke)
            else:
                bond(sensor, end, stroke=b.stroke)
        _remove(half, gone)
        _place(half, sensors)
        halves.append(half)
    arguments = {"of": model, "cut": tuple(bonds), "physical": physical}
    stamp_all({"numerical_half": halves[0], "physical_half": halves[1]}, FAMILIES["model"], arguments)
    return halves[0], halves[1]


def _place(half: Graph, sensors: list[SS]) -> None:
    for s in sensors:  # bonding has named them after their kind; here they get their own name
        if s._owner is not None:
            s._owner.__dict__.pop(s._name or "", None)
            del s._owner._parts[s._name or ""]
            s._owner = None
    setattr(half, INTERFACE, sensors[0] if len(sensors) == 1 else sensors)


def interfaces(model: Graph) -> list[SS]:
    """Return the source-sensors at the cut of a half, in order.

    Parameters
    ----------
    model
        A half, as a cut returns it.
    """
    found = getattr(model, INTERFACE, None) if INTERFACE in model.__dict__ else None
    if isinstance(found, SS):
        return [found]
    if isinstance(found, (list, tuple)) and all(isinstance(s, SS) for s in found):
        return list(found)
    raise ModelError(f"{model.path} has no part '{INTERFACE}'; make the halves with model.cut(...)")


def _physical_side(seed: Part, cuts: list[Bond]) -> set[Part]:
    """Return all physical parts: those joined to the seed, and those an even number of cuts away from it.

    The physical half may fall into several pieces, each on its own transfer systems.
    """
    apart = set(cuts)
    side = dict.fromkeys(_reachable(seed, apart), True)
    work = list(cuts)
    while work:
        near = [b for b in work if (b.tail in side) or (b.head in side)]
        if not near:
            break
        for b in near:
            work.remove(b)
            here, there = (b.tail, b.head) if b.tail in side else (b.head, b.tail)
            if there not in side:
                side.update(dict.fromkeys(_reachable(there, apart), not side[here]))
    return {part for part, physical in side.items() if physical}


def _reachable(seed: Part, cuts: set[Bond]) -> set[Part]:
    found = {seed}
    work = [seed]
    while work:
        part = work.pop()
        for b in part._bonds:
            if b in cuts:
                continue
            other = b.head if b.tail is part else b.tail
            if other not in found:
                found.add(other)
                work.append(other)
    return found


def _twin(b: Bond, model: Graph, twins: dict[str, Part]) -> Bond:
    tail, head = twins[b.tail.path], twins[b.head.path]
    for candidate in tail._bonds:
        if (
            candidate.tail is tail
            and candidate.head is head
            and (candidate.tail_index, candidate.head_index) == (b.tail_index, b.head_index)
        ):
            return candidate
    raise ModelError(f"internal: bond {b} was lost in a copy of {model.path}")


def _original(part: Part, twins: dict[str, Part], model: Graph) -> Part:
    for path, twin in twins.items():
        if twin is part:
            return model.find(path)
    raise ModelError("internal: a part was lost in a copy")


def _remove(half: Graph, gone: list[Part]) -> None:
    """Remove parts, and models that are left without elements."""
    for part in gone:
        for b in list(part._bonds):
            unbond(b)
        owner = part._owner
        assert owner is not None
        _forget(owner, part._name or "")
        while owner is not half and not owner._parts and owner._owner is not None:
            above = owner._owner
            _forget(above, owner._name or "")
            owner = above


def _forget(owner: Graph, name: str) -> None:
    """Remove a part's name from its owner; the other members of an array keep their numbers."""
    del owner._parts[name]
    array, bracket, number = name.partition("[")
    if bracket and any(other.startswith(f"{array}[") for other in owner._parts):
        members = list(owner.__dict__[array])
        members[int(number[:-1])] = None
        object.__setattr__(owner, array, members)
    else:
        owner.__dict__.pop(array, None)


def _some(parts: set[Part]) -> str:
    names = sorted(p.path for p in parts if not isinstance(p, Port))
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
