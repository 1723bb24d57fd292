"""TOML files: read by Python's own reader, with the line of every entry that is at fault; and written."""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

from bondloop.containers import expect_file
from bondloop.engine.data.kinds import FAMILIES
from bondloop.engine.data.restoring import Fault, Place, path_of
from bondloop.errors import FaultsError, InputError

_AT = re.compile(r"(.*) \((?:at line (\d+), column (\d+)|at end of document)\)", re.DOTALL)
_ENDS = ["", *("".join(e) for n in (1, 2, 3, 4) for e in itertools.product("]}", repeat=n)), '"' * 3, "'" * 3]
"""What may be missing where a text is cut off between two lines."""


def text_of(path: str | Path, largest: int = 2**24) -> str:
    """Return the text of a file, with the ends of lines that it has.

    Parameters
    ----------
    path
        The file, in UTF-8.
    largest
        Bytes that it may have; data of that size is in files that it names.
    """
    file = Path(path)
    try:
        expect_file(file, largest)
        with file.open(encoding="utf-8-sig", newline="") as content:
            return content.read()
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: not a text in UTF-8") from None


def parsed(text: str, deepest: int = 100) -> dict[str, Any]:
    r"""Return the document of a text; what Python's reader chokes on is refused in its words, with the line.

    Parameters
    ----------
    text
        TOML.
    deepest
        Tables and lists within each other at most: more than any test has, and few enough to walk through.

    Examples
    --------
    >>> parsed("rate = 1e3")
    {'rate': 1000.0}
    >>> parsed("rate = 1e3\nrate = 2")
    Traceback (most recent call last):
    bondloop.errors.InputError: line 2: Cannot overwrite a value, in: rate = 2
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _AT.fullmatch(str(error))
        if match is None:
            raise InputError(str(error)) from None
        rows = text.splitlines()
        line = int(match[2] or len(rows))
        row = rows[line - 1].strip() if line <= len(rows) else ""
        raise InputError(f"line {line}: {match[1]}, in: {row:.80}") from None
    except RecursionError:
        raise InputError(f"tables or lists stand more than {deepest} deep within each other") from None
    except ValueError as error:  # Python's own, for numbers with thousands of digits
        raise InputError(str(error).partition("; use sys.")[0]) from None
    layer: list[object] = [document]
    for _ in range(deepest):
        layer = [
            inner
            for outer in layer
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    if layer:
        raise InputError(f"tables or lists stand more than {deepest} deep within each other")
    return document


def checked_format(document: dict[str, Any], newest: int = 1) -> None:
    """Take the format number out of a document; one that is newer than this bondloop is refused.

    A file without a number is of format 1.

    Parameters
    ----------
    document
        Of the file.
    newest
        Format that is read here.

    Examples
    --------
    >>> checked_format({"format": 7}, 1)
    Traceback (most recent call last):
    bondloop.errors.InputError: format: expected a whole number up to 1; found 7; a newer bondloop ...
    """
    found = document.pop("format", 1)
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= newest:
        words = f"format: expected a whole number up to {newest}; found {found!r:.60}"
        raise InputError(f"{words}; a newer bondloop reads newer files")


class _Lines:
    """Finds the lines of entries: an entry stands in the first line with which it can be read."""

    def __init__(self, text: str) -> None:
        self.rows = text.splitlines(keepends=True) if text.isascii() else re.findall(r"[^\n]*\n|[^\n]+", text)
        self.until = cache(self._until)

    def _until(self, count: int) -> dict[str, Any]:
        """Return what the first lines say, or as many of them as can be read."""
        for n in range(count, 0, -1):
            text = "".join(self.rows[:n])
            for end in _ENDS:
                try:
                    return tomllib.loads(text + end)
                except tomllib.TOMLDecodeError:
                    continue
        return {}

    def has(self, place: Place, count: int) -> bool:
        """Whether the first lines have an entry."""
        at: Any = self.until(count)
        for step in place:
            try:
                at = at[step]
            except (KeyError, IndexError, TypeError):
                return False
        return True

    def of(self, place: Place) -> int:
        """Return the line of an entry, or of what it would stand in."""
        while place and not self.has(place, len(self.rows)):
            place = place[:-1]
        low, high = 0, len(self.rows) if place else 0
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.has(place, middle) else (middle, high)
        return high


def line_of(text: str, place: Place) -> int:
    r"""Return the line of an entry, counted from 1; 0 for the whole.

    Parameters
    ----------
    text
        TOML that can be read.
    place
        Names of entries, and numbers in lists. Of one that there is not, the table in which it would stand.

    Examples
    --------
    >>> line_of("rate = 1e3\n[rig]\ndrive = [\n  {width = 1},\n]\n", ("rig", "drive", 0, "width"))
    4
    """
    return _Lines(text).of(place)


def raise_faults(name: str, text: str, faults: Sequence[Fault], changed: Iterable[str] = ()) -> None:
    """Raise an error that tells all faults of a file in the order of their lines, if there are any.

    Parameters
    ----------
    name
        Of the file.
    text
        What stands in it.
    faults
        What is wrong.
    changed
        Paths of entries that were changed by ``--set``; their faults come first.
    """
    if not faults:
        return
    lines = _Lines(text)
    sentences: list[tuple[int, str]] = []
    for fault in faults:
        path = ".".join(str(step) for step in fault.place[fault.place[:1] == ("values",) :])
        if any(f"{path}.".startswith(f"{key}.") for key in changed):
            sentences.append((0, f"--set {path}: {fault.message}"))
            continue
        line = lines.of(fault.place)
        where = ", ".join([f"line {line}"] * bool(line) + [path_of(fault.place)] * bool(fault.place))
        sentences.append((line, f"{where}: {fault.message}" if where else fault.message))
    told = [sentence for _, sentence in sorted(sentences, key=lambda pair: pair[0])]
    raise InputError(f"{name}: {told[0]}") if len(told) == 1 else FaultsError(name, told)


# Descriptions as the text of a TOML file: short tables on one line, long ones with a header.


WIDTH = 100
"""Characters of a line, as far as it can be kept."""


def toml_text(document: Mapping[str, object]) -> str:
    """Return the text of a document; entries of None are left out.

    >>> print(toml_text({"rate": 1000.0, "rig": {"rig": "Emulated", "seed": 0}}))
    rate = 1000.0
    <BLANKLINE>
    [rig]
    rig = "Emulated"
    seed = 0
    <BLANKLINE>
    """
    return "\n".join([*_table(document, (), top=True), ""])


def _table(table: Mapping[str, object], path: tuple[str, ...], *, top: bool = False) -> list[str]:
    """Return the lines of a table: what fits on lines first, then tables of their own."""
    lines: list[str] = []
    later: list[str] = []
    ordered = all(isinstance(value, Mapping) for value in table.values())  # parts: their order counts
    for key, value in table.items():
        if value is None:
            continue
        line = f"{_key(key)} = {_inline(value)}"
        place = (*path, _key(key))
        long = (top and len(value) > 1) or len(line) > WIDTH if isinstance(value, Mapping) else False
        if isinstance(value, Mapping) and (long or (ordered and later)):
            inner = _table(value, place)
            later += inner if inner and not inner[0] else ["", f"[{'.'.join(place)}]", *inner]
        elif _of_tables(value) and max(len(_inline(item)) for item in value) > WIDTH:
            for item in value:
                later += ["", f"[[{'.'.join(place)}]]", *_table(item, place)]
        elif len(line) > WIDTH and isinstance(value, (list, tuple)):
            lines += [f"{_key(key)} = [", *_wrapped(value), "]"]
        else:
            lines.append(line)
    return [*lines, *later]


def _of_tables(value: object) -> TypeGuard[Sequence[Mapping[str, object]]]:
    """Whether it is a list of things of one family, which can have a header each."""
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(v, Mapping) for v in value):
        return False
    heads = {next(iter(item), "") for item in value}
    return len(heads) == 1 and heads <= set(FAMILIES)


def _wrapped(values: Sequence[object]) -> list[str]:
    """Return the items of a long list, as many to a line as it takes; rows and tables one by one."""
    items = [f"{_inline(v)}," for v in values]
    if any(isinstance(v, (list, tuple, Mapping)) for v in values):
        return [f"    {item}" for item in items]
    lines = ["   "]
    for item in items:
        if len(lines[-1]) + len(item) > WIDTH and lines[-1].strip():
            lines.append("   ")
        lines[-1] += f" {item}"
    return lines


def _inline(value: object) -> str:
    if isinstance(value, Mapping):
        entries = [f"{_key(k)} = {_inline(v)}" for k, v in value.items() if v is not None]
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_inline(v) for v in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    return repr(value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
