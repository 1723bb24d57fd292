"""The field's benchmark in full: controllers, cases, draws of the noise, plants that differ.

A tick is compiled once for a controller and a case; plants and draws of the noise are values in it.
"""

from __future__ import annotations

import csv
import math
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import with_progress
from bondloop.engine.codegen import Runner
from bondloop.errors import InputError, unknown_name
from bondloop.hybrid import Simulation
from bondloop.papers import silva_benchmark
from bondloop.papers.silva_benchmark import (
    CASES,
    CONTROLLERS,
    DISPLACEMENT_NOISE,
    NOISY,
    NUMBERS,
    RATE,
    SECONDS,
    WITHOUT_NOISE,
    criteria_of,
)
from bondloop.rehearsal import steps_of
from bondloop.results.figures import COLOURS, INK, STYLE, dress, finish, heading, page
from bondloop.signals import tabulated_inputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bondloop.engine.codegen import Result
    from bondloop.signals import Signal


ALLOWANCE = 0.3
"""What a plant that differs may add, in points (of J1, in ms)."""


@dataclass(frozen=True)
class Goal:
    """A bound on the size of a criterion.

    Parameters
    ----------
    name
        The criterion.
    most
        In its unit, or in the case's noise floor.
    of_floor
        Whether the bound is in the floor.
    """

    name: str
    most: float
    of_floor: bool = False

    def bound(self, floor: float) -> float:
        """Return the bound for a case with a noise floor in per cent."""
        return self.most * floor if self.of_floor else self.most


GOALS = (
    Goal("delay_ms", 0.5),
    Goal("tracking_rms_percent", 1.1, of_floor=True),
    Goal("floor_1_rms_percent", 1.1, of_floor=True),
    Goal("floor_2_rms_percent", 0.5),
    Goal("floor_3_rms_percent", 0.5),
)
"""Motion in time (a small lead makes up for the hold and a late force), hardly more error than the sensor's
noise makes, and the floors in the computer within half a per cent of the whole frame's."""


def worst(outcomes: Sequence[Outcome], name: str) -> float:
    """Return the largest size of a criterion, with its sign; infinite where a run stopped, NaN of no runs.

    Parameters
    ----------
    outcomes
        Of some runs.
    name
        The criterion.
    """
    values = [o.criteria.get(name, math.inf) for o in outcomes]
    return max(values, key=abs, default=math.nan)


def missed(comparison: Comparison, controller: str, case: int, *, nominal: bool) -> list[str] | None:
    """Return the numbers of the goals that a controller misses; None where nothing was run.

    Parameters
    ----------
    comparison
        All runs.
    controller, case
        Which.
    nominal
        Whether on the nominal plant, or on the others, with `ALLOWANCE`.
    """
    outcomes = comparison.of(controller, case, nominal=nominal)
    if not outcomes:
        return None
    floor, more = comparison.floors[case], 0.0 if nominal else ALLOWANCE
    return [
        NUMBERS[goal.name]
        for goal in GOALS
        if not abs(worst(outcomes, goal.name)) <= goal.bound(floor) + more
    ]


OVER_PLANTS = ("tracking_rms_percent", "floor_1_rms_percent", "floor_2_rms_percent", "floor_3_rms_percent")
"""Criteria whose mean and worst over the plants the second table shows."""

COLUMNS = ("controller", "case", "plant", "seed", "stopped", "stopped_by")
"""Of the CSV, before the criteria; the time at which a run stopped is in s."""


def save_csv(comparison: Comparison, path: str | Path) -> Path:
    """Save every run as a row; a run that stopped has no criteria.

    Parameters
    ----------
    comparison
        The runs.
    path
        Where to.
    """
    names = [*NUMBERS, *(f"{name}{WITHOUT_NOISE}" for name in NOISY)]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS, *names])
        for o in comparison.outcomes:
            stopped = "" if o.stopped is None else o.stopped
            row = [o.controller, o.case, o.trial.plant, o.trial.seed, stopped, o.channel]
            writer.writerow([*row, *(o.criteria.get(name, "") for name in names)])
    return Path(path)


def markdown(comparison: Comparison) -> str:
    """Return the tables as Markdown: the goals, the nominal plant, the plants that differ.

    Parameters
    ----------
    comparison
        The runs.
    """
    parts = [
        "### Goals\n\n" + _goals(comparison),
        "### Nominal plant\n\n" + _nominal(comparison),
    ]
    if any(o.trial.plant for o in comparison.outcomes):
        parts.append("### Plants that differ\n\n" + _plants(comparison))
    return "\n\n".join(parts) + "\n"


