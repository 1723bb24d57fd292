"""Figure of many rehearsals: how each measure is distributed, and what it goes with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.plots.page import ACTUAL, COLOURS, SMALL, dress, finish, heading, note, page, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bondloop.studies.sampled import Sampled

__all__ = ["differs", "exceedance"]

BINS = 60
DOTS = 4000
"""Most tests that are drawn as dots."""

WIDEST = 26
"""Most characters of a measure's name: a column has room for them."""

RANKED = 50_000
"""Most tests whose ranks are compared: a correlation is then known to half a per cent."""


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


def _histogram(axes: Axes, name: str, values: NDArray[np.float64]) -> None:
    low, high = np.quantile(values, [0.0005, 0.9995])
    inside = values[(values >= low) & (values <= high)] if high > low else values
    axes.hist(inside, bins=BINS, color=COLOURS[0], density=False)
    dress(axes, plain(_squeezed(name)), "tests")
    heading(axes, plain(_squeezed(name)))
    _few_ticks(axes)


def _exceeded(axes: Axes, name: str, values: NDArray[np.float64], stopped: NDArray[np.bool_]) -> None:
    ranked = np.sort(np.where(stopped | np.isnan(values), np.inf, values))
    share = 1 - np.arange(len(ranked)) / len(ranked)
    good = np.isfinite(ranked)
    pick = np.unique(np.linspace(0, good.sum() - 1, DOTS).astype(int)) if good.any() else np.arange(0)
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
    pick = np.unique(np.linspace(0, len(when) - 1, DOTS).astype(int))
    axes.plot(when[pick], share[pick], color=COLOURS[0], linewidth=1.2, drawstyle="steps-post")
    axes.set_ylim(bottom=0)
    dress(axes, plain(_squeezed(name)), "share by then")
    _few_ticks(axes)


def _few_ticks(axes: Axes) -> None:
    """Leave few enough values on the axis that long ones do not meet."""
    axes.locator_params(axis="x", nbins=4)


def _tornado(axes: Axes, found: Sampled, values: NDArray[np.float64]) -> None:
    names = list(found.distributions)
    correlation = np.array([_rank_correlation(found.values[:, i], values) for i in range(len(names))])
    order = np.argsort(np.abs(correlation))[-8:]
    axes.barh(range(len(order)), correlation[order], color=COLOURS[0], height=0.6)
    axes.set_yticks(range(len(order)), [plain(_short(names[i])) for i in order], fontsize=SMALL - 1)
    axes.set_xlim(-1, 1)
    axes.axvline(0, color="black", linewidth=0.6)
    dress_x = "rank correlation"
    axes.set_xlabel(dress_x, fontsize=SMALL + 1)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="x", labelsize=SMALL - 1)


def _short(name: str) -> str:
    return name if len(name) <= 26 else "…" + name[-25:]


def _squeezed(name: str) -> str:
    """Return a measure's name without its middle, so that it stays over its own column."""
    return name if len(name) <= WIDEST else f"{name[: WIDEST // 2]}…{name[-(WIDEST // 2 - 1) :]}"


def _rank_correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    good = np.flatnonzero(np.isfinite(y))
    if good.size < 3:
        return 0.0
    good = good[:: -(-good.size // RANKED)]
    a, b = (np.argsort(np.argsort(v[good])).astype(float) for v in (x, y))
    if not a.std() or not b.std():
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])
