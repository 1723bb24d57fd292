"""Records in other formats, CSV, MATLAB, Parquet, TDMS, xarray; names tell what channels of tables are."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError
from bondloop.readers import expect_library, heading
from bondloop.results.records.hdf5 import replacing, write_run

if TYPE_CHECKING:
    from bondloop.results.records.record import Record


def write_csv(record: Record, path: str | os.PathLike[str], numbers_at_once: int = 2**16) -> None:
    """Write a record as CSV; numbers are the shortest that read back to the same float64."""
    header = ["time [s]", *(_heading(name, record.units[name]) for name in record.channels)]
    columns = [record.time, *record.channels.values()]
    step = max(1, numbers_at_once // len(columns))
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerow(header)
        for first in range(0, len(record), step):
            rows = np.column_stack([values[first : first + step] for values in columns]).tolist()
            # A list of lists writes itself, [[0.0, 1.5], [0.1, 2.0]], in one go: csv.writer would look at
            # each number for what it might have to quote. What is left is the way from a float to its digits.
            file.write(str(rows)[2:-2].replace("], [", "\n").replace(", ", ",") + "\n")


def _heading(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit or heading(name) != (name, "") else name


_TAKEN = ["time", "channel_names", "description", "attributes"]
_KEYWORDS = {
    "break", "case", "catch", "classdef", "continue", "else", "elseif", "end", "for", "function", "global",
    "if", "otherwise", "parfor", "persistent", "return", "spmd", "switch", "try", "while",
}  # fmt: skip


def matlab_names(names: Iterable[str], longest: int = 63) -> dict[str, str]:
    """Return a legal, unique MATLAB name for each path name, no longer than MATLAB's ``namelengthmax``.

    Examples
    --------
    >>> matlab_names(["m3.v.flow", "m3.v_flow", "2nd", "end"])
    {'m3.v.flow': 'm3_v_flow', 'm3.v_flow': 'm3_v_flow_2', '2nd': 'x_2nd', 'end': 'x_end'}
    """
    legal: dict[str, str] = {}
    taken = {name.lower() for name in _TAKEN}
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if not re.match(r"[A-Za-z]", stem) or stem in _KEYWORDS:
            stem = f"x_{stem}"
        candidate, number = stem[:longest], 1
        while candidate.lower() in taken:
            number += 1
            ending = f"_{number}"
            candidate = stem[: longest - len(ending)] + ending
        taken.add(candidate.lower())
        legal[name] = candidate
    return legal


def write_mat(record: Record, path: str | os.PathLike[str]) -> None:
    """Write columns, and the cell table ``channel_names``: variable, path name, unit."""
    from scipy.io import savemat

    if record.time.nbytes >= 2**31:
        raise InputError("a MATLAB 5 variable ends at 2 GiB; save as HDF5, which MATLAB reads with h5read")
    names = matlab_names(record.channels)
    mapping = np.empty((len(names), 3), dtype=object)
    for row, (name, legal) in enumerate(names.items()):
        mapping[row] = legal, name, record.units[name]
    content = {
        "time": record.time,
        **{legal: record.channels[name] for name, legal in names.items()},
        "channel_names": mapping,
        "description": json.dumps(record.description),
        "attributes": json.dumps(record.attributes),
    }
    with replacing(path) as temporary:
        savemat(str(temporary), content, appendmat=False, oned_as="column", do_compression=True)


Writer = Callable[["Record", str | os.PathLike[str]], None]
GROUP = "run"
"""The one group of a TDMS file of ours."""


def writer_for(path: str | os.PathLike[str]) -> Writer:
    """Return what writes a record to a file of an ending; a run file where the ending is no other's.

    Parameters
    ----------
    path
        Of the file.

    Examples
    --------
    >>> writer_for("run.csv").__name__, writer_for("run.h5").__name__
    ('write_csv', 'write_run')
    """
    writers: dict[str, Writer] = {
        ".csv": write_csv, ".mat": write_mat, ".parquet": write_parquet, ".pq": write_parquet,
        ".tdms": write_tdms,
    }  # fmt: skip
    return writers.get(Path(path).suffix.lower(), write_run)


def write_parquet(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record as a Parquet file: time and channels as columns, units and description as metadata.

    Parameters
    ----------
    record
        What is written.
    path
        Of the file; needs ``pip install 'bondloop[parquet]'``.
    """
    expect_library("parquet")
    import pyarrow as pa
    from pyarrow import parquet

    _refuse_time(record)
    columns = {"time": record.time, **record.channels}
    units = {"time": "s", **record.units}
    about = {"units": units, "description": record.description, "attributes": record.attributes}
    table = pa.table({name: np.ascontiguousarray(values) for name, values in columns.items()})
    said = {f"bondloop {word}": json.dumps(value) for word, value in about.items()}
    with replacing(path) as temporary:
        parquet.write_table(table.replace_schema_metadata(said), temporary)


def write_tdms(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record as a TDMS file: one group, time and channels in it, units as ``unit_string``.

    Parameters
    ----------
    record
        What is written.
    path
        Of the file; needs ``pip install 'bondloop[tdms]'``.
    """
    expect_library("tdms")
    from nptdms import ChannelObject, RootObject, TdmsWriter

    _refuse_time(record)
    about = {"description": json.dumps(record.description), "attributes": json.dumps(record.attributes)}
    columns = {"time": (record.time, "s")} | {n: (v, record.units[n]) for n, v in record.channels.items()}
    with replacing(path) as temporary, TdmsWriter(str(temporary)) as file:
        objects = [
            ChannelObject(GROUP, name, np.ascontiguousarray(values), {"unit_string": unit})
            for name, (values, unit) in columns.items()
        ]
        file.write_segment([RootObject(about), *objects])


def _refuse_time(record: Record) -> None:
    if "time" in record.channels:
        raise InputError("a channel called 'time' beside the time cannot be told from it; rename it")


def to_dataset(record: Record) -> Any:
    """Return an ``xarray.Dataset``: one variable a channel, with its ``units``, over ``time``."""
    try:
        xarray = import_module("xarray")
    except ImportError:
        raise InputError("to_xarray() needs xarray; install it: pip install 'bondloop[xarray]'") from None
    return xarray.Dataset(
        {
            name: ("time", values, {"units": record.units[name], **record.meanings[name].describe()})
            for name, values in record.channels.items()
        },
        coords={"time": ("time", record.time, {"units": "s"})},
        attrs={"description": json.dumps(record.description), "attributes": json.dumps(record.attributes)},
    )
