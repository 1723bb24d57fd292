"""What annotations say about the values that a parameter takes, as far as data can hold them."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from functools import lru_cache

from bondloop.data.kinds import Kind, kind_of_word

__all__ = ["Annotation", "alias", "annotation_of", "read_annotation", "union"]

SCALARS = frozenset({"float", "int", "bool", "str", "Path", "Number"})
"""Types of single values; ``Number`` is a number or a text with a unit."""

_ALIASES: dict[str, str] = {}
"""Annotations by the names that modules give them."""

_LIST = re.compile(r"(?:tuple|list|Sequence|Iterable)(?:\[(.*?)(?:, \.\.\.)?\])?")
_TABLE = re.compile(r"(?:Mapping|dict)(?:\[\w+, (.*)\])?")


@dataclass
class Annotation:
    """What a parameter takes.

    Attributes
    ----------
    scalars
        Types of single values.
    kinds
        Kinds and families.
    item, entry
        Annotations of what a list or a table holds; None where neither is taken.
    anything
        Whether the annotation leaves something open.
    """

    scalars: set[str] = field(default_factory=set)
    kinds: list[Kind | str] = field(default_factory=list)
    item: str | None = None
    entry: str | None = None
    anything: bool = False

    @property
    def families(self) -> list[str]:
        """Families of the kinds, each once."""
        return list(dict.fromkeys(kind if isinstance(kind, str) else kind.family for kind in self.kinds))

    def __str__(self) -> str:
        """Say what is expected."""
        words = [f"{'an' if family[0] in 'aeiou' else 'a'} {family}" for family in self.families]
        if self.scalars & {"float", "Number"}:
            words.append("a number or a text with a unit")
        elif "int" in self.scalars:
            words.append("a whole number")
        if "bool" in self.scalars:
            words.append("true or false")
        if "Path" in self.scalars:
            words.append("a path")
        elif "str" in self.scalars and not self.scalars & {"float", "Number"}:
            words.append("a text")
        if self.item is not None:
            words.append("a list")
        if self.entry is not None:
            words.append("a table")
        return " or ".join(words)


def read_annotation(annotation: str) -> Annotation:
    """Read an annotation.

    >>> print(
    ...     read_annotation("float | str | None"),
    ...     "/",
    ...     read_annotation("Sequence[float] | Mapping[str, float]"),
    ... )
    a number or a text with a unit / a list or a table
    """
    result = Annotation()
    # Beside what data can hold, "or any function" is for Python alone.
    written = [inner for m in union(annotation) for inner in union(_ALIASES.get(m, m))]
    members = [m for m in written if not m.startswith("Callable")] or [annotation]
    for member in members:
        listed, table = _LIST.fullmatch(member), _TABLE.fullmatch(member)
        if member in SCALARS:
            result.scalars.add(member)
        elif listed is not None:
            result.item = "Any" if not listed[1] or "," in listed[1] else listed[1]
        elif table is not None:
            result.entry = table[1] or "Any"
        elif member != "None" or members == ["None"]:
            named = kind_of_word(member)
            result.kinds += named
            result.anything = result.anything or not named
    return result


def alias(name: str, annotation: str) -> None:
    """Let annotations be named: ``Ground`` for signals by direction.

    Parameters
    ----------
    name
        What stands in signatures.
    annotation
        What it stands for, as far as data can hold it.
    """
    _ALIASES[name] = annotation


@lru_cache(maxsize=1024)
def union(annotation: str) -> tuple[str, ...]:
    """Return the members of a union.

    >>> union("tuple[float | str, ...] | None")
    ('tuple[float | str, ...]', 'None')
    """
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(annotation):
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and not depth:
            parts.append(annotation[start:i].strip())
            start = i + 1
    return (*parts, annotation[start:].strip())


def annotation_of(parameter: inspect.Parameter) -> str:
    """Return an annotation as text; ``Any`` where there is none."""
    a = parameter.annotation
    if a is parameter.empty:
        return "Any"
    if isinstance(a, str):
        return a
    # A class by its name; tuple[float, ...] as it is written, without the modules of what it names.
    return a.__name__ if isinstance(a, type) else re.sub(r"[\w.]+\.(?=\w)", "", str(a))
