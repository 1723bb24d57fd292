"""Figures of identification: surfaces, spectra and step responses, before any model; and of models.

The functions take whatever has the named arrays, such as the results of ``bondloop.identify``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    MultipleLocator,
    NullFormatter,
    NullLocator,
)

from bondloop.errors import InputError
from bondloop.results.figures.layout import (
    ACTUAL,
    COLOURS,
    DASHES,
    DESIRED,
    GREY,
    INK,
    STYLE,
    dress,
    envelope,
    finish,
    heading,
    labelled,
    legend,
    note,
    page,
    quantity_of,
    round_steps,
    scaled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from bondloop.identify import SpecimenRecord, Spectral, SpectralSurface, SteppedSine, StepResponse
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
    _draw_bode(gain, phase, np.asarray(frequency, dtype=float), np.asarray(response), models)
    if title:
        heading(gain, title, lines_below=1)
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
        Time in s, the output in its unit, and the outputs of the models by name.
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
    _draw_bode(gain, phase, f, H, models)
    gain.tick_params(labelbottom=False)
    lines = {name: np.asarray(v, dtype=float) for name, v in predicted.items()}
    y = np.asarray(measured, dtype=float)
    _draw_time(figure.add_subplot(grid[2, :]), np.asarray(time, dtype=float), y, lines, unit)
    if correlations is not None:
        left, right = figure.add_subplot(grid[3, 0]), figure.add_subplot(grid[3, 1])
        own, cross, band = correlations
        _draw_correlation(left, np.asarray(own, dtype=float), band, "residuals with themselves")
        _draw_correlation(right, np.asarray(cross, dtype=float), band, "residuals with the input")
    return finish(figure, path)


def _draw_bode(
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


def _draw_time(axes: Axes, t: Array, y: Array, models: Mapping[str, Array], unit: str) -> None:
    """Draw measured and modelled outputs into axes."""
    factor, shown = scaled(unit, [y])
    axes.plot(*envelope(t, factor * y), color=GREY, alpha=0.7, linewidth=2.4, label="measured")
    for i, (name, values) in enumerate(models.items()):
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(*envelope(t, factor * values), label=name, color=colour, linewidth=1.0)
    dress(axes, "time [s]", labelled(quantity_of(unit) or "output", shown))
    axes.set_xlim(t[0], t[-1])
    legend(axes)


def _draw_correlation(axes: Axes, values: Array, band: float, what: str) -> None:
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
            _draw_bode(gain, phase, np.asarray(f), np.asarray(H), {"model": models[i][j]})
            heading(gain, f"output {i}, input {j}", lines_below=1)
    return finish(figure, path)


Path = str | os.PathLike[str] | None


def response_surface(surface: SteppedSine, unit: str = "", *, title: str = "", path: Path = None) -> Figure:
    """Draw gain and phase as maps over frequency and amplitude (du Bois 2010, Figure 3).

    Parameters
    ----------
    surface
        With ``frequency`` [Hz], ``amplitude``, and ``gain`` and ``phase`` [rad] of shape (amplitudes,
        frequencies); NaN where nothing was measured.
    unit
        Of the amplitude.
    title, path
        Heading, and where to save.
    """
    f = np.asarray(surface.frequency)
    if f.size < 2 or surface.amplitude.size < 2:
        raise InputError(
            f"a surface needs two frequencies and two amplitudes at least; found {f.size} and "
            f"{surface.amplitude.size}; draw response_curves instead"
        )
    factor, shown = scaled(unit, [surface.amplitude])
    a = surface.amplitude * factor
    figure = page(2.9)
    panels = figure.subplots(1, 2, sharey=True)
    gain = 20 * np.log10(np.where(surface.gain > 0, surface.gain, np.nan))
    for axes, values, label in (
        (panels[0], gain, "gain [dB]"),
        (panels[1], np.degrees(surface.phase), "phase [°]"),
    ):
        _logarithmic(axes, f)
        if a[-1] / a[0] >= 8:
            axes.set_yscale("log")
        across, up = _edges(f, axes.get_xscale()), _edges(a, axes.get_yscale())
        mesh = axes.pcolormesh(across, up, np.ma.masked_invalid(values), cmap="viridis", rasterized=True)
        axes.set(xlim=(across[0], across[-1]), ylim=(up[0], up[-1]))
        dress(axes, "frequency [Hz]", labelled("input amplitude", shown) if axes is panels[0] else "")
        axes.grid(visible=False)
        if axes.get_yscale() == "log":
            axes.yaxis.set_major_locator(FixedLocator(a.tolist()))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
        _colour_bar(figure, axes, mesh, label)
    if title:
        heading(panels[0], title)
    return finish(figure, path)


def response_curves(surface: SteppedSine, unit: str = "", *, title: str = "", path: Path = None) -> Figure:
    """Draw gain and phase over frequency, a line for each amplitude (du Bois 2010, Figure 4).

    Bars stand for two standard deviations either way, where they can be seen.

    Parameters
    ----------
    surface
        With ``frequency`` [Hz], ``amplitude``, and ``gain``, ``phase`` [rad] and ``deviation`` of shape
        (amplitudes, frequencies).
    unit
        Of the amplitude.
    title, path
        Heading, and where to save.
    """
    f = np.asarray(surface.frequency)
    factor, shown = scaled(unit, [surface.amplitude])
    figure = page(4.4)
    top, bottom = figure.subplots(2, 1, sharex=True)
    many = surface.amplitude.size > len(COLOURS)
    for row, amplitude in enumerate(surface.amplitude):
        there = np.isfinite(surface.gain[row])
        gain, phase = surface.gain[row, there], np.degrees(surface.phase[row, there])
        share = 2 * surface.deviation[row, there] / gain
        look: dict[str, Any] = {
            "color": _shade(row, surface.amplitude.size) if many else COLOURS[row], "linewidth": 1.1,
            "marker": "o", "markersize": 2.4, "elinewidth": 0.8,
        }  # fmt: skip
        name = f"{amplitude * factor:.3g}{' ' + shown if shown else ''}"
        low = np.minimum(share, 0.99)
        spread = np.vstack((-20 * np.log10(1 - low), 20 * np.log10(1 + share)))
        top.errorbar(f[there], 20 * np.log10(gain), spread, label=name, **look)
        bottom.errorbar(f[there], phase, np.degrees(np.minimum(share, np.pi)), **look)
    for axes in (top, bottom):
        _logarithmic(axes, f)
    dress(top, "", "gain [dB]")
    dress(bottom, "frequency [Hz]", "phase [°]")
    legend(top, min(surface.amplitude.size, 6))
    if title:
        heading(top, title, lines_below=(surface.amplitude.size - 1) // 6 + 1)
    return finish(figure, path)


def spectral_response(
    found: Spectral,
    *,
    lowest: float | None = None,
    highest: float | None = None,
    title: str = "",
    path: Path = None,
) -> Figure:
    """Draw H1 and H2, gain and phase, over the coherence that says how far to believe them.

    Parameters
    ----------
    found
        With ``frequency`` [Hz], ``h1``, ``h2`` (complex) and ``coherence``.
    lowest, highest
        Ends of the frequency axis [Hz].
    title, path
        Heading, and where to save.
    """
    f = np.asarray(found.frequency)
    inside = (f >= (lowest or 0.0)) & (f <= (highest or np.inf)) & (f > 0)
    if inside.sum() < 2:
        raise InputError(f"fewer than two lines lie between {lowest} and {highest} Hz; widen the axis")
    f = f[inside]
    figure = page(5.0)
    top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2.2, 1.5))
    looks: list[dict[str, Any]] = [
        {"color": COLOURS[0], "linewidth": 1.1},
        {"color": COLOURS[1], "linewidth": 1.0, "linestyle": (0, (4, 1.6))},
    ]
    for name, h, look in (("H1", found.h1[inside], looks[0]), ("H2", found.h2[inside], looks[1])):
        top.plot(f, 20 * np.log10(np.where(np.abs(h) > 0, np.abs(h), np.nan)), label=name, **look)
    good = found.coherence[inside] >= 0.5
    if good.any():  # the scatter of the rest would flatten what can be believed
        sure = 20 * np.log10(np.abs(found.h1[inside][good]))
        top.set_ylim(float(sure.min()) - 8.0, float(sure.max()) + 8.0)
    # H1 and H2 have one phase. Where nothing coheres it is a random number, and a line through it is noise.
    phase = np.degrees(np.unwrap(np.angle(found.h1[inside])))
    middle.plot(f, np.where(good, phase, np.nan), **looks[0])
    bottom.fill_between(f, 0.0, found.coherence[inside], color=COLOURS[0], alpha=0.18, linewidth=0)
    bottom.plot(f, found.coherence[inside], color=COLOURS[0], linewidth=1.0)
    for axes in (top, middle, bottom):
        _logarithmic(axes, f)
    dress(top, "", "gain [dB]")
    dress(middle, "", "phase [°]")
    dress(bottom, "frequency [Hz]", "coherence")
    bottom.set(ylim=(0.0, 1.03), yticks=(0.0, 0.5, 1.0))
    legend(top)
    if title:
        heading(top, title)
    return finish(figure, path)


def spectral_surface(
    found: SpectralSurface,
    unit: str = "",
    *,
    highest: float | None = None,
    title: str = "",
    path: Path = None,
    decades: float = 10.0,
) -> Figure:
    """Draw power spectral densities over excitation and response frequency (du Bois 2010, Figure 5).

    A linear system answers on the diagonal only; lines of twice and three times its slope are harmonics, a
    band across the figure is a resonance that everything excites.

    Parameters
    ----------
    found
        With ``excitation`` and ``frequency`` [Hz], and ``density`` of shape (excitations, frequencies).
    unit
        Of the response.
    highest
        End of the response's frequency axis [Hz].
    title, path
        Heading, and where to save.
    decades
        Powers of ten below the peak that are shown; quantisation lies below.
    """
    if found.excitation.size < 2:
        raise InputError("a spectral surface needs two excitation frequencies at least")
    inside = found.frequency <= (highest or np.inf)
    f, density = found.frequency[inside], found.density[:, inside]
    peak = float(density.max())
    if not peak > 0:
        raise InputError("the responses are all zero; there is no spectrum to draw")
    figure = page(3.6, 5.2)
    axes = figure.subplots()
    across, up = _edges(found.excitation), _edges(f)
    norm = LogNorm(peak * 10**-decades, peak)
    shown = np.maximum(density.T, peak * 10**-decades)
    mesh = axes.pcolormesh(across, up, shown, norm=norm, cmap="magma", rasterized=True)
    axes.set(xlim=(across[0], across[-1]), ylim=(0.0, up[-1]))
    dress(axes, "excitation frequency [Hz]", "response frequency [Hz]", ticks=6)
    axes.xaxis.set_major_locator(round_steps(7))
    axes.grid(visible=False)
    square = f"({unit})²/Hz" if unit and not unit.isalpha() else f"{unit}²/Hz" if unit else "1/Hz"
    bar = _colour_bar(figure, axes, mesh, f"power spectral density [{square}]")
    bar.ax.yaxis.set_major_locator(LogLocator(numticks=7))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    if title:
        heading(axes, title)
    return finish(figure, path)


def step_responses(
    responses: Mapping[str, StepResponse],
    *,
    references: Mapping[str, StepResponse] | None = None,
    title: str = "",
    path: Path = None,
) -> Figure:
    """Draw step responses with bands of 95 % confidence (Gawthrop 2005, Figure 12).

    Parameters
    ----------
    responses
        By label, each with ``time`` [s], ``response`` and ``deviation``.
    references
        More of them, drawn as dashed lines without a band: models, or the truth.
    title, path
        Heading, and where to save.
    """
    if not responses:
        raise InputError("no step responses to draw")
    figure = page(2.9)
    axes = figure.subplots()
    for number, (name, found) in enumerate(responses.items()):
        colour = COLOURS[number % len(COLOURS)]
        reach = 1.96 * np.asarray(found.deviation)
        axes.fill_between(
            found.time, found.response - reach, found.response + reach, color=colour, alpha=0.22, linewidth=0
        )
        axes.plot(found.time, found.response, color=colour, linewidth=1.2, label=name)
    for name, found in (references or {}).items():
        axes.plot(found.time, found.response, color=INK, linewidth=0.9, linestyle=(0, (4, 1.6)), label=name)
    axes.axhline(0.0, color=GREY, linewidth=0.6, zorder=1)
    axes.set_xlim(0.0, max(float(found.time[-1]) for found in responses.values()))
    dress(axes, "time since the step [s]", "response to a unit step")
    legend(axes)
    if title:
        heading(axes, title, lines_below=1)
    return finish(figure, path)


def _edges(centres: NDArray[np.float64], scale: str = "linear") -> NDArray[np.float64]:
    """Return the borders of cells around given centres, halfway between neighbours on the axis."""
    x = np.log(centres) if scale == "log" else centres
    inner = 0.5 * (x[1:] + x[:-1])
    borders = np.concatenate(([2 * x[0] - inner[0]], inner, [2 * x[-1] - inner[-1]]))
    return np.exp(borders) if scale == "log" else np.maximum(borders, 0.0)


def _logarithmic(axes: Axes, f: NDArray[np.float64]) -> None:
    """Make a frequency axis logarithmic where it spans enough, with numbers that can be read."""
    if f[0] <= 0 or f[-1] / f[0] < 5:
        room = 0.02 * float(f[-1] - f[0])
        axes.set_xlim(float(f[0]) - room, float(f[-1]) + room)
        return
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(10, (1.0, 2.0, 5.0) if f[-1] / f[0] < 500 else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    room = float(f[-1] / f[0]) ** 0.01
    axes.set_xlim(float(f[0]) / room, float(f[-1]) * room)


def _colour_bar(figure: Figure, axes: Axes, mesh: QuadMesh, label: str) -> Colorbar:
    bar = figure.colorbar(mesh, ax=axes, pad=0.02, aspect=28)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=STYLE.tick, color=GREY, labelcolor=INK, width=0.7, length=3)
    bar.set_label(label, fontsize=STYLE.label, color=INK)
    return bar


def _shade(row: int, count: int) -> tuple[float, float, float, float]:
    from matplotlib import colormaps

    return colormaps["viridis"](0.9 * row / max(count - 1, 1))


def measured_loops(
    records: Sequence[SpecimenRecord],
    predicted: Mapping[str, Array],
    errors: Mapping[str, float],
    *,
    path: str | os.PathLike[str] | None = None,
    most_columns: int = 4,
) -> Figure:
    """Draw the last cycle of several records: over the displacement above, over the velocity below.

    Parameters
    ----------
    records
        The measurements.
    predicted, errors
        The model's force for each, and its rms error as a part of the force's rms, by name.
    path
        Where to save.
    most_columns
        Records side by side.
    """
    if not records:
        raise InputError("no records to draw")
    columns = min(most_columns, len(records))
    rows = -(-len(records) // columns)
    figure = page(3.5 * rows, width=max(3.0, 2.2 * columns))
    axes = figure.subplots(2 * rows, columns, squeeze=False)
    for i, record in enumerate(records):
        k = record.last_cycle
        x, force, model = record.displacement, record.force[k], predicted[record.name][k]
        row = 2 * (i // columns)
        for which, values, word, unit in (
            (0, x[k], "displacement", "m"),
            (1, np.gradient(x, record.period)[k], "velocity", "m/s"),
        ):
            at = axes[row + which, i % columns]
            across, across_unit = scaled(unit, [values])
            up, up_unit = scaled("N", [force])
            at.plot(across * values, up * force, label="measured", **DESIRED)
            at.plot(across * values, up * model, label="fitted", **ACTUAL)
            first = i % columns == 0
            dress(at, labelled(word, across_unit), labelled("force", up_unit) if first else up_unit, ticks=4)
        note(axes[row, i % columns], f"{record.name}: {100 * errors[record.name]:.1f} %")
    for i in range(len(records), rows * columns):
        for which in (0, 1):
            axes[2 * (i // columns) + which, i % columns].set_axis_off()
    legend(axes[1, 0])
    return finish(figure, path)
