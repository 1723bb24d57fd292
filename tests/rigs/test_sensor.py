"""Sensors: chains with a unit, and the ready-made ones against their data sheets."""

import json

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.rigs import Bias, Quantisation, WhiteNoise
from bondloop.rigs.sensor import LVDT, LoadCell, Sensor


def test_an_ideal_sensor_reads_what_is(execute):
    x = np.linspace(-1, 1, 9)
    np.testing.assert_array_equal(execute(Sensor(unit="m"), x), x)


@pytest.mark.parametrize(
    ("sensor", "full", "linearity", "noise"),
    [(LVDT(), 0.05, 0.0011, 1e-4), (LoadCell(), 500.0, 0.0015, 2e-4)],
    ids=["LVDT", "LoadCell"],
)
def test_errors_stay_within_the_data_sheet(execute, sensor, full, linearity, noise):
    # Linearity: Gawthrop 2005, section 5 (±0.11 % and ±0.15 %); noise: the documented assumption, four
    # deviations and a half for 4001 draws; converter: half a step of 16 bits over ±full.
    x = np.linspace(-0.999, 0.999, 4001) * full
    error = execute(sensor, x, seed=3) - x
    assert np.abs(error).max() < full * (linearity + 4.5 * noise + 2**-16)
    assert np.abs(error).max() > full * linearity
    # Smoothed over 201 samples the noise is down to noise/√201, and the bow shows with its stated height.
    smooth = np.convolve(error, np.ones(201) / 201, mode="valid")
    assert np.abs(smooth).max() == pytest.approx(full * linearity, rel=0.05)


def test_options(execute):
    cell = LoadCell("2 kN", noise="1 N", bits=24, linearity=0, bandwidth="200 Hz")
    assert [type(p).__name__ for p in cell.imperfections] == [
        "Nonlinearity",
        "LowPass",
        "WhiteNoise",
        "Quantisation",
    ]
    assert cell.streams == 1
    x = execute(cell, np.zeros(3000), period=1e-3, seed=1)
    assert x.std() == pytest.approx(1, rel=4 / np.sqrt(2 * 3000))


def test_descriptions():
    for sensor in (LVDT(), LoadCell(bandwidth=100), Sensor((Bias(1), WhiteNoise(2)), "N"), Sensor()):
        assert Sensor.from_description(json.loads(json.dumps(sensor.describe()))) == sensor
    with pytest.raises(InputError, match="expected a description of Sensor"):
        Sensor.from_description(Bias(1).describe())


def test_bad_input():
    with pytest.raises(InputError, match="expected imperfections"):
        Sensor((1.0,))
    with pytest.raises(InputError, match="expected a text"):
        Sensor((Quantisation(8, 1),), unit=3)
    with pytest.raises(InputError, match="above 0"):
        LVDT(range=-1)
    with pytest.raises(InputError, match="range: expected a number"):
        LoadCell(range=None)
