"""Bond graphs as they are drawn, and as data: parts by name and bonds as text, ``"wall >> m1.left"``.

Parts with names stand in a tree of graphs, with bonds between them. An element is described by the call that
made it, ``{"part": "I", "mass": 2.0}``. So is a model that a function or class of the library made; any other
model is described by its parts and bonds. A law that is a Python function has no description.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from bondloop.bondgraph.elements.laws import check_number
from bondloop.bondgraph.elements.multiport import Multiport
from bondloop.bondgraph.elements.signals import Input
from bondloop.bondgraph.elements.two_ports import MGY, MTF, TwoPort
from bondloop.bondgraph.parts import (
    Bond,
    One,
    Part,
    Port,
    Reading,
    Terminal,
    Zero,
    bond,
    describe_part,
    unbond,
)
from bondloop.engine.data import FAMILIES, PYTHON, Kind, complete, in_words, origin_of, plain
from bondloop.errors import InputError, ModelError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    paths = {part: path for path, part in model.walk()}
    inner = (b for b in model.bonds() if b.head in paths)
    bonds = [b for b in inner if not (b.tail in whole and b.head in whole and _same(b))]
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


class Graph(Part):
    """A bond graph, or a part of one: what is drawn, without what can be done with it, which `Model` adds.

    Parameters
    ----------
    name
        Name of the graph, for titles and files.
    """

    _parts: dict[str, Part]
    _symbol_values: dict[str, float]
    _counts: dict[str, int]

    def __new__(cls, *_args: object, **_kwargs: object) -> Self:
        """Make room for parts, so that a subclass need not call ``super().__init__()``."""
        self = object.__new__(cls)
        object.__setattr__(self, "_parts", {})
        object.__setattr__(self, "_symbol_values", {})
        object.__setattr__(self, "_counts", {})
        return self

    def __init__(self, name: str | None = None) -> None:
        object.__setattr__(self, "_name", name)

    # ---------------------------------------------------------------- parts

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Part) and not name.startswith("_"):
            if f"{name}[0]" in self._parts:
                raise ModelError(self._twice(name))
            self._check_name(name)
            self._add(name, value)
        elif isinstance(value, (list, tuple)) and value and all(isinstance(v, Part) for v in value):
            if any(part.partition("[")[0] == name for part in self._parts):
                raise ModelError(self._twice(name))
            self._check_name(name)
            for i, part in enumerate(value):
                self._add(f"{name}[{i}]", part)
        object.__setattr__(self, name, value)

    def _twice(self, name: str) -> str:
        return (
            f"the name '{name}' is used twice in {self.path}; choose another, "
            f"or replace the part with swap('{name}', ...)"
        )

    def _check_name(self, name: str) -> None:
        if self._is_reserved(name):
            raise ModelError(f"{self.path}: the name '{name}' is taken by Model.{name}; choose another")
        if not name.isidentifier():
            raise ModelError(f"{self.path}: a part's name must be a Python identifier; found '{name}'")

    def _is_reserved(self, name: str) -> bool:
        """Whether a part cannot have this name, since something else of every graph has it."""
        return hasattr(Graph, name)

    def _add(self, name: str, part: Part) -> None:
        existing = self._parts.get(name)
        if existing is part:
            return
        if existing is not None:
            raise ModelError(self._twice(name))
        if part._owner is not None:
            if part._owner is self and named_by_kind(part):
                del self._parts[part._name or ""]
                if self.__dict__.get(part._name or "") is part:
                    del self.__dict__[part._name or ""]
            else:
                raise ModelError(f"{part.path} already has a name; a part can be assigned only once")
        if part is self:
            raise ModelError(f"{self.path} cannot contain itself")
        part._owner = self
        part._name = name
        self._parts[name] = part
        for b in getattr(part, "_bonds", ()):
            for end in (b.tail, b.head):
                if end._owner is None and end is not part and part._home() is self:
                    self._adopt(end)

    def _adopt(self, part: Part) -> None:
        """Take in a part that was only bonded, and name it after its kind."""
        kind = type(part).__name__
        count = self._counts.get(kind, 0) + 1
        while (name := kind if count == 1 else f"{kind}{count}") in self._parts:
            count += 1
        self._counts[kind] = count
        self._add(name, part)
        if name not in self.__dict__:
            object.__setattr__(self, name, part)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(unknown_name("part", name, self.__dict__.get("_parts", {}), where=self.path))

    @property
    def parts(self) -> Mapping[str, Part]:
        """The model's own parts by name."""
        return dict(self._parts)

    @property
    def ports(self) -> dict[str, Port]:
        """The model's ports by name."""
        return {name: p for name, p in self._parts.items() if isinstance(p, Port)}

    def walk(self) -> Iterator[tuple[str, Part]]:
        """All parts at any depth, with their paths."""
        stack: list[tuple[str, Part]] = [(name, p) for name, p in reversed(self._parts.items())]
        while stack:
            path, part = stack.pop()
            yield path, part
            if isinstance(part, Graph):
                stack += [(f"{path}.{name}", p) for name, p in reversed(part._parts.items())]

    def find(self, path: str) -> Part:
        """Return a part by its path.

        Parameters
        ----------
        path
            From this model, names joined by dots: ``"m3.spring"``. An unknown one is refused, with those
            that are there.
        """
        part: Part = self
        for word in re.split(r"\.", path):
            if not isinstance(part, Graph):
                raise ModelError(f"{part.path} has no parts; there is no '{path}'")
            inner = part._parts.get(word)
            if inner is None:
                raise ModelError(unknown_name("part", word, part._parts, where=part.path))
            part = inner
        return part

    def let(self, **values: float | str) -> Self:
        """Give values to symbols used in coefficients; return the model.

        Parameters
        ----------
        **values
            By the name of the symbol: numbers in SI or texts with a unit. A later value replaces an
            earlier one.
        """
        for name, value in values.items():
            self._symbol_values[name] = check_number(value, name)
        return self

    # ---------------------------------------------------------------- bonds and edits

    def bonds(self) -> list[Bond]:
        """All bonds among the parts at any depth."""
        return [
            b for _, part in self.walk() if not isinstance(part, Graph) for b in part._bonds if b.tail is part
        ]

    def bond_at(self, text: str) -> Bond:
        """Return the bond written as ``"m2.right >> m3.left"``.

        Parameters
        ----------
        text
            Paths of the two ends, in the direction of the bond; ``"b[0] >> c"`` names one port of
            several. What is no bond of the model is refused, with those that are near.
        """
        ends = [e.strip() for e in text.split(">>")]
        if len(ends) != 2:
            raise InputError(f"expected a bond written as 'a.b >> c.d'; found {text!r}")
        word = self._word_read(ends[0])
        tail, head = self._terminal(ends[0].removesuffix(f".{word}")), self._terminal(ends[1])
        for b in tail[0]._bonds:
            if (
                b.tail is tail[0]
                and b.word == word
                and b.head is head[0]
                and tail[1] in (None, b.tail_index)
                and head[1] in (None, b.head_index)
            ):
                return b
        near = [str(b) for b in tail[0]._bonds] or [str(b) for b in head[0]._bonds]
        raise ModelError(f"there is no bond {text!r}; {tail[0].path} has {', '.join(near) or 'none'}")

    def _word_read(self, text: str) -> str | None:
        """Return what the tail of a signal reads of a storage: ``spring.displacement``; None for a part."""
        stem, _, word = text.rpartition(".")
        if word not in ("displacement", "momentum") or not stem:
            return None
        part = self._terminal(stem)[0]
        return None if isinstance(part, Graph) and word in part._parts else word

    def _terminal(self, text: str) -> tuple[Part, int | None]:
        match = re.fullmatch(r"(.+)\[(\d+)\]", text)
        if match:
            owner, _, last = match[1].rpartition(".")
            holder = self.find(owner) if owner else self
            if not (isinstance(holder, Graph) and f"{last}[{match[2]}]" in holder._parts):
                return self.find(match[1]), int(match[2])
        owner, _, last = text.rpartition(".")
        holder = self.find(owner) if owner else self
        if isinstance(holder, Multiport) and last in holder.port_names:
            return holder, holder.port_names.index(last)
        return self.find(text), None

    def insert(self, part: Part, between: str, name: str | None = None) -> Part:
        """Put a junction or two-port into a bond: ``insert(TF(modulus=2), "a >> b")``.

        Parameters
        ----------
        part
            What comes between: a junction, or a part with two ports, such as a transformer. Power goes in and
            out of it in the direction of the bond.
        between
            The bond, as `bond_at` reads it; it is replaced by two. A causal stroke that was set on it
            stays on the first.
        name
            Attribute of the model that owns the tail; without one the part is named after its kind.
        """
        old = self.bond_at(between)
        _expect_through(part, old)
        owner = old.tail._home() or self
        if name is not None:
            setattr(owner, name, part)
        unbond(old)
        tail = old.tail if old.tail_index is None else Terminal(old.tail, old.tail_index)
        if old.word is not None:
            tail = Reading(old.tail, old.tail_index, old.word)
        head = old.head if old.head_index is None else Terminal(old.head, old.head_index)
        bond(tail, part, stroke=old.stroke)
        bond(part, head)
        return part

    def swap(self, path: str, part: Part) -> Part:
        """Replace a part by another; the new one takes over its name and its bonds.

        Parameters
        ----------
        path
            Of the part that goes, from this model: ``"m3.spring"``. Where it is a model, so must the new
            one be, with every port of it that is bonded.
        part
            The new one, which is part of no model yet.
        """
        old = self.find(path)
        owner = old._owner
        assert owner is not None
        if part._owner is not None:
            raise ModelError(f"{part.path} is already part of a model; swap {path} for a new part")
        pairs: list[tuple[Part, Part, list[Bond]]]
        if isinstance(old, Graph):
            if not isinstance(part, Graph):
                raise ModelError(f"{path} is a model; it can be swapped only for a model with the same ports")
            missing = [n for n, p in old.ports.items() if _outside(p, old) and n not in part.ports]
            if missing:
                raise ModelError(f"the new {path} lacks the port {', '.join(missing)}")
            pairs = [
                (p, part.ports[n], [b for b in p._bonds if _crosses(b, p, old)])
                for n, p in old.ports.items()
                if n in part.ports
            ]
        else:
            if isinstance(part, Graph):
                raise ModelError(f"{path} is not a model; it cannot be swapped for one")
            pairs = [(old, part, list(old._bonds))]
        for was, now, bonds in pairs:
            for b in bonds:
                if b.tail is was:
                    b.tail = now
                else:
                    b.head = now
                was._bonds.remove(b)
                now._bonds.append(b)
        name = old._name or ""
        position = list(owner._parts).index(name)
        items = list(owner._parts.items())
        part._owner, part._name = owner, name
        old._owner = None
        items[position] = (name, part)
        object.__setattr__(owner, "_parts", dict(items))
        _set_attribute(owner, name, part)
        return part

    def remove(self, path: str) -> Part:
        """Remove a part and its bonds.

        Parameters
        ----------
        path
            Of the part, from this model; with a model goes all that is in it. It is returned, and may be
            put elsewhere.
        """
        part = self.find(path)
        owner = part._owner
        assert owner is not None
        inside = dict.fromkeys(p for _, p in part.walk()) if isinstance(part, Graph) else {part: None}
        for end in inside:
            for b in [] if isinstance(end, Graph) else list(end._bonds):
                if end is part or b.tail not in inside or b.head not in inside:
                    unbond(b)
        forget(owner, part._name or "")
        part._owner = None
        return part

    def copy(self) -> Self:
        """Return an independent copy, to edit without touching the original.

        A copy of a part of a larger model stands alone: it has no owner, and its ports are open.
        """
        twins: dict[Part, Part] = {part: object.__new__(type(part)) for _, part in self.walk()}
        new: Self = object.__new__(type(self))
        twins[self] = new
        bonds: dict[Bond, Bond] = {}
        for b in self.bonds():
            if b.head in twins:
                bonds[b] = Bond(twins[b.tail], twins[b.head], b.tail_index, b.head_index, b.stroke, b.word)
        for part, twin in twins.items():
            for name, value in part.__dict__.items():
                if type(value) in _PLAIN or name in _MADE:
                    twin.__dict__[name] = value
                elif name == "_bonds":
                    twin.__dict__[name] = [bonds[b] for b in value if b in bonds]
                elif name != "_owner":
                    twin.__dict__[name] = _twin(value, twins)
            if part is not self and part._owner is not None:
                twin.__dict__["_owner"] = twins[part._owner]
        return new

    def __deepcopy__(self, _memo: dict[int, object]) -> Self:
        # Python's own deepcopy follows every bond, and a long chain is deeper than the stack.
        return self.copy()


