"""A recommendation: bench, task and search of a test put together."""

from __future__ import annotations

import math
import os
import textwrap
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.check import percent
from bondloop.control import FAMILIES
from bondloop.display import as_text, brief, with_progress
from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError, unknown_name
from bondloop.hybrid import HybridTest
from bondloop.results.figures import COLOURS, GREY, INK, STYLE, dress, finish, page, plain
from bondloop.tuning.policy import POLICY, TuningPolicy
from bondloop.tuning.setting_search import Search, chosen
from bondloop.tuning.task import carried_on, task_of, with_excitation
from bondloop.tuning.trial import Bench, Trial

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bondloop.check import Check
    from bondloop.control import Controller, Family, Task
    from bondloop.hybrid import Extrapolation
    from bondloop.transfer import Process
    from bondloop.tuning.trial import Trial


def _share(value: float) -> str:
    return f"{100 * value:.3g} %" if math.isfinite(value) else "-"


@dataclass(frozen=True)
class Recommendation:
    """The compensator to take, and why.

    Attributes
    ----------
    best
        The trial of the compensator to take; None where none passes the check.
    trials
        All that was tried, the least error first.
    task
        Process, rate, highest frequency and stroke that settings were derived from.
    asked
        The test that was asked for, with its own controller.
    planned
        Settings that were to be tried before refinement.
    untried
        How many of these were not, since the time was over.
    seconds
        How long it took.
    unsuited
        Families that do not suit the process, with the reason.
    carried
        The test with its measured force carried on, where that was a choice.
    """

    best: Trial | None
    trials: tuple[Trial, ...] = field(repr=False)
    task: Task
    asked: HybridTest = field(repr=False)
    planned: int
    untried: int
    seconds: float
    unsuited: Mapping[str, str] = field(default_factory=dict)
    carried: HybridTest | None = field(default=None, repr=False)

    __repr__ = brief
    _repr_html_ = as_text

    @property
    def controller(self) -> Controller:
        """The compensator to take; an error says so where there is none."""
        if self.best is None or self.best.controller is None:
            raise InputError(f"there is no controller to recommend: {self.sentence}")
        return self.best.controller

    @property
    def test(self) -> HybridTest:
        """The test with the compensator to take, and with its extrapolation of the force, if any."""
        return self.asked.replaced(controller=self.controller, extrapolation=self.extrapolation)

    @property
    def extrapolation(self) -> Extrapolation | None:
        """How the test carries its measured force on over the step: part of what is recommended."""
        if self.best is not None and self.best.candidate.carried and self.carried is not None:
            return self.carried.extrapolation
        return self.asked.extrapolation

    @property
    def check(self) -> Check:
        """Its check."""
        _ = self.controller
        assert self.best is not None
        assert self.best.check is not None
        return self.best.check

    @property
    def sentence(self) -> str:
        """Which, and why, in a sentence."""
        tried, ran = len(self.trials), sum(t.ran for t in self.trials)
        spent = ""
        if self.untried:
            spent = f" The budget was spent before {self.untried} of {self.planned} settings; allow more."
        if self.best is None:
            front = next((t for t in self.trials if t.check is not None), None)
            if not tried:
                return f"no setting was tried.{spent}"
            if front is None:
                return f"none of {tried} settings gives a stable loop that runs to its end.{spent}"
            words = "" if front.check is None else f" ({front.check.verdict.rstrip('.')})"
            return f"none of the best of {tried} settings passes the check{words}.{spent}"
        best = self.best
        rivals = [t for t in self.trials if t.passed and t is not best]
        least = min([best.error, *(t.error for t in rivals)])
        name = best.candidate.family.name + (f" with {best.words}" if best.words else "")
        lead = f"Take {name}: error {percent(best.error)} against the complete structure"
        if best.error <= least:
            reason = f", the least of {ran} settings that run to their end ({tried} were tried)"
        else:
            reason = (
                f", within a tenth of the least ({percent(least)}) of {ran} settings, and of those near it "
                "the one with most in reserve"
            )
        margin = "stands any error of the actuator's model up to tenfold"
        if math.isfinite(best.margin):
            margin = f"stands an actuator that answers {percent(best.margin)} differently"
        noise = (
            f", and white noise at its inputs leaves it {best.noise:.3g} times as large"
            if math.isfinite(best.noise)
            else ""
        )
        force = ""
        if best.candidate.carried and self.extrapolation is not None:
            e = self.extrapolation
            force = f" The test needs extrapolation=Extrapolation(late={e.late:g}, points={e.points})."
        return f"{lead}{reason}; it {margin}{noise}.{force}{spent}"

    def rows(self) -> list[Trial]:
        """Return the best of each family: the chosen one of its own, otherwise the least error."""
        rows: dict[str, Trial] = {}
        for trial in self.trials:
            rows.setdefault(trial.candidate.family.name, trial)
        if self.best is not None:
            rows[self.best.candidate.family.name] = self.best
        return sorted(rows.values(), key=lambda t: (not t.ran, t.error))

    def table(self) -> str:
        """Return the best of each family as a table."""
        lines = [
            f"  {'compensator':<25}{'tried':>6}{'error':>9}{'tracking':>10}{'margin':>9}{'noise':>9}  check"
        ]
        for t in self.rows():
            name = t.candidate.family.name
            count = sum(other.candidate.family.name == name for other in self.trials)
            mark = "*" if t is self.best else " "
            state = {True: "passed", False: "refused", None: ""}[t.passed]
            if not t.ran:
                state = t.note if len(t.note) < 44 else f"{t.note[:43]}…"
            margin = _share(t.margin) if t.ran else "-"
            shares = f"{_share(t.error):>9}{_share(t.tracking):>10}{margin:>9}"
            noise = f"{t.noise:.3g}" if math.isfinite(t.noise) else "-"
            lines.append(f"{mark} {name:<25}{count:>6}{shares}{noise:>9}  {state}".rstrip())
            if t.words and t.ran:
                lines.append(f"    {t.words}")
        lines += [f"  {name:<25}     0  {why}" for name, why in self.unsuited.items()]
        return "\n".join(lines)

    def __str__(self) -> str:
        t = self.task
        about = (
            f"process {t.process}\nlate by {1e3 * t.lag:.3g} ms at {t.frequency:.3g} Hz, the highest "
            f"frequency of interest; {1 / t.period:g} samples a second"
        )
        return f"{about}\n\n{self.table()}\n\n{self.sentence}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        best = None if self.best is None else self.best.to_dict()
        if best is not None:
            best["controller"] = self.controller.describe()
            best["verdict"] = self.check.verdict
            best["extrapolation"] = None if self.extrapolation is None else self.extrapolation.describe()
        return {
            "sentence": self.sentence, "recommended": best, "process": self.task.process.describe(),
            "lag": self.task.lag, "frequency": self.task.frequency, "seconds": self.seconds,
            "planned": self.planned, "untried": self.untried, "trials": [t.to_dict() for t in self.trials],
            "unsuited": dict(self.unsuited),
        }  # fmt: skip

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw error over margin of all that was tried, and over noise.

        Parameters
        ----------
        path
            Where to save the figure, if anywhere.
        """
        return draw_recommendation(self, path)


@with_progress("trying compensators")
def recommend(
    process: Process | None,
    test: HybridTest,
    *,
    families: Iterable[str] | None = None,
    seconds: float | str | None = None,
    budget: float | str = 120.0,
    extrapolate: bool = True,
    progress: Callable[[int, int], None] | None = None,
    policy: TuningPolicy = POLICY,
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
    policy
        How far the search goes, and what counts as equal.

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
    asked, test = test, with_excitation(test, policy)
    length = test.length if seconds is None else POSITIVE.check(seconds, "seconds", "s")
    bench = short = Bench(test, min(length, policy.most_ticks * test.period), policy=policy)
    task = task_of(test, process, bench.velocity, policy)
    carried = carried_on(test, task.frequency, policy) if extrapolate else None
    bench = short = bench.with_choice(carried)
    few = max(policy.few_ticks, _half_way(bench.velocity))
    if few * test.period < bench.seconds and test.switches is None:  # switches may close at any time
        short = Bench(test, few * test.period, carried, policy)
    tried = [_family(n) for n in names]
    search = Search(short, task, tried, began + policy.coarse_share * allowed, progress, policy)
    jobs = min(os.cpu_count() or 1, 4)
    for plan in (search.star, search.carried, search.rest):
        search.run(plan(), jobs)
    planned, untried = search.whole, search.untried
    search.until = began + policy.fine_share * allowed
    if short is not bench:
        search.again(bench)
    search.refine()
    checked = search.checked()
    if progress is not None:
        progress(search.whole, search.whole)
    return Recommendation(
        best=chosen(checked, policy),
        trials=tuple(sorted([*search.trials.values(), *search.dismissed], key=_by_error)),
        task=task,
        asked=asked,
        planned=planned,
        untried=untried,
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


def draw_recommendation(answer: Recommendation, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw what was tried and ran to its end; what was chosen has a ring.

    Parameters
    ----------
    answer
        What the search found.
    path
        Where to save.
    """
    figure = page(4.3)
    left, right = figure.subplots(1, 2, sharey=True)
    names = [t.candidate.family.name for t in answer.rows() if t.ran]
    marks = "osD^vP*XHd<>p"  # one for each family, so that more families than colours are told apart
    for i, name in enumerate(names):
        trials = [t for t in answer.trials if t.ran and t.candidate.family.name == name]
        look = {"color": COLOURS[i % len(COLOURS)], "marker": marks[i % len(marks)], "linewidths": 0}
        for axes, values in ((left, [_margin(t) for t in trials]), (right, [t.noise for t in trials])):
            errors = np.array([100 * t.error for t in trials])
            axes.scatter(np.array(values), errors, s=14, alpha=0.75, label=plain(name), **look)
    left.set_xscale("log")
    right.set_xscale("log")
    left.set_yscale("log")
    dress(left, "margin: change of the actuator that is borne [%]", "error against the reference [%]")
    dress(right, "noise: rms of the command to that of white noise")
    for axis in (left.xaxis, left.yaxis, right.xaxis):
        _plain_decades(axis)
    if answer.best is not None:
        for axes, value in ((left, _margin(answer.best)), (right, answer.best.noise)):
            _ring(axes, value, 100 * answer.best.error)
    if names:
        figure.legend(
            *left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False,
            fontsize=STYLE.small, labelcolor=INK, handletextpad=0.2, columnspacing=1.4,
        )  # fmt: skip
    else:
        left.text(0.5, 0.5, "nothing ran to its end", ha="center", color=GREY, transform=left.transAxes)
    words = "\n".join(textwrap.wrap(plain(answer.sentence.replace(" %", "\u00a0%")), 96))
    figure.suptitle(words, fontsize=STYLE.label, color=INK, x=0.02, ha="left")
    return finish(figure, path)


def _plain_decades(axis: Axis) -> None:
    """Mark 1, 2 and 5 of each decade of a logarithmic axis, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _margin(trial: Trial, widest: float = 10.0) -> float:
    """Return a margin in per cent; none is looked for beyond the widest."""
    return 100 * min(trial.margin, widest)


def _ring(axes: Axes, x: float, y: float) -> None:
    axes.scatter([x], [y], s=110, facecolors="none", edgecolors=INK, linewidths=1.3, zorder=5)
