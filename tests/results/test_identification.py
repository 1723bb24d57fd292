"""Figures of identification data: what is drawn where, and that gaps and odd shapes do not break them."""

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.results.figures import identification as figures

F = np.geomspace(1.0, 100.0, 12)
A = np.array([1e-3, 2e-3, 1e-2])


def surface(amplitude=A, hole=True):
    s = 2j * np.pi * F
    g = 1 / (1 + s / 100)
    response = g * (1 + 10 * amplitude[:, None])
    if hole:
        response[0, 3] = np.nan
    return SimpleNamespace(
        frequency=F,
        amplitude=amplitude,
        gain=np.abs(response),
        phase=np.angle(response),
        deviation=0.01 * np.abs(response),
    )


def averaged():
    f = np.arange(500.0)
    coherence = np.where(f < 200, 0.99, 0.1)
    h = 1 / (1 + 1j * f / 30) * np.where(f < 200, 1, 1e-4)
    return SimpleNamespace(frequency=f, h1=h, h2=h / coherence, coherence=coherence)


def densities():
    f, e = np.arange(101.0), np.arange(5.0, 50.0, 5.0)
    density = np.full((e.size, f.size), 1e-20)
    for row, tone in enumerate(e):
        density[row, int(tone)] = 1e-6
        density[row, int(2 * tone)] = 1e-9
    return SimpleNamespace(excitation=e, frequency=f, density=density)


def stepped(rate=20.0):
    t = np.arange(200) * 1e-3
    return SimpleNamespace(time=t, response=1 - np.exp(-rate * t), deviation=np.full(200, 0.01))


DRAWN = {
    "surface": lambda path: figures.response_surface(surface(), "m", title="a $ b", path=path),
    "curves": lambda path: figures.response_curves(surface(), "m", title="a $ b", path=path),
    "averaged": lambda path: figures.spectral_response(averaged(), title="a $ b", path=path),
    "densities": lambda path: figures.spectral_surface(densities(), "m", title="a $ b", path=path),
    "steps": lambda path: figures.step_responses({"a": stepped()}, references={"b": stepped(30)}, path=path),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_every_figure_saves_and_touches_no_setting(tmp_path, kind):
    before = dict(mpl.rcParams)
    DRAWN[kind](tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert dict(mpl.rcParams) == before


def test_surface_is_in_decibels_and_degrees():
    figure = DRAWN["surface"](None)
    gain, phase = (axes for axes in figure.axes if axes.get_xlabel() == "frequency [Hz]")
    assert gain.get_ylabel() == "input amplitude [mm]"
    drawn = gain.collections[0].get_array()
    assert np.ma.count_masked(drawn) == 1  # the point that was not measured
    assert drawn.max() == pytest.approx(20 * np.log10(np.nanmax(surface().gain)))
    assert phase.collections[0].get_array().min() == pytest.approx(-np.degrees(np.arctan(2 * np.pi)))
    low, high = gain.get_ylim()
    assert low < 1  # 1 to 10 mm, whole cells
    assert high > 10


def test_curves_have_a_line_for_each_amplitude():
    figure = DRAWN["curves"](None)
    top, bottom = figure.axes
    assert [text.get_text() for text in top.get_legend().get_texts()] == ["1 mm", "2 mm", "10 mm"]
    assert (top.get_ylabel(), bottom.get_ylabel()) == ("gain [dB]", "phase [°]")
    bars = top.containers[1]
    assert bars.lines[0].get_ydata()[0] == pytest.approx(20 * np.log10(surface().gain[1, 0]))
    low, high = bars.lines[2][0].get_segments()[0][:, 1]
    assert high - low == pytest.approx(20 * np.log10(1.02 / 0.98))  # two standard deviations of 1 %
    assert len(figures.response_curves(surface(np.linspace(1e-3, 1e-2, 12))).axes[0].containers) == 12


def test_incoherent_lines_have_no_phase_and_set_no_limits():
    top, middle, bottom = DRAWN["averaged"](None).axes
    phase = middle.get_lines()[0].get_ydata()
    assert np.isfinite(phase[:199]).all()
    assert np.isnan(phase[199:]).all()
    assert top.get_ylim()[0] > -40  # the incoherent lines lie at -100 dB
    assert bottom.get_ylim()[1] == pytest.approx(1.03)
    assert top.get_xscale() == "log"
    narrow = figures.spectral_response(averaged(), lowest=50, highest=100).axes[0]
    assert narrow.get_xscale() == "linear"
    with pytest.raises(InputError, match="widen the axis"):
        figures.spectral_response(averaged(), lowest=1e4)


def test_spectral_surface_shows_ten_decades():
    figure = figures.spectral_surface(densities(), "m", highest=60)
    axes = figure.axes[0]
    mesh = axes.collections[0]
    assert mesh.norm.vmax == 1e-6
    assert mesh.norm.vmin == pytest.approx(1e-16)
    assert mesh.get_array().shape == (61, 9)
    assert figure.axes[1].get_ylabel() == "power spectral density [m²/Hz]"
    assert axes.get_xlim() == (2.5, 47.5)


def test_step_band_is_95_percent():
    axes = DRAWN["steps"](None).axes[0]
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(stepped().response[-1] + 0.0196)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.response_surface(surface(A[:1], hole=False)), "draw response_curves instead"),
        (lambda: figures.step_responses({}), "no step responses"),
        (
            lambda: figures.spectral_surface(
                SimpleNamespace(excitation=np.ones(1), frequency=F, density=np.ones((1, F.size)))
            ),
            "two excitation frequencies",
        ),
        (
            lambda: figures.spectral_surface(
                SimpleNamespace(excitation=np.arange(1.0, 3), frequency=F, density=np.zeros((2, F.size)))
            ),
            "all zero",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()
