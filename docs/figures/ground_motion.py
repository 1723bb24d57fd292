"""The figure of docs/ground-motions.md.

Run: python docs/figures/ground_motion.py
"""

# ruff: noqa: INP001 - a script, no part of a package

from pathlib import Path

import bondloop as bl
from bondloop.results import read_ground_motion

HERE = Path(__file__).parent

if __name__ == "__main__":
    quake = read_ground_motion(Path(bl.papers.__file__).parent / "silva" / "elcentro.csv")
    target = {0.1: 8.0, 0.5: 8.0, 1.0: 4.0, 3.0: 1.3}
    scaled = quake.scaled_to(target, periods=(0.2, 1.5)).corrected("high-pass")
    bl.results.ground_motion(scaled, target=target, path=HERE / "ground_motion.png")
