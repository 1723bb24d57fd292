"""Measurements and plain tables of numbers in text files of all layouts."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.readers.measured import Measurements, refuse
from bondloop.readers.sampling import stated
from bondloop.readers.text_cells import cells_of, heading, number_in, separator_in, unit_or_text
from bondloop.readers.text_layout import (
    NUMBERS,
    STAMPS,
    WORDS,
    Layout,
    find_layout,
    is_remark,
    names_in,
    numbers_of,
    read_text,
    stamps_of,
    trimmed,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

HEADING_LINES = 400
"""Lines of a head in which something is looked for."""


@dataclass(frozen=True, eq=False)
class TextTable:
    """The numbers of a text file.

    Attributes
    ----------
    names
        Of the columns, as the header has them; none where there is no header.
    numbers
        One row of the array for each column of the file.
    remarks
        Comments, which begin with ``#`` or ``%``; without a header, all that stands before the first numbers.
    """

    names: tuple[str, ...]
    numbers: NDArray[np.float64]
    remarks: tuple[str, ...]


def read_table(
    path: str | os.PathLike[str], *, header: bool, width: int | None = None, most: float = math.inf
) -> TextTable:
    r"""Read a table of finite numbers. Every line that does not fit is reported, with its number.

    A comma that does not part columns is a decimal one, one that may stand between thousands is refused;
    Fortran's ``1D-3`` is read everywhere; a separator at the end of a line is none.

    Parameters
    ----------
    path
        Of the file.
    header
        Whether the first line names the columns if no cell of it is a number. Without, whatever stands before
        the first row of numbers is a remark.
    width
        How many columns are expected; unless given, as many as the first line has.
    most
        Bytes that the file may have.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "push.csv"
    >>> _ = file.write_text("time [s];x [mm]\n0;1,5\n0,1;2\n")
    >>> table = read_table(file, header=True)
    >>> table.names, table.numbers.tolist()
    (('time [s]', 'x [mm]'), [[0.0, 0.1], [1.5, 2.0]])
    >>> _ = file.write_text("0 1\n1 x\n2\n")
    >>> read_table(file, header=False)
    Traceback (most recent call last):
    bondloop.errors.InputError: ...push.csv: 2 faults: line 2, column 2: 'x' is no number; line 3: ...
    """
    lines = read_text(path, strict=False, most=most).splitlines()
    names, separator, rows = _parts(lines, header)
    if width is None:
        width = len(names) or (len(trimmed(cells_of(lines[rows[0]], separator))) if rows else 0)
    faults: list[str] = []
    layout = Layout(separator, (), None, None, rows, (NUMBERS,) * width)
    columns = numbers_of(lines, layout, (), faults, exact=True)
    refuse(str(path), faults)
    before = 0 if header else rows[0] if rows else len(lines)
    said = (line.strip() for i, line in enumerate(lines) if i < before or is_remark(line))
    numbers = np.array([*columns.values()]).reshape(width, len(rows))
    return TextTable(tuple(names), numbers, tuple(filter(None, said)))


def _parts(lines: Sequence[str], header: bool) -> tuple[list[str], str | None, list[int]]:
    """Return the names of the columns, what parts them, and which lines are rows, by index."""
    filled = [i for i, line in enumerate(lines) if line.strip() and not is_remark(line)]
    if not header:
        first = next((k for k, i in enumerate(filled) if _is_row(lines[i])), len(filled))
        rows = filled[first:]
        return [], separator_in([lines[rows[0]]]) if rows else None, rows
    if not filled:
        return [], None, []
    line = lines[filled[0]]
    names, separator = _header(line, lines[filled[1]] if len(filled) > 1 else line)
    if all(number_in(cell, separator) is None for cell in names):
        return names, separator, filled[1:]
    return [], separator_in([line]), filled


def _header(line: str, row: str) -> tuple[list[str], str | None]:
    """Return the cells of a line of names, and what parts them and the cells of the row under it."""
    bare = re.sub(r'"[^"]*"', "", line)
    signs = sorted((sign for sign in ";\t," if sign in bare), key=bare.count, reverse=True)
    if signs:
        separator = separator_in([row], signs)
        return trimmed(cells_of(line, separator)), separator
    width = len(row.split())
    return (names_in(line, None, width), None) if width > 1 else ([line.strip().strip('"')], ",")


def _is_row(line: str) -> bool:
    separator = separator_in([line])
    return all(number_in(cell, separator) is not None for cell in trimmed(cells_of(line, separator)))


_SAID = re.compile(r"\s*([^:=\t;,]{1,80}?)\s*[:=\t;,]\s*(\S.*?)[\s;,]*")
_KEPT = ((NUMBERS,), (STAMPS,))
_COUNTS = ("sample_count", "samples", "number_of_samples", "npts", "points")


def from_lines(lines: Sequence[str], where: str, *, nameless: bool = False) -> Measurements:
    r"""Return columns of numbers: a head of any lines, names, perhaps units, rows.

    Columns are parted by tabs, semicolons, commas or spaces, as most rows are; a comma that does not part
    columns is a decimal one. Lines that begin with ``#`` or ``%`` are remarks. Units stand in the names
    (``Force [kN]``, ``Force (kN)``, ``Force / kN``) or in a line under them. Columns of words are left out,
    one of clock times is kept as the clock. Every cell that does not fit is told, all at once.

    Parameters
    ----------
    lines
        Of the file.
    where
        The file, for messages.
    nameless
        Whether columns without names are good; they are then called ``column 0``, ``column 1``, ...

    Examples
    --------
    >>> lines = ["Sampling Rate: 50", "Command (mm)\tForce (kN)", "0,5\t1,25", "0,7\t1,5"]
    >>> found = from_lines(lines, "rig.txt")
    >>> found.units, found.channels["Force"].tolist(), found.numbers
    ({'Command': 'mm', 'Force': 'kN'}, [1.25, 1.5], {'sampling_rate': 50.0})
    """
    layout = find_layout(lines)
    if layout is None:
        return _without_rows(lines, where)
    found = Measurements(where, _kind(lines, layout))
    faults: list[str] = []
    layout = _joined(lines, layout, found)
    names, units = _headings(lines, layout, faults, nameless)
    columns = numbers_of(lines, layout, names, faults)
    refuse(where, faults)
    for place, values in columns.items():
        found.channels[names[place]], found.units[names[place]] = values, units[place]
    words = [n for place, n in enumerate(names) if n and layout.kinds[place : place + 1] not in _KEPT]
    found.clock = stamps_of(lines, layout)
    found.lines = [index + 1 for index in layout.rows]
    if words:
        found.notes.append(f"columns without numbers were left out: {', '.join(words)[:200]}")
    if layout.names is not None and layout.doubt is not None:
        found.notes.append(
            f"line {layout.names + 1} was taken for the names ({lines[layout.names].strip()[:40]!r}): if "
            f"they are units, and line {layout.doubt + 1} holds the names, spell them as kN, mm or s"
        )
    _head(lines, layout, found, len(layout.rows))
    return found


def _without_rows(lines: Sequence[str], where: str) -> Measurements:
    """Return what a header alone says; refuse what has not even that."""
    filled = [line for line in lines if line.strip() and not is_remark(line)]
    if not filled:
        raise InputError(f"{where} is empty; a header line with names was expected, and rows of numbers")
    if len(filled) > 1:
        raise InputError(
            f"{where}: no rows of numbers in it; the last line is {filled[-1].strip()[:60]!r}; expected "
            "columns parted by tabs, semicolons, commas or spaces"
        )
    separator = max(";\t,", key=filled[0].count)
    found = Measurements(where, "text without rows")
    for cell in cells_of(filled[0], separator):
        name, unit = heading(cell)
        if name:
            found.channels[name], found.units[name] = np.zeros(0), unit
    return found


def _kind(lines: Sequence[str], layout: Layout) -> str:
    words = {";": "semicolons", "\t": "tabs", ",": "commas", None: "spaces"}
    maker = "MTS text" if lines[0].lstrip("\ufeff").startswith("MTS") else "text"
    return f"{maker}, columns parted by {words[layout.separator]}"


def _joined(lines: Sequence[str], layout: Layout, found: Measurements) -> Layout:
    """Return the layout without the heads of later blocks, which begin with the same names again."""
    if layout.names is None:
        return layout
    again = lines[layout.names].strip()
    rows = list(layout.rows)
    repeats = [k for k, index in enumerate(rows) if lines[index].strip() == again]
    if not repeats:
        return layout
    gone = set(repeats)
    words = {_first_word(lines[i]) for i in layout.head} - {""}
    for k in repeats:
        if layout.units is not None and k + 1 < len(rows):
            same = lines[rows[k + 1]].strip() == lines[layout.units].strip()
            gone |= {k + 1} if same else set()
        above = k - 1
        while above >= 0 and _first_word(lines[rows[above]]) in words:
            gone.add(above)
            above -= 1
    found.notes.append(f"{len(repeats) + 1} blocks with the same names were joined")
    return replace(layout, rows=[index for k, index in enumerate(rows) if k not in gone])


def _first_word(line: str) -> str:
    """Return what a line of a head begins with, up to a sign or a number."""
    return re.split(r"[:=\t;,\d]", line.strip(), maxsplit=1)[0].strip()


def _headings(
    lines: Sequence[str], layout: Layout, faults: list[str], nameless: bool
) -> tuple[list[str], list[str]]:
    """Return name and unit of each column."""
    width = len(layout.kinds)
    if layout.names is None:
        if nameless:
            faults += filter(None, [_misfit(lines, layout) or _whole_or_decimal(lines, layout)])
        else:
            index = layout.rows[0]
            where = "the first line" if index == 0 else f"line {index + 1}, the first with numbers,"
            faults.append(
                _decimal_commas(lines, layout)
                or f"{where} holds numbers and no line above names the columns; a header such as "
                "'time [s],x [m]' was expected"
            )
        return [f"column {number}" for number in range(width)], [""] * width
    cells = names_in(lines[layout.names], layout.separator, width)
    cells += [""] * (width - len(cells))
    names, units = (list(part) for part in zip(*map(heading, cells), strict=True))
    if is_remark(lines[layout.names]) and any(" " in n and not u for n, u in zip(names, units, strict=True)):
        # A sentence with a comma is no proof of two columns.
        faults += filter(None, [_whole_or_decimal(lines, layout)])
    if layout.units is not None:
        for place, cell in enumerate(cells_of(lines[layout.units], layout.separator)[: len(units)]):
            units[place] = units[place] or unit_or_text(cell.strip("[]() "))
    for place, kind in enumerate(layout.kinds):
        if kind == NUMBERS and not names[place]:
            faults.append(f"line {layout.names + 1}, column {place + 1}: no name")
        elif kind == NUMBERS and names[place] in names[:place]:
            faults.append(
                f"line {layout.names + 1}, column {place + 1}: the name '{names[place]}' stands twice in the "
                "header; give every column its own"
            )
    return names, units


def _misfit(lines: Sequence[str], layout: Layout) -> str:
    """Return what is wrong where the line above the rows seems to name other columns than are there."""
    first, width = layout.rows[0], len(layout.kinds)
    above = next((i for i in range(first - 1, -1, -1) if lines[i].strip()), None)
    if above is None or is_remark(lines[above]):
        return ""
    names, row = lines[above].strip(), lines[first].strip()
    if re.search(r"[:=]", names) or not any(sign.isalpha() for sign in names):
        return ""  # a statement of the head, or numbers of it
    if "." not in row and (words := _decimal_commas(lines, layout)):
        return words
    count = len(names_in(names, layout.separator, width))
    return (
        f"line {above + 1} has {count} name{'s' * (count != 1)} ({names[:40]!r}), but line {first + 1} has "
        f"{width} columns ({row[:40]!r}): give each its name, or begin line {above + 1} with # if it has none"
    )


def _whole_or_decimal(lines: Sequence[str], layout: Layout) -> str:
    """Return what to do where nobody can tell commas between whole numbers from decimal ones."""
    width = len(layout.kinds)
    if layout.separator != "," or width % 2:
        return ""
    either = re.compile(",".join([r"\s*[-+]?\d+,\d+\s*"] * (width // 2)), re.ASCII)
    if not all(either.fullmatch(lines[index]) for index in layout.rows):
        return ""
    first = layout.rows[0]
    halves = "one" if width == 2 else f"{width // 2}"
    return (
        f"line {first + 1} is {lines[first].strip()[:40]!r}, and so are all others: {width} columns of whole "
        f"numbers, or {halves} with decimal commas? Write a line of names above them, such as 'time,force', "
        "or decimal points"
    )


def _decimal_commas(lines: Sequence[str], layout: Layout) -> str:
    """Return what to do where commas seem to be decimal ones and to part columns; empty where they do not."""
    first = layout.rows[0]
    above = next((i for i in range(first - 1, -1, -1) if lines[i].strip()), None)
    if layout.separator != "," or above is None:
        return ""
    names, row, width = lines[above].strip(), lines[first].strip(), len(layout.kinds)
    advice = "save it again with semicolons or tabs between the columns, or with decimal points"
    other = next((s for s in ";\t" if s in names), "")
    if other:
        return (
            f"line {above + 1} has a {'semicolon' if other == ';' else 'tab'} between names "
            f"({names[:40]!r}), but line {first + 1} has only commas ({row[:40]!r}): "
            f"if they are decimal ones, a column is missing; {advice}"
        )
    count = len(cells_of(names, ","))
    if count == 1 and re.search(r"[:=]", names):  # a statement of the head, no name
        return ""
    if count < width <= 2 * count:
        return (
            f"line {above + 1} has {count} name{'s' * (count != 1)}, but line {first + 1} has {width} "
            f"numbers between commas ({row[:40]!r}): are some of them decimal commas? Nobody can tell which; "
            f"{advice}"
        )
    return ""


def _head(lines: Sequence[str], layout: Layout, found: Measurements, rows: int) -> None:
    """Note what the lines above the names say."""
    for index in layout.head[:HEADING_LINES]:
        match = _SAID.fullmatch(lines[index].lstrip("#% "))
        if match is None:
            continue
        key, value = heading(match[1])[0], match[2]
        found.texts[key] = value[:400]
        try:
            number = stated(match[1], value)
        except InputError as error:
            found.notes.append(f"line {index + 1} was not used: {error}")
            continue
        if number is not None:
            found.numbers[number[0]] = number[1]
    for word in _COUNTS:
        count = found.numbers.get(word)
        if count is not None and count != rows:
            found.notes.append(f"its head says {count:,.0f} samples; {rows:,} are there")


FIRST = "LabVIEW Measurement"
"""What every such file begins with."""
_END = "***End_of_Header***"
_TIME = "X_Value"


@dataclass
class _Segment:
    """Samples that were written at once."""

    columns: dict[str, Array] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    time: Array | None = None


def from_lvm(lines: Sequence[str], where: str) -> Measurements:
    """Return the measurements in the lines of an LVM file.

    Segments with the same channels and units are joined where their times follow one another; otherwise the
    longest is kept, which is noted.

    Parameters
    ----------
    lines
        Of the file.
    where
        The file, for messages.
    """
    ends = [i for i, line in enumerate(lines) if line.strip().startswith(_END)]
    about = {}
    for line in lines[1 : ends[0] if ends else 0]:
        key, *values = line.split("\t") if "\t" in line else re.split(r"[,;]", line, maxsplit=1)
        about[key.strip()] = values[0].strip() if values else ""
    separator = "," if about.get("Separator", "Tab").lower() == "comma" else "\t"
    if len(ends) < 2:
        raise InputError(
            f"{where}: an LVM file with {len(ends)} of the two lines '{_END}' that were expected: a head for "
            "the file and one for its channels; it is cut short, or was saved without headers"
        )
    faults: list[str] = []
    stops = [_segment_start(lines, end) for end in ends[2:]] + [len(lines)]
    segments = [
        _segment(lines, start, end, stop, separator, faults)
        for start, end, stop in zip([ends[0] + 1, *stops], ends[1:], stops, strict=False)
    ]
    refuse(where, faults)
    found = Measurements(
        where, f"LabVIEW measurement (LVM), {len(segments)} segment" + "s" * (len(segments) > 1)
    )
    found.texts.update({key: value for key, value in about.items() if value})
    _keep(segments, found)
    return found


def _segment_start(lines: Sequence[str], end: int) -> int:
    """Return where the head begins that ends at a line: at the word Channels above it."""
    return next((i for i in range(end, -1, -1) if lines[i].startswith("Channels")), end)


def _segment(
    lines: Sequence[str], start: int, end: int, stop: int, separator: str, faults: list[str]
) -> _Segment:
    """Read one segment: its head from start to end, its names in the line after, then rows."""
    head = {}
    for line in lines[start:end]:
        key, *cells = cells_of(line, separator)
        head[key] = cells
    rows = [i for i in range(end + 1, stop) if lines[i].strip()]
    if not rows:
        faults.append(f"line {end + 1}: no names of channels after it")
        return _Segment()
    names = cells_of(lines[rows[0]], separator)
    rows = rows[1:]
    if names and names[-1] in ("", "Comment"):
        names = names[:-1]
    stamped = any(cells_of(lines[i], separator)[0] for i in rows[:5])
    kinds = (*(WORDS if name == _TIME and not stamped else NUMBERS for name in names), WORDS)
    signals = [place for place, name in enumerate(names) if name != _TIME]
    called = [heading(name)[0] for name in names]
    if len({called[place] for place in signals}) < len(signals) or not signals:
        faults.append(f"line {end + 2}: names that are not all different: {', '.join(names)[:200]}")
        return _Segment()
    numbers = numbers_of(lines, Layout(separator, (), end + 1, None, rows, kinds), names, faults)
    # What the head says of a channel stands in its own column; the first one has the words.
    labels = ["", *head.get("Y_Unit_Label", []), *[""] * len(names)]
    segment = _Segment()
    for place in signals:
        unit = labels[place] or heading(names[place])[1]
        segment.columns[called[place]] = numbers.get(place, np.zeros(0))
        segment.units[called[place]] = unit_or_text(unit)
    times = [numbers[place] for place in numbers if names[place] == _TIME]
    if times and np.isfinite(times[0]).any():
        if any(not np.array_equal(other, times[0]) for other in times[1:]):
            faults.append(f"line {end + 2}: channels with different times; export them at one rate")
        segment.time = times[0]
    else:
        segment.time = _from_head(head, len(rows))
    faults += _no_time(head, end, columns=len(times))
    return segment


def _no_time(head: dict[str, list[str]], end: int, columns: int) -> list[str]:
    """Return why what the channels are over is no time, or, without a column of it each, not one for all."""
    over = {word for word in head.get("X_Dimension", []) if word and word.lower() != "time"}
    if over:
        return [f"line {end + 1}: the channels are over {', '.join(sorted(over))[:60]}, not over time"]
    starts = {number_in(cell, None) for cell in head.get("X0", []) if cell}
    if columns < 2 and len(starts) > 1:
        shown = ", ".join(f"{x:g} s" for x in sorted(x for x in starts if x is not None))
        return [
            f"line {end + 1}: channels that begin at different times, {shown[:80]}; export them one by one"
        ]
    return []


def _from_head(head: dict[str, list[str]], rows: int) -> Array | None:
    """Return the times that first time and step of the head tell."""
    steps = {number_in(cell, None) for cell in head.get("Delta_X", []) if cell}
    starts = [number_in(cell, None) for cell in head.get("X0", []) if cell]
    if len(steps) != 1 or None in steps:
        return None
    step, first = steps.pop(), next((x for x in starts if x is not None), 0.0)
    return None if not step or step <= 0 else first + step * np.arange(float(rows))


def _keep(segments: Sequence[_Segment], found: Measurements) -> None:
    """Join segments, or keep the longest."""
    chosen = max(segments, key=lambda s: len(next(iter(s.columns.values()), ())))
    times = [
        s.time for s in segments if s.time is not None and list(s.units.items()) == list(chosen.units.items())
    ]
    if len(segments) > 1 and len(times) == len(segments) and (np.diff(np.concatenate(times)) > 0).all():
        columns = {name: np.concatenate([s.columns[name] for s in segments]) for name in chosen.columns}
        chosen = _Segment(columns, chosen.units, np.concatenate(times))
    elif len(segments) > 1:
        found.notes.append(
            f"only the longest of {len(segments)} segments is read: they have other channels or units, or "
            "times that do not follow one another"
        )
    if chosen.time is not None:
        found.channels["time"], found.units["time"] = chosen.time, "s"
    for name, values in chosen.columns.items():
        found.channels[name], found.units[name] = values, chosen.units[name]
