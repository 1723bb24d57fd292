"""Files read by a process of their own, with bounded time and memory: for libraries that damaged ones upset.

The time is the processor's, from when the process is ready: a good file is good on a busy machine, too. What
comes back is text and rows of numbers, never Python objects.
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["answer_of", "give_answer", "limit_for"]

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


def limit_for(path: Path) -> int:
    """Return the seconds of the processor that reading a file may take.

    Parameters
    ----------
    path
        Of the file.
    """
    return math.ceil(SECONDS + path.stat().st_size / RATE)


def answer_of(module: str, path: Path, *arguments: str) -> tuple[dict[str, Any], bytes]:
    """Return what a process read of a file: what it says in JSON, and the bytes after that.

    Parameters
    ----------
    module
        What the process runs; it answers by `give_answer`.
    path
        The file.
    arguments
        For the module, between the path and the limit.
    """
    limit = limit_for(path)
    code, said = _conversation([sys.executable, "-m", module, str(path), *arguments, str(limit)], path, limit)
    head, _, body = said.partition(b"\n")
    try:
        answer = json.loads(head)
    except ValueError:
        if code == -_OUT_OF_TIME:
            raise InputError(f"{path} was not read in {limit} s of processor time: it is damaged") from None
        raise InputError(f"{path} is damaged: the process that read it ended with {code}") from None
    if "error" in answer:
        raise InputError(str(answer["error"]))
    return answer, body


def _conversation(command: list[str], path: Path, limit: int) -> tuple[int, bytes]:
    """Return the exit code of the child, and what it wrote."""
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


def give_answer(
    limit: str, read: Callable[[], tuple[dict[str, object], Iterable[NDArray[np.float64]]]]
) -> None:
    """Write a line when ready; read; write a line of JSON, then rows of numbers as in memory.

    Parameters
    ----------
    limit
        Seconds of the processor that reading may take.
    read
        Returns what is said in JSON, and the rows.
    """
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
        head, rows = read()
    except BondloopError as error:
        out.write(json.dumps({"error": str(error)}).encode() + b"\n")
        return
    out.write(json.dumps(head).encode() + b"\n")
    for values in rows:
        out.write(np.ascontiguousarray(values, "<f8").tobytes())
