"""The figures of a report: what there is to draw of a run, each with what it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.assess.samples import FEWEST
from bondloop.plots.side_by_side import side_by_side

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bondloop.hybrid import Run

__all__ = ["compared", "figures_of"]


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
