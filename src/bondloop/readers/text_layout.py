"""Where in a text file the names, the units and the numbers stand."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.containers import expect_file
from bondloop.errors import InputError
from bondloop.readers.sampling import is_time_name
from bondloop.readers.text_cells import (
    ADVICE,
    cells_of,
    clock_in,
    day_in,
    grouped,
    heading,
    normalised_unit,
    number_in,
    separator_in,
    sign_faults,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TEXT_BYTES = 2**30
"""Bytes of a text file, at most."""

SAMPLE_LINES = 60
"""Lines that decide about the layout of a table."""

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def read_text(path: str | os.PathLike[str], *, strict: bool = True, most: float = TEXT_BYTES) -> str:
    """Return the text of a file, or say why there is none.

    Parameters
    ----------
    path
        Of the file: UTF-8 or UTF-16 with or without a mark, UTF-32 with one, or Windows-1252.
    strict
        Whether bytes that are no text are refused; otherwise they become question marks.
    most
        Bytes that it may have.
    """
    try:
        expect_file(Path(path), most)
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', '') or error}") from error
    return decoded(raw, str(path), strict=strict)


def decoded(raw: bytes, where: str, *, strict: bool = True) -> str:
    r"""Return bytes as text.

    Parameters
    ----------
    raw
        The bytes.
    where
        The file, for the message.
    strict
        As for `read_text`.

    Examples
    --------
    >>> decoded("Weg [µm]".encode("utf-16"), ""), decoded("Weg [µm]".encode("cp1252"), "")
    ('Weg [µm]', 'Weg [µm]')
    >>> decoded(b"\x89PNG\x00\x00", "a.csv")
    Traceback (most recent call last):
    bondloop.errors.InputError: a.csv is no text in UTF-8, UTF-16 or Windows-1252 ...
    """
    encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), "")
    head = raw[:400]
    if not encoding and len(head) > 3:
        # Without a mark, text of two bytes a character has a zero in every other one.
        odd, even = head[1::2].count(0) / len(head[1::2]), head[::2].count(0) / len(head[::2])
        encoding = "utf-16-le" if odd > 0.7 > even else "utf-16-be" if even > 0.7 > odd else ""
    for name in (encoding,) if encoding else ("utf-8", "cp1252"):
        try:
            text = raw.decode(name)
        except UnicodeDecodeError:
            continue
        if "\x00" not in text:
            return text
    if not strict:
        return raw.decode("utf-8-sig", errors="replace")
    zero = raw.find(b"\x00")
    found = f"byte {zero} is zero" if zero >= 0 and not encoding.startswith("utf-16") else "it is damaged"
    raise InputError(f"{where} is no text in UTF-8, UTF-16 or Windows-1252 ({found})")


NUMBERS, STAMPS, WORDS = "numbers", "stamps", "words"
"""What a column holds."""
_NAMES_TOO = ("in", "min")
"""Units of more than a letter that are names as often: in and out, min and max."""


@dataclass(frozen=True)
class Layout:
    """What stands where.

    Attributes
    ----------
    separator
        Of the columns; None for spaces.
    head
        Lines before the names, by index.
    names, units
        The lines of them, by index; None where there is no such line.
    rows
        The lines from the first row on, remarks and empty ones left out, by index.
    kinds
        What each column holds.
    doubt
        The line above the names, by index, if it may be the names, and they a line of units; else None.
    """

    separator: str | None
    head: tuple[int, ...]
    names: int | None
    units: int | None
    rows: Sequence[int]
    kinds: tuple[str, ...]
    doubt: int | None = None

    @property
    def needed(self) -> int:
        """How many cells a row must have: up to the last column of numbers or clock times."""
        return max((i + 1 for i, kind in enumerate(self.kinds) if kind != WORDS), default=0)


def is_remark(line: str) -> bool:
    """Whether a line is a remark.

    Parameters
    ----------
    line
        Of a text file.
    """
    return line.lstrip()[:1] in ("#", "%")


def find_layout(lines: Sequence[str]) -> Layout | None:
    r"""Find out where the names, units and numbers of a text stand; None where there are no rows of numbers.

    What most lines of the second half are like is a row. Above the first of them stand the units, if the line
    there consists of such, and the names; whatever comes before is the head. A line between them and the
    first row that holds numbers *and* words is a bad row, not the names of other columns.

    Parameters
    ----------
    lines
        Of the file.

    Examples
    --------
    >>> layout = find_layout("Rig: 7\nTime\tForce\nSec\tkN\n0\t1,5\n1\t2\n".split("\n"))
    >>> layout.names, layout.units, list(layout.rows), layout.separator
    (1, 2, [3, 4], '\t')
    """
    filled = [i for i, line in enumerate(lines) if line.strip() and not is_remark(line)]
    if not filled:
        return None
    half = filled[len(filled) // 2 :]
    sample = [lines[i] for i in half[:: max(1, len(half) // SAMPLE_LINES)]]
    separator = separator_in(sample)
    kinds = _kinds(sample, separator)
    if NUMBERS not in kinds:
        return None
    first = next((k for k, i in enumerate(filled) if _fits(lines[i], separator, kinds)), None)
    if first is None:
        return None
    # Upwards over bad rows, to what can be names; the very first line is names, if it holds a word at all.
    while first > 0 and _is_bad_row(lines[filled[first - 1]], separator, kinds):
        first -= 1
    if first == 0 and _is_bad_row(lines[filled[0]], separator, kinds) and len(filled) > 1:
        first += _can_be_names(lines[filled[0]], separator, kinds)
    return _with_names(lines, filled, first, separator, kinds)


def _with_names(
    lines: Sequence[str],
    filled: list[int],
    first: int,
    separator: str | None,
    kinds: tuple[str, ...],
) -> Layout:
    """Return the layout, the line above the first row being units, names, or neither."""
    names: int | None = None
    units: int | None = None
    doubt: int | None = None
    above = first - 1
    if above >= 0 and _can_be_names(lines[filled[above]], separator, kinds):
        names = filled[above]
        higher = lines[filled[above - 1]] if above >= 1 else ""
        if _can_be_names(higher, separator, kinds) and not _is_units(higher, separator):
            are_units, in_doubt = _under_names(lines[names], higher, separator, len(kinds))
            if are_units or _is_units(lines[names], separator):
                names, units = filled[above - 1], names
            elif in_doubt:
                doubt = filled[above - 1]
    elif filled[first] > 0:
        names = _remark_with_names(lines, filled[first], separator, kinds)
    start = filled[first] if names is None else names
    head = tuple(i for i in range(min(start, filled[first])) if lines[i].strip())
    return Layout(separator, head, names, units, filled[first:], kinds, doubt)


def _kinds(sample: Sequence[str], separator: str | None) -> tuple[str, ...]:
    """Return what each column holds, by what most of its cells are."""
    rows = [cells_of(line, separator) for line in sample]
    usual = Counter(len(trimmed(row)) for row in rows).most_common(1)[0][0]
    kinds = []
    for column in range(usual):
        cells = [row[column] for row in rows if column < len(row) and row[column]]
        numbers = sum(_numeric(cell, separator) for cell in cells)
        stamps = sum(clock_in(cell) is not None for cell in cells)
        if stamps > len(cells) / 2:
            kinds.append(STAMPS)
        else:
            kinds.append(NUMBERS if 2 * numbers >= len(cells) else WORDS)
    return tuple(kinds)


def _numeric(cell: str, separator: str | None) -> bool:
    """Whether a cell holds a number, be it one with signs between thousands, which is refused later."""
    return number_in(cell, separator) is not None or grouped(cell)


def trimmed(cells: list[str]) -> list[str]:
    """Return cells without an empty one after the last separator.

    Parameters
    ----------
    cells
        Of a line.
    """
    return cells[:-1] if len(cells) > 1 and not cells[-1] else cells


def _matches(line: str, separator: str | None, kinds: Sequence[str]) -> tuple[int, int, int]:
    """Return how many columns have what they should, something else, and how many are missing."""
    cells = cells_of(line, separator)
    good = bad = 0
    for cell, kind in zip(cells, kinds, strict=False):
        if cell and kind != WORDS:
            right = _numeric(cell, separator) if kind == NUMBERS else clock_in(cell) is not None
            good, bad = good + right, bad + (not right)
    return good, bad, max(0, len(kinds) - len(cells))


def _fits(line: str, separator: str | None, kinds: Sequence[str]) -> bool:
    good, bad, missing = _matches(line, separator, kinds)
    return bool(good) and not bad and (not missing or kinds[-missing:] == (WORDS,) * missing)


def _is_bad_row(line: str, separator: str | None, kinds: Sequence[str]) -> bool:
    good, bad, missing = _matches(line, separator, kinds)
    return bool(good and (bad or missing)) and len(kinds) > 1 and len(cells_of(line, separator)) > 1


def _can_be_names(line: str, separator: str | None, kinds: Sequence[str]) -> bool:
    cells = names_in(line, separator, len(kinds))
    last = max(i for i, kind in enumerate(kinds) if kind == NUMBERS)
    return len(cells) > last and any(number_in(cell, separator) is None for cell in cells)


def names_in(line: str, separator: str | None, width: int) -> list[str]:
    """Return the names in a line; where spaces part columns, those with spaces in them as well as can be.

    Parameters
    ----------
    line, separator
        As for `cells_of`.
    width
        How many columns there are.
    """
    line = line.lstrip("#% \t") if is_remark(line) else line
    if separator is None:
        ways = (line.split(), re.split(r"\s+(?![\[(])", line.strip()), re.split(r"\s{2,}|\t", line.strip()))
        parted = next((way for way in ways if len(way) == width), None)
        other = next((s for s in ";\t," if s in line and len(line.split(s)) == width), None)
        if parted is None and other:
            return [cell.strip() for cell in line.split(other)]
        return list(ways[0] if parted is None else parted)
    cells = cells_of(line, separator)
    return trimmed(cells) if len(cells) > width else cells


def _is_units(line: str, separator: str | None) -> bool:
    cells = [cell.strip("[]() ") for cell in cells_of(line, separator) if cell]
    if any(is_time_name(cell) and normalised_unit(cell) is None for cell in cells):
        return False  # T1 and T2 can be tesla, but not beside a column called time
    known = sum(normalised_unit(cell) is not None or cell.lower() in {"date", "text", ""} for cell in cells)
    return bool(cells) and 2 * known > len(cells)


def _under_names(line: str, higher: str, separator: str | None, width: int) -> tuple[bool, bool]:
    """Return whether a line of units, few of which are known, stands under names; and whether it may.

    A unit of a single letter is no proof, F is a force too; nor is a sentence of as many words a line of
    names. A column called time is.
    """
    names, cells = names_in(higher, separator, width), names_in(line, separator, width)
    if len(names) != width or len(cells) != width or re.search(r"[:=]", higher):
        return False, False
    if not all(any(sign.isalpha() for sign in name) for name in names):
        return False, False
    texts = [cell.strip("[]() ") for cell in cells]
    if any(heading(cell)[1] for cell in cells) or any(
        is_time_name(text) and normalised_unit(text) is None for text in texts
    ):
        return False, False  # names themselves
    known = [text for text in texts if text and normalised_unit(text)]
    has_time = any(is_time_name(heading(name)[0]) for name in names)
    proof = any((len(t) > 1 or t == "s") and t.lower() not in _NAMES_TOO for t in known)
    sure = bool(known) and (has_time or (proof and separator is not None))
    return sure, bool(known) or has_time


def _remark_with_names(
    lines: Sequence[str], first: int, separator: str | None, kinds: Sequence[str]
) -> int | None:
    """Return the remark right above the first row, if it has a word for each column."""
    above = next((i for i in range(first - 1, -1, -1) if lines[i].strip()), None)
    if above is None or not is_remark(lines[above]):
        return None
    cells = names_in(lines[above], separator, len(kinds))
    return above if len(cells) == len(kinds) and not any(c == "" for c in cells) else None


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
        Whether words after the last column, empty cells, NaN and what is beyond all numbers are faults.
    """
    places = [place for place, kind in enumerate(layout.kinds) if kind == NUMBERS]
    quick = _quick(lines, layout, places) if places and layout.rows else None
    if quick is not None and (not exact or np.isfinite(quick).all()):
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
            value = number_in(cell, layout.separator) if cell or exact else math.nan
            if value is None or (exact and not math.isfinite(value)):
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
    further = count > width and not free and (exact or any(_empty_or_number(c) for c in cells[width:]))
    if count < layout.needed or further:
        return f"{count} column{'s' * (count != 1)}; {layout.needed if free else width} expected"
    return ""


def _empty_or_number(cell: str) -> bool:
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
