"""Descriptions as the text of a TOML file: short tables on one line, long ones with a header."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from bondloop.engine.data.kinds import FAMILIES

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
