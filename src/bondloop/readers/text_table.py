"""Tables of numbers in text files: columns parted by commas, semicolons, tabs or spaces; faults by line."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.readers.faults import refuse
from bondloop.readers.text_cells import cells_of, number_in, separator_in
from bondloop.readers.text_layout import NUMBERS, Layout, is_remark, names_in, numbers_of, read_text, trimmed

if TYPE_CHECKING:
    from numpy.typing import NDArray


_UNUSUAL = '#%"\v\f\x1c\x1d\x1e\x85\u2028\u2029'
"""Signs of remarks and quoted cells, and ends of lines that only Python takes for such."""


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
    path: str | os.PathLike[str], *, names: bool | None, width: int | None = None, most: float = math.inf
) -> TextTable:
    r"""Read a table. Every line that does not fit is reported, with its number.

    A comma that does not part columns is a decimal one, one that may stand between thousands is refused;
    Fortran's ``1D-3`` is read everywhere; a separator at the end of a line is none.

    Parameters
    ----------
    path
        Of the file.
    names
        Whether the first line names the columns; then an empty cell is NaN. Without, whatever stands before
        the first row of numbers is a remark, and cells must be finite numbers. None: the first line names
        the columns if no cell of it is a number, and cells must be finite.
    width
        How many columns are expected; unless given, as many as the first line has.
    most
        Bytes that the file may have.

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
    text = read_text(path, strict=bool(names), most=most)
    plain = _plain_table(path, text) if names and width is None else None
    if plain is not None:
        return plain
    lines = text.splitlines()
    header, separator, rows = _parts(lines, names)
    if names and not header:
        raise InputError(f"{path} is empty; a header line with names was expected")
    if width is None:
        width = len(header) or (len(trimmed(cells_of(lines[rows[0]], separator))) if rows else 0)
    faults: list[str] = []
    layout = Layout(separator, (), None, None, rows, (NUMBERS,) * width)
    columns = numbers_of(lines, layout, (), faults, exact=True, finite=not names)
    refuse(str(path), faults)
    before = 0 if names is not False else rows[0] if rows else len(lines)
    said = (line.strip() for i, line in enumerate(lines) if i < before or is_remark(line))
    numbers = np.array([*columns.values()]).reshape(width, len(rows))
    return TextTable(tuple(header), numbers, tuple(filter(None, said)))


def _plain_table(path: str | os.PathLike[str], text: str) -> TextTable | None:
    """Read a table as programs write it: a header, then nothing but numbers; None for any other.

    Lines are not kept, let alone looked at one by one: a long record is read at the speed of NumPy's parser.
    """
    first, body = text.find("\n"), text.find("\n") + 1
    second = text.find("\n", body)
    head, row = text[: max(first, 0)].rstrip("\r"), text[body : second if second >= 0 else None].rstrip("\r")
    if not (head.strip() and row.strip()) or any(text.find(sign, body) >= 0 for sign in _UNUSUAL):
        return None
    if is_remark(head) or len(head.splitlines()) > 1:
        return None
    names, separator = _header(head, row)
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            next(file)
            table = np.loadtxt(file, delimiter=separator, ndmin=2, comments=None)
    except (ValueError, OSError):
        return None
    return TextTable(tuple(names), table.T.copy(), ()) if table.shape[1] == len(names) else None


def _parts(lines: Sequence[str], names: bool | None) -> tuple[list[str], str | None, list[int]]:
    """Return the names of the columns, what parts them, and which lines are rows, by index."""
    filled = [i for i, line in enumerate(lines) if line.strip() and not is_remark(line)]
    if names is False:
        first = next((k for k, i in enumerate(filled) if _is_row(lines[i])), len(filled))
        rows = filled[first:]
        return [], separator_in([lines[rows[0]]]) if rows else None, rows
    if not filled:
        return [], None, []
    line = lines[filled[0]]
    header, separator = _header(line, lines[filled[1]] if len(filled) > 1 else "" if names else line)
    if names or all(number_in(cell, separator) is None for cell in header):
        return header, separator, filled[1:]
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
