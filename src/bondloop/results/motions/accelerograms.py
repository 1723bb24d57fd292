"""Ground motions from files: COSMOS, ESM, PEER's AT2 and columns of text, told apart by their content."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.readers import (
    NUMBER,
    NoTimeError,
    fixed_numbers,
    fortran_number,
    free_numbers,
    read_measurements,
    read_table,
    read_text,
    refuse,
    sampling_of,
)
from bondloop.results.motions.ground_motion import GroundMotion
from bondloop.results.motions.units import (
    FACTORS,
    UNSAID,
    even_period,
    factor_of,
    header_units,
    plausible,
    seconds_in,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.readers import Measurements


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
        faults.append(f"{place} 1: real headers 62 [ms] and 34 [s] tell no sample period")
    return channel


def _period(reals: NDArray[np.float64]) -> float:
    """Return seconds between samples of the values (real header 62, in ms) or of the recorder (34, in s)."""
    for number, factor in ((62, 1e-3), (34, 1.0)):
        value = float(reals[number - 1]) * factor if reals.size >= number else 0.0
        if 0 < value < np.inf:
            return value
    return 0.0


def _title(channel: _Channel) -> str:
    """Station and channel: the fifth and ninth line of the header, as the format orders them."""
    said = [channel.header[k] for k in (1, 4, 8) if k < len(channel.header)]
    return ", ".join(" ".join(part.split()) for part in said)


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


_NEW = re.compile(rf"NPTS\s*=\s*(\d{{1,15}})\s*,?\s*DT\s*=\s*({NUMBER})", re.IGNORECASE)
_OLD = re.compile(rf"^\s*(\d{{1,15}})\s+({NUMBER})\s+NPTS\s*,\s*DT", re.IGNORECASE)
_UNITS = re.compile(r"UNITS\s+OF\s+(\S+)", re.IGNORECASE)
HEADER = slice(20)
"""Lines in which the count and the sample period are looked for; PEER puts them on line 4."""


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
        ((n, m) for n, line in enumerate(lines[HEADER]) if (m := _NEW.search(line) or _OLD.search(line))),
        (0, None),
    )
    if match is None:
        raise InputError(
            f"{where} is no AT2 file: none of its first {HEADER.stop} lines has 'NPTS= ..., DT= ...' "
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


def read_two_columns(
    path: str | os.PathLike[str],
    unit: str | None = None,
    *,
    time_unit: str | None = None,
    column: int | str | None = None,
) -> GroundMotion:
    r"""Read times and accelerations from columns, parted by space, comma, semicolon or tab.

    Lines before the first numbers, and lines that start with ``#`` or ``%``, are the header. Units that it
    gives count, in brackets or as the last word of a column's name, ``time [ms], acc [g]``,
    ``time_ms,acc_g``; ``g`` is gravity there, not gram. Where it gives none, you have to say that of
    the acceleration; times are in s then, unless samples would be more than 0.1 s apart.

    Parameters
    ----------
    path
        Of the file.
    unit, time_unit
        Of the acceleration and the time; refused where the header says otherwise.
    column
        Which acceleration, where there are more columns than two: by number, the time being 0, or by its name
        in the header.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "kobe.csv"
    >>> _ = file.write_text("time [ms],acc [g]\n0,0.0\n20,0.5\n40,-0.1\n")
    >>> motion = read_two_columns(file)
    >>> motion.sample_period, motion.peak
    (0.02, 4.903325)
    """
    table = read_table(path, header=False, width=2 if column is None else None)
    where = str(path)
    faults: list[str] = []
    place = 1 if column is None else _place(column, table.remarks, len(table.numbers), where)
    if table.numbers.shape[1] < 2:
        raise InputError(f"{where}: {table.numbers.shape[1]} lines with numbers; at least 2 are needed")
    said = header_units(table.remarks, [0, place], faults, len(table.numbers))
    if not (unit or said[1] or faults):
        header = f"the header {table.remarks[-1][:60]!r} names none" if table.remarks else "it has no header"
        faults.append(f"the unit of the acceleration is not known: {header}; {UNSAID}")
    factors = []
    for what, mine, theirs, convert, otherwise in (
        ("time", time_unit, said[0], seconds_in, "s"),
        ("acceleration", unit, said[1], factor_of, "m/s^2"),
    ):
        factor = 1.0
        try:
            factor = convert(mine or theirs or otherwise)
            if mine and theirs and convert(theirs) != factor:
                faults.append(
                    f"the {what} is in {theirs} by its header, in {mine} by what you say; which is it?"
                )
        except InputError as error:
            faults.append(
                f"the {what}: {error}" + ("" if mine else "; give the unit yourself, if that is none")
            )
        factors.append(factor)
    refuse(where, faults)
    time, values = table.numbers[0] * factors[0], table.numbers[place] * factors[1]
    columns_alone = len(table.remarks) == 1 and any(said)
    title = table.remarks[0].lstrip("#% ") if table.remarks and not columns_alone else Path(path).stem
    motion = GroundMotion(values, even_period(time, where), title, table.remarks)
    return plausible(motion, where, time_said=bool(time_unit or said[0]))


def _place(column: int | str, remarks: tuple[str, ...], count: int, where: str) -> int:
    """Return the number of a column that is given by number or by name."""
    if isinstance(column, str):
        line = remarks[-1].lstrip("#% ") if remarks else ""
        parted = re.split(r"[,;\t]", line) if re.search(r"[,;\t]", line) else line.split()
        names = [re.sub(r"[\[(].*", "", cell).strip().strip('"').strip() for cell in parted]
        if column not in names[1:]:
            raise InputError(unknown_name("column", column, names[1:], where=where))
        column = names.index(column)
    if isinstance(column, bool) or not 1 <= column < count:
        raise InputError(f"{where}: column {column} of {count}; expected 1 to {count - 1}, the time being 0")
    return column


ACCELERATIONS = (
    "a", "acc", "accel", "acceleration", "ground_acceleration", "ground", "ag", "ug", "xg", "ugdd", "xgdd",
    "ddug", "ddxg",
)  # fmt: skip
"""Names of accelerations in MATLAB files, in small letters, whatever structure they stand in."""


def read_matlab_motion(
    path: str | os.PathLike[str], unit: str | None = None, *, time_unit: str | None = None
) -> GroundMotion:
    """Read a ground motion from a MATLAB file (5 or 7.3).

    What is understood: a table of two columns (or two rows, as Simulink saves signals), time in s and
    acceleration; a vector called ``t`` or ``time`` and one called ``a``, ``acc``, ``acceleration``, ``ag``
    or the like, or the only other one of that length; or instead of the time a single number called ``dt``
    or ``fs``. They may stand in a structure.

    Parameters
    ----------
    path
        Of the file.
    unit
        Of the acceleration; ``"g"`` means gravity here, not gram. Unless given, the text called ``unit`` or
        ``units`` in the file, if there is one and it is of version 5; where nobody says it, it is refused.
    time_unit
        Of the times or the sample period; s unless given.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import savemat
    >>> file = Path(tempfile.mkdtemp()) / "kobe.mat"
    >>> savemat(file, {"dt": 0.02, "ag": [0.0, 1.5, -2.0]})
    >>> motion = read_matlab_motion(file, unit="m/s^2")
    >>> motion.sample_period, motion.peak
    (0.02, 2.0)
    """
    found = read_measurements(path)
    time, name = _time_and_acceleration(found, time_unit)
    values, title = found.channels[name], re.sub(r"\.2$", "", name)
    texts = {text for key, text in found.texts.items() if key.rpartition(".")[2].lower() in ("unit", "units")}
    said = sorted(text.strip() for text in texts | {found.units[name]} if text.strip())
    if unit is None and len(said) > 1:
        raise InputError(f"{path}: it names {len(said)} units, {', '.join(said)[:80]}; say which with unit=")
    if not np.isfinite(values).all():
        raise InputError(f"{path}: its acceleration has values that are no finite numbers")
    period = even_period(time, str(path)) if isinstance(time, np.ndarray) else time
    if unit is None and not said:
        raise InputError(
            f"{path}: the unit of the acceleration '{title}' is not known: "
            f"no text called 'unit' in it says it; {UNSAID}"
        )
    motion = GroundMotion(values * factor_of(unit or said[0]), period, title)
    return plausible(motion, str(path), time_said=time_unit is not None)


def _time_and_acceleration(
    found: Measurements, time_unit: str | None
) -> tuple[NDArray[np.float64] | float, str]:
    """Return the times or the sample period in s, and the name of the acceleration."""
    sizes = {name: values.size for name, values in found.channels.items()}
    factor = seconds_in(time_unit or "s")
    try:
        sampling = sampling_of(found)
    except NoTimeError:
        if len(sizes) == 2 and all(re.search(r"\.[12]$", name) for name in sizes):  # a table of the two
            first, second = sizes
            return factor * found.channels[first], second
    else:
        time = sampling.name
        others = [n for n in sizes if n != time and (time is None or sizes[n] == sizes[time])]
        named = [n for n in others if n.rpartition(".")[2].lower() in ACCELERATIONS] or others
        if len(named) == 1 and time is not None and sampling.stamps is not None:
            return factor * found.channels[time] if time_unit else sampling.stamps, named[0]
        if len(named) == 1 and sampling.rate is not None:
            return factor * float(f"{1 / sampling.rate:.12g}"), named[0]
    counts = ", ".join(f"{name} ({size})" for name, size in sizes.items())
    raise InputError(
        f"{found.source}: expected one time ('t' or 'time') or sample period ('dt') and one acceleration "
        f"('a', 'acc', 'ag' ...), or one table of the two columns; found {counts[:300] or 'no numbers'}"
    )


def read_ground_motion(
    path: str | os.PathLike[str],
    unit: str | None = None,
    *,
    channel: int | str | None = None,
    time_unit: str | None = None,
) -> GroundMotion:
    """Read a ground motion of any kind: AT2, COSMOS V1 and V2, ESM, MATLAB, columns of text; told by content.

    Parameters
    ----------
    path
        Of the file.
    unit
        Of the acceleration, for columns of text and MATLAB files that do not say it themselves; ``"g"`` is
        gravity.
    channel
        Which acceleration, where a COSMOS file or a table holds several: by number from 1; in a table also by
        name.
    time_unit
        Of the times in columns of text that do not say it themselves: ``"ms"``.
    """
    if Path(path).suffix.lower() == ".mat":
        _refuse_options(path, channel=channel)
        return read_matlab_motion(path, unit, time_unit=time_unit)
    lines = read_text(path, strict=False).splitlines()
    head = [line.upper() for line in lines[HEADER]]
    if any(FIRST.search(line) for line in lines[:200]):
        _refuse_options(path, unit=unit, time_unit=time_unit)
        if isinstance(channel, str):
            raise InputError(f"{path}: channels of a COSMOS file have numbers; found channel={channel!r:.40}")
        return read_cosmos(path, channel)
    if Path(path).suffix.lower() == ".at2" or any("NPTS" in line and "DT" in line for line in head):
        _refuse_options(path, unit=unit, time_unit=time_unit, channel=channel)
        return read_at2(path)
    if any("SAMPLING_INTERVAL_S:" in line for line in lines[:200]):
        _refuse_options(path, unit=unit, time_unit=time_unit, channel=channel)
        return read_esm(path)
    return read_two_columns(path, unit, time_unit=time_unit, column=channel)


def _refuse_options(path: str | os.PathLike[str], **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise InputError(
                f"{path}: a file of this kind says its {name} itself; leave out {name}={value!r:.40}"
            )
