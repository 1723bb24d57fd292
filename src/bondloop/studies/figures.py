"""Figures of studies: maps over a grid, exceedance curves, tornado and trade-off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.results.figures import (
    ACTUAL,
    COLOURS,
    DASHES,
    DESIRED,
    GREY,
    INK,
    STYLE,
    broken,
    dress,
    every,
    finish,
    heading,
    legend,
    note,
    page,
    plain,
)
from bondloop.studies.grid_study import Study, shown

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bondloop.rehearsal import Run
    from bondloop.studies.robust_tuning import Tuned
    from bondloop.studies.sampled import Sampled
    from bondloop.studies.sensitivity_study import Sensitivity


YES, NO = "#cfe3f1", "#e8a27c"


def heat_maps(
    found: Study, *, path: str | os.PathLike[str] | None = None, margin: float = 1.0, tallest: float = 5.0
) -> Figure:
    """Draw a study.

    The first axis runs across, the second one up, the third makes panels; measures stand below each other.
    Where stability was measured too, unstable cells are struck through in the other maps.

    Parameters
    ----------
    found
        The study.
    path
        Where to save.
    margin, tallest
        Inches beside a map for what is written there, and of the tallest map.
    """
    panels = found.panels()
    if len(found.axes) == 1:
        return _lines(found, path, STYLE.width - margin)
    across, up = len(found.axes[0].values), len(found.axes[1].values)
    columns = len(panels)
    stacked = _stacked(across, columns)
    wide = (STYLE.width - 0.2) / (1 if stacked else columns) - margin
    titles = [
        broken(measure.replace("_", " ") + (f", {title}" if title else ""), wide)
        for measure in found.measured
        for title, _ in panels
    ]
    name = broken(found.axes[1].name.replace("_", " "), tallest)
    tall = min(max(0.26 * up, 0.9, STYLE.letter * max(map(len, name.splitlines()))), tallest)
    above = 0.6 + STYLE.row * max(title.count("\n") + 1 for title in titles) + _below(found, wide)
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


def _norm(values: NDArray[Any], spread: float = 1e3) -> tuple[Normalize, float]:
    """Return the scale of colours, and the value beyond which it is cut off: `spread` times the median."""
    from matplotlib.colors import LogNorm, Normalize

    if values.dtype == bool:
        return Normalize(0, 1), np.inf
    sound = values[np.isfinite(values)]
    if not sound.size:
        return Normalize(0, 1), np.inf
    low, high = float(sound.min()), float(sound.max())
    if low > 0 and high / low > 30:
        cut = min(high, spread * float(np.median(sound)), spread * low)
        return LogNorm(low, max(cut, low * 1.001)), cut
    return Normalize(low, high if high > low else low + 1), np.inf


def _below(found: Study, wide: float) -> float:
    """Return the inches that the first axis' values take below a map: upright words take their length."""
    labels = found.axes[0].values
    name = STYLE.row * broken(found.axes[0].name.replace("_", " "), wide).count("\n")
    return name + (STYLE.letter * max(map(len, labels)) if _upright(found, wide) else STYLE.row)


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
    most_written: int = 200,
) -> None:
    """Draw one map, and write values into its cells where there are not too many."""
    from matplotlib.colors import ListedColormap

    yes_no = rows.dtype == bool
    colours: Colormap | str = ListedColormap([NO, YES]) if yes_no else "viridis_r"
    values = np.where(np.isfinite(rows), np.minimum(rows.astype(float), cut), np.nan)
    axes.imshow(values, origin="lower", aspect="auto", cmap=colours, norm=norm, interpolation="nearest")
    size = STYLE.small - 1.5 if rows.shape[1] > 8 else STYLE.small
    longest = max(len(_brief(value)) for value in rows.ravel())
    if rows.size > most_written or STYLE.letter * size / 9 * longest > cell:
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
        getattr(axes, f"set_{which}label")(name, fontsize=STYLE.small + 1, color=INK)
    axes.tick_params(labelsize=STYLE.tick, color=GREY, labelcolor=INK, length=2)
    for side in axes.spines.values():
        side.set_visible(False)


