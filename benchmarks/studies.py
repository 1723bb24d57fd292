"""How fast tests are rehearsed by the many: lanes and threads, and a graphics processor. Prints Markdown.

Run: python benchmarks/studies.py (some minutes; --tests 1000000 for a card; --without-card)
"""

import argparse
import ctypes
import statistics
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bondloop.compile.batch import Batch
from bondloop.compile.cuda_driver import Device, device
from bondloop.papers import bayer_substep, gawthrop_two_actuators, wagg_three_mass
from bondloop.studies.named_measures import named_measure
from bondloop.studies.on_the_way import measuring

ROUNDS = 5
SECONDS = 60.0
VARIED = ["rig.transfer.mass.mass", "rig.transfer.spring.stiffness", "rig.transfer.damper.damping"]


def drawn(tick: Any, names: list[str], tests: int) -> Any:
    """Return values that differ by some per cent from the tick's."""
    own = {v.name: x for v, x in tick.parameters.items()}
    base = np.array([own[n] for n in names])
    return base * (1 + 0.03 * np.random.default_rng(1).standard_normal((tests, len(names))).clip(-3, 3))


def seconds_of(batch: Batch, values: Any, steps: int, jobs: int) -> float:
    """Return how long a batch takes."""
    began = time.perf_counter()
    batch.run(values, steps, jobs=jobs)
    return time.perf_counter() - began


def row(paper: ModuleType, tests: int, steps: int) -> str:
    """Return a row of the table of lanes."""
    tick = paper.test().tick
    names = [v.name for v, x in tick.parameters.items() if x and "reference" not in v.name][:3]
    values = drawn(tick, names, tests)
    one, lanes = Batch(tick, names, "one by one"), Batch(tick, names, "lanes")
    same = np.array_equal(one.run(values, steps, jobs=1).states, lanes.run(values, steps, jobs=1).states)
    ratios, cores = [], []
    for _ in range(ROUNDS):
        single = seconds_of(lanes, values, steps, 1)
        ratios.append(seconds_of(one, values, steps, 1) / single)
        cores.append(single / seconds_of(lanes, values, steps, 2))
    cells = [f"{statistics.median(ratios):.1f}", "yes" if same else "NO", f"{statistics.median(cores):.2f}"]
    return f"| {tick.name} | {lanes.width} | {' | '.join(cells)} |"


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
    """Return how many ticks a second the test with two actuators makes on the card."""
    test = gawthrop_two_actuators.test()
    whole = measuring(test.tick, {"error": named_measure("error", test.tick)})
    names = [v.name for v, x in test.tick.parameters.items() if x and "reference" not in v.name][:3]
    batch = Batch(whole.tick, names, "cuda", wanted=whole.states)
    batch.run(drawn(test.tick, names, tests), 5000)
    return f"gawthrop-two-actuators: {tests * 5000 / batch.kernel_seconds:.2g} ticks a second."


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=float, default=1e6)
    parser.add_argument("--without-card", action="store_true")
    options = parser.parse_args()
    print("| test | lanes | times one by one | the same to the last bit | two threads, times one |")
    print("|---|---:|---:|---|---:|")
    for paper, tests, steps in (
        (wagg_three_mass, 512, 5000), (gawthrop_two_actuators, 512, 2000), (bayer_substep, 128, 1000),
    ):  # fmt: skip
        print(row(paper, tests, steps))
    card = device()
    if isinstance(card, str) or options.without_card:
        print(f"\nNo card: {card}.")
        return
    print("\n" + "\n".join(on_the_card(card, int(options.tests))))
    print("\n" + noisy(262144))


if __name__ == "__main__":
    main()
