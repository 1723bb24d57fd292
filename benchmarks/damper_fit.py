"""The magneto-rheological damper, fitted: errors on every record, on those left out, and the time it takes.

Run: python benchmarks/damper_fit.py [FOLDER]

FOLDER holds records called AMPLITUDEmmFREQUENCYHzCURRENTA.csv; the part that is shipped unless given.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

from bondloop.devices import MRDamper
from bondloop.identify import Data, fit_specimen, leave_out, read_data
from bondloop.papers.mr_damper_building import DATA

NAME = re.compile(r"(?P<motion>.+mm.+Hz)(?P<current>.+)A")
GOAL = 0.09


def records(folder: Path) -> dict[str, Data]:
    """Return the records of a folder, with their current."""
    data = {}
    for path in sorted(folder.glob("*mm*Hz*A.csv")):
        known = NAME.fullmatch(path.stem)
        assert known is not None
        data[path.stem] = read_data(path).with_channel(
            "current", float(known["current"].replace("x", ".")), "A"
        )
    return data


def main(folder: Path) -> None:
    """Fit all records, then leave every motion and every current out."""
    data = records(folder)
    wall, cpu = time.perf_counter(), time.process_time()
    fit = fit_specimen(MRDamper(), data)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(fit)
    worst = max(fit.errors.values())
    print(f"\nworst {100 * worst:.2f} % (goal {100 * GOAL:g} %: {worst <= GOAL})")
    print(f"{cpu:.1f} s of one core, {wall:.1f} s on the clock (goal 30 s)\n")
    groups: dict[str, list[str]] = {}
    for name in data:
        known = NAME.fullmatch(name)
        assert known is not None
        groups.setdefault(known["motion"], []).append(name)
        groups.setdefault(f"{known['current']} A", []).append(name)
    print(leave_out(fit, data, groups))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
