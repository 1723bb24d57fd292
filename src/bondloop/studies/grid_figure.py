"""Figures of studies: a heat map for each measure and panel, or lines over a single axis."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.plots.page import ACTUAL, DESIRED, GREY, INK, SMALL, TICK, dress, finish, heading, page, plain
from bondloop.studies.study import Study, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["heat_maps"]

WRITTEN = 200
"""Most cells of a panel into which their values are written."""
SPREAD = 1e3
"""Ratio of positive values from which on colours are logarithmic and cut off."""
YES, NO = "#cfe3f1", "#e8a27c"


def heat_maps(found: Study, *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw a study.

    The first axis runs across, the second one up, the third makes panels; measures stand below each other.
    Where stability was measured too, unstable cells are struck through in the other maps.

    Parameters
    ----------
    found
        The study.
    path
        Where to save.
    """
    panels = found.panels()
    if len(found.axes) == 1:
        return _lines(found, path)
    across, up = len(found.axes[0].values), len(found.axes[1].values)
    columns = len(panels)
    tall = min(max(0.26 * up, 0.9), 5.0)
    stacked = _stacked(across, columns)
    figure = page((tall + 0.75) * len(found.measured) * (columns if stacked else 1))
    shape = (len(found.measured) * columns, 1) if stacked else (len(found.measured), columns)
    grid = figure.subplots(*shape, squeeze=False)
    for i, (measure, values) in enumerate(found.measured.items()):
        norm, cut = _norm(values)
        for j, (title, place) in enumerate(panels):
            axes = grid[i * columns + j, 0] if stacked else grid[i, j]
            struck = values.dtype != bool and "stable" in found.measured
            unstable = ~found["stable"][place].T if struck else None
            _map(axes, values[place].T, norm, cut, unstable)
            _ticks(axes, found)
            heading(axes, measure.replace("_", " ") + (f", {title}" if title else ""))
    return finish(figure, path)


def _stacked(across: int, columns: int) -> bool:
    """Whether panels go below each other: side by side their cells would be too narrow for numbers."""
    return across * columns > 16


def _norm(values: NDArray[Any]) -> tuple[Any, float]:
    """Return the scale of colours, and the value beyond which it is cut off."""
    from matplotlib.colors import LogNorm, Normalize

    if values.dtype == bool:
        return Normalize(0, 1), np.inf
    sound = values[np.isfinite(values)]
    if not sound.size:
        return Normalize(0, 1), np.inf
    low, high = float(sound.min()), float(sound.max())
    if low > 0 and high / low > 30:
        cut = min(high, SPREAD * float(np.median(sound)), SPREAD * low)
        return LogNorm(low, max(cut, low * 1.001)), cut
    return Normalize(low, high if high > low else low + 1), np.inf


def _map(axes: Axes, rows: NDArray[Any], norm: Any, cut: float, unstable: NDArray[Any] | None) -> None:
    from matplotlib.colors import ListedColormap

    yes_no = rows.dtype == bool
    colours: Any = ListedColormap([NO, YES]) if yes_no else "viridis_r"
    values = np.where(np.isfinite(rows), np.minimum(rows.astype(float), cut), np.nan)
    axes.imshow(values, origin="lower", aspect="auto", cmap=colours, norm=norm, interpolation="nearest")
    if rows.size > WRITTEN:
        return
    size = SMALL - 1.5 if rows.shape[1] > 8 else SMALL
    for i, j in np.ndindex(rows.shape):
        depth = 0.0 if yes_no or not np.isfinite(values[i, j]) else float(norm(values[i, j]))
        ink = "white" if depth > 0.55 else INK
        axes.text(j, i, _brief(rows[i, j]), ha="center", va="center", fontsize=size, color=ink)
        if unstable is not None and unstable[i, j]:
            axes.plot([j - 0.5, j + 0.5], [i - 0.5, i + 0.5], color=ink, linewidth=0.7, alpha=0.7)


def _brief(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if not np.isfinite(value):
        return "-"
    return (
        shown(value)
        if 1e-3 <= abs(value) < 1e4 or value == 0
        else f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
    )


def _ticks(axes: Axes, found: Study) -> None:
    for which, axis in (("x", found.axes[0]), ("y", found.axes[1])):
        count = len(axis.values)
        every = max(1, -(-count // 16))
        places = list(range(0, count, every))
        getattr(axes, f"set_{which}ticks")(places, [plain(axis.values[i]) for i in places])
        getattr(axes, f"set_{which}label")(plain(axis.name.replace("_", " ")), fontsize=SMALL + 1, color=INK)
    axes.tick_params(labelsize=TICK, color=GREY, labelcolor=INK, length=2)
    for side in axes.spines.values():
        side.set_visible(False)


def _lines(found: Study, path: str | os.PathLike[str] | None) -> Figure:
    axis = found.axes[0]
    figure = page(0.3 + 1.9 * len(found.measured))
    stack = figure.subplots(len(found.measured), 1, sharex=True, squeeze=False)[:, 0]
    x = axis.numbers if axis.numbers is not None else tuple(range(len(axis.values)))
    for axes, (measure, values) in zip(stack, found.measured.items(), strict=True):
        y = values.astype(float)
        positive = y[np.isfinite(y) & (y > 0)]
        if values.dtype != bool and positive.size == y.size and positive.max() / positive.min() > 30:
            axes.set_yscale("log")
        axes.plot(x, y, marker="o", markersize=3.5, **DESIRED)
        if measure != "stable" and "stable" in found.measured:
            bad = ~found["stable"]
            look = {**ACTUAL, "linestyle": "none"}
            axes.plot(np.array(x)[bad], y[bad], marker="x", markersize=6, label="unstable", **look)
            if bad.any():
                axes.legend(frameon=False, fontsize=SMALL)
        dress(axes, "", plain(measure.replace("_", " ")))
        if values.dtype == bool:
            axes.set_yticks([0, 1], ["no", "yes"])
            axes.set_ylim(-0.2, 1.2)
        if axis.numbers is None:
            axes.set_xticks(list(x), list(axis.values))
    stack[-1].set_xlabel(plain(axis.name.replace("_", " ")), fontsize=SMALL + 1)
    return finish(figure, path)
