"""Numbers that fill a part of a text file, free or in columns of a fixed width; faults by line and column."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[EeDd][-+]?\d+)?"
"""A number as Fortran writes it."""
_NUMBER = re.compile(NUMBER)


def fortran_number(text: str) -> float:
    """Return the value of a text that `NUMBER` matches.

    >>> fortran_number("-.5D+01")
    -5.0
    """
    return float(text.upper().replace("D", "E"))


def free_numbers(lines: Sequence[str], first: int, faults: list[str]) -> NDArray[np.float64]:
    """Return all numbers of some lines; those that touch are told apart by their signs.

    Parameters
    ----------
    lines
        The lines.
    first
        Number of the first of them in the file, from 1.
    faults
        Where to say what is no finite number, and where it stands.

    Examples
    --------
    >>> faults = []
    >>> free_numbers([" .1E-02-.2E-02", "  x 3"], 5, faults).tolist(), faults
    ([0.001, -0.002, 3.0], ["line 6, column 3: 'x' is no number"])
    """
    body = "\n".join(lines)
    values = np.array([fortran_number(word) for word in _NUMBER.findall(body)], dtype=np.float64)
    if _NUMBER.sub("", body).strip() or not np.isfinite(values).all():
        faults += _strangers(lines, first)
    return values


def _strangers(lines: Sequence[str], first: int) -> Iterator[str]:
    for number, line in enumerate(lines, first):
        for match in _NUMBER.finditer(line):
            if not math.isfinite(fortran_number(match[0])):
                yield f"line {number}, column {match.start() + 1}: {match[0][:40]!r} is no finite number"
        rest = _NUMBER.sub(lambda match: " " * len(match[0]), line)
        for word in re.finditer(r"\S+", rest):
            yield f"line {number}, column {word.start() + 1}: {word[0][:40]!r} is no number"


def fixed_numbers(
    lines: Sequence[str], first: int, count: int, width: int, faults: list[str]
) -> NDArray[np.float64]:
    """Return numbers in columns of a fixed width, which may touch; count of them, or as many as there are.

    Parameters
    ----------
    lines, first, faults
        As for `free_numbers`.
    count
        How many are expected.
    width
        Characters of each.

    Examples
    --------
    >>> fixed_numbers(["   1.5-100.", "  -3.0"], 1, 3, 6, []).tolist()
    [1.5, -100.0, -3.0]
    """
    values: list[float] = []
    for number, line in enumerate(lines, first):
        text = line.rstrip()
        for start in range(0, len(text), width):
            cell = text[start : start + width].strip()
            if len(values) == count:
                break
            match = _NUMBER.fullmatch(cell)
            value = fortran_number(cell) if match else math.nan
            if not math.isfinite(value):
                what = "finite number" if match else "number"
                faults.append(f"line {number}, column {start + 1}: {cell[:40]!r} is no {what}")
            values.append(value)
    return np.array(values, dtype=np.float64)
