"""Measurements in files of arrays: NumPy, MATLAB, HDF5 and the run files among them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.containers import dataset_checked, dataset_values, load_matlab, load_numpy, own_item, readable
from bondloop.errors import InputError
from bondloop.readers.measured import Measurements
from bondloop.readers.policy import LIMITS

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    if getattr(dataset, "ndim", 0) != 1 or dataset.dtype.kind != "S" or dataset.size > LIMITS.channels:
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


READERS = {"mat": read_matlab, "hdf5": read_hdf5, "npz": read_numpy}
"""By kind of file."""


def read_parts(path: Path, kind: str) -> tuple[dict[str, object], list[NDArray[np.float64]]]:
    """Read a file for another process; see `Measurements.parts`.

    Parameters
    ----------
    path
        Of the file.
    kind
        One of `READERS`.
    """
    return READERS[kind](path).parts()
