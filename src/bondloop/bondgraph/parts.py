"""Parts and bonds: what a model is drawn with.

``a >> b`` bonds two parts; the half arrow points from ``a`` to ``b``, the direction in which power is counted
as positive. A part belongs to the model to whose attribute it is assigned; a part that is only bonded is
taken into the model of its neighbour and named after its kind (``I``, ``R``, ``R2``).
"""

from __future__ import annotations

import inspect
from operator import index
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, overload

from bondloop.bondgraph.domain import Domain, domain_from
from bondloop.engine.data import (
    FAMILIES,
    PYTHON,
    Kind,
    Origin,
    copied_argument,
    family_word,
    in_words,
    origin_of,
    plain,
    register,
)
from bondloop.errors import AbsentError, ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bondloop.bondgraph.elements.multiport import Relations
    from bondloop.bondgraph.graph import Graph


_BASES = (
    "Element", "Graph", "Junction", "Model", "Modulated", "Multiport", "OnePort", "Remembering", "Source",
    "Switching", "TwoPort",
)  # fmt: skip
"""Classes of parts that others derive from, and that are none themselves."""


class Bond:
    """A bond from ``tail`` to ``head``; ``index`` picks a component or port of a part with several.

    ``stroke`` is the end with the causal stroke (``"head"`` or ``"tail"``, the end that receives the effort)
    where the user imposes it. ``word`` names what a signal reads of its tail (``"displacement"``); None for
    every other bond.

    Parameters
    ----------
    tail, head
        The parts it joins; positive power goes from tail to head.
    tail_index, head_index
        Component or port of a part with several; None: all.
    stroke
        ``"head"`` or ``"tail"`` where it is imposed, else None.
    word
        What a signal reads of its tail; None for every other bond.

    Examples
    --------
    >>> from bondloop.bondgraph import I, Model, One, Se, bond
    >>> m = Model("pushed")
    >>> m.force, m.v = Se("F"), One()
    >>> pushing = bond(m.force, m.v)
    >>> pushing.tail is m.force, pushing.head is m.v, pushing.stroke
    (True, True, None)
    """

    __slots__ = ("head", "head_index", "stroke", "tail", "tail_index", "word")

    def __repr__(self) -> str:
        return f"<Bond {self}>"

    def __init__(
        self,
        tail: Part,
        head: Part,
        tail_index: int | None,
        head_index: int | None,
        stroke: str | None,
        word: str | None = None,
    ) -> None:
        self.tail, self.head = tail, head
        self.tail_index, self.head_index = tail_index, head_index
        self.stroke = stroke
        self.word = word

    def __str__(self) -> str:
        tail = _indexed(self.tail, self.tail_index) + ("" if self.word is None else f".{self.word}")
        return f"{tail} >> {_indexed(self.head, self.head_index)}"


def _indexed(part: Part, index: int | None) -> str:
    return part.path if index is None else part.component_path(part.path, index)


class Part:
    """Base of everything that can be bonded.

    Examples
    --------
    >>> from bondloop.bondgraph import I, Model, One
    >>> m = Model("body")
    >>> m.v = One()
    >>> m.mass = I(mass=2.0)
    >>> m.mass.path
    'mass'
    """

    _owner: Graph | None = None
    _name: str | None = None
    size: int | None = None
    """Number of components of the bonds it takes; None where the part adapts to its bond."""
    _sides: tuple[int, int] | None = None
    """Numbers of bonds drawn to it and from it, where the two sides differ; None where they do not."""
    is_signal = False
    """Whether its bonds carry signals only (detectors, functions of signals)."""
    signals: int = 0
    """How many signals have to be bonded to it."""
    domain: Domain | None = None
    """Domain of its bonds, where it is stated; elsewhere it is found from what the parts around it say."""
    texts: Mapping[str, str] = {}
    """Quantities that were given as text with a unit, by word: they tell the domain."""
    stated: Mapping[str, str] = {}
    """Units of parameters that may measure several things, by name: the domain tells which is right."""
    relations: Relations | None = None
    """Equations of an element whose ports are described by them; None for all others."""

    _arguments: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    """What an element was made with, by which it is described."""

    def __init__(self) -> None:
        self._bonds: list[Bond] = []

    def __init_subclass__(cls) -> None:
        """Let descriptions name a kind of part."""
        super().__init_subclass__()
        own = cls.__module__.startswith("bondloop.bondgraph.")
        if own and cls.__name__[0] != "_" and cls.__name__ not in _BASES:
            register(Kind("part", cls.__name__, cls))

    if not TYPE_CHECKING:  # to a type checker no other attributes exist

        def __getattr__(self, name: str) -> Any:
            """Say what a part holds, where it is asked for what another kind of storage holds."""
            if name in _HOLDERS:
                raise AbsentError(_absent(self, name))
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'", name=name, obj=self)

    def describe(self) -> dict[str, Any]:
        """Return it as data: its kind, and what it was made with."""
        return describe_part(self)

    @property
    def path(self) -> str:
        """Path name, from the root model down, without the root's own name."""
        names = []
        part: Part | None = self
        while part is not None and part._owner is not None:
            names.append(part._name or "?")
            part = part._owner
        return ".".join(reversed(names)) or (self._name or f"<unnamed {type(self).__name__}>")

    @property
    def symbol(self) -> str:
        """What is drawn for it."""
        return type(self).__name__

    def _home(self) -> Graph | None:
        """Return the model into which a neighbour without an owner is taken."""
        return self._owner

    def _accepts(self, index: int | None) -> None:
        """Raise if the part has no such component."""
        if index is not None and not 0 <= index < (self.size or 1):
            raise ModelError(f"{self.path} has no component [{index}]; its size is {self.size or 1}")

    def component_path(self, path: str, index: int) -> str:
        """Return the path of the component or port ``index``, from 0, for the path of the part."""
        return f"{path}[{index}]"

    def __getitem__(self, index: int) -> Terminal:
        """Return one component of a vector part, or one port of a field."""
        self._accepts(index)
        return Terminal(self, index)

    def __iter__(self) -> Iterator[Terminal]:
        return iter([Terminal(self, i) for i in range(self.size or 1)])

    @overload
    def __rshift__(self, other: Part) -> Part: ...
    @overload
    def __rshift__(self, other: Terminal) -> Terminal: ...
    @overload
    def __rshift__(self, other: Sequence[Part | Terminal]) -> Sequence[Part | Terminal]: ...
    def __rshift__(self, other: Any) -> Any:
        """Bond this part to another (or to each of a list); return the other, so that bonds chain."""
        return _join(self, other)

    def __rrshift__(self, other: Sequence[Part | Terminal]) -> Part:
        """Bond each of a list to this part."""
        for one in other:
            bond(one, self)
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}>"


