"""Bond graphs as data: parts by name and bonds as text, ``"wall >> m1.left"``.

An element is described by the call that made it, ``{"part": "I", "mass": 2.0}``; a model that a function or
class of the library made, by that call; any other model by its parts and bonds. A law that is a Python
function has no description.
"""

from __future__ import annotations

import heapq
import inspect
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph.parts import Bond, Junction, Part, Port, Reading, Terminal, bond
from bondloop.data.kinds import (
    FAMILIES,
    PYTHON,
    Kind,
    Origin,
    complete,
    in_words,
    kept,
    origin_of,
    plain,
    register,
)
from bondloop.errors import BondloopError, InputError, one_or_all

if TYPE_CHECKING:
    from bondloop.bondgraph.model import Model
    from bondloop.program.system import System

__all__ = ["describe_model", "describe_part", "mark_of", "model_from_parts", "place", "remember_model"]

LONGEST = 100_000
"""Most numbers of an array of parts such as ``floor[1]`` for which it becomes a list."""


# ---------------------------------------------------------------------- to data


def describe_part(part: Part) -> dict[str, Any]:
    """Describe an element, a junction or a port by the call that made it."""
    origin = origin_of(part)
    if origin is not None:
        return origin.describe()
    kind = FAMILIES["part"].get(type(part).__name__)
    if kind is None or kind.make is not type(part):
        return {PYTHON: in_words(part)}
    positional, options = part._arguments or ((), _only(part, kind))
    if not positional:
        return {**kind.head(), **{name: plain(value) for name, value in options.items()}}
    try:
        bound = inspect.signature(kind.make).bind(*positional, **options)
    except TypeError:  # made in a way of its own
        return {PYTHON: in_words(part)}
    return Origin(kind, bound.arguments).describe()


def _only(part: Part, kind: Kind) -> dict[str, Any]:
    """Return what a part was made with that has not kept it: one number, or a size."""
    coefficient = getattr(part, "coefficient", None)
    if coefficient is not None:
        return {coefficient[0]: coefficient[1]}
    if not isinstance(part, (Junction, Port)):
        return {}
    known = kind.parameters.items()
    return {name: getattr(part, name) for name, p in known if getattr(part, name) != p.default}


def describe_model(model: Model) -> dict[str, Any]:
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


def _whole_or_words(model: Model, entries: dict[str, Any]) -> dict[str, Any]:
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
    kinds = {**FAMILIES.get("transfer", {}), **FAMILIES["model"]}.values()
    makers = {kind.make: kind for kind in kinds}
    return next((makers[base] for base in owner.__mro__ if base in makers), None)


def _parts(model: Model, whole: set[Part]) -> dict[str, Any]:
    from bondloop.bondgraph.model import Model

    entries: dict[str, Any] = {}
    for name, part in model._parts.items():
        if not isinstance(part, Model):
            entries[name] = describe_part(part)
        elif origin_of(part) is not None:
            entries[name] = describe_model(part)
            whole.update(p for _, p in part.walk())
        else:
            values = {"values": dict(part._symbol_values)} if part._symbol_values else {}
            inner = {"model": "Model", "parts": _parts(part, whole), **values, **_attributes(part)}
            entries[name] = _whole_or_words(part, inner)
    return entries


def _attributes(model: Model) -> dict[str, Any]:
    """Return what a model says about itself besides its parts, such as the unit of its command."""
    own = {
        name: plain(value)
        for name, value in model.__dict__.items()
        if name[0] != "_" and (isinstance(value, (str, float, int)) or _numbers(value))
    }
    return {"attributes": own} if own else {}


def _numbers(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(v, (str, float, int)) for v in value.values())


def _paths(model: Model) -> dict[Part, str]:
    return {part: path for path, part in model.walk()}


def _bonds(model: Model, paths: Mapping[Part, str]) -> list[Bond]:
    return [b for b in model.bonds() if b.head in paths]


def _same(b: Bond) -> bool:
    """Whether both ends lie in one model that is described by a call."""

    def maker(part: Part) -> Model | None:
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


def mark_of(model: Model) -> int:
    """Return a number that changes when parts, coefficients or bonds inside a model do."""
    from bondloop.bondgraph.model import Model

    mark = hash(repr(model._symbol_values))
    order: dict[Part, int] = {}
    models = [model]
    while models:
        for name, part in models.pop()._parts.items():
            order[part] = len(order)
            mark = hash((mark, name))
            if isinstance(part, Model):
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


# ---------------------------------------------------------------------- from data


