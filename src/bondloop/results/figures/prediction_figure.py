"""Gain and phase of polynomial forward prediction."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import POSITIVE, si_array
from bondloop.errors import InputError
from bondloop.results.figures.layout import COLOURS, DASHES, GREY, RULE, dress, finish, legend, page, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from bondloop.control import PolynomialPrediction


def prediction(
    predictions: Mapping[str, PolynomialPrediction],
    period: float | str,
    *,
    frequencies: ArrayLike | None = None,
    path: str | os.PathLike[str] | None = None,
    good_gain: float = 0.1,
    good_phase: float = 10.0,
) -> Figure:
    """Draw gain and phase of predictions relative to the perfect one (du Bois 2010, Figure 15).

    Both follow from the weights in closed form; nothing is simulated. Curves end where they leave the axes.

    Parameters
    ----------
    predictions
        By label.
    period
        The sample period in s.
    frequencies
        In Hz; 0 to 60 where none are given.
    path
        Where to save.
    good_gain, good_phase
        What is shaded: the gain at most so far from one, the phase from zero, in degrees.

    Examples
    --------
    >>> from bondloop.control import PolynomialPrediction
    >>> figure = prediction({"10 points over 10 ms": PolynomialPrediction("5 ms")}, 0.001)
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['gain', 'phase [degrees]']
    """
    if not predictions:
        raise InputError("no predictions to draw; give at least one, by label")
    period = POSITIVE.check(period, "period", "s")
    f = (
        np.linspace(0.0, 60.0, 601)
        if frequencies is None
        else np.sort(si_array(frequencies, "frequencies", "Hz"))
    )
    if f.ndim != 1 or len(f) < 2 or not np.all(np.isfinite(f)):
        raise InputError("frequencies must be a sequence of at least two finite numbers, in Hz")
    figure = page(4.2)
    gain, phase = figure.subplots(2, 1, sharex=True)
    gain.axhspan(1 - good_gain, 1 + good_gain, color=RULE, alpha=0.6, zorder=0.5, linewidth=0)
    phase.axhspan(-good_phase, good_phase, color=RULE, alpha=0.6, zorder=0.5, linewidth=0)
    for i, (label, one) in enumerate(predictions.items()):
        H = one.response(f, period)
        look = {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.3}
        gain.plot(f, np.abs(H), label=plain(label), **look)
        phase.plot(f, np.degrees(np.unwrap(np.angle(H))), **look)
    for axes, middle in ((gain, 1.0), (phase, 0.0)):
        axes.axhline(middle, color=GREY, linewidth=0.7, zorder=1)
    gain.set_ylim(0.0, 2.0)
    phase.set_ylim(-60.0, 60.0)
    dress(gain, "", "gain")
    dress(phase, "frequency [Hz]", "phase [degrees]")
    phase.set_xlim(float(f.min()), float(f.max()))
    legend(gain, min(len(predictions), 3))
    figure.align_ylabels([gain, phase])
    return finish(figure, path)