family_word("Part", "part", __name__)


class Terminal:
    """One component of a vector part or one port of a field; it can be bonded like a part."""

    __slots__ = ("index", "part")

    def __init__(self, part: Part, index: int | None) -> None:
        self.part, self.index = part, index

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {_indexed(self.part, self.index)}>"

    @property
    def displacement(self) -> Reading:
        """What this component of a compliance stores, as a signal."""
        return reading(self.part, "displacement", self.index)

    @property
    def momentum(self) -> Reading:
        """What this component of an inertia stores, as a signal."""
        return reading(self.part, "momentum", self.index)

    def __rshift__(self, other: Any) -> Any:
        return _join(self, other)

    def __rrshift__(self, other: Sequence[Part | Terminal]) -> Terminal:
        for one in other:
            bond(one, self)
        return self


class Reading(Terminal):
    """What a storage holds, as a signal: ``spring.displacement >> damper``.

    It takes no power and adds no state. In derivative causality what a storage holds is no state but follows
    from others; its reading follows with it.
    """

    __slots__ = ("word",)

    def __init__(self, part: Part, index: int | None, word: str) -> None:
        super().__init__(part, index)
        self.word = word

    def __str__(self) -> str:
        return f"{_indexed(self.part, self.index)}.{self.word}"

    def __repr__(self) -> str:
        return f"<Reading {self}>"


def reading(part: Part, word: str, index: int | None = None) -> Reading:
    """Return what a part stores as a signal; a part that stores nothing of that name is refused."""
    if part.relations is not None:
        known = part.relations.holds(index or 0, word)
    else:
        known = isinstance(getattr(type(part), word, None), property)
    if not known:
        raise ModelError(_absent(part, word))
    return Reading(part, index, word)


_HOLDERS = {"displacement": "a compliance (C, MC, CField)", "momentum": "an inertia (I, IField)"}
"""Which parts hold what."""


def _absent(part: Part, word: str) -> str:
    """Say that a part does not hold something; and what it holds, if anything."""
    own = getattr(type(part), "state_word", "")
    instead = f"; use its {own}" if own in _HOLDERS and own != word else ""
    return f"{part.path} ({part.symbol}) has no {word}; only {_HOLDERS[word]} has one{instead}"


def _join(tail: Part | Terminal, head: Any) -> Any:
    if isinstance(head, (list, tuple)):
        for one in head:
            bond(tail, one)
        return head
    if not isinstance(head, (Part, Terminal)):
        raise ModelError(
            f"cannot bond {_name(tail)} to a {type(head).__name__}; expected a part of a bond graph"
        )
    bond(tail, head)
    return head


def _name(end: Part | Terminal) -> str:
    if isinstance(end, Reading):
        return str(end)
    return end.path if isinstance(end, Part) else _indexed(end.part, end.index)


