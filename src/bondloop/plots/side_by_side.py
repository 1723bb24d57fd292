"""Runs of one test over each other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.plots.axis_unit import labelled, scaled
from bondloop.plots.page import COLOURS, DASHES, dress, finish, heading, legend, page
from bondloop.plots.thinning import drawable, envelope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bondloop.records import Record

__all__ = ["side_by_side"]


def side_by_side(
    records: Mapping[str, tuple[Record, str, str]],
    *,
    title: str = "",
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw actual motion and error of several runs over each other.

    Parameters
    ----------
    records
        Each with the names of its desired and its actual channel, by what it is called.
    title, path
        Heading, and where to save.

    Examples
    --------
    >>> from bondloop.records import Record
    >>> t = np.linspace(0, 1, 101)
    >>> run = Record(t, {"z": np.sin(9 * t), "x": np.sin(9 * t - 0.1)}, {"z": "m", "x": "m"})
    >>> [axes.get_ylabel() for axes in side_by_side({"a": (run, "z", "x"), "b": (run, "z", "x")}).axes]
    ['actual [m]', 'error [mm]']
    """
    units = {record.units[actual] for record, _, actual in records.values()}
    if len(units) != 1:
        raise InputError(f"runs of one unit can be drawn over each other; found {sorted(units) or 'no run'}")
    motions = {name: drawable(record[actual]) for name, (record, _, actual) in records.items()}
    errors = {
        name: motions[name] - drawable(record[desired]) for name, (record, desired, _) in records.items()
    }
    figure = page(4.6)
    above, below = figure.subplots(2, 1, sharex=True)
    for axes, curves, what in ((above, motions, "actual"), (below, errors, "error")):
        factor, shown = scaled(next(iter(units)), list(curves.values()))
        for k, (name, values) in enumerate(curves.items()):
            x, y = envelope(records[name][0].time, np.asarray(values) * factor)
            look = {"color": COLOURS[k % len(COLOURS)], "linestyle": DASHES[k % len(DASHES)]}
            axes.plot(x, y, linewidth=1.0, label=name, **look)
        dress(axes, "time [s]" if axes is below else "", labelled(what, shown), ticks=4)
    if title:
        heading(above, title, lines_below=1)
    legend(above, count=min(len(records), 4))
    return finish(figure, path)
