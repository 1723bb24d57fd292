"""A test that is built once, and measured for many values of some of its parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.program.expr import Var
from bondloop.safety.channel_names import CAUSE, WHEN
from bondloop.studies.named_measures import TRIP, named_measure
from bondloop.studies.on_the_way import Measure, Measuring, measuring
from bondloop.studies.work import Job

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.compile.backend import Ends
    from bondloop.compile.batch import Batch, BatchResult
    from bondloop.program.tick import Tick
    from bondloop.studies.tested import Tested

__all__ = ["Outcome", "Rehearsals"]


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
        See `bondloop.compile.batch.Batch`.
    """

    def __init__(
        self,
        test: Tested,
        names: Sequence[str],
        measures: Sequence[str] | Mapping[str, Measure],
        seconds: float | str | None = None,
        backend: str = "auto",
    ) -> None:
        from bondloop.hybrid.rehearsal import run_length, steps_of
        from bondloop.program.signals.in_tick import now_and_next

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
        self.inputs = now_and_next(tables.values(), self.steps, test.period) if tables else None
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
            See `bondloop.compile.batch.Batch.run`.
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
