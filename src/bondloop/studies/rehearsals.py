"""A test that is built once, and measured for many values of some of its parameters."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np

from bondloop.engine.codegen import Batch, BatchResult
from bondloop.engine.ir import Tick, Var
from bondloop.engine.passes import ValueRead, form_of, with_numbers
from bondloop.errors import BondloopError, InputError
from bondloop.safety import CAUSE, WHEN
from bondloop.studies.policy import StudyPolicy
from bondloop.studies.tick_measures import TRIP, Measure, Measuring, measuring, named_measure

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from bondloop.engine.codegen import Ends
    from bondloop.signals import Signal
    from bondloop.studies.uncertainty import Uncertainty


class Tested(Protocol):
    """A `HybridTest`, a `PseudoDynamicTest`, a `Simulation`, or anything else that has a tick."""

    period: float
    """Seconds between ticks."""

    seconds: float | None
    """Its own length; None where it has none."""

    @property
    def tick(self) -> Tick:
        """One step of it."""
        ...

    @property
    def tables(self) -> Mapping[str, Signal]:
        """Signals that are read from tables, by name."""
        ...

    def with_values(self, values: Mapping[str, float | str], /) -> Self:
        """Return the same with other values of its parameters, by path, put in by `engine.passes.placed`."""
        ...


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
        See `bondloop.engine.codegen.batch.Batch`.
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
    parts: Sequence[Part],
    place: Place,
    jobs: int | None = None,
    progress: Progress | None = None,
    *,
    seconds: float = StudyPolicy.chunk_seconds,
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
    seconds
        For which tests run before their results are taken.
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
            part.table, part.job.steps, part.job.inputs, jobs, so_far, seconds=seconds
        ):
            end = at + len(result.states)
            yield Chunk(part.numbers[at:end], result)
            at = end
        before += at


@dataclass(frozen=True)
class Outcome:
    """What was measured of many tests.

    Attributes
    ----------
    measured
        An array for each measure; of a test that stopped, up to there.
    stopped
        Whether a test was stopped: it left its limits, its interlock tripped, it became NaN or failed.
    ends, cause
        Why and where a test stopped, and the cause of its interlock.
    seconds
        How long all of it took.
    """

    measured: dict[str, NDArray[np.float64]]
    stopped: NDArray[np.bool_]
    ends: Ends
    cause: NDArray[np.float64]
    seconds: float


class Rehearsals:
    """A test, built once, with measures on the way.

    Parameters
    ----------
    test
        A `HybridTest`, or anything else that has a tick.
    names
        What differs from test to test: paths of parameters, or of states that begin otherwise.
    measures
        Names, or measures by name.
    seconds
        Length of each; the test's own unless given.
    backend
        See `bondloop.engine.codegen.batch.Batch`.
    """

    def __init__(
        self,
        test: Tested,
        names: Sequence[str],
        measures: Sequence[str] | Mapping[str, Measure],
        seconds: float | str | None = None,
        backend: str = "auto",
    ) -> None:
        from bondloop.rehearsal import run_length, steps_of
        from bondloop.signals import tabulated_inputs

        tick: Tick = test.tick
        self.tick = tick
        self.measures = list(measures)
        self._trips = [name for name in measures if name in TRIP]
        if isinstance(measures, Mapping):
            wanted = dict(measures)
        else:
            limits = getattr(getattr(test, "interlock", None), "limits", None)
            wanted = {name: named_measure(name, tick, limits) for name in measures if name not in TRIP}
        length = run_length(seconds) if seconds is not None else test.seconds
        if length is None:
            raise InputError("the test has no length of its own; give seconds=")
        self.length = float(length)
        self.steps, self.period = steps_of(length, test.period), test.period
        interlock = CAUSE in {c.name for c in tick.channels}
        own = {CAUSE: Measure("largest", Var(CAUSE)), WHEN: Measure("first", Var(CAUSE))} if interlock else {}
        self._wanted = {**wanted, **own}
        self._whole = self.measuring(tick)
        tables = test.tables
        self.inputs = tabulated_inputs(tables.values(), self.steps, test.period) if tables else None
        self.job = Job(
            self._whole.tick, tuple(names), tuple(self._whole.states), self.steps, self.inputs, backend
        )

    def measuring(self, tick: Tick) -> Measuring:
        """Return a tick with the test's channels, with its measures on the way."""
        return measuring(tick, self._wanted, self.steps)

    @property
    def times(self) -> tuple[str, ...]:
        """Measures that are times of something that may not happen."""
        firsts = {name for name, measure in self._wanted.items() if measure.kind == "first"}
        return tuple(name for name in self.measures if name == "trip_time" or name in firsts)

    @property
    def words(self) -> dict[str, str]:
        """What each measure is, by its name."""
        return {name: self._wanted[name].words if name in self._wanted else name for name in self.measures}

    @cached_property
    def batch(self) -> Batch:
        """The tick with its measures, compiled."""
        return self.job.batch()

    def run(
        self,
        values: NDArray[np.float64],
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Outcome:
        """Run and measure the tests.

        Parameters
        ----------
        values
            Of what differs, (tests, names).
        jobs, progress
            See `bondloop.engine.codegen.batch.Batch.run`.
        """
        return self.read(self.batch.run(values, self.steps, self.inputs, jobs=jobs, progress=progress))

    def read(self, result: BatchResult) -> Outcome:
        """Return what a batch measured."""
        measured = self._whole.read(result, self.steps)
        none = np.zeros(len(result.states))
        cause, when = measured.pop(CAUSE, none), measured.pop(WHEN, none + np.nan)
        ended = result.ends.code != 0
        stopped = ended | (cause != 0)
        if "trip" in self._trips:
            measured["trip"] = stopped.astype(float)
        if "trip_time" in self._trips:
            measured["trip_time"] = np.fmin(when, np.where(ended, result.ends.tick * self.period, np.nan))
        return Outcome(measured, stopped, result.ends, cause, result.seconds)

    def causes(self, outcome: Outcome) -> dict[str, int]:
        """Return what stopped tests, most often first."""
        return dict(Counter(self.stopped_by(outcome)[outcome.stopped].tolist()).most_common())

    def stopped_by(self, outcome: Outcome) -> NDArray[np.object_]:
        """Return what stopped each test, in words; nothing where nothing did."""
        from bondloop.safety import cause_words

        names = [c.name for c in self.tick.channels]
        ended, channels, cause = outcome.ends.code != 0, outcome.ends.channel, outcome.cause
        by = np.full(len(cause), "", dtype=object)
        for channel in np.unique(channels[ended]):
            by[ended & (channels == channel)] = names[channel] if channel >= 0 else "an algebraic loop"
        for number in np.unique(cause[cause != 0]):
            by[cause == number] = f"the interlock: {cause_words(int(number))}"
        return by


def families(
    build: Callable[[int], Tick],
    rows: Sequence[Hashable],
    most_numbers: int = StudyPolicy.form_numbers,
) -> list[tuple[Tick, tuple[str, ...], NDArray[np.int64], NDArray[np.float64]]]:
    """Build tests and return those of one form together.

    Each form is a tick that all of its tests execute, the names of its parameters and states that differ,
    the numbers of the tests, and what differs, (tests, names).

    Parameters
    ----------
    build
        Returns the tick of a test, by its number.
    rows
        What each test is built with: those of equal rows are built once.
    most_numbers
        That may differ between tests of one form; beyond, each test is a form of its own.

    Examples
    --------
    >>> from bondloop.engine.ir import Const, Op, Update
    >>> def build(i):
    ...     x, decay = Var("x"), Const(1 - i / 10)
    ...     steps = (Update(((x, Op("mul", (decay, x))),)),)
    ...     return Tick("decay", 0.1, Var("t"), Var("k"), (), {x: 1.0 + i}, {}, steps, ())
    >>> [(_, varied, _, table)] = families(build, [0, 1, 1])
    >>> varied, table.tolist()
    (('x', 'rebuilt.0'), [[1.0, 1.0], [2.0, 0.9], [2.0, 0.9]])
    """
    ticks: dict[str, Tick] = {}
    members: dict[str, list[int]] = {}
    built: dict[Hashable, tuple[str, NDArray[np.float64]]] = {}
    for i, row in enumerate(rows):
        if row not in built:
            tick = build(i)
            built[row] = form_of(tick)
            ticks.setdefault(built[row][0], tick)
        members.setdefault(built[row][0], []).append(i)
    found = []
    for form, tests in members.items():
        numbers = np.array([built[rows[i]][1] for i in tests])
        differs = np.flatnonzero((numbers != numbers[0]).any(axis=0))
        alike = np.zeros(len(tests), dtype=int)
        if len(differs) > most_numbers:
            alike = np.unique(numbers, axis=0, return_inverse=True)[1].ravel()
            differs = differs[:0]
        for one in range(alike.max() + 1):
            own = alike == one
            tick, varied = with_numbers(ticks[form], numbers[own][0], set(differs.tolist()))
            found.append((tick, varied, np.array(tests)[own], numbers[own][:, differs]))
    return found


def rebuilt_parts(
    rehearsals: Rehearsals, values: NDArray[np.float64], drawn: Uncertainty, policy: StudyPolicy
) -> tuple[list[Part], list[str]]:
    """Return tests that are built anew, by their form, and a note that says so.

    Parameters
    ----------
    rehearsals
        Of the test as it is.
    values
        Of what is varied, (tests, names).
    drawn
        Knows with which of them tests are built, and how; the others are data, as long as no test reads them.
    policy
        How many numbers a form may have.
    """
    names = list(drawn.owners)

    def build(i: int) -> Tick:
        chosen = dict(zip(drawn.rebuilt, rows[i], strict=True))
        try:
            return drawn.tick_with(chosen)
        except BondloopError as error:
            at = ", ".join(f"{name} = {value:.6g}" for name, value in chosen.items())
            raise type(error)(f"at {at}: {error}") from error

    groups = None
    while groups is None:
        rows = [tuple(row) for row in values[:, [names.index(name) for name in drawn.rebuilt]].tolist()]
        try:
            groups = families(build, rows, policy.form_numbers)
        except ValueRead as read:  # at these values, though not at those of the test as it is
            drawn.rebuilt += read.names
    data = [name for name in names if name not in drawn.rebuilt]
    parts = []
    for tick, differing, tests, numbers in groups:
        keep = [i for i, name in enumerate(differing) if name not in data]
        varied = (*(differing[i] for i in keep), *data)
        table = np.hstack([numbers[:, keep], values[tests][:, [names.index(name) for name in data]]])
        own = replace(rehearsals.job, tick=rehearsals.measuring(tick).tick, varied=varied)
        parts.append(Part(own, tests, table))
    several = len(groups) > 1
    words = (
        f"{', '.join(drawn.rebuilt)}: not data of the tick, so that {len(set(rows)):,} tests were built anew "
        f"({len(groups):,} form{'s' * several}, {'each ' * several}compiled once)"
    )
    return parts, [words]
