"""The figures of du Bois, Titurus and Lieven 2010: here 6, 7 and 13 to 15: models, and their inverses.

Run: python examples/papers/dubois_figures.py out
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dubois_rig_figures as rig
import numpy as np
from dubois_programme import CASES, SIZES, cases, verified
from dubois_rig_figures import hertz
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bondloop.papers.dubois_damper import MODELS, PREDICTIONS, RATE, identified
from bondloop.results.figures.layout import COLOURS, DASHES, GREY, INK, RULE, dress, finish, heading, page

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Line", "draw", "fits", "grid", "known_signal", "loud", "predictors", "rms_errors", "substructured",
]  # fmt: skip

TITLES = {
    "G1": "(a) 1st order", "G2": "(b) 2nd order",
    "G1D": "(c) 1st order, delay", "G2D": "(d) 2nd order, delay",
}  # fmt: skip
LOUD = ("#9ecae1", "#6baed6", "#3182bd", "#08519c")
"""Colours of the four amplitudes, the largest darkest."""
MODEL = COLOURS[2]
WORDS = {
    "no prediction": COLOURS[0], "long prediction": COLOURS[1], "short prediction": COLOURS[2],
}  # fmt: skip
"""Colours of the substructured runs."""
PALE: dict[str, Any] = {"color": RULE, "linewidth": 4.0, "zorder": 1, "solid_capstyle": "round"}


@dataclass
class Line:
    """A frequency response to draw."""

    frequency: NDArray[np.float64]
    response: NDArray[np.complex128]
    look: dict[str, Any]
    label: str = ""


def draw(folder: Path) -> list[Path]:
    """Draw all the figures into a folder; return their files."""
    study = {
        "figure_1.png": rig.damper_features, "figure_3.png": rig.surfaces, "figure_4.png": rig.curves,
        "figure_5.png": rig.spectra, "figure_6.png": fits, "figure_7.png": known_signal,
        "figure_8.svg": rig.hybrid_graph, "figure_9.svg": rig.damper_graph,
        "figure_10.png": rig.damper_loops, "figure_11.png": rig.hybrid_system,
        "figure_12.png": rig.interface, "figure_13.png": substructured, "figure_14.png": rms_errors,
        "figure_15.png": predictors, "trip.png": rig.trip,
    }  # fmt: skip
    return [one(folder / f"dubois_{name}") for name, one in study.items()]


def fits(path: Path) -> Path:
    """Draw the measured responses of four amplitudes and the fitted models (Figure 6)."""
    known = identified()
    fine = np.geomspace(known.surface.frequency[0], known.surface.frequency[-1], 300)
    columns = {}
    for name in MODELS:
        lines = loud(known.surface.frequency, known.surface.response, known.surface.amplitude)
        look = {"color": MODEL, "linewidth": 1.6, "linestyle": DASHES[1]}
        lines.append(Line(fine, known.fits[name].process.response(fine), look, "model"))
        columns[name] = lines
    return grid(columns, path, gain=(-18.0, 3.0), phase=(-300.0, 30.0), steps=(6.0, 90.0), zero=False)


def known_signal(path: Path) -> Path:
    """Draw measured over demanded displacement where the demand is known beforehand (Figure 7)."""
    columns = {}
    for name in MODELS:
        found = verified(name)
        columns[name] = loud(found.frequency, found.response, found.amplitude)
    return grid(columns, path, gain=(-9.0, 9.0), phase=(-120.0, 60.0), steps=(3.0, 30.0))


def substructured(path: Path) -> Path:
    """Draw measured over numerical displacement of the substructured runs, over those of Figure 7 (13)."""
    made = cases()
    columns = {}
    for name in MODELS:
        known = verified(name)
        lines = [Line(known.frequency, known.response.mean(axis=0), PALE, "signal known")]
        for case, (controller, prediction) in CASES.items():
            if controller != name:
                continue
            word = f"{prediction} prediction" if name.endswith("D") else "no prediction"
            found = made[case].response
            for row in range(len(SIZES)):
                look = {"color": WORDS[word], "linestyle": DASHES[1 - row], "linewidth": 1.1, "zorder": 3}
                lines.append(Line(found.frequency, found.response[row], look, word if row else ""))
        lines.append(
            Line(
                np.array([2.0]), np.array([1.0 + 0j]), {"color": GREY, "linestyle": DASHES[1]}, "small motion"
            )
        )
        columns[name] = lines
    return grid(columns, path, gain=(-9.0, 9.0), phase=(-60.0, 60.0), steps=(3.0, 20.0), to=45.0)


def rms_errors(path: Path) -> Path:
    """Draw the rms error over the noise of the transducer, over frequency (Figure 14)."""
    made = cases()
    figure = page(3.4)
    panels = figure.subplots(1, 2, sharey=True)
    shown = ("G1", "G2", "G1D long", "G1D short")
    for axes, (row, size) in zip(panels, enumerate(SIZES), strict=True):
        for i, name in enumerate(shown):
            f = made[name].response.frequency
            look: dict[str, Any] = {"color": COLOURS[i], "marker": "o", "markersize": 2.5, "linewidth": 1.1}
            label = name.replace(" ", ", ") + " prediction" if " " in name else name
            axes.semilogx(f, made[name].error[row] / made[name].noise, label=label, **look)
        axes.axhline(1.0, color=GREY, linewidth=0.8, linestyle=DASHES[2])
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(FixedLocator([1, 2, 5, 10, 20, 50]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
        hertz(axes, 0.9 * 2.0, 1.1 * 40.0)
        dress(axes, "frequency [Hz]", "rms error / noise" if row == 0 else "")
        axes.text(0.03, 0.93, f"{size} motion", transform=axes.transAxes, fontsize=8, color=INK)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=4, frameon=False, fontsize=8)
    finish(figure, path)
    return path


def predictors(path: Path) -> Path:
    """Draw gain and phase of both predictions, in closed form (Figure 15)."""
    from bondloop.control import PolynomialPrediction
    from bondloop.results import prediction

    delay = identified().fits["G1D"].process.delay
    made = {
        f"{points} points over {1e3 * span:g} ms": PolynomialPrediction(delay, span=span, points=points)
        for span, points in PREDICTIONS.values()
    }
    prediction(made, 1 / RATE, path=path)
    return path


def loud(
    f: NDArray[np.float64], response: NDArray[np.complex128], amplitude: NDArray[np.float64]
) -> list[Line]:
    """Return a line for each amplitude."""
    return [
        Line(f, response[i], {"color": LOUD[i], "linewidth": 1.1}, f"{1e3 * a:g} mm")
        for i, a in enumerate(amplitude)
    ]


def grid(
    columns: dict[str, list[Line]],
    path: Path,
    *,
    gain: tuple[float, float],
    phase: tuple[float, float],
    steps: Sequence[float],
    to: float = 100.0,
    zero: bool = True,
    titles: dict[str, str] = TITLES,
) -> Path:
    """Draw gain over phase, a column for each model."""
    figure = page(3.7)
    panels = figure.subplots(2, len(columns), sharex=True, sharey="row")
    named: dict[str, Any] = {}
    for column, (name, lines) in enumerate(columns.items()):
        above, below = panels[0][column], panels[1][column]
        for line in lines:
            f, H = line.frequency, line.response
            (drawn,) = above.semilogx(f, 20 * np.log10(np.abs(H)), **line.look)
            below.semilogx(f, np.degrees(np.unwrap(np.angle(H))), **line.look)
            if line.label:
                named.setdefault(line.label, drawn)
        above.set_ylim(*gain)
        below.set_ylim(*phase)
        first = column == 0
        for axes, word, step in ((above, "gain [dB]", steps[0]), (below, "phase [°]", steps[1])):
            dress(axes, "frequency [Hz]" if axes is below else "", word if first else "")
            low, high = axes.get_ylim()
            marks = np.arange(np.ceil(low / step) * step, high + 1e-9, step)
            axes.yaxis.set_major_locator(FixedLocator(marks.tolist()))
            hertz(axes, 0.9 * min(float(line.frequency[0]) for line in lines), 1.1 * to)
            if zero:
                axes.axhline(0.0, color=GREY, linewidth=0.7, zorder=1.5)
        heading(above, titles[name])
    figure.legend(named.values(), named.keys(), loc="outside lower left", ncols=6, frameon=False, fontsize=8)
    finish(figure, path)
    return path


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    out.mkdir(parents=True, exist_ok=True)
    print(*draw(out), sep="\n")
