"""Figures of identified models: what is drawn is the data and the models."""

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.results.figures.identification import bode, process_models
from bondloop.transfer.process import first_order, second_order

F = np.linspace(1.0, 60.0, 30)


def test_bode_lines_are_the_models_in_decibels_and_degrees():
    """A delay of 50 ms turns the phase by 3 turns at 60 Hz; the measured phase stays on the model's."""
    G = second_order(1.0, 20.0, 0.5, delay=0.05)
    gain, phase = bode(F, G.response(F), {"G2D": G, "G1": first_order(1.0, 0.01)}).axes
    lines = {line.get_label(): line for line in gain.lines}
    x, y = lines["G1"].get_data()
    assert y == pytest.approx(-10 * np.log10(1 + (2 * np.pi * x * 0.01) ** 2), abs=1e-9)
    dots = next(line for line in phase.lines if line.get_linestyle() == "None")
    exact = np.degrees(np.angle(second_order(1.0, 20.0, 0.5).response(F))) - 360 * 0.05 * F
    assert dots.get_ydata() == pytest.approx(exact, abs=1e-6)
    with pytest.raises(InputError, match="one response for each frequency"):
        bode(F, [1.0], {"G2D": G})


def test_a_page_of_models_overlays_the_output_and_leaves_lag_zero_off_the_scale(tmp_path):
    G, t = second_order(1.0, 20.0, 0.5), np.arange(200) * 1e-3
    own, path = np.concatenate([[1.0], np.full(20, 0.05)]), tmp_path / "r.png"
    outputs = 0.01 * np.sin(50 * t), {"G2": 0.009 * np.sin(50 * t)}
    correlations = own, np.zeros(21), 0.1
    page = process_models(F, G.response(F), {"G2": G}, t, *outputs, correlations, unit="m", path=path)
    overlay, left, right = page.axes[2:]
    assert overlay.get_ylabel() == "displacement [mm]"
    assert overlay.lines[1].get_ydata() == pytest.approx(9 * np.sin(50 * t), abs=1e-9)
    assert left.get_ylim()[1] == pytest.approx(0.25)
    assert right.get_xlabel() == "lag [samples]"
    assert path.read_bytes().startswith(b"\x89PNG")
