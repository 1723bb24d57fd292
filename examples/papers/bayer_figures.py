"""Figures 2 to 6 of Bayer, Dorka and Füllekrug 2000: forces over time and their spectra, side by side.

`examples/sub_steps.py` draws them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.papers.bayer_substep import spectrum
from bondloop.plots.page import ACTUAL, DESIRED, dress, finish, heading, legend, page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bondloop.hybrid import Run

__all__ = ["compared", "transient"]

HIGHEST = 60.0
"""End of the frequency axis, Hz."""


def transient(run: Run, path: Path) -> Path:
    """Draw the acceleration of the base and the spectrum of the exact coupling force (figure 2)."""
    figure = page(2.5)
    left, right = figure.subplots(1, 2)
    left.plot(run.time, run["base.acceleration"], **DESIRED)
    left.set_xlim(0, min(2.0, float(run.time[-1])))
    dress(left, "time [s]", "base acceleration [m/s²]")
    heading(left, "Applied transient")
    _spectra(right, run, {"reference.force": DESIRED})
    heading(right, "Spectrum of the exact coupling force")
    finish(figure, path)
    return path


def compared(runs: Mapping[str, Run], path: Path, seconds: float = 2.0) -> Path:
    """Draw measured and exact coupling force, by title: over time, and as spectra (figures 3, 5, 6)."""
    figure = page(0.35 + 2.15 * len(runs))
    rows = figure.subplots(len(runs), 2, squeeze=False)
    looks: dict[str, dict[str, Any]] = {"reference.force": DESIRED, "force": ACTUAL}
    labels = {"reference.force": "exact", "force": "measured"}
    for (left, right), (title, run) in zip(rows, runs.items(), strict=True):
        scale = float(np.abs(run["reference.force"]).max()) or 1.0
        for name, look in looks.items():
            left.plot(run.time, run[name], label=labels[name], **look)
        largest = float(np.abs(run["force"][run.time <= seconds]).max(initial=0.0))
        reach = 1.1 * min(max(largest, scale), 5 * scale)
        left.set(xlim=(0, min(seconds, float(run.time[-1]))), ylim=(-reach, reach))
        dress(left, "time [s]", "coupling force [N]")
        heading(left, title or "Coupling force", lines_below=1)
        legend(left)
        _spectra(right, run, looks)
        heading(right, "Spectrum")
    finish(figure, path)
    return path


def _spectra(axes: Axes, run: Run, looks: Mapping[str, dict[str, Any]]) -> None:
    period = float(run.time[1] - run.time[0])
    exact = spectrum(run["reference.force"], period)[1]
    for name, look in looks.items():
        f, lines = spectrum(run[name], period)
        shown = f <= HIGHEST
        axes.plot(f[shown], np.maximum(lines[shown], 1e-12), **look)
    axes.set_yscale("log")
    highest = max(float(spectrum(run[n], period)[1].max()) for n in looks)
    axes.set(xlim=(0, HIGHEST), ylim=(2e-3 * float(exact.max()), 2 * max(float(exact.max()), highest)))
    dress(axes, "frequency [Hz]", "amplitude [N]")
