"""A stranger's run file, read by a process of its own: some damaged ones make the HDF5 library loop or crash.

The child has bounded time and memory. The time is the processor's, from when the child is ready: a good file
is good on a busy machine, too. What comes back is text and rows of numbers, never Python objects.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import BondloopError, InputError
from bondloop.program.quantity import Meaning

if TYPE_CHECKING:
    from bondloop.records.record import Record

__all__ = ["read_isolated"]

SECONDS = 5.0
"""Of the processor, for a small file."""

PATIENCE = 60.0
"""Seconds by the clock that the child may take to get ready, and then to read, beyond its processor time."""

RATE = 20e6
"""Bytes a second that are read at the least."""

MEMORY = 8 * 2**30
"""Address space of the child, where the system can limit it."""

_OUT_OF_TIME = getattr(signal, "SIGXCPU", 0)
"""What ends a child that has used its processor time."""


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
    limit = math.ceil(SECONDS + path.stat().st_size / RATE)
    code, said = _answer_of(path, json.dumps(channels), limit)
    head, _, body = said.partition(b"\n")
    try:
        answer = json.loads(head)
    except ValueError:
        if code == -_OUT_OF_TIME:
            raise InputError(f"{path} was not read in {limit} s of processor time: it is damaged") from None
        raise InputError(f"{path} is damaged: the process that read it ended with {code}") from None
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


def _answer_of(path: Path, channels: str, limit: int) -> tuple[int, bytes]:
    """Return the exit code of the child, and what it wrote."""
    command = [sys.executable, "-m", "bondloop.records.isolated", str(path), channels, str(limit)]
    with subprocess.Popen(  # noqa: S603 - ourselves
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
    ) as child:
        assert child.stdout is not None
        late = threading.Timer(PATIENCE, child.kill)
        late.start()
        try:
            ready = child.stdout.readline()
        finally:
            late.cancel()
        try:
            if not ready:
                raise InputError(f"{path} was not read: the process for it did not get ready")
            said, _ = child.communicate(timeout=PATIENCE + limit)
        except subprocess.TimeoutExpired:
            raise InputError(
                f"{path} was not read in time, {PATIENCE + limit:g} s: this machine is too busy; try again"
            ) from None
        finally:
            child.kill()
    return child.returncode, said


def _child(path: str, channels: str, limit: str) -> None:
    """Write a line when ready; read the file; write a line of JSON, then time and channels as in memory."""
    import h5py  # noqa: F401 - before the clock starts

    from bondloop.records.hdf5 import read_run

    out = sys.stdout.buffer
    out.write(b"ready\n")
    out.flush()
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = math.ceil(time.process_time()) + int(limit)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
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
