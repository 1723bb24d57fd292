"""What the types of a class or function say about the data that its parameters take."""

from __future__ import annotations

import inspect
import types
from collections import abc
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from bondloop.engine.data.kinds import Kind, kind_of_name


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