def _lines(found: Study, path: str | os.PathLike[str] | None, wide: float) -> Figure:
    axis = found.axes[0]
    turned = axis.numbers is None and every(axis.values, wide) > 1
    below = STYLE.letter * max(map(len, axis.values)) if turned else 0.0
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
                axes.legend(frameon=False, fontsize=STYLE.small)
        dress(axes, "", broken(plain(measure.replace("_", " ")), 1.5))
        if values.dtype == bool:
            axes.set_yticks([0, 1], ["no", "yes"])
            axes.set_ylim(-0.2, 1.2)
        if axis.numbers is None:
            axes.set_xticks(list(x), [plain(v) for v in axis.values], rotation=90 if turned else 0)
    stack[-1].set_xlabel(broken(plain(axis.name.replace("_", " ")), wide), fontsize=STYLE.small + 1)
    return finish(figure, path)


def exceedance(found: Sampled, *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw, for each measure, how often it occurs, how often it is exceeded, and what it goes with.

    Parameters
    ----------
    found
        The tests.
    path
        Where to save.
    """
    shown = differs(found)
    if not shown:
        raise InputError("no measure differs from test to test: there is nothing to draw")
    figure = page(0.4 + 2.1 * len(shown))
    grid = figure.subplots(len(shown), 3, squeeze=False)
    for row, (name, values) in zip(grid, shown.items(), strict=True):
        _histogram(row[0], name, values[np.isfinite(values)])
        if name in found.times:
            _happened(row[1], name, values)
        else:
            _exceeded(row[1], name, values, found.stopped)
        _tornado(row[2], found, values)
    return finish(figure, path)


def differs(found: Sampled) -> dict[str, NDArray[np.float64]]:
    """Return the measures that differ from test to test; of whether it tripped the probability says all."""
    good = {n: x[np.isfinite(x)] for n, x in found.measured.items() if n != "trip"}
    return {n: found.measured[n] for n, x in good.items() if x.size and np.ptp(x) > 0}


def _histogram(axes: Axes, name: str, values: NDArray[np.float64], bins: int = 60) -> None:
    low, high = np.quantile(values, [0.0005, 0.9995])
    inside = values[(values >= low) & (values <= high)] if high > low else values
    axes.hist(inside, bins=bins, color=COLOURS[0], density=False)
    dress(axes, plain(_squeezed(name)), "tests")
    heading(axes, plain(_squeezed(name)))
    _few_ticks(axes)


def _exceeded(axes: Axes, name: str, values: NDArray[np.float64], stopped: NDArray[np.bool_]) -> None:
    ranked = np.sort(np.where(stopped | np.isnan(values), np.inf, values))
    share = 1 - np.arange(len(ranked)) / len(ranked)
    good = np.isfinite(ranked)
    pick = _spread_over(int(good.sum()))
    axes.set_yscale("log")
    axes.plot(ranked[pick], share[pick], color=COLOURS[0], linewidth=1.2)
    dress(axes, plain(_squeezed(name)), "share above it")
    _few_ticks(axes)
    if stopped.any():
        axes.axhline(stopped.mean(), **ACTUAL)
        note(axes, f"dashed: {stopped.mean():.2%} stopped")


def _happened(axes: Axes, name: str, values: NDArray[np.float64]) -> None:
    """Draw in which share of all tests it had happened by then: above a time lies no share of its own."""
    when = np.sort(values[np.isfinite(values)])
    share = np.arange(1, len(when) + 1) / len(values)
    pick = _spread_over(len(when))
    axes.plot(when[pick], share[pick], color=COLOURS[0], linewidth=1.2, drawstyle="steps-post")
    axes.set_ylim(bottom=0)
    dress(axes, plain(_squeezed(name)), "share by then")
    _few_ticks(axes)


def _spread_over(count: int, most: int = 4000) -> NDArray[np.intp]:
    """Return places of a ranked row that are drawn, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, most).astype(np.intp)) if count else np.arange(0)


