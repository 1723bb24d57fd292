"""The figures of Wagg and Stoten 2001, and two that the paper has not: passivity, and how a burst begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.papers import wagg_passivity
from bondloop.plots.page import (
    ACTUAL,
    COLOURS,
    DASHES,
    DESIRED,
    GREY,
    RULE,
    dress,
    finish,
    heading,
    legend,
    page,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bondloop.hybrid import Run
    from bondloop.substructure import ReferenceModel

__all__ = ["bursts", "figure_5", "figures_7_to_9", "passivity"]

GAINS = (("controller.K[0]", "$K_1$"), ("controller.K[1]", "$K_2$"), ("controller.K_r", "$K_r$"))
BEGINNING = (1.7, 2.7)
"""The first burst of the chain, in s."""
FREE: dict[str, Any] = {"color": COLOURS[2], "linestyle": DASHES[3], "linewidth": 1.1}


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
    _gains(gains, run)
    gains.set_yscale("symlog", linthresh=30)
    dress(gains, "time [s]", "gain")
    figure.align_ylabels([motion, gains])
    finish(figure, path)
    return path


def figures_7_to_9(run: Run, path: Path) -> Path:
    """Draw the motions on the two-mass rig (figure 7), the force (8) and the gains (9)."""
    figure = page(5.6)
    motion, force, gains = figure.subplots(3, 1, sharex=True, height_ratios=(1.6, 1, 1))
    motion.plot(run.time, 1e3 * run["desired.displacement"], label="desired, $x_m$", **DESIRED)
    motion.plot(run.time, 1e3 * run["actual.displacement"], label="actual, $x$", **ACTUAL)
    motion.plot(run.time, 1e3 * run["rig.specimen.m3.stop.displacement"], label="free mass, $x_c$", **FREE)
    motion.set_xlim(0, float(run.time[-1]))
    dress(motion, "", "displacement [mm]")
    heading(motion, "Figure 7")
    legend(motion)
    force.plot(run.time, 1e3 * run["force"], color=COLOURS[0], linewidth=1.0)
    dress(force, "", "force [mN]", ticks=4)
    heading(force, "Figure 8")
    _gains(gains, run)
    dress(gains, "time [s]", "gain", ticks=4)
    heading(gains, "Figure 9")
    figure.align_ylabels([motion, force, gains])
    finish(figure, path)
    return path


def _gains(axes: Axes, run: Run) -> None:
    for (name, label), dash, colour in zip(GAINS, DASHES, COLOURS, strict=False):
        axes.plot(run.time, run[name], color=colour, linestyle=dash, linewidth=1.1, label=label)
    legend(axes)


def passivity(cases: Mapping[str, tuple[Sequence[float], ReferenceModel]], path: Path) -> Path:
    """Draw the phase of g_e over frequency: strictly positive real is what stays within 90 degrees.

    Parameters
    ----------
    cases
        C_e and A_m by label.
    path
        Where to save.
    """
    figure = page(3.4)
    axes = figure.subplots()
    omegas = np.logspace(-2, 4, 2000)
    axes.axhspan(-90, 90, color=RULE, alpha=0.5, linewidth=0, zorder=0.5)
    axes.axhline(0, color=GREY, linewidth=0.7, zorder=1)
    for i, (label, (weights, model)) in enumerate(cases.items()):
        phase = np.degrees(np.angle(wagg_passivity.response(weights, omegas, model)))
        axes.plot(
            omegas, phase, color=COLOURS[i], linestyle=DASHES[i % len(DASHES)], linewidth=1.3, label=label
        )
    axes.set_xscale("log")
    axes.set(xlim=(omegas[0], omegas[-1]), ylim=(-190, 100))
    dress(axes, "frequency [rad/s]", "phase of $g_e$ [degrees]")
    axes.set_yticks([-180, -90, 0, 90])
    legend(axes, 2)
    finish(figure, path)
    return path


def bursts(cases: Mapping[str, tuple[Run, float, float, Sequence[float]]], path: Path) -> Path:
    """Draw the level of the motion beside those from which loops are quiet, gains, and how a burst begins.

    Parameters
    ----------
    cases
        Runs of the three-mass chain with their alpha, beta and C_e, by label; one that bursts first.
    path
        Where to save.
    """
    figure = page(6.4)
    level, gains, beginning = figure.subplots(3, 1, height_ratios=(1, 1.2, 1.2))
    model = wagg_passivity.reference()
    label, (bursting, alpha, beta, weights) = next(iter(cases.items()))
    level.plot(bursting.time, wagg_passivity.motion(bursting), **DESIRED)
    for (name, (run, a, b, row)), colour, dash in zip(cases.items(), COLOURS, DASHES, strict=False):
        quiet = wagg_passivity.quiet_level(a, b, row, model)
        level.axhline(quiet, color=colour, linestyle=dash, linewidth=1.3)
        gain = np.maximum(np.abs(run["controller.K[1]"]), 1e-2)
        gains.plot(run.time, gain, color=colour, linestyle=dash, linewidth=1.0, label=name)
    for axes in (level, gains):
        axes.set_xlim(0, float(bursting.time[-1]))
    level.set_ylim(-0.04, 1.1)
    dress(level, "", "$W$ [SI]")
    heading(level, "The motion's level W, and the levels above which each loop is quiet")
    gains.set_yscale("log")
    dress(gains, "time [s]", "$|K_2|$")
    legend(gains)
    start, end = BEGINNING
    shown = (bursting.time >= start) & (bursting.time <= end)
    t, error = bursting.time[shown], np.abs(bursting["controller.error"][shown])
    peak = int(np.argmax(error[t < start + 0.2]))
    bound = error[peak] * wagg_passivity.foretold(bursting, float(t[peak]), alpha, beta, weights)[shown]
    beginning.plot(t, error, color=COLOURS[0], linewidth=1.0, label=f"$|y_e|$, {label}")
    beginning.plot(t, bound, color=COLOURS[1], linestyle=DASHES[1], linewidth=1.3, label="growth as foretold")
    beginning.set_yscale("log")
    beginning.set(xlim=BEGINNING, ylim=(1e-2, 10))
    dress(beginning, "time [s]", "$|y_e|$ [m/s]")
    legend(beginning)
    figure.align_ylabels([level, gains, beginning])
    finish(figure, path)
    return path
