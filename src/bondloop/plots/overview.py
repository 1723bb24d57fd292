"""One page that tells how a run went."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from bondloop.errors import InputError
from bondloop.plots.axis_unit import labelled, scaled
from bondloop.plots.histories import draw_history
from bondloop.plots.page import COLOURS, ERROR, GREY, INK, dress, finish, heading, legend, page, plain
from bondloop.plots.subspace import draw_subspace
from bondloop.plots.thinning import drawable, envelope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bondloop.records import Record

__all__ = ["overview"]

Pairs = Mapping[str, Sequence[str]]


def overview(
    record: Record,
    pairs: Pairs,
    *,
    title: str = "",
    compared: Record | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw for every actuator its history, its error and its subspace plot.

    Parameters
    ----------
    record
        The run.
    pairs
        Desired and actual channel of each actuator, by its name.
    title
        Over the page; the status of a run that did not complete stands beneath it.
    compared
        The part of the record whose error and subspace plot are drawn; all of it if not given.
    path
        Where to save.

    Examples
    --------
    >>> import numpy as np
    >>> from bondloop.records import Record
    >>> t = np.linspace(0, 1, 101)
    >>> record = Record(t, {"z": np.sin(9 * t), "x": np.sin(9 * t - 0.1)}, {"z": "m", "x": "m"})
    >>> len(overview(record, {"actuator 1": ("z", "x")}).axes)
    3
    """
    checked(record, pairs)
    part = record if compared is None else compared
    figure = page(0.35 + 2.75 * len(pairs))
    grid = figure.add_gridspec(2 * len(pairs), 2, width_ratios=(1.75, 1), height_ratios=(1.7, 1) * len(pairs))
    left = []
    for row, (label, (desired, actual)) in zip(range(0, 2 * len(pairs), 2), pairs.items(), strict=True):
        above = figure.add_subplot(grid[row, 0])
        draw_history(above, record, {"desired": desired, "actual": actual})
        heading(above, label, lines_below=1)
        legend(above)
        above.tick_params(labelbottom=False)
        below = figure.add_subplot(grid[row + 1, 0], sharex=above)
        error = drawable(part[actual]) - drawable(part[desired])
        factor, shown = scaled(record.units[desired], [error])
        x, y = envelope(part.time, error * factor)
        below.axhline(0.0, color=GREY, linewidth=0.6, zorder=1)
        below.plot(x, y, **ERROR)
        dress(below, "time [s]", labelled("error", shown), ticks=4)
        left += [above, below]
        period = record.sample_period if len(record) > 1 else None
        beside = figure.add_subplot(grid[row : row + 2, 1])
        draw_subspace(beside, part[desired], part[actual], record.units[desired], period)
    figure.align_ylabels(left)
    status = str(record.attributes.get("status", "completed"))
    lines = [plain(title)] if title else []
    if status != "completed":
        message = str(record.attributes.get("message", ""))
        lines.append(plain(f"{status}: {message}" if message else status))
    if lines:
        text = "\n".join(part for line in lines for part in wrap(line, 95))
        colour = COLOURS[1] if status != "completed" else INK
        figure.suptitle(text, x=0.01, ha="left", fontsize=10, fontweight="bold", color=colour)
    return finish(figure, path)


def checked(record: Record, pairs: Pairs) -> None:
    """Refuse pairs that are no pairs, unknown channels, and pairs of two units."""
    if not pairs:
        raise InputError("no pairs to draw; give at least one, such as {'actuator 1': ('z1', 'x1')}")
    for label, names in pairs.items():
        if isinstance(names, str) or len(names) != 2:
            raise InputError(f"pair '{label}': a desired and an actual channel are needed; found {names!r}")
        _ = [record[name] for name in names]
        one, other = (record.units[name] for name in names)
        if one != other:
            raise InputError(
                f"pair '{label}': '{names[0]}' is in {one or 'no unit'}, '{names[1]}' in {other or 'no unit'}"
            )
