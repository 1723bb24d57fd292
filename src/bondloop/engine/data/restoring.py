"""From descriptions to values, by the types of what takes them: every fault is noted with its place."""

from __future__ import annotations

import inspect
import re
import types
from collections import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from datetime import date, time
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from bondloop.engine.data.kinds import DERIVED, FAMILIES, PYTHON, Kind, is_words, kind_in_file, kind_of_name
from bondloop.engine.data.ranges import Range, number
from bondloop.errors import BondloopError, FaultsError, InputError, nearest, one_or_all, unknown_name

# What the types of a class or function say about the data that its parameters take.


@dataclass(frozen=True)
class Family:
    """Mark of a type that stands for a family: ``Annotated[Any, Family("transfer")]``."""

    name: str


class InPython:
    """Mark of a member of a union that only Python can give: ``Annotated[GroundMotion, InPython]``."""


class _Unresolved:
    """Stands for a type that is imported for type checkers alone; it is known by its name."""

    def __class_getitem__(cls, _: object) -> type:
        return cls


_ALIASES: dict[str, Any] = {}
"""Types that have a name, as modules import them for type checkers alone."""

_SCALARS = (float, int, bool, str, Path)
_LISTS = (list, tuple, abc.Sequence, abc.Iterable)
_TABLES = (dict, abc.Mapping)


@dataclass(frozen=True)
class Wanted:
    """What data may stand for a type.

    Attributes
    ----------
    scalars
        Types of single values.
    kinds
        Kinds and families.
    item, entry
        Types of what a list or a table holds; None where neither is taken.
    anything
        Whether the type leaves something open.
    """

    scalars: frozenset[type] = frozenset()
    kinds: tuple[Kind | str, ...] = ()
    item: Any = None
    entry: Any = None
    anything: bool = False

    @property
    def families(self) -> list[str]:
        """Families of the kinds, each once."""
        return list(dict.fromkeys(kind if isinstance(kind, str) else kind.family for kind in self.kinds))

    @property
    def only_lists(self) -> bool:
        """Whether nothing but a list may stand there."""
        return self.item is not None and not (self.kinds or self.anything or self.entry is not None)

    @property
    def is_table(self) -> bool:
        """Whether a table there has names of its own, as that of a model's parts: one may be ``model``."""
        return self.entry is not None and not self.kinds

    @property
    def holds_things(self) -> bool:
        """Whether a table there has things in it."""
        return self.entry is not None and bool(wanted(self.entry).kinds)

    def __str__(self) -> str:
        """Say what is expected."""
        words = [f"{'an' if family[0] in 'aeiou' else 'a'} {family}" for family in self.families]
        choices = [
            ("a number or a text with a unit", float in self.scalars),
            ("a whole number", int in self.scalars and float not in self.scalars),
            ("true or false", bool in self.scalars),
            ("a path", Path in self.scalars),
            ("a text", str in self.scalars and not self.scalars & {float, Path}),
            ("a list", self.item is not None),
            ("a table", self.entry is not None),
        ]
        return " or ".join([*words, *(word for word, taken in choices if taken)])


@lru_cache(maxsize=4096)
def wanted(hint: Any) -> Wanted:
    """Return what data may stand for a type.

    Parameters
    ----------
    hint
        The type, as `hints_of` returns it.

    Examples
    --------
    >>> print(wanted(float | str | None), "/", wanted(list[float] | dict[str, float]))
    a number or a text with a unit / a list or a table
    """
    members = [m for m in _members(hint) if get_origin(m) is not abc.Callable] or [hint]
    scalars: set[type] = set()
    kinds: list[Kind | str] = []
    item, entry, anything = None, None, False
    for member in members:
        origin, args = get_origin(member) or member, get_args(member)
        if member in _SCALARS:
            scalars.add(member)
        elif origin in _LISTS:
            item = args[0] if len(args) == 1 or args[1:] == (...,) else Any
        elif origin in _TABLES:
            entry = args[1] if args else Any
        elif origin is Annotated:
            kinds += [mark.name for mark in args[1:] if isinstance(mark, Family)]
        elif member is not types.NoneType or len(members) == 1:
            kind = kind_of_name(getattr(member, "__name__", ""))
            kinds += [] if kind is None else [kind]
            anything = anything or kind is None
    return Wanted(frozenset(scalars), tuple(kinds), item, entry, anything)


def _members(hint: Any) -> list[Any]:
    """Return the members of a union, but for those that only Python can give."""
    if get_origin(hint) in (Union, types.UnionType):
        return [inner for member in get_args(hint) for inner in _members(member)]
    if get_origin(hint) is Annotated and not any(isinstance(mark, Family) for mark in get_args(hint)[1:]):
        return [] if InPython in get_args(hint)[1:] else _members(get_args(hint)[0])
    return [hint]


