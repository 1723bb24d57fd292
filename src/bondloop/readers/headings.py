"""Names and units of columns, as recorders of all makes write them."""

from __future__ import annotations

import re

from bondloop.errors import InputError
from bondloop.units import known_unit

WORDS = {
    "sec": "s", "secs": "s", "second": "s", "seconds": "s", "msec": "ms", "millisecond": "ms",
    "milliseconds": "ms", "usec": "us", "volt": "V", "volts": "V", "amp": "A", "amps": "A", "ampere": "A",
    "newton": "N", "newtons": "N", "metre": "m", "metres": "m", "meter": "m", "meters": "m",
    "millimetre": "mm", "millimetres": "mm", "millimeter": "mm", "millimeters": "mm", "inch": "in",
    "inches": "in", "degree": "deg", "degrees": "deg", "°": "deg", "hertz": "Hz", "μm": "µm", "μs": "µs",
}  # fmt: skip
"""Units as recorders spell them, in small letters, and as bondloop does."""
NONE = {"-", "--", "1", "none", "n/a", "[-]", "(-)"}
"""What stands in place of a unit where there is none."""

_BRACKETS = re.compile(r"(?P<name>.*\S)?(?P<space>\s*)\[(?P<unit>[^\[\]]*)\]")
_SLASH = re.compile(r"(?P<name>.*\S)(?:\s+/\s*|,\s+)(?P<unit>\S+)")


def unit_meant(text: str) -> str | None:
    """Return a unit in bondloop's spelling; None for a text that is no unit, nothing for 'no unit'.

    Parameters
    ----------
    text
        As it stands in a file.

    Examples
    --------
    >>> unit_meant("Sec"), unit_meant("kN"), unit_meant("-"), unit_meant("left")
    ('s', 'kN', '', None)
    """
    plain = text.strip()
    if plain.lower() in NONE:
        return ""
    meant = WORDS.get(plain.lower(), plain)
    try:
        known_unit(meant, "")
    except InputError:
        return None
    return meant if any(character.isalpha() or character == "%" for character in meant) else None


def heading(cell: str) -> tuple[str, str]:
    """Return name and unit of a column: of ``Force [kN]``, ``Force (kN)``, ``Force / kN`` and ``Force, kN``.

    After a space, what stands in square brackets is always a unit; elsewhere only what is known as one, so
    that ``Sensor (left)`` and ``force[0]`` stay names.

    Parameters
    ----------
    cell
        Of the header.

    Examples
    --------
    >>> heading("Command (mm)"), heading("Sensor (left)"), heading("force[0]"), heading("x [bits]")
    (('Command', 'mm'), ('Sensor (left)', ''), ('force[0]', ''), ('x', 'bits'))
    """
    cell = cell.strip()
    match = _BRACKETS.fullmatch(cell)
    if match and match["name"]:
        meant = unit_meant(match["unit"])
        if match["space"] or meant:
            return match["name"], match["unit"].strip() if meant is None else meant
        return cell, ""
    name, inside = _parenthesis(cell)
    meant = unit_meant(inside) if name else None
    if meant is None:
        match = _SLASH.fullmatch(cell)
        name, meant = (match["name"], unit_meant(match["unit"]) or None) if match else (cell, None)
    return (cell, "") if meant is None else (name, meant)


def _parenthesis(cell: str) -> tuple[str, str]:
    """Return what stands before and in the last pair of parentheses, which may hold others: (N/(mm/s))."""
    if not cell.endswith(")"):
        return "", ""
    depth = 0
    for place in range(len(cell) - 1, -1, -1):
        depth += (cell[place] == ")") - (cell[place] == "(")
        if depth == 0:
            return cell[:place].strip(), cell[place + 1 : -1]
    return "", ""
