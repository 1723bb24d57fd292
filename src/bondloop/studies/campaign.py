"""Many rehearsals under way: where they run, what is kept of them, and what is left when they are ended."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import with_progress
from bondloop.engine.codegen import BATCHES
from bondloop.engine.ir import dump_tick
from bondloop.errors import BondloopError, InputError, unknown_name
from bondloop.studies.distributions import Correlated, Distribution, Method, unit_points, whole_number
from bondloop.studies.policy import POLICY, StudyPolicy
from bondloop.studies.rehearsals import Chunk, Part, Place, Progress, Rehearsals, Tested, here, rebuilt_parts
from bondloop.studies.sampled import NO_PYARROW, NUMBER, STOPPED, STOPPED_BY, Sampled, has_parquet
from bondloop.studies.tick_measures import TRIP
from bondloop.studies.uncertainty import Uncertainty

if TYPE_CHECKING:
    import pyarrow as pa
    from distributed import Client
    from numpy.typing import NDArray

    from bondloop.engine.codegen import BatchResult
    from bondloop.studies.tick_measures import Measure


class Interrupted(KeyboardInterrupt):
    """A study was ended by Ctrl-C.

    Parameters
    ----------
    words
        What happened.
    sampled
        The tests that were done.

    Examples
    --------
    >>> from bondloop.papers import wagg_three_mass
    >>> from bondloop.studies import Interrupted, sample
    >>> def press(done, wanted):
    ...     raise KeyboardInterrupt
    >>> try:
    ...     sample(
    ...         wagg_three_mass.test(), {"excitation.scale": "uniform(1, 2)"}, 64, seconds=0.1, progress=press
    ...     )
    ... except Interrupted as stop:
    ...     print(stop, len(stop.sampled) < 64)
    interrupted True
    """

    def __init__(self, words: str, sampled: Sampled) -> None:
        super().__init__(words)
        self.sampled = sampled


class Campaign:
    """Tests to run.

    Parameters
    ----------
    rehearsals
        The test with its measures; what is rebuilt is not among its names.
    drawn
        What is varied.
    values
        Drawn, (tests, names).
    policy
        Sizes of chunks and files.
    """

    def __init__(
        self, rehearsals: Rehearsals, drawn: Uncertainty, values: NDArray[np.float64], policy: StudyPolicy
    ) -> None:
        self.rehearsals, self.drawn, self.values = rehearsals, drawn, values
        self.policy = policy
        self.names = list(drawn.owners)

    def _about(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return what tells a study from others, as values of JSON: where it runs is no part of it."""
        job = self.rehearsals.job
        whole = hashlib.sha256(json.dumps(dump_tick(job.tick), sort_keys=True).encode())
        if job.inputs is not None:
            whole.update(job.inputs.tobytes())
        # The words of distributions are for people, and rounded; the values are what was drawn.
        drawn = hashlib.sha256(np.ascontiguousarray(self.values).tobytes()).hexdigest()[:16]
        own = {"measures": self.rehearsals.words, "steps": job.steps, "test": whole.hexdigest()[:16]}
        return {**given, **own, "drawn": drawn}

    def _parts(self) -> tuple[list[Part], list[str]]:
        """Return all tests, by what they have in common, and what a reader should know of them."""
        if self.drawn.rebuilt:
            return rebuilt_parts(self.rehearsals, self.values, self.drawn, self.policy)
        return [Part(self.rehearsals.job, np.arange(len(self.values)), self.values)], []

    def _columns(self, result: BatchResult) -> dict[str, NDArray[Any]]:
        """Return what is kept of tests that have run."""
        outcome = self.rehearsals.read(result)
        in_order = {name: outcome.measured[name] for name in self.rehearsals.measures}
        return {**in_order, STOPPED: outcome.stopped, STOPPED_BY: self.rehearsals.stopped_by(outcome)}

    def run(
        self,
        about: Mapping[str, object],
        *,
        jobs: int | None,
        progress: Progress | None,
        keep: str | Path | None,
        resume: bool,
        cluster: int | str | Client | None,
    ) -> Sampled:
        """Run all that is left to run; see `bondloop.studies.sample`."""
        began, count = time.perf_counter(), len(self.values)
        stream = None
        if keep is not None:
            columns = {name: self.values[:, i] for i, name in enumerate(self.names)}
            stream = Stream(keep, self._about(about), columns, resume=resume, policy=self.policy)
        elif resume:
            raise InputError("there is no file to go on with; say which with keep=")
        rows = Rows(count) if stream is None else stream.rows
        before, place = count - len(rows.left), Place()
        shown = None if progress is None else lambda done, _: progress(before + done, count)

        if before:
            place.notes.append(f"{before:,} of the tests were there already")
        parts, notes = self._parts() if before < count else ([], [])
        place.notes += [*notes, *(stream.notes if stream else [])]
        left = _left(parts, rows)

        def sampled() -> Sampled:
            return self._sampled(rows, place, time.perf_counter() - began)

        with nullcontext() if stream is None else stream.keeping():
            try:
                with closing(self._chunks(left, place, jobs, shown, cluster)) as chunks:
                    for numbers, result in chunks:
                        columns = self._columns(result)
                        rows.put(numbers, columns) if stream is None else stream.add(numbers, columns)
            except KeyboardInterrupt:
                raise Interrupted("interrupted", sampled()) from None
            if stream is not None:
                stream.finish()
        return sampled()

    def _chunks(
        self,
        parts: Sequence[Part],
        place: Place,
        jobs: int | None,
        progress: Progress | None,
        cluster: int | str | Client | None,
    ) -> Generator[Chunk, None, None]:
        if cluster is not None and parts:
            from bondloop.studies.cluster import on_cluster

            yield from on_cluster(cluster, parts, place, progress, self.policy)
        else:
            yield from here(parts, place, jobs, progress, seconds=self.policy.chunk_seconds)

    def _sampled(self, rows: Rows, place: Place, seconds: float) -> Sampled:
        columns = rows.there or {name: np.zeros(0) for name in self.rehearsals.measures}
        stopped = columns.pop(STOPPED, np.zeros(0, dtype=bool))
        words = columns.pop(STOPPED_BY, np.zeros(0, dtype=object))
        by = Counter(words[stopped].tolist())
        where = [f"ran on {place.words}"] if place.words else []
        return Sampled(
            self.drawn.owners, self.values[rows.numbers], columns, stopped, dict(by.most_common()),
            place.backend or "kept", seconds, self.rehearsals.length, (*where, *place.notes),
            tuple(self.drawn.rebuilt), self.rehearsals.times, rows.numbers, words,
        )  # fmt: skip


