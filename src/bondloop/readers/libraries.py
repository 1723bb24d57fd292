"""TDMS, MDF and Parquet by libraries of others, each in the process that reads.

These libraries take a file at its word: a false size is allocated, a list of blocks that leads back to itself
is followed for ever. The process has bounded time and memory, so that this is a sentence here. asammdf brings
a dozen packages along and a second to import, which the process of the user is spared, too.
"""

from __future__ import annotations

import importlib.util
import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.containers import expect_file, readable
from bondloop.errors import InputError
from bondloop.readers.headings import heading, unit_meant
from bondloop.readers.measured import Measurements
from bondloop.readers.policy import LIMITS
from bondloop.readers.reader_process import ask

if TYPE_CHECKING:
    from numpy.typing import NDArray


LIBRARIES = {
    "tdms": ("nptdms", "npTDMS", "TDMS file", b"TDSm"),
    "mdf": ("asammdf", "asammdf", "MDF file", b"MDF "),
    "parquet": ("pyarrow", "pyarrow", "Parquet file", b"PAR1"),
}
"""By extra: the module, the package, what the file is called, what it begins with."""
UNFINISHED = b"UnFinMF "
"""What an MDF file begins with whose recorder was stopped."""


def expect_library(extra: str) -> None:
    """Refuse to go on without a library, and say how to get it.

    Parameters
    ----------
    extra
        Of bondloop that brings it: ``"tdms"``, ``"mdf"`` or ``"parquet"``.
    """
    module, package, kind, _ = LIBRARIES[extra]
    if importlib.util.find_spec(module) is None:
        raise InputError(
            f"a {kind} needs the package {package}, which is not installed: pip install 'bondloop[{extra}]'"
        )


def by_library(path: Path, extra: str) -> Measurements:
    """Read a file by its library, in another process.

    Parameters
    ----------
    path
        Of the file.
    extra
        As for `expect_library`.
    """
    expect_library(extra)
    _, _, kind, begins = LIBRARIES[extra]
    with readable(path, kind):
        expect_file(path)
        with path.open("rb") as file:
            first = file.read(8)
    if not first.startswith(begins) and not (extra == "mdf" and first == UNFINISHED):
        raise InputError(f"{path} is no {kind}: it begins with {first!r}; expected {begins!r}")
    module = LIBRARIES[extra][0]
    needs = ["pyarrow.parquet" if module == "pyarrow" else module]
    answer, body = ask("bondloop.readers.libraries:read_parts", path, needs, extra=extra)
    if not answer["sizes"]:
        raise InputError(f"{path}: a {kind} without channels of numbers")
    return Measurements.from_parts(answer, body)


# ---------------------------------------------------------------------- in the other process


def _tdms(path: Path, found: Measurements) -> None:
    """Take the channels of all groups; a step of their own is a number beside them."""
    from nptdms import TdmsFile

    with path.open("rb") as file, TdmsFile.open(file) as content:  # as a stream: no index beside it is read
        channels = [channel for group in content.groups() for channel in group.channels()]
        _expect_sizes(((c.path, len(c)) for c in channels), path)
        names = [channel.name for channel in channels]
        texts = [c.name if names.count(c.name) == 1 else f"{c.group_name}.{c.name}" for c in channels]
        left_out = []
        begins: dict[str, tuple[Any, float, float]] = {}
        if content.file_status.incomplete_final_segment:
            found.notes.append(
                "its last segment is incomplete: the recorder was stopped, or the file was cut"
            )
        found.texts.update({str(k): str(v)[:400] for k, v in list(content.properties.items())[:200]})
        for channel, text in zip(channels, texts, strict=True):
            name, unit = _free(found, text, texts)
            values = np.asarray(channel[:])
            said = str(channel.properties.get("unit_string", channel.properties.get("unit", "")))
            if values.dtype.kind == "M":
                values = (values - values[:1]) / np.timedelta64(1, "s") if values.size else np.zeros(0)
                said = "s"
            if values.dtype.kind not in "fiub" or name in found.channels or not name:
                left_out.append(channel.path)
                continue
            found.channels[name] = values.astype(np.float64)
            found.units[name] = _unit(said) or unit
            step = channel.properties.get("wf_increment")
            if isinstance(step, (int, float)) and step > 0:
                found.numbers[f"{name}.wf_increment"] = float(step)
                begins[name] = _begin(channel.properties, float(step))
    _tell_left_out(found, left_out)
    _keep_those_that_begin_together(found, begins)


def _begin(properties: Mapping[str, object], step: float) -> tuple[Any, float, float]:
    """Return when a waveform begins: by the clock, and behind that; and its step."""
    offset = properties.get("wf_start_offset", 0.0)
    return properties.get("wf_start_time"), float(offset) if isinstance(offset, (int, float)) else 0.0, step


def _keep_those_that_begin_together(found: Measurements, begins: dict[str, tuple[Any, float, float]]) -> None:
    """Leave out waveforms that begin at another time than the first: their samples are not of its times."""
    if not begins:
        return
    clock, offset, _ = next(iter(begins.values()))
    late = []
    for name, (other, more, step) in begins.items():
        both = isinstance(clock, np.datetime64) and isinstance(other, np.datetime64)
        apart = more - offset + (float((other - clock) / np.timedelta64(1, "s")) if both else 0.0)
        if abs(apart) > step / 2:
            late.append(f"{name} ({apart:+g} s)")
            del found.channels[name], found.units[name], found.numbers[f"{name}.wf_increment"]
    if late:
        shown = ", ".join(late[:12]) + (f" and {len(late) - 12} more" if len(late) > 12 else "")
        found.notes.append(
            f"left out, as they begin at another time than {next(iter(begins))}: {shown[:400]}"
        )


