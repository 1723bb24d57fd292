"""Beyond the figures of du Bois, Titurus and Lieven 2010: other benches, and what its outlook proposes.

Run: python examples/papers/dubois_outlook_figures.py out
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from dubois_figures import Line, grid, hertz, loud
from dubois_programme import FRAMED, SIZES, SLOW, compared
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bondloop.papers.dubois_damper import STANDARD, identified
from bondloop.results.figures.layout import COLOURS, DASHES, INK, dress, finish, page

__all__ = ["benches", "draw", "outlook"]

BENCHES = {"valve 90 Hz, rigid frame": STANDARD, "valve 40 Hz": SLOW, "frame 40 Hz": FRAMED}
SHOWN = {
    "G2": "G2", "G1D": "G1D", "scheduled": "scheduled by amplitude", "adaptive": "adaptive",
    "load": "empty rig and load",
}  # fmt: skip
"""What the legend calls the controllers."""


def draw(folder: Path) -> list[Path]:
    """Draw both figures into a folder; return their files."""
    return [benches(folder / "dubois_benches.png"), outlook(folder / "dubois_outlook.png")]


def benches(path: Path) -> Path:
    """Draw what three benches do, and the fitted models with a delay."""
    columns = {}
    for title, bench in BENCHES.items():
        known = identified(bench)
        fine = np.geomspace(known.surface.frequency[0], known.surface.frequency[-1], 300)
        lines = loud(known.surface.frequency, known.surface.response, known.surface.amplitude)
        for name, colour, dash in (("G1D", COLOURS[1], DASHES[0]), ("G2D", COLOURS[2], DASHES[1])):
            look = {"color": colour, "linewidth": 1.5, "linestyle": dash}
            lines.append(Line(fine, known.fits[name].process.response(fine), look, name))
        columns[title] = lines
    limits: dict[str, Any] = {"gain": (-18.0, 6.0), "phase": (-330.0, 30.0), "steps": (6.0, 90.0)}
    return grid(columns, path, **limits, zero=False, titles={title: title for title in columns})


def outlook(path: Path) -> Path:
    """Draw the error |G - 1| over frequency of the paper's controllers and those of its outlook."""
    figure = page(3.6)
    panels = figure.subplots(1, 2, sharey=True)
    made = compared(STANDARD)
    for axes, (row, size) in zip(panels, enumerate(SIZES), strict=True):
        for i, (name, label) in enumerate(SHOWN.items()):
            response = made[name].response
            error = 100 * np.abs(response.response[row] - 1)
            look: dict[str, Any] = {"color": COLOURS[i], "marker": "o", "markersize": 2.5, "linewidth": 1.1}
            axes.loglog(response.frequency, error, label=label, **look)
        axes.set_ylim(0.1, 200)
        axes.yaxis.set_major_locator(FixedLocator([0.1, 1, 10, 100]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
        hertz(axes, 0.9 * 2.0, 1.1 * 40.0)
        dress(axes, "frequency [Hz]", "error [%]" if row == 0 else "")
        axes.text(0.03, 0.93, f"{size} motion", transform=axes.transAxes, fontsize=8, color=INK)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=5, frameon=False, fontsize=8)
    finish(figure, path)
    return path


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    out.mkdir(parents=True, exist_ok=True)
    print(*draw(out), sep="\n")
