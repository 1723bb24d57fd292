"""A stranger's run file, read by another process: damaged ones make the HDF5 library loop or crash."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.ir import Meaning
from bondloop.errors import InputError
from bondloop.readers import ask, numbers_of
from bondloop.results.records.columns import Content
from bondloop.results.records.hdf5 import read_content, read_cycles, read_events
from bondloop.results.records.policy import STORAGE

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray


LoopLog = tuple[dict[str, "NDArray[np.float64]"], list[dict[str, Any]]]
"""Durations of each cycle in s, ``wake`` and ``busy``; and the events, oldest first."""

CLOCK = ("wake", "busy")


def read_isolated(path: str | os.PathLike[str], channels: list[str] | None = None) -> Content:
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
        As for `read_content`, and where the other process crashed or took too long.
    """
    answer, body = ask(
        "bondloop.results.records.isolated:run_parts", _expected(path), ["h5py"], channels=channels
    )
    names, size = list(answer["units"]), int(answer["size"])
    time, *columns = numbers_of(body, size * (len(names) + 1), Path(path)).reshape(len(names) + 1, size)
    meanings = {n: Meaning.from_description(d) for n, d in answer["meanings"].items()}
    values = dict(zip(names, columns, strict=True))
    return Content(time, values, answer["units"], answer["description"], answer["attributes"], meanings)


def run_parts(path: Path, channels: list[str] | None) -> tuple[dict[str, object], list[NDArray[np.float64]]]:
    """Read a run file for another process.

    Parameters
    ----------
    path
        The file.
    channels
        Only these; all if not given.
    """
    content = read_content(path, channels)
    return {
        "size": content.time.size,
        "units": dict(content.units),
        "meanings": {name: meaning.describe() for name, meaning in content.meanings.items()},
        "description": content.description,
        "attributes": content.attributes,
    }, [np.asarray(values, "<f8") for values in (content.time, *content.channels.values())]


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
    answer, body = ask("bondloop.results.records.isolated:log_parts", _expected(path), ["h5py"])
    table = numbers_of(body, len(CLOCK) * int(answer["size"]), Path(path))
    return dict(zip(CLOCK, table.reshape(len(CLOCK), -1), strict=True)), list(answer["events"])


def log_parts(path: Path) -> tuple[dict[str, object], list[NDArray[np.float64]]]:
    """Read what a run file says of its loop for another process.

    Parameters
    ----------
    path
        The file.
    """
    try:
        cycles = read_cycles(path)
    except InputError:  # a rehearsal has none
        cycles = {}
    columns = [1e-9 * np.asarray(cycles.get(f"{word}_ns", []), dtype="<f8") for word in CLOCK]
    events = read_events(path)
    rows = min((len(column) for column in events.values()), default=0)
    first = max(0, rows - STORAGE.events_read)
    told = [{name: _plain(column[i]) for name, column in events.items()} for i in range(first, rows)]
    return {"size": columns[0].size, "events": told}, columns


def _expected(path: str | os.PathLike[str]) -> Path:
    if not Path(path).is_file():
        raise InputError(f"there is no run file {path}")
    return Path(path)


def _plain(value: object) -> object:
    """Return what JSON can say."""
    return value.item() if isinstance(value, np.generic) else value