def _goals(comparison: Comparison) -> str:
    rows = []
    for name in comparison.controllers:
        row = [f"`{name}`", CONTROLLERS[name].about]
        for case in comparison.cases:
            on = [missed(comparison, name, case, nominal=nominal) for nominal in (True, False)]
            row.append("; ".join(_met(words) for words in on if words is not None))
        rows.append(row)
    bounds = ", ".join(
        f"{NUMBERS[g.name]} {g.most:g} {'floors' if g.of_floor else 'ms' if g.name == 'delay_ms' else '%'}"
        for g in GOALS
    )
    floors = ", ".join(f"{comparison.floors[case]:.2f}" for case in comparison.cases)
    words = (
        f"At most: {bounds}; the noise floors are {floors} %. First on the nominal plant, then on the "
        f"others, which may be {ALLOWANCE:g} points (ms) worse. What is missed is named."
    )
    return words + "\n\n" + _table(["controller", "what", *(f"case {c}" for c in comparison.cases)], rows)


def _met(words: Sequence[str]) -> str:
    return "met" if not words else "all missed" if len(words) == len(GOALS) else " ".join(words)


def _nominal(comparison: Comparison) -> str:
    rows = [
        [f"`{name}`", str(case), *_values(comparison.of(name, case, nominal=True))]
        for name in comparison.controllers
        for case in comparison.cases
    ]
    words = "The worst draw of the noise, in brackets the worst twin without it; J1 in ms, the others in %."
    return words + "\n\n" + _table(["controller", "case", *NUMBERS.values()], rows)


def _plants(comparison: Comparison) -> str:
    rows = []
    for name in comparison.controllers:
        for case in comparison.cases:
            outcomes = comparison.of(name, case, nominal=False)
            done = [o for o in outcomes if o.stopped is None]
            row = [f"`{name}`", str(case), _stops(outcomes)]
            for criterion in OVER_PLANTS:
                values = [o.criteria[criterion] for o in done]
                row += [f"{np.mean(values):.2f}", f"{max(values):.2f}"] if done else ["-", "-"]
            rows.append(row)
    heads = [head for name in OVER_PLANTS for head in (f"{NUMBERS[name]} mean", "worst")]
    return _table(["controller", "case", "stopped", *heads], rows)


