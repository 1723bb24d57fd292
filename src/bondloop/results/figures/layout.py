"""How bondloop's figures look: sizes, colours, axes and their units, legends, thinned curves, saving.

All of it is set on the figure at hand; Matplotlib's global settings are neither read for looks nor changed.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from bondloop.display import Figure, save
from bondloop.errors import InputError
from bondloop.results.assess.tolerances import LARGEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


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

_PREFIXABLE = re.compile(r"(m|N|Pa|W|J|V|A)(?![A-Za-z0-9^*²³])(.*)")
_PREFIXES = ((1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_METRES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_POWERS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def scaled(unit: str, signals: Iterable[NDArray[np.float64]]) -> tuple[float, str]:
    """Return the factor and the unit in which the greatest value lies between about 1 and 1000.

    A unit that cannot take a prefix stays as it is.

    Examples
    --------
    >>> scaled("m", [np.array([0.012, -0.03])])
    (1000.0, 'mm')
    >>> scaled("N", [np.array([25_000.0])])
    (0.001, 'kN')
    >>> scaled("m/s^2", [np.array([3.0])])
    (1.0, 'm/s²')
    """
    written = pretty(unit)
    match = _PREFIXABLE.fullmatch(unit)
    peak = max((_finite_peak(signal) for signal in signals), default=0.0)
    if not match or peak == 0:
        return 1.0, written
    for size, prefix in _METRES if match[1] == "m" else _PREFIXES:
        if peak >= 0.999 * size:
            return float(f"{1 / size:.12g}"), prefix + written
    return 1.0, written


def pretty(unit: str) -> str:
    """Return a unit with its powers raised.

    Examples
    --------
    >>> pretty("m/s^2"), pretty("kg*m**2"), pretty("")
    ('m/s²', 'kg·m²', '')
    """
    raised = re.sub(r"(?:\^|\*\*)(-?\d+)", lambda found: found[1].translate(_POWERS), unit)
    return raised.replace("*", "·")


def labelled(text: str, unit: str) -> str:
    """Return an axis label with its unit in brackets.

    Examples
    --------
    >>> labelled("velocity", "mm/s"), labelled("gain", "")
    ('velocity [mm/s]', 'gain')
    """
    return f"{text} [{unit}]" if text and unit else text or (f"[{unit}]" if unit else "")


def quantity_of(unit: str) -> str:
    """Return what a unit measures, for an axis without a better name.

    Examples
    --------
    >>> quantity_of("m"), quantity_of("m/s"), quantity_of("kg")
    ('displacement', 'velocity', '')
    """
    return {
        "m": "displacement", "m/s": "velocity", "m/s^2": "acceleration", "m/s²": "acceleration", "N": "force",
        "rad": "rotation", "rad/s": "angular velocity", "N m": "moment", "N*m": "moment",
        "J": "energy", "W": "power", "Pa": "pressure", "V": "voltage", "A": "current",
    }.get(unit, "")  # fmt: skip


def _finite_peak(signal: NDArray[np.float64]) -> float:
    return float(np.abs(np.where(np.isfinite(signal), signal, 0.0)).max(initial=0.0))


def envelope(
    x: NDArray[np.float64], y: NDArray[np.float64], columns: int = STYLE.stretches
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return first, lowest, highest and last sample of each of `columns` stretches, in order.

    Drawn as a line it covers the same dots as the whole signal, provided a stretch is no wider than a dot. A
    stretch with NaN keeps one, so that a gap stays a gap.

    References
    ----------
    Jugel, Jerzak, Hackenbroich and Markl (2014), M4: a visualization-oriented time series data aggregation.

    Examples
    --------
    >>> x = np.arange(1e6)
    >>> y = np.zeros(1_000_000)
    >>> y[123_456] = 7.0
    >>> thin_x, thin_y = envelope(x, y)
    >>> thin_x.size <= 5 * 1501, float(thin_y.max()), float(thin_x[thin_y.argmax()])
    (True, 7.0, 123456.0)
    """
    y = drawable(y)
    if y.size <= 5 * columns:
        return x, y
    width = y.size // columns
    whole = columns * width
    rows = y[:whole].reshape(columns, width)
    gap = np.isnan(rows)
    offsets = np.stack(
        [
            np.zeros(columns, dtype=np.intp),
            np.where(gap, np.inf, rows).argmin(axis=1),
            np.where(gap, -np.inf, rows).argmax(axis=1),
            gap.argmax(axis=1),  # the first gap; the first sample where there is none
            np.full(columns, width - 1, dtype=np.intp),
        ],
        axis=1,
    )
    offsets.sort(axis=1)
    kept = np.unique((offsets + width * np.arange(columns)[:, None]).ravel())
    if whole < y.size:
        tail_x, tail_y = envelope(x[whole:], y[whole:], columns)
        return np.concatenate((x[kept], tail_x)), np.concatenate((y[kept], tail_y))
    return x[kept], y[kept]


