"""Any file of measurements: text, arrays (NumPy, MATLAB, HDF5, run files), and TDMS, MDF and Parquet.

The libraries for the last three take a file at its word: a false size is allocated, a list of blocks that
leads back to itself is followed for ever. All but text is read by a process with bounded time and memory, so
that this is a sentence here. asammdf brings a dozen packages along and a second to import, which
the process of the user is spared, too.
"""

from __future__ import annotations

import importlib.util
import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.containers import (
    dataset_checked,
    dataset_values,
    expect_file,
    load_matlab,
    load_numpy,
    own_item,
    readable,
)
from bondloop.errors import InputError
from bondloop.readers.measured import Measurements
from bondloop.readers.reader_process import read_in_process
from bondloop.readers.text import FIRST, from_lines, from_lvm
from bondloop.readers.text_cells import heading, unit_or_text
from bondloop.readers.text_layout import read_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHANNELS = 100_000
"""Columns of a run file or an array, at most."""

LIBRARY_CHANNELS, LIBRARY_BYTES = 10_000, 2**31
"""Channels, and bytes of all numbers, that a TDMS, MDF or Parquet file may claim."""

RUN = "bondloop run"
"""What a run file says of its format; see `bondloop.results.records.hdf5`."""


def read_numpy(path: Path) -> Measurements:
    """Read a NumPy archive.

    Parameters
    ----------
    path
        Of the file.
    """
    found = Measurements(str(path), "NumPy archive")
    for name, values in load_numpy(path).items():
        found.take(name, values)
    return found


def read_matlab(path: Path) -> Measurements:
    """Read a MATLAB file of any version: vectors, tables, structures.

    Parameters
    ----------
    path
        Of the file.
    """
    content = load_matlab(path, simple=True)
    if content is None:  # version 7.3 is HDF5
        return read_hdf5(path, "MATLAB file, version 7.3")
    known = _channel_names(content.pop("channel_names", None))
    found = Measurements(str(path), "MATLAB file, up to version 7")
    for name, value in content.items():
        _take_struct(found, *known.get(name, (name, "")), value)
    return found


def _channel_names(table: object) -> dict[str, tuple[str, str]]:
    """Return path name and unit of each MATLAB name, from the table that `Record.to_mat` writes."""
    rows = np.asarray(table, dtype=object)
    if rows.ndim == 1 and rows.shape == (3,):
        rows = rows[None, :]
    if table is None or rows.ndim != 2 or rows.shape[1] != 3:
        return {}
    # An empty unit comes back as an empty array.
    return {str(row[0]): (str(row[1]), row[2] if isinstance(row[2], str) else "") for row in rows}


def _take_struct(found: Measurements, name: str, unit: str, value: object) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _take_struct(found, f"{name}.{key}", "", inner)
    elif isinstance(value, str):
        found.texts[name] = value[:400]
    else:
        found.take(name, value, unit)


def read_hdf5(path: Path, kind: str = "HDF5 file") -> Measurements:
    """Read an HDF5 file: datasets of one or two dimensions, wherever they stand; or the table of a run.

    Parameters
    ----------
    path
        Of the file.
    kind
        What it is, in words.
    """
    import h5py

    if not h5py.is_hdf5(path):
        raise InputError(f"{path} is not an HDF5 file, though its name says so")
    found = Measurements(str(path), kind)
    turned = kind.startswith("MATLAB")  # MATLAB writes the columns of a matrix one after the other
    with readable(path, "HDF5 file"), _opened(path) as file:
        if _text(file.attrs.get("format")) == RUN:
            found.kind = "run file of bondloop"
            _take_run(found, file)
            return found
        for name, value in file.attrs.items():
            found.take(name, value)
        file.visititems(lambda name, item: _take_dataset(found, name, item, turned=turned))
    return found


def _opened(path: Path) -> Any:
    import h5py

    try:
        return h5py.File(path, "r")
    except OSError:  # marked as open for writing: by a recorder at work, or by one that was killed
        return h5py.File(path, "r", swmr=True)


