"""Columns of numbers from a text file, with every fault reported at once."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.containers import expect_file
from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_columns"]

_SHOWN = 10
"""How many faults a message lists before it stops with a count."""


def read_columns(
    path: Path, wanted: Sequence[int | str], *, increasing: bool = False
) -> list[NDArray[np.float64]]:
    """Read columns by number or by name in the header.

    Parameters
    ----------
    path
        A text file; comma, semicolon, tab or space between columns; decimal commas where semicolons separate.
    wanted
        The columns, by number from 0 or by name.
    increasing
        Whether the first of them must increase.
    """
    lines = _lines(path)
    separator = next((s for s in (";", "\t", ",") if s in lines[0][1]), None)
    names: list[str] = []
    if any(_number(cell) is None for cell in _cells(lines[0][1], separator)):
        names = _cells(lines[0][1], separator)
        lines = lines[1:]
        if not lines:
            raise InputError(f"{path}: a header but no numbers")
        separator = separator or next((s for s in (";", "\t", ",") if s in lines[0][1]), None)
    places = [_place(w, names, path) for w in wanted]
    faults: list[str] = []
    rows: list[list[float]] = []
    for number, line in lines:
        cells = _cells(line, separator)
        row = []
        for place in places:
            if place >= len(cells):
                faults.append(f"line {number}: {len(cells)} columns, but column {place} is wanted")
                break
            value = _number(cells[place])
            if value is None or not math.isfinite(value):
                faults.append(f"line {number}: {cells[place][:40]!r} is not a finite number")
                break
            row.append(value)
        else:
            if increasing and rows and row[0] <= rows[-1][0]:
                faults.append(f"line {number}: time {row[0]:g} does not come after {rows[-1][0]:g}")
            rows.append(row)
    if faults:
        more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise InputError(f"{path}: {'; '.join(faults[:_SHOWN])}{more}")
    return list(np.array(rows).T)


def _lines(path: Path) -> list[tuple[int, str]]:
    """Lines that hold something, with their numbers from 1."""
    if path.suffix.lower() == ".at2":
        raise InputError(f"{path}: AT2 ground motions are not read here; convert the file to columns")
    try:
        expect_file(path)
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text file") from None
    stripped = [(i, line.strip()) for i, line in enumerate(text.split("\n"), start=1)]
    lines = [(i, line) for i, line in stripped if line and line[0] not in "#%"]
    if not lines:
        raise InputError(f"{path}: no numbers in it; expected columns of times and values")
    return lines


def _cells(line: str, separator: str | None) -> list[str]:
    cells = [c.strip().strip('"') for c in line.split(separator)]
    if separator == ";":
        cells = [re.sub(r"^([-+]?\d*),(\d)", r"\1.\2", c) for c in cells]
    return cells[:-1] if len(cells) > 1 and not cells[-1] else cells


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _place(wanted: int | str, names: list[str], path: Path) -> int:
    if isinstance(wanted, int):
        if wanted < 0:
            raise InputError(f"{path}: columns are counted from 0; found {wanted}")
        return wanted
    if wanted not in names:
        raise InputError(unknown_name("column", wanted, names, where=str(path)))
    return names.index(wanted)