def bond(tail: Part | Terminal, head: Part | Terminal, *, stroke: str | None = None) -> Bond:
    """Bond two parts, as ``tail >> head`` does, with an imposed causal stroke if wished.

    Parameters
    ----------
    tail, head
        The parts; power counts as positive from tail to head.
    stroke
        ``"head"`` or ``"tail"``: the end that receives the effort. None leaves it to the assignment.
    """
    if stroke not in (None, "head", "tail"):
        raise ModelError(f"stroke must be 'head', 'tail' or None; found {stroke!r}")
    if isinstance(head, Reading):
        raise ModelError(f"{head} is a signal that can be read, not imposed; bond it on to what takes it")
    ends: list[Part] = []
    indices: list[int | None] = []
    for end in (tail, head):
        part, index = (end.part, end.index) if isinstance(end, Terminal) else (end, None)
        if not hasattr(part, "_bonds"):
            raise ModelError(f"a model cannot be bonded itself; bond one of its ports ({_ports_of(part)})")
        ends.append(part)
        indices.append(index)
    a, b = ends
    if a is b:
        raise ModelError(f"{a.path} cannot be bonded to itself")
    word = tail.word if isinstance(tail, Reading) else None
    made = Bond(a, b, indices[0], indices[1], stroke, word)
    a._bonds.append(made)
    b._bonds.append(made)
    home_a, home_b = a._home(), b._home()
    if a._owner is None and home_b is not None:
        home_b._adopt(a)
    elif b._owner is None and home_a is not None:
        home_a._adopt(b)
    return made


def unbond(b: Bond) -> None:
    """Take a bond away from the two parts that it joins."""
    b.tail._bonds.remove(b)
    b.head._bonds.remove(b)


# What other rooms ask of a part is asked by functions: an attribute would take its name from parts of models.


def bonds_of(part: Part) -> tuple[Bond, ...]:
    """Return the bonds of a part, in the order in which they were drawn; a model has none itself.

    >>> from bondloop.bondgraph import I, Model, One, Se
    >>> m = Model("pushed")
    >>> m.force, m.v = Se("F"), One()
    >>> _ = m.force >> m.v >> I(mass=2.0)
    >>> bonds_of(m.v)
    (<Bond force >> v>, <Bond v >> I>)
    """
    return tuple(part._bonds)


def sides_of(part: Part) -> tuple[int, int] | None:
    """Return how many bonds are drawn to a part and from it, where the two sides differ; else None."""
    return part._sides


def name_or_kind(part: Part) -> str:
    """Return what a model or a part is called: its name, or its kind where it has none.

    >>> from bondloop.bondgraph import I, Model
    >>> name_or_kind(Model("frame")), name_or_kind(Model())
    ('frame', 'Model')
    """
    return part._name or type(part).__name__


def _ports_of(part: Part) -> str:
    names = [name for name, p in getattr(part, "_parts", {}).items() if isinstance(p, Port)]
    return ", ".join(names) or "it has none"


def _whole(size: SupportsIndex, what: str) -> int:
    try:
        number = index(size)
    except TypeError:
        raise ModelError(
            f"the size of a {what} must be a whole number; found {size!r} (its name is that of the attribute "
            "to which it is assigned)"
        ) from None
    if number < 1:
        raise ModelError(f"the size of a {what} must be at least 1; found {number}")
    return number


class Junction(Part):
    """Base of 0- and 1-junctions.

    Parameters
    ----------
    size
        Number of components.
    domain
        Domain of its bonds, ``"electric"`` or a `Domain` of one's own; its neighbours tell it if not given.
    """

    def __init__(self, size: int = 1, domain: Domain | str | None = None) -> None:
        super().__init__()
        if domain is not None:
            self.domain = domain_from(domain, f"{type(self).__name__}(domain)")
        self.size = _whole(size, "junction")


class Zero(Junction):
    """0-junction: one effort, flows add up to zero.

    Parameters
    ----------
    size
        Number of components of its bonds, for vector bonds.
    domain
        Domain of its bonds, ``"electric"`` or a `Domain`; its neighbours tell it if not given.
    """

    symbol = "0"


class One(Junction):
    """1-junction: one flow, efforts add up to zero.

    Parameters
    ----------
    size
        Number of components of its bonds, for vector bonds.
    domain
        Domain of its bonds, ``"electric"`` or a `Domain`; its neighbours tell it if not given.
    """

    symbol = "1"


class Port(Part):
    """A named port of a model: a bond from outside passes through it to the part bonded inside.

    Parameters
    ----------
    size
        Number of components of its bonds, for vector bonds.
    domain
        Domain of its bond, as for a junction.
    """

    symbol = "port"

    def __init__(self, size: int = 1, domain: Domain | str | None = None) -> None:
        super().__init__()
        if domain is not None:
            self.domain = domain_from(domain, "Port(domain)")
        self.size = _whole(size, "port")

    def _home(self) -> Graph | None:
        model = self._owner
        return model if model is None or model._owner is None else model._owner


class Remembering(Part):
    """Base of parts that are more than a size: what each is made with is kept, to describe it by."""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Keep what the part is made with."""
        self = object.__new__(cls)
        if args or len(options) > 1:  # one number alone is its coefficient: a large model is full of those
            self._arguments = (copied_argument(args), copied_argument(options))
        elif options:
            ((name, value),) = options.items()
            if type(value) is not float or name not in getattr(cls, "coefficients", ()):
                self._arguments = (args, copied_argument(options))
        return self


class Element(Remembering):
    """Base of all elements that hold a law."""

    signals = 0
    """Least number of signal bonds it needs."""


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