def _take_run(found: Measurements, file: Any) -> None:
    """Take the columns of a run file, as far as they are complete; once a dataset was a column."""
    import h5py

    committed = own_item(file, "committed")
    rows = None if committed is None else int(dataset_values(committed))
    time, table = own_item(file, "time"), own_item(file, "channels")
    if isinstance(time, h5py.Dataset):
        found.channels["time"] = np.atleast_1d(dataset_values(time, rows)).astype(np.float64)
        found.units["time"] = "s"
    if isinstance(table, h5py.Group):
        table.visititems(lambda name, item: _take_dataset(found, name, item, rows))
        return
    names, units = (_texts(own_item(file, f"channel_{word}")) for word in ("names", "units"))
    if not isinstance(table, h5py.Dataset) or table.ndim != 2 or table.shape[1] != len(names):
        raise InputError(f"{found.source}: its table 'channels' does not fit {len(names)} names of channels")
    dataset_checked(table)
    numbers = table[: len(found.channels.get("time", ()))]
    for name, unit, column in zip(names, [*units, *[""] * len(names)], numbers.T, strict=False):
        found.channels[name], found.units[name] = np.ascontiguousarray(column, dtype=np.float64), unit


def _texts(dataset: Any) -> list[str]:
    if getattr(dataset, "ndim", 0) != 1 or dataset.dtype.kind != "S" or dataset.size > CHANNELS:
        return []
    return [text.decode("utf-8", "replace") for text in dataset_values(dataset).tolist()]


