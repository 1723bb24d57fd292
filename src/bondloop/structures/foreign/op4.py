"""Matrices in Nastran's OUTPUT4 format: dense, sparse, and sparse of many rows (BIGMAT); here as text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.containers import MOST
from bondloop.program.number_block import free_numbers
from bondloop.structures.foreign.labelled import refuse_faults, role_of
from bondloop.structures.foreign.op4_binary import is_binary_op4, own_name, read_op4_binary
from bondloop.structures.foreign.text_file import read_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.structures.foreign.op4_binary import Output

__all__ = ["read_op4"]

_HEADER = re.compile(r"\s*(\d{1,12})\s*(-?\d{1,12})\s+(\d{1,3})\s+([1-4])([A-Za-z]\w{0,7})\b.*")
_WHOLE = re.compile(r"(?:\s*-?\d{1,15})(?:\s+-?\d{1,15}){0,2}\s*")
PACKED = 65536
"""A string of a sparse matrix begins with its length and its row in one number, length · 65536 + row."""
DENSEST = 50_000_000
"""Entries of all columns, at most."""


def read_op4(path: Path) -> dict[str, Any]:
    r"""Return the matrices of an OUTPUT4 file, by name; KAA, MAA and BAA or the like as K, M and C.

    Parameters
    ----------
    path
        Of the file, written as text or binary.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "two.op4"
    >>> _ = file.write_text(
    ...     "       2       2       6       2KAA     1P,3E23.16\n"
    ...     "       1       1       2\n 3.0000000000000000E+00-1.0000000000000000E+00\n"
    ...     "       2       1       2\n-1.0000000000000000E+00 1.0000000000000000E+00\n"
    ...     "       3       1       1\n 1.0000000000000000E+00\n"
    ... )
    >>> read_op4(file)["K"].toarray().tolist()
    [[3.0, -1.0], [-1.0, 1.0]]
    """
    with path.open("rb") as file:
        start = file.read(4)
    matrices: dict[str, Any] = read_op4_binary(path) if is_binary_op4(start) else _read_text(path)
    for name, role in role_of(matrices).items():
        matrices[role] = matrices.pop(name)
    return {**matrices, "dofs": None}


def _read_text(path: Path) -> dict[str, Output | None]:
    """Read a file that was written as text."""
    text = read_source(path, "OUTPUT4 file")
    lines = text.splitlines()
    faults: list[str] = []
    matrices: dict[str, Output | None] = {}
    i = 0
    while i < len(lines) and not faults:
        match = _HEADER.fullmatch(lines[i])
        if match:
            name = own_name(match[5].strip(), matrices)
            i, matrices[name] = _matrix(lines, i, match, faults)
        elif lines[i].strip():
            faults.append(
                f"line {i + 1}, column 1: {lines[i].strip()[:40]!r}; expected the header of a matrix"
            )
            break
        else:
            i += 1
    if not matrices and not faults:
        faults.append("no line is the header of a matrix: columns, rows, form, type and name")
    refuse_faults(faults)
    return matrices


def _matrix(lines: list[str], i: int, match: re.Match[str], faults: list[str]) -> tuple[int, Output | None]:
    """Return the line after a matrix, and the matrix."""
    from scipy import sparse

    columns, rows, kind = int(match[1]), abs(int(match[2])), int(match[4])
    words_each = 1 + (kind + 1) % 2  # two for a double
    if max(columns, rows) > MOST:
        faults.append(
            f"line {i + 1}, column 1: it claims {rows:,} x {columns:,}; at most {MOST:,} rows are read"
        )
        return len(lines), None
    places: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    values: list[NDArray[np.float64 | np.complex128]] = []
    i += 1
    while i < len(lines):
        head = _wholes(lines[i])
        if len(head) != 3:
            faults.append(
                f"line {i + 1}, column 1: {lines[i].strip()[:40]!r}; expected column, row and count"
            )
            break
        column, row, count = head
        start, i = i + 1, i + 1
        if row:  # dense: a run of values from this row on
            i, block = _block(lines, i, faults)
            if column > columns:  # the end: a column too many, of a single 1.0
                break
            strings = [(row, block, start)]
            # The count is of values; some programs write that of words, two for each double.
            if len(block) not in (count, count / words_each):
                faults.append(f"line {start}, column 17: {len(block)} values; the column says {count}")
        else:
            strings = []
            while i < len(lines) and len(said := _wholes(lines[i])) in (1, 2):
                at = i + 1
                words, row = (said[0] // PACKED, said[0] % PACKED) if len(said) == 1 else said
                i, block = _block(lines, i + 1, faults)
                strings.append((row, block, at))
                if len(block) * words_each + 1 != words:
                    faults.append(
                        f"line {at}, column 1: {len(block)} values, not {(words - 1) / words_each:g}"
                    )
        for row, numbers, at in strings:
            block = numbers[: len(numbers) // 2 * 2 : 2] + 1j * numbers[1::2] if kind > 2 else numbers
            if not (1 <= column <= columns and row >= 1 and row - 1 + len(block) <= rows):
                faults.append(
                    f"line {at}, column 1: rows from {row} of column {column} lie outside {rows} x {columns}"
                )
                continue
            places.append((np.arange(row - 1, row - 1 + len(block)), np.full(len(block), column - 1)))
            values.append(block)
        if faults:
            break
    if not places or faults:
        return i, sparse.csr_array((rows, columns))
    at_rows, at_columns = (np.concatenate([p[k] for p in places]) for k in range(2))
    data = np.concatenate(values)
    if len(data) > DENSEST:
        faults.append(f"{len(data):,} entries; at most {DENSEST:,} are read")
    kept = data != 0
    entries = (data[kept], (at_rows[kept], at_columns[kept]))
    return i, sparse.coo_array(entries, shape=(rows, columns)).tocsr()


def _wholes(line: str) -> list[int]:
    return [int(word) for word in line.split()] if _WHOLE.fullmatch(line) else []


def _block(lines: list[str], i: int, faults: list[str]) -> tuple[int, Any]:
    """Return the line after a run of values, which have points, and the values."""
    end = i
    while end < len(lines) and "." in lines[end] and not _HEADER.fullmatch(lines[end]):
        end += 1
    return end, free_numbers(lines[i:end], i + 1, faults)
