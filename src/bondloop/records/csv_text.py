"""Records as tables of text: ``time [s],m3.v.flow [m/s],...``."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.measurements.faults import refuse
from bondloop.measurements.headings import heading
from bondloop.measurements.text_cells import number_in
from bondloop.measurements.text_table import read_table
from bondloop.records.old_names import meanings_from_names
from bondloop.records.replacing import replacing
from bondloop.units import quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.records.record import Record

__all__ = ["named_columns", "read_csv", "write_csv"]

CELLS = 2**16
"""Numbers that are written at once."""


def write_csv(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record as CSV; numbers are the shortest that read back to the same float64."""
    header = ["time [s]", *(_heading(name, record.units[name]) for name in record.channels)]
    columns = [record.time, *record.channels.values()]
    step = max(1, CELLS // len(columns))
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerow(header)
        for first in range(0, len(record), step):
            rows = np.column_stack([values[first : first + step] for values in columns]).tolist()
            # A list of lists writes itself, [[0.0, 1.5], [0.1, 2.0]], in one go: csv.writer would look at
            # each number for what it might have to quote. What is left is the way from a float to its digits.
            file.write(str(rows)[2:-2].replace("], [", "\n").replace(", ", ",") + "\n")


def read_csv(path: str | os.PathLike[str]) -> Record:
    """Read a table: a header of ``name [unit]``, time in the first column; commas, semicolons or tabs.

    An empty cell is NaN, a line that begins with ``#`` or ``%`` a comment. A time in another unit
    (``time [ms]``) is converted to seconds. Every line that cannot be read is reported.
    """
    from bondloop.records.record import Record

    names, units, table = named_columns(path)
    try:
        factor = quantity(f"1 {units[0]}") if units[0] else 1.0
        time = table[0] if factor == 1.0 else table[0] * factor
        channels = dict(zip(names[1:], table[1:], strict=True))
        given = dict(zip(names[1:], units[1:], strict=True))
        meanings = meanings_from_names(given)
        return Record(time, channels, given, attributes={"source": str(path)}, meanings=meanings)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def named_columns(path: str | os.PathLike[str]) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Return names, units and numbers of a table with a header, one row of the array a column of the file."""
    table = read_table(path, names=True)
    names, units = _header(table.names, str(path))
    return names, units, table.numbers


def _heading(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit or heading(name) != (name, "") else name


def _header(cells: Sequence[str], path: str) -> tuple[list[str], list[str]]:
    names, units, faults = [], [], []
    for number, cell in enumerate(cells, 1):
        name, unit = heading(cell)
        names.append(name)
        units.append(unit)
        if not names[-1]:
            faults.append(f"column {number} has no name")
        elif names[-1] in names[1:-1]:
            faults.append(f"the name '{names[-1]}' stands twice in the header")
    if all(number_in(cell, None) is not None for cell in cells):
        faults = ["the first line holds numbers; a header such as 'time [s],x [m]' was expected"]
    refuse(path, faults)
    return names, units
