"""What a stranger's run file says of its loop, read by a process of its own: the clock, and what happened."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError
from bondloop.measurements.own_process import answer_of, give_answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LoopLog", "read_log"]

LoopLog = tuple[dict[str, "NDArray[np.float64]"], list[dict[str, Any]]]
"""Durations of each cycle in s, ``wake`` and ``busy``; and the events, oldest first."""

CLOCK = ("wake", "busy")
MOST = 5000
"""Events that are read; a loop keeps the last thousand between two looks of its recorder."""


def read_log(path: str | os.PathLike[str]) -> LoopLog:
    """Read the durations of a loop's cycles and its events in another process; empty where none are kept.

    Parameters
    ----------
    path
        A run file.

    Raises
    ------
    InputError
        If it cannot be read, or the other process crashed.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no run file {path}")
    answer, body = answer_of("bondloop.records.isolated_log", path)
    table = np.frombuffer(body, dtype="<f8").copy()
    if table.size != len(CLOCK) * int(answer["size"]):
        raise InputError(f"{path} is damaged: the process that read it sent only {table.size:,} numbers")
    durations = dict(zip(CLOCK, table.reshape(len(CLOCK), -1), strict=True))
    return durations, list(answer["events"])


def _child(path: str, limit: str) -> None:
    """Read the file for another process."""
    import h5py  # noqa: F401 - before the clock starts

    from bondloop.records.hdf5 import read_cycles, read_events

    def read() -> tuple[dict[str, object], list[NDArray[np.float64]]]:
        try:
            cycles = read_cycles(path)
        except InputError:  # a rehearsal has none
            cycles = {}
        columns = [1e-9 * np.asarray(cycles.get(f"{word}_ns", []), dtype="<f8") for word in CLOCK]
        events = read_events(path)
        rows = min((len(column) for column in events.values()), default=0)
        first = max(0, rows - MOST)
        told = [{name: _plain(column[i]) for name, column in events.items()} for i in range(first, rows)]
        return {"size": columns[0].size, "events": told}, columns

    give_answer(limit, read)


def _plain(value: object) -> object:
    """Return what JSON can say."""
    return value.item() if isinstance(value, np.generic) else value


if __name__ == "__main__":
    _child(*sys.argv[1:])
