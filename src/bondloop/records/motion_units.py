"""Units and times of ground motions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.units import is_of_kind, quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["STANDARD_GRAVITY", "even_period", "factor_of", "header_units"]

STANDARD_GRAVITY = 9.80665
"""m/s², by definition."""

FACTORS = {
    "g": STANDARD_GRAVITY, "gal": 0.01, "cm/s/s": 0.01, "cm/sec/sec": 0.01, "cm/s2": 0.01, "cm/s^2": 0.01,
    "cm/s**2": 0.01, "cm/sec2": 0.01, "cm/sec^2": 0.01, "cm/sec**2": 0.01, "m/s/s": 1.0, "m/sec/sec": 1.0,
    "m/s2": 1.0, "m/s^2": 1.0, "m/s**2": 1.0, "m/sec2": 1.0, "m/sec^2": 1.0,
}  # fmt: skip
"""m/s² in the units that strong-motion files name, in small letters; g is gravity there, not gram."""

_BRACKETS = re.compile(r"\[([^\[\]]*)\]|\(([^()]*)\)")


def factor_of(unit: str) -> float:
    """Return m/s² in a unit of acceleration; ``"g"`` means gravity here, not gram.

    >>> factor_of("g"), factor_of("cm/s^2"), factor_of("mm/s^2")
    (9.80665, 0.01, 0.001)
    >>> factor_of("m/s")
    Traceback (most recent call last):
    bondloop.errors.InputError: 'm/s' is no unit of acceleration; expected g, m/s^2, cm/s^2, gal or the like
    """
    if not isinstance(unit, str):
        raise InputError(f"expected a unit of acceleration as text, such as 'g'; found {unit!r:.60}")
    known = FACTORS.get(unit.strip().lower())
    if known is not None:
        return known
    try:
        value = quantity(f"1 {unit}", "m/s^2") if unit.strip() else 0.0
    except InputError:
        value = 0.0
    if not value:
        raise InputError(
            f"{unit[:40]!r} is no unit of acceleration; expected g, m/s^2, cm/s^2, gal or the like"
        )
    return value


def header_units(remarks: Sequence[str], columns: Sequence[int], faults: list[str]) -> list[str]:
    """Return the units that a header gives to columns, in brackets: ``time [ms], acc (g)``; empty: none.

    Parameters
    ----------
    remarks
        Lines of the header; the last one with brackets names the columns.
    columns
        Their numbers from 0, the time first.
    faults
        Where to say that brackets are there but do not tell the columns apart.

    Examples
    --------
    >>> header_units(["# Kobe (1995)", "# t[ms] a[g]"], [0, 1], [])
    ['ms', 'g']
    >>> header_units(["acceleration in (g)"], [0, 1], [])
    ['', 'g']
    """
    for line in reversed(remarks):
        units = [(square or round_).strip() for square, round_ in _BRACKETS.findall(line)]
        if not units:
            continue
        cells = [c for c in re.split(r"[,;\t]", line.lstrip("#% ")) if c.strip()]
        if len(cells) > max(columns):  # a unit stands in the cell of its column
            inside = [_BRACKETS.findall(cells[k]) for k in columns]
            return [(pairs[-1][0] or pairs[-1][1]).strip() if pairs else "" for pairs in inside]
        if len(units) > max(columns):
            return [units[k] for k in columns]
        if len(units) == 1 and len(columns) == 2:
            return [units[0], ""] if _is_time(units[0]) else ["", units[0]]
        faults.append(f"the header line {line[:60]!r} does not tell which unit belongs to which column")
        return ["" for _ in columns]
    return ["" for _ in columns]


def seconds_in(unit: str) -> float:
    """Return the seconds in a unit of time.

    >>> seconds_in("ms"), seconds_in("sec")
    (0.001, 1.0)
    """
    if unit.lower() in ("sec", "secs", "seconds", "second"):
        return 1.0
    if not _is_time(unit):
        raise InputError(f"{unit[:40]!r} is no unit of time; expected s, ms or the like")
    return quantity(f"1 {unit}", "s")


def _is_time(unit: str) -> bool:
    try:
        return unit.lower() in ("sec", "secs", "seconds", "second") or (
            bool(unit) and is_of_kind(f"1 {unit}", "s")
        )
    except InputError:
        return False


def even_period(time: NDArray[np.float64], where: str) -> float:
    """Return the seconds between even times, or say that they are not."""
    period = float(time[-1] - time[0]) / (time.size - 1)
    # A tenth of a period: times are often printed with few digits, a lost sample is a whole one.
    stray = np.abs(time - time[0] - period * np.arange(time.size)).max() if np.isfinite(period) else np.inf
    if not (period > 0 and stray <= 0.1 * period):
        raise InputError(f"{where}: its times do not increase evenly; resample them first")
    return period
