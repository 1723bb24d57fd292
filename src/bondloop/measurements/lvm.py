"""LabVIEW measurement files (.lvm): a head for the file, then segments with a head of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.measurements.faults import refuse
from bondloop.measurements.headings import heading, unit_meant
from bondloop.measurements.measured import Measurements
from bondloop.measurements.text_cells import cells_of, number_in
from bondloop.measurements.text_layout import NUMBERS, WORDS, Layout
from bondloop.measurements.text_rows import numbers_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["FIRST", "from_lvm"]

FIRST = "LabVIEW Measurement"
"""What every such file begins with."""
_END = "***End_of_Header***"
_TIME = "X_Value"


@dataclass
class _Segment:
    """Samples that were written at once."""

    columns: dict[str, Array] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    time: Array | None = None


def from_lvm(lines: Sequence[str], where: str) -> Measurements:
    """Return the measurements in the lines of an LVM file.

    Segments with the same channels and units are joined where their times follow one another; otherwise the
    longest is kept, which is noted.

    Parameters
    ----------
    lines
        Of the file.
    where
        The file, for messages.
    """
    ends = [i for i, line in enumerate(lines) if line.strip().startswith(_END)]
    about = {}
    for line in lines[1 : ends[0] if ends else 0]:
        key, *values = line.split("\t") if "\t" in line else re.split(r"[,;]", line, maxsplit=1)
        about[key.strip()] = values[0].strip() if values else ""
    separator = "," if about.get("Separator", "Tab").lower() == "comma" else "\t"
    if len(ends) < 2:
        raise InputError(
            f"{where}: an LVM file with {len(ends)} of the two lines '{_END}' that were expected: a head for "
            "the file and one for its channels; it is cut short, or was saved without headers"
        )
    faults: list[str] = []
    stops = [_segment_start(lines, end) for end in ends[2:]] + [len(lines)]
    segments = [
        _segment(lines, start, end, stop, separator, faults)
        for start, end, stop in zip([ends[0] + 1, *stops], ends[1:], stops, strict=False)
    ]
    refuse(where, faults)
    found = Measurements(
        where, f"LabVIEW measurement (LVM), {len(segments)} segment" + "s" * (len(segments) > 1)
    )
    found.texts.update({key: value for key, value in about.items() if value})
    _keep(segments, found)
    return found


def _segment_start(lines: Sequence[str], end: int) -> int:
    """Return where the head begins that ends at a line: at the word Channels above it."""
    return next((i for i in range(end, -1, -1) if lines[i].startswith("Channels")), end)


def _segment(
    lines: Sequence[str], start: int, end: int, stop: int, separator: str, faults: list[str]
) -> _Segment:
    """Read one segment: its head from start to end, its names in the line after, then rows."""
    head = {}
    for line in lines[start:end]:
        key, *cells = cells_of(line, separator)
        head[key] = cells
    rows = [i for i in range(end + 1, stop) if lines[i].strip()]
    if not rows:
        faults.append(f"line {end + 1}: no names of channels after it")
        return _Segment()
    names = cells_of(lines[rows[0]], separator)
    rows = rows[1:]
    if names and names[-1] in ("", "Comment"):
        names = names[:-1]
    stamped = any(cells_of(lines[i], separator)[0] for i in rows[:5])
    kinds = (*(WORDS if name == _TIME and not stamped else NUMBERS for name in names), WORDS)
    signals = [place for place, name in enumerate(names) if name != _TIME]
    called = [heading(name)[0] for name in names]
    if len({called[place] for place in signals}) < len(signals) or not signals:
        faults.append(f"line {end + 2}: names that are not all different: {', '.join(names)[:200]}")
        return _Segment()
    numbers = numbers_of(lines, Layout(separator, (), end + 1, None, rows, kinds), names, faults)
    segment = _Segment()
    labels = head.get("Y_Unit_Label", [])
    for place in signals:
        # What the head says of a channel stands in its own column; the first one has the words.
        unit = (labels[place - 1] if 0 < place <= len(labels) else "") or heading(names[place])[1]
        meant = unit_meant(unit)
        segment.columns[called[place]] = numbers.get(place, np.zeros(0))
        segment.units[called[place]] = unit if meant is None else meant
    times = [numbers[place] for place, name in enumerate(names) if name == _TIME and place in numbers]
    if times and np.isfinite(times[0]).any():
        if any(not np.array_equal(other, times[0]) for other in times[1:]):
            faults.append(f"line {end + 2}: channels with different times; export them at one rate")
        segment.time = times[0]
    else:
        segment.time = _from_head(head, len(rows))
    faults += _no_time(head, end, columns=len(times))
    return segment


def _no_time(head: dict[str, list[str]], end: int, columns: int) -> list[str]:
    """Return why what the channels are over is no time, or, without a column of it each, not one for all."""
    over = {word for word in head.get("X_Dimension", []) if word and word.lower() != "time"}
    if over:
        return [f"line {end + 1}: the channels are over {', '.join(sorted(over))[:60]}, not over time"]
    starts = {number_in(cell, None) for cell in head.get("X0", []) if cell}
    if columns < 2 and len(starts) > 1:
        shown = ", ".join(f"{x:g} s" for x in sorted(x for x in starts if x is not None))
        return [
            f"line {end + 1}: channels that begin at different times, {shown[:80]}; export them one by one"
        ]
    return []


def _from_head(head: dict[str, list[str]], rows: int) -> Array | None:
    """Return the times that first time and step of the head tell."""
    steps = {number_in(cell, None) for cell in head.get("Delta_X", []) if cell}
    starts = [number_in(cell, None) for cell in head.get("X0", []) if cell]
    if len(steps) != 1 or None in steps:
        return None
    step, first = steps.pop(), next((x for x in starts if x is not None), 0.0)
    return None if not step or step <= 0 else first + step * np.arange(float(rows))


def _keep(segments: Sequence[_Segment], found: Measurements) -> None:
    """Join segments, or keep the longest."""
    chosen = max(segments, key=lambda s: len(next(iter(s.columns.values()), ())))
    times = [
        s.time for s in segments if s.time is not None and list(s.units.items()) == list(chosen.units.items())
    ]
    if len(segments) > 1 and len(times) == len(segments) and (np.diff(np.concatenate(times)) > 0).all():
        columns = {name: np.concatenate([s.columns[name] for s in segments]) for name in chosen.columns}
        chosen = _Segment(columns, chosen.units, np.concatenate(times))
    elif len(segments) > 1:
        found.notes.append(
            f"only the longest of {len(segments)} segments is read: they have other channels or units, or "
            "times that do not follow one another"
        )
    if chosen.time is not None:
        found.channels["time"], found.units["time"] = chosen.time, "s"
    for name, values in chosen.columns.items():
        found.channels[name], found.units[name] = values, chosen.units[name]
