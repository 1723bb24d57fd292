"""Ground motions from files: PEER's AT2 and plain two-column text."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.records.faults import refuse
from bondloop.records.text_table import read_table, read_text
from bondloop.units import quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GroundMotion", "read_at2", "read_two_columns"]

STANDARD_GRAVITY = 9.80665
"""m/s², by definition."""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[EeDd][-+]?\d+)?"
_NEW = re.compile(rf"NPTS\s*=\s*(\d+)\s*,?\s*DT\s*=\s*({_NUMBER})", re.IGNORECASE)
_OLD = re.compile(rf"^\s*(\d+)\s+({_NUMBER})\s+NPTS\s*,\s*DT", re.IGNORECASE)
_UNITS = re.compile(r"UNITS\s+OF\s+(\S+)", re.IGNORECASE)
_FACTORS = {
    "G": STANDARD_GRAVITY, "CM/S/S": 0.01, "CM/SEC/SEC": 0.01, "CM/S2": 0.01, "CM/S^2": 0.01, "CM/S**2": 0.01,
    "GAL": 0.01, "M/S/S": 1.0, "M/SEC/SEC": 1.0, "M/S2": 1.0, "M/S^2": 1.0, "M/S**2": 1.0,
}  # fmt: skip
HEADER_LINES = 20
"""How far down the count and the sample period are looked for; PEER puts them on line 4."""


@dataclass(frozen=True, eq=False)
class GroundMotion:
    """A ground acceleration with even samples.

    Attributes
    ----------
    acceleration
        Ground acceleration [m/s²], shape (n,).
    sample_period
        Seconds between samples.
    title
        What the file says of the event, the station and the component.
    header
        The header lines as they stand in the file.
    """

    acceleration: NDArray[np.float64]
    sample_period: float
    title: str = ""
    header: tuple[str, ...] = field(default=(), repr=False)

    @property
    def time(self) -> NDArray[np.float64]:
        """Sample times from 0 [s]."""
        return np.arange(self.acceleration.size, dtype=np.float64) * self.sample_period

    @property
    def peak(self) -> float:
        """Peak ground acceleration [m/s²]."""
        return float(np.abs(self.acceleration).max(initial=0.0))


def read_at2(path: str | os.PathLike[str]) -> GroundMotion:
    r"""Read a ground motion of PEER's strong-motion database.

    Both headers in use are accepted: ``NPTS=  5366, DT=  .0050 SEC`` of the NGA files and ``4000  0.0050
    NPTS, DT`` of the older ones. Values are converted from the unit that the header names, usually g
    (9.80665 m/s²), to m/s². Numbers that run into each other (``.1E-02-.2E-02``) are told apart by their
    signs.

    Parameters
    ----------
    path
        Of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "elc.at2"
    >>> _ = file.write_text(
    ...     "PEER NGA STRONG MOTION DATABASE RECORD\nImperial Valley, El Centro, 180\n"
    ...     "ACCELERATION TIME SERIES IN UNITS OF G\nNPTS=  3, DT=  .0100 SEC,\n  .1E-00 -.2E-00  .0E-00\n"
    ... )
    >>> motion = read_at2(file)
    >>> motion.title, motion.sample_period, round(motion.peak, 5)
    ('Imperial Valley, El Centro, 180', 0.01, 1.96133)
    """
    lines = read_text(path, strict=False).splitlines()
    where, faults = str(path), []
    found = [
        (n, m) for n, line in enumerate(lines[:HEADER_LINES]) if (m := _NEW.search(line) or _OLD.search(line))
    ]
    if not found:
        raise InputError(
            f"{where} is no AT2 file: none of its first {HEADER_LINES} lines has 'NPTS= ..., DT= ...' "
            "or '... NPTS, DT'"
        )
    row, match = found[0]
    header = tuple(line.strip() for line in lines[: row + 1])
    count, period = int(match[1]), _number(match[2])
    if not (period > 0 and np.isfinite(period)):
        faults.append(f"DT is {period:g} s; a positive sample period is needed")
    kind = " ".join(header).upper()
    unit = _UNITS.search(kind)
    factor = _FACTORS.get(unit[1].rstrip(".,;")) if unit else None
    if "VELOCITY TIME" in kind or "DISPLACEMENT TIME" in kind:
        faults.append("the header says velocity or displacement; read_at2 reads accelerations")
    elif unit is None:
        faults.append("the header names no unit ('UNITS OF G' was expected)")
    elif factor is None:
        faults.append(f"the unit '{unit[1]}' is not known; known: {', '.join(_FACTORS)}")
    body = "\n".join(lines[row + 1 :])
    leftover = re.sub(_NUMBER, "", body).split()
    if leftover:
        faults.append(f"{leftover[0]!r} among the values is no number")
    values = np.array([_number(word) for word in re.findall(_NUMBER, body)], dtype=np.float64)
    if values.size != count:
        faults.append(f"{values.size} values; the header says NPTS = {count}")
    refuse(where, faults)
    title = header[1] if len(header) > 2 else header[0]
    return GroundMotion(values * (factor or 1.0), period, title, header)


def read_two_columns(path: str | os.PathLike[str], unit: str = "m/s^2") -> GroundMotion:
    """Read time [s] and acceleration from two columns, parted by space, comma, semicolon or tab.

    Lines before the first two numbers, and lines that start with ``#`` or ``%``, are the header. `unit` is
    the unit of the second column; ``"g"`` means gravity here, not gram.

    Parameters
    ----------
    path
        Of the file.
    unit
        Of the second column.
    """
    factor = factor_of(unit)
    table = read_table(path, names=False, width=2)
    time, values = table.numbers
    if time.size < 2:
        raise InputError(f"{path}: {time.size} lines with two numbers; at least 2 are needed")
    period = even_period(time, f"{path}")
    title = table.remarks[0].lstrip("#% ") if table.remarks else ""
    return GroundMotion(values * factor, period, title, table.remarks)


def factor_of(unit: str) -> float:
    """Return m/s² in a unit of acceleration; ``"g"`` means gravity here, not gram.

    >>> factor_of("g"), factor_of("cm/s^2")
    (9.80665, 0.01)
    """
    return STANDARD_GRAVITY if unit.strip().lower() == "g" else quantity(f"1 {unit}")


def even_period(time: NDArray[np.float64], where: str) -> float:
    """Return the seconds between even times, or say that they are not."""
    period = float(time[-1] - time[0]) / (time.size - 1)
    # A tenth of a period: times are often printed with few digits, a lost sample is a whole one.
    stray = np.abs(time - time[0] - period * np.arange(time.size)).max() if np.isfinite(period) else np.inf
    if not (period > 0 and stray <= 0.1 * period):
        raise InputError(f"{where}: its times do not increase evenly; resample them first")
    return period


def _number(text: str) -> float:
    return float(text.upper().replace("D", "E"))
