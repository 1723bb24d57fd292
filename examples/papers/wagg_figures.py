"""Figures 5 and 7 to 9 of Wagg and Stoten 2001: motions, force and gains of both of its examples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bondloop.papers.wagg_two_mass_rig import FREE
from bondloop.results.figures import (
    ACTUAL,
    COLOURS,
    DASHES,
    DESIRED,
    dress,
    finish,
    heading,
    legend,
    page,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bondloop.rehearsal import Run

__all__ = ["figure_5", "figures_7_to_9"]


def figure_5(run: Run, path: Path) -> Path:
    """Draw the second mass of the complete chain with the transfer system (a), and the gains (b)."""
    figure = page(4.2)
    motion, gains = figure.subplots(2, 1, sharex=True)
    motion.plot(
        run.time, run["reference.m2.displacement"], label="desired: complete system, $z_2$", **DESIRED
    )
    motion.plot(run.time, run["actual.displacement"], label="actual: transfer system, $x$", **ACTUAL)
    motion.set_xlim(0, float(run.time[-1]))
    dress(motion, "", "displacement [m]")
    legend(motion)
    draw_gains(gains, run)
    gains.set_yscale("symlog", linthresh=30)
    dress(gains, "time [s]", "gain")
    figure.align_ylabels([motion, gains])
    finish(figure, path)
    return path


def draw_gains(axes: Axes, run: Run) -> None:
    """Draw the gains of the controller over time.

    Parameters
    ----------
    axes
        Where to draw.
    run
        With adaptive control.
    """
    gains = (("controller.K[0]", "$K_1$"), ("controller.K[1]", "$K_2$"), ("controller.K_r", "$K_r$"))
    for (name, label), dash, colour in zip(gains, DASHES, COLOURS, strict=False):
        axes.plot(run.time, run[name], color=colour, linestyle=dash, linewidth=1.1, label=label)
    legend(axes)


def figures_7_to_9(run: Run, path: Path) -> Path:
    """Draw the motions on the two-mass rig (figure 7), the force (8) and the gains (9)."""
    free: dict[str, Any] = {"color": COLOURS[2], "linestyle": DASHES[3], "linewidth": 1.1}
    figure = page(5.6)
    motion, force, gains = figure.subplots(3, 1, sharex=True, height_ratios=(1.6, 1, 1))
    motion.plot(run.time, 1e3 * run["desired.displacement"], label="desired, $x_m$", **DESIRED)
    motion.plot(run.time, 1e3 * run["actual.displacement"], label="actual, $x$", **ACTUAL)
    motion.plot(run.time, 1e3 * run[FREE], label="free mass, $x_c$", **free)
    motion.set_xlim(0, float(run.time[-1]))
    dress(motion, "", "displacement [mm]")
    heading(motion, "Figure 7")
    legend(motion)
    force.plot(run.time, 1e3 * run["force"], color=COLOURS[0], linewidth=1.0)
    dress(force, "", "force [mN]", ticks=4)
    heading(force, "Figure 8")
    draw_gains(gains, run)
    dress(gains, "time [s]", "gain", ticks=4)
    heading(gains, "Figure 9")
    figure.align_ylabels([motion, force, gains])
    finish(figure, path)
    return path