def _left(parts: Sequence[Part], rows: Rows) -> list[Part]:
    """Return what has not run."""
    left = np.zeros(rows.count, dtype=bool)
    left[rows.left] = True
    masks = [left[part.numbers] for part in parts]
    return [
        Part(p.job, p.numbers[mask], p.table[mask])
        for p, mask in zip(parts, masks, strict=True)
        if mask.any()
    ]


@with_progress("rehearsing")
def sample(  # noqa: PLR0913 - each is one choice of the user's
    test: Tested,
    distributions: Mapping[str, Distribution | Correlated | str],
    samples: float,
    measures: Sequence[str] | Mapping[str, Measure] = ("error",),
    *,
    seconds: float | str | None = None,
    method: Method = "sobol",
    seed: int = 0,
    backend: str = "auto",
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    keep: str | Path | None = None,
    resume: bool = False,
    cluster: int | str | Client | None = None,
    make: Callable[[Mapping[str, float]], Tested] | None = None,
    policy: StudyPolicy = POLICY,
) -> Sampled:
    """Rehearse a test many times with values drawn from distributions.

    Parameters
    ----------
    test
        A `HybridTest`, or anything else that has a tick.
    distributions
        By the path of a parameter, or of a state that begins otherwise; what is drawn together (`Correlated`,
        `from_identified`) by the path under which its parameters are, ``"rig.transfer"``.
    samples
        How many tests.
    measures
        Names: ``error`` (rms error of the first transfer system, over the rms of what it should follow),
        ``trip`` and ``trip_time``, ``delay``, ``energy``, ``growth``, ``reference_error``, ``limit`` (the
        largest share of a limit that was reached), ``peak:EXPRESSION`` of channels, ``rms:``, ``mean:``,
        ``largest:``, ``smallest:``, ``last:`` and ``first:`` (time at which it is not zero); or measures by
        name.
    seconds
        Length of each, in s or as text, ``"2 min"``; the test's own unless given.
    method
        ``"sobol"``: a scrambled Sobol sequence, the most even; ``"latin"``: a Latin hypercube; ``"random"``.
    seed
        Of what is drawn: the same seed gives the same tests.
    backend, jobs
        See `bondloop.engine.codegen.batch.Batch`.
    progress
        Called with the tests done and the tests wanted.
    keep
        A Parquet file into which results go as they come. Whatever ends the study, they are kept.
    resume
        Go on with the study of that file, if it was interrupted.
    cluster
        Run on Dask: a number of worker processes on this machine, the address of a scheduler
        (``"tcp://host:8786"``), or a ``distributed.Client``.
    make
        Makes the test with other options, by name, where what is varied is no parameter of it: each test is
        then built anew.
    policy
        Sizes and times of chunks, files and clusters, on which no result depends.

    Raises
    ------
    Interrupted
        By Ctrl-C; it has the tests that are done.

    Examples
    --------
    >>> from bondloop.papers import wagg_three_mass
    >>> found = sample(wagg_three_mass.test(), {"rig.transfer.mass.mass": "normal(1, 5%)"}, 64, seconds=2)
    >>> len(found), found.probability().value, 0 < found.quantile("error", 0.5) < 1
    (64, 0.0, True)
    """
    count = whole_number(samples, "samples", 1)
    whole_number(seed, "seed", 0)
    if isinstance(measures, str):
        raise InputError(f"measures: expected several names, such as ['error']; found the text {measures!r}")
    if jobs is not None:
        whole_number(jobs, "jobs", 1)
    if backend not in BATCHES:
        raise InputError(unknown_name("backend", str(backend), BATCHES))
    if keep is not None and Path(keep).suffix != ".parquet":
        raise InputError(f"keep: results are kept in a Parquet file, samples.parquet; found {str(keep)!r}")
    drawn = Uncertainty(distributions, test, rebuild=True, make=make)
    expect_memory(count, drawn.size, len(measures))
    own = (*RESERVED, *TRIP) if isinstance(measures, Mapping) else RESERVED
    taken = [n for n in measures if n in drawn.owners or n in own]
    if taken:
        raise InputError(f"a measure is called '{taken[0]}', which is the name of something else; rename it")
    data = [name for name in drawn.owners if name not in drawn.rebuilt]
    rehearsals = Rehearsals(test, data, measures, seconds, backend)
    values = drawn.at(unit_points(drawn.size, count, method, seed))
    about = {"samples": count, "varied": drawn.words, "method": method, "seed": seed}
    return Campaign(rehearsals, drawn, values, policy).run(
        about, jobs=jobs, progress=progress, keep=keep, resume=resume, cluster=cluster
    )


def expect_memory(count: int, drawn: int, measures: int) -> None:
    """Refuse tests whose values and measures would not fit into this machine's memory."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not say
        return
    # The points, of the next power of two, the same in order, what they stand for; measures, number, cause.
    need = 8 * count * (4 * drawn + measures + 3)
    if need > there:
        raise InputError(
            f"{count:,} tests need about {need / 1e9:,.0f} GB of memory for what is drawn and measured, and "
            f"this machine has {there / 1e9:,.0f} GB: draw fewer, or several studies with other seeds"
        )


RESERVED = (NUMBER, STOPPED, STOPPED_BY)
"""Names of columns that are those of every study."""


ABOUT = b"bondloop"
"""Under which a file says what was studied."""


Columns = Mapping[str, "NDArray[Any]"]


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
        policy: StudyPolicy = POLICY,
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
