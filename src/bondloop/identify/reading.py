"""Measured data from files: CSV, MATLAB, HDF5 (run files and others), NumPy."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.containers import dataset_values, load_matlab, load_numpy, readable
from bondloop.errors import InputError, unknown_name
from bondloop.identify.data import Data
from bondloop.units import quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_data"]

_TIME = re.compile(r"(time|times|t)(?:[ _]*[\[(]?(s|sec|seconds|ms|us|µs)[\])]?)?", re.IGNORECASE)
_SECONDS = {"s": "s", "sec": "s", "seconds": "s", "ms": "ms", "us": "us", "µs": "us"}
_RATES = ("fs", "rate", "sample_rate", "sampling_rate", "samplerate", "sampling_frequency")
_PERIODS = ("dt", "ts", "sample_period", "sample_time", "sampletime", "tsample")
AGREEMENT = 0.01
"""Relative difference of two statements of a rate that is taken for rounding, of 0.0083 s and 120 Hz say."""
_ENDINGS = ".csv, .txt, .tsv, .mat, .h5, .hdf5 or .npz"


@dataclass
class _Found:
    """What a file holds: columns with units, and single numbers."""

    columns: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)

    def take(self, name: str, value: Any, unit: str = "") -> None:
        """Keep a value if it is a number or a column of numbers; tables become a column for each."""
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" or array.size == 0:
            return
        array = np.squeeze(array.astype(np.float64))
        if array.ndim == 0:
            self.numbers[name] = float(array)
        elif array.ndim == 1:
            self.columns[name], self.units[name] = array, unit
        elif array.ndim == 2:
            table = array if array.shape[0] >= array.shape[1] else array.T
            for number, column in enumerate(table.T, 1):
                self.columns[f"{name}.{number}"], self.units[f"{name}.{number}"] = column, unit


def read_data(
    path: str | os.PathLike[str], *, time: str | None = None, rate: float | str | None = None
) -> Data:
    r"""Read measured signals from a file.

    Parameters
    ----------
    path
        A table of text with a header (``time [s],command [m],position [m]``; commas, semicolons or tabs), a
        MATLAB file (5 or 7.3; vectors, tables, structures), an HDF5 file (a run file or any other with
        one-dimensional datasets) or a NumPy ``.npz``. The ending of the name says which.
    time
        Name of the channel that holds the time; unless given, one called ``time`` or ``t``, in the unit that
        its header states, seconds otherwise.
    rate
        Sample rate [Hz] of a file without time stamps, or with bad ones. A single number called ``fs``,
        ``rate``, ``dt`` or ``Ts`` in a MATLAB, HDF5 or NumPy file does as well.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rig.csv")
    ...     _ = path.write_text(
    ...         "t [ms],u [mm],y [mm]\n" + "\n".join(f"{i},{i % 7},{i % 5}" for i in range(99))
    ...     )
    ...     data = read_data(path)
    >>> data, data.units["u"]
    (<Data: 99 samples at 1000 Hz: u, y>, 'mm')
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {path}")
    ending = file.suffix.lower()
    if ending in {".csv", ".txt", ".tsv"}:
        found = _csv(file)
    elif ending == ".mat":
        found = _mat(file)
    elif ending in {".h5", ".hdf5", ".hdf", ".nc"}:
        found = _hdf5(file)
    elif ending == ".npz":
        found = _npz(file)
    else:
        raise InputError(f"cannot tell what {file.name} is; measured data end in {_ENDINGS}")
    return _data(found, str(path), time, rate)


def _data(found: _Found, source: str, wanted: str | None, rate: float | str | None) -> Data:
    """Return data once it is settled which column is time."""
    if not found.columns:
        raise InputError(f"{source}: no columns of numbers in it; save the measured signals as vectors")
    name = _time_column(found, source, wanted)
    warnings: tuple[str, ...] = ()
    if name is None and rate is None:
        name = _looks_like_time(found)
        if name is not None:
            warnings = (f"'{name}' was taken for the time, as it is in seconds and increases",)
    stamps = None
    if name is not None:
        stamps = found.columns[name] * _factor(name, found.units[name])
    elif rate is None:
        rate = _stated_rate(found.numbers, source)
        if rate is None:
            raise InputError(
                f"{source}: no time among {_listed(found.columns)}; name the channel that holds it "
                "(time='...'), or give the sample rate (rate=1000)"
            )
    channels = {key: values for key, values in found.columns.items() if key != name}
    units = {key: found.units[key] for key in channels}
    if stamps is not None:
        # A MATLAB workspace has other vectors besides; a file whose signals all differ from time is at fault.
        fitting = {key: values for key, values in channels.items() if values.size == stamps.size}
        if fitting and len(fitting) < len(channels):
            others = ", ".join(f"'{key}' ({channels[key].size})" for key in channels if key not in fitting)
            warnings += (
                (
                    f"left out, for they have another length than the time ({stamps.size} samples): "
                    f"{others}; signals of mixed rates must be recorded again at one rate"
                ),
            )
            channels, units = fitting, {key: units[key] for key in fitting}
    data = Data.from_arrays(channels, time=stamps, rate=rate, units=units, source=source)
    return Data(data.channels, data.sample_period, data.units, data.start, source, warnings + data.warnings)