def _values(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the worst of each criterion; where a run stopped, when the first one did."""
    if any(o.stopped is not None for o in outcomes):
        return [f"stopped: {_stops(outcomes)}", *[""] * (len(NUMBERS) - 1)]
    values = [_number(worst(outcomes, name)) for name in NUMBERS]
    twins = [_number(worst(outcomes, f"{name}{WITHOUT_NOISE}")) for name in NOISY]
    return [*(f"{v} ({t})" for v, t in zip(values, twins, strict=False)), *values[len(twins) :]]


def _stops(outcomes: Sequence[Outcome]) -> str:
    times = [o.stopped for o in outcomes if o.stopped is not None]
    return f"{len(times)} of {len(outcomes)}, first at {min(times):.2f} s" if times else "none"


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


FLOORS = {1: 2.56, 2: 2.39, 3: 1.58, 4: 2.00}
"""What the noise alone makes of J2, in per cent, in each case of El Centro at 40 %."""

MOST = 1000
"""Plants, and draws of the noise."""


@dataclass(frozen=True)
class Trial:
    """One run of a controller in a case.

    Parameters
    ----------
    plant
        0 for the nominal one, see `silva_benchmark.Plant`.
    seed
        Of the noise.
    """

    plant: int = 0
    seed: int = 1


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes
    ----------
    controller, case, trial
        Which run it was.
    criteria
        By name, see `bondloop.papers.silva_benchmark`; empty where the run stopped.
    stopped
        When a limit of the rig stopped it, in s; None where it did not.
    channel
        What passed its limit, "" where nothing did.
    """

    controller: str
    case: int
    trial: Trial
    criteria: dict[str, float]
    stopped: float | None = None
    channel: str = ""


@dataclass(frozen=True)
class Comparison:
    """All runs, and what they are held against.

    Attributes
    ----------
    outcomes
        In the order of controllers, cases and trials.
    floors
        Of each case: what J2 would be if the rig moved exactly as it should, in per cent.
    record, scale
        The ground motion: its file, "" for El Centro; what it was multiplied by.
    """

    outcomes: tuple[Outcome, ...]
    floors: dict[int, float]
    record: str = ""
    scale: float = 0.4

    @property
    def controllers(self) -> tuple[str, ...]:
        """In their order."""
        return tuple(dict.fromkeys(o.controller for o in self.outcomes))

    @property
    def cases(self) -> tuple[int, ...]:
        """In their order."""
        return tuple(dict.fromkeys(o.case for o in self.outcomes))

    def of(self, controller: str, case: int, *, nominal: bool) -> list[Outcome]:
        """Return the runs of a controller in a case: those on the nominal plant, or those on the others."""
        wanted = (controller, case)
        return [
            o for o in self.outcomes if (o.controller, o.case) == wanted and (not o.trial.plant) == nominal
        ]


def trials(seeds: int = 3, plants: int = 20) -> tuple[Trial, ...]:
    """Return the runs of a controller in a case.

    Parameters
    ----------
    seeds
        Draws of the noise on the nominal plant.
    plants
        How many others, each with the first draw.

    Examples
    --------
    >>> trials(2, 1)
    (Trial(plant=0, seed=1), Trial(plant=0, seed=2), Trial(plant=1, seed=1))
    """
    for word, number, least in (("seeds", seeds, 1), ("plants", plants, 0)):
        if not least <= number <= MOST:
            raise InputError(f"{word} must be from {least} to {MOST}; found {number}")
    return (*(Trial(seed=s) for s in range(1, seeds + 1)), *(Trial(p) for p in range(1, plants + 1)))


@with_progress("comparing controllers")
def compare(
    controllers: Sequence[str] = tuple(CONTROLLERS),
    cases: Sequence[int] = CASES,
    runs: Sequence[Trial] = trials(),
    *,
    record: str = "",
    scale: float = 0.4,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Run the benchmark.

    Parameters
    ----------
    controllers, cases
        Which; all unless given.
    runs
        Of each controller in each case, see `trials`.
    record, scale
        The ground motion, as for `silva_benchmark.test`.
    jobs
        At a time, in threads: compilers and compiled runs wait for no one.
    progress
        Called with (runs done, runs in all).
    """
    for name in controllers:
        if name not in CONTROLLERS:
            raise InputError(unknown_name("controller", name, CONTROLLERS))
    for word, chosen in (("controllers", controllers), ("cases", cases)):
        if not chosen or len(set(chosen)) < len(chosen):
            raise InputError(f"{word} must be named once each; found {', '.join(map(str, chosen)) or 'none'}")
    lock, done, whole = threading.Lock(), 0, len(controllers) * len(cases) * len(runs)

    def count() -> None:
        nonlocal done
        with lock:
            done += 1
            if progress is not None:
                progress(done, whole)

    def part(pair: tuple[str, int]) -> list[Outcome]:
        return _outcomes(*pair, runs, record, scale, count)

    motion = silva_benchmark.ground(record, scale)  # before any thread: a bad file is told at once
    for case in cases:
        silva_benchmark.matrices(case)
    pairs = [(name, case) for name in controllers for case in cases]
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        parts = list(pool.map(part, pairs))
    stated = not record and scale == 0.4
    floors = {case: FLOORS[case] if stated else _floor(case, record, motion) for case in cases}
    return Comparison(tuple(o for outcomes in parts for o in outcomes), floors, record, scale)


def _outcomes(
    controller: str,
    case: int,
    runs: Sequence[Trial],
    record: str,
    scale: float,
    count: Callable[[], None],
) -> list[Outcome]:
    test = silva_benchmark.test(case, controller, record, scale)
    steps = steps_of(test.seconds or SECONDS, test.period)
    inputs = tabulated_inputs(test.tables.values(), steps, test.period)
    runner = Runner(test.tick)
    outcomes = []
    for trial in runs:
        runner.reset()
        values = {**plant_values(case, trial.plant), "rig.seed": float(trial.seed)}
        result = runner.run(steps, inputs, values)
        outcomes.append(_outcome(controller, case, trial, result, test.period))
        count()
    return outcomes


def _outcome(controller: str, case: int, trial: Trial, result: Result, period: float) -> Outcome:
    if result.finished:
        return Outcome(controller, case, trial, criteria_of(result.channels, period))
    return Outcome(controller, case, trial, {}, result.stopped_at, result.stopped_channel or "")


@cache
def plant_values(case: int, plant: int) -> dict[str, float]:
    """Return the parameters, by path, with which the nominal test of a case is that of another plant.

    Parameters
    ----------
    case
        1 to 4.
    plant
        Its number.

    Examples
    --------
    >>> sorted(plant_values(1, 7))[-2:]
    ['rig.transfer.servo.b1', 'rig.transfer.servo.b2']
    """
    nominal, other = (silva_benchmark.test(case, "sample", plant=n).parameters for n in (0, plant))
    return {path: value for path, value in other.items() if value is not None and value != nominal[path]}


def _floor(case: int, record: str, motion: Signal) -> float:
    """Return the noise over the motion of the whole frame's first floor, in per cent."""
    floor = "stiffness[0].displacement"
    frame = silva_benchmark.model(case).compile([floor])
    alone = Simulation({"whole": frame}, excitation={"ground": motion}, rate=RATE, name="whole_frame")
    moved = alone.run(motion.duration if record else SECONDS)[f"whole.{floor}"]
    return float(100 * DISPLACEMENT_NOISE / np.std(moved)) if np.std(moved) else float("nan")


DOT: dict[str, Any] = {"color": INK, "markersize": 3.5}


BAR: dict[str, Any] = {"color": COLOURS[0], "linewidth": 3.0, "alpha": 0.45}


CROSS: dict[str, Any] = {"color": COLOURS[1], "markersize": 4.5}


LINE: dict[str, Any] = {"color": COLOURS[2], "linewidth": 1.0}


SHOWN = ("floor_1_rms_percent", "floor_2_rms_percent")
"""Criteria, one below the other."""


def figure(comparison: Comparison, *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw the errors of floors 1 and 2, a column for each case.

    A dot is the worst draw of the noise on the nominal plant, the bar reaches over the plants that differ, a
    cross at the right edge says that runs stopped; the line is the goal.

    Parameters
    ----------
    comparison
        The runs.
    path
        Where to save.
    """
    from matplotlib.lines import Line2D

    names = comparison.controllers
    sheet = page(len(SHOWN) * (0.19 * len(names) + 0.75), 8.0)
    grid = sheet.subplots(len(SHOWN), len(comparison.cases), squeeze=False, sharex="row")
    goals = {goal.name: goal for goal in GOALS}
    for row, criterion in zip(grid, SHOWN, strict=True):
        for axes, case in zip(row, comparison.cases, strict=True):
            axes.set_xscale("log")
            _panel(axes, comparison, case, criterion, goals[criterion])
            heading(axes, f"case {case}: {NUMBERS[criterion]} [%]")
            axes.set_yticks(range(len(names)), names if case == comparison.cases[0] else [""] * len(names))
            axes.set_ylim(len(names) - 0.4, -0.6)
    looks = [
        Line2D([], [], marker="o", linestyle="none", label="nominal plant, worst draw", **DOT),
        Line2D([], [], label="plants that differ", **BAR),
        Line2D([], [], marker="x", linestyle="none", label="runs that stopped", **CROSS),
        Line2D([], [], label="goal", **LINE),
    ]
    sheet.legend(handles=looks, loc="outside lower center", ncols=4, frameon=False, fontsize=STYLE.small)
    return finish(sheet, path)


def _panel(axes: Axes, comparison: Comparison, case: int, criterion: str, goal: Goal) -> None:
    for i, name in enumerate(comparison.controllers):
        nominal = comparison.of(name, case, nominal=True)
        others = comparison.of(name, case, nominal=False)
        values = _finished(others, criterion)
        if values:
            axes.plot([min(values), max(values)], [i, i], **BAR)
        if at := _finished(nominal, criterion):
            axes.plot(max(at), i, marker="o", linestyle="none", **DOT)
        stopped = [o for o in (*nominal, *others) if o.stopped is not None]
        if stopped:
            edge = axes.get_yaxis_transform()  # across the panel, whatever its range
            axes.plot(0.97, i, marker="x", transform=edge, **CROSS)
    axes.axvline(goal.bound(comparison.floors[case]), **LINE)
    dress(axes)


def _finished(outcomes: Sequence[Outcome], criterion: str) -> list[float]:
    return [o.criteria[criterion] for o in outcomes if criterion in o.criteria]