def model_from_parts(
    parts: Mapping[str, Part],
    bonds: Sequence[str | Mapping[str, str]] = (),
    name: str | None = None,
    values: Mapping[str, float] | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> Model:
    """Return a model from parts and bonds.

    Parameters
    ----------
    parts
        Elements, junctions, ports and models by name; ``cell[0]`` is a member of an array.
    bonds
        As text, ``"wall >> m1.left"``, in the order in which they are drawn; with an imposed causal stroke
        ``{"bond": "a >> b", "stroke": "head"}``.
    name
        Of the model.
    values
        Of symbols.
    attributes
        What else the model says about itself: ``{"capacity": {"force": 1e3}}`` of a transfer system.

    Examples
    --------
    >>> from bondloop.bondgraph import C, I, One
    >>> m = model_from_parts(
    ...     {"v": One(), "mass": I(mass=2), "spring": C(stiffness=8)}, ["v >> mass", "v >> spring"]
    ... )
    >>> m.compile().states
    ('mass.momentum', 'spring.displacement')
    """
    from bondloop.bondgraph.model import Model

    model = Model(name)
    for key, part in parts.items():
        if not isinstance(part, Part):
            raise InputError(
                f"Model(parts): expected a part for '{key}', such as I(mass=2); found {part!r:.60}"
            )
        place(model, key, part)
    faults = []
    for i, text in enumerate(bonds):
        written, stroke = (
            (text.get("bond"), text.get("stroke")) if isinstance(text, Mapping) else (text, None)
        )
        try:
            tail, head = ends_of(model, written)
            bond(tail, head, stroke=stroke)
        except BondloopError as error:
            faults.append(f"Model(bonds[{i}]): {error}")
    if faults:
        raise one_or_all("Model", faults)
    model.let(**dict(values or {}))
    for key, value in (attributes or {}).items():
        if not key.isidentifier() or key[0] == "_" or hasattr(Model, key) or key in model._parts:
            raise InputError(
                f"Model(attributes): the name '{key}' is taken, or is none that Python can write"
            )
        object.__setattr__(model, key, value)
    return model


def ends_of(model: Model, text: object) -> tuple[Part | Terminal, Part | Terminal]:
    """Return the two ends of a bond that is written as ``"a.b >> c.d"``."""
    ends = [e.strip() for e in text.split(">>")] if isinstance(text, str) else []
    if len(ends) != 2 or not all(ends):
        raise InputError(f"expected a bond written as 'a.b >> c.d'; found {text!r:.60}")
    word = model._word_read(ends[0])
    result: list[Part | Terminal] = []
    for end in (ends[0].removesuffix(f".{word}"), ends[1]):
        part, index = model._terminal(end)
        result.append(part if index is None else Terminal(part, index))
    if word is not None:
        tail = result[0]
        part, index = (tail.part, tail.index) if isinstance(tail, Terminal) else (tail, None)
        result[0] = Reading(part, index, word)
    return result[0], result[1]


def place(model: Model, name: str, part: Part) -> None:
    """Name a part as it is called in data, which need not be a Python identifier.

    Any name can be found by its path; those that Python can write become attributes, and ``floor[1]`` becomes
    a member of a list, with None where there is no such number.
    """
    if not name:
        raise InputError(f"a part of {model.path} has no name")
    model._add(name, part)
    array, bracket, number = name.partition("[")
    if hasattr(type(model), array):
        return
    if not bracket:
        object.__setattr__(model, name, part)
    elif re.fullmatch(r"\d+\]", number) and int(number[:-1]) < LONGEST:
        members = model.__dict__.setdefault(array, [])
        members += [None] * (int(number[:-1]) + 1 - len(members))
        members[int(number[:-1])] = part


def system_from(
    of: Model,
    outputs: Sequence[str] | str | None = None,
    iterations: int | None = None,
    modes: Mapping[str, int | str] | None = None,
) -> System:
    """Return the equations of a model, ``of.compile(...)``, as a description calls it."""
    return of.compile(outputs, iterations=iterations, modes=modes)


register(Kind("model", "Model", model_from_parts))
_COMPILED = register(Kind("system", "from_model", system_from))


def remember_model(
    system: System,
    model: Model,
    outputs: Sequence[str] | None,
    iterations: int | None,
    modes: Mapping[str, int | str] | None,
) -> None:
    """Let a system remember the model that it was compiled from, and how."""
    names = None if outputs is None else list(outputs)
    arguments = {"of": model, "outputs": names, "iterations": iterations, "modes": kept(modes)}

    # The model may be edited later. To mark it now would make every compilation slower by a seventh; to
    # compile it once more is work for those alone who ask for the description.
    def holds(value: System) -> bool:
        try:
            return _formulas(system_from(**arguments)) == _formulas(value)
        except BondloopError:
            return False

    object.__setattr__(system, "_origin", Origin(_COMPILED, arguments, holds=holds))


def _formulas(system: System) -> tuple[object, ...]:
    """Return the names, numbers and formulas of a system, to be compared with those of another."""
    rates = zip(system.states, map(str, system.rate_exprs), strict=True)
    defined = [(v.name, str(e)) for v, e in system.definitions.items()]
    outputs = [(name, str(e)) for name, e in system.output_exprs.items()]
    start = [(v.name, x) for v, x in system.initial_by_var.items()]
    return (
        [*rates],
        system.inputs,
        defined,
        outputs,
        start,
        dict(system.parameters),
        dict(system.input_defaults),
    )
