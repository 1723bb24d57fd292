"""The numbers in the rows of a text file; every cell that does not fit is told by line and column."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.measurements.text_cells import cells_of, clock_in, day_in, number_in
from bondloop.measurements.text_layout import NUMBERS, STAMPS, WORDS, Layout
from bondloop.measurements.thousands import ADVICE, grouped, sign_faults

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["numbers_of", "stamps_of"]

_DECIMAL = re.compile(r",(?!\d{3}(?!\d))")
"""A comma that cannot be one between thousands."""
_LOOSE = re.compile(r",(?!\d)")
"""A comma that is no decimal one."""
_PLAIN = re.compile(r"[-+]?[\d.,]+")


def numbers_of(
    lines: Sequence[str],
    layout: Layout,
    names: Sequence[str],
    faults: list[str],
    *,
    exact: bool = False,
    finite: bool = False,
) -> dict[int, Array]:
    """Return the columns of numbers by their place; an empty cell is NaN.

    Parameters
    ----------
    lines
        Of the file.
    layout
        What stands where.
    names
        Of the columns, for the messages; none where they have none.
    faults
        To which is added what is wrong.
    exact
        Whether words after the last column are faults.
    finite
        Whether empty cells, NaN and what is beyond all numbers are faults.
    """
    places = [place for place, kind in enumerate(layout.kinds) if kind == NUMBERS]
    quick = _quick(lines, layout, places) if places and layout.rows else None
    if quick is not None and (not finite or np.isfinite(quick).all()):
        return dict(zip(places, quick, strict=True))
    table = np.full((len(places), len(layout.rows)), math.nan)
    plain: list[tuple[int, int, str]] = []
    for number, index in enumerate(layout.rows):
        cells = cells_of(lines[index], layout.separator)
        fault = _width_fault(cells, layout, exact)
        if fault:
            faults.append(f"line {index + 1}: {fault}")
            continue
        for row, place in enumerate(places):
            cell = cells[place]
            value = number_in(cell, layout.separator) if cell or finite else math.nan
            if value is None or (finite and not math.isfinite(value)):
                called = f" ({names[place]})" if place < len(names) and names[place] else ""
                hint = f": {ADVICE}" if grouped(cell) else ""
                kind = "number" if value is None else "finite number"
                faults.append(
                    f"line {index + 1}, column {place + 1}{called}: {cell[:40]!r} is no {kind}{hint}"
                )
            else:
                table[row, number] = value
                if layout.separator != "," and _PLAIN.fullmatch(cell):
                    plain.append((index, place, cell))
    faults += sign_faults(plain, names)
    return dict(zip(places, table, strict=True))


def _width_fault(cells: Sequence[str], layout: Layout, exact: bool) -> str:
    """Return what is wrong with the number of cells of a row; words at its end are nobody's business."""
    count, width = len(cells), len(layout.kinds)
    free = layout.needed < width
    if count == width + 1 and not cells[-1]:
        count = width
    further = count > width and not free and (exact or any(_numeric(c) for c in cells[width:]))
    if count < layout.needed or further:
        return f"{count} column{'s' * (count != 1)}; {layout.needed if free else width} expected"
    return ""


def _numeric(cell: str) -> bool:
    return not cell or number_in(cell, None) is not None


def _quick(lines: Sequence[str], layout: Layout, places: Sequence[int]) -> Array | None:
    """Return the numbers by NumPy's parser, at its speed; None where something is not as it should be."""
    text = [lines[index] for index in layout.rows]
    separator, width = layout.separator, len(layout.kinds)
    if separator != "," and any("," in line for line in text):
        if any("." in line or _LOOSE.search(line) for line in text) or not any(map(_DECIMAL.search, text)):
            return None  # two kinds of signs, or one that may be between thousands: each is looked at
        text = [line.replace(",", ".") for line in text]
    alone = all(kind == NUMBERS for kind in layout.kinds)
    if not alone and separator is not None:
        counts = np.array([line.count(separator) for line in text]) + 1
        if counts.min() < layout.needed or (WORDS not in layout.kinds and counts.max() > width):
            return None
    try:
        used = None if alone else list(places)  # with all columns named, rows of another length would pass
        quote = None if separator is None else '"'
        table = np.loadtxt(text, delimiter=separator, ndmin=2, comments=None, quotechar=quote, usecols=used)
    except (ValueError, OverflowError):
        return None
    if table.shape != (len(text), len(places)):
        return None
    return np.ascontiguousarray(table.T)


def stamps_of(lines: Sequence[str], layout: Layout) -> Array | None:
    """Return seconds since the first row by the first column of clock times; None where one cannot be read.

    Parameters
    ----------
    lines, layout
        As for `numbers_of`.
    """
    if STAMPS not in layout.kinds:
        return None
    place = layout.kinds.index(STAMPS)
    rows = (cells_of(lines[index], layout.separator) for index in layout.rows)
    stamps = [cells[place] if place < len(cells) else "" for cells in rows]
    times = [clock_in(stamp) for stamp in stamps]
    clock = np.array([math.nan if time is None else time for time in times])
    if not np.isfinite(clock).all():
        return None
    dates = [day for stamp in stamps if (day := day_in(stamp)) is not None]
    if dates and len(dates) == len(stamps):
        midnights = np.array([day - dates[0] for day in dates], dtype=np.float64)
    else:
        midnights = 86_400.0 * np.concatenate(([0.0], np.cumsum(np.diff(clock) < -43_200.0)))
    seconds: Array = np.round(clock + midnights - clock[0], 9)
    return seconds
