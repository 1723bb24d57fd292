"""The figures of a report: what there is to draw of one run, or of several over each other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.results.assess import FEWEST
from bondloop.results.figures import (
    COLOURS,
    DASHES,
    drawable,
    dress,
    envelope,
    finish,
    heading,
    labelled,
    legend,
    page,
    scaled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bondloop.rehearsal import Run
    from bondloop.results.records import Record


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
    >>> from bondloop.results import Record
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


def figures_of(run: Run) -> Iterator[tuple[Figure, str]]:
    """Yield the figures of a run with their captions; those of which nothing is recorded are left out."""
    if len(run.time) < FEWEST:
        return
    plot, record = run.plot, run.record
    measured = {meaning.quantity for meaning in record.meanings.values()}
    if run.pairs:
        for name, pair in plot.pairs.items():  # a figure each: two fit on no page of paper
            whose = f" of {name}" if len(plot.pairs) > 1 else ""
            caption = f"Desired and actual motion{whose} and their difference; force over displacement."
            yield replace(plot, pairs={name: pair}).overview(), caption
        yield plot.spectra(), "Spectra of desired and actual motion, and of the error."
    else:
        yield from _histories(run)
    if run.adapted:
        yield plot.gains(), "What the controller adapted."
    if any("storey drift" in quantity for quantity in measured):
        yield plot.drifts(), "Largest drift of every storey, to either side."
    if "strain energy" in measured:
        yield plot.energies(), "Where the energy went."


def _histories(run: Run) -> Iterator[tuple[Figure, str]]:
    """Yield the channels over time of a run without transfer systems, grouped by their unit."""
    groups: dict[str, dict[str, str]] = {}
    for name, unit in run.record.units.items():
        group = groups.setdefault(unit or "no unit", {})
        if len(group) < 3:
            group[_end(name)] = name
    if groups:
        yield run.plot.histories(list(groups.values())[:6]), "Recorded channels, the first of each unit."


def _end(name: str, longest: int = 24) -> str:
    """Return a name that is short enough for a legend: its last parts.

    >>> _end("network.suspension.mass.v.flow")
    '...suspension.mass.v.flow'
    """
    short = name
    while len(short) > longest and "." in short:
        short = short.partition(".")[2]
    return name if short == name else f"...{short}"


def compared(runs: Sequence[Run], names: Sequence[str]) -> Figure | None:
    """Draw the first transfer system of several runs over each other; None where fewer than two have one.

    Parameters
    ----------
    runs
        The runs.
    names
        What they are called.
    """
    drawn = {
        name: (run.record, *run.pairs[0])
        for run, name in zip(runs, names, strict=True)
        if run.pairs and len(run.time) > 1
    }
    if len(drawn) < 2 or len({record.units[actual] for record, _, actual in drawn.values()}) > 1:
        return None
    return side_by_side(drawn, title="transfer system 1")
