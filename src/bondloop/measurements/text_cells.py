"""Cells of a line of text, and the numbers and clock times in them."""

from __future__ import annotations

import csv
import datetime as dt
import re
from collections.abc import Sequence

__all__ = ["cells_of", "clock_in", "day_in", "number_in", "separator_in"]

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