_PLAIN = frozenset({str, float, int, bool, type(None)})
"""Types of values that a copy shares with its original."""
_MADE = frozenset({"_arguments", "_origin"})
"""What says how a part was made; a copy was made alike."""


def _twin(value: Any, twins: Mapping[Part, Part]) -> Any:
    """Return what stands for an attribute's value in a copy of the model."""
    if isinstance(value, Part):
        return twins.get(value, value)
    if isinstance(value, Reading):
        return Reading(twins.get(value.part, value.part), value.index, value.word)
    if isinstance(value, Terminal):
        return Terminal(twins.get(value.part, value.part), value.index)
    if isinstance(value, dict):
        return {key: _twin(v, twins) for key, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_twin(v, twins) for v in value)
    return value


def own_part(model: Graph, name: str) -> Part | None:
    """Return a model's own part by its name; None where it has none of that name.

    >>> from bondloop.bondgraph import Model, One
    >>> m = Model("body")
    >>> m.v = One()
    >>> own_part(m, "v") is m.v, own_part(m, "w")
    (True, None)
    """
    return model._parts.get(name)


def named_by_kind(part: Part) -> bool:
    """Return whether a part has the name that it is given where it has none: its kind, with a number."""
    kind = type(part).__name__
    return re.fullmatch(rf"{kind}\d*", part._name or "") is not None


