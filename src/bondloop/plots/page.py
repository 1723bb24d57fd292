"""How bondloop's figures look: sizes, colours, axes, legends, saving.

All of it is set on the figure at hand; Matplotlib's global settings are neither read for looks nor changed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from bondloop.display.figure import Figure, save
from bondloop.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "ACTUAL",
    "COLOURS",
    "DASHES",
    "DESIRED",
    "ERROR",
    "FORMATS",
    "GREY",
    "INK",
    "LABEL",
    "REFERENCE",
    "RESOLUTION",
    "RULE",
    "SMALL",
    "TICK",
    "WIDTH",
    "dress",
    "finish",
    "heading",
    "legend",
    "note",
    "page",
    "plain",
    "round_steps",
]

WIDTH = 7.0
"""Inches: a text width, or two columns of a journal (178 mm)."""
LABEL, TICK, SMALL = 9.0, 8.0, 8.0
"""Points of axis labels, tick labels, legends and notes at that width."""
INK, GREY, RULE = "#1a1a1a", "#6e6e6e", "#d9d9d9"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5F4B8B", "#000000")
"""Okabe and Ito's colours, told apart with every colour vision; without the yellow, too faint on paper."""
DESIRED: dict[str, Any] = {"color": INK, "linestyle": "-", "linewidth": 1.1}
ACTUAL: dict[str, Any] = {"color": COLOURS[1], "linestyle": (0, (4, 1.6)), "linewidth": 1.2}
REFERENCE: dict[str, Any] = {"color": COLOURS[2], "linestyle": (0, (1, 1.2)), "linewidth": 1.4}
ERROR: dict[str, Any] = {"color": COLOURS[0], "linestyle": "-", "linewidth": 0.9}
DASHES = ("-", (0, (4, 1.6)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
RESOLUTION = 200
"""Dots per inch of bitmaps, and of long lines inside vector files."""
FORMATS = ("svg", "pdf", "png")


def page(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure [inches] whose parts make room for each other."""
    room = ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.05, wspace=0.03, hspace=0.04)
    return Figure(figsize=(width, height), dpi=RESOLUTION, layout=room, facecolor="white")


def dress(axes: Axes, xlabel: str = "", ylabel: str = "", *, ticks: int = 5) -> None:
    """Give axes the house look: two spines, a faint grid behind the data, ticks outside."""
    axes.set_facecolor("white")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)
        axes.spines[side].set_linewidth(0.7)
    axes.tick_params(which="both", labelsize=TICK, color=GREY, labelcolor=INK, width=0.7, direction="out")
    axes.tick_params(which="major", length=3)
    axes.tick_params(which="minor", length=1.8)
    axes.grid(visible=True, which="major", color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    if axes.get_yscale() == "linear":
        axes.yaxis.set_major_locator(round_steps(ticks))
        axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
    axes.yaxis.get_offset_text().set_fontsize(TICK)
    if xlabel:
        axes.set_xlabel(xlabel, fontsize=LABEL, color=INK, labelpad=3)
    if ylabel:
        axes.set_ylabel(ylabel, fontsize=LABEL, color=INK, labelpad=4)


def round_steps(count: int) -> MaxNLocator:
    """Return a locator of about so many ticks, at multiples of 1, 2, 2.5, 4 or 5."""
    return MaxNLocator(count, steps=[1, 2, 2.5, 4, 5, 10], min_n_ticks=3)


def heading(axes: Axes, text: str, *, lines_below: int = 0) -> None:
    """Write a title over the left end of axes, above as many lines of a note."""
    pad = 6 + 11 * lines_below
    axes.set_title(plain(text), loc="left", fontsize=LABEL, fontweight="bold", color=INK, pad=pad)


def note(axes: Axes, text: str) -> None:
    """Write a line over the left end of axes, outside, where it covers no data."""
    axes.text(0.0, 1.015, plain(text), transform=axes.transAxes, fontsize=SMALL, color=INK, va="bottom")


def legend(axes: Axes, count: int | None = None) -> None:
    """Put the legend over the right end of axes, outside, where it covers no data."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    axes.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=count or len(handles),
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        borderaxespad=0.2,
        borderpad=0.0,
        handlelength=2.4,
        columnspacing=1.4,
        handletextpad=0.5,
    )


def plain(text: str) -> str:
    r"""Return text that Matplotlib does not take for mathematics.

    Examples
    --------
    >>> plain("cost $")
    'cost \\$'
    """
    return text.replace("$", r"\$")


def finish(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """Save the figure if a path is given, without the date, so that the same run gives the same file."""
    if path is None:
        return figure
    target = Path(path)
    kind = target.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise InputError(f"cannot save a figure as '{target.name}'; end the name in {_either(FORMATS)}")
    if not target.parent.is_dir():
        raise InputError(f"cannot save {target}: there is no folder {target.parent}; make it first")
    save(figure, target, kind, RESOLUTION)
    return figure


def _either(words: Sequence[str]) -> str:
    return ", ".join(f".{word}" for word in words[:-1]) + f" or .{words[-1]}"
