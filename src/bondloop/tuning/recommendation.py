"""A recommendation: bench, task and search of a test put together; the answer in words and as a figure."""

from __future__ import annotations

import math
import os
import textwrap
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
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

    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

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
    second
        The best other one that passes the check, of another family where there is one.
    refused
        Those that would have come before, had they passed the check.
    trials
        All that was tried, the best first.
    task
        Process, rate, highest frequency and stroke that settings were derived from.
    asked
        The test that was asked for, with its own controller.
    planned
        Settings that were to be tried before refinement.
    untried
        How many of these were not, since the time was over.
    unrefined
        How many rounds of refinement were left out for the same reason.
    untested
        Families of which nothing was tried.
    budget, seconds
        How long it might take, and how long it took, in s.
    unsuited
        Families that do not suit the process, with the reason.
    carried
        The test with its measured force carried on, where that was a choice.
    policy
        Target, errors of the rig, and further choices.
    """

    best: Trial | None
    second: Trial | None
    refused: tuple[Trial, ...] = field(repr=False)
    trials: tuple[Trial, ...] = field(repr=False)
    task: Task
    asked: HybridTest = field(repr=False)
    planned: int
    untried: int
    unrefined: int
    untested: tuple[str, ...]
    budget: float
    seconds: float
    unsuited: Mapping[str, str] = field(default_factory=dict)
    carried: HybridTest | None = field(default=None, repr=False)
    policy: TuningPolicy = POLICY

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
    def cut_short(self) -> bool:
        """Whether the budget ended the search before it was done."""
        return bool(self.untried or self.unrefined or self.untested)

    @property
    def left(self) -> str:
        """What a search that was cut short has left untried, in a sentence; empty where it was not."""
        parts = [f"{self.untried} of {self.planned} settings"] if self.untried else []
        if self.untested:
            parts.append(f"everything of {', '.join(self.untested)}")
        if self.unrefined:
            parts.append(f"{self.unrefined} rounds of refinement")
        if not parts:
            return ""
        return (
            f"The search was cut short by its budget of {self.budget:.3g} s, before {' and '.join(parts)}; "
            "allow more."
        )

    @property
    def met(self) -> bool:
        """Whether what is recommended meets the target."""
        return self.best is not None and self.best.grade(self.policy)[0] < 2

    @property
    def sentence(self) -> str:
        """Which, why rather than the next best, and what was left untried, in sentences."""
        words = self._nothing if self.best is None else " ".join(self._reasons(self.best))
        return f"{words} {self.left}".rstrip()

    @property
    def _nothing(self) -> str:
        """Why there is nothing to recommend."""
        tried, front = len(self.trials), next((t for t in self.trials if t.check is not None), None)
        if not tried:
            return "no setting was tried."
        if front is None or front.check is None:
            return f"none of {tried} settings gives a stable loop that runs to its end."
        return f"none of the best of {tried} settings passes the check ({front.check.verdict.rstrip('.')})."

    def _reasons(self, best: Trial) -> list[str]:
        """Return the sentences on what is recommended."""
        target, ran = self.policy.target, [t for t in self.trials if t.ran]
        meeting = sum(t.grade(self.policy)[0] < 2 for t in ran)
        lead = f"Take {_name(best)}: error {percent(best.error)} against the complete structure"
        if self.met:
            reason = (
                f"{lead}; of {meeting} settings that meet the target of {percent(target)}, the most robust "
                f"that passes the check ({len(self.trials)} were tried)."
            )
        else:
            reason = (
                f"The target of {percent(target)} is not met: the least error that passes the check is "
                f"{best.error / target:.2g} times as large. {lead}, of {len(ran)} settings that run."
            )
        words = [reason, self._promise(best), self._preference(best)]
        if best.candidate.carried and self.extrapolation is not None:
            e = self.extrapolation
            words.append(f"The test needs extrapolation=Extrapolation(late={e.late:g}, points={e.points}).")
        return [w for w in words if w]

    def _promise(self, best: Trial) -> str:
        """Return what becomes of it with rigs that are off."""
        e = self.policy.errors
        off = (
            f"gain and bandwidth of the actuator off by up to {percent(e.actuator_error)}, its delay by "
            f"{e.latency_error:g} samples and sensors by {percent(e.sensor_error)}"
        )
        stable = "all" if best.stable == best.drawn else f"{best.stable}"
        lead = f"With {off}, {stable} of {best.drawn} drawn rigs are stable, with errors up to"
        margin = "any error of the actuator's model up to tenfold"
        if math.isfinite(best.margin):
            margin = f"an actuator that answers {percent(best.margin)} differently"
        noise = f"; noise in the command is {best.noise:.3g} times that of the signals"
        noise = noise if math.isfinite(best.noise) else ""
        return f"{lead} {percent(best.worst)}. It stands {margin}{noise}."

    def _preference(self, best: Trial) -> str:
        """Return why it is preferred to the next best, with numbers; and what the check refused before it."""
        words = ""
        if self.second is not None:
            (level, _), (other, _) = best.grade(self.policy), self.second.grade(self.policy)
            lead = f"{_name(self.second)} comes second"
            here, there = self._figures(best), self._figures(self.second)
            why = "is less robust or more noisy" if (level, other) == (0, 0) else "has the larger error"
            if level < other:
                why = "misses the target" if other == 2 else "does not stand all that the rig may be off by"
            elif self.second.rank(self.policy) < best.rank(self.policy):
                why = "is as robust within a tenth, and the check asks for care"
            words = f"{lead}: it {why} ({there}; the one to take: {here})."
        if self.refused:
            first = self.refused[0]
            count = len(self.refused)
            words += f" {count} before it fail the check, the first {_name(first)}: {first.note}"
        return words.strip()

    def _figures(self, trial: Trial) -> str:
        """Return the numbers by which trials are compared."""
        noise = f", noise {trial.noise:.3g}" if math.isfinite(trial.noise) else ""
        return (
            f"error {percent(trial.error)}, with drawn rigs {percent(trial.worst)} and with noise "
            f"{percent(trial.cost(self.policy))}, stable with {trial.stable} of {trial.drawn}, margin "
            f"{_share(trial.margin)}{noise}"
        )

    @property
    def front(self) -> list[Trial]:
        """Those that stand what the rig may be off by, and that nothing beats in both error and cost."""
        front: list[Trial] = []
        sure = [t for t in self.trials if t.ran and not t.lack(self.policy)]
        for trial in sorted(sure, key=lambda t: t.error):
            if not front or trial.cost(self.policy) < front[-1].cost(self.policy):
                front.append(trial)
        return front

    def rows(self) -> list[Trial]:
        """Return the best of each family."""
        rows: dict[str, Trial] = {}
        for trial in self.trials:
            rows.setdefault(trial.candidate.family.name, trial)
        if self.best is not None:
            rows[self.best.candidate.family.name] = self.best
        return sorted(rows.values(), key=lambda t: t.rank(self.policy))

    def table(self) -> str:
        """Return the best of each family as a table."""
        columns = f"{'tried':>6}{'error':>9}{'drawn':>9}{'stable':>8}{'margin':>9}{'noise':>9}  check"
        lines = [f"  {'compensator':<25}{columns}"]
        for t in self.rows():
            name = t.candidate.family.name
            count = sum(other.candidate.family.name == name for other in self.trials)
            mark = "*" if t is self.best else " "
            state = {True: "passed", False: "refused", None: ""}[t.passed]
            if not t.ran:
                state = t.note if len(t.note) < 44 else f"{t.note[:43]}…"
            margin = _share(t.margin) if t.ran else "-"
            stable = f"{t.stable}/{t.drawn}" if t.ran else "-"
            shares = f"{_share(t.error):>9}{_share(t.worst):>9}{stable:>8}{margin:>9}"
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
            "sentence": self.sentence, "recommended": best, "target": self.policy.target, "met": self.met,
            "second": None if self.second is None else self.second.to_dict(), "cut_short": self.cut_short,
            "left": self.left, "process": self.task.process.describe(),
            "lag": self.task.lag, "frequency": self.task.frequency, "seconds": self.seconds,
            "planned": self.planned, "untried": self.untried, "unrefined": self.unrefined,
            "untested": list(self.untested), "trials": [t.to_dict() for t in self.trials],
            "unsuited": dict(self.unsuited),
        }  # fmt: skip

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw error over the worst error with drawn rigs, with the front of what nothing beats in both.

        Parameters
        ----------
        path
            Where to save the figure, if anywhere.
        """
        return draw_recommendation(self, path)


