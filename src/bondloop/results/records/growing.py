"""A run file that grows while the run goes on, in the layout of every run file.

It is written in HDF5's single-writer, multiple-reader mode: others may read it meanwhile, and when the writer
is killed the file still opens. Rows count once they are committed: the number of complete rows reaches the
file after the rows themselves, and a reader looks at no others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError
from bondloop.results.records.columns import EVENT_COLUMNS, describe_columns, fixed_texts
from bondloop.results.records.hdf5 import FORMAT, SCHEMA, appearing

if TYPE_CHECKING:
    import h5py
    from numpy.typing import NDArray

    from bondloop.engine.ir import Meaning

ATTRIBUTE_BYTES = 65536
"""Bytes for the attributes of a run that is being recorded: they are written again at its end, when nothing
can be added to the file."""

SHORTEST_CHUNK, LONGEST_CHUNK, CHUNK_WIDTH = 128, 4096, 64
"""Rows and columns in a chunk of a run that is being recorded: a write touches one chunk for each
`CHUNK_WIDTH` channels, and to read one is to read as many."""

MOST_EVENTS, EVENT_CHUNK = 100_000, 64
"""Events that a file holds, so that a flood of commands does not fill the disk, and rows of a chunk of
them."""


class CommittedRows:
    """A table that grows, with the number of its rows that count in the file.

    Parameters
    ----------
    group
        Of the file; it gets the number as ``committed``.

    Attributes
    ----------
    rows, rows_committed
        How many were written, and how many of them count.
    """

    def __init__(self, group: h5py.Group) -> None:
        self._committed = group.create_dataset("committed", data=np.int64(0))
        self.rows = self.rows_committed = 0

    @property
    def pending(self) -> bool:
        """Whether rows wait to be committed."""
        return self.rows > self.rows_committed

    def commit(self) -> None:
        """Let the rows count, which the file holds by now."""
        if self.pending:
            self._committed[()] = self.rows
            self._committed.flush()
            self.rows_committed = self.rows


class EventTable(CommittedRows):
    """The group ``/events`` of a run file that is being written.

    Parameters
    ----------
    group
        Empty, of a file that is not in the mode for several readers yet.

    Attributes
    ----------
    left_out
        Events that came when the table was full.
    """

    def __init__(self, group: h5py.Group) -> None:
        self._columns = {
            name: group.create_dataset(name, (0,), kind, maxshape=(None,), chunks=(EVENT_CHUNK,))
            for name, kind in EVENT_COLUMNS.items()
        }
        self._columns["time"].attrs["unit"] = "s"
        super().__init__(group)
        self.left_out = 0

    def append(self, events: Sequence[Mapping[str, object]]) -> None:
        """Append events, each with a value for every column; they count from the next commit on."""
        kept = events[: max(0, MOST_EVENTS - self.rows)]
        self.left_out += len(events) - len(kept)
        if not kept:
            return
        end = self.rows + len(kept)
        for name, dataset in self._columns.items():
            dataset.resize((end,))
            dataset[self.rows : end] = _column([event[name] for event in kept], EVENT_COLUMNS[name])
        self.rows = end


def _column(values: Sequence[object], kind: str) -> NDArray[Any]:
    texts = [v.encode()[: np.dtype(kind).itemsize] if isinstance(v, str) else v for v in values]
    return np.array(texts, dtype=kind)


class GrowingRun:
    """A run file that is being written.

    Parameters
    ----------
    path
        Of a file that must not exist yet.
    units
        Unit of each channel by name.
    cycle
        Integer types of what is kept of each cycle beside the channels, by name.
    rate
        Samples a second, for the size of the chunks.
    description, attributes, meanings
        As in `Record`; the attributes can be replaced later.
    words
        What the numbers of a cycle mean, by name: ``{"cause": {9: "tripped by hand"}}``.

    Attributes
    ----------
    events
        The table of what the operator did and what became of the loop.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bondloop.results import Record
    >>> path = Path(tempfile.mkdtemp()) / "run.h5"
    >>> file = GrowingRun(path, {"x": "m"}, {"step": "<i8"}, rate=1000)
    >>> file.append(np.array([0.0, 0.001]), np.array([[1.0], [2.0]]), {"step": np.array([0, 1])})
    >>> file.commit()
    >>> len(Record.load(path))
    2
    >>> file.close({"status": "completed"})
    >>> Record.load(path)
    <Record: 2 samples, 1 channel, 0 to 0.001 s, completed>
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        units: Mapping[str, str],
        cycle: Mapping[str, str],
        *,
        rate: float,
        description: Mapping[str, object] | None = None,
        attributes: Mapping[str, object] | None = None,
        meanings: Mapping[str, Meaning] | None = None,
        words: Mapping[str, Mapping[int, str]] | None = None,
    ) -> None:
        import h5py

        self.path = os.fspath(path)
        given = dict(attributes or {})
        with appearing(path) as temporary:
            try:
                # 1.10 brought this mode; what later versions added to the format MATLAB may not read.
                # Rows are appended and never read again: a cache of chunks would only look like a leak.
                self._file = file = h5py.File(
                    temporary, "x", libver=("v110", "v110"), track_order=True, rdcc_nbytes=0
                )
            except OSError as error:
                raise InputError(f"cannot write {path}: {error.strerror or error}") from error
            try:
                self._begin(units, cycle, rate, description or {}, given, meanings or {}, words or {})
            except BaseException:
                file.close()
                raise

    def _begin(
        self,
        units: Mapping[str, str],
        cycle: Mapping[str, str],
        rate: float,
        description: Mapping[str, object],
        given: Mapping[str, object],
        meanings: Mapping[str, Meaning],
        words: Mapping[str, Mapping[int, str]],
    ) -> None:
        """Make all that the file will ever have: nothing can be added while others read it."""
        file = self._file
        file.attrs["format"] = FORMAT
        file.attrs["schema"] = SCHEMA
        file.attrs["status"] = _status(given)
        describe_columns(file, units, meanings)
        chunk = int(np.clip(0.5 * rate, SHORTEST_CHUNK, LONGEST_CHUNK))
        self._parts = {
            name: _Part(file if name == "/" else file.create_group(name), len(units), cycle, chunk)
            for name in ("/", "/retreat")
        }
        self.events = EventTable(file.create_group("events"))
        for name, meant in words.items():
            for part in self._parts.values():
                part.cycle[name].attrs["words"] = json.dumps({str(n): word for n, word in meant.items()})
        file["description"] = fixed_texts([json.dumps(dict(description))])[0]
        text = json.dumps(dict(given)).encode()
        self._room = max(ATTRIBUTE_BYTES, 2 * len(text))
        self._attributes = file.create_dataset("attributes", data=np.array(text, dtype=f"S{self._room}"))
        file.swmr_mode = True

    @property
    def rows(self) -> int:
        """Rows of the run so far."""
        return self._parts["/"].rows

    @property
    def committed(self) -> int:
        """Rows of the run that the file holds for certain."""
        return self._parts["/"].rows_committed

    def append(
        self,
        time: NDArray[np.float64],
        values: NDArray[np.float64],
        cycle: Mapping[str, NDArray[Any]],
        part: str = "/",
    ) -> None:
        """Append rows; they count from the next `commit` on.

        Parameters
        ----------
        time
            Seconds, shape (n,).
        values
            Of all channels, shape (n, channels).
        cycle
            What is kept of each cycle, by name.
        part
            ``"/"``, or ``"/retreat"`` for cycles in which no tick was executed.
        """
        if len(time):
            self._parts[part].append(time, values, cycle)

    def cycles(self) -> Mapping[str, NDArray[Any]]:
        """Return what was kept of each cycle so far; each is read from the file when it is asked for."""
        return _Cycles(self._parts["/"])

    def commit(self) -> None:
        """Let the file hold all rows so far, whatever becomes of this process."""
        tables: list[_Part | EventTable] = [*self._parts.values(), self.events]
        if any(table.pending for table in tables):
            self._file.flush()
            for table in tables:
                table.commit()

    def close(self, attributes: Mapping[str, object]) -> None:
        """Commit, replace the attributes, and close the file."""
        self.commit()
        self.revise(attributes)
        self._file.close()

    def revise(self, attributes: Mapping[str, object]) -> None:
        """Replace the attributes, for all who read the file from now on."""
        text = json.dumps(dict(attributes)).encode()
        if len(text) > self._room:
            text = json.dumps({"status": attributes.get("status", ""), "message": "too long"}).encode()
        self._attributes[()] = np.array(text, dtype=f"S{self._room}")
        self._attributes.flush()
        self._file.attrs.modify("status", _status(attributes))

    def abandon(self) -> None:
        """Leave the file as it is on the disk, after a write has failed: what was committed can be read.

        HDF5 cannot close a file whose end it could not write; it would try again, and crash. So nothing is
        closed, and the process should end with ``os._exit``.
        """
        _ABANDONED.append(self)


