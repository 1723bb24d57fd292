"""Figures of identified process models: Bode plot, time overlay, correlations of the residuals."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from bondloop.errors import InputError
from bondloop.results.figures.axis_unit import labelled, quantity_of, scaled
from bondloop.results.figures.layout import COLOURS, DASHES, GREY, dress, finish, heading, legend, note, page
from bondloop.results.figures.thinning import envelope

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from bondloop.transfer import Process

    Array = NDArray[np.float64]
    Entry = tuple[NDArray[np.float64], NDArray[np.complex128]]


def bode(
    frequency: ArrayLike,
    response: ArrayLike,
    models: Mapping[str, Process],
    *,
    title: str = "",
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a measured frequency response and those of models: gain and phase.

    Parameters
    ----------
    frequency, response
        Measured, in Hz and complex, shape (n,).
    models
        Models by name, the most important first.
    title, path
        Heading, and where to save.

    Examples
    --------
    >>> from bondloop.transfer.process import first_order
    >>> G, f = first_order(1.0, 0.01), np.linspace(1.0, 50.0, 20)
    >>> [axes.get_ylabel() for axes in bode(f, G.response(f), {"G1": G}).axes]
    ['gain [dB]', 'phase [°]']
    """
    figure = page(4.4)
    gain, phase = figure.subplots(2, 1, sharex=True)
    draw_bode(gain, phase, np.asarray(frequency, dtype=float), np.asarray(response), models)
    if title:
        heading(gain, title, lines_below=1)
    return finish(figure, path)


