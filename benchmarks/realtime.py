"""What the real-time executive costs and how it keeps time, beside loops and exchanges that do nothing.

The test is a chain of 15 masses with 32 channels against a rig of one state. What is compared is measured in
turns in the same run: look at the ratios, since the machine may be shared. Prints tables in Markdown.
Run: python benchmarks/realtime.py (about four minutes; --quick: 20 s)
"""

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import realtime_blocks as blocks
from numpy.typing import NDArray
from realtime_tables import PERCENTS, Durations, head, histogram, ratios, row, short

from bondloop.engine.codegen import Runner
from bondloop.results import Record, read_cycles

RATES = (1000, 2000, 5000, 10000)
GOALS = {50.0: 1.3, 99.0: 2.0}
"""Largest ratios to the bare loop, by percentile."""
TRIPS = 1.3
"""Largest ratio of a round trip to the bare exchange."""
MEANINGS = {"wake": "wake-up latency", "busy": "cycle time", "sent": "both: command sent"}


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes
    ----------
    hot
        Blocks of cycles without sleep.
    rounds
        Alternations of each comparison.
    seconds
        Of a block on the clock.
    trips
        Round trips of a block.
    recorded
        Seconds of recording.
    """

    hot: int = 20
    rounds: int = 10
    seconds: float = 0.6
    trips: int = 50_000
    recorded: float = 60.0


QUICK = Effort(hot=4, rounds=1, seconds=0.3, trips=20_000, recorded=4.0)


@dataclass(frozen=True)
class Place:
    """Where it runs: the loop's processor, the other one, and the priority on the clock (0: ordinary)."""

    cpu: int
    other: int
    priority: int


def load() -> str:
    """Say how busy the machine is."""
    return " ".join(f"{x:.2f}" for x in os.getloadavg())


