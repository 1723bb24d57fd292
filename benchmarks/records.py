"""How fast run files and tables of text are written and read, and how much memory they take.

Run: python benchmarks/records.py (two minutes; --quick: a few seconds)

Old is schema 1, a dataset for each channel, as bondloop wrote it before; new is one table with named columns.
Both take turns in the same process, so that their ratio stands where the times do not.
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

from bondloop.realtime.recorder import CYCLE
from bondloop.records import Record
from bondloop.records.growing import GrowingRun
from bondloop.records.hdf5 import write_run

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "records"))

from schema_one import GrowingSchemaOne, write_schema_one


def measured(old: Callable[[], Any], new: Callable[[], Any], turns: int) -> tuple[float, float]:
    """Return the medians of both, in seconds of the processor: the machine may have other work."""
    seconds: dict[Any, list[float]] = {old: [], new: []}
    for _ in range(turns):
        for way in (old, new):
            began = time.process_time()
            way()
            seconds[way].append(time.process_time() - began)
    return median(seconds[old]), median(seconds[new])


def row(what: str, old: float, new: float) -> None:
    """Print a line of the table."""
    print(f"| {what} | {1e3 * old:.3g} ms | {1e3 * new:.3g} ms | {old / new:.3g} |")


def growing(folder: Path, channels: int, turns: int) -> None:
    """Write a quarter of a second at 1 kHz again and again, then open what was written."""
    units = {f"channel.{i}": "m" for i in range(channels)}
    rng = np.random.default_rng(0)
    values = rng.normal(size=(250, channels))
    cycle = {name: np.zeros(250, kind) for name, kind in CYCLE.items()}
    files: dict[str, Any] = {}
    rows = {"old": 0, "new": 0}

    def begin(which: str) -> Any:
        kind: Any = {"old": GrowingSchemaOne, "new": GrowingRun}[which]
        return kind(folder / f"{which}.h5", units, CYCLE, rate=1e3, attributes={})

    def end(which: str, file: Any) -> None:
        file.close(*[{}] * (which == "new"))

    def try_out(which: str) -> None:
        end(which, begin(which))
        (folder / f"{which}.h5").unlink()

    def write(which: str) -> None:
        file = files[which]
        file.append((rows[which] + np.arange(250)) * 1e-3, values, cycle)
        file.commit()
        rows[which] += 250

    row(f"an empty file, {channels:,} channels", *measured(lambda: try_out("old"), lambda: try_out("new"), 5))
    files |= {which: begin(which) for which in rows}
    row(f"a write, {channels:,} channels", *measured(lambda: write("old"), lambda: write("new"), turns))
    for which, file in files.items():
        end(which, file)
    one = ["channel.7"]
    for what, wanted in (("opening, one channel of", one), ("reading all of", None)):

        def read(which: str, wanted: list[str] | None = wanted) -> None:
            Record.load(folder / f"{which}.h5", wanted)

        row(f"{what} {channels:,}", *measured(lambda: read("old"), lambda: read("new"), 5))


def finished(folder: Path, channels: int, samples: int) -> None:
    """Save a finished run and load it."""
    time_ = np.arange(samples) * 1e-3
    phases = np.arange(channels)
    run = Record(time_, {f"channel.{i}": np.sin(time_ + i) for i in phases})
    what = f"{samples:,} samples of {channels:,} channels"
    old, new = folder / "old-run.h5", folder / "new-run.h5"
    row(f"saving {what}", *measured(lambda: write_schema_one(run, old), lambda: write_run(run, new), 3))
    for name, wanted in (("one channel", ["channel.7"]), ("all", None)):

        def load(path: Path, wanted: list[str] | None = wanted) -> None:
            Record.load(path, wanted)

        row(f"loading {name} of {what}", *measured(lambda: load(old), lambda: load(new), 3))
    size = [path.stat().st_size / 1e6 for path in (old, new)]
    print(f"| size of {what} | {size[0]:.3g} MB | {size[1]:.3g} MB | {size[0] / size[1]:.3g} |")


def tables(folder: Path, samples: int) -> None:
    """Write and read a table of text: eleven columns of numbers with all their digits."""
    rng = np.random.default_rng(0)
    run = Record(np.arange(samples) * 1e-3, {f"c{i}": rng.normal(size=samples) for i in range(10)})
    path = folder / "run.csv"
    began = time.process_time()
    run.to_csv(path)
    wrote = time.process_time()
    Record.from_csv(path)
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
        print("| what | old | new | ratio |\n|---|---:|---:|---:|")
        growing(folder, 1024, 5 if given.quick else 40)
        finished(folder, 30, 70_000 if given.quick else 1_000_000)
        tables(folder, 20_000 if given.quick else 1_000_000)
    held(10**5 if given.quick else 3 * 10**6)


if __name__ == "__main__":
    main()
