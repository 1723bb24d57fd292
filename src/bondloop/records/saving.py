"""Records in files of all kinds, by the ending of the name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.measurements.libraries import expect_library
from bondloop.records.csv_text import write_csv
from bondloop.records.hdf5 import write_run
from bondloop.records.mat import write_mat
from bondloop.records.replacing import replacing

if TYPE_CHECKING:
    from bondloop.records.record import Record

__all__ = ["write_parquet", "write_tdms", "writer_for"]

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