def processor_times() -> NDArray[Any]:
    """Return the time that the hypervisor took from this machine, and all time, in ticks of the kernel."""
    times = [int(x) for x in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return np.array([times[7], sum(times)])


def verdict(found: float, goal: float) -> str:
    """Say whether a goal is reached."""
    return "reached" if found <= goal else "**missed**"


def own_cost(effort: Effort, place: Place) -> None:
    """Print what a cycle of the executive costs beside the tick."""
    loop = blocks.programs(10000).loop
    cycles, ticks = [], []
    for _ in range(effort.hot):  # in turns, so that both see the same machine
        ticks.append(min(blocks.tick_cost(loop, place.cpu) for _ in range(3)))
        cycles.append(blocks.hot(loop, place.cpu))
    tick = min(ticks)  # others' work makes a mean larger, and what is left for the executive smaller
    own = Durations.of(np.concatenate(cycles) - tick)
    paired = statistics.median(float(np.median(c)) - t for c, t in zip(cycles, ticks, strict=True))
    python = blocks.in_python(10000, 20_000, place.cpu, 0, hot=True)
    slow = Durations.of(np.diff(python[:, 2]) - tick)
    print("\n### The executive's own cost per tick, hot\n")
    head("what")
    row(Durations.of(np.concatenate(cycles)), "whole cycle, link `none://`")
    row(own, f"**less the tick itself ({tick:.0f} ns, the least of {3 * effort.hot})**")
    row(slow, "the same loop in Python, less the tick")
    median = own.percentile(50)
    print(
        f"\nGoal: at most 300 ns; {short(median)} at the median of all, {short(paired)} as median of "
        f"{effort.hot} pairs: {verdict(median, 300)}. "
        f"Python takes {slow.percentile(50) / median:.0f} times as long."
    )
    histogram({"executive without the tick": own})


def links(effort: Effort, place: Place) -> None:
    """Print round trips to the rig, beside the bare exchange in C: across two processors, and in one."""
    apart, trips = (place.cpu, place.other), effort.trips
    _round_trips(effort.rounds, trips, apart, {"shm": 1000.0, "udp": 7000.0})
    # In one, each waits until the other is given the processor, which takes a thousand times as long.
    _round_trips(effort.rounds, trips // 50, (place.cpu, place.cpu), {})


def _round_trips(rounds: int, trips: int, cpus: tuple[int, int], goals: dict[str, float]) -> None:
    pair, bare = blocks.programs(10000), blocks.limit_program()
    found = {}
    for scheme, link in (("shm", f"shm://benchmark-{os.getpid()}"), ("udp", "udp://127.0.0.1:0")):
        ours, theirs = [], []
        for _ in range(max(1, rounds // 2)):
            theirs.append(blocks.limit(bare, scheme, trips, cpus))
            ours.append(blocks.exchanges(pair, link, trips, cpus))
            ours.append(blocks.exchanges(pair, link, trips, cpus))
            theirs.append(blocks.limit(bare, scheme, trips, cpus))
        found[scheme] = ours, theirs
    print(f"\n### Round trip to the rig's process (loop on processor {cpus[0]}, rig on {cpus[1]})\n")
    head("link")
    for scheme, words in (("shm", "shared memory"), ("udp", "UDP, busy-polled")):
        whole_ours, whole_theirs = (Durations.together(p) for p in found[scheme])
        row(whole_ours, f"**{words}**, with the rig's tick")
        row(whole_theirs, f"{words}, a message of 60 bytes bounced in C")
    print()
    for scheme, (ours, theirs) in found.items():
        whole, paired = ratios(ours, theirs, 50.0)
        median = Durations.together(ours).percentile(50)
        goal = goals.get(scheme)
        wanted = f"goal under {short(goal)} at the median, " if goal else ""
        reached = f": {verdict(median, goal)}" if goal else ""
        print(
            f"{scheme}: {wanted}{short(median)}{reached}; {whole:.2f} times the bare exchange (median of "
            f"{len(ours)} pairs {paired:.2f}); goal at most {TRIPS:g}: {verdict(paired, TRIPS)}."
        )
    if goals:
        for scheme, parts in found.items():
            both = (Durations.together(p) for p in parts)
            histogram(dict(zip((f"{scheme}, bondloop", f"{scheme}, bare"), both, strict=True)))


def clocked(effort: Effort, place: Place) -> None:
    """Print wake-up latencies and cycle times at several rates, beside the bare loop and Python."""
    loops = {rate: blocks.programs(rate).loop for rate in RATES}
    bare: dict[int, list[Durations]] = {rate: [] for rate in RATES}
    ours: dict[int, dict[str, list[Durations]]] = {rate: {name: [] for name in MEANINGS} for rate in RATES}
    python: dict[int, list[NDArray[Any]]] = {rate: [] for rate in RATES}
    missed = {rate: {"bondloop": 0, "bare": 0} for rate in RATES}
    where = (place.cpu, place.priority)
    for number in range(effort.rounds):
        first, second = ("bare", "bondloop") if number % 2 == 0 else ("bondloop", "bare")
        for rate, loop in loops.items():
            cycles = round(rate * effort.seconds)
            for kind in (first, second, "python", second, first):
                if kind == "bare":
                    latencies, gone = blocks.bare(loop, cycles, *where)
                    bare[rate].append(latencies)
                    missed[rate]["bare"] += gone
                elif kind == "python":
                    python[rate].append(blocks.in_python(rate, cycles, *where))
                else:
                    durations, counts = blocks.paced(loop, cycles, *where)
                    for name, one in durations.items():
                        ours[rate][name].append(one)
                    missed[rate]["bondloop"] += counts["missed"]
    rounds = f"{effort.rounds} round{'s' if effort.rounds > 1 else ''}"
    print(f"\n### On the clock: {rounds} in turns, blocks of {effort.seconds:g} s\n")
    head("rate", "loop", "what")
    for rate in RATES:
        row(Durations.together(bare[rate]), f"{rate / 1000:g} kHz", "bare", "wake-up latency")
        for name, words in MEANINGS.items():
            row(Durations.together(ours[rate][name]), "", "**bondloop**", words)
        taken = np.concatenate(python[rate])
        row(Durations.of(taken[:, 0]), "", "Python", "wake-up latency")
        row(Durations.of(taken[:, 1]), "", "Python", "cycle time")
    _compared(bare, ours, python)
    lines = (f"{r / 1000:g} kHz {m['bondloop']:,} and {m['bare']:,}" for r, m in missed.items())
    print(f"Deadlines that passed while the processor was elsewhere, bondloop and bare: {'; '.join(lines)}.")
    for rate in (RATES[0], RATES[-1]):
        name = f"{rate / 1000:g} kHz, wake-up latency"
        parts = {f"{name}, bare": bare[rate], f"{name}, bondloop": ours[rate]["wake"]}
        histogram({words: Durations.together(part) for words, part in parts.items()})


def _compared(
    bare: dict[int, list[Durations]],
    ours: dict[int, dict[str, list[Durations]]],
    python: dict[int, list[NDArray[Any]]],
) -> None:
    print("\nAgainst the bare loop's wake-up latency; in brackets the median of the pairs' ratios.\n")
    print("| rate | loop | " + " | ".join(f"{p:g} %" for p in PERCENTS) + " | goals |")
    print("|---|---|" + "---:|" * len(PERCENTS) + "---|")
    for rate in RATES:
        pairs = [Durations.of(p[:, 0]) for p in python[rate]]
        for words, mine, theirs in (
            ("bondloop, woken", ours[rate]["wake"], bare[rate]),
            ("bondloop, command sent", ours[rate]["sent"], bare[rate]),
            ("Python, woken", pairs, bare[rate][::2]),
        ):
            found = {p: ratios(mine, theirs, p) for p in PERCENTS}
            cells = " | ".join(f"{whole:.2f} ({paired:.2f})" for whole, paired in found.values())
            is_reached = all(found[p][0] <= goal for p, goal in GOALS.items())
            goals = "" if words.startswith("Python") else "reached" if is_reached else "**missed**"
            print(f"| {rate / 1000:g} kHz | {words} | {cells} | {goals} |")
    print("\nGoals: at most " + ", ".join(f"{goal:g} at {p:g} %" for p, goal in GOALS.items()) + ".")


def telemetry(effort: Effort, place: Place) -> None:
    """Print what the recorder used and lost."""
    rate = 10000
    loop = blocks.programs(rate).loop
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.h5"
        where = (place.cpu, place.priority)
        used, took, counts = blocks.record(loop, rate, effort.recorded, path, *where)
        record, cycles = Record.load(path), read_cycles(path)
        size = path.stat().st_size
    steps = len(cycles["step"])
    rehearsed = Runner(blocks.chain(rate), "c").run(steps, np.zeros((steps, 1))).channels
    differing = sum(not np.array_equal(record[name], values) for name, values in rehearsed.items())
    lost = int(record.attributes["samples_lost"])
    kept = int((cycles["step"] == np.arange(steps)).sum())
    wanted = round(rate * effort.recorded)
    ready, ended, over = used
    share = 100 * (ended - ready) / took
    print(f"\n### Telemetry: {effort.recorded:g} s at 10 kHz, {blocks.CHANNELS} channels, to HDF5\n")
    print("| what | goal | measured |")
    print("|---|---:|---:|")
    print(f"| samples in the file, in order | {wanted:,} | {kept:,} |")
    print(f"| samples lost by the recorder | 0 | {lost} |")
    print(f"| channels that differ from a rehearsal's in any bit | 0 | {differing} |")
    print(f"| its CPU while the loop ran ({took:.1f} s) | 5 % | {share:.2f} % of a core |")
    print(f"| its CPU for start and imports; for the end | | {ready:.2f} s; {over - ended:.2f} s |")
    print(f"| file | | {size / 1e6:.0f} MB |")
    print(f"| deadlines missed by the loop; late cycles | | {counts['missed']:,}; {counts['overruns']:,} |")
    good = kept == wanted and lost == differing == 0 and share < 5
    print(f"\nGoals: {'reached' if good else '**missed**'}.")


SECTIONS = {"cost": own_cost, "links": links, "clock": clocked, "telemetry": telemetry}


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20 s: see that it works")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="this section; may be repeated")
    parser.add_argument("--cpu", type=int, help="processor of the loops; the last one unless given")
    parser.add_argument("--priority", type=int, default=80, help="of SCHED_FIFO on the clock; 0: ordinary")
    given = parser.parse_args()
    if sys.platform != "linux":
        raise SystemExit("the real-time loop needs Linux")
    cpus = sorted(os.sched_getaffinity(0))
    cpu = cpus[-1] if given.cpu is None else given.cpu
    place = Place(cpu, next((c for c in cpus if c != cpu), cpu), given.priority)
    effort, began, before = QUICK if given.quick else Effort(), time.monotonic(), processor_times()
    print(
        f"{len(cpus)} processors, Linux {platform.release()}, Python {platform.python_version()}; "
        f"load average {load()} at the beginning."
    )
    print(f"Loops on processor {cpu}, " + _scheduler(place.priority) + ".")
    if len(cpus) == 1:
        print(
            "One processor only: loop and rig take turns on it, and round trips are those of the scheduler."
        )
    for name in given.only or SECTIONS:
        SECTIONS[name](effort, place)
    stolen, whole = processor_times() - before
    print(
        f"\nLoad average {load()} at the end, after {time.monotonic() - began:.0f} s; "
        f"the hypervisor took {100 * stolen / whole:.1f} % of the time."
    )


def _scheduler(priority: int) -> str:
    if not priority:
        return "ordinary scheduler"
    try:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        os.sched_setscheduler(0, *before)
    except PermissionError:
        return f"ordinary scheduler (SCHED_FIFO at priority {priority} is not permitted)"
    return f"SCHED_FIFO at priority {priority} on the clock"


if __name__ == "__main__":
    main()
