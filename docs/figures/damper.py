"""The damper's loops and its building: the figures of docs/damper-from-measurements.md.

Run: python docs/figures/damper.py [FOLDER]
"""

# ruff: noqa: INP001 - a script, no part of a package

from __future__ import annotations

import sys
from pathlib import Path

from bondloop.devices import MRDamper
from bondloop.identify import fit_specimen
from bondloop.papers import mr_damper_building as building
from bondloop.results import Record, time_histories


def main(folder: Path) -> None:
    """Fit the damper and draw its loops; run the test without and with current and draw the drifts."""
    loops = fit_specimen(MRDamper(), building.measurements()).figure()
    loops.savefig(folder / "damper_loops.png", dpi=110)
    runs = {current: building.test(current=current).run(15) for current in (0.0, 1.0)}
    storeys = {"first": 0, "third": 2}
    channels = {
        f"{word}, {current:g} A": run[f"numerical.columns[{i}].displacement"]
        for word, i in storeys.items()
        for current, run in runs.items()
    }
    channels |= {f"damper, {current:g} A": run["force"] for current, run in runs.items()}
    units = {name: "N" if name.startswith("damper") else "m" for name in channels}
    groups = {
        f"drift of the {word} storey": {"0 A": f"{word}, 0 A", "1 A": f"{word}, 1 A"} for word in storeys
    }
    groups["force of the damper"] = {"0 A": "damper, 0 A", "1 A": "damper, 1 A"}
    record = Record(runs[1.0].time, channels, units)
    time_histories(record, groups, path=folder / "damper_building.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
