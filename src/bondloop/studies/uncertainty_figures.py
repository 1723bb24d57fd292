"""Figures of uncertain tests: what matters, how often a measure is exceeded, the worst, and trade-offs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.plots.label_room import ROW, broken
from bondloop.plots.page import (
    COLOURS,
    DASHES,
    GREY,
    INK,
    SMALL,
    dress,
    finish,
    heading,
    legend,
    note,
    page,
    plain,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bondloop.hybrid import Run
    from bondloop.studies.robust_tuning import Tuned
    from bondloop.studies.sampled import Sampled
    from bondloop.studies.sensitivity import Sensitivity

__all__ = ["exceedance_curves", "overlay", "tornado", "trade_off"]

POINTS = 2000
"""Of a curve."""


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
    figure = page((0.8 + max(0.32, 0.04 + ROW * lines) * count) * len(found.first))
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
        axes.set_yticks(places, [broken(plain(name), 2.0) for name in order], fontsize=SMALL)
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
        pick = np.unique(np.linspace(0, good.sum() - 1, POINTS).astype(int)) if good.any() else np.arange(0)
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
