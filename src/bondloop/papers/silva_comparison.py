"""The field's benchmark in full: controllers, cases, draws of the noise, plants that differ.

A tick is compiled once for a controller and a case; plants and draws of the noise are values in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from bondloop.compile import Runner
from bondloop.display import telling
from bondloop.errors import InputError, unknown_name
from bondloop.hybrid import Simulation
from bondloop.hybrid.rehearsal import steps_of
from bondloop.papers import silva_benchmark
from bondloop.papers.silva_benchmark import CASES, CONTROLLERS, DISPLACEMENT_NOISE, RATE, SECONDS
from bondloop.papers.silva_criteria import criteria_of
from bondloop.program.signals.in_tick import now_and_next

if TYPE_CHECKING:
    from bondloop.compile import Result
    from bondloop.program.signals import Signal

__all__ = ["Comparison", "Outcome", "Trial", "compare", "trials"]

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
        By name, see `bondloop.papers.silva_criteria`; empty where the run stopped.
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


@telling("comparing controllers")
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
    inputs = now_and_next(test.tables.values(), steps, test.period)
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
