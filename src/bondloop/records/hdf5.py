"""The run file: one HDF5 file a run.

Layout, schema 1::

    /                       attributes: format = "bondloop run", schema = 1, status
    /time                   float64 (n,), unit = "s"
    /channels/<path name>   float64 (n,), attributes unit, meaning (JSON text: role, kind, interface, ...)
    /description            JSON text: the full description of the test
    /attributes             JSON text: status, message, seeds, versions, created, backend, wall_seconds

A run that was recorded while it ran (`bondloop.records.growing`) has more::

    /committed              int64: rows that are complete; rows beyond them are not read
    /loop/<word>            integers (n,): what the executive says of each cycle; see realtime/c/segment.h
    /retreat                time, channels, committed, loop of the cycles on the way to the safe state

MATLAB reads it with ``h5read("run.h5", "/channels/m3.v.flow")``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.containers import dataset_values, own_item, own_items, readable
from bondloop.errors import InputError, unknown_name
from bondloop.program.quantity import Meaning
from bondloop.records.faults import refuse
from bondloop.records.old_names import meanings_from_names
from bondloop.records.replacing import replacing

if TYPE_CHECKING:
    import h5py
    from numpy.typing import NDArray

    from bondloop.records.record import Record

__all__ = ["FORMAT", "read_cycles", "read_run", "write_run"]

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
            group[name].attrs["meaning"] = json.dumps(record.meanings[name].describe())
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


def read_run(path: str | os.PathLike[str], channels: list[str] | None = None, part: str = "/") -> Record:
    """Read a run file; every fault of a bad one is in the one error.

    A file that is still being written, or whose writer was killed, is read as far as it is complete.

    Parameters
    ----------
    path
        The file.
    channels
        Only these; all if not given.
    part
        ``"/retreat"``: the cycles in which the executive, not the test's tick, commanded the rig.
    """
    with _opened(path) as file:
        return _read(file, str(path), channels, part)


def read_cycles(path: str | os.PathLike[str], part: str = "/") -> dict[str, NDArray[Any]]:
    """Read what the executive of a real-time run says of each cycle; empty where there was none.

    ``time_ns`` is when the cycle began by the monotonic clock, ``wake_ns`` how much later than planned that
    was, ``busy_ns`` how long until the command was sent, ``exchange_ns`` how much of that in the link.
    """
    import h5py

    with _opened(path) as file:
        base = own_item(file, part)
        group = own_item(base, "loop") if isinstance(base, h5py.Group) else None
        if not isinstance(group, h5py.Group):
            return {}
        rows = _committed(base)
        items = own_items(group)
        return {name: dataset_values(item, rows) for name, item in items if isinstance(item, h5py.Dataset)}


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    import h5py

    if not Path(path).is_file():
        raise InputError(f"there is no run file {path}")
    if not h5py.is_hdf5(path):
        raise InputError(f"{path} is not an HDF5 file, as run files are (Record.from_csv reads a table)")
    with readable(Path(path), "run file"):
        try:
            file = h5py.File(path, "r")
        except OSError:
            # Marked as open for writing: by a recorder at work, or by one that was killed.
            file = h5py.File(path, "r", swmr=True)
        with file:
            yield file


def _committed(group: h5py.Group) -> int | None:
    """Return how many rows of a part are complete; None where all are."""
    dataset = own_item(group, "committed")
    return None if dataset is None else int(dataset_values(dataset))


def _read(file: Any, path: str, wanted: list[str] | None, part: str) -> Record:
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
    base = own_item(file, part)
    if not isinstance(base, h5py.Group):
        raise InputError(f"{path} has no part '{part}'; only runs in real time have")
    rows = _committed(base)
    faults: list[str] = []
    time = _numbers(base, "time", rows, None, faults)
    size = None if time is None else time.size
    description, attributes = _json(file, "description", faults), _json(file, "attributes", faults)
    group = own_item(base, "channels")
    arrays: dict[str, NDArray[np.float64]] = {}
    units: dict[str, str] = {}
    meanings: dict[str, Meaning] = {}
    if not isinstance(group, h5py.Group):
        faults.append("no group 'channels'")
        group = {}
    for name in group if wanted is None else wanted:
        if name not in group:
            faults.append(unknown_name("channel", name, group))
            continue
        values = _numbers(group, name, rows, size, faults)
        if values is None:
            continue
        unit = _text(group[name].attrs.get("unit"))
        if unit is None:
            faults.append(f"channel '{name}' has no attribute 'unit'")
        else:
            arrays[name], units[name] = values, unit
            _take_meaning(group[name].attrs.get("meaning"), name, meanings, faults)
    refuse(path, faults)
    if time is None:  # pragma: no cover - a missing time is a fault, refused above
        raise InputError(f"{path}: no time")
    try:
        return Record(time, arrays, units, description, attributes, meanings or meanings_from_names(units))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _take_meaning(text: Any, name: str, meanings: dict[str, Meaning], faults: list[str]) -> None:
    """Keep what a channel says of itself; those of older files say nothing."""
    if text is None:
        return
    try:
        meanings[name] = Meaning.from_description(json.loads(_text(text) or ""))
    except (ValueError, TypeError, AttributeError, InputError) as error:
        faults.append(f"channel '{name}' has no readable attribute 'meaning' ({error})")


def _numbers(
    group: Any, name: str, rows: int | None, size: int | None, faults: list[str]
) -> NDArray[np.float64] | None:
    import h5py

    dataset = own_item(group, name)
    if not isinstance(dataset, h5py.Dataset):
        faults.append(f"no dataset '{name}'")
        return None
    if dataset.ndim != 1 or dataset.dtype.kind not in "fiu":
        faults.append(
            f"dataset '{name}' is {dataset.dtype} of shape {dataset.shape}; a row of numbers is needed"
        )
        return None
    try:
        values = np.asarray(dataset_values(dataset, rows), dtype=np.float64)
    except (OSError, InputError) as error:
        faults.append(f"dataset '{name}' cannot be read ({error})")
        return None
    if size is not None and values.size != size:
        faults.append(f"dataset '{name}' has {values.size} samples; time has {size}")
        return None
    return values


def _json(file: Any, name: str, faults: list[str]) -> dict[str, Any]:
    import h5py

    dataset = own_item(file, name)
    if not isinstance(dataset, h5py.Dataset):
        faults.append(f"no dataset '{name}'")
        return {}
    try:
        value = json.loads(_text(dataset[()]) or "")
    except (ValueError, OSError, RecursionError) as error:
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
