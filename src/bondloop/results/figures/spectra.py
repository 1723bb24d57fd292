"""Figures over frequency: amplitude spectra of a motion and its error, and what predictors do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import LogLocator

from bondloop.engine.data import POSITIVE, si_array
from bondloop.errors import InputError
from bondloop.results.assess.tracking import same_length
from bondloop.results.figures.layout import (
    ACTUAL,
    COLOURS,
    DASHES,
    DESIRED,
    ERROR,
    GREY,
    RULE,
    drawable,
    dress,
    envelope,
    finish,
    labelled,
    legend,
    page,
    plain,
    quantity_of,
    round_steps,
    scaled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

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


def amplitude_spectrum(
    values: NDArray[np.float64], sample_period: float | str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return frequencies [Hz] and amplitudes in the signal's unit, mean removed, with a Hann window.

    A sine of amplitude a whose frequency falls on a line has the amplitude a there: 2 abs(Σ w x e^{-jωt}) /
    Σ w.

    Examples
    --------
    >>> t = np.arange(1000) * 1e-3
    >>> f, a = amplitude_spectrum(3 * np.sin(2 * np.pi * 20 * t), 1e-3)
    >>> float(f[a.argmax()]), round(float(a.max()), 6)
    (20.0, 3.0)
    """
    window = np.hanning(values.size + 1)[:-1]
    spectrum = np.fft.rfft((values - values.mean()) * window) * (2.0 / window.sum())
    step = 1.0 / (values.size * POSITIVE.check(sample_period, "sample_period", "s"))
    return np.arange(spectrum.size, dtype=np.float64) * step, np.abs(spectrum)


def draw_spectrum(
    axes: Axes,
    desired: NDArray[np.float64],
    actual: NDArray[np.float64],
    sample_period: float | str,
    unit: str,
    highest: float | str | None = None,
) -> None:
    """Draw the three spectra into axes."""
    x, y = same_length(desired=desired, actual=actual)
    sound = np.isfinite(drawable(x)) & np.isfinite(drawable(y))
    count = sound.size if sound.all() else int(np.argmin(sound))
    if count < 8:
        raise InputError(f"a spectrum needs at least 8 finite samples; found {count}")
    signals = {"desired": x[:count], "actual": y[:count], "error": y[:count] - x[:count]}
    looks = {"desired": DESIRED, "actual": ACTUAL, "error": ERROR}
    lines = {name: amplitude_spectrum(signal, sample_period) for name, signal in signals.items()}
    factor, shown = scaled(unit, [amplitude for _, amplitude in lines.values()])
    peak = max(float(amplitude.max()) for _, amplitude in lines.values()) * factor or 1.0
    frequency = lines["desired"][0]
    band = _band(frequency, [amplitude for _, amplitude in lines.values()])
    end = band if not highest else POSITIVE.check(highest, "highest", "Hz")
    inside = frequency <= end
    # Lines below 1e-4 of the greatest are off the page: rounding and leakage live there. An error far below
    # the motion is still to be seen, down to what rounding leaves of it.
    error = float(lines["error"][1][inside].max()) * factor
    floor = min(1e-4 * peak, max(0.03 * error, 1e-15 * peak))
    axes.set_yscale("log")
    for name, (_, amplitude) in lines.items():
        f, a = envelope(frequency[inside], np.maximum(amplitude[inside] * factor, 1e-3 * floor))
        axes.plot(f, a, label=name, **looks[name])
    axes.set(xlim=(0.0, end), ylim=(floor, 2.0 * peak))
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    what = quantity_of(unit)
    dress(axes, "frequency [Hz]", labelled(f"{what} amplitude".strip(), shown))
    axes.xaxis.set_major_locator(round_steps(8))
    legend(axes)


def _band(frequency: NDArray[np.float64], spectra: list[NDArray[np.float64]]) -> float:
    """Return a little more than the highest frequency whose line stands above the floor and the noise."""
    # White noise has Rayleigh amplitudes: of a million lines none stands 8 medians high.
    level = max(max(1e-3 * float(spectrum.max()), 8 * float(np.median(spectrum))) for spectrum in spectra)
    above = [int(np.flatnonzero(amplitude > level)[-1]) for amplitude in spectra if (amplitude > level).any()]
    if not above:
        return float(frequency[-1])
    return float(min(max(1.5 * frequency[max(above)], frequency[min(10, frequency.size - 1)]), frequency[-1]))
