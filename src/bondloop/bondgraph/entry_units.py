"""Matrices of fields whose entries are texts with a unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bondloop.bondgraph.laws import check_number
from bondloop.errors import InputError
from bondloop.units import dimension

__all__ = ["entries_in_si"]


def entries_in_si(rows: Sequence[Sequence[Any]], where: str, units: Sequence[str]) -> list[list[Any]]:
    """Return the rows of a matrix with texts turned into numbers in SI units.

    Efforts times flows are powers at every port, so the units of a matrix are not free: an entry measures the
    geometric mean of the two on the diagonal that share its row and its column. A beam's stiffness has N/m
    and N m on the diagonal, and N beside them. What the diagonal may measure is given.

    >>> entries_in_si([["12 kN/m", "6 kN"], ["6 kN", "4 kN m"]], "CField(stiffness)", ["N/m", "N m"])
    [[12000.0, 6000.0], [6000.0, 4000.0]]
    """
    sizes = [[dimension(v) if isinstance(v, str) else None for v in row] for row in rows]
    whole = len(rows)
    for i, row in enumerate(sizes):
        for j, size in enumerate(row[:whole]):
            first, second = (sizes[k][k] if k < len(sizes[k]) else None for k in (i, j))
            if size is None or first is None or second is None:
                continue
            if any(2 * a != b + c for a, b, c in zip(size, first, second, strict=True)):
                raise InputError(
                    f"{where}: the entry [{i}, {j}], {rows[i][j]!r}, does not fit those on the diagonal, "
                    f"{rows[i][i]!r} and {rows[j][j]!r}: its unit squared must be the product of theirs"
                )
    return [
        [
            check_number(v, f"{where}, entry [{i}, {j}]", units=units if i == j else ())
            if isinstance(v, str)
            else v
            for j, v in enumerate(row)
        ]
        for i, row in enumerate(rows)
    ]
