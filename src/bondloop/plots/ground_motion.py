"""A ground motion on one page: acceleration, velocity, displacement, Arias intensity, response spectrum."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bondloop.data.ranges import number
from bondloop.plots.axis_unit import labelled, scaled
from bondloop.plots.page import ACTUAL, DESIRED, dress, finish, heading, legend, page
from bondloop.plots.thinning import drawable, envelope
from bondloop.records.response_spectrum import ResponseSpectrum, checked_periods

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from bondloop.records import GroundMotion

__all__ = ["ground_motion"]

SHADE = "#dbe4ee"


def ground_motion(
    motion: GroundMotion,
    *,
    periods: ArrayLike | None = None,
    damping: float = 0.05,
    target: ResponseSpectrum | Mapping[float, float] | Mapping[float | str, float | str] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a ground motion.

    The shaded part is the significant duration, in which the Arias intensity grows from 5 to 95 %.

    Parameters
    ----------
    motion
        As it is, corrected and scaled.
    periods, damping
        Of its response spectrum.
    target
        A spectrum to draw beside it: a response spectrum, or pseudo-accelerations [m/s²] by period [s].
    path
        Where to save.

    Examples
    --------
    >>> import numpy as np
    >>> from bondloop.records import GroundMotion
    >>> t = np.arange(1000) * 0.01
    >>> figure = ground_motion(GroundMotion(np.cos(8 * t) * np.exp(-t / 2), 0.01), periods=[0.1, 0.5, 1, 2])
    >>> [axes.get_ylabel() for axes in figure.axes][:3]
    ['acceleration [m/s²]', 'velocity [mm/s]', 'displacement [mm]']
    """
    figure = page(7.0)
    grid = figure.add_gridspec(4, 1, height_ratios=[1, 1, 1, 1.7])
    start, end = motion.significant_times()
    first = None
    for row, word in enumerate(("acceleration", "velocity", "displacement")):
        signal = getattr(motion, word)()
        values = signal(signal.times)
        # Accelerations stay in m/s², whatever their size: nobody thinks of shaking in mm/s².
        factor, unit = (1.0, "m/s²") if word == "acceleration" else scaled(signal.unit, [values])
        axes = figure.add_subplot(grid[row], sharex=first)
        first = first or axes
        axes.axvspan(start, end, color=SHADE, linewidth=0, zorder=0)
        axes.plot(*envelope(signal.times, drawable(factor * values)), color=DESIRED["color"], linewidth=0.8)
        dress(axes, "time [s]" if row == 2 else "", labelled(word, unit), ticks=4)
        axes.set_xlim(0, signal.duration)
        if row < 2:
            axes.tick_params(labelbottom=False)
    assert first is not None
    heading(first, _said(motion))
    below = figure.add_subplot(grid[3])
    spectrum = motion.spectrum(checked_periods(periods), damping)
    S = spectrum.pseudo_acceleration
    below.plot(spectrum.periods, S, label=f"{100 * damping:g} % damping", **DESIRED)
    if target is not None:
        below.plot(*_points(target), label="target", **ACTUAL)
    dress(below, "period [s]", "pseudo-acceleration [m/s²]")
    below.set_xscale("log")
    below.set_ylim(bottom=0)
    legend(below)
    return finish(figure, path)


def _said(motion: GroundMotion) -> str:
    words = [
        motion.title[:48], f"peak {motion.peak:.3g} m/s²", f"Arias {motion.arias_intensity:.3g} m/s",
        f"{motion.significant_duration():.3g} s from 5 to 95 %",
    ]  # fmt: skip
    return ", ".join(word for word in words if word)


def _points(
    target: ResponseSpectrum | Mapping[float, float] | Mapping[float | str, float | str],
) -> tuple[Sequence[float], Sequence[float]]:
    if isinstance(target, ResponseSpectrum):
        return list(target.periods), list(target.pseudo_acceleration)
    lines = {number(t, "target", "s"): number(s, "target", "m/s^2") for t, s in target.items()}
    periods = sorted(lines)
    return periods, [lines[t] for t in periods]
