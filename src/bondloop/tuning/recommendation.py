"""A recommendation: bench, task and search of a test put together."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from bondloop.control import FAMILIES
from bondloop.display import telling
from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError, unknown_name
from bondloop.hybrid import HybridTest
from bondloop.tuning.answer import Recommendation
from bondloop.tuning.late_force import carried_on
from bondloop.tuning.setting_search import Search, chosen
from bondloop.tuning.task import task_of, with_something_to_do
from bondloop.tuning.trial import Bench, Trial

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control import Family
    from bondloop.transfer import Process


TICKS, FEW_TICKS = 200_000, 40_000
"""Ticks of a rehearsal at most, and of one over the coarse grid: a longer test is tried on its beginning, and
checked in full."""

COARSE, FINE = 0.6, 0.85
"""Shares of the time after which the coarse grid and the refinement are over; the rest is for the checks."""


@telling("trying compensators")
def recommend(
    process: Process | None,
    test: HybridTest,
    *,
    families: Iterable[str] | None = None,
    seconds: float | str | None = None,
    budget: float | str = 120.0,
    extrapolate: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Recommendation:
    """Return the compensator that suits a test, with its settings and why.

    Every family of `bondloop.control.families.FAMILIES` is tried with settings that are derived from the
    process, the rate and the highest frequency of the motion: first each setting by itself about the middle,
    then, where that is not far behind the best, all combinations. What the linear loop shows to be unstable
    is dismissed, the rest is rehearsed; the best eight with different choices are refined, setting by
    setting; the best few are checked in full. Of those that pass, the one with the least error against the
    complete structure is taken or, of those within a tenth of it, the one with the largest margin, then
    the least noise.

    The error is against the test's reference, or else against the structure from which its halves were cut,
    or else that of tracking. A test without excitation gets noise.

    Parameters
    ----------
    process
        Model of the transfer system, as identified; None to identify the test's own emulated actuator.
    test
        The test; its controller does not matter, its rig is what is rehearsed on.
    families
        Names of the families to try; all unless given.
    seconds
        Length of a rehearsal; the test's own, at most 200,000 ticks, unless given.
    budget
        Seconds for the search: after 0.85 of them no further setting is tried, and the best are checked. It
        is over when it is done, as a rule earlier.
    extrapolate
        Whether the test may be given a `bondloop.hybrid.Extrapolation`: the measured force is then held in
        one try and carried on in another, and the sentence says which to take. False for the controller
        alone. A test with an extrapolation of its own keeps it.
    progress
        Called with (settings done, settings in all).

    Examples
    --------
    >>> import bondloop as bl
    >>> from bondloop.papers import silva_benchmark
    >>> test, process = silva_benchmark.test(), silva_benchmark.Plant().process()
    >>> answer = bl.tuning.recommend(process, test, families=["Direct", "InverseModel"], seconds=8)
    >>> answer.check.passed, type(answer.controller).__name__
    (True, 'InverseModel')
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
    task = task_of(test, process, bench.velocity)
    carried = carried_on(test, task.frequency) if extrapolate else None
    bench = short = bench.with_choice(carried)
    few = max(FEW_TICKS, _half_way(bench.velocity))
    if few * test.period < bench.seconds and test.switches is None:  # switches may close at any time
        short = Bench(test, few * test.period, carried)
    search = Search(short, task, [_family(n) for n in names], began + COARSE * allowed, progress)
    jobs = min(os.cpu_count() or 1, 4)
    for plan in (search.star, search.carried, search.rest):
        search.run(plan(), jobs)
    planned = search.whole
    search.until = began + FINE * allowed
    if short is not bench:
        search.again(bench)
    search.refine()
    checked = search.checked()
    if progress is not None:
        progress(search.whole, search.whole)
    return Recommendation(
        best=chosen(checked),
        trials=tuple(sorted([*search.trials.values(), *search.dismissed], key=_by_error)),
        task=task,
        asked=asked,
        planned=planned,
        seconds=time.monotonic() - began,
        unsuited=search.unsuited,
        carried=carried,
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
