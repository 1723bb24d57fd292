"""What was tried as a figure: error over margin, and over noise."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING

import numpy as np

from bondloop.plots.page import COLOURS, GREY, INK, STYLE, dress, finish, page, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bondloop.tuning.answer import Recommendation
    from bondloop.tuning.trial import Trial

__all__ = ["draw_recommendation"]

MARKS = "osD^vP*XHd<>p"
"""One for each family, so that more families than colours are told apart."""

WIDEST = 10.0
"""Margin beyond which none was looked for: drawn there."""


def draw_recommendation(answer: Recommendation, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw what was tried and ran to its end; what was chosen has a ring.

    Parameters
    ----------
    answer
        What the search found.
    path
        Where to save.
    """
    figure = page(4.3)
    left, right = figure.subplots(1, 2, sharey=True)
    names = [t.candidate.family.name for t in answer.rows() if t.ran]
    for i, name in enumerate(names):
        trials = [t for t in answer.trials if t.ran and t.candidate.family.name == name]
        look = {"color": COLOURS[i % len(COLOURS)], "marker": MARKS[i % len(MARKS)], "linewidths": 0}
        for axes, values in ((left, [_margin(t) for t in trials]), (right, [t.noise for t in trials])):
            errors = np.array([100 * t.error for t in trials])
            axes.scatter(np.array(values), errors, s=14, alpha=0.75, label=plain(name), **look)
    left.set_xscale("log")
    right.set_xscale("log")
    left.set_yscale("log")
    dress(left, "margin: change of the actuator that is borne [%]", "error against the reference [%]")
    dress(right, "noise: rms of the command per rms of white noise")
    if answer.best is not None:
        for axes, value in ((left, _margin(answer.best)), (right, answer.best.noise)):
            _ring(axes, value, 100 * answer.best.error)
    if names:
        figure.legend(
            *left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False,
            fontsize=STYLE.small, labelcolor=INK, handletextpad=0.2, columnspacing=1.4,
        )  # fmt: skip
    else:
        left.text(0.5, 0.5, "nothing ran to its end", ha="center", color=GREY, transform=left.transAxes)
    words = "\n".join(textwrap.wrap(plain(answer.sentence.replace(" %", "\u00a0%")), 96))
    figure.suptitle(words, fontsize=STYLE.label, color=INK, x=0.02, ha="left")
    return finish(figure, path)


def _margin(trial: Trial) -> float:
    return 100 * min(trial.margin, WIDEST)


def _ring(axes: Axes, x: float, y: float) -> None:
    axes.scatter([x], [y], s=110, facecolors="none", edgecolors=INK, linewidths=1.3, zorder=5)
