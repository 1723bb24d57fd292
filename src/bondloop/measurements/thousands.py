"""Signs between thousands: commas or points that must not be read as decimal ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["ambiguous", "grouped", "sign_faults", "without_signs"]

_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(?:(?:,\d{3})+(?:\.\d+)?|(?:\.\d{3})+(?:,\d+)?)")
_ONE_SIGN = re.compile(r"[-+]?\d+[.,]\d*")
ADVICE = "save the file without signs between thousands"

Cell = tuple[int, int, str]
"""Index of the line, place of the column, text."""


def grouped(cell: str) -> bool:
    """Whether a cell can be a number with signs between its thousands.

    Parameters
    ----------
    cell
        Without spaces around it.

    Examples
    --------
    >>> [grouped(cell) for cell in ("1,000", "1,000.5", "1.234.567", "1,5", "0,125", "1000,125")]
    [True, True, True, False, False, False]
    """
    return _GROUPED.fullmatch(cell) is not None


def ambiguous(text: str) -> bool:
    """Whether a number with one sign can be read in two ways: 1,000 may be one, or a thousand.

    Parameters
    ----------
    text
        The number.

    Examples
    --------
    >>> ambiguous("1,000"), ambiguous("1,000.5"), ambiguous("1,25")
    (True, False, False)
    """
    return grouped(text) and _ONE_SIGN.fullmatch(text) is not None


def without_signs(text: str) -> str:
    """Return a number that two kinds of signs, or two of one kind, make clear, in Python's spelling.

    Parameters
    ----------
    text
        The number; one that is not grouped gets a decimal point.

    Examples
    --------
    >>> without_signs("10,000.5"), without_signs("1.000,0"), without_signs("1,000,000"), without_signs("0,5")
    ('10000.5', '1000.0', '1000000', '0.5')
    """
    if not grouped(text) or ambiguous(text):
        return text.replace(",", ".")
    first = next(character for character in text if character in ",.")
    return text.replace(first, "").replace(",", ".")


def sign_faults(cells: Sequence[Cell], names: Sequence[str]) -> list[str]:
    """Return what is wrong with the signs in cells of numbers that commas do not part, cell by cell.

    A file, or at least a column, has one decimal sign. Where it has two, or where a comma stands before three
    digits in all that have one while smaller numbers have none, the other parts thousands.

    Parameters
    ----------
    cells
        Every number of the file that has no exponent.
    names
        Of the columns.
    """
    columns: dict[int, dict[str, list[Cell]]] = {}
    for cell in cells:
        sign = next((s for s in ",." if s in cell[2]), "")
        columns.setdefault(cell[1], {",": [], ".": [], "": []})[sign].append(cell)
    signed = {s: [c for by_sign in columns.values() for c in by_sign[s]] for s in ",."}
    doubted: list[Cell] = []
    for by_sign in columns.values():
        commas, points = by_sign[","], by_sign["."]
        if commas and points:
            clear = _all_grouped(points) and not _all_grouped(commas)
            doubted += points if clear or (not _all_grouped(commas) and len(points) < len(commas)) else commas
        elif commas and by_sign[""] and _all_grouped(commas):
            doubted += commas
    if not doubted and all(signed.values()):
        for sign, other in (",.", ".,"):
            if _all_grouped(signed[sign]) and not _all_grouped(signed[other]):
                doubted += signed[sign]
    return [_fault(cell, names) for cell in sorted(doubted)]


def _all_grouped(cells: Sequence[Cell]) -> bool:
    return all(grouped(text) for _, _, text in cells)


def _fault(cell: Cell, names: Sequence[str]) -> str:
    index, place, text = cell
    called = f" ({names[place]})" if place < len(names) and names[place] else ""
    sign = "comma" if "," in text else "point"
    return (
        f"line {index + 1}, column {place + 1}{called}: is the {sign} in {text[:40]!r} a decimal one, or "
        f"between thousands? {ADVICE}"
    )
