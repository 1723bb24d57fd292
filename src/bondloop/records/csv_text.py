"""Records as tables of text: ``time [s],m3.v.flow [m/s],...``."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.records.faults import refuse
from bondloop.records.old_names import meanings_from_names
from bondloop.records.replacing import replacing
from bondloop.units import quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.records.record import Record

__all__ = ["read_csv", "read_table", "write_csv"]

_UNIT = re.compile(r" \[([^\[\]]*)\]$")


def write_csv(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record as CSV; numbers are the shortest that read back to the same float64."""
    header = ["time [s]", *(_heading(name, record.units[name]) for name in record.channels)]
    columns = [record.time.tolist(), *(values.tolist() for values in record.channels.values())]
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(zip(*columns, strict=True))


def read_csv(path: str | os.PathLike[str]) -> Record:
    """Read a table: a header of ``name [unit]``, time in the first column; commas, semicolons or tabs.

    An empty cell is NaN. A time in another unit (``time [ms]``) is converted to seconds. Every line that
    cannot be read is reported.
    """
    from bondloop.records.record import Record

    names, units, table = read_table(path)
    try:
        factor = quantity(f"1 {units[0]}") if units[0] else 1.0
        time = table[0] if factor == 1.0 else table[0] * factor
        channels = dict(zip(names[1:], table[1:], strict=True))
        given = dict(zip(names[1:], units[1:], strict=True))
        meanings = meanings_from_names(given)
        return Record(time, channels, given, attributes={"source": str(path)}, meanings=meanings)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def read_table(path: str | os.PathLike[str]) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Return names, units and numbers of a table with a header, one row of the array a column of the file."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text in UTF-8 ({error})") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise InputError(f"{path} is empty; a header line with names was expected")
    header = lines[0][1]
    delimiter = max(",;\t", key=re.sub(r'"[^"]*"', "", header).count)
    names, units = _header(next(csv.reader([header], delimiter=delimiter)), str(path))
    return names, units, _table(lines[1:], delimiter, len(names), str(path))


def _heading(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit or _UNIT.search(name) else name


def _header(cells: list[str], path: str) -> tuple[list[str], list[str]]:
    names, units, faults = [], [], []
    for number, cell in enumerate(cells, 1):
        match = _UNIT.search(cell)
        names.append((cell[: match.start()] if match else cell).strip())
        units.append(match[1].strip() if match else "")
        if not names[-1]:
            faults.append(f"column {number} has no name")
        elif names[-1] in names[1:-1]:
            faults.append(f"the name '{names[-1]}' stands twice in the header")
    if all(_is_number(cell) for cell in cells):
        faults = ["the first line holds numbers; a header such as 'time [s],x [m]' was expected"]
    refuse(path, faults)
    return names, units


def _table(lines: list[tuple[int, str]], delimiter: str, width: int, path: str) -> NDArray[np.float64]:
    """Return the numbers, one row a column of the file."""
    if not lines:
        return np.empty((width, 0))
    try:  # the fast way takes only well-formed numbers
        table = np.loadtxt([line for _, line in lines], delimiter=delimiter, ndmin=2, comments=None)
        if table.shape[1] == width:
            return np.ascontiguousarray(table.T)
    except ValueError:
        pass
    faults, rows = [], []
    for number, line in lines:
        cells = next(csv.reader([line], delimiter=delimiter))
        if len(cells) != width:
            faults.append(f"line {number} has {len(cells)} cells; the header has {width}")
            continue
        bad = [cell for cell in cells if cell.strip() and not _is_number(cell)]
        if bad:
            faults.append(f"line {number}: {bad[0]!r} is no number")
            continue
        rows.append([float(cell) if cell.strip() else np.nan for cell in cells])
    refuse(path, faults)
    return np.ascontiguousarray(np.array(rows, dtype=np.float64).T)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
