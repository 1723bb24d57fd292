"""The table of measures of a record."""

import json

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.results import Record, metrics

T = np.arange(4000) * 1e-3
W = 2 * np.pi * 5


def record(unit="m", tail=0):
    x = 0.01 * np.sin(W * T)
    y = 0.01 * np.sin(W * (T - 0.004))
    if tail:
        y[-tail:] = np.inf
    return Record(T, {"z": x, "x": y, "F": 1000 * y}, {"z": unit, "x": unit, "F": "N"})


def test_values_units_and_json():
    found = metrics(record(), desired="z", actual="x", force="F")
    assert found["normalised_rms_error"] == pytest.approx(2 * np.sin(W * 0.004 / 2), rel=1e-9)
    assert found["delay"] == pytest.approx(0.004, abs=1e-5)
    # 20 periods of π k X² sin φ, less the last sample; see test_measures
    assert found["energy_error"] == pytest.approx(20 * np.pi * 1000 * 1e-4 * np.sin(W * 0.004), rel=1e-2)
    assert (found.units["delay"], found.units["maximum_error"], found.units["energy_error"]) == (
        "s",
        "m",
        "J",
    )
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["values"]["delay"] == found["delay"]
    assert "normalised rms error" in str(found)
    assert found.to_dict()["units"]["tracking_indicator"] == "m^2"


def test_velocities_are_known_by_their_unit():
    by_unit = metrics(record("m/s"), desired="z", actual="x", force="F")
    told = metrics(record("m"), desired="z", actual="x", force="F", motion="velocity")
    assert by_unit["energy_error"] == told["energy_error"]
    assert by_unit["energy_error"] != metrics(record("m"), desired="z", actual="x", force="F")["energy_error"]


def test_a_diverged_run_is_measured_up_to_the_break_and_says_so():
    found = metrics(record(tail=1000), desired="z", actual="x")
    assert found["normalised_rms_error"] == pytest.approx(2 * np.sin(W * 0.004 / 2), rel=1e-9)
    assert "measured up to t = 2.999 s" in found.notes[0]
    assert found.notes[0] in str(found)


def test_constant_signals_print_and_serialise():
    still = Record(T, {"z": np.zeros(T.size), "x": np.zeros(T.size)})
    found = metrics(still, desired="z", actual="x")
    assert found.to_dict()["values"]["delay"] is None
    assert "undefined" in str(found)


def test_what_cannot_be_compared():
    with pytest.raises(InputError, match="unknown channel 'q'"):
        metrics(record(), desired="q", actual="x")
    mixed = Record(T, {"z": T, "x": T}, {"z": "m", "x": "mm"})
    with pytest.raises(InputError, match="'z' is in m and 'x' in mm"):
        metrics(mixed, desired="z", actual="x")
    with pytest.raises(InputError, match="unknown measure 'nrmse'"):
        _ = metrics(record(), desired="z", actual="x")["nrmse"]


def test_a_run_that_grew_out_of_all_bounds_is_measured_without_overflow():
    x = np.exp(150 * T)  # 1e260 at the end
    found = metrics(Record(T, {"z": x, "x": 1.1 * x}), desired="z", actual="x")
    assert found["normalised_rms_error"] == pytest.approx(0.1)
    assert "measured up to" in found.notes[0]
