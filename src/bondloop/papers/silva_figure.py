"""The figure of the field's benchmark: every controller in every case, nominal and on plants that differ."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from bondloop.papers.silva_benchmark import NUMBERS
from bondloop.papers.silva_comparison import GOALS, Goal
from bondloop.results.figures import COLOURS, INK, STYLE, dress, finish, heading, page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bondloop.papers.silva_comparison import Comparison, Outcome


DOT: dict[str, Any] = {"color": INK, "markersize": 3.5}
BAR: dict[str, Any] = {"color": COLOURS[0], "linewidth": 3.0, "alpha": 0.45}
CROSS: dict[str, Any] = {"color": COLOURS[1], "markersize": 4.5}
LINE: dict[str, Any] = {"color": COLOURS[2], "linewidth": 1.0}

SHOWN = ("floor_1_rms_percent", "floor_2_rms_percent")
"""Criteria, one below the other."""


def figure(comparison: Comparison, *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw the errors of floors 1 and 2, a column for each case.

    A dot is the worst draw of the noise on the nominal plant, the bar reaches over the plants that differ, a
    cross at the right edge says that runs stopped; the line is the goal.

    Parameters
    ----------
    comparison
        The runs.
    path
        Where to save.
    """
    names = comparison.controllers
    sheet = page(len(SHOWN) * (0.19 * len(names) + 0.75), 8.0)
    grid = sheet.subplots(len(SHOWN), len(comparison.cases), squeeze=False, sharex="row")
    goals = {goal.name: goal for goal in GOALS}
    for row, criterion in zip(grid, SHOWN, strict=True):
        for axes, case in zip(row, comparison.cases, strict=True):
            axes.set_xscale("log")
            _panel(axes, comparison, case, criterion, goals[criterion])
            heading(axes, f"case {case}: {NUMBERS[criterion]} [%]")
            axes.set_yticks(range(len(names)), names if case == comparison.cases[0] else [""] * len(names))
            axes.set_ylim(len(names) - 0.4, -0.6)
    looks = [
        Line2D([], [], marker="o", linestyle="none", label="nominal plant, worst draw", **DOT),
        Line2D([], [], label="plants that differ", **BAR),
        Line2D([], [], marker="x", linestyle="none", label="runs that stopped", **CROSS),
        Line2D([], [], label="goal", **LINE),
    ]
    sheet.legend(handles=looks, loc="outside lower center", ncols=4, frameon=False, fontsize=STYLE.small)
    return finish(sheet, path)


def _panel(axes: Axes, comparison: Comparison, case: int, criterion: str, goal: Goal) -> None:
    for i, name in enumerate(comparison.controllers):
        nominal = comparison.of(name, case, nominal=True)
        others = comparison.of(name, case, nominal=False)
        values = _finished(others, criterion)
        if values:
            axes.plot([min(values), max(values)], [i, i], **BAR)
        if at := _finished(nominal, criterion):
            axes.plot(max(at), i, marker="o", linestyle="none", **DOT)
        stopped = [o for o in (*nominal, *others) if o.stopped is not None]
        if stopped:
            edge = axes.get_yaxis_transform()  # across the panel, whatever its range
            axes.plot(0.97, i, marker="x", transform=edge, **CROSS)
    axes.axvline(goal.bound(comparison.floors[case]), **LINE)
    dress(axes)


def _finished(outcomes: Sequence[Outcome], criterion: str) -> list[float]:
    return [o.criteria[criterion] for o in outcomes if criterion in o.criteria]
