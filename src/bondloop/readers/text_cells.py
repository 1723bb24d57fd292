"""Cells of a line of text, and the numbers and clock times in them."""

from __future__ import annotations

import csv
import datetime as dt
import re
from collections.abc import Sequence

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


_NUMBER = re.compile(
    r"[-+]?(?:(?:\d+\.?\d*|\d*[.,]\d+)(?:[ed][-+]?\d+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE
)
"""What NumPy's parser takes, decimal commas and Fortran's exponents; `float` would take ``1_0`` for ten."""
_SEPARATORS: tuple[str | None, ...] = (";", "\t", ",", None)
_CLOCK = re.compile(r"(?:^|[\sT])(\d{1,2}):(\d{2}):(\d{2}(?:[.,]\d*)?)\s*([AaPp][Mm])?(?=$|[Z\s+-])")

_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})[T\s]")
_ZONE = re.compile(r":\d{2}(?:[.,]\d*)?\s*([-+])(\d{2}):?(\d{2})$")


def cells_of(line: str, separator: str | None) -> list[str]:
    """Return the cells of a line; spaces part them where there is no separator.

    Parameters
    ----------
    line
        Without its end.
    separator
        A sign, or None for spaces.

    Examples
    --------
    >>> cells_of('1, "x, top" ,3', ",")
    ['1', 'x, top', '3']
    """
    if separator is None:
        return line.split()
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    try:
        cells = next(csv.reader([line.lstrip(" ")], delimiter=separator, skipinitialspace=True))
    except (csv.Error, StopIteration):  # a quotation that never ends, or a cell beyond csv's limit
        return [cell.strip() for cell in line.split(separator)]
    return [cell.strip() for cell in cells]


def number_in(cell: str, separator: str | None) -> float | None:
    """Return the number in a cell, None if it holds none; a comma is a decimal one unless it parts cells.

    Parameters
    ----------
    cell
        Without spaces around it.
    separator
        Of the cells.

    Examples
    --------
    >>> number_in("1,5", ";"), number_in("1,5", ","), number_in("1D-3", ","), number_in("1_0", ",")
    (1.5, None, 0.001, None)
    """
    if not _NUMBER.fullmatch(cell) or (separator == "," and "," in cell):
        return None
    return float(cell.replace(",", ".").replace("D", "e").replace("d", "e"))


def separator_in(rows: Sequence[str], among: Sequence[str | None] = _SEPARATORS) -> str | None:
    """Return what parts the cells of rows: that by which most of them are numbers, and as many as can be.

    Parameters
    ----------
    rows
        Lines of numbers; some may hold other cells, too.
    among
        Signs, None for spaces; of two that are as good, the first is taken.

    Examples
    --------
    >>> separator_in(["0 1,5", "1 2,5"]), separator_in(["0,1"]), separator_in(["0;1,5"])
    (None, ',', ';')
    """
    return max(among, key=lambda separator: _worth(rows, separator))


def _worth(rows: Sequence[str], separator: str | None) -> tuple[float, float]:
    """Return which part of the cells holds numbers, and how many in a line."""
    cells = [cell for line in rows for cell in cells_of(line, separator) if cell]
    numbers = sum(number_in(cell, separator) is not None for cell in cells)
    return round(numbers / max(len(cells), 1), 2), numbers / max(len(rows), 1)


def clock_in(cell: str) -> float | None:
    """Return the seconds since midnight that a cell tells, with or without a date; None if it tells none.

    Parameters
    ----------
    cell
        Of a row.

    Examples
    --------
    >>> clock_in("06/29/2022 04:05:36.674 PM"), clock_in("2022-06-29T00:00:01,5"), clock_in("12")
    (57936.674, 1.5, None)
    """
    match = _CLOCK.search(cell)
    if match is None:
        return None
    hours, minutes, seconds = int(match[1]), int(match[2]), float(match[3].replace(",", "."))
    if match[4]:
        hours = hours % 12 + 12 * (match[4].lower() == "pm")
    return 3600.0 * hours + 60.0 * minutes + seconds if hours < 24 and minutes < 60 else None


def day_in(cell: str) -> int | None:
    """Return when the day of an ISO date began, seconds since the first year's, by the zone that it tells.

    Parameters
    ----------
    cell
        Of a row.

    Examples
    --------
    >>> day_in("2024-03-01 00:00:00") - day_in("2024-02-28 23:59:59")
    172800
    >>> day_in("2024-03-01T10:00:00+02:00") - day_in("2024-03-01T08:00:00Z"), day_in("01.03.2024 10:00:00")
    (-7200, None)
    """
    match, zone = _DAY.match(cell), _ZONE.search(cell)
    if match is None:
        return None
    try:
        day = dt.date(int(match[1]), int(match[2]), int(match[3])).toordinal()
    except ValueError:
        return None
    east = 0 if zone is None else (3600 * int(zone[2]) + 60 * int(zone[3])) * (-1 if zone[1] == "-" else 1)
    return 86_400 * day - east
