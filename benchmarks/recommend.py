"""How near `bondloop.tuning.recommend` comes to the best that brute force finds.

    python benchmarks/recommend.py [NAME ...] [--finer 3] [--limit 600]

Brute force tries the same families over grids whose every scale has so many times as many steps, the force
held and carried on, rehearses them as modelled and with drawn rigs, and checks the best in full until one
passes. With a limit it takes the grid in random order, and says how much of it was tried in that time. What
is compared is the cost: the largest error with drawn rigs, with what noise makes of the command.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable
from dataclasses import replace

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero
from bondloop.control.families import FAMILIES
from bondloop.papers import dubois_damper, silva_benchmark
from bondloop.transfer import Process, first_order
from bondloop.tuning.setting_search import Search
from bondloop.tuning.task import carried_on, task_of, with_excitation
from bondloop.tuning.trial import Bench

DELAYED = first_order(1.0, "5 ms", delay="9 ms")


class Mass(Model):
    """A mass on a spring from its left port."""

    def __init__(self, m: float, c: float, k: float) -> None:
        self.left, self.right = Port(), Port()
        self.force, self.v = Zero(), One()
        self.left >> self.force >> self.v >> self.right
        self.spring, self.mass, self.damper = C(stiffness=k), I(mass=m), R(damping=c)
        self.force >> self.spring
        self.v >> [self.mass, self.damper]


def delayed() -> bl.HybridTest:
    """Two masses, the second one on a rig that is late by 9 ms and lags by 5 ms more."""
    pair = Model("pair")
    pair.wall = Sf("v_wall")
    pair.a, pair.b = Mass(20, 120, 50e3), Mass(2, 12, 10e3)
    pair.wall >> pair.a.left
    pair.a.right >> pair.b.left
    numerical, physical = pair.cut("a.right >> b.left")
    motion = bl.signals.Sine("2 mm", 4.0) + bl.signals.Sine("1 mm", 1.5)
    rig = bl.rigs.Emulated(physical, first_order(1.0, "5 ms").actuator(), latency=DELAYED.delay)
    return bl.HybridTest(
        numerical, rig=rig, controller=bl.control.Direct(), excitation={"v_wall": motion.derivative()},
        rate=1000, reference=pair,
    )  # fmt: skip


CASES: dict[str, tuple[Callable[[], bl.HybridTest], Callable[[], Process | None], float]] = {
    "9 ms and a lag": (delayed, lambda: DELAYED, 10.0),
    "dubois-damper": (dubois_damper.test, lambda: None, dubois_damper.SECONDS),
    "silva-benchmark": (silva_benchmark.test, lambda: None, silva_benchmark.SECONDS),
}
"""Test, process (None: identified on its rig) and seconds by name."""


def brute_force(
    name: str, finer: int, families: list[str], limit: float
) -> tuple[float, str, int, int, float]:
    """Return the least cost that passes, its settings, how many were tried, of how many, and seconds."""
    make, process, seconds = CASES[name]
    began = time.perf_counter()
    test = with_excitation(make())
    bench = Bench(test, seconds)
    task = task_of(test, process(), bench.velocity)
    bench = bench.with_choice(carried_on(test, task.frequency))
    search = Search(bench, task, [FAMILIES[f] for f in families])
    grid = [
        replace(c, carried=way)
        for family in families
        for c in FAMILIES[family].candidates(task, finer)
        for way in bench.ways
    ]
    if math.isfinite(limit):
        random.Random(1).shuffle(grid)
    search.run(grid, time.monotonic() + limit, jobs=2)
    for trial in map(bench.checked, search.ranked()):
        if trial.passed:
            words = f"{trial.candidate.family.name}({trial.words})"
            cost = trial.cost(bench.policy)
            return cost, words, len(search.trials), len(grid), time.perf_counter() - began
    raise SystemExit(f"{name}: nothing passes")


def main() -> None:
    """Print both, and their ratio, for every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CASES), metavar="NAME")
    parser.add_argument("--finer", type=int, default=3)
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds that brute force may take")
    parser.add_argument("--family", action="append", help="brute force over this family only; repeatable")
    parser.add_argument("--budget", type=float, default=600.0, help="seconds that recommend may take")
    parser.add_argument("--alone", action="store_true", help="without brute force")
    options = parser.parse_args()
    for name in options.names:
        make, process, seconds = CASES[name]
        answer = bl.tuning.recommend(process(), make(), seconds=seconds, budget=options.budget)
        print(f"{name}\n{answer}\n{answer.seconds:.1f} s, check: {answer.check.verdict}", flush=True)
        if options.alone:
            continue
        families = options.family or list(FAMILIES)
        least, words, count, whole, took = brute_force(name, options.finer, families, options.limit)
        ratio = answer.best.cost(answer.policy) / least if answer.best is not None else float("nan")
        print(f"brute force: cost {100 * least:.4g} % with {words}, {count} of {whole} tried in {took:.0f} s")
        print(f"ratio {ratio:.3f}\n", flush=True)


if __name__ == "__main__":
    main()
