"""Bond graphs as data: parts by name and bonds as text, ``"wall >> m1.left"``.

An element is described by the call that made it, ``{"part": "I", "mass": 2.0}``; a model that a function or
class of the library made, by that call; any other model by its parts and bonds. A law that is a Python
function has no description.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from bondloop.bondgraph.graph import Graph
from bondloop.bondgraph.parts import Bond, Part, describe_part
from bondloop.engine.data import FAMILIES, PYTHON, Kind, complete, in_words, origin_of, plain

# ---------------------------------------------------------------------- to data


def describe_model(model: Graph) -> dict[str, Any]:
    """Describe a model by the call that made it or, where it was drawn part by part, by parts and bonds."""
    origin = origin_of(model)
    if origin is not None:
        return origin.describe()
    entries: dict[str, Any] = {"model": "Model"}
    if model._name:
        entries["name"] = model._name
    whole: set[Part] = set()  # parts inside models that are described by a call
    entries["parts"] = _parts(model, whole)
    paths = _paths(model)
    bonds = [b for b in _bonds(model, paths) if not (b.tail in whole and b.head in whole and _same(b))]
    entries["bonds"] = [_written(b, paths) for b in _in_order(bonds)]
    if model._symbol_values:
        entries["values"] = dict(model._symbol_values)
    entries.update(_attributes(model))
    return _whole_or_words(model, entries)


def _whole_or_words(model: Graph, entries: dict[str, Any]) -> dict[str, Any]:
    """Return a description; of a ready-made model that was changed and has none, words that say so.

    Its parts would be blamed otherwise, with which its user has nothing to do.
    """
    kind = _ready_made(type(model))
    if kind is None or complete(entries):
        return entries
    changed = "edited since it was made" if kind.make is type(model) else f"derived from {kind.name}"
    return {PYTHON: f"{in_words(model)}, {changed}, which is described by its settings alone"}


def _ready_made(owner: type) -> Kind | None:
    """Return the kind that a class is or derives from; None for a model of one's own."""
    families = [FAMILIES[name] for name in ("transfer", "model") if name in FAMILIES]
    makers = {kind.make: kind for family in families for kind in family.values()}
    return next((makers[base] for base in owner.__mro__ if base in makers), None)


def _parts(model: Graph, whole: set[Part]) -> dict[str, Any]:
    """Describe the parts of a model by name, however deep models lie within models: the inner ones first."""
    drawn = [model]
    for graph in drawn:
        inner = (part for part in graph._parts.values() if isinstance(part, Graph))
        drawn.extend(part for part in inner if origin_of(part) is None)
    described: dict[Part, dict[str, Any]] = {}
    for graph in reversed(drawn):
        entries: dict[str, Any] = {}
        for name, part in graph._parts.items():
            if not isinstance(part, Graph):
                entries[name] = describe_part(part)
            elif origin_of(part) is not None:
                entries[name] = describe_model(part)
                whole.update(p for _, p in part.walk())
            else:
                values = {"values": dict(part._symbol_values)} if part._symbol_values else {}
                own = {"model": "Model", "parts": described[part], **values, **_attributes(part)}
                entries[name] = _whole_or_words(part, own)
        described[graph] = entries
    return described[model]


def _attributes(model: Graph) -> dict[str, Any]:
    """Return what a model says about itself besides its parts, such as the unit of its command."""
    own = {
        name: plain(value)
        for name, value in model.__dict__.items()
        if name[0] != "_" and (isinstance(value, (str, float, int)) or _numbers(value))
    }
    return {"attributes": own} if own else {}


def _numbers(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(v, (str, float, int)) for v in value.values())


def _paths(model: Graph) -> dict[Part, str]:
    return {part: path for path, part in model.walk()}


def _bonds(model: Graph, paths: Mapping[Part, str]) -> list[Bond]:
    return [b for b in model.bonds() if b.head in paths]


def _same(b: Bond) -> bool:
    """Whether both ends lie in one model that is described by a call."""

    def maker(part: Part) -> Graph | None:
        owner, result = part._owner, None
        while owner is not None:
            if origin_of(owner) is not None:
                result = owner
            owner = owner._owner
        return result

    return maker(b.tail) is maker(b.head)


def _in_order(bonds: Sequence[Bond]) -> list[Bond]:
    """Return bonds in an order in which they can have been drawn: at each part, that of its own list."""
    number = {b: i for i, b in enumerate(bonds)}
    after: dict[int, list[int]] = {}
    waiting = [0] * len(bonds)
    for part in dict.fromkeys(end for b in bonds for end in (b.tail, b.head)):
        own = [number[b] for b in part._bonds if b in number]
        for one, other in itertools.pairwise(own):
            after.setdefault(one, []).append(other)
            waiting[other] += 1
    ready = [i for i, count in enumerate(waiting) if not count]
    order: list[int] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for j in after.get(i, ()):
            waiting[j] -= 1
            if not waiting[j]:
                heapq.heappush(ready, j)
    left = sorted(set(range(len(bonds))) - set(order))  # after edits there may be no such order
    return [bonds[i] for i in (*order, *left)]


def _written(b: Bond, paths: Mapping[Part, str]) -> str | dict[str, str]:
    ends = [
        paths[part] if index is None else part.component_path(paths[part], index)
        for part, index in ((b.tail, b.tail_index), (b.head, b.head_index))
    ]
    text = f"{ends[0]}{'' if b.word is None else f'.{b.word}'} >> {ends[1]}"
    return text if b.stroke is None else {"bond": text, "stroke": b.stroke}


def mark_of(model: Graph) -> int:
    """Return a number that changes when parts, coefficients or bonds inside a model do."""
    mark = hash(repr(model._symbol_values))
    order: dict[Part, int] = {}
    models = [model]
    while models:
        for name, part in models.pop()._parts.items():
            order[part] = len(order)
            mark = hash((mark, name))
            if isinstance(part, Graph):
                models.append(part)
    for part in order:
        values = part.__dict__
        numbers = (values.get("coefficient"), values.get("start"))
        try:
            mark = hash((mark, type(part), numbers))
        except TypeError:  # lists of them
            mark = hash((mark, type(part), repr(numbers)))
        if part._arguments is not None:  # shared with copies; those of another part are others
            plainly = (v for v in part._arguments[1].values() if isinstance(v, (float, int, str)))
            mark = hash((mark, id(part._arguments), *plainly))
        for b in values.get("_bonds", ()):
            if b.tail is part and b.head in order:
                mark = hash((mark, order[b.head], b.tail_index, b.head_index, b.stroke, b.word))
    return mark