_ABANDONED: list[GrowingRun] = []
"""Kept, since to forget a file would close it."""


class _Part(CommittedRows):
    """Time, channels and cycles of one part of the file."""

    def __init__(self, group: h5py.Group, width: int, cycle: Mapping[str, str], chunk: int) -> None:
        def dataset(where: h5py.Group, name: str, kind: str, *columns: int) -> h5py.Dataset:
            return where.create_dataset(
                name,
                shape=(0, *columns),
                maxshape=(None, *columns),
                chunks=(chunk, *(min(n, CHUNK_WIDTH) for n in columns)),
                dtype=kind,
                fillvalue=np.nan if kind == "<f8" else 0,
            )

        self._time = dataset(group, "time", "<f8")
        self._time.attrs["unit"] = "s"
        self._channels = dataset(group, "channels", "<f8", width) if width else None
        if not width:  # HDF5 has no chunks without columns: this table does not grow
            group.create_dataset("channels", (0, 0), "<f8")
        loop = group.create_group("loop", track_order=True)
        self.cycle = {name: dataset(loop, name, kind) for name, kind in cycle.items()}
        super().__init__(group)

    def append(
        self, time: NDArray[np.float64], values: NDArray[np.float64], cycle: Mapping[str, NDArray[Any]]
    ) -> None:
        from h5py import h5s

        begin, count = self.rows, len(time)
        end = begin + count
        # Below h5py's comfort, which costs three times what the writing itself does.
        here, there = h5s.create_simple((count,)), h5s.create_simple((end,))
        there.select_hyperslab((begin,), (count,))

        def put(dataset: h5py.Dataset, rows: NDArray[Any]) -> None:
            dataset.id.set_extent((end,))
            dataset.id.write(here, there, rows)

        put(self._time, np.ascontiguousarray(time, dtype="<f8"))
        if self._channels is not None:
            width = self._channels.shape[1]
            self._channels.id.set_extent((end, width))
            table = h5s.create_simple((end, width))
            for left in range(0, width, CHUNK_WIDTH):  # one chunk's columns at once, so that one write does
                columns = np.ascontiguousarray(values[:, left : left + CHUNK_WIDTH], dtype="<f8")
                table.select_hyperslab((begin, left), columns.shape)
                self._channels.id.write(h5s.create_simple(columns.shape), table, columns)
        for name, dataset in self.cycle.items():
            put(dataset, np.ascontiguousarray(cycle[name]))
        self.rows = end


class _Cycles(Mapping[str, "NDArray[Any]"]):
    """What was kept of each cycle: of a long run all of it at once would be gigabytes."""

    def __init__(self, part: _Part) -> None:
        self._part = part

    def __getitem__(self, name: str) -> NDArray[Any]:
        rows: NDArray[Any] = self._part.cycle[name][: self._part.rows]
        return rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._part.cycle)

    def __len__(self) -> int:
        return len(self._part.cycle)


def _status(attributes: Mapping[str, object]) -> NDArray[np.bytes_]:
    return np.array(str(attributes.get("status", "")).encode(), dtype="S32")
