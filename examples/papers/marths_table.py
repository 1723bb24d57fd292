"""Print the table of the benchmark with two actuators: every controller, the nominal plant and others.

Run: python examples/papers/marths_table.py (some minutes; or name controllers: rls-fir coupled)
"""

import sys

import numpy as np

from bondloop.papers import marths_benchmark as paper

PLANTS = (1, 2, 3, 4, 5)


def cells(found: dict[str, float]) -> str:
    """Return one row's numbers."""
    names = {
        "delay": ["delay_1_ms", "delay_2_ms"],
        "rms": [f"tracking_{i}_rms_percent" for i in (1, 2)],
        "own": [f"tracking_{i}_rms_percent_without_noise" for i in (1, 2)],
        "peak": [f"tracking_{i}_peak_percent" for i in (1, 2)],
        "frame": ["frame_motion_rms_percent", "frame_rotation_rms_percent"],
        "floors": [f"floor_{i}{word}_rms_percent" for i in (2, 3) for word in ("", "_rotation")],
        "emulated": [
            *(f"joint_{word}_rms_percent_emulated" for word in ("motion", "rotation")),
            *(f"floor_{i}_rms_percent_emulated" for i in (2, 3)),
        ],
    }
    return " | ".join(", ".join(f"{found[n]:.2f}" for n in group) for group in names.values())


def mean(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each criterion."""
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


def main() -> None:
    """Print a row for each controller and kind of run."""
    for name in sys.argv[1:] or paper.CONTROLLERS:
        rows = {
            "": [{}],
            ", plants 1 to 5": [{"plant": plant} for plant in PLANTS],
            ", no noise": [{"noise": False}],
        }
        for words, options in rows.items():
            runs = [paper.findings(paper.test(controller=name, **o).run()) for o in options]
            print(f"| `{name}`{words} | {cells(mean(runs))} |", flush=True)


if __name__ == "__main__":
    main()
