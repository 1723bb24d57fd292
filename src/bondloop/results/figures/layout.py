"""How bondloop's figures look: sizes, colours, axes, legends, saving.

All of it is set on the figure at hand; Matplotlib's global settings are neither read for looks nor changed.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from bondloop.display import Figure, save
from bondloop.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Style:
    """Sizes of all figures.

    Parameters
    ----------
    width
        Inches: a text width, or two columns of a journal (178 mm).
    label, tick, small
        Points of axis labels; of tick labels; of legends and notes, at that width.
    resolution
        Dots per inch of bitmaps, and of long lines inside vector files.
    letter, row
        Inches that a letter of an axis label takes, and a row of them.
    stretches
        Stretches of a long signal of which first, lowest, highest and last sample are drawn: more than the
        dots across any figure (7 in at 200 dpi is 1400).
    dense, cells
        Points up to which a trajectory is drawn as it is, and cells along each side of the plane in which its
        repeated pieces are found: a dot each.
    motion, ordinate
        Largest motion of a structure, and largest ordinate of a force diagram, as shares of its size.
    points, signed_members
        Points along a bent member; members beyond which signs on each would cover the drawing.
    """

    width: float = 7.0
    label: float = 9.0
    tick: float = 8.0
    small: float = 8.0
    resolution: int = 200
    letter: float = 0.075
    row: float = 0.15
    stretches: int = 1500
    dense: int = 20_000
    cells: int = 600
    motion: float = 0.12
    ordinate: float = 0.14
    points: int = 13
    signed_members: int = 60


STYLE = Style()
"""How all figures are sized."""
INK, GREY, RULE = "#1a1a1a", "#6e6e6e", "#d9d9d9"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5F4B8B", "#000000")
"""Okabe and Ito's colours, told apart with every colour vision; without the yellow, too faint on paper."""
DESIRED: dict[str, Any] = {"color": INK, "linestyle": "-", "linewidth": 1.1}
ACTUAL: dict[str, Any] = {"color": COLOURS[1], "linestyle": (0, (4, 1.6)), "linewidth": 1.2}
REFERENCE: dict[str, Any] = {"color": COLOURS[2], "linestyle": (0, (1, 1.2)), "linewidth": 1.4}
ERROR: dict[str, Any] = {"color": COLOURS[0], "linestyle": "-", "linewidth": 0.9}
DASHES = ("-", (0, (4, 1.6)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
FORMATS = ("svg", "pdf", "png")


def page(height: float, width: float = STYLE.width) -> Figure:
    """Return an empty figure [inches] whose parts make room for each other."""
    room = ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.05, wspace=0.03, hspace=0.04)
    return Figure(figsize=(width, height), dpi=STYLE.resolution, layout=room, facecolor="white")


def dress(axes: Axes, xlabel: str = "", ylabel: str = "", *, ticks: int = 5) -> None:
    """Give axes the house look: two spines, a faint grid behind the data, ticks outside."""
    axes.set_facecolor("white")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)
        axes.spines[side].set_linewidth(0.7)
    axes.tick_params(
        which="both", labelsize=STYLE.tick, color=GREY, labelcolor=INK, width=0.7, direction="out"
    )
    axes.tick_params(which="major", length=3)
    axes.tick_params(which="minor", length=1.8)
    axes.grid(visible=True, which="major", color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    if axes.get_yscale() == "linear":
        axes.yaxis.set_major_locator(round_steps(ticks))
        axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
    axes.yaxis.get_offset_text().set_fontsize(STYLE.tick)
    if xlabel:
        axes.set_xlabel(xlabel, fontsize=STYLE.label, color=INK, labelpad=3)
    if ylabel:
        axes.set_ylabel(ylabel, fontsize=STYLE.label, color=INK, labelpad=4)


def round_steps(count: int) -> MaxNLocator:
    """Return a locator of about so many ticks, at multiples of 1, 2, 2.5, 4 or 5."""
    return MaxNLocator(count, steps=[1, 2, 2.5, 4, 5, 10], min_n_ticks=3)


def heading(axes: Axes, text: str, *, lines_below: int = 0) -> None:
    """Write a title over the left end of axes, above as many lines of a note."""
    pad = 6 + 11 * lines_below
    axes.set_title(plain(text), loc="left", fontsize=STYLE.label, fontweight="bold", color=INK, pad=pad)


def note(axes: Axes, text: str) -> None:
    """Write a line over the left end of axes, outside, where it covers no data."""
    axes.text(0.0, 1.015, plain(text), transform=axes.transAxes, fontsize=STYLE.small, color=INK, va="bottom")


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
        fontsize=STYLE.small,
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
    save(figure, target, kind, STYLE.resolution)
    return figure


def _either(words: Sequence[str]) -> str:
    return ", ".join(f".{word}" for word in words[:-1]) + f" or .{words[-1]}"


def broken(text: str, inches: float) -> str:
    r"""Break a text into lines that fit, after blanks, dots and underscores.

    Parameters
    ----------
    text
        A name, or words.
    inches
        Room for a line.

    Examples
    --------
    >>> broken("rig.transfer.spring.stiffness", 1.0)
    'rig.transfer.\nspring.\nstiffness'
    """
    most = max(6, int(inches / STYLE.letter))
    lines = [""]
    for piece in re.findall(r"[^ ._]*[ ._]*", text):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > most:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def every(labels: Sequence[str], inches: float, *, upright: bool = False) -> int:
    """Return the step in which labels of ticks are written so that none overlaps the next.

    Parameters
    ----------
    labels
        Of all ticks, evenly spaced.
    inches
        Length of the axis.
    upright
        Whether they stand above each other, or upon their heads: then a label is as wide as a line is high.

    Examples
    --------
    >>> every(["0.0012", "1000.5", "2000.7"], 1.0), every(["a", "b"], 1.0)
    (2, 1)
    """
    wide = STYLE.row if upright else STYLE.letter * (max(map(len, labels)) + 1)
    return max(1, math.ceil(len(labels) * wide / inches))
