"""Many rehearsals under way: where they run, what is kept of them, and what is left when they are ended."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError
from bondloop.program.tick_json import dump_tick
from bondloop.studies.rebuilt import rebuilt_parts
from bondloop.studies.streamed import STOPPED, STOPPED_BY, Rows, Stream
from bondloop.studies.work import Chunk, Part, Place, Progress, here

if TYPE_CHECKING:
    from distributed import Client
    from numpy.typing import NDArray

    from bondloop.compile.batch import BatchResult
    from bondloop.studies.rehearsals import Rehearsals
    from bondloop.studies.sampled import Sampled
    from bondloop.studies.uncertainty import Uncertainty

__all__ = ["Campaign", "Interrupted"]


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
    """

    def __init__(self, rehearsals: Rehearsals, drawn: Uncertainty, values: NDArray[np.float64]) -> None:
        self.rehearsals, self.drawn, self.values = rehearsals, drawn, values
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
            return rebuilt_parts(self.rehearsals, self.values, self.names, self.drawn)
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
            stream = Stream(keep, self._about(about), columns, resume=resume)
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

            yield from on_cluster(cluster, parts, place, progress)
        else:
            yield from here(parts, place, jobs, progress)

    def _sampled(self, rows: Rows, place: Place, seconds: float) -> Sampled:
        from bondloop.studies.sampled import Sampled

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