def _text(value: object) -> str:
    """Return a text, be it the only one of an array; nothing for anything else."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _take_dataset(
    found: Measurements, name: str, item: Any, rows: int | None = None, *, turned: bool = False
) -> None:
    import h5py

    if not isinstance(item, h5py.Dataset) or item.attrs.get("MATLAB_class") == b"char":
        return
    if turned and name.startswith(("#refs#", "#subsystem#")):  # contents of cells and objects
        return
    if item.dtype.kind in "fiub":
        name = name.replace("/", ".")
        said = item.attrs.get("unit", item.attrs.get("units", ""))
        unit = _text(said)
        if not unit and np.size(said) and not isinstance(said, (str, bytes, h5py.Empty)):
            found.notes.append(f"'{name}' has a unit that is no text, which was not used: {said!r:.60}")
        values = _unpacked(found, name, item, dataset_values(item, rows if item.ndim else None))
        if values is not None:
            found.take(name, np.transpose(values) if turned else values, unit)


def _unpacked(
    found: Measurements, name: str, item: Any, values: NDArray[np.number]
) -> NDArray[np.number] | None:
    """Return values as the conventions of netCDF mean them: NaN where filled, scaled, shifted; else None."""
    numbers = {}
    for word, usual in (("scale_factor", 1.0), ("add_offset", 0.0)):
        given = np.asarray(item.attrs.get(word, usual))
        if given.dtype.kind not in "fiu" or given.size != 1 or not np.isfinite(given).all():
            found.notes.append(f"'{name}' was left out: its {word} is no number: {item.attrs[word]!r:.60}")
            return None
        numbers[word] = float(given.reshape(-1)[0])
    fills = [np.asarray(item.attrs[word]) for word in ("_FillValue", "missing_value") if word in item.attrs]
    fills = [fill.reshape(-1) for fill in fills if fill.dtype.kind in "fiu"]
    if not fills and numbers == {"scale_factor": 1.0, "add_offset": 0.0}:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        if values.dtype.kind == "f":  # 1e20 is another number as a float32
            fills = [fill.astype(values.dtype) for fill in fills]
        scaled = values.astype(np.float64) * numbers["scale_factor"] + numbers["add_offset"]
    return np.where(np.isin(values, np.concatenate(fills)), np.nan, scaled) if fills else scaled


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


def _expect_beginning(path: Path, extra: str) -> None:
    """Refuse a file that does not begin as files of its kind do."""
    _, _, kind, begins = LIBRARIES[extra]
    with readable(path, kind):
        expect_file(path)
        with path.open("rb") as file:
            first = file.read(8)
    if not first.startswith(begins) and not (extra == "mdf" and first == UNFINISHED):
        raise InputError(f"{path} is no {kind}: it begins with {first!r}; expected {begins!r}")


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
            found.units[name] = unit_or_text(said) or unit
            step = channel.properties.get("wf_increment")
            if isinstance(step, (int, float)) and step > 0:
                found.numbers[f"{name}.wf_increment"] = float(step)
                begins[name] = _begin(channel.properties, float(step))
    _report_left_out(found, left_out)
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
        if size > LIBRARY_CHANNELS:
            raise InputError(f"{path} claims {size:,} channels; at most {LIBRARY_CHANNELS:,} are read")
        clock: NDArray[np.float64] | None = None
        left_out: list[str] = []
        for _, number in sorted(groups, reverse=True):
            clock = _mdf_group(content, number, clock, found, left_out)
    _report_left_out(found, left_out)


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
        found.channels[name], found.units[name] = values, unit_or_text(str(signal.unit or ""))
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
    _report_left_out(found, [f.name for f in schema if f.name not in wanted])


def _expect_sizes(counts: Iterable[tuple[str, int]], path: Path) -> None:
    """Refuse more numbers than a file can hold, before any of them is read."""
    counts = list(counts)
    if len(counts) > LIBRARY_CHANNELS:
        raise InputError(f"{path} claims {len(counts):,} channels; at most {LIBRARY_CHANNELS:,} are read")
    whole = sum(count for _, count in counts)
    if 8 * whole > LIBRARY_BYTES:
        name, most = max(counts, key=lambda item: item[1])
        raise InputError(
            f"{path} claims {whole:,} numbers, {most:,} of them in {name[:80]}, in a file of "
            f"{path.stat().st_size:,} bytes; at most {LIBRARY_BYTES // 8:,} are read"
        )


def _report_left_out(found: Measurements, names: list[str]) -> None:
    if names:
        shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
        found.notes.append(f"left out, as they hold no numbers or run by another clock: {shown[:400]}")


ENDINGS = {
    **dict.fromkeys((".csv", ".txt", ".tsv", ".dat", ".asc", ".lvm", ".tst"), "text"),
    ".mat": "mat",
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".nc"), "hdf5"),
    ".npz": "npz",
    ".tdms": "tdms",
    **dict.fromkeys((".mf4", ".mdf"), "mdf"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
}
"""Which reader reads files of which ending."""
NEEDS: Mapping[str, Sequence[str]] = {
    "npz": [], "mat": ["scipy.io", "h5py"], "hdf5": ["h5py"], "tdms": ["nptdms"], "mdf": ["asammdf"],
    "parquet": ["pyarrow.parquet"],
}  # fmt: skip
"""Libraries of kinds of files that a process of its own reads."""


def read_measurements(path: str | os.PathLike[str], *, nameless: bool = False) -> Measurements:
    r"""Read whatever a recorder wrote: text, LVM, MATLAB, HDF5, NumPy, TDMS, MDF, Parquet.

    The ending of the name says which reader is taken; a ``.dat`` that begins as an MDF file is one. TDMS, MDF
    and Parquet need an extra (``pip install 'bondloop[tdms,mdf,parquet]'``). All but
    text is read by a process of its own: damaged files make the libraries for them loop or crash.

    Parameters
    ----------
    path
        Of the file.
    nameless
        Whether columns of text without names are good; they are then called ``column 0``, ``column 1``, ...

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rig.csv"
    >>> _ = file.write_text("Time (ms),Command (mm)\n0,1\n5,2\n")
    >>> found = read_measurements(file)
    >>> found.units
    {'Time': 'ms', 'Command': 'mm'}
    """
    file = Path(path)
    if not file.exists():
        raise InputError(f"there is no file {path}")
    if file.is_dir():
        raise InputError(f"{path} is a folder; expected a file")
    kind = ENDINGS.get(file.suffix.lower())
    if kind is None:
        known = ", ".join(list(ENDINGS)[:-1])
        raise InputError(
            f"cannot tell what {file.name} is; measured data end in {known} or {list(ENDINGS)[-1]}"
        )
    if file.suffix.lower() == ".dat" and file.is_file():
        with readable(file, "file"), file.open("rb") as content:
            kind = "mdf" if content.read(8) in (b"MDF     ", b"UnFinMF ") else kind
    if kind in LIBRARIES:
        expect_library(kind)
        _expect_beginning(file, kind)
    if kind in NEEDS:
        answer, body = read_in_process("bondloop.readers.reading:read_parts", file, NEEDS[kind], kind=kind)
        if kind in LIBRARIES and not answer["sizes"]:
            raise InputError(f"{path}: a {LIBRARIES[kind][2]} without channels of numbers")
        return Measurements.from_parts(answer, body)
    lines = read_text(file).splitlines()
    if lines and lines[0].lstrip("\ufeff").startswith(FIRST):
        return from_lvm(lines, str(path))
    return from_lines(lines, str(path), nameless=nameless)


def read_parts(path: Path, kind: str) -> tuple[dict[str, object], list[NDArray[np.float64]]]:
    """Read a file for another process; see `Measurements.parts`.

    Parameters
    ----------
    path
        Of the file.
    kind
        One of those that `NEEDS` names.
    """
    if kind not in LIBRARIES:
        return {"mat": read_matlab, "hdf5": read_hdf5, "npz": read_numpy}[kind](path).parts()
    found = Measurements(str(path), LIBRARIES[kind][2])
    with warnings.catch_warnings(), readable(path, found.kind):
        warnings.simplefilter("ignore")
        {"tdms": _tdms, "mdf": _mdf, "parquet": _parquet}[kind](path, found)
    return found.parts()
