"""Which line of a TOML file an entry stands in: Python's reader keeps no lines.

The text has been read by `tomllib` before, so its syntax is right; only places are looked for here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from bondloop.data.restoring import path_of

if TYPE_CHECKING:
    from bondloop.data.restoring import Fault, Place

__all__ = ["lines_of", "with_lines"]

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = (r'"""(?:[^\\]|\\.)*?"{3,5}', r"'''.*?'{3,5}", r'"(?:[^"\\\n]|\\.)*"', r"'[^'\n]*'")
_STRING = re.compile("|".join(_STRINGS), re.DOTALL)
_PLAIN = re.compile(r"[^,\]}\n#]+")


def lines_of(text: str) -> dict[Place, int]:
    r"""Return the line of every entry, counted from 1; of a table that has a header, the header's.

    >>> lines_of("rate = 1e3\n[rig]\ndrive = [\n  {width = 1},\n]\n")[("rig", "drive", 0, "width")]
    4
    """
    return _Scanner(text).scan()


class _Scanner:
    """Walks through a file, place by place."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.lines: dict[Place, int] = {}
        self.counts: dict[Place, int] = {}
        """How many tables an array of tables has so far."""
        self._line, self._counted = 1, 0

    def scan(self) -> dict[Place, int]:
        table: Place = ()
        self.skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.entry(table)
            self.skip()
        return self.lines

    def skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def note(self, place: Place) -> None:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        self.lines.setdefault(place, self._line)

    def header(self) -> Place:
        array = self.text.startswith("[[", self.at)
        start = self.at
        self.at += 2 if array else 1
        keys = self.keys()
        place = self.within((), keys[:-1])
        end, self.at = self.at, start
        place = (*place, keys[-1])
        if array:
            self.counts[place] = self.counts.get(place, -1) + 1
            self.note(place)
            place = (*place, self.counts[place])
        elif place in self.counts:
            place = (*place, self.counts[place])
        self.note(place)
        self.at = end + (2 if array else 1)
        return place

    def within(self, place: Place, keys: list[str]) -> Place:
        for key in keys:
            place = (*place, key)
            self.note(place)
            if place in self.counts:
                place = (*place, self.counts[place])
        return place

    def keys(self) -> list[str]:
        """Read a key and what follows it by dots; stops at what comes after."""
        keys: list[str] = []
        while True:
            self.skip()
            quoted = _STRING.match(self.text, self.at)
            match = quoted or _BARE.match(self.text, self.at)
            if match is None:  # cannot be, in a file that has been read
                self.at = len(self.text)
                return keys or [""]
            self.at = match.end()
            keys.append(_unquoted(match[0]) if quoted else match[0])
            self.skip()
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def entry(self, table: Place) -> None:
        start = self.at
        keys = self.keys()
        end, self.at = self.at, start
        place = (*self.within(table, keys[:-1]), keys[-1])
        self.note(place)
        self.at = end + 1  # past the equals sign
        self.value(place)

    def value(self, place: Place) -> None:
        self.skip()
        self.note(place)
        first = self.text[self.at : self.at + 1]
        if first in ("[", "{"):
            self.at += 1
            self.items(place, "]" if first == "[" else "}")
            return
        match = _STRING.match(self.text, self.at) or _PLAIN.match(self.text, self.at)
        self.at = match.end() if match else len(self.text)

    def items(self, place: Place, end: str) -> None:
        count = 0
        self.skip()
        while self.at < len(self.text) and self.text[self.at] != end:
            if end == "]":
                self.value((*place, count))
                count += 1
            else:
                self.entry(place)
            self.skip()
            if self.text.startswith(",", self.at):
                self.at += 1
                self.skip()
        self.at += 1


def _unquoted(text: str) -> str:
    import tomllib

    key: str = next(iter(tomllib.loads(f"{text} = 0")))
    return key


def with_lines(faults: list[Fault], lines: Mapping[Place, int], changed: Iterable[str] = ()) -> list[str]:
    """Write all faults in the order of their lines; those of changed entries by what changed them."""
    sentences: list[tuple[int, str]] = []
    for fault in faults:
        path = ".".join(str(step) for step in fault.place[fault.place[:1] == ("values",) :])
        key = next((key for key in changed if f"{path}.".startswith(f"{key}.")), "")
        if key:
            sentences.append((0, f"--set {path}: {fault.message}"))
            continue
        place = fault.place
        while place and place not in lines:
            place = place[:-1]
        line = lines.get(place, 0)
        where = ", ".join(
            ([f"line {line}"] if line else []) + ([path_of(fault.place)] if fault.place else [])
        )
        sentences.append((line, f"{where}: {fault.message}" if where else fault.message))
    sentences.sort(key=lambda pair: pair[0])
    return [text for _, text in sentences]