def _expect_through(part: object, into: Bond) -> None:
    """Refuse what cannot come into a bond: nothing goes on from it, or it takes signals where power flows."""
    shown, remedy = f"{part!r:.60}", "Insert a junction and bond the part to it"
    if isinstance(part, Part):
        signal = part.is_signal and not isinstance(part, Input)
        if signal and not (into.word is not None or into.tail.is_signal or into.head.is_signal):
            raise InputError(
                f"insert(part): {into} carries power, and {type(part).__name__} is a part for signals. Bond "
                "it to what it reads, such as a junction's flow: model.v.flow >> part"
            )
        if signal or part._sides is not None or isinstance(part, (Zero, One, Port, TwoPort, MTF, MGY)):
            return
        shown = type(part).__name__
        if isinstance(part, (Graph, Multiport)):
            remedy = "Open the bond, and bond the ports of what comes into it one by one"
        else:
            shown += ", a part that ends a bond"
    raise InputError(
        "insert(part): expected a junction or a part with two ports, such as TF(modulus=2); found "
        f"{shown}. {remedy}"
    )


def _outside(port: Port, model: Graph) -> bool:
    return any(_crosses(b, port, model) for b in port._bonds)


def _crosses(b: Bond, port: Part, model: Graph) -> bool:
    other = b.head if b.tail is port else b.tail
    owner: Graph | None = other._owner
    while owner is not None:
        if owner is model:
            return False
        owner = owner._owner
    return True


def forget(owner: Graph, name: str) -> None:
    """Remove a part's name from its owner; the other members of an array keep their numbers."""
    del owner._parts[name]
    array, bracket, number = name.partition("[")
    if bracket and any(other.startswith(f"{array}[") for other in owner._parts):
        members = list(owner.__dict__[array])
        members[int(number[:-1])] = None
        object.__setattr__(owner, array, members)
    else:
        owner.__dict__.pop(array, None)


def _set_attribute(owner: Graph, name: str, part: Part) -> None:
    match = re.fullmatch(r"(.+)\[(\d+)\]", name)
    if match:
        parts = list(getattr(owner, match[1]))
        parts[int(match[2])] = part
        object.__setattr__(owner, match[1], parts)
    else:
        object.__setattr__(owner, name, part)