def hints_of(make: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of what a class or function takes, by name.

    A name that is imported for type checkers alone is known by its family, or stands for anything.

    Parameters
    ----------
    make
        The class or function.

    Examples
    --------
    >>> def push(size: float | str, at: "Sequence[float]" = ()) -> None: ...
    >>> hints_of(push)["size"]
    float | str
    """
    own = not isinstance(make, type) or (is_dataclass(make) and _is_generated(make))
    target: Any = make if own else make.__init__
    known: dict[str, Any] = {}
    while True:
        try:
            return get_type_hints(target, localns=known, include_extras=True)
        except NameError as error:
            name = error.name or ""
            known[name] = _ALIASES.get(name) or getattr(abc, name, None) or type(name, (_Unresolved,), {})


@cache
def types_of(kind: Kind) -> dict[str, Any]:
    """Return the types of what a kind takes, by name; anything where none is stated.

    Parameters
    ----------
    kind
        Of what a description can name.
    """
    return {**dict.fromkeys(kind.parameters, Any), **hints_of(kind.make)}


def alias(name: str, hint: Any) -> None:
    """Let a type be known by its name where it is imported for type checkers alone: ``Ground``.

    Parameters
    ----------
    name
        What stands in signatures.
    hint
        The type.
    """
    _ALIASES[name] = hint


def _is_generated(cls: type) -> bool:
    """Whether the constructor is the one that `dataclasses` has written."""
    init: Any = cls.__init__  # type: ignore[misc]
    return str(inspect.unwrap(init).__code__.co_filename) == "<string>"


Place = tuple[str | int, ...]
"""Where something stands in a description: names of entries, and numbers in lists."""

Finder = Callable[[str, str, Place], Kind | None]
"""Looks for a kind that is not known yet, by family and name."""


_SUITS: dict[str, tuple[str, ...]] = {
    "model": ("model", "transfer"),
    "part": ("part", "model", "transfer"),
    "transfer": ("transfer", "model", "system"),
}
"""Families that may stand where another is wanted: a transfer system is a model, a model a part."""


def compatible_families(family: str) -> tuple[str, ...]:
    """Return the families that may stand where one is wanted."""
    return (*_SUITS.get(family, (family,)), *DERIVED.get(family, ()))


class _Failed:
    """Stands for a value that could not be made; its faults have been noted."""

    def __repr__(self) -> str:
        return "FAILED"


FAILED = _Failed()


@dataclass(frozen=True)
class Fault:
    """What is wrong, and where."""

    place: Place
    message: str

    def __str__(self) -> str:
        return f"{path_of(self.place)}: {self.message}" if self.place else self.message


def path_of(place: Place) -> str:
    """Write a place as a path.

    >>> path_of(("rig", "drive", 0, "width"))
    'rig.drive[0].width'
    >>> path_of(("values", "rig.gain"))
    'values."rig.gain"'
    """
    text = ""
    for step in place:
        key = step if isinstance(step, int) or "." not in step else f'"{step}"'
        text += f"[{step}]" if isinstance(step, int) else f".{key}" if text else f"{key}"
    return text


def restore(description: Mapping[str, object], kind: Kind | None = None) -> Any:
    """Return the value of a description; an error names all its faults.

    Python files are never read: a description that names one is refused.

    Parameters
    ----------
    description
        With its first entry; or the settings alone, of a known kind.
    kind
        The kind, where the description does not say it.
    """
    reader = Reader()
    value = reader.value(description, Any, ()) if kind is None else reader.make(kind, description, ())
    reader.raise_faults()
    return value


class Reader:
    """Makes values of descriptions.

    Parameters
    ----------
    find
        Looks for kinds that are not known yet; None for none.
    folder
        Where relative paths begin.

    Attributes
    ----------
    faults
        Everything that is wrong.
    """

    def __init__(self, find: Finder | None = None, folder: Path | None = None) -> None:
        self.find, self.folder = find, folder
        self.faults: list[Fault] = []

    def fault(self, place: Place, message: str) -> _Failed:
        """Note a fault; return what stands for the value."""
        self.faults.append(Fault(place, message))
        return FAILED

    def raise_faults(self) -> None:
        """Raise an error that names all faults, if there are any."""
        if self.faults:
            raise one_or_all("the description", [str(fault) for fault in self.faults])

    # ---------------------------------------------------------------- values

    def value(self, data: object, hint: Any, place: Place, *, texts: bool = False) -> Any:
        """Return the value of an entry that a parameter of this type takes.

        Where ``texts``, who takes it reads texts with units, and knows what they should measure.
        """
        if data is None or data is FAILED:  # JSON can say None; a file leaves the entry out
            return data
        want = wanted(hint)
        if isinstance(data, (date, time)):
            expected = str(want) or "a text"
            return self.fault(place, f'expected {expected}; found a date, {data}: write "{data}"')
        if isinstance(data, Mapping):
            return self._mapping(data, want, place, texts=texts)
        if isinstance(data, (list, tuple)):
            if want.item is None and not want.anything:
                return self.fault(place, f"expected {want}; found a list")
            item = Any if want.item is None else want.item
            values = [self.value(v, item, (*place, i), texts=texts) for i, v in enumerate(data)]
            return FAILED if any(value is FAILED for value in values) else tuple(values)
        if isinstance(data, str) and not (
            want.anything or str in want.scalars or (texts and float in want.scalars)
        ):
            if want.kinds:
                return self._named(data, want.families, place)
            if want.item is not None:
                return self._alone(data, want, place, texts=texts)
        return self._scalar(data, want, place, texts=texts)

    def _alone(self, data: object, want: Wanted, place: Place, *, texts: bool) -> object:
        """Return a list of one, where it stands without brackets."""
        item = self.value(data, want.item, place, texts=texts)
        return FAILED if item is FAILED else (item,)

    def _mapping(self, data: Mapping[str, Any], want: Wanted, place: Place, *, texts: bool) -> object:
        """Return a thing, a table, or a list of one thing."""
        if is_words(data) and not want.holds_things:
            return self.fault(
                place,
                f"this was {data[PYTHON]}, which has no description; name a Python file, 'file.py:name'",
            )
        if want.only_lists:
            return self._alone(data, want, place, texts=texts)
        heads = [key for key, value in data.items() if key in FAMILIES and isinstance(value, str)]
        if heads and not want.is_table:
            return self._headed(data, heads, want, place)
        if want.entry is not None or (want.anything and not want.kinds):
            entry = Any if want.entry is None else want.entry
            items = {key: self.value(v, entry, (*place, key), texts=texts) for key, v in data.items()}
            return FAILED if any(item is FAILED for item in items.values()) else items
        alone = [kind for kind in want.kinds if isinstance(kind, Kind)]
        if len(alone) == 1:
            return self.make(alone[0], data, place)
        found = _no_head(data, want.families) if want.families else f"expected {want}; found a table"
        return self.fault(place, found)

    def _headed(self, data: Mapping[str, Any], heads: list[str], want: Wanted, place: Place) -> object:
        """Return the thing of the kind that an entry names.

        Of several such entries it is the one that is wanted, or the first: further ones are settings that are
        named and no more.
        """
        family = next((head for head in heads if head in want.families), heads[0])
        if not want.anything and not any(family in compatible_families(f) for f in want.families):
            return self.fault(place, f"expected {want}; found a {family}")
        kind = self.find_kind(family, data[family], place)
        rest = {name: value for name, value in data.items() if name != family}
        return FAILED if kind is None else self.make(kind, rest, place)

    def _named(self, data: str, families: list[str], place: Place) -> object:
        """Return the value of a kind that is named and no more: all its settings are the defaults."""
        known = [own for family in families for own in compatible_families(family)]
        family = next((own for own in known if data in FAMILIES[own]), families[0])
        kind = self.find_kind(family, data, place)
        return FAILED if kind is None else self.make(kind, {}, place)

    def find_kind(self, family: str, name: str, place: Place) -> Kind | None:
        """Return a kind by family and name; where there is none, note the fault and return None."""
        kind = FAMILIES[family].get(name)
        if kind is None and self.find is not None:
            before = len(self.faults)
            kind = self.find(family, name, (*place, family))
            if len(self.faults) > before:
                return None
        if kind is None:
            kind = kind_in_file(family, name)
        if kind is None:
            if ".py:" in name:
                self.fault((*place, family), f"{name!r}: Python files are not read here")
            else:
                self.fault((*place, family), unknown_name(family, name, FAMILIES[family]))
        return kind

    def _scalar(self, data: object, want: Wanted, place: Place, *, texts: bool) -> object:
        """Return a number, a text or a truth value, if it is of the right type."""
        types = want.scalars
        good = {
            bool: bool in types,
            int: bool(types & {int, float}),
            float: float in types,
            str: bool(types & {str, Path}) or (texts and float in types),
        }
        if isinstance(data, str) and Path in types and self.folder is not None:
            return self.folder / data
        if want.anything or type(data) not in good or good[type(data)]:
            return data
        if isinstance(data, str) and float in types:
            return self.attempt(place, lambda: number(data, ""))
        shown = str(data).lower() if isinstance(data, bool) else repr(data)
        return self.fault(place, f"expected {want}; found {shown}")

    def attempt(self, place: Place, make: Callable[[], object]) -> Any:
        """Return what a function makes; where it is refused, note the fault."""
        try:
            return make()
        except BondloopError as error:
            return self.fault(place, str(error).removeprefix(": "))

    def refused(
        self, kind: Kind, arguments: Mapping[str, object], error: BondloopError, place: Place
    ) -> _Failed:
        """Note what a kind did not take, at the place that the error knows or its message begins with."""
        own, several = f"{kind.name}(", error.faults if isinstance(error, FaultsError) else ()
        if several and all(sentence.startswith(own) for sentence in several):
            for sentence in several:  # each of an argument of its own
                self.refused(kind, arguments, InputError(sentence), place)
            return FAILED
        inner = error.place if isinstance(error, InputError) else ()
        message = str(error)
        if inner:
            message = message.removeprefix(f"{path_of(inner)}: ").removeprefix(f"{inner[-1]}: ")
        else:
            inner, message = _placed(kind, message, arguments)
        return self.fault((*place, *inner), message)

    # ---------------------------------------------------------------- things

    def make(self, kind: Kind, data: Mapping[str, object], place: Place) -> Any:
        """Return the thing of a kind with its settings."""
        sound = True
        arguments: dict[str, object] = {}
        missing = [n for n, p in kind.parameters.items() if _needed(p) and n not in data]
        for name, value in data.items():
            parameter = kind.parameters.get(name)
            if parameter is None and not kind.open_ended:
                words = unknown_name("entry", name, kind.parameters, where=kind.name)
                if missing:  # as a rule one that is misspelt: one mistake, one fault
                    near = (nearest(name, missing) or missing)[0]
                    missing.remove(near)
                    words += f"; {near} is needed"
                self.fault((*place, name), words)
                sound = False
                continue
            arguments[name] = self._argument(kind, name, value, (*place, name))
            sound = sound and arguments[name] is not FAILED
        if missing:
            self.fault(place, f"{kind.name} needs {', '.join(missing)}")
        return self._called(kind, arguments, place) if sound and not missing else FAILED

    def _argument(self, kind: Kind, name: str, data: object, place: Place) -> object:
        descriptor = vars(kind.make).get(name) if isinstance(kind.make, type) else None
        accept = getattr(descriptor, "accept", None)
        if data is FAILED or data is None:
            return data
        rule = kind.allowed.get(name)
        if isinstance(rule, tuple) and isinstance(data, str) and data not in rule:
            return self.fault(place, f"expected {' or '.join(map(repr, rule))}; found {data!r:.60}")
        if isinstance(rule, Range):
            accept = rule.check
        if accept is None or isinstance(data, (date, time)):
            return self.value(data, types_of(kind).get(name, Any), place, texts=kind.reads_texts)
        value = self.attempt(place, lambda: accept(data, ""))
        # A text is handed on as it is: some keep the unit in which they were given.
        kept = isinstance(data, str) or isinstance(rule, Range)
        return data if kept and value is not FAILED else value

    def _called(self, kind: Kind, arguments: dict[str, Any], place: Place) -> object:
        positional: list[Any] = []
        for name, parameter in kind.parameters.items():
            if parameter.kind is parameter.POSITIONAL_ONLY and name in arguments:
                positional.append(arguments.pop(name))
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional += arguments.pop(name, ())
        try:
            return kind.make(*positional, **arguments)
        except BondloopError as error:
            return self.refused(kind, arguments, error, place)
        except (AttributeError, TypeError, ValueError, LookupError, OSError) as error:
            return self.fault(place, f"{kind.name} cannot be made of this ({error})")


def _needed(parameter: inspect.Parameter) -> bool:
    variadic = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    return parameter.default is parameter.empty and not variadic


def _no_head(data: Mapping[str, object], families: list[str]) -> str:
    family = families[0]
    names = ", ".join(sorted(FAMILIES[family])[:6])
    return (
        f'which {family} is it? expected an entry {family} = "...", one of {names}, ...; found {list(data)}'
    )


def _placed(kind: Kind, message: str, arguments: Mapping[str, object]) -> tuple[Place, str]:
    """Return the argument that a message begins with: ``Sine(frequency): ...``, ``limits.force: ...``."""
    item = re.match(rf"{re.escape(kind.name)}\((\w+)\[(\d+)\]\): ", message)
    if item and item[1] in arguments:
        return (item[1], int(item[2])), message[item.end() :]
    patterns = (rf"{re.escape(kind.name)}\((\w+)\):? ", rf"{re.escape(kind.family)}\.(\w+):? ", r"([\w.]+): ")
    for pattern in patterns:
        match = re.match(pattern, message)
        steps = tuple(match[1].split(".")) if match else ("",)
        if match and steps[0] in arguments:
            return steps, message[match.end() :]
    first = re.match(r"(\w+) must ", message)
    return ((first[1],) if first and first[1] in arguments else ()), message