def _time_column(found: _Found, source: str, wanted: str | None) -> str | None:
    if wanted is not None:
        if wanted not in found.columns:
            raise InputError(unknown_name("time channel", wanted, found.columns, where=source))
        return wanted
    named = [name for name in found.columns if _TIME.fullmatch(name.rsplit(".", 1)[-1])]
    exact = [name for name in named if name.lower() == "time"]
    return next(iter(exact or named), None)


def _looks_like_time(found: _Found) -> str | None:
    for name, values in found.columns.items():
        if found.units[name] in _SECONDS and values.size > 2 and (np.diff(values) > 0).all():
            return name
    return None


def _factor(name: str, unit: str) -> float:
    """Return seconds per unit of a time column, from its unit or from its name (``t_ms``)."""
    match = _TIME.fullmatch(name)
    stated = unit or (match[2].lower() if match and match[2] else "s")
    try:
        return quantity(f"1 {_SECONDS.get(stated, stated)}", "s")
    except InputError as error:
        raise InputError(f"the unit of the time '{name}': {error}") from None


def _stated_rate(numbers: Mapping[str, float], source: str) -> float | None:
    """Return the rate that a file's single numbers state, if they state one."""
    rates: dict[str, float] = {}
    for name, value in numbers.items():
        last = name.rsplit(".", 1)[-1].lower()
        if last in _RATES and value > 0:
            rates[name] = value
        if last in _PERIODS and value > 0:
            rates[name] = 1 / value
    if rates and max(rates.values()) > (1 + AGREEMENT) * min(rates.values()):
        words = ", ".join(f"{name} = {numbers[name]:g} ({rate:g} Hz)" for name, rate in rates.items())
        raise InputError(f"{source}: its rates do not agree: {words}; give the right one (rate=...)")
    return next(iter(rates.values()), None)


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(list(names)[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _csv(path: Path) -> _Found:
    from bondloop.records.csv_text import named_columns

    names, units, table = named_columns(path)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{path}: the name '{twice}' stands twice in the header; give every column its own")
    found = _Found()
    for name, unit, column in zip(names, units, table, strict=True):
        found.columns[name], found.units[name] = column, unit
    return found


def _npz(path: Path) -> _Found:
    found = _Found()
    for name, values in load_numpy(path).items():
        found.take(name, values)
    return found


def _mat(path: Path) -> _Found:
    content = load_matlab(path, simple=True)
    if content is None:  # version 7.3 is HDF5
        return _hdf5(path)
    known = _channel_names(content.pop("channel_names", None))
    found = _Found()
    for name, value in content.items():
        _take_struct(found, *known.get(name, (name, "")), value)
    return found


def _channel_names(table: Any) -> dict[str, tuple[str, str]]:
    """Return path name and unit of each MATLAB name, from the table that `Record.to_mat` writes."""
    rows = np.asarray(table, dtype=object)
    if rows.ndim == 1 and rows.shape == (3,):
        rows = rows[None, :]
    if table is None or rows.ndim != 2 or rows.shape[1] != 3:
        return {}
    # An empty unit comes back as an empty array.
    return {str(row[0]): (str(row[1]), row[2] if isinstance(row[2], str) else "") for row in rows}


def _take_struct(found: _Found, name: str, unit: str, value: Any) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _take_struct(found, f"{name}.{key}", "", inner)
    elif not isinstance(value, str):
        found.take(name, value, unit)


def _hdf5(path: Path) -> _Found:
    import h5py

    from bondloop.records.hdf5 import FORMAT, read_run

    if not h5py.is_hdf5(path):
        raise InputError(f"{path} is not an HDF5 file, though its name says so")
    found = _Found()
    with readable(path, "HDF5 file"), h5py.File(path, "r") as file:
        kind = file.attrs.get("format")
        if (kind.decode() if isinstance(kind, bytes) else kind) != FORMAT:
            for name, value in file.attrs.items():
                found.take(name, value)
            file.visititems(lambda name, item: _take_dataset(found, name, item))
            return found
    record = read_run(path)
    found.columns["time"], found.units["time"] = record.time, "s"
    for name, values in record.channels.items():
        found.columns[name], found.units[name] = values, record.units[name]
    return found


def _take_dataset(found: _Found, name: str, item: Any) -> None:
    import h5py

    if not isinstance(item, h5py.Dataset) or item.attrs.get("MATLAB_class") == b"char":
        return
    unit = item.attrs.get("unit", item.attrs.get("units", ""))
    text = unit.decode("utf-8", "replace") if isinstance(unit, bytes) else unit
    if item.dtype.kind in "fiub":
        found.take(name.replace("/", "."), dataset_values(item), text if isinstance(text, str) else "")
