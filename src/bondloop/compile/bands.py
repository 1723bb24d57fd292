"""Matrices whose rows repeat one pattern: written as plain loops that a compiler turns into vector code.

A modal model has thousands of rows, each with two entries on diagonals and one entry per input. In compressed
rows every entry costs an index and a gather; in bands the same sums, in the same order, run straight through
memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop.compile.plan import Sparse

__all__ = ["LONG", "Band", "bands"]

LONG = 8
"""Rows that a band has on average, at the least; shorter ones gain nothing over compressed rows."""


@dataclass(frozen=True)
class Band:
    """Consecutive rows with the same pattern.

    Attributes
    ----------
    first, rows
        First row, and how many there are.
    columns
        For every term of the sum: its column in the first row, and the step (0 or 1) to the next row's.
    values
        For every term its values, row by row.
    """

    first: int
    rows: int
    columns: tuple[tuple[int, int], ...]
    values: tuple[tuple[float, ...], ...]


def bands(few: Sparse) -> list[Band] | None:
    """Return a sparse matrix as bands; None where its rows differ too much from one another.

    Parameters
    ----------
    few
        The entries, row by row.

    Examples
    --------
    >>> from bondloop.compile.plan import Sparse
    >>> n = 40  # a diagonal and a full column
    >>> starts = list(range(0, 2 * n + 1, 2))
    >>> (band,) = bands(Sparse(starts, [c for i in range(n) for c in (i, n)], [1.0, 2.0] * n))
    >>> band.rows, band.columns
    (40, ((0, 1), (40, 0)))
    """
    n = len(few.starts) - 1
    rows = [few.columns[few.starts[i] : few.starts[i + 1]] for i in range(n)]
    groups: list[tuple[int, int, list[int]]] = []
    first, steps = 0, None
    for i in range(1, n + 1):
        now = _steps(rows[i - 1], rows[i]) if i < n else None
        if now is not None and steps in (None, now):
            steps = now
            continue
        groups.append((first, i - first, steps or [0] * len(rows[first])))
        first, steps = i, None
        if len(groups) * LONG > n:
            return None
    return [_band(few, first, count, steps) for first, count, steps in groups]


def _steps(above: list[int], below: list[int]) -> list[int] | None:
    """Return how far every column moves from one row to the next, if none moves by more than one."""
    if len(above) != len(below):
        return None
    moved = [b - a for a, b in zip(above, below, strict=True)]
    return moved if all(m in (0, 1) for m in moved) else None


def _band(few: Sparse, first: int, count: int, steps: list[int]) -> Band:
    start = few.starts[first]
    terms = range(len(steps))
    return Band(
        first,
        count,
        tuple((few.columns[start + k], steps[k]) for k in terms),
        tuple(tuple(few.values[few.starts[i] + k] for i in range(first, first + count)) for k in terms),
    )
