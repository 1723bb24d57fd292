"""Many rehearsals under way: where they run, what is kept of them, and what is left when they are ended."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import telling
from bondloop.engine.codegen import BATCHES
from bondloop.engine.ir import dump_tick
from bondloop.errors import InputError, unknown_name
from bondloop.studies.distributions import Correlated, Distribution, Method, unit_points, whole_number
from bondloop.studies.named_measures import TRIP
from bondloop.studies.policy import POLICY, Policy
from bondloop.studies.rebuilt import rebuilt_parts
from bondloop.studies.rehearsals import Chunk, Part, Place, Progress, Rehearsals, Tested, here
from bondloop.studies.sampled import Sampled
from bondloop.studies.streamed import RESERVED, STOPPED, STOPPED_BY, Rows, Stream
from bondloop.studies.uncertainty import Uncertainty

if TYPE_CHECKING:
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
        self, rehearsals: Rehearsals, drawn: Uncertainty, values: NDArray[np.float64], policy: Policy
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
            return rebuilt_parts(self.rehearsals, self.values, self.names, self.drawn, self.policy)
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


@telling("rehearsing")
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
    policy: Policy = POLICY,
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