def trajectory(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a path in the plane without the pieces that retrace earlier ones on a fine grid.

    A steady oscillation runs over the same loop again and again; each piece is drawn once. Pieces left out
    become gaps (NaN). Every cell
    that the whole path visits is visited by what is returned, and its extremes are kept to the last digit.

    Examples
    --------
    >>> angle = np.arange(200_000) * (2 * np.pi / 100)
    >>> x, y = trajectory(np.sin(angle), np.cos(angle))
    >>> x.size < 1000, round(float(np.nanmax(x)), 9)
    (True, 1.0)
    """
    x, y = drawable(x), drawable(y)
    if x.size <= STYLE.dense:
        return x, y
    sound = np.isfinite(x) & np.isfinite(y)
    if not sound.any():
        return x[:0], y[:0]
    cell = np.where(sound, _cells(x, sound) * (STYLE.cells + 1) + _cells(y, sound), -1)
    # Samples that stay in a cell add nothing; then each step between two cells is kept the first time.
    extreme = np.zeros(x.size, dtype=bool)
    for values in (x, y):
        extreme[[np.where(sound, values, np.inf).argmin(), np.where(sound, values, -np.inf).argmax()]] = True
    moved = np.concatenate(([True], cell[1:] != cell[:-1])) | extreme
    x, y, cell, extreme = x[moved], y[moved], cell[moved], extreme[moved]
    step = cell[:-1] * (STYLE.cells + 1) ** 2 + cell[1:]
    new = np.zeros(step.size, dtype=bool)
    new[np.unique(step, return_index=True)[1]] = True
    new |= extreme[1:]
    kept = np.concatenate((new, [False])) | np.concatenate(([True], new))
    torn = np.flatnonzero(np.concatenate(([False], ~new)) & kept)  # a kept point whose step to it is left out
    x, y = (np.insert(np.where(kept, values, np.nan), torn, np.nan) for values in (x, y))
    dull = np.isnan(x)
    keep = ~(dull & np.concatenate(([False], dull[:-1])))
    return x[keep], y[keep]


def ink(x: NDArray[np.float64], y: NDArray[np.float64], low: float, high: float) -> NDArray[np.bool_]:
    """Return the square from `low` to `high` as cells, True where the line through the samples passes.

    For lines of a million samples that never retrace themselves: each cell is inked once, however often it is
    crossed. Shape (cells, cells), the first row at the bottom; the line is three cells wide.

    Examples
    --------
    >>> cells = ink(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0.0, 1.0)
    >>> int(cells[:, 300].sum()), bool(cells[300].all())
    (3, True)
    """
    column, row = ((drawable(values) - low) * ((STYLE.cells - 1) / (high - low)) for values in (x, y))
    across, up = np.diff(column), np.diff(row)
    steps = np.ceil(np.maximum(np.abs(across), np.abs(up))) + 1
    sound = np.flatnonzero(np.isfinite(steps))
    order = sound[np.argsort(-steps[sound], kind="stable")]  # the longest pieces first
    steps = steps[order]
    column, row, across, up = column[order], row[order], across[order] / steps, up[order] / steps
    cells = np.zeros((STYLE.cells + 2, STYLE.cells + 2), dtype=bool)
    longest = int(steps[0]) if steps.size else 0
    for step in range(longest + 1):
        here = slice(0, int(np.searchsorted(-steps, -step, "right")))
        at_row = np.rint(row[here] + step * up[here]).astype(np.intp)
        at_column = np.rint(column[here] + step * across[here]).astype(np.intp)
        cells[at_row + 1, at_column + 1] = True
    wide = cells.copy()
    for axis in (0, 1):
        wide |= np.roll(wide, 1, axis) | np.roll(wide, -1, axis)
    return wide[1:-1, 1:-1]


def drawable(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values with NaN where they cannot be drawn: infinite, or so large that drawing overflows."""
    wild = ~(np.abs(values) <= LARGEST)
    return np.where(wild, np.nan, values) if wild.any() else values


def _cells(values: NDArray[np.float64], sound: NDArray[np.bool_]) -> NDArray[np.int64]:
    low, high = float(values[sound].min()), float(values[sound].max())
    place = (np.where(sound, values, low) - low) * (STYLE.cells / (high - low) if high > low else 0.0)
    return place.astype(np.int64)


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
