"""How fast tests are rehearsed by the many: lanes and threads, and a graphics processor. Prints Markdown.

Run: python benchmarks/studies.py (some minutes; --tests 1000000 for a card; --without-card)
"""

import argparse
import ctypes
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

from bondloop.cli.settings import find_test
from bondloop.cli.study import Cases
from bondloop.engine.codegen.batch import Batch
from bondloop.engine.codegen.cuda import Device, device
from bondloop.papers import bayer_substep, gawthrop_two_actuators, wagg_three_mass
from bondloop.rigs import Sensor, WhiteNoise
from bondloop.studies import Axis, Case, study
from bondloop.studies.campaign import has_parquet
from bondloop.studies.tick_measures import measuring, named_measure

ROUNDS = 5
SECONDS = 60.0
VARIED = ["rig.transfer.mass.mass", "rig.transfer.spring.stiffness", "rig.transfer.damper.damping"]


def drawn(tick: Any, names: list[str], tests: int) -> Any:
    """Return values that differ by some per cent from the tick's."""
    own = {v.name: x for v, x in tick.parameters.items()}
    base = np.array([own[n] for n in names])
    return base * (1 + 0.03 * np.random.default_rng(1).standard_normal((tests, len(names))).clip(-3, 3))


def processor_seconds(batch: Batch, values: Any, steps: int, jobs: int) -> tuple[float, float]:
    """Return processor time of all threads, and of the one that waits for the others.

    What else the machine does hardly changes them, unlike the time on the wall.
    """
    began, own = time.process_time(), time.thread_time()
    batch.run(values, steps, jobs=jobs)
    return time.process_time() - began, time.thread_time() - own


def lanes_of(tick: Any, names: list[str], width: int, flags: tuple[str, ...]) -> Batch:
    """Return tests in lanes as on a processor that has less."""
    with mock.patch("bondloop.engine.codegen.batch.processor_lanes", return_value=(width, flags)):
        return Batch(tick, names, "lanes")


def row(paper: ModuleType, tests: int, steps: int) -> str:
    """Return a row of the table of lanes."""
    tick = paper.test().tick
    names = [v.name for v, x in tick.parameters.items() if x and "reference" not in v.name][:3]
    few, many = drawn(tick, names, tests), drawn(tick, names, 8 * tests)
    one, lanes = Batch(tick, names, "one by one"), Batch(tick, names, "lanes")
    narrow = lanes_of(tick, names, 4, ("-mavx2",)) if lanes.width >= 4 else lanes
    plain = one.run(few, steps, jobs=1).states
    same = all(np.array_equal(plain, b.run(few, steps, jobs=1).states) for b in (lanes, narrow))
    wide, half, cores, wall = [], [], [], []
    for _ in range(ROUNDS):
        alone = processor_seconds(one, few, steps, 1)[0]
        wide.append(alone / processor_seconds(lanes, few, steps, 1)[0])
        half.append(alone / processor_seconds(narrow, few, steps, 1)[0])
        single = processor_seconds(lanes, many, steps, 1)[0]
        both, waiting = processor_seconds(lanes, many, steps, 2)
        # Two threads take half of the time of what they share, beside what one does alone.
        cores.append(single / (waiting + (both - waiting) / 2))
        began = time.perf_counter()
        lanes.run(many, steps, jobs=1)
        middle = time.perf_counter()
        lanes.run(many, steps, jobs=2)
        wall.append((middle - began) / (time.perf_counter() - middle))
    cells = [f"{statistics.median(x):.2f}" for x in (wide, half, cores, wall)]
    return f"| {tick.name} | {lanes.width} | {' | '.join(cells)} | {'yes' if same else 'NO'} |"


def grid() -> str:
    """Return how much longer a study over a grid takes that builds its test for every case."""
    axis = Axis("rig.transfer.mass.mass", tuple(f"{0.5 + 0.1 * i:g}" for i in range(10)))

    def seconds(test_of: Callable[[Mapping[str, str]], Any]) -> float:
        began = time.process_time()
        study(lambda values: Case(test_of(values), 10.0), [axis], ["stable", "error"])
        return time.process_time() - began

    def anew(values: Mapping[str, str]) -> Any:
        return find_test("wagg-three-mass", [f"{name}={value}" for name, value in values.items()])[0]

    ratios = []
    for _ in range(3 * ROUNDS):
        cases = Cases("wagg-three-mass", [])
        once = seconds(lambda values, cases=cases: cases(values)[0])
        ratios.append(seconds(anew) / once)
    return f"A grid of 10 tests, each built anew: {statistics.median(ratios):.2f} times one built once."


