"""How well a loop kept its clock: wake-up latency and cycle time, counted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.results.figures.layout import COLOURS, GREY, INK, STYLE, dress, finish, heading, page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray


def latencies(
    wake: ArrayLike,
    busy: ArrayLike,
    period: float,
    *,
    title: str = "",
    path: str | os.PathLike[str] | None = None,
    per_decade: int = 20,
) -> Figure:
    """Draw how late a loop woke up and how long its cycles took, as histograms on logarithmic axes.

    Percentiles are marked above, the period by a dashed line: a cycle is late when wake-up latency and cycle
    time together pass it.

    Parameters
    ----------
    wake
        Wake-up latency of each cycle in s.
    busy
        Time from its beginning until the command was sent, in s.
    period
        Seconds between cycles.
    title, path
        Heading, and where to save.
    per_decade
        Bins in a decade; of 20, a duration stands out that differs by an eighth.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> figure = latencies(rng.lognormal(-10, 0.3, 1000), rng.lognormal(-12, 0.2, 1000), 1e-3)
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['', 'duration [µs]']
    """
    figure = page(4.4)
    upper, lower = figure.subplots(2, 1, sharex=True)
    samples = {"wake-up latency": _seconds("wake", wake), "cycle time": _seconds("busy", busy)}
    lowest = min(float(s.min()) for s in samples.values())
    highest = max(period, *(float(s.max()) for s in samples.values()))
    first = np.floor(per_decade * np.log10(lowest)) - 1
    last = np.ceil(per_decade * np.log10(1.2 * highest)) + 1
    edges = 10.0 ** (np.arange(first, last + 1) / per_decade)
    for axes, (name, values), colour in zip((upper, lower), samples.items(), COLOURS, strict=False):
        _draw(axes, values, edges, colour)
        axes.axvline(1e6 * period, color=INK, linewidth=0.9, linestyle=(0, (4, 1.6)))
        heading(axes, f"{name}, {values.size:,} cycles")
    upper.text(
        1e6 * period, 0.96, " period", transform=upper.get_xaxis_transform(), fontsize=STYLE.small, color=INK,
        va="top", ha="right" if highest <= period else "left",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
    )  # fmt: skip
    lower.set_xlabel("duration [µs]", fontsize=9, color=INK, labelpad=3)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=9, color=INK)
    return finish(figure, path)


def _draw(axes: Axes, values: NDArray[np.float64], edges: NDArray[np.float64], colour: str) -> None:
    """Draw a histogram, with the median, 99 %, 99.9 % and the most above it."""
    from matplotlib.ticker import FuncFormatter

    counts, _ = np.histogram(values, edges)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.stairs(counts, 1e6 * edges, baseline=0.5, fill=True, color=colour, linewidth=0)
    axes.set_ylim(0.5, 4.0 * counts.max())
    axes.set_xlim(1e6 * edges[0], 1e6 * edges[-1])
    dress(axes, "", "cycles")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.12g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}" if y >= 1 else ""))
    percents = (50.0, 99.0, 99.9, 100.0)
    marks = np.percentile(values, percents, method="higher")
    words = []
    for percent, mark in zip(percents, marks, strict=True):
        axes.axvline(1e6 * mark, color=GREY, linewidth=0.7, linestyle=(0, (1, 1.2)))
        name = "most" if percent == 100 else f"{percent:g} %"
        words.append(f"{name}: {_short(1e6 * mark)} µs")
    axes.text(
        1.0,
        1.015,
        "     ".join(words),
        transform=axes.transAxes,
        fontsize=STYLE.small,
        color=INK,
        ha="right",
        va="bottom",
    )


def _short(x: float) -> str:
    return f"{x:,.0f}" if x >= 99.5 else f"{x:.2g}"


def _seconds(name: str, values: ArrayLike, shortest: float = 1e-7) -> NDArray[np.float64]:
    """Return durations, those below the clocks' own 0.1 µs counted as that."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise InputError(f"{name}: expected a row of durations in s; found an array of shape {array.shape}")
    return np.maximum(array, shortest)
