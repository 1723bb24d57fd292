"""The run file: one HDF5 file a run.

Layout, schema 2::

    /                       attributes: format = "bondloop run", schema = 2, status
    /time                   float64 (n,), unit = "s"
    /channels               float64 (n, c): a row for each sample, a column for each channel
    /channel_names          text (c,): path names of the columns
    /channel_units          text (c,)
    /channel_meanings       text (c,): JSON (role, kind, interface, ...), empty where nothing is known
    /description            JSON text: the full description of the test
    /attributes             JSON text: status, message, seeds, versions, created, backend, wall_seconds

A run that was recorded while it ran (`bondloop.results.records.growing`) has more::

    /committed              int64: rows that are complete; rows beyond them are not read
    /loop/<word>            integers (n,): what the executive says of each cycle; see realtime/c/segment.h
    /retreat                time, channels, committed, loop of the cycles on the way to the safe state

MATLAB counts from 1 and turns the table on its side, with a row for each channel::

    names = deblank(string(h5read("run.h5", "/channel_names")));
    k = find(names == "m3.v.flow");
    x = h5read("run.h5", "/channels", [k 1], [1 Inf]);
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.containers import dataset_values, own_item, own_items, readable
from bondloop.engine.ir import Meaning
from bondloop.errors import InputError
from bondloop.readers import numbers_of, read_in_process, refuse
from bondloop.results.records.columns import (
    EVENT_COLUMNS,
    Content,
    fixed_texts,
    options_for,
    read_columns,
    row_of_numbers,
    text_of,
    write_columns,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import h5py
    from numpy.typing import NDArray

    from bondloop.results.records.record import Record

FORMAT, SCHEMA = "bondloop run", 2
"""The kind of file that a run file names, and the number of its layout."""

MOST_EVENTS_READ = 5000
"""Events that are read of a foreign file; a loop holds the last thousand between two looks of its
recorder."""

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
    answer, body = read_in_process(
        "bondloop.results.records.hdf5:run_parts", _expected(path), ["h5py"], channels=channels
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
    answer, body = read_in_process("bondloop.results.records.hdf5:log_parts", _expected(path), ["h5py"])
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
    first = max(0, rows - MOST_EVENTS_READ)
    told = [{name: _plain(column[i]) for name, column in events.items()} for i in range(first, rows)]
    return {"size": columns[0].size, "events": told}, columns


def _expected(path: str | os.PathLike[str]) -> Path:
    if not Path(path).is_file():
        raise InputError(f"there is no run file {path}")
    return Path(path)


def _plain(value: object) -> object:
    """Return what JSON can say."""
    return value.item() if isinstance(value, np.generic) else value


def write_run(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record as a run file, through a temporary file that is renamed at the end."""
    import h5py

    with replacing(path) as temporary, h5py.File(temporary, "w", track_order=True) as file:
        file.attrs["format"] = FORMAT
        file.attrs["schema"] = SCHEMA
        file.attrs["status"] = str(record.attributes.get("status", ""))
        file.create_dataset("time", data=record.time, dtype="<f8", **options_for(len(record)))
        file["time"].attrs["unit"] = "s"
        write_columns(file, record)
        # Datasets, not attributes: HDF5 attributes end at 64 KiB and a description need not.
        file["description"] = fixed_texts([json.dumps(record.description)])[0]
        file["attributes"] = fixed_texts([json.dumps(record.attributes)])[0]


def read_content(
    path: str | os.PathLike[str],
    channels: list[str] | None = None,
    part: str = "/",
    rows: tuple[int, int] | None = None,
) -> Content:
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
    rows
        Only the samples from the first of these numbers to before the second, counted from 0: a long run need
        not fit into memory. All if not given.
    """
    if rows is not None and not 0 <= rows[0] <= rows[1]:
        raise InputError(
            "read_run(rows): expected two numbers of samples, counted from 0, the first not beyond the "
            f"second; found {rows}"
        )
    with _opened(path) as file:
        return _read(file, str(path), channels, part, rows)


def read_cycles(path: str | os.PathLike[str], part: str = "/") -> dict[str, NDArray[Any]]:
    """Read what the executive of a real-time run says of each cycle; empty where there was none.

    ``time_ns`` is when the cycle began by the monotonic clock, ``wake_ns`` how much later than planned that
    was, ``busy_ns`` how long until the command was sent, ``exchange_ns`` how much of that in the link.

    Parameters
    ----------
    path
        A run file; one that is being written, too.
    part
        ``"/retreat"``: the cycles in which the executive, not the test's tick, commanded the rig.
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


