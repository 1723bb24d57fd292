"""Synchronisation subspace plots: actual against desired."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_rgba

from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError
from bondloop.results.assess.delay_estimate import delay
from bondloop.results.assess.tracking import normalised_rms_error
from bondloop.results.figures.axis_unit import labelled, scaled
from bondloop.results.figures.layout import (
    COLOURS,
    GREY,
    STYLE,
    dress,
    finish,
    heading,
    note,
    page,
    round_steps,
)
from bondloop.results.figures.thinning import drawable, ink, trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


WIDTHS = {1: 3.5, 2: 6.0, 3: STYLE.width}
"""Inches across for so many plots side by side."""


def subspace(
    desired: NDArray[np.float64] | Sequence[NDArray[np.float64]],
    actual: NDArray[np.float64] | Sequence[NDArray[np.float64]],
    unit: str | Sequence[str] = "m",
    *,
    sample_period: float | str | None = None,
    titles: Sequence[str] = (),
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw actual against desired motion, with the 45° line of perfect synchronisation.

    An amplitude error turns the figure off the line, a delay opens it into an ellipse. The axes are square
    with equal scales; the normalised rms error and, with `sample_period`, the delay are written over
    them.

    Parameters
    ----------
    desired, actual
        Signals, shape (n,); or one of each for every actuator, drawn side by side, three in a row.
    unit
        Their unit, or one for each actuator.
    sample_period
        Seconds between samples, for the delay.
    titles
        One for each actuator.
    path
        Where to save.

    References
    ----------
    Gawthrop, Wallace and Wagg (2005), section 5.2 and Figures 13 to 15.

    Examples
    --------
    >>> t = np.arange(1000) * 1e-3
    >>> figure = subspace(np.sin(30 * t), np.sin(30 * (t - 0.01)), "m", sample_period=1e-3)
    >>> figure.axes[0].texts[0].get_text()
    'NRMSE 29.9 %, delay 10.0 ms'
    """
    if sample_period is not None:
        sample_period = POSITIVE.check(sample_period, "sample_period", "s")
    x, y = _several(desired), _several(actual)
    if len(x) != len(y) or not x:
        raise InputError(
            f"{len(x)} desired and {len(y)} actual signals; as many of one as of the other are needed"
        )
    if titles and len(titles) != len(x):
        raise InputError(f"{len(titles)} titles for {len(x)} actuators")
    units = [unit] * len(x) if isinstance(unit, str) else list(unit)
    if len(units) != len(x):
        raise InputError(f"{len(units)} units for {len(x)} actuators")
    across = min(3, len(x))
    rows = -(-len(x) // across)
    width = WIDTHS[across]
    figure = page(rows * (width / across + (0.2 if titles else 0.1)), width)
    grid = figure.subplots(rows, across, squeeze=False).ravel()
    for number, axes in enumerate(grid):
        if number >= len(x):
            axes.remove()
            continue
        draw_subspace(axes, x[number], y[number], units[number], sample_period)
        if titles:
            heading(axes, titles[number], lines_below=1)
    return finish(figure, path)


def draw_subspace(
    axes: Axes,
    desired: NDArray[np.float64],
    actual: NDArray[np.float64],
    unit: str,
    sample_period: float | None,
) -> None:
    """Draw one subspace plot into axes."""
    x, y = drawable(desired), drawable(actual)
    factor, shown = scaled(unit, (x, y))
    x, y = x * factor, y * factor
    both = np.concatenate((x, y))
    low, high = (float(np.nanmin(both)), float(np.nanmax(both))) if np.isfinite(both).any() else (-1.0, 1.0)
    margin = 0.06 * (high - low) or 1.0
    limits = (low - margin, high + margin)
    axes.plot(limits, limits, color=GREY, linewidth=0.8, linestyle=(0, (5, 2)), zorder=1.5)
    line_x, line_y = trajectory(x, y)
    if line_x.size <= 2 * STYLE.dense:
        axes.plot(line_x, line_y, color=COLOURS[0], linewidth=0.9, solid_joinstyle="round", zorder=2)
    else:  # too many points for a vector file to open, or for a line to be drawn in a second
        picture = np.zeros((STYLE.cells, STYLE.cells, 4))
        picture[ink(x, y, *limits)] = to_rgba(COLOURS[0])
        axes.imshow(picture, extent=(*limits, *limits), origin="lower", interpolation="nearest", zorder=2)
    dress(axes, labelled("desired", shown), labelled("actual", shown))
    axes.xaxis.set_major_locator(round_steps(5))
    axes.set(xlim=limits, ylim=limits)
    axes.set_aspect("equal", adjustable="box")
    note(axes, summary(desired, actual, sample_period))


def summary(desired: NDArray[np.float64], actual: NDArray[np.float64], sample_period: float | None) -> str:
    """Return the normalised rms error and the delay in words, of the part before a run left the finite."""
    sound = np.isfinite(desired) & np.isfinite(actual)
    count = sound.size if sound.all() else int(np.argmin(sound))
    if count < 4:
        return "no finite samples"
    x, y = desired[:count], actual[:count]
    error = normalised_rms_error(x, y)
    lines = [f"NRMSE {f'{100 * error:#.3g}'.rstrip('.')} %" if np.isfinite(error) else "NRMSE undefined"]
    if sample_period is not None:
        try:
            lag = delay(x, y, sample_period)
        except InputError:
            lag = float("nan")
        text = f"{1e3 * lag:.3g}" if abs(lag) < 1e-3 else f"{1e3 * lag:.1f}"
        lines.append(f"delay {text} ms" if np.isfinite(lag) else "delay undefined")
    return ", ".join(lines)


def _several(signals: NDArray[np.float64] | Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    if isinstance(signals, np.ndarray) and signals.ndim == 1:
        return [signals]
    return [np.asarray(signal, dtype=np.float64) for signal in signals]