def _few_ticks(axes: Axes) -> None:
    """Leave few enough values on the axis that long ones do not meet, each of them whole: no offset."""
    from matplotlib.ticker import FuncFormatter

    axes.locator_params(axis="x", nbins=4)
    if max(len(f"{value:.10g}") for value in axes.get_xticks()) > 5:
        axes.locator_params(axis="x", nbins=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))


def _tornado(axes: Axes, found: Sampled, values: NDArray[np.float64]) -> None:
    names = list(found.distributions)
    correlation = np.array([_rank_correlation(found.values[:, i], values) for i in range(len(names))])
    order = np.argsort(np.abs(correlation))[-8:]
    axes.barh(range(len(order)), correlation[order], color=COLOURS[0], height=0.6)
    axes.set_yticks(range(len(order)), [plain(_short(names[i])) for i in order], fontsize=STYLE.small - 1)
    axes.set_xlim(-1, 1)
    axes.axvline(0, color="black", linewidth=0.6)
    dress_x = "rank correlation"
    axes.set_xlabel(dress_x, fontsize=STYLE.small + 1)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="x", labelsize=STYLE.small - 1)


def _short(name: str) -> str:
    return name if len(name) <= 26 else "…" + name[-25:]


def _squeezed(name: str, longest: int = 26) -> str:
    """Return a measure's name without its middle, so that it stays over its own column."""
    return name if len(name) <= longest else f"{name[: longest // 2]}…{name[-(longest // 2 - 1) :]}"


def _rank_correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return Spearman's rank correlation where both are there; nothing goes with a constant."""
    from scipy.stats import spearmanr

    good = np.isfinite(y)
    if good.sum() < 3 or not np.ptp(x[good]) or not np.ptp(y[good]):
        return 0.0
    return float(spearmanr(x[good], y[good]).statistic)


