"""A stranger's run file, read by a process of its own: damaged ones make the HDF5 library loop or crash."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.measurements.own_process import answer_of, give_answer
from bondloop.program.quantity import Meaning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.records.record import Record

__all__ = ["read_isolated"]


def read_isolated(path: str | os.PathLike[str], channels: list[str] | None = None) -> Record:
    """Read a run file in another process.

    Parameters
    ----------
    path
        The file.
    channels
        Only these; all if not given.

    Raises
    ------
    InputError
        As for `read_run`, and where the other process crashed or took too long.
    """
    from bondloop.records.record import Record

    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no run file {path}")
    answer, body = answer_of("bondloop.records.isolated", path, json.dumps(channels))
    names, size = list(answer["units"]), int(answer["size"])
    table = np.frombuffer(body, dtype="<f8")
    if table.size != size * (len(names) + 1):
        raise InputError(f"{path} is damaged: the process that read it sent only {table.size:,} numbers")
    time, *columns = table.reshape(len(names) + 1, size).copy()
    meanings = {n: Meaning.from_description(d) for n, d in answer["meanings"].items()}
    values = dict(zip(names, columns, strict=True))
    return Record(time, values, answer["units"], answer["description"], answer["attributes"], meanings)


def _child(path: str, channels: str, limit: str) -> None:
    """Read the file for another process."""
    import h5py  # noqa: F401 - before the clock starts

    from bondloop.records.hdf5 import read_run

    def read() -> tuple[dict[str, object], list[NDArray[np.float64]]]:
        record = read_run(path, json.loads(channels))
        return {
            "size": record.time.size,
            "units": dict(record.units),
            "meanings": {name: meaning.describe() for name, meaning in record.meanings.items()},
            "description": record.description,
            "attributes": record.attributes,
        }, [record.time, *record.channels.values()]

    give_answer(limit, read)


if __name__ == "__main__":
    _child(*sys.argv[1:])
