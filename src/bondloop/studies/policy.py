"""How studies share their work, how much they keep, and where a search changes its scale."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from dataclasses import dataclass

from bondloop.engine.data import Parameter


@dataclass(frozen=True)
class StudyPolicy:
    """Sizes and times of studies; results do not depend on those of chunks, files and clusters.

    Times are in s, or texts with a unit (``"500 ms"``).

    Parameters
    ----------
    chunk_seconds
        Seconds for which tests run before their results are taken, and before a worker is given more. Long
        enough that overheads vanish (some ms for a chunk), short enough for a progress bar.
    first_chunk, chunk_multiple, largest_chunk
        Tests of a worker's first chunk, of what the size of a chunk is a multiple (the lanes of a vector),
        and tests of one chunk at most.
    chunks_ahead
        Chunks for each thread of a cluster, so that none waits while results travel.
    patience
        Seconds in which a scheduler must answer and have a worker.
    flush_seconds, flush_rows, row_group
        After how many seconds, and after how many tests, results go to the file; rows of one Parquet group.
    form_numbers
        Numbers that may differ between tests of one form; beyond, each test is compiled by itself. Each
        number is a parameter of the compiled tick: with a few thousand, compiling takes longer than it saves.
    population, decades_from, compared
        Of `tune_over`: settings of a generation for each thing that is set (differential evolution wants 5
        to 10 for each), the ratio of the ends of a range from which on it is searched in decades, and rigs,
        other than those of the search, on which the test is compared before and after.

    Examples
    --------
    >>> StudyPolicy(chunk_seconds="500 ms").chunk_seconds
    0.5
    """

    chunk_seconds: Parameter = Parameter(2.0, above=0, unit="s")
    first_chunk: int = 32
    chunk_multiple: int = 8
    largest_chunk: int = 2**20
    chunks_ahead: int = 2
    patience: Parameter = Parameter(30.0, above=0, unit="s")
    flush_seconds: Parameter = Parameter(2.0, least=0, unit="s")
    flush_rows: int = 2**18
    row_group: int = 2**15
    form_numbers: int = 4000
    population: int = 8
    decades_from: float = 20.0
    compared: int = 2048


POLICY = StudyPolicy()
"""As it is unless given."""
