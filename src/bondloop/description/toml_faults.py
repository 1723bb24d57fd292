"""What is wrong with a text that is no TOML: the line and the key, in plain words."""

from __future__ import annotations

import re
import tomllib

__all__ = ["syntax_fault"]

_TWICE = ("Cannot overwrite", "Cannot declare", "Cannot mutate")
_AT = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)
_ENTRY = re.compile(r"""\s*((?:[\w-]|\.|"[^"\n]*"|'[^'\n]*'|\s(?=\.))+)\s*=""")
_HEADER = re.compile(r"\s*\[\[?\s*([^\[\]\n]+?)\s*\]")


def syntax_fault(text: str, error: tomllib.TOMLDecodeError) -> str:
    r"""Return what is wrong with a text, after its line and key where they are known.

    Parameters
    ----------
    text
        What was read.
    error
        What Python's reader says of it.

    Examples
    --------
    >>> def fault(text):
    ...     try:
    ...         tomllib.loads(text)
    ...     except tomllib.TOMLDecodeError as error:
    ...         return syntax_fault(text, error)
    >>> fault('[rig]\nname = "damper\nrate = 3\n')
    'line 2, rig.name: the text is not closed: a quote is missing at its end'
    >>> fault("[rig]\nlatency = 1\nlatency = 2\n")
    'line 3, rig.latency: this entry stands there twice, in line 2 too; leave one out'
    """
    said, lines = str(error), text.splitlines()
    match = _AT.fullmatch(said)
    if match is not None:
        said, number = match[1], int(match[2])
    elif said.startswith(_TWICE):  # at the end of the document, after what stands there twice
        number = len(lines)
    else:
        return said
    line = lines[number - 1] if number <= len(lines) else ""
    table = _table(lines[: number - 1])
    header, entry = _HEADER.match(line), _ENTRY.match(line)
    key = header[1] if header else ".".join(filter(None, (table, entry[1].strip()))) if entry else table
    return f"line {number}{f', {key}' if key else ''}: {_plain(said, lines, number, key)}"


def _plain(said: str, lines: list[str], number: int, key: str) -> str:
    if said.startswith(("Illegal character '\\n'", "Illegal character '\\r'")):
        return "the text is not closed: a quote is missing at its end"
    if said.startswith("Duplicate inline table key"):
        return f"the entry {said.rpartition(' ')[2]} stands there twice; leave one out"
    if said.startswith(_TWICE):
        first = _line_of(key, lines[: number - 1])
        also = f", in line {first} too" if first else ""
        what = "table" if lines[number - 1].lstrip().startswith("[") else "entry"
        return f"this {what} stands there twice{also}; leave one out"
    if said.startswith("Invalid value"):
        return "expected a number, a text in quotes, a list or a table after the equals sign"
    if said.startswith("Expected '=' after a key"):
        return "expected an entry, key = value"
    if said.startswith("Expected newline or end of document"):
        return "expected nothing more in this line: one entry a line, and texts in quotes"
    return said


def _table(lines: list[str]) -> str:
    """Return the table that lines end in."""
    return next((match[1] for line in reversed(lines) if (match := _HEADER.match(line))), "")


def _line_of(key: str, lines: list[str]) -> int:
    """Return the line of an entry or a header, counted from 1; 0 where it has none of its own."""
    table = ""
    for i, line in enumerate(lines, start=1):
        header, entry = _HEADER.match(line), _ENTRY.match(line)
        if header:
            table = header[1]
        name = ".".join(filter(None, (table, entry[1].strip()))) if entry else table
        if name == key and (header or entry):
            return i
    return 0
