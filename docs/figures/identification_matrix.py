"""The plant of the two-actuator benchmark, identified: a figure of docs/identification.md.

Run: python docs/figures/identification_matrix.py [FOLDER]
"""

# ruff: noqa: INP001 - a script, no part of a package

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.signal import butter, sosfilt

from bondloop.identify import fit_matrix
from bondloop.transfer import Process

PERIOD = 1 / 1024


def entry(zeros: list[complex], poles: list[complex], gain: float) -> Process:
    """Return an entry of the plant: zeros and poles in Hz, the gain in rad/s."""
    b, a = (np.real(np.poly(2 * np.pi * np.array(roots))) for roots in (zeros, poles))
    return Process(tuple(gain * b), tuple(a))


def main(folder: Path) -> None:
    """Identify the plant from 60 s of noise on both actuators, and draw it."""
    first, second = [-2.65, -40, -50 + 63j, -50 - 63j], [-3.5, -18.5, -50 + 63j, -50 - 63j]
    plant = [
        [entry([-120, -90], first, 2165.2), entry([-3], second, 4.5394e6)],
        [entry([-120, -90], first, 349.95), entry([-5], second, 1.9238e7)],
    ]
    rng = np.random.default_rng(0)
    u = sosfilt(butter(4, 60, fs=1 / PERIOD, output="sos"), rng.normal(size=(60 * 1024, 2)), axis=0)
    u *= 3.0 / u.std(axis=0)
    y = np.column_stack([sum(G.simulate(u[:, j], PERIOD) for j, G in enumerate(row)) for row in plant])
    y += 0.01239 * rng.normal(size=y.shape)
    fit = fit_matrix(u, y, PERIOD, [["4 poles, 2 zeros", "4 poles, 1 zero"]] * 2, common_poles=True)
    fit.figure(folder / "identification_matrix.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
