"""Ground motions in the format of COSMOS (V1 and V2 files of version 1.20), one channel or several."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.measurements.faults import refuse
from bondloop.measurements.text_lines import read_text
from bondloop.program.number_block import fixed_numbers
from bondloop.records.ground_motion import GroundMotion
from bondloop.records.motion_units import factor_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_cosmos"]

FIRST = re.compile(r"\(\s*Format\s+v?\s*[\d.]+\s+with\s+(\d{1,3})\s+text\s+lines?\s*\)", re.IGNORECASE)
_FORMAT = r"Format\s*=\s*\(\s*(?:\d{1,2}P)?\s*(\d{1,3})[A-Z]+(\d{1,3})(?:\.\d*)?[A-Z]?\d*\s*\)"
_REALS = re.compile(
    rf"^\s*(\d{{1,6}})\s+Real-header\s+values\s+follow\s+on\s+(\d{{1,6}})\s+lines?,\s*{_FORMAT}",
    re.IGNORECASE,
)
_DATA = re.compile(
    rf"^\s*(\d{{1,12}})\s+(\w+)\s+pts\b.*?units\s*=\s*([^,(]+?)\s*(?:\(\s*\d+\s*\))?\s*,\s*{_FORMAT}",
    re.IGNORECASE,
)
SERIES_INTERVAL, RAW_INTERVAL = 62, 34
"""Real headers: milliseconds between the values of this file, and seconds between those of the recorder."""


@dataclass(frozen=True, eq=False)
class _Channel:
    """One acceleration of a file, and where it stands."""

    header: tuple[str, ...]
    line: int
    unit: str
    count: int
    values: NDArray[np.float64]
    period: float


def read_cosmos(path: str | os.PathLike[str], channel: int | None = None) -> GroundMotion:
    """Read an acceleration of a COSMOS file: V1, uncorrected, or V2, corrected.

    Numbers stand in columns whose width the file says, and may touch. The time between values is real
    header 62 (in ms), or 34 (in s) where that is unknown. Blocks of velocity and displacement, which a V2
    file may hold too, are passed over. Raw counts (V0) are refused: they are no acceleration yet.

    Parameters
    ----------
    path
        Of the file.
    channel
        Which acceleration, from 1, where the file holds several.
    """
    lines = read_text(path, strict=False).splitlines()
    where = str(path)
    starts = [i for i, line in enumerate(lines) if FIRST.search(line)]
    if not starts:
        raise InputError(f"{where} is no COSMOS file: no line has '(Format v01.20 with 13 text lines)'")
    faults: list[str] = []
    channels: list[_Channel] = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        channels += _channels(lines, start, end, faults)
    if not channels and not faults:
        faults.append(
            "no line announces an acceleration ('... acceleration pts, ..., units=..., Format=...')"
        )
    if channel is None and len(channels) > 1:
        named = "; ".join(f"{k}: {_title(c)}" for k, c in enumerate(channels[:12], 1))
        faults.append(f"{len(channels)} accelerations; say which with channel=, from 1 ({named})")
    elif channel is not None and (isinstance(channel, bool) or channel not in range(1, len(channels) + 1)):
        faults.append(f"channel {channel!r:.20}; the file holds {len(channels)}, counted from 1")
    refuse(where, faults)
    chosen = channels[(channel or 1) - 1]
    return GroundMotion(chosen.values * factor_of(chosen.unit), chosen.period, _title(chosen), chosen.header)


def _channels(lines: list[str], start: int, end: int, faults: list[str]) -> list[_Channel]:
    """Return the accelerations of one part of a file, which begins with its own header."""
    match = FIRST.search(lines[start])
    text = int(match[1]) if match else 13
    header = tuple(line.strip() for line in lines[start : min(start + text, end)])
    reals: NDArray[np.float64] = np.full(100, -999.0)
    answer = []
    i = start + text
    while i < end:
        if match := _REALS.match(lines[i]):
            count, rows, width = int(match[1]), int(match[2]), int(match[4])
            if width:
                reals = fixed_numbers(lines[i + 1 : min(i + 1 + rows, end)], i + 2, count, width, faults)
            i += rows
        elif match := _DATA.match(lines[i]):
            count, kind, unit, each, width = (
                int(match[1]), match[2], match[3], int(match[4]), int(match[5])
            )  # fmt: skip
            if not each or not width:
                faults.append(f"line {i + 1}, column {match.start(4) + 1}: a format without numbers")
                break
            rows = -(-count // each)
            if kind.lower() == "acceleration":
                block = lines[i + 1 : min(i + 1 + rows, end)]
                values = fixed_numbers(block, i + 2, count, width, faults)
                answer.append(
                    _checked(_Channel(header, i + 1, unit, count, values, _period(reals)), match, faults)
                )
            i += rows
        i += 1
    return answer


def _checked(channel: _Channel, match: re.Match[str], faults: list[str]) -> _Channel:
    place = f"line {channel.line}, column"
    try:
        factor_of(channel.unit)
    except InputError as error:
        raw = channel.unit.lower().startswith("count")
        hint = " (raw counts of a V0 file: the recorder's sensitivity is missing)" if raw else ""
        faults.append(f"{place} {match.start(3) + 1}: {error}{hint}")
    if channel.values.size != channel.count:
        faults.append(
            f"{place} {match.start(1) + 1}: {channel.values.size} values; the line says {channel.count}"
        )
    elif channel.count < 2:
        faults.append(f"{place} {match.start(1) + 1}: {channel.count} values; expected at least two")
    if not 0 < channel.period < np.inf:
        faults.append(
            f"{place} 1: real headers {SERIES_INTERVAL} [ms] and {RAW_INTERVAL} [s] tell no sample period"
        )
    return channel


def _period(reals: NDArray[np.float64]) -> float:
    for number, factor in ((SERIES_INTERVAL, 1e-3), (RAW_INTERVAL, 1.0)):
        value = float(reals[number - 1]) * factor if reals.size >= number else 0.0
        if 0 < value < np.inf:
            return value
    return 0.0


def _title(channel: _Channel) -> str:
    """Station and channel: the fifth and ninth line of the header, as the format orders them."""
    said = [channel.header[k] for k in (1, 4, 8) if k < len(channel.header)]
    return ", ".join(" ".join(part.split()) for part in said)