def read_events(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Read what the operator did in a real-time run, and what became of the loop; empty where none is kept.

    Columns by name, a row an event, oldest first: ``time`` in s on the time axis of the run, ``time_ns`` by
    the monotonic clock, ``step``, the first tick for which it holds, ``kind`` (``"set"``, ``"start"``,
    ``"state"``, ``"cause"``, ...), ``name`` (of the parameter, the state or the cause), ``before`` and
    ``value``, ``who``, and ``refused``, why the loop did not obey.

    Parameters
    ----------
    path
        A run file; one that is being written, too.
    """
    import h5py

    with _opened(path) as file:
        group = own_item(file, "events")
        if not isinstance(group, h5py.Group):
            return {}
        rows = _committed(group)
        found = {name: own_item(group, name) for name in EVENT_COLUMNS}
        tables = {n: dataset_values(d, rows) for n, d in found.items() if isinstance(d, h5py.Dataset)}
        return {
            n: np.char.decode(x, errors="replace") if x.dtype.kind == "S" else x for n, x in tables.items()
        }


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[h5py.File]:
    import h5py

    if not Path(path).is_file():
        raise InputError(f"there is no run file {path}")
    if not h5py.is_hdf5(path):
        raise InputError(f"{path} is not an HDF5 file, as run files are (read_measurements reads a table)")
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


def _read(
    file: h5py.File, path: str, wanted: list[str] | None, part: str, rows: tuple[int, int] | None = None
) -> Content:
    import h5py

    if text_of(file.attrs.get("format")) != FORMAT:
        raise InputError(f"{path} is an HDF5 file but no run of bondloop (no attribute format = '{FORMAT}')")
    schema = file.attrs.get("schema")
    if not isinstance(schema, int | np.integer) or schema < SCHEMA:
        raise InputError(f"{path}: the attribute 'schema' is {schema!r}; {SCHEMA} was expected")
    if schema > SCHEMA:
        raise InputError(
            f"{path} was written by a newer bondloop (schema {schema}; this one reads {SCHEMA}); "
            "upgrade bondloop"
        )
    base = own_item(file, part)
    if not isinstance(base, h5py.Group):
        raise InputError(f"{path} has no part '{part}'; only runs in real time have")
    faults: list[str] = []
    committed = _committed(base)
    first, last = (0, None) if rows is None else rows
    if committed is not None:
        last = committed if last is None else min(last, committed)
    time = row_of_numbers(base, "time", last, None, faults, first)
    description, attributes = _json(file, "description", faults), _json(file, "attributes", faults)
    size = None if time is None else time.size
    arrays, units, meanings = read_columns(file, base, last is None, size, wanted, faults, first)
    refuse(path, faults)
    if time is None:  # pragma: no cover - a missing time is a fault, refused above
        raise InputError(f"{path}: no time")
    return Content(time, arrays, units, description, attributes, meanings)


def _json(file: h5py.File, name: str, faults: list[str]) -> dict[str, Any]:
    import h5py

    dataset = own_item(file, name)
    if not isinstance(dataset, h5py.Dataset):
        faults.append(f"no dataset '{name}'")
        return {}
    try:
        value = json.loads(text_of(dataset_values(dataset).item()) or "")
    except (ValueError, OSError, RecursionError, InputError) as error:
        faults.append(f"dataset '{name}' holds no JSON ({error})")
        return {}
    if not isinstance(value, dict):
        faults.append(f"dataset '{name}' holds a JSON {type(value).__name__}; an object was expected")
        return {}
    return value


def amend_run(path: str | os.PathLike[str], more: Mapping[str, object]) -> None:
    """Add attributes to a run file that nobody writes any more, or replace them.

    Parameters
    ----------
    path
        The file.
    more
        Attributes, by name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from bondloop.results import Record
    >>> from bondloop.results.records.hdf5 import write_run
    >>> path = Path(tempfile.mkdtemp()) / "run.h5"
    >>> write_run(Record(np.zeros(1), {"x": np.zeros(1)}, {"x": "m"}, {}, {"status": "completed"}), path)
    >>> amend_run(path, {"status": "stopped", "message": "the rig did not get there"})
    >>> read_content(path).attributes
    {'status': 'stopped', 'message': 'the rig did not get there'}
    """
    import h5py

    attributes = {**read_content(path, []).attributes, **more}
    with h5py.File(path, "r+") as file:
        del file["attributes"]
        file["attributes"] = fixed_texts([json.dumps(attributes)])[0]
        if "status" in more:
            file.attrs["status"] = str(more["status"])


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary file beside `path`, which takes its place when the block ends well.

    If the block raises, the temporary file is removed and what stood at `path` stays as it was. The content
    reaches the disk before the rename, so this holds for a power cut too. A symbolic link is followed, not
    replaced.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "run.csv") as temporary:
    ...     _ = temporary.write_text("time [s]")
    >>> [file.name for file in folder.iterdir()]
    ['run.csv']
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {target.parent}; make it first")
    if target.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; give the name of a file")
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        yield temporary
        descriptor = os.open(temporary, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def appearing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary file that gets the name `path` when the block ends well; it may stay open.

    Nothing is overwritten: if there is a file of that name already, that is an InputError. If the block
    raises, or the process is killed in it, there is no file of that name.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with appearing(folder / "run.h5") as temporary, temporary.open("w") as file:
    ...     before = [file.suffix for file in folder.iterdir()]
    >>> before, [file.name for file in folder.iterdir()]
    (['.part'], ['run.h5'])
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.part")
    exists = f"cannot write {path}: it exists already, and is not overwritten"
    if target.exists():
        raise InputError(exists)
    try:
        yield temporary
        try:
            os.link(temporary, target)
        except FileExistsError:
            raise InputError(exists) from None
        except OSError:  # a file system without second names
            temporary.rename(target)
    finally:
        temporary.unlink(missing_ok=True)
