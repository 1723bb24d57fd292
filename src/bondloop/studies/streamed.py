"""Results of a study as a Parquet file that grows as the study runs, so that an interruption loses little.

A Parquet file cannot be read before its end is written. So results are put into files of a folder beside it,
``samples.parquet.parts``, each complete; when all are there, they become one file, in the order of the tests.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import BondloopError, InputError
from bondloop.studies.policy import POLICY, Policy

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


NUMBER, STOPPED, STOPPED_BY = "test", "stopped", "stopped_by"
RESERVED = (NUMBER, STOPPED, STOPPED_BY)
"""Names of columns that are those of every study."""

ABOUT = b"bondloop"
"""Under which a file says what was studied."""

NO_PYARROW = "Parquet needs pyarrow ('pip install pyarrow')"

Columns = Mapping[str, "NDArray[Any]"]


def has_parquet() -> bool:
    """Return whether pyarrow is installed."""
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


class Rows:
    """Results by the number of the test, in whatever order they come.

    Parameters
    ----------
    count
        How many tests there will be.

    Examples
    --------
    >>> rows = Rows(3)
    >>> rows.put(np.array([2, 0]), {"error": np.array([0.2, 0.1])})
    >>> rows.numbers.tolist(), rows.there["error"].tolist(), rows.left.tolist()
    ([0, 2], [0.1, 0.2], [1])
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._done = np.zeros(count, dtype=bool)
        self._columns: dict[str, NDArray[Any]] = {}

    def put(self, numbers: NDArray[np.int64], columns: Columns) -> None:
        """Take the results of some tests."""
        for name, values in columns.items():
            if name not in self._columns:
                self._columns[name] = np.empty(len(self._done), dtype=values.dtype)
            self._columns[name][numbers] = values
        self._done[numbers] = True

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The tests that are there."""
        return np.flatnonzero(self._done)

    @property
    def left(self) -> NDArray[np.int64]:
        """The tests that are not."""
        return np.flatnonzero(~self._done)

    @property
    def there(self) -> dict[str, NDArray[Any]]:
        """Results of the tests that are there, in their order."""
        if self._done.all():
            return dict(self._columns)
        return {name: values[self._done] for name, values in self._columns.items()}


class Stream:
    """A Parquet file that grows.

    Parameters
    ----------
    path
        Of the file.
    about
        What is studied: a file of another study is not gone on with.
    values
        Of what is varied, by name, for all tests.
    resume
        Go on with what is there; otherwise begin anew.
    policy
        When a file is written, and in which groups of rows.
    """

    def __init__(
        self,
        path: str | Path,
        about: Mapping[str, Any],
        values: Columns,
        *,
        resume: bool = False,
        policy: Policy = POLICY,
    ) -> None:
        if not has_parquet():
            raise InputError(f"{Path(path).name}: {NO_PYARROW}")
        self.path = Path(path)
        self.folder = self.path.with_name(f"{self.path.name}.parts")
        self.about, self.values = dict(about), values
        self.count = int(about["samples"])
        self.notes: list[str] = []
        self.rows = Rows(self.count)
        self._waiting: list[tuple[NDArray[np.int64], Columns]] = []
        self._flushed, self._file = time.monotonic(), 0
        self._anew, self._policy = not resume, policy
        if resume:
            self._load()

    def add(self, numbers: NDArray[np.int64], columns: Columns) -> None:
        """Take the results of some tests; now and then they are written."""
        self.rows.put(numbers, columns)
        self._waiting.append((numbers, columns))
        enough = sum(len(n) for n, _ in self._waiting) >= self._policy.flush_rows
        if enough or time.monotonic() - self._flushed > self._policy.flush_seconds:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if not self._waiting:
            return
        numbers = np.concatenate([n for n, _ in self._waiting])
        columns = {name: np.concatenate([c[name] for _, c in self._waiting]) for name in self._waiting[0][1]}
        with _writing(self.folder):
            if self._anew:  # not before there is something to put in its place
                shutil.rmtree(self.folder, ignore_errors=True)
                self.path.unlink(missing_ok=True)
                self._anew = False
            self.folder.mkdir(parents=True, exist_ok=True)
            while (target := self.folder / f"{self._file:06d}.parquet").exists():
                self._file += 1
            self._write(target, numbers, columns)
        self._waiting, self._flushed = [], time.monotonic()

    def finish(self) -> Path:
        """Make one file of all results; return its path."""
        if self._waiting or self.folder.exists() or not self.path.exists():
            with _writing(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._write(self.path, self.rows.numbers, self.rows.there)
                shutil.rmtree(self.folder, ignore_errors=True)
            self._waiting = []
        return self.path

    @property
    def sentence(self) -> str:
        """Where what was computed is."""
        waiting = sum(len(n) for n, _ in self._waiting)
        count = len(self.rows.numbers) - waiting
        if not count:
            return "no test had been kept"
        return f"{count:,} of {self.count:,} tests are kept in {self.folder}; --resume goes on from there"

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Write what waits however a study ends, and say where it is in what is raised."""
        try:
            yield
        except BondloopError as error:
            self._try_to_flush()
            raise BondloopError(f"{error}; {self.sentence}") from error
        except BaseException as error:
            self._try_to_flush()
            error.add_note(self.sentence)
            raise

    def _try_to_flush(self) -> None:
        try:
            self.flush()
        except BondloopError:  # the disk is full: what was written before is there
            return

    def _write(self, target: Path, numbers: NDArray[np.int64], columns: Columns) -> None:
        """Write a file that appears when it is complete."""
        import pyarrow as pa
        from pyarrow import parquet

        scratch = target.with_name(f"{target.name}.unfinished")
        writer = None
        try:
            group = self._policy.row_group
            for at in range(0, len(numbers), group):
                part = slice(at, at + group)
                arrays = {NUMBER: numbers[part], **{n: v[numbers[part]] for n, v in self.values.items()}}
                arrays |= {name: values[part] for name, values in columns.items()}
                table = pa.Table.from_arrays([_column(v) for v in arrays.values()], names=list(arrays))
                if writer is None:
                    about = table.schema.with_metadata({ABOUT: json.dumps(self.about)})
                    # Numbers that hardly repeat are no words of a dictionary: it would hold them once more.
                    writer = parquet.ParquetWriter(
                        scratch, about, use_dictionary=[STOPPED_BY], memory_pool=pa.system_memory_pool()
                    )
                writer.write_table(table)
            if writer is not None:
                writer.close()
                scratch.replace(target)
        finally:
            if writer is not None and writer.is_open:
                with suppress(OSError):  # of a full disk, which has been told
                    writer.close()
            scratch.unlink(missing_ok=True)

    def _load(self) -> None:
        """Take what is there, each test once."""
        import pyarrow as pa
        from pyarrow import parquet

        files = sorted(self.folder.glob("*.parquet")) if self.folder.is_dir() else []
        for file in files or ([self.path] if self.path.exists() else []):
            try:
                table = parquet.read_table(file)
            except (pa.ArrowInvalid, OSError) as error:
                if file == self.path:
                    raise InputError(f"{file} cannot be read ({error}); leave --resume out") from None
                self.notes.append(f"{file} cannot be read: its tests run again")
                continue
            self._expect_this_study(file, table.schema.metadata or {})
            numbers = table[NUMBER].to_numpy()
            own = [n for n in table.column_names if n != NUMBER and n not in self.values]
            columns = {name: table[name].to_numpy() for name in own}
            self.rows.put(numbers, columns)

    def _expect_this_study(self, file: Path, metadata: Mapping[bytes, bytes]) -> None:
        try:
            about = json.loads(metadata[ABOUT])
        except (KeyError, ValueError):
            raise InputError(f"{file} was not written by a study; leave --resume out") from None
        wanted = json.loads(json.dumps(self.about))
        for name in wanted:
            if about.get(name) != wanted[name]:
                raise InputError(
                    f"{file} is of another study ({name}: {about.get(name)}; now {wanted[name]}): leave "
                    "--resume out to begin anew, or write elsewhere with --out"
                )


def _column(values: NDArray[Any]) -> pa.Array:
    """Return a column of Arrow, by its memory: ``pa.array`` would import pandas, where that is installed."""
    import pyarrow as pa

    kinds = {"f": pa.float64(), "i": pa.int64(), "b": pa.bool_()}
    if values.dtype.kind in kinds:
        packed = np.packbits(values, bitorder="little") if values.dtype.kind == "b" else values
        memory = pa.py_buffer(np.ascontiguousarray(packed))
        return pa.Array.from_buffers(kinds[values.dtype.kind], len(values), [None, memory])
    words = sorted(set(values.tolist()))
    place = {word: i for i, word in enumerate(words)}
    numbers = np.array([place[word] for word in values.tolist()], dtype=np.int64)
    texts = [word.encode() for word in words]
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    strings = pa.StringArray.from_buffers(len(words), pa.py_buffer(offsets), pa.py_buffer(b"".join(texts)))
    return pa.DictionaryArray.from_arrays(_column(numbers), strings)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Say which file could not be written, where pyarrow does not."""
    try:
        yield
    except OSError as error:
        raise BondloopError(f"{path} cannot be written: {error.strerror or error}") from error