@with_progress("trying compensators")
def recommend(  # noqa: PLR0913 - each is a choice of its own
    process: Process | None,
    test: HybridTest,
    *,
    target: float | str | None = None,
    families: Iterable[str] | None = None,
    seconds: float | str | None = None,
    budget: float | str = 120.0,
    extrapolate: bool = True,
    progress: Callable[[int, int], None] | None = None,
    policy: TuningPolicy = POLICY,
) -> Recommendation:
    """Return the compensator that suits a test, with its settings and why.

    Of all that meet the target error and pass the check, the most robust is taken: that with the least error
    over rigs whose actuators and sensors are off by stated amounts, what noise makes of the command included.
    Where nothing meets the target, it is the one with the least error.

    Every family of `bondloop.control.families.FAMILIES` is tried with settings that are derived from the
    process, the rate and the highest frequency of the motion: first each setting by itself about the middle,
    then, where that is not far behind the best, all combinations. A loop that is linear throughout and grows
    is dismissed; all others are rehearsed, as modelled and with drawn rigs, as lanes of one compiled tick.
    The best eight with different choices are refined, setting by setting. The best few are checked in full,
    and judged by fresh draws.

    The error is against the test's reference, or else against the structure from which its halves were cut,
    or else that of tracking. A test without excitation gets noise.

    Parameters
    ----------
    process
        Model of the transfer system, as identified; None to identify the test's own emulated actuator.
    test
        The test; its controller does not matter, its rig is what is rehearsed on.
    target
        Rms error as a share, or as text, ``"3 %"``, that is good enough; that of the policy unless given.
    families
        Names of the families to try; all unless given.
    seconds
        Length of a rehearsal; the test's own, at most 200,000 ticks, unless given.
    budget
        Seconds for the search: after 0.85 of them no further setting is tried, and the best are checked.
        Every family is tried before any is gone into. It is over when it is done, as a rule earlier; where it
        was cut short, the sentence says so.
    extrapolate
        Whether the test may be given a `bondloop.hybrid.Extrapolation`: the measured force is then held in
        one try and carried on in another, and the sentence says which to take. False for the controller
        alone. A test with an extrapolation of its own keeps it.
    progress
        Called with (settings done, settings in all).
    policy
        How far the rig may be off, how far the search goes, and what counts as equal.

    Examples
    --------
    >>> import bondloop as bl
    >>> from bondloop.papers import silva_benchmark
    >>> test, process = silva_benchmark.test(), silva_benchmark.Plant().process()
    >>> answer = bl.tuning.recommend(process, test, families=["RecursiveFir"], seconds=8, budget=20)
    >>> answer.check.passed, type(answer.controller).__name__
    (True, 'RecursiveFir')
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
    if target is not None:
        policy = replace(policy, target=target)
    bench = Bench(test, min(length, policy.most_ticks * test.period), policy=policy)
    task = task_of(test, process, bench.velocity, policy)
    carried = carried_on(test, task.frequency, policy) if extrapolate else None
    bench = bench.with_choice(carried)
    search = Search(bench, task, [_family(n) for n in names], progress, policy)
    jobs = min(os.cpu_count() or 1, 4)
    search.run(search.middles(), began + allowed, jobs)
    for plan in (search.star, search.carried, search.rest):
        search.run(plan(), began + policy.coarse_share * allowed, jobs)
    search.refine(began + policy.fine_share * allowed)
    checked = sorted(search.checked(began + allowed), key=lambda t: t.rank(policy))
    best = chosen(checked, policy)
    others = [t for t in checked if t.passed and t is not best]
    foreign = [t for t in others if best is not None and t.candidate.family is not best.candidate.family]
    if progress is not None:
        progress(len(search.planned), len(search.planned))
    return Recommendation(
        best=best,
        second=next(iter([*foreign, *others]), None),
        refused=tuple(
            t for t in checked if best is not None and not t.passed and t.rank(policy) < best.rank(policy)
        ),
        trials=tuple(sorted(search.trials.values(), key=lambda t: (not t.ran, t.rank(policy)))),
        task=task,
        asked=asked,
        planned=len(search.planned),
        untried=search.untried,
        unrefined=search.unrefined,
        untested=search.untested,
        budget=allowed,
        seconds=time.monotonic() - began,
        unsuited=search.unsuited,
        carried=carried,
        policy=policy,
    )


def _name(trial: Trial) -> str:
    """Return the family with the settings."""
    return trial.candidate.family.name + (f" with {trial.words}" if trial.words else "")


def _family(name: str) -> Family:
    if name not in FAMILIES:
        raise InputError(unknown_name("family of compensators", name, FAMILIES))
    return FAMILIES[name]


def draw_recommendation(answer: Recommendation, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw error over cost, with the front, the target and what was chosen.

    Parameters
    ----------
    answer
        What the search found.
    path
        Where to save.
    """
    from matplotlib.colors import LogNorm

    figure = page(4.6)
    axes = figure.subplots()
    policy, front = answer.policy, answer.front
    ran = [t for t in answer.trials if t.ran and t.worst < policy.lost]
    if ran:
        noise = np.array([t.noise if math.isfinite(t.noise) else 1.0 for t in ran])
        x, y = np.array([_place(t, policy) for t in ran]).T
        sure = np.array([not t.lack(policy) for t in ran])
        axes.scatter(
            x[~sure], y[~sure], marker="x", s=16, color=GREY, linewidths=0.8,
            label="unstable with a drawn rig, or too little margin",
        )  # fmt: skip
        norm = LogNorm(1.0, policy.noise_limit / policy.sensor_noise)
        dots = axes.scatter(x[sure], y[sure], c=noise[sure], norm=norm, cmap="viridis_r", s=18, linewidths=0)
        bar = figure.colorbar(dots, ax=axes, extend="max", pad=0.02)
        bar.set_label("noise of the command to that of the signals", fontsize=STYLE.label, color=INK)
        bar.ax.tick_params(labelsize=STYLE.small, labelcolor=INK)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(left=float(x.min()) / 5)  # for the names
        for axis in (axes.xaxis, axes.yaxis, bar.ax.yaxis):
            _plain_decades(axis)
    else:
        axes.text(0.5, 0.5, "nothing ran to its end", ha="center", color=GREY, transform=axes.transAxes)
    if front:
        places = np.array([_place(t, policy) for t in front]).T
        axes.step(places[0], places[1], where="pre", color=COLOURS[0], linewidth=1.1, zorder=3, label="front")
        axes.scatter(
            places[0], places[1], s=34, facecolors="none", edgecolors=COLOURS[0], linewidths=0.9, zorder=4
        )
    target = 100 * policy.target
    axes.axhline(
        target, color=COLOURS[1], linewidth=0.9, linestyle="--", zorder=1, label=f"target {target:.3g} %"
    )
    for trial, word, up in ((answer.best, "taken", -14), (answer.second, "second", 12)):
        if trial is not None:
            place = _place(trial, policy)
            axes.scatter(
                place[0], place[1], s=110, facecolors="none", edgecolors=INK, linewidths=1.2, zorder=5
            )
            axes.annotate(
                plain(f"{word}: {trial.candidate.family.name}"), place, xytext=(-9, up), ha="right",
                textcoords="offset points", fontsize=STYLE.small, color=INK, zorder=6,
                bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1},
            )  # fmt: skip
    dress(axes, "largest error with drawn rigs, noise included [%]", "error with the rig as modelled [%]")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=STYLE.small, labelcolor=INK)
    lead = answer.sentence.partition(". ")[0].rstrip(".")
    words = "\n".join(textwrap.wrap(plain(f"{lead}. {answer.left}".replace(" %", "\u00a0%")), 96))
    figure.suptitle(words, fontsize=STYLE.label, color=INK, x=0.02, ha="left")
    return finish(figure, path)


def _place(trial: Trial, policy: TuningPolicy) -> tuple[float, float]:
    """Return where a trial stands in the figure: cost and error, in per cent."""
    return 100 * trial.cost(policy), 100 * trial.error


def _plain_decades(axis: Axis) -> None:
    """Mark 1, 2 and 5 of each decade of a logarithmic axis, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
