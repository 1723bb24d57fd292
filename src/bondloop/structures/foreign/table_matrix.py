"""Matrices as tables of text: a row a line, parted by commas, semicolons, tabs or spaces."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from bondloop.errors import InputError
from bondloop.structures.foreign.labelled import refuse_faults
from bondloop.structures.foreign.text_file import read_source

__all__ = ["read_table_matrix"]

WIDEST = 20_000
"""Columns of a full matrix as text, at most."""


def read_table_matrix(path: Path) -> dict[str, Any]:
    r"""Return the matrix of a table, and the names of its degrees of freedom if these stand above it.

    Parameters
    ----------
    path
        Of the file; lines that begin with ``#`` or ``%`` are comments.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "K.csv"
    >>> _ = file.write_text("a.ux, b.ux\n3, -1\n-1, 1\n")
    >>> content = read_table_matrix(file)
    >>> content[""].tolist(), content["dofs"]
    ([[3.0, -1.0], [-1.0, 1.0]], ('a.ux', 'b.ux'))
    """
    rows: list[list[float]] = []
    names: tuple[str, ...] | None = None
    faults: list[str] = []
    width = 0
    separator: str | None = None
    for number, line in enumerate(read_source(path, "table").splitlines(), 1):
        if not line.strip() or line.lstrip()[0] in "#%":
            continue
        if not width:
            separator = next((s for s in ";\t," if s in line), None)
        cells = _cells(line, separator)
        if not width:
            width = len(cells)
            if width > WIDEST:
                raise InputError(f"{width:,} columns; at most {WIDEST:,} are read from text")
            if all(_number(cell, separator) is None for _, cell in cells):
                names = tuple(cell.strip("\"'") for _, cell in cells)
                continue
        if len(cells) != width:
            faults.append(f"line {number}, column 1: {len(cells)} cells; expected {width}")
        row = []
        for at, cell in cells:
            value = _number(cell, separator)
            if value is None or not math.isfinite(value):
                faults.append(f"line {number}, column {at}: {cell[:40]!r} is no finite number")
            else:
                row.append(value)
        rows.append(row)
        if len(faults) > 1000:
            break
    if not rows and not faults:
        faults.append("no line has numbers")
    refuse_faults(faults)
    return {"": np.array(rows, dtype=np.float64), "dofs": names}


def _cells(line: str, separator: str | None) -> list[tuple[int, str]]:
    """Return the cells of a line with their columns from 1; an empty one after the last separator is none."""
    if separator is None:
        return [(match.start() + 1, match[0]) for match in re.finditer(r"\S+", line)]
    cells, at = [], 1
    for part in line.rstrip().split(separator):
        cells.append((at, part.strip()))
        at += len(part) + 1
    return cells[:-1] if len(cells) > 1 and not cells[-1][1] else cells


def _number(cell: str, separator: str | None) -> float | None:
    text = re.sub(r"^([-+]?\d*),(?=\d)", r"\1.", cell) if separator == ";" else cell
    try:
        return float(re.sub(r"(?<=[\d.])[Dd](?=[-+\d])", "e", text))
    except ValueError:
        return None
