"""Figures 2 to 6 of Bayer, Dorka and Füllekrug 2000: forces, their spectra, and the peaks' errors.

`examples/sub_steps.py` draws 2, 3, 5 and 6, `bayer_findings.py` draws 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from bondloop.papers import bayer_substep as paper
from bondloop.papers.bayer_substep import spectrum
from bondloop.results.figures.layout import (
    ACTUAL,
    COLOURS,
    DASHES,
    DESIRED,
    GREY,
    INK,
    STYLE,
    dress,
    finish,
    heading,
    legend,
    page,
)

if TYPE_CHECKING:
    from bayer_rehearsals import Rehearsed
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from bondloop.rehearsal import Run

__all__ = ["compared", "compensation_maps", "peak_heights", "table_2_text", "transient"]

HIGHEST = 60.0
"""End of the frequency axis, Hz."""
REACH = 42.0
"""End of the axis of peak errors, %."""
TITLES = {
    "first_mode": "First mode, 7.1 Hz",
    "second_mode": "Second mode, 15.7 Hz",
    "rigid_body": "Base motion, 19 Hz",
}


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


def peak_heights(cells: Mapping[tuple[int, float, float], Rehearsed], path: Path) -> Path:
    """Draw the errors of the spectral peaks over the number of sub-steps (figure 4).

    A row without and one with compensation, a column a peak, a line a time step; cells that are unstable are
    left out.
    """
    counts, steps, gains = (sorted({cell[i] for cell in cells}) for i in range(3))
    figure = page(4.3)
    rows = figure.subplots(len(gains), len(TITLES), sharex=True, sharey=True, squeeze=False)
    for number, (row, P) in enumerate(zip(rows, reversed(gains), strict=True)):
        for axes, (name, title) in zip(row, TITLES.items(), strict=True):
            axes.axhline(0, color=INK, linewidth=0.8)
            for i, h in enumerate(steps):
                stable = [k for k in counts if cells[int(k), h, P].stable]
                errors = [100 * cells[int(k), h, P].peak_errors[name] for k in stable]
                look = {"color": COLOURS[i], "linestyle": DASHES[i], "linewidth": 1.2, "markersize": 3}
                axes.plot(stable, errors, marker="os^"[i], label=f"{1e3 * h:.0f} ms", **look)
            axes.set(ylim=(-REACH, REACH), xlim=(0.5, max(counts) + 0.5))
            dress(axes, "sub-steps k" if number == len(gains) - 1 else "")
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            if not number:
                heading(axes, title, lines_below=1)
        words = "without compensation" if P == 0 else f"with P = {P:g}"
        row[0].set_ylabel(f"{words}\npeak error [%]", fontsize=STYLE.label, color=INK)
    legend(rows[0][-1])
    finish(figure, path)
    return path


def compensation_maps(
    maps: Mapping[str, NDArray[Any]],
    gains: Sequence[float],
    times: Sequence[float],
    chosen: tuple[float, float],
    path: Path,
) -> Path:
    """Draw the error over P and D: on an ideal table, on one that is 1 ms late, and the worst of nine tables.

    Pairs with which a motion grows are struck through; the chosen pair is framed.
    """
    error, growth = 100 * maps["error"], maps["growth"]
    panels = {
        "Ideal table": (error[1, 0], growth[1, 0]),
        "1 ms late": (error[1, -1], growth[1, -1]),
        "Worst of nine tables": (error.max(axis=(0, 1)), growth.max(axis=(0, 1))),
    }
    figure = page(3.4)
    row = figure.subplots(1, len(panels), sharey=True)
    for axes, (title, (values, rates)) in zip(row, panels.items(), strict=True):
        image = axes.imshow(
            np.clip(values.T, 5, 50), origin="lower", aspect="auto", cmap="viridis_r", vmin=5, vmax=50
        )
        for m, n in np.ndindex(values.shape):
            if rates[m, n] >= 0:
                axes.plot([m - 0.5, m + 0.5], [n - 0.5, n + 0.5], color="white", linewidth=0.8)
            else:
                ink = "white" if values[m, n] > 30 else INK
                axes.text(m, n, f"{values[m, n]:.0f}", ha="center", va="center", fontsize=5.5, color=ink)
        if chosen[0] in gains and chosen[1] in times:
            m, n = gains.index(chosen[0]), times.index(chosen[1])
            axes.add_patch(Rectangle((m - 0.5, n - 0.5), 1, 1, fill=False, color=COLOURS[1], linewidth=1.6))
        axes.set_xticks(range(0, len(gains), 2), [f"{P:g}" for P in gains[::2]])
        axes.set_yticks(range(0, len(times), 2), [f"{1e3 * D:g}" for D in times[::2]])
        axes.tick_params(labelsize=STYLE.tick, color=GREY, labelcolor=INK, length=2)
        axes.set_xlabel("P", fontsize=STYLE.label, color=INK)
        heading(axes, title)
    row[0].set_ylabel("D [ms]", fontsize=STYLE.label, color=INK)
    bar = figure.colorbar(image, ax=row, pad=0.015, fraction=0.03)
    bar.set_label("rms error of the force [%]", fontsize=STYLE.label, color=INK)
    bar.ax.tick_params(labelsize=STYLE.tick)
    finish(figure, path)
    return path


def table_2_text() -> str:
    """Write Table 2 as it comes out, the paper's values in brackets."""
    lines = []
    for name, found in paper.table_2().items():
        lines.append(name)
        for what, unit, ours, theirs in zip(
            ("frequency", "damping"), ("Hz", "%"), found, paper.TABLE_2[name], strict=True
        ):
            cells = "  ".join(f"{x:7.3f} [{y:5.2f}]" for x, y in zip(ours, theirs, strict=True))
            lines.append(f"  {what + f' [{unit}]':15}{cells}")
    return "\n".join(lines)


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
