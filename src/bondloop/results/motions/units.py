"""Units and times of ground motions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import AccuracyWarning, InputError
from bondloop.units import is_of_kind, quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.results.motions.ground_motion import GroundMotion


STANDARD_GRAVITY = quantity("1 gn", "m/s^2")
"""m/s², by definition."""

FACTORS = {
    "g": STANDARD_GRAVITY, "gal": 0.01, "cm/s/s": 0.01, "cm/sec/sec": 0.01, "cm/s2": 0.01, "cm/s^2": 0.01,
    "cm/s**2": 0.01, "cm/sec2": 0.01, "cm/sec^2": 0.01, "cm/sec**2": 0.01, "m/s/s": 1.0, "m/sec/sec": 1.0,
    "m/s2": 1.0, "m/s^2": 1.0, "m/s**2": 1.0, "m/sec2": 1.0, "m/sec^2": 1.0,
}  # fmt: skip
"""m/s² in the units that strong-motion files name, in small letters; g is gravity there, not gram."""

TIMES = dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0) | dict.fromkeys(
    ("ms", "msec", "millisecond", "milliseconds"), 1e-3
)
"""Seconds in the units of time that headers name, in small letters."""

UNSAID = 'say it there, or here: unit="g", unit="m/s^2", unit="cm/s^2" or the like'
"""What to do where the unit of an acceleration is not said."""

COARSEST, STRONGEST = 0.1, 5 * STANDARD_GRAVITY
"""Seconds between samples, and peak in m/s², beyond which no strong-motion record is known."""

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


def header_units(
    remarks: Sequence[str], columns: Sequence[int], faults: list[str], count: int = 2
) -> list[str]:
    """Return the units that a header gives to columns; empty: none.

    They stand in brackets, ``time [ms], acc (g)``, or are the last word of a column's name,
    ``time_ms,acc_g``, or follow "in": ``acceleration in g``.

    Parameters
    ----------
    remarks
        Lines of the header; the last one with units names the columns.
    columns
        Their numbers from 0, the time first.
    faults
        Where to say that brackets are there but do not tell the columns apart.
    count
        How many columns the file has.

    Examples
    --------
    >>> header_units(["# Kobe (1995)", "# t[ms] a[g]"], [0, 1], [])
    ['ms', 'g']
    >>> header_units(["acceleration in (g)"], [0, 1], []), header_units(["time_s,acc_cm/s2"], [0, 1], [])
    (['', 'g'], ['s', 'cm/s2'])
    """
    for line in reversed(remarks):
        cells = [c for c in re.split(r"[,;\t]", line.lstrip("#% ")) if c.strip()]
        units = [(square or round_).strip() for square, round_ in _BRACKETS.findall(line)]
        if not units:
            said = _units_of_words(line, cells, columns, count)
            if any(said):
                return said
            continue
        if len(cells) > max(columns):  # a unit stands in the cell of its column
            inside = [_BRACKETS.findall(cells[k]) for k in columns]
            return [
                (pairs[-1][0] or pairs[-1][1]).strip() if pairs else _unit_at_end(cells[k], time=not k)
                for k, pairs in zip(columns, inside, strict=True)
            ]
        if len(units) > max(columns):
            return [units[k] for k in columns]
        if len(units) == 1 and len(columns) == 2:
            return [units[0], ""] if _is_time(units[0]) else ["", units[0]]
        faults.append(f"the header line {line[:60]!r} does not tell which unit belongs to which column")
        return ["" for _ in columns]
    return ["" for _ in columns]


def _units_of_words(line: str, cells: list[str], columns: Sequence[int], count: int) -> list[str]:
    """Return the units that words of a header give to columns, where they stand in no brackets."""
    words = line.lstrip("#% ").split()
    for parts in (cells, words):
        if len(parts) != count:
            continue
        bare = [part.strip().strip('"') for part in parts]
        if bare[0].lower() in TIMES and all(_is_acceleration(unit) for unit in bare[1:]):  # a line of units
            return [bare[k] for k in columns]
        said = [_unit_at_end(parts[k], time=not k) for k in columns]
        if any(said):
            return said
    after = [unit.strip('.,;:"') for unit in re.findall(r"\bin\s+(\S+)", line)]
    times = {unit for unit in after if unit.lower() in TIMES}
    accelerations = {unit for unit in after if _is_acceleration(unit)}
    return [one.pop() if len(one) == 1 else "" for one in (times, accelerations)]


def _unit_at_end(cell: str, *, time: bool) -> str:
    """Return the last word of a column's name where it is a unit of the kind that the column has."""
    words = re.split(r"[\s_]+", cell.strip().strip('"#% '))
    known = words[-1].lower() in TIMES if time else _is_acceleration(words[-1])
    return words[-1] if len(words) > 1 and known else ""


def _is_acceleration(unit: str) -> bool:
    try:
        return bool(unit) and factor_of(unit) > 0
    except InputError:
        return False


def seconds_in(unit: str) -> float:
    """Return the seconds in a unit of time.

    >>> seconds_in("ms"), seconds_in("sec")
    (0.001, 1.0)
    """
    if unit.lower() in TIMES:
        return TIMES[unit.lower()]
    if not _is_time(unit):
        raise InputError(f"{unit[:40]!r} is no unit of time; expected s, ms or the like")
    return quantity(f"1 {unit}", "s")


def _is_time(unit: str) -> bool:
    try:
        return unit.lower() in TIMES or (bool(unit) and is_of_kind(f"1 {unit}", "s"))
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


def plausible(motion: GroundMotion, where: str, *, time_said: bool) -> GroundMotion:
    """Return a motion, and say where its units can hardly be right.

    Parameters
    ----------
    motion
        As it was read.
    where
        Of the file, for the words.
    time_said
        Whether somebody said the unit of its times; samples far apart are refused otherwise.
    """
    period, peak = motion.sample_period, motion.peak
    if period > COARSEST:
        words = (
            f"{where}: samples every {period:g} s; records of ground motions have some hundredths of "
            "that. Are the times in ms?"
        )
        if not time_said:
            raise InputError(f'{words} Say time_unit="ms", or time_unit="s" if they are in s')
        warnings.warn(words, AccuracyWarning, stacklevel=3)
    if peak > STRONGEST:
        warnings.warn(
            f"{where}: a peak of {peak:.4g} m/s², {peak / STANDARD_GRAVITY:.3g} times gravity; no "
            "earthquake has been recorded beyond 5. Is the unit right?",
            AccuracyWarning,
            stacklevel=3,
        )
    return motion
