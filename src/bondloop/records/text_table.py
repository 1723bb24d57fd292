"""Tables of numbers in text files: columns parted by commas, semicolons, tabs or spaces; faults by line."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.containers import expect_file
from bondloop.errors import InputError
from bondloop.measurements.faults import refuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TextTable", "is_number", "read_table", "read_text"]

_UNUSUAL = '#%"\v\f\x1c\x1d\x1e\x85\u2028\u2029'
"""Signs of remarks and quoted cells, and ends of lines that only Python takes for such."""

Lines = list[tuple[int, str]]
"""Lines with their numbers from 1."""


@dataclass(frozen=True, eq=False)
class TextTable:
    """The numbers of a text file.

    Attributes
    ----------
    names
        Of the columns, as the header has them; none where no header was asked for.
    numbers
        One row of the array for each column of the file.
    remarks
        Comments, which begin with ``#`` or ``%``; without a header, all that stands before the first numbers.
    """

    names: tuple[str, ...]
    numbers: NDArray[np.float64]
    remarks: tuple[str, ...]


def read_text(path: str | os.PathLike[str], *, strict: bool = True) -> str:
    """Return the text of a file in UTF-8, or say why there is none.

    Parameters
    ----------
    path
        Of the file.
    strict
        Whether bytes that are no UTF-8 are refused; otherwise they become question marks.
    """
    try:
        expect_file(Path(path))
        return Path(path).read_text(encoding="utf-8-sig", errors="strict" if strict else "replace")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text in UTF-8 ({error})") from error
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', '') or error}") from error


def read_table(path: str | os.PathLike[str], *, names: bool, width: int | None = None) -> TextTable:
    r"""Read a table. Every line that does not fit is reported, with its number.

    Decimal commas are read where semicolons part the columns, Fortran's ``1D-3`` everywhere; a separator at
    the end of a line is none.

    Parameters
    ----------
    path
        Of the file.
    names
        Whether the first line names the columns; then an empty cell is NaN. Without, cells must be finite
        numbers.
    width
        How many columns are expected; unless given, as many as the first line has.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "push.csv"
    >>> _ = file.write_text("time [s];x [mm]\n0;1,5\n0,1;2\n")
    >>> table = read_table(file, names=True)
    >>> table.names, table.numbers.tolist()
    (('time [s]', 'x [mm]'), [[0.0, 0.1], [1.5, 2.0]])
    >>> _ = file.write_text("0 1\n1 x\n2\n")
    >>> read_table(file, names=False)
    Traceback (most recent call last):
    bondloop.errors.InputError: ...push.csv: 2 faults: line 2, column 2: 'x' is no number; line 3: ...
    """
    lines: Lines = []
    remarks: Lines = []
    text = read_text(path, strict=names)
    plain = _plain_table(path, text) if names and width is None else None
    if plain is not None:
        return plain
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip()[:1] in ("#", "%"):
            remarks.append((number, line))
        elif line.strip():
            lines.append((number, line))
    if names:
        if not lines:
            raise InputError(f"{path} is empty; a header line with names was expected")
        header, separator = _header(lines, str(path))
        rows = lines[1:]
    else:
        header = []
        first = next((i for i, (_, line) in enumerate(lines) if _is_row(line)), len(lines))
        remarks = sorted([*remarks, *lines[:first]])
        rows = lines[first:]
        separator = _separator(rows[0][1]) if rows else None
    said = tuple(line.strip() for _, line in remarks)
    if width is None:
        width = len(header) if names or not rows else len(_trimmed(_cells(rows[0][1], separator)))
    return TextTable(tuple(header), _numbers(rows, separator, width, names, str(path)), said)


def _plain_table(path: str | os.PathLike[str], text: str) -> TextTable | None:
    """Read a table as programs write it: a header, then nothing but numbers; None for any other.

    Lines are not kept, let alone looked at one by one: a long record is read at the speed of NumPy's parser.
    """
    first, body = text.find("\n"), text.find("\n") + 1
    second = text.find("\n", body)
    head, row = text[: max(first, 0)].rstrip("\r"), text[body : second if second >= 0 else None].rstrip("\r")
    if not (head.strip() and row.strip()) or any(text.find(sign, body) >= 0 for sign in _UNUSUAL):
        return None
    if head.lstrip()[0] in "#%" or len(head.splitlines()) > 1:
        return None
    names, separator = _header([(1, head), (2, row)], str(path))
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            next(file)
            table = np.loadtxt(file, delimiter=separator, ndmin=2, comments=None)
    except (ValueError, OSError):
        return None
    return TextTable(tuple(names), table.T.copy(), ()) if table.shape[1] == len(names) else None


def _separator(line: str) -> str | None:
    """Return what parts the columns of a line of numbers; None for spaces."""
    return next((s for s in ";\t," if s in line), None)


def _header(lines: Lines, path: str) -> tuple[list[str], str | None]:
    """Return the cells of the first line, and what parts the columns."""
    number, line = lines[0]
    plain = re.sub(r'"[^"]*"', "", line)
    separator = max(";\t,", key=plain.count)
    if separator not in plain:
        spaced = len(lines) > 1 and len(lines[1][1].split()) > 1
        return (re.split(r"\s+(?!\[)", line.strip()), None) if spaced else ([line.strip().strip('"')], ",")
    try:
        cells = _cells(line, separator)
    except csv.Error as error:
        raise InputError(f"{path}: line {number}: {error}") from error
    return cells[:-1] if not cells[-1] else cells, separator


def _is_row(line: str) -> bool:
    separator = _separator(line)
    try:
        return all(_number(cell, separator) is not None for cell in _trimmed(_cells(line, separator)))
    except csv.Error:
        return False


def _cells(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    cells = next(csv.reader([line.lstrip(" ")], delimiter=separator, skipinitialspace=True))
    return [cell.strip() for cell in cells]


def _trimmed(cells: list[str], width: int = 0) -> list[str]:
    """Return cells without an empty one after the last separator."""
    return cells[:-1] if len(cells) > max(width, 1) and not cells[-1] else cells


def is_number(cell: str) -> bool:
    """Whether a cell holds a number."""
    return _number(cell, None) is not None


def _number(cell: str, separator: str | None) -> float | None:
    if separator == ";":  # a comma in quotes between commas would be one of thousands
        cell = re.sub(r"^([-+]?\d*),(?=\d)", r"\1.", cell)
    try:
        return float(re.sub(r"(?<=[\d.])[Dd](?=[-+\d])", "e", cell))
    except ValueError:
        return None


def _numbers(lines: Lines, separator: str | None, width: int, gaps: bool, path: str) -> NDArray[np.float64]:
    if not lines:
        return np.empty((width, 0))
    try:  # the fast way takes only well-formed numbers
        table = np.loadtxt([line for _, line in lines], delimiter=separator, ndmin=2, comments=None)
        if table.shape[1] == width and (gaps or np.isfinite(table).all()):
            return np.ascontiguousarray(table.T)
    except ValueError:
        pass
    faults: list[str] = []
    rows = [_row(number, line, separator, width, gaps, faults) for number, line in lines]
    refuse(path, faults)
    return np.ascontiguousarray(np.array(rows, dtype=np.float64).T)


def _row(
    number: int, line: str, separator: str | None, width: int, gaps: bool, faults: list[str]
) -> Sequence[float]:
    """Return the numbers of a line; what is wrong with it is added to the faults."""
    try:
        cells = _trimmed(_cells(line, separator), width)
    except csv.Error as error:
        faults.append(f"line {number}: {error}")
        return ()
    if len(cells) != width:
        faults.append(f"line {number}: {len(cells)} column{'s' * (len(cells) != 1)}; {width} expected")
        return ()
    values = [math.nan if gaps and not cell else _number(cell, separator) for cell in cells]
    bad = [i for i, x in enumerate(values) if x is None or not (gaps or math.isfinite(x))]
    for place in bad:
        kind = "number" if gaps or values[place] is None else "finite number"
        faults.append(f"line {number}, column {place + 1}: {cells[place][:40]!r} is no {kind}")
    if bad:
        return ()
    return [value for value in values if value is not None]
