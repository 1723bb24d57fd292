"""The search: all families coarsely, the best few finely, the last few by the whole check."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from bondloop.control.families import FAMILIES
from bondloop.errors import BondloopError, InputError, unknown_name
from bondloop.hybrid.test import HybridTest
from bondloop.hybrid.tuning.answer import Recommendation
from bondloop.hybrid.tuning.choice import CLOSE, chosen
from bondloop.hybrid.tuning.closing_in import closed_in
from bondloop.hybrid.tuning.task import task_of, with_something_to_do
from bondloop.hybrid.tuning.trial import Bench, Trial
from bondloop.program.ranges import POSITIVE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control.family import Candidate, Family, Setting, Task
    from bondloop.transfer.process import Process

__all__ = ["Search", "recommended"]

TICKS, FEW_TICKS = 200_000, 40_000
"""Ticks of a rehearsal at most, and of one over the coarse grid: a longer test is tried on its beginning, and
checked in full."""

REFINED, OF_EACH = 6, 3
"""How many are refined, each with other choices (order, span, kind), and how many of one family at most."""

COARSE = 0.6
"""Share of the time that the coarse grid may take."""

KEPT = 3
"""Of each family, as many of the coarse grid are tried at full length."""

ROUNDS, TRIES = 2, 4
"""Rounds over all settings of a candidate, and tries for each scale in a round, its ends not counted."""

CHECKED, MOST_CHECKED = 4, 10
"""Of the best, as many are checked in full; and until one passes, at most so many."""


class Search:
    """A search for the best compensator of a test.

    Parameters
    ----------
    bench
        Where candidates are tried.
    task
        What they are to do.
    families
        What is tried.
    until
        The time, by `time.monotonic`, after which nothing new is begun.
    progress
        Called with (candidates done, candidates in all).
    """

    def __init__(
        self,
        bench: Bench,
        task: Task,
        families: Iterable[Family],
        until: float = math.inf,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.bench, self.task, self.until, self.progress = bench, task, until, progress
        self.trials: dict[tuple[object, ...], Trial] = {}
        self.dismissed: list[Trial] = []
        self.unsuited: dict[str, str] = {}
        self.settings: dict[str, dict[str, Setting]] = {}
        self.whole = 0
        self._families = list(families)

    def coarse(self, finer: int = 1) -> list[Candidate]:
        """Return all combinations of the families' settings, one of each family in turn.

        So a search that runs out of time has tried something of each.
        """
        rows: list[list[Candidate]] = []
        for family in self._families:
            try:
                self.settings[family.name] = dict(family.settings(self.task))
                rows.append(list(family.candidates(self.task, finer)))
            except BondloopError as error:
                self.unsuited[family.name] = str(error)
        # The middle of every scale first, where the best is to be expected.
        rows = [sorted(row, key=self._off_middle) for row in rows]
        return [c for turn in zip_longest(*rows) for c in turn if c is not None]

    def _off_middle(self, candidate: Candidate) -> float:
        """Return how far from the middle of its settings a candidate is."""
        off = 0.0
        for name, setting in self.settings[candidate.family.name].items():
            values = list(setting.values)
            if candidate.values[name] in values and len(values) > 1:
                off += abs(values.index(candidate.values[name]) / (len(values) - 1) - 0.5)
        return off

    def run(self, candidates: Sequence[Candidate], jobs: int = 1) -> None:
        """Try candidates, as far as time allows."""
        self.whole += len(candidates)
        pool = ThreadPoolExecutor(jobs)
        try:
            for _ in pool.map(self.tried, candidates):
                if self.progress is not None:
                    self.progress(min(len(self.trials), self.whole - 1), self.whole)
        finally:  # who interrupts it does not wait for the rest
            pool.shutdown(cancel_futures=True)

    def tried(self, candidate: Candidate) -> Trial | None:
        """Return what comes of a candidate; each is tried once, and none after the time is over."""
        key = candidate.key
        if key not in self.trials:
            if time.monotonic() > self.until:
                return None
            self.trials[key] = self.bench.tried(candidate)
        return self.trials[key]

    def refine(self, start: Trial) -> Trial:
        """Return the best that is found about a candidate, setting by setting.

        On a scale the tries close in between the marks on both sides; of choices all are tried.
        """
        best = start
        for _ in range(ROUNDS):
            before = best.error
            for name, setting in self.settings[start.candidate.family.name].items():
                try_all = self._along if setting.between else self._others
                others = try_all(best, name, setting)
                best = min([best, *others], key=lambda t: t.error)
            if best.error > 0.99 * before:
                break
        return best

    def _others(self, best: Trial, name: str, setting: Setting) -> list[Trial]:
        values = [v for v in setting.values if v != best.candidate.values[name]]
        trials = (self.tried(best.candidate.other(**{name: v})) for v in values)
        return [t for t in trials if t is not None]

    def _along(self, best: Trial, name: str, setting: Setting) -> list[Trial]:
        """Return what was tried of one setting, between the marks on both sides of the best so far."""
        value = float(best.candidate.values[name])
        low, high = setting.around(value)
        at = setting.share(low, high, value)
        seen: list[Trial] = []

        def error(share: float) -> float:
            place = {0.0: low, at: value, 1.0: high}.get(share)
            if place is None:
                place = setting.middle(low, high, share)
            trial = self.tried(best.candidate.other(**{name: place}))
            if trial is None:
                return math.inf
            seen.append(trial)
            return trial.error

        closed_in(error, at, TRIES)
        return seen

    def again(self, bench: Bench) -> None:
        """Go on at another bench, with what was best so far of each family and overall."""
        by_family: dict[str, list[Trial]] = {}
        for trial in self.ranked():
            by_family.setdefault(trial.candidate.family.name, []).append(trial)
        self.bench, self.dismissed = bench, list(self.trials.values())
        self.trials = {}
        self.run([t.candidate for trials in by_family.values() for t in trials[:KEPT]])
        rest = (t for t in self.dismissed if t.candidate.key not in self.trials)
        self.dismissed = [replace(t, whole=False) for t in rest]

    def ranked(self) -> list[Trial]:
        """Return all that came to an end, the least error first."""
        return sorted((t for t in self.trials.values() if t.ran), key=lambda t: t.error)

    def starts(self) -> list[Trial]:
        """Return what is worth refining: the best with different choices, some of each family."""
        starts: dict[tuple[object, ...], Trial] = {}
        count: dict[str, int] = {}
        for trial in self.ranked():
            family = trial.candidate.family.name
            choices = (v for n, v in trial.candidate.values.items() if not self.settings[family][n].between)
            key = (family, *choices)
            if key not in starts and count.get(family, 0) < OF_EACH:
                starts[key] = trial
                count[family] = count.get(family, 0) + 1
        return list(starts.values())[:REFINED]

    def best_of_each(self) -> list[Trial]:
        """Return the best of each family, the least error first."""
        best: dict[str, Trial] = {}
        for trial in self.ranked():
            best.setdefault(trial.candidate.family.name, trial)
        return list(best.values())

    def checked(self) -> list[Trial]:
        """Check the best in full: those near the least error, and on until one passes."""
        queue = list({t.candidate.key: t for t in (*self.best_of_each(), *self.ranked())}.values())
        least = queue[0].error if queue else math.inf
        queue.sort(key=lambda t: t.error > CLOSE * least)  # near ones first, of every family
        done: list[Trial] = []
        for i, trial in enumerate(queue[:MOST_CHECKED]):
            if any(t.passed for t in done) and (i >= CHECKED or trial.error > CLOSE * least):
                break
            done.append(self.bench.checked(trial))
        self.trials.update({t.candidate.key: t for t in done})
        return done


def recommended(
    process: Process | None,
    test: HybridTest,
    *,
    families: Iterable[str] | None = None,
    seconds: float | str | None = None,
    budget: float | str = 120.0,
    progress: Callable[[int, int], None] | None = None,
) -> Recommendation:
    """Search for the compensator of a test; `bondloop.control.recommend` says how.

    Parameters
    ----------
    process
        Model of the transfer system; None to identify the test's own emulated actuator.
    test
        The test.
    families
        Names of the families to try; all unless given.
    seconds
        Length of a rehearsal; the test's own unless given.
    budget
        Seconds after which no further setting is tried.
    progress
        Called with (settings done, settings in all).
    """
    if not isinstance(test, HybridTest):
        raise InputError(f"test: expected a bondloop.HybridTest; found {type(test).__name__}")
    if test.coupling != "sampled":
        raise InputError(
            "a compensator works sample by sample: test.replaced(coupling='sampled') is a test to tune"
        )
    began = time.monotonic()
    allowed = POSITIVE.check(budget, "budget", "s")
    names = list(FAMILIES) if families is None else list(families)
    asked, test = test, with_something_to_do(test)
    length = test.length if seconds is None else POSITIVE.check(seconds, "seconds", "s")
    bench = short = Bench(test, min(length, TICKS * test.period))
    few = max(FEW_TICKS, _half_way(bench.velocity))
    if few * test.period < bench.seconds and test.switches is None:  # switches may close at any time
        short = Bench(test, few * test.period)
    task = task_of(test, process, bench.velocity)
    search = Search(short, task, [_family(n) for n in names], began + COARSE * allowed, progress)
    coarse = search.coarse()
    search.run(coarse, jobs=min(os.cpu_count() or 1, 4))
    search.until = began + allowed
    if short is not bench:
        search.again(bench)
    for start in search.starts():
        search.refine(start)
    checked = search.checked()
    if progress is not None:
        progress(search.whole, search.whole)
    return Recommendation(
        best=chosen(checked),
        trials=tuple(sorted([*search.trials.values(), *search.dismissed], key=_by_error)),
        task=task,
        asked=asked,
        planned=len(coarse),
        seconds=time.monotonic() - began,
        unsuited=search.unsuited,
    )


def _half_way(velocity: NDArray[np.float64]) -> int:
    """Return the ticks after which half of the motion is over: a record may begin with a long silence."""
    energy = np.cumsum(velocity**2)
    return int(np.searchsorted(energy, 0.5 * energy[-1]))


def _by_error(trial: Trial) -> tuple[bool, bool, float, float]:
    """Order trials: those at full length before others, whose errors are of a shorter run."""
    return not trial.ran, not trial.whole, trial.error, -trial.margin


def _family(name: str) -> Family:
    if name not in FAMILIES:
        raise InputError(unknown_name("family of compensators", name, FAMILIES))
    return FAMILIES[name]
