"""Ground motions of the European strong-motion database: ESM's ASCII files (DYNA 1.2)."""

from __future__ import annotations

import os
import re

from bondloop.errors import InputError
from bondloop.measurements.faults import refuse
from bondloop.measurements.text_lines import read_text
from bondloop.program.number_block import NUMBER, fortran_number, free_numbers
from bondloop.records.ground_motion import GroundMotion
from bondloop.records.motion_units import factor_of

__all__ = ["read_esm"]

_ENTRY = re.compile(r"([A-Z][A-Z0-9_/^]*):(?:\s+(.*))?")
NEEDED = ("SAMPLING_INTERVAL_S", "NDATA", "UNITS")


def read_esm(path: str | os.PathLike[str]) -> GroundMotion:
    r"""Read a ground acceleration of the European strong-motion database (ESM), as ASCII.

    The header has a ``KEY: value`` in each line; ``SAMPLING_INTERVAL_S``, ``NDATA`` and ``UNITS`` are
    needed, and ``DATA_TYPE`` must be an acceleration where it is there. The values follow, usually one a
    line.

    Parameters
    ----------
    path
        Of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "amt.asc"
    >>> _ = file.write_text(
    ...     "EVENT_NAME: CENTRAL ITALY\nSTATION_CODE: AMT\nSTREAM: HGE\nSAMPLING_INTERVAL_S: 0.005\n"
    ...     "NDATA: 3\nUNITS: cm/s^2\nDATA_TYPE: ACCELERATION\n0.0\n-850.8\n12.5\n"
    ... )
    >>> motion = read_esm(file)
    >>> motion.title, motion.sample_period, motion.peak
    ('CENTRAL ITALY, AMT, HGE', 0.005, 8.508)
    """
    lines = read_text(path, strict=False).splitlines()
    entries: dict[str, tuple[int, str]] = {}
    end = 0
    for end, line in enumerate(lines):
        match = _ENTRY.fullmatch(line.strip())
        if match is None and line.strip():
            break
        if match is not None:
            entries[match[1]] = (end + 1, (match[2] or "").strip())
    if "SAMPLING_INTERVAL_S" not in entries:
        raise InputError(f"{path} is no ESM file: its header has no line 'SAMPLING_INTERVAL_S: ...'")
    faults: list[str] = []
    number = {}
    for key in NEEDED[:2]:
        row, text = entries.get(key, (0, ""))
        ok = re.fullmatch(NUMBER, text) and 0 < fortran_number(text) < 1e12
        if not ok or (key == "NDATA" and fortran_number(text) % 1):
            place = f"line {row}, column 1: " if row else ""
            faults.append(f"{place}{key} is {text[:40]!r}; expected a number above 0")
        else:
            number[key] = fortran_number(text)
    row, unit = entries.get("UNITS", (0, ""))
    factor = 1.0
    try:
        factor = factor_of(unit)
    except InputError as error:
        faults.append(f"line {row}, column 1: UNITS: {error}" if row else "the header has no 'UNITS: ...'")
    row, kind = entries.get("DATA_TYPE", (0, ""))
    word = kind.upper()
    if kind and ("ACCELERATION" not in word or "SPECTR" in word):
        faults.append(
            f"line {row}, column 1: DATA_TYPE is {kind[:40]!r}; expected ACCELERATION, the history of one"
        )
    values = free_numbers(lines[end:], end + 1, faults)
    if "NDATA" in number and values.size != number["NDATA"]:
        faults.append(f"{values.size} values; the header says NDATA = {number['NDATA']:.0f}")
    elif values.size < 2:
        faults.append(f"{values.size} values; a ground motion has at least two samples")
    refuse(str(path), faults)
    said = [entries.get(key, (0, ""))[1] for key in ("EVENT_NAME", "STATION_CODE", "STREAM")]
    header = tuple(line.strip() for line in lines[:end])
    return GroundMotion(
        values * factor, number["SAMPLING_INTERVAL_S"], ", ".join(word for word in said if word), header
    )
