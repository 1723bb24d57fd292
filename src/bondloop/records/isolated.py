"""A stranger's run file, read by a process of its own: some damaged ones make the HDF5 library loop or crash.

The child has bounded time and memory. What comes back is text and rows of numbers, never Python objects.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import BondloopError, InputError
from bondloop.program.quantity import Meaning

if TYPE_CHECKING:
    from bondloop.records.record import Record

__all__ = ["read_isolated"]

SECONDS = 5.0
"""Time for a small file, the start of the process included: that takes about half a second."""

RATE = 20e6
"""Bytes a second that are read at the least."""

MEMORY = 8 * 2**30
"""Address space of the child, where the system can limit it."""


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
    limit = SECONDS + path.stat().st_size / RATE
    command = [sys.executable, "-m", "bondloop.records.isolated", str(path), json.dumps(channels)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=limit, check=False)  # noqa: S603 - ourselves
    except subprocess.TimeoutExpired:
        raise InputError(f"{path} was not read within {limit:.3g} s: it is damaged") from None
    head, _, body = done.stdout.partition(b"\n")
    try:
        answer = json.loads(head)
    except ValueError:
        raise InputError(
            f"{path} is damaged: the process that read it ended with {done.returncode}"
        ) from None
    if "error" in answer:
        raise InputError(str(answer["error"]))
    names, size = list(answer["units"]), int(answer["size"])
    table = np.frombuffer(body, dtype="<f8")
    if table.size != size * (len(names) + 1):
        raise InputError(f"{path} is damaged: the process that read it sent only {table.size:,} numbers")
    time, *columns = table.reshape(len(names) + 1, size).copy()
    meanings = {n: Meaning.from_description(d) for n, d in answer["meanings"].items()}
    values = dict(zip(names, columns, strict=True))
    return Record(time, values, answer["units"], answer["description"], answer["attributes"], meanings)


def _child(path: str, channels: str) -> None:
    """Read the file; write a line of JSON, then time and channels as they are in memory."""
    from bondloop.records.hdf5 import read_run

    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = sys.stdout.buffer
    try:
        record = read_run(path, json.loads(channels))
    except BondloopError as error:
        out.write(json.dumps({"error": str(error)}).encode() + b"\n")
        return
    head: dict[str, Any] = {
        "size": record.time.size,
        "units": dict(record.units),
        "meanings": {name: meaning.describe() for name, meaning in record.meanings.items()},
        "description": record.description,
        "attributes": record.attributes,
    }
    out.write(json.dumps(head).encode() + b"\n")
    for values in (record.time, *record.channels.values()):
        out.write(np.ascontiguousarray(values, "<f8").tobytes())


if __name__ == "__main__":
    _child(*sys.argv[1:])
