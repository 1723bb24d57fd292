"""The run file: one HDF5 file a run.

Layout, schema 1::

    /                       attributes: format = "bondloop run", schema = 1, status
    /time                   float64 (n,), unit = "s"
    /channels/<path name>   float64 (n,), attribute unit
    /description            JSON text: the full description of the test
    /attributes             JSON text: status, message, seeds, versions, created, backend, wall_seconds

MATLAB reads it with ``h5read("run.h5", "/channels/m3.v.flow")``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.records.faults import refuse
from bondloop.records.replacing import replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.records.record import Record

FORMAT = "bondloop run"
SCHEMA = 1
LARGE = 65536
"""Samples from which a channel is compressed; below, half a megabyte a channel is not worth the time."""


def write_run(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record as a run file, through a temporary file that is renamed at the end."""
    import h5py

    with replacing(path) as temporary, h5py.File(temporary, "w", track_order=True) as file:
        file.attrs["format"] = FORMAT
        file.attrs["schema"] = SCHEMA
        file.attrs["status"] = str(record.attributes.get("status", ""))
        _put(file, "time", record.time, "s")
        group = file.create_group("channels", track_order=True)
        for name, values in record.channels.items():
            _put(group, name, values, record.units[name])
        # Datasets, not attributes: HDF5 attributes end at 64 KiB and a description need not.
        file["description"] = json.dumps(record.description)
        file["attributes"] = json.dumps(record.attributes)


def _put(group: Any, name: str, values: NDArray[np.float64], unit: str) -> None:
    options: dict[str, Any] = {}
    if values.size >= LARGE:
        # gzip 1 with shuffle: smaller than lzf and about as fast; and MATLAB can read it, unlike lzf.
        options = {"chunks": (LARGE,), "shuffle": True, "compression": "gzip", "compression_opts": 1}
    dataset = group.create_dataset(name, data=values, dtype="<f8", **options)
    dataset.attrs["unit"] = unit


def read_run(path: str | os.PathLike[str], channels: list[str] | None = None) -> Record:
    """Read a run file; every fault of a bad one is in the one error."""
    import h5py

    if not Path(path).is_file():
        raise InputError(f"there is no run file {path}")
    if not h5py.is_hdf5(path):
        raise InputError(f"{path} is not an HDF5 file, as run files are (Record.from_csv reads a table)")
    try:
        with h5py.File(path, "r") as file:
            return _read(file, str(path), channels)
    except (OSError, RuntimeError) as error:
        raise InputError(f"{path} is damaged, perhaps cut short while it was copied: {error}") from error


def _read(file: Any, path: str, wanted: list[str] | None) -> Record:
    import h5py

    from bondloop.records.record import Record

    if _text(file.attrs.get("format")) != FORMAT:
        raise InputError(f"{path} is an HDF5 file but no run of bondloop (no attribute format = '{FORMAT}')")
    schema = file.attrs.get("schema")
    if not isinstance(schema, int | np.integer) or schema < 1:
        raise InputError(f"{path}: the attribute 'schema' is {schema!r}; a number from 1 was expected")
    if schema > SCHEMA:
        raise InputError(
            f"{path} was written by a newer bondloop (schema {schema}; this one reads up to {SCHEMA}); "
            "upgrade bondloop"
        )
    faults: list[str] = []
    time = _numbers(file, "time", None, faults)
    size = None if time is None else time.size
    description, attributes = _json(file, "description", faults), _json(file, "attributes", faults)
    group = file.get("channels")
    arrays: dict[str, NDArray[np.float64]] = {}
    units: dict[str, str] = {}
    if not isinstance(group, h5py.Group):
        faults.append("no group 'channels'")
        group = {}
    for name in group if wanted is None else wanted:
        if name not in group:
            faults.append(unknown_name("channel", name, group))
            continue
        values = _numbers(group, name, size, faults)
        unit = _text(group[name].attrs.get("unit"))
        if unit is None:
            faults.append(f"channel '{name}' has no attribute 'unit'")
        elif values is not None:
            arrays[name], units[name] = values, unit
    refuse(path, faults)
    if time is None:  # pragma: no cover - a missing time is a fault, refused above
        raise InputError(f"{path}: no time")
    try:
        return Record(time, arrays, units, description, attributes)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _numbers(group: Any, name: str, size: int | None, faults: list[str]) -> NDArray[np.float64] | None:
    import h5py

    dataset = group.get(name)
    if not isinstance(dataset, h5py.Dataset):
        faults.append(f"no dataset '{name}'")
    elif dataset.ndim != 1 or dataset.dtype.kind not in "fiu":
        faults.append(
            f"dataset '{name}' is {dataset.dtype} of shape {dataset.shape}; a row of numbers is needed"
        )
    elif size is not None and dataset.shape[0] != size:
        faults.append(f"dataset '{name}' has {dataset.shape[0]} samples; time has {size}")
    else:
        try:
            return np.asarray(dataset[...], dtype=np.float64)
        except OSError as error:
            faults.append(f"dataset '{name}' cannot be read ({error})")
    return None


def _json(file: Any, name: str, faults: list[str]) -> dict[str, Any]:
    import h5py

    dataset = file.get(name)
    if not isinstance(dataset, h5py.Dataset):
        faults.append(f"no dataset '{name}'")
        return {}
    try:
        value = json.loads(_text(dataset[()]) or "")
    except (ValueError, OSError) as error:
        faults.append(f"dataset '{name}' holds no JSON ({error})")
        return {}
    if not isinstance(value, dict):
        faults.append(f"dataset '{name}' holds a JSON {type(value).__name__}; an object was expected")
        return {}
    return value


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else None
