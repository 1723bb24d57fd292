"""The search: all families coarsely, the best few finely, the last few by the whole check."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from bondloop.errors import BondloopError
from bondloop.tuning.policy import POLICY, TuningPolicy

if TYPE_CHECKING:
    from bondloop.control import Candidate, Family, Setting, Task
    from bondloop.tuning.trial import Bench, Trial


def next_place(errors: Mapping[float, float], near: float = 5e-3) -> float | None:
    """Return the place to try next; None where the least is known closely.

    An rms error is the root of what stays and the square of what the setting is off by, so its square is a
    parabola about the best setting: three places give it. Where they do not bend upwards, or one of them has
    no error, the wider interval beside the best is cut by the golden section.

    Parameters
    ----------
    errors
        By place, three of them or more; infinite where a try came to nothing.
    near
        Share of the scale within which two places are one.

    Examples
    --------
    >>> round(next_place({0.0: 0.5, 0.5: 0.1, 1.0: 0.7}), 4)
    0.4167
    """
    places = sorted(errors)
    i = min(range(len(places)), key=lambda k: errors[places[k]])
    best = places[i]
    beside = [places[k] for k in (i - 1, i + 1) if 0 <= k < len(places)]
    if len(beside) == 2 and all(math.isfinite(errors[p]) for p in beside):
        (a, c), b = beside, best
        fa, fb, fc = (errors[p] ** 2 for p in (a, b, c))
        bend = (b - a) * (fb - fc) - (b - c) * (fb - fa)
        if bend:
            place = b - 0.5 * ((b - a) ** 2 * (fb - fc) - (b - c) ** 2 * (fb - fa)) / bend
            if a < place < c:
                return place if abs(place - b) > near else None
    widest = max(beside, key=lambda p: abs(p - best))
    golden = (3 - math.sqrt(5)) / 2  # share of an interval at which it is cut where nothing better is known
    return best + golden * (widest - best) if abs(widest - best) > near else None


def closed_in(error: Callable[[float], float], start: float, tries: int, near: float = 1e-3) -> None:
    """Try places between 0 and 1, ever closer to the least error.

    Parameters
    ----------
    error
        Tries a place and returns its error; it remembers what it has tried.
    start
        The best place so far, between 0 and 1.
    tries
        How many further places at most, both ends not counted.
    near
        Share of the scale within which a place has been tried.
    """
    errors = {place: error(place) for place in (0.0, start, 1.0)}
    for _ in range(tries):
        place = next_place(errors)
        if place is None or min(abs(place - p) for p in errors) < near:
            return
        errors[place] = error(place)


def chosen(trials: Iterable[Trial], policy: TuningPolicy = POLICY) -> Trial | None:
    """Return the one to take of those that were checked.

    Of those that pass, the best by `Trial.grade`; where others of its level come within a tenth of it, of
    these the best that needs no care.
    """
    passed = sorted((t for t in trials if t.passed), key=lambda t: t.rank(policy))
    if not passed:
        return None
    level, least = passed[0].grade(policy)
    close = (t for t in passed if t.grade(policy) <= (level, policy.close * least))
    return next((t for t in close if t.check is not None and t.check.level == "run"), passed[0])


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
    progress
        Called with (candidates done, candidates in all).
    policy
        How many are tried, refined and checked.
    """

    def __init__(
        self,
        bench: Bench,
        task: Task,
        families: Iterable[Family],
        progress: Callable[[int, int], None] | None = None,
        policy: TuningPolicy = POLICY,
    ) -> None:
        self.bench, self.task, self.until, self.progress = bench, task, math.inf, progress
        self.policy = policy
        self.trials: dict[tuple[object, ...], Trial] = {}
        self.unsuited: dict[str, str] = {}
        self.settings: dict[str, dict[str, Setting]] = {}
        self.planned: set[tuple[object, ...]] = set()
        self.unrefined = 0
        self._families = list(families)

        for family in self._families:
            try:
                self.settings[family.name] = dict(family.settings(task))
            except BondloopError as error:
                self.unsuited[family.name] = str(error)
        self._families = [f for f in self._families if f.name in self.settings]

    def star(self) -> list[Candidate]:
        """Return the middle of each family's settings and each setting's other values."""
        return _in_turn(list(family.star(self.task)) for family in self._families)

    def middles(self) -> list[Candidate]:
        """Return the middle of each family's settings: every family is tried before any is gone into."""
        return [next(iter(family.star(self.task))) for family in self._families]

    @property
    def untried(self) -> int:
        """How many of what was planned were not tried."""
        return len(self.planned - self.trials.keys())

    @property
    def untested(self) -> tuple[str, ...]:
        """Families of which nothing was tried."""
        tried = {t.candidate.family.name for t in self.trials.values()}
        return tuple(f.name for f in self._families if f.name not in tried)

    def carried(self) -> list[Candidate]:
        """Return the best of the families of promise, with the force carried on, and what lies about them.

        Along the scales only: with other numbers the compiled tick is the same.
        """
        rows: list[list[Candidate]] = []
        for trial in self._promising() if True in self.bench.ways else ():
            best = replace(trial.candidate, carried=True)
            scales = {n: s for n, s in self.settings[best.family.name].items() if s.between}
            rows.append([best, *(best.other(**{n: v}) for n, s in scales.items() for v in s.values)])
        return _in_turn(rows)

    def _promising(self) -> list[Trial]:
        """Return the best of each family, without those that are far behind."""
        best = self.best_of_each()
        if not best:
            return []
        level, least = best[0].grade(self.policy)
        enough = max(best[0].error, self.policy.target)
        near = (level, self.policy.hopeless * least)
        return [
            t
            for t in best
            if t.grade(self.policy) <= near or self.policy.target < t.error <= self.policy.hopeless * enough
        ]

    def rest(self) -> list[Candidate]:
        """Return all combinations of settings for the families of promise, the force in the better way.

        A family of which nothing ran to its end is not dropped: another setting may be stable.
        """
        ran = {t.candidate.family.name for t in self.ranked()}
        promising = {t.candidate.family.name: t.candidate.carried for t in self._promising()}
        ways = {f.name: promising.get(f.name, next(iter(promising.values()), False)) for f in self._families}
        rows = [
            [replace(c, carried=ways[f.name]) for c in f.candidates(self.task)]
            for f in self._families
            if f.name in promising or f.name not in ran
        ]
        return _in_turn(rows)

    def run(self, candidates: Sequence[Candidate], until: float, jobs: int = 1) -> None:
        """Try candidates, as far as time allows.

        Parameters
        ----------
        candidates
            What to try.
        until
            The time, by `time.monotonic`, after which nothing new is begun.
        jobs
            How many at a time.
        """
        self.until = until
        self.planned |= {c.key for c in candidates}
        pool = ThreadPoolExecutor(jobs)
        try:
            for _ in pool.map(self.tried, candidates):
                if self.progress is not None:
                    self.progress(min(len(self.trials), len(self.planned) - 1), len(self.planned))
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

    def refine(self, until: float) -> None:
        """Look about the best, in rounds, so that all have had one before time is over."""
        self.until = until
        starts = self.starts()
        for tries in self.policy.tries:
            better: list[tuple[Trial, Trial]] = []
            for start in starts:
                if self.untested or time.monotonic() > until:
                    self.unrefined += 1
                    continue
                better.append((start, self.refined(start, tries)))
            starts = sorted(
                (b for s, b in better if self._rank(b) < self.policy.least_gain * self._rank(s)),
                key=self._rank,
            )

    def _rank(self, trial: Trial) -> float:
        return trial.rank(self.policy)

    def refined(self, start: Trial, tries: int) -> Trial:
        """Return the best that is found about a candidate, setting by setting.

        On a scale the tries close in between the marks on both sides; of choices all are tried.
        """
        best = start
        for name, setting in self.settings[start.candidate.family.name].items():
            if setting.between:
                others = self._along(best, name, setting, tries)
            else:
                others = self._others(best, name, setting)
            best = min([best, *others], key=self._rank)
        return best

    def _others(self, best: Trial, name: str, setting: Setting) -> list[Trial]:
        values = [v for v in setting.values if v != best.candidate.values[name]]
        trials = (self.tried(best.candidate.other(**{name: v})) for v in values)
        return [t for t in trials if t is not None]

    def _along(self, best: Trial, name: str, setting: Setting, tries: int) -> list[Trial]:
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
            return self._rank(trial)

        closed_in(error, at, tries)
        return seen

    def ranked(self) -> list[Trial]:
        """Return all that came to an end, the best first."""
        return sorted((t for t in self.trials.values() if t.ran), key=self._rank)

    def starts(self) -> list[Trial]:
        """Return what is worth refining: the best with different choices, some of each family."""
        starts: dict[tuple[object, ...], Trial] = {}
        count: dict[tuple[str, bool], int] = {}
        for trial in self.ranked():
            family = trial.candidate.family.name
            choices = (v for n, v in trial.candidate.values.items() if not self.settings[family][n].between)
            way = (family, trial.candidate.carried)
            key = (*way, *choices)
            if key not in starts and count.get(way, 0) < self.policy.refined_of_each:
                starts[key] = trial
                count[way] = count.get(way, 0) + 1
        return list(starts.values())[: self.policy.refined]

    def best_of_each(self) -> list[Trial]:
        """Return the best of each family, the best first."""
        best: dict[str, Trial] = {}
        for trial in self.ranked():
            best.setdefault(trial.candidate.family.name, trial)
        return list(best.values())

    def checked(self, until: float) -> list[Trial]:
        """Check the best in full: some of different families, and on until one passes."""
        some = self.policy.checked
        queue = {t.candidate.key: t for t in (*self.best_of_each()[:some], *self.ranked())}
        done: list[Trial] = []
        for trial in list(queue.values())[: self.policy.most_checked]:
            if any(t.passed for t in done) and (len(done) >= some or time.monotonic() > until):
                break
            done.append(self.bench.checked(trial))
        self.trials.update({t.candidate.key: t for t in done})
        return done


def _in_turn(rows: Iterable[list[Candidate]]) -> list[Candidate]:
    """Return one of each family in turn: a search that runs out of time has tried something of each."""
    return [c for turn in zip_longest(*rows) for c in turn if c is not None]