MEMORY = """
import resource, sys
from bondloop.papers import wagg_three_mass
from bondloop.studies import sample
varied = {"rig.transfer.mass.mass": "normal(1, 5%)", "rig.transfer.spring.stiffness": "normal(1, 5%)"}
for count in (64, 100_000):
    sample(wagg_three_mass.test(), varied, count, ("error", "trip"), seconds=0.5, keep=sys.argv[1] or None)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def memory() -> list[str]:
    """Return how much memory a process needs for 100,000 results, without and with a Parquet file."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for words, path in (("as arrays", ""), ("kept as Parquet", f"{folder}/samples.parquet")):
            if path and not has_parquet():
                continue
            done = subprocess.run(
                [sys.executable, "-c", MEMORY, path], capture_output=True, text=True, check=True
            )
            few, many = (float(x) for x in done.stdout.split())
            lines.append(f"100,000 results {words}: {many:.0f} MB at most; 64 of them: {few:.0f} MB.")
    return lines


def on_the_card(card: Device, tests: int) -> list[str]:
    """Return the table of the card: generated and hand-written kernels in turns."""
    test = wagg_three_mass.test()
    whole = measuring(test.tick, {"error": named_measure("error", test.tick)})
    values, steps = drawn(test.tick, VARIED, tests), round(SECONDS / test.period)
    batch = Batch(whole.tick, VARIED, "cuda", wanted=whole.states)
    source = (Path(__file__).parent / "hand_written" / "wagg_three_mass.cu").read_text(encoding="utf-8")
    hand = card.kernels(card.compiled(source))
    ours, verbs, theirs = [], [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        found = whole.read(batch.run(values, steps), steps)["error"]
        verbs.append(time.perf_counter() - began)
        ours.append(batch.kernel_seconds)
        error = np.empty(tests)
        with hand as kernels:
            same, table = kernels.array(8 * 6 * steps), kernels.array(np.ascontiguousarray(values.T))
            place = kernels.array(error.nbytes)
            began = time.perf_counter()
            count, h = ctypes.c_longlong(steps), ctypes.c_double(test.period)
            kernels.start("hand_same", steps, 128, (count, h, same))
            kernels.start("hand_tests", tests, 128, (ctypes.c_longlong(tests), count, h, same, table, place))
            kernels.wait()
            theirs.append(time.perf_counter() - began)
            kernels.read(place, error)
    few = min(tests, 256)
    lanes = Batch(whole.tick, VARIED, "lanes", wanted=whole.states)
    cpu = whole.read(lanes.run(values[:few], steps), steps)["error"]
    return [
        f"{tests:,} tests of {SECONDS:g} s, {steps:,} ticks each, on one {card.name}.", "",
        "| what | seconds |", "|---|---:|",
        f"| kernel | {statistics.median(ours):.2f} |",
        f"| the whole batch, with what all share, copies and measures | {statistics.median(verbs):.2f} |",
        f"| kernel written by hand | {statistics.median(theirs):.2f} |",
        f"| ratio | {statistics.median(a / b for a, b in zip(ours, theirs, strict=True)):.2f} |", "",
        f"Largest relative difference of the error from the kernel by hand: {_off(found, error):.1e};",
        f"from the CPU ({few} tests): {_off(found[:few], cpu):.1e}.",
    ]  # fmt: skip


def _off(found: Any, wanted: Any) -> float:
    return float(np.nanmax(np.abs(found / wanted - 1)))


def noisy(tests: int) -> str:
    """Return how many ticks a second the test with two actuators, its sensors noisy, makes on the card."""
    quiet = gawthrop_two_actuators.test()
    sensors = {"displacement": Sensor((WhiteNoise("1 um"),)), "force": Sensor((WhiteNoise("0.1 N"),))}
    test = quiet.replaced(rig=replace(quiet.rig, sensors=sensors))
    whole = measuring(test.tick, {"error": named_measure("error", test.tick)})
    names = [v.name for v, x in test.tick.parameters.items() if x and "reference" not in v.name][:3]
    batch = Batch(whole.tick, names, "cuda", wanted=whole.states)
    batch.run(drawn(test.tick, names, tests), 5000)
    speed = tests * 5000 / batch.kernel_seconds
    return f"gawthrop-two-actuators with noise in every sensor: {speed:.2g} ticks a second."


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=float, default=1e6)
    parser.add_argument("--without-card", action="store_true")
    options = parser.parse_args()
    print(
        "Lanes by processor time. Two threads: by the processor time of each, and by the clock on the wall.\n"
    )
    print("| test | lanes | times one by one | with AVX2 | two threads | on the wall | the same bits |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for paper, tests, steps in (
        (wagg_three_mass, 512, 2000), (gawthrop_two_actuators, 512, 1000), (bayer_substep, 128, 500),
    ):  # fmt: skip
        print(row(paper, tests, steps))
    print("\n" + "\n".join([grid(), *memory()]))
    card = device()
    if isinstance(card, str) or options.without_card:
        print(f"\nNo card: {card}.")
        return
    print("\n" + "\n".join(on_the_card(card, int(options.tests))))
    print("\n" + noisy(262144))


if __name__ == "__main__":
    main()
