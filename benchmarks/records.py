"""How fast run files and tables of text are written and read, and how much memory they take.

Run: python benchmarks/records.py (two minutes; --quick: a few seconds)

Medians of the processor's seconds: the machine may have other work.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bondloop.readers import read_measurements
from bondloop.realtime.recorder import CYCLE
from bondloop.results import Record
from bondloop.results.records.growing import GrowingRun


def row(what: str, way: Callable[[], Any], turns: int) -> None:
    """Print a line of the table: the median of the processor's seconds."""
    seconds = []
    for _ in range(turns):
        began = time.process_time()
        way()
        seconds.append(time.process_time() - began)
    print(f"| {what} | {1e3 * median(seconds):.3g} ms |")


def growing(folder: Path, channels: int, turns: int) -> None:
    """Write a quarter of a second at 1 kHz again and again, then open what was written."""
    units = {f"channel.{i}": "m" for i in range(channels)}
    values = np.random.default_rng(0).normal(size=(250, channels))
    cycle = {name: np.zeros(250, kind) for name, kind in CYCLE.items()}
    path = folder / "growing.h5"

    def begin() -> GrowingRun:
        return GrowingRun(path, units, CYCLE, rate=1e3, attributes={})

    def empty() -> None:
        begin().close({})
        path.unlink()

    row(f"an empty file, {channels:,} channels", empty, 5)
    file, rows = begin(), 0

    def write() -> None:
        nonlocal rows
        file.append((rows + np.arange(250)) * 1e-3, values, cycle)
        file.commit()
        rows += 250

    row(f"a write, {channels:,} channels", write, turns)
    file.close({})
    row(f"opening, one channel of {channels:,}", lambda: Record.load(path, ["channel.7"]), 5)
    row(f"reading all of {channels:,}", lambda: Record.load(path), 5)


def finished(folder: Path, channels: int, samples: int) -> None:
    """Save a finished run and load it."""
    time_ = np.arange(samples) * 1e-3
    run = Record(time_, {f"channel.{i}": np.sin(time_ + i) for i in range(channels)})
    what, path = f"{samples:,} samples of {channels:,} channels", folder / "finished.h5"
    row(f"saving {what}", lambda: run.save(path), 3)
    row(f"loading one channel of {what}", lambda: Record.load(path, ["channel.7"]), 3)
    row(f"loading all of {what}", lambda: Record.load(path), 3)
    print(f"| size of {what} | {path.stat().st_size / 1e6:.3g} MB |")


def tables(folder: Path, samples: int) -> None:
    """Write and read a table of text: eleven columns of numbers with all their digits."""
    rng = np.random.default_rng(0)
    run = Record(np.arange(samples) * 1e-3, {f"c{i}": rng.normal(size=samples) for i in range(10)})
    path = folder / "run.csv"
    began = time.process_time()
    run.to_csv(path)
    wrote = time.process_time()
    read_measurements(path)
    read = time.process_time()
    size = path.stat().st_size / 1e6
    print(
        f"\nCSV, {samples:,} rows of 11 columns, {size:.3g} MB: written in {wrote - began:.3g} s, "
        f"{size / (wrote - began):.3g} MB/s; read in {read - wrote:.3g} s, {size / (read - wrote):.3g} MB/s"
    )


def held(ticks: int) -> None:
    """Rehearse for so many ticks in a process of its own; compare its peak with what the numbers take."""
    command = [sys.executable, __file__, "--held", str(ticks)]
    print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


def _held(ticks: int) -> None:
    from bondloop import papers

    test = papers.find("gawthrop-three-mass").load().test()
    test.run(100 * test.period)
    before = _peak()
    run = test.run((ticks - 1) * test.period)
    peak = _peak() - before
    needed = 8 * len(run.time) * (len(run.record.channels) + 1)
    print(
        f"A rehearsal of {ticks:,} ticks and {len(run.record.channels)} channels: {needed / 1e6:.4g} MB of "
        f"numbers, {peak / 1e6:.4g} MB at the peak, {peak / needed:.3g} times"
    )


def _peak() -> int:
    """Return the most memory that this process has had, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--held", type=int)
    given = parser.parse_args()
    if given.held:
        _held(given.held)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("| what | takes |\n|---|---:|")
        growing(folder, 1024, 5 if given.quick else 40)
        finished(folder, 30, 70_000 if given.quick else 1_000_000)
        tables(folder, 20_000 if given.quick else 1_000_000)
    held(10**5 if given.quick else 3 * 10**6)


if __name__ == "__main__":
    main()