def fit_in_time(
    time: ArrayLike,
    measured: ArrayLike,
    models: Mapping[str, ArrayLike],
    *,
    unit: str = "",
    title: str = "",
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a measured output, what models make of the input, and below what is left over.

    Parameters
    ----------
    time, measured
        In s and in the output's unit, shape (n,).
    models
        The outputs of models by name.
    unit, title, path
        The output's unit, a heading, and where to save.
    """
    figure = page(3.8)
    above, below = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [2, 1]})
    t, y = np.asarray(time, dtype=float), np.asarray(measured, dtype=float)
    draw_time(above, below, t, y, {n: np.asarray(v, dtype=float) for n, v in models.items()}, unit)
    if title:
        heading(above, title, lines_below=1)
    return finish(figure, path)


def residual_correlations(
    autocorrelation: ArrayLike,
    cross_correlation: ArrayLike,
    band: float,
    *,
    title: str = "",
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw the correlation of residuals with themselves and with the input, lag by lag.

    Parameters
    ----------
    autocorrelation, cross_correlation
        At lags 0, 1, ...
    band
        Within plus and minus this lie 99 % of the correlations of pure noise.
    title, path
        Heading, and where to save.
    """
    figure = page(2.4)
    left, right = figure.subplots(1, 2)
    draw_correlation(left, np.asarray(autocorrelation, dtype=float), band, "residuals with themselves")
    draw_correlation(right, np.asarray(cross_correlation, dtype=float), band, "residuals with the input")
    if title:
        heading(left, title, lines_below=1)
    return finish(figure, path)


def process_models(  # noqa: PLR0913 - three pictures on one page
    frequency: ArrayLike,
    response: ArrayLike,
    models: Mapping[str, Process],
    time: ArrayLike,
    measured: ArrayLike,
    predicted: Mapping[str, ArrayLike],
    correlations: tuple[ArrayLike, ArrayLike, float] | None = None,
    *,
    unit: str = "",
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw all that is known of identified models on one page.

    Parameters
    ----------
    frequency, response, models
        As for `bode`.
    time, measured, predicted
        As for `fit_in_time`.
    correlations
        Of the recommended model's residuals: with themselves, with the input, and the band.
    unit, path
        The output's unit, and where to save.
    """
    figure = page(6.6)
    grid = figure.add_gridspec(4, 2, height_ratios=[2.1, 2.1, 2.0, 1.7])
    gain = figure.add_subplot(grid[0, :])
    phase = figure.add_subplot(grid[1, :], sharex=gain)
    f, H = np.asarray(frequency, dtype=float), np.asarray(response)
    draw_bode(gain, phase, f, H, models)
    gain.tick_params(labelbottom=False)
    above = figure.add_subplot(grid[2, :])
    lines = {name: np.asarray(v, dtype=float) for name, v in predicted.items()}
    draw_time(above, None, np.asarray(time, dtype=float), np.asarray(measured, dtype=float), lines, unit)
    if correlations is not None:
        left, right = figure.add_subplot(grid[3, 0]), figure.add_subplot(grid[3, 1])
        own, cross, band = correlations
        draw_correlation(left, np.asarray(own, dtype=float), band, "residuals with themselves")
        draw_correlation(right, np.asarray(cross, dtype=float), band, "residuals with the input")
    return finish(figure, path)


def draw_bode(
    gain: Axes, phase: Axes, f: Array, H: NDArray[np.complex128], models: Mapping[str, Process]
) -> None:
    """Draw gain and phase of data and models into axes."""
    if f.ndim != 1 or f.shape != H.shape or not f.size:
        raise InputError(f"expected one response for each frequency; found {f.shape} and {H.shape}")
    order = np.argsort(f)
    f, H = f[order], H[order]
    fine = np.geomspace(f[0], f[-1], 600)
    dots: dict[str, Any] = {"color": GREY, "linestyle": "none", "marker": ".", "markersize": 4, "zorder": 1.5}
    gain.semilogx(f, _decibels(H), label="measured", **dots)
    measured = np.degrees(np.unwrap(np.angle(H)))
    for i, (name, G) in enumerate(models.items()):
        look: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)]}
        value = G.response(fine)
        angle = np.degrees(np.unwrap(np.angle(value)))
        gain.semilogx(fine, _decibels(value), label=name, linewidth=1.2, **look)
        phase.semilogx(fine, angle, linewidth=1.2, **look)
        if i == 0:  # noise may have cost the measured phase whole turns; the first model knows better
            near = np.interp(f, fine, angle)
            measured = np.degrees(np.angle(H))
            measured = measured + 360 * np.round((near - measured) / 360)
    phase.semilogx(f, measured, **dots)
    span = float(np.ptp(measured))
    dress(gain, "", "gain [dB]")
    dress(phase, "frequency [Hz]", "phase [°]")
    phase.yaxis.set_major_locator(
        MultipleLocator(180 if span > 350 else 90 if span > 150 else 45 if span > 70 else 15)
    )
    low = float(np.min(_decibels(H)))
    high = float(np.max(_decibels(H)))
    room = 0.08 * max(high - low, 3.0)
    gain.set_ylim(low - room, high + room)
    gain.set_xlim(f[0], f[-1])
    phase.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    legend(gain, min(5, 1 + len(models)))


def draw_time(
    above: Axes, below: Axes | None, t: Array, y: Array, models: Mapping[str, Array], unit: str
) -> None:
    """Draw measured and modelled outputs into axes, and the residuals into the axes below, if any."""
    factor, shown = scaled(unit, [y])
    above.plot(*envelope(t, factor * y), color=GREY, alpha=0.7, linewidth=2.4, label="measured")
    for i, (name, values) in enumerate(models.items()):
        look: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "linewidth": 1.0}
        above.plot(*envelope(t, factor * values), label=name, **look)
        if below is not None:
            below.plot(*envelope(t, factor * (y - values)), **look)
    word = quantity_of(unit) or "output"
    dress(above, "" if below is not None else "time [s]", labelled(word, shown))
    above.set_xlim(t[0], t[-1])
    if below is not None:
        dress(below, "time [s]", labelled("residual", shown), ticks=3)
    legend(above)


def draw_correlation(axes: Axes, values: Array, band: float, what: str) -> None:
    """Draw correlations lag by lag, with the band of pure noise."""
    lags = np.arange(values.size)
    axes.axhspan(-band, band, color=COLOURS[5], alpha=0.35, linewidth=0)
    axes.vlines(lags, 0, values, color=COLOURS[0], linewidth=1.4)
    axes.axhline(0, color=GREY, linewidth=0.7)
    dress(axes, "lag [samples]", "correlation", ticks=3)
    note(axes, what)
    inside = values[1:] if values.size and values[0] == 1.0 else values
    reach = max(1.3 * float(np.max(np.abs(inside), initial=0.0)), 2.5 * band)
    axes.set_ylim(-reach, reach)  # the lag 0 of an autocorrelation is 1 and says nothing
    axes.set_xlim(-0.7, values.size - 0.3)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def _decibels(H: NDArray[np.complex128]) -> Array:
    return np.asarray(20 * np.log10(np.maximum(np.abs(H), 1e-300)))


def process_matrix(
    measured: Sequence[Sequence[Entry]],
    models: Sequence[Sequence[Process]],
    *,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw gain and phase of every entry of a matrix.

    Parameters
    ----------
    measured
        For each output and input frequencies in Hz and responses.
    models
        The models, in the same order.
    path
        Where to save.
    """
    outputs, inputs = len(models), len(models[0])
    figure = page(0.6 + 2.9 * outputs)
    axes = figure.subplots(2 * outputs, inputs, sharex=True, squeeze=False)
    for i in range(outputs):
        for j in range(inputs):
            gain, phase = axes[2 * i][j], axes[2 * i + 1][j]
            f, H = measured[i][j]
            G = models[i][j].response(f)
            near = np.unwrap(np.angle(G))
            turned = near + np.angle(H / G)
            gain.semilogx(f, 20 * np.log10(np.abs(H)), ".", color=GREY, markersize=3, label="measured")
            gain.semilogx(f, 20 * np.log10(np.abs(G)), color=COLOURS[0], linewidth=1.2, label="model")
            phase.semilogx(f, np.degrees(turned), ".", color=GREY, markersize=3)
            phase.semilogx(f, np.degrees(near), color=COLOURS[0], linewidth=1.2)
            high = float(np.max(20 * np.log10(np.abs(G))))
            gain.set_ylim(min(float(np.min(20 * np.log10(np.abs(G)))), high - 6) - 3, high + 3)
            low, top = float(np.degrees(near.min())), float(np.degrees(near.max()))
            phase.set_ylim(low - 20, top + 20)
            dress(gain, "", "gain [dB]" if j == 0 else "")
            dress(phase, "frequency [Hz]" if i == outputs - 1 else "", "phase [°]" if j == 0 else "")
            heading(gain, f"output {i}, input {j}")
    legend(axes[0][0], 2)
    return finish(figure, path)