def _free(found: Measurements, text: str, texts: Sequence[str]) -> tuple[str, str]:
    """Return name and unit of a channel; the name with its unit where it is another's: F (kN) beside F."""
    name, unit = heading(text)
    return (text if name in found.channels or (name != text and name in texts) else name), unit


def _mdf(path: Path, found: Measurements) -> None:
    """Take the channels that share one clock: that of the group with the most numbers."""
    from asammdf import MDF

    # Bounded memory instead of a cache; no attachments, no databases of buses, nothing but numbers.
    library: Any = MDF
    with library(str(path)) as content:
        groups = []
        size = 0
        for number, group in enumerate(content.groups):
            count = int(group.channel_group.cycles_nr)
            size += len(group.channels)
            if count < 1:
                continue
            groups.append((count * len(group.channels), number))
        _expect_sizes(((f"group {n}", cells) for cells, n in groups), path)
        if size > LIMITS.library_channels:
            raise InputError(f"{path} claims {size:,} channels; at most {LIMITS.library_channels:,} are read")
        clock: NDArray[np.float64] | None = None
        left_out: list[str] = []
        for _, number in sorted(groups, reverse=True):
            clock = _mdf_group(content, number, clock, found, left_out)
    _tell_left_out(found, left_out)


def _mdf_group(
    content: Any, number: int, clock: NDArray[np.float64] | None, found: Measurements, left_out: list[str]
) -> NDArray[np.float64] | None:
    master = content.masters_db.get(number)
    for index, channel in enumerate(content.groups[number].channels):
        if index == master:
            continue
        # With those that are marked as invalid: without them the channel would run by a clock of its own.
        signal = content.get(group=number, index=index, ignore_invalidation_bits=True)
        values = np.asarray(signal.samples)
        if clock is None:
            clock = np.asarray(signal.timestamps, dtype=np.float64)
            if master is not None:
                found.channels["time"], found.units["time"] = clock, "s"
        name = signal.name or channel.name
        name = f"group {number}.{name}" if name in found.channels else name
        other = values.ndim != 1 or values.dtype.kind not in "fiub" or name in found.channels
        if other or not name or not np.array_equal(signal.timestamps, clock):
            left_out.append(f"{name or index} (group {number})")
            continue
        values = values.astype(np.float64)
        if signal.invalidation_bits is not None:
            values[np.asarray(signal.invalidation_bits, dtype=bool)] = np.nan
        found.channels[name], found.units[name] = values, _unit(str(signal.unit or ""))
    return clock


def _parquet(path: Path, found: Measurements) -> None:
    from pyarrow import parquet, types

    with parquet.ParquetFile(path) as file:
        rows, schema = file.metadata.num_rows, file.schema_arrow
        _expect_sizes([("its table", rows * len(schema))], path)
        units = json.loads((schema.metadata or {}).get(b"bondloop units", b"{}"))
        wanted = [f.name for f in schema if types.is_integer(f.type) or types.is_floating(f.type)]
        table = file.read(columns=wanted)
    for column in wanted:
        name, unit = (column, str(units[column])) if column in units else _free(found, column, wanted)
        found.channels[name] = table[column].to_numpy().astype(np.float64)
        found.units[name] = unit
    _tell_left_out(found, [f.name for f in schema if f.name not in wanted])


def _expect_sizes(counts: Iterable[tuple[str, int]], path: Path) -> None:
    """Refuse more numbers than a file can hold, before any of them is read."""
    counts = list(counts)
    if len(counts) > LIMITS.library_channels:
        raise InputError(
            f"{path} claims {len(counts):,} channels; at most {LIMITS.library_channels:,} are read"
        )
    whole = sum(count for _, count in counts)
    if 8 * whole > LIMITS.library_bytes:
        name, most = max(counts, key=lambda item: item[1])
        raise InputError(
            f"{path} claims {whole:,} numbers, {most:,} of them in {name[:80]}, in a file of "
            f"{path.stat().st_size:,} bytes; at most {LIMITS.library_bytes // 8:,} are read"
        )


def _tell_left_out(found: Measurements, names: list[str]) -> None:
    if names:
        shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
        found.notes.append(f"left out, as they hold no numbers or run by another clock: {shown[:400]}")


def _unit(text: str) -> str:
    meant = unit_meant(text)
    return text.strip() if meant is None else meant


READERS: dict[str, Callable[[Path, Measurements], None]] = {"tdms": _tdms, "mdf": _mdf, "parquet": _parquet}


def read_parts(path: Path, extra: str) -> tuple[dict[str, object], list[NDArray[np.float64]]]:
    """Read a file for another process; see `Measurements.parts`.

    Parameters
    ----------
    path
        Of the file.
    extra
        As for `expect_library`.
    """
    kind = LIBRARIES[extra][2]
    found = Measurements(str(path), kind)
    with warnings.catch_warnings(), readable(path, kind):
        warnings.simplefilter("ignore")
        READERS[extra](path, found)
    return found.parts()
