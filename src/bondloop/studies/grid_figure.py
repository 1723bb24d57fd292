"""Figures of studies: a heat map for each measure and panel, or lines over a single axis."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.plots.label_room import LETTER, ROW, broken, every
from bondloop.plots.page import (
    ACTUAL,
    DESIRED,
    GREY,
    INK,
    SMALL,
    TICK,
    WIDTH,
    dress,
    finish,
    heading,
    page,
    plain,
)
from bondloop.studies.study import Study, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["heat_maps"]

WRITTEN = 200
"""Most cells of a panel into which their values are written."""
SPREAD = 1e3
"""Ratio of positive values from which on colours are logarithmic and cut off."""
YES, NO = "#cfe3f1", "#e8a27c"
SIDE, TALLEST = 1.0, 5.0
"""Inches beside a map for what is written there, and of the tallest map."""


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
    stacked = _stacked(across, columns)
    wide = (WIDTH - 0.2) / (1 if stacked else columns) - SIDE
    titles = [
        broken(measure.replace("_", " ") + (f", {title}" if title else ""), wide)
        for measure in found.measured
        for title, _ in panels
    ]
    name = broken(found.axes[1].name.replace("_", " "), TALLEST)
    tall = min(max(0.26 * up, 0.9, LETTER * max(map(len, name.splitlines()))), TALLEST)
    above = 0.6 + ROW * max(title.count("\n") + 1 for title in titles) + _below(found, wide)
    figure = page((tall + above) * len(found.measured) * (columns if stacked else 1))
    shape = (len(found.measured) * columns, 1) if stacked else (len(found.measured), columns)
    grid = figure.subplots(*shape, squeeze=False)
    for i, values in enumerate(found.measured.values()):
        norm, cut = _norm(values)
        for j, (_, place) in enumerate(panels):
            axes = grid[i * columns + j, 0] if stacked else grid[i, j]
            struck = values.dtype != bool and "stable" in found.measured
            unstable = ~found["stable"][place].T if struck else None
            _map(axes, values[place].T, norm, cut, unstable, wide / across)
            _ticks(axes, found, wide, tall)
            heading(axes, titles[i * columns + j])
    return finish(figure, path)


def _stacked(across: int, columns: int) -> bool:
    """Whether panels go below each other: side by side their cells would be too narrow for numbers."""
    return across * columns > 16


def _norm(values: NDArray[Any]) -> tuple[Normalize, float]:
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


def _below(found: Study, wide: float) -> float:
    """Return the inches that the first axis' values take below a map: upright words take their length."""
    labels = found.axes[0].values
    name = ROW * broken(found.axes[0].name.replace("_", " "), wide).count("\n")
    return name + (LETTER * max(map(len, labels)) if _upright(found, wide) else ROW)


def _upright(found: Study, wide: float) -> bool:
    """Whether the first axis' values are words that would overlap: none of them is left out."""
    axis = found.axes[0]
    return axis.numbers is None and every(axis.values, wide) > 1


def _map(
    axes: Axes,
    rows: NDArray[Any],
    norm: Normalize,
    cut: float,
    unstable: NDArray[np.bool_] | None,
    cell: float,
) -> None:
    from matplotlib.colors import ListedColormap

    yes_no = rows.dtype == bool
    colours: Colormap | str = ListedColormap([NO, YES]) if yes_no else "viridis_r"
    values = np.where(np.isfinite(rows), np.minimum(rows.astype(float), cut), np.nan)
    axes.imshow(values, origin="lower", aspect="auto", cmap=colours, norm=norm, interpolation="nearest")
    size = SMALL - 1.5 if rows.shape[1] > 8 else SMALL
    longest = max(len(_brief(value)) for value in rows.ravel())
    if rows.size > WRITTEN or LETTER * size / 9 * longest > cell:
        return
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


def _ticks(axes: Axes, found: Study, wide: float, tall: float) -> None:
    """Write values and names of both axes, in the room that there is."""
    upright = _upright(found, wide)
    for which, axis, room in (("x", found.axes[0], wide), ("y", found.axes[1], tall)):
        step = every(axis.values, room, upright=which == "y" or upright)
        places = list(range(0, len(axis.values), step))
        turned = {"rotation": 90} if upright and which == "x" else {}
        getattr(axes, f"set_{which}ticks")(places, [plain(axis.values[i]) for i in places], **turned)
        name = broken(plain(axis.name.replace("_", " ")), room)
        getattr(axes, f"set_{which}label")(name, fontsize=SMALL + 1, color=INK)
    axes.tick_params(labelsize=TICK, color=GREY, labelcolor=INK, length=2)
    for side in axes.spines.values():
        side.set_visible(False)


def _lines(found: Study, path: str | os.PathLike[str] | None) -> Figure:
    axis = found.axes[0]
    turned = axis.numbers is None and every(axis.values, WIDTH - SIDE) > 1
    below = LETTER * max(map(len, axis.values)) if turned else 0.0
    figure = page(0.3 + below + 1.9 * len(found.measured))
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
        dress(axes, "", broken(plain(measure.replace("_", " ")), 1.5))
        if values.dtype == bool:
            axes.set_yticks([0, 1], ["no", "yes"])
            axes.set_ylim(-0.2, 1.2)
        if axis.numbers is None:
            axes.set_xticks(list(x), [plain(v) for v in axis.values], rotation=90 if turned else 0)
    stack[-1].set_xlabel(broken(plain(axis.name.replace("_", " ")), WIDTH - SIDE), fontsize=SMALL + 1)
    return finish(figure, path)
