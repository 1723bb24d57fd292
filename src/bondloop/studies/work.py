"""What is to be rehearsed, as data: it runs here, or goes to a worker on another machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from bondloop.compile.batch import Batch, BatchResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.program.tick import Tick

__all__ = ["CHUNK_SECONDS", "Chunk", "Job", "Part", "here"]

CHUNK_SECONDS = 2.0
"""About how long tests run before they are kept, and before a worker is given more."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Job:
    """What tests have in common.

    Attributes
    ----------
    tick
        What is executed.
    varied
        Names of the parameters and first states that differ from test to test.
    wanted
        Names of the states whose last values are wanted.
    steps
        Ticks of each test.
    inputs
        A row for each tick.
    backend
        See `bondloop.compile.batch.Batch`.
    """

    tick: Tick
    varied: tuple[str, ...]
    wanted: tuple[str, ...]
    steps: int
    inputs: NDArray[np.float64] | None
    backend: str = "auto"

    def batch(self) -> Batch:
        """Return the tests' tick, compiled where this is called."""
        return Batch(self.tick, self.varied, self.backend, wanted=self.wanted)  # type: ignore[arg-type]


class Part(NamedTuple):
    """Tests of one job.

    Attributes
    ----------
    job
        What they have in common.
    numbers
        Which tests of the study they are.
    table
        Their values, (tests, names).
    """

    job: Job
    numbers: NDArray[np.int64]
    table: NDArray[np.float64]


class Chunk(NamedTuple):
    """Tests that have run.

    Attributes
    ----------
    numbers
        Which tests of the study they are.
    result
        How they ended.
    """

    numbers: NDArray[np.int64]
    result: BatchResult


@dataclass
class Place:
    """Where tests ran: the kind of the back end, all of it in words, and why not elsewhere."""

    backend: str = ""
    words: str = ""
    notes: list[str] = field(default_factory=list)


def here(
    parts: Sequence[Part], place: Place, jobs: int | None = None, progress: Progress | None = None
) -> Iterator[Chunk]:
    """Run tests on this machine, some seconds' worth at a time.

    Parameters
    ----------
    parts
        What to run.
    place
        Is told where they run.
    jobs
        Threads; as many as there are processors unless given.
    progress
        Called with the tests done and the tests wanted.
    """
    whole, before = sum(len(part.numbers) for part in parts), 0
    for part in parts:
        batch = part.job.batch()
        if not place.words:
            threads = 1 if batch.backend == "cuda" else jobs or os.cpu_count() or 1
            place.backend = batch.backend
            place.words = batch.where + (f", {threads} threads" if threads > 1 else "")
            place.notes += [batch.message] if batch.message else []

        def so_far(done: int, _: int, before: int = before) -> None:
            if progress is not None:
                progress(before + done, whole)

        at = 0
        for result in batch.blocks(
            part.table, part.job.steps, part.job.inputs, jobs, so_far, seconds=CHUNK_SECONDS
        ):
            end = at + len(result.states)
            yield Chunk(part.numbers[at:end], result)
            at = end
        before += at
