"""Cells of text, as recorders and Fortran write: numbers, clock times, names and units."""

from __future__ import annotations

import csv
import datetime as dt
import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.units import known_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


def normalised_unit(text: str) -> str | None:
    """Return a unit in bondloop's spelling; None for a text that is no unit, nothing for 'no unit'.

    Parameters
    ----------
    text
        As it stands in a file.

    Examples
    --------
    >>> normalised_unit("Sec"), normalised_unit("kN"), normalised_unit("-"), normalised_unit("left")
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


def unit_or_text(text: str) -> str:
    """Return a unit in bondloop's spelling, or the text as it stands where it is no unit that is known.

    >>> unit_or_text("Sec"), unit_or_text(" bits")
    ('s', 'bits')
    """
    meant = normalised_unit(text)
    return text.strip() if meant is None else meant


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
        meant = normalised_unit(match["unit"])
        if match["space"] or meant:
            return match["name"], match["unit"].strip() if meant is None else meant
        return cell, ""
    name, inside = _parenthesis(cell)
    meant = normalised_unit(inside) if name else None
    if meant is None:
        match = _SLASH.fullmatch(cell)
        name, meant = (match["name"], normalised_unit(match["unit"]) or None) if match else (cell, None)
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


NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[EeDd][-+]?\d+)?"
"""A number as Fortran writes it."""
_FORTRAN = re.compile(NUMBER)


def fortran_number(text: str) -> float:
    """Return the value of a text that `NUMBER` matches.

    >>> fortran_number("-.5D+01")
    -5.0
    """
    return float(text.upper().replace("D", "E"))


def free_numbers(lines: Sequence[str], first: int, faults: list[str]) -> NDArray[np.float64]:
    """Return all numbers of some lines; those that touch are told apart by their signs.

    Parameters
    ----------
    lines
        The lines.
    first
        Number of the first of them in the file, from 1.
    faults
        Where to say what is no finite number, and where it stands.

    Examples
    --------
    >>> faults = []
    >>> free_numbers([" .1E-02-.2E-02", "  x 3"], 5, faults).tolist(), faults
    ([0.001, -0.002, 3.0], ["line 6, column 3: 'x' is no number"])
    """
    body = "\n".join(lines)
    values = np.array([fortran_number(word) for word in _FORTRAN.findall(body)], dtype=np.float64)
    if _FORTRAN.sub("", body).strip() or not np.isfinite(values).all():
        faults += _strangers(lines, first)
    return values


def _strangers(lines: Sequence[str], first: int) -> Iterator[str]:
    for number, line in enumerate(lines, first):
        for match in _FORTRAN.finditer(line):
            if not math.isfinite(fortran_number(match[0])):
                yield f"line {number}, column {match.start() + 1}: {match[0][:40]!r} is no finite number"
        rest = _FORTRAN.sub(lambda match: " " * len(match[0]), line)
        for word in re.finditer(r"\S+", rest):
            yield f"line {number}, column {word.start() + 1}: {word[0][:40]!r} is no number"


def fixed_numbers(
    lines: Sequence[str], first: int, count: int, width: int, faults: list[str]
) -> NDArray[np.float64]:
    """Return numbers in columns of a fixed width, which may touch; count of them, or as many as there are.

    Parameters
    ----------
    lines, first, faults
        As for `free_numbers`.
    count
        How many are expected.
    width
        Characters of each.

    Examples
    --------
    >>> fixed_numbers(["   1.5-100.", "  -3.0"], 1, 3, 6, []).tolist()
    [1.5, -100.0, -3.0]
    """
    values: list[float] = []
    for number, line in enumerate(lines, first):
        text = line.rstrip()
        for start in range(0, len(text), width):
            cell = text[start : start + width].strip()
            if len(values) == count:
                break
            match = _FORTRAN.fullmatch(cell)
            value = fortran_number(cell) if match else math.nan
            if not math.isfinite(value):
                what = "finite number" if match else "number"
                faults.append(f"line {number}, column {start + 1}: {cell[:40]!r} is no {what}")
            values.append(value)
    return np.array(values, dtype=np.float64)


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
