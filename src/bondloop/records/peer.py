"""Ground motions of PEER's strong-motion database: AT2 files."""

from __future__ import annotations

import os
import re

import numpy as np

from bondloop.errors import InputError
from bondloop.measurements.faults import refuse
from bondloop.measurements.text_lines import read_text
from bondloop.program.number_block import NUMBER, fortran_number, free_numbers
from bondloop.records.ground_motion import GroundMotion
from bondloop.records.motion_units import FACTORS

__all__ = ["read_at2"]

_NEW = re.compile(rf"NPTS\s*=\s*(\d{{1,15}})\s*,?\s*DT\s*=\s*({NUMBER})", re.IGNORECASE)
_OLD = re.compile(rf"^\s*(\d{{1,15}})\s+({NUMBER})\s+NPTS\s*,\s*DT", re.IGNORECASE)
_UNITS = re.compile(r"UNITS\s+OF\s+(\S+)", re.IGNORECASE)
HEADER_LINES = 20
"""How far down the count and the sample period are looked for; PEER puts them on line 4."""


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
    row, match = next(
        (
            (n, m)
            for n, line in enumerate(lines[:HEADER_LINES])
            if (m := _NEW.search(line) or _OLD.search(line))
        ),
        (0, None),
    )
    if match is None:
        raise InputError(
            f"{where} is no AT2 file: none of its first {HEADER_LINES} lines has 'NPTS= ..., DT= ...' "
            "or '... NPTS, DT'"
        )
    header = tuple(line.strip() for line in lines[: row + 1])
    count, period = int(match[1]), fortran_number(match[2])
    if not (period > 0 and np.isfinite(period)):
        faults.append(
            f"line {row + 1}, column {match.start(2) + 1}: DT is {period:g} s; expected more than 0"
        )
    kind = " ".join(header).upper()
    unit = _UNITS.search(kind)
    factor = FACTORS.get(unit[1].rstrip(".,;").lower()) if unit else None
    if "VELOCITY TIME" in kind or "DISPLACEMENT TIME" in kind:
        faults.append("the header says velocity or displacement; read_at2 reads accelerations")
    elif unit is None:
        faults.append("the header names no unit ('UNITS OF G' was expected)")
    elif factor is None:
        faults.append(f"the unit '{unit[1]}' is not known; known: {', '.join(FACTORS)}")
    values = free_numbers(lines[row + 1 :], row + 2, faults)
    if values.size != count:
        faults.append(f"{values.size} values; the header says NPTS = {count}")
    elif count < 2:
        faults.append(f"NPTS = {count}; a ground motion has at least two samples")
    refuse(where, faults)
    title = header[1] if len(header) > 2 else header[0]
    return GroundMotion(values * (factor or 1.0), period, title, header)