def tornado(found: Sensitivity, *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw indices of sensitivity as bars, the largest on top: first order within total, with intervals.

    Parameters
    ----------
    found
        The indices.
    path
        Where to save.
    """
    count = max(len(first) for first in found.first.values())
    lines = max(broken(name, 2.0).count("\n") + 1 for first in found.first.values() for name in first)
    figure = page((0.8 + max(0.32, 0.04 + STYLE.row * lines) * count) * len(found.first))
    grid = figure.subplots(len(found.first), 1, squeeze=False)[:, 0]
    for axes, (measure, first) in zip(grid, found.first.items(), strict=True):
        total = found.total[measure]
        order = sorted(first, key=lambda name: total[name].value)
        places = np.arange(len(order))
        for indices, colour, wide, word in (
            (total, COLOURS[5], 0.7, "total"),
            (first, COLOURS[0], 0.36, "first order"),
        ):
            values = np.array([indices[name].value for name in order])
            reach = np.array(
                [[indices[n].value - indices[n].low, indices[n].high - indices[n].value] for n in order]
            )
            axes.barh(places, values, wide, color=colour, label=word)
            axes.errorbar(
                values, places + (0.24 if word == "total" else 0.0), xerr=np.maximum(reach.T, 0.0),
                fmt="none", ecolor=INK, elinewidth=0.8, capsize=2,
            )  # fmt: skip
        dress(axes, "share of the variance")
        axes.set_yticks(places, [broken(plain(name), 2.0) for name in order], fontsize=STYLE.small)
        axes.grid(visible=False, axis="y")
        heading(axes, measure)
        legend(axes)
    return finish(figure, path)


def exceedance_curves(
    tests: Mapping[str, Sampled], measure: str, *, path: str | os.PathLike[str] | None = None
) -> Figure:
    """Draw how often a measure is exceeded, for several sets of tests; those that stopped exceed everything.

    Parameters
    ----------
    tests
        By name.
    measure
        Which.
    path
        Where to save.
    """
    if not tests:
        raise InputError("there are no tests to draw")
    figure = page(2.8)
    axes = figure.subplots()
    axes.set_yscale("log")
    least = 1.0
    for i, (name, found) in enumerate(tests.items()):
        values = found[measure]
        ranked = np.sort(np.where(found.stopped | np.isnan(values), np.inf, values))
        share, good = 1 - np.arange(len(ranked)) / len(ranked), np.isfinite(ranked)
        pick = _spread_over(int(good.sum()))
        colour, dash = COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]
        stopped = found.probability()
        word = f"{name} ({stopped.value:.2%} stopped)"
        axes.plot(ranked[pick], share[pick], color=colour, linestyle=dash, linewidth=1.3, label=plain(word))
        if found.stopped.any() and good.any():
            axes.axhspan(stopped.low, stopped.high, color=colour, alpha=0.15, linewidth=0)
        least = min(least, 1 / len(ranked))
    axes.set_ylim(least * 0.8, 1.2)
    dress(axes, plain(measure), "share of tests above it")
    note(axes, "shaded: probability of a stop, 95 %")
    legend(axes, 1)
    return finish(figure, path)


def overlay(
    runs: Mapping[str, Run],
    channel: str,
    *,
    limit: float | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw one channel of several histories over each other, the first in front.

    Parameters
    ----------
    runs
        Histories by name, as of `Sampled.histories`.
    channel
        Which.
    limit
        Drawn on both sides where it is given.
    path
        Where to save.
    """
    if not runs:
        raise InputError("there are no histories to draw")
    figure = page(2.8)
    axes = figure.subplots()
    for i, (name, run) in enumerate(runs.items()):
        if channel not in run.record:
            raise InputError(unknown_name("channel", channel, run.record))
        colour, dash = COLOURS[i % len(COLOURS)], DASHES[i // len(COLOURS) % len(DASHES)]
        axes.plot(
            run.time,
            run[channel],
            color=colour,
            linestyle=dash,
            linewidth=0.9,
            label=plain(name),
            zorder=9 - i,
        )
        if not run.completed:
            axes.plot(run.time[-1], run[channel][-1], "x", color=colour, markersize=6, zorder=20)
    if limit is not None:
        for side in (-limit, limit):
            axes.axhline(side, color=INK, linestyle=DASHES[1], linewidth=1.0)
    unit = next(iter(runs.values())).record.units.get(channel, "")
    dress(axes, "time [s]", broken(plain(f"{channel} [{unit}]" if unit else channel), 2.0))
    legend(axes, min(len(runs), 5))
    return finish(figure, path)


def trade_off(found: Tuned, *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw the settings that a search tried by two of their measures, and those that none is better than.

    Parameters
    ----------
    found
        What the search found.
    path
        Where to save.
    """
    names = list(found.best.quantiles)
    if len(names) < 2:
        raise InputError(f"a trade-off is between two measures; found {', '.join(names)} alone")
    figure = page(3.2)
    axes = figure.subplots()
    _settings(axes, found, names[0], names[1])
    return finish(figure, path)


def _settings(axes: Axes, found: Tuned, across: str, up: str) -> None:
    ran = [s for s in found.tried if np.isfinite([s.quantiles[across], s.quantiles[up]]).all()]
    points = np.array([[s.quantiles[across], s.quantiles[up]] for s in ran]).reshape(-1, 2)
    front = np.array([[s.quantiles[across], s.quantiles[up]] for s in found.trade_off]).reshape(-1, 2)
    axes.plot(*points.T, ".", color=GREY, markersize=4, label=f"tried ({len(found.tried)})")
    axes.plot(*front.T, "-", color=COLOURS[0], linewidth=1.2, label="none is better in both")
    for one, mark, word in ((found.own, "s", "before"), (found.best, "*", "best")):
        at = (one.quantiles[across], one.quantiles[up])
        if np.isfinite(at).all():
            axes.plot(*at, mark, color=COLOURS[1], markersize=9, label=word)
    dress(axes, plain(f"{across}, {found.share:.3g} quantile"), plain(f"{up}, {found.share:.3g} quantile"))
    legend(axes)
