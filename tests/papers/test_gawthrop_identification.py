"""Section 5.1 of Gawthrop 2005 from end to end: position loop, step responses, table I, and the mass."""

import gawthrop_figures
import gawthrop_rig as section
import numpy as np
import pytest

from bondloop.papers import gawthrop_two_actuators as two


@pytest.fixture(scope="module")
def example():
    return gawthrop_figures


@pytest.fixture(scope="module")
def drives(example):
    return example.drives()


def test_table_i_comes_back(drives):
    """Out of a noisy record, the LVDT's converter and the sampled loop between."""
    for found, values in zip(drives.linear, two.TABLE_I, strict=True):
        assert (found.damping, found.stiffness) == pytest.approx(values, rel=3e-3)
        assert found.fit.fit["spring.displacement"] > 99.5


def test_step_responses_rise_faster_with_the_gain(drives):
    """Figure 12 (a), and the overshoot e^(-pi z/sqrt(1 - z^2)) of m s^2 + (c + (1 - g) k h/2) s + g k."""
    for drive, (c, k) in zip(drives.linear, two.TABLE_I, strict=True):
        rises = [drive.steps[g].rise_time for g in section.GAINS]
        assert rises == sorted(rises, reverse=True)
        for g in section.GAINS:
            z = (c + (1 - g) * k * 5e-4) / (2 * np.sqrt(two.MASS * g * k))
            assert drive.steps[g].overshoot == pytest.approx(np.exp(-np.pi * z / np.sqrt(1 - z**2)), abs=0.01)


def test_the_numbers_of_the_page(example, drives):
    n = example.numbers(drives)
    expected = {
        "c_t1, Table I 150.8 [N s/m]": 150.6,
        "k_t1, Table I 13618 [N/m]": 13642,
        "c_t2, Table I 200.8 [N s/m]": 200.3,
        "k_t2, Table I 25902 [N/m]": 25924,
        "rise time, drive 1, g = 0.6 [ms]": 29.3,
        "rise time, drive 1, g = 0.8 [ms]": 23.0,
        "rise time, drive 1, g = 1 [ms]": 19.3,
        "overshoot, drive 1, g = 0.6 [%]": 11.2,
        "overshoot, drive 1, g = 0.8 [%]": 17.1,
        "overshoot, drive 1, g = 1 [%]": 22.0,
        "fit of the model with 5 N of friction in drive 1 [%]": 86.0,
        "error 1, 1.25 times the mass [%]": 8.9,
        "error 2, 1.25 times the mass [%]": 5.1,
        "times the mass at which the loop becomes unstable": 1.44,
        "error 1, the model of actuator 1 for both [%]": 2.97,
        "error 2, the model of actuator 1 for both [%]": 12.4,
        "actuator 1 follows to 5 % up to [Hz]": 6.92,
        "actuator 2 follows to 5 % up to [Hz]": 7.12,
        "least bandwidth of the observer [Hz]": 72.7,
        "growth with an observer of 40 Hz [1/s]": 5.34,
        "by how much the actuators may differ, with load cells [%]": 7.46,
        "by how much the actuators may differ, without load cells [%]": 1.79,
        "error 1, without load cells, noise of the LVDTs [%]": 2.95,
        "error 2, without load cells, noise of the LVDTs [%]": 2.35,
        "error 1, without load cells [%]": 2.81,
        "error 2, without load cells [%]": 2.20,
        "departure from proportion with 5 N of friction, open loop [%]": 15.5,
        "departure from proportion with 5 N of friction, closed loop [%]": 14.7,
        "error 1, models wrong by +30 % and -20 %, virtual-junction [%]": 26.8,
        "error 2, models wrong by +30 % and -20 %, virtual-junction [%]": 16.7,
        "error 1, models wrong by +30 % and -20 %, adaptive [%]": 2.72,
        "error 2, models wrong by +30 % and -20 %, adaptive [%]": 2.16,
        "error 1, models wrong by +30 % and -20 %, adaptive-sensitivities [%]": 2.83,
        "error 2, models wrong by +30 % and -20 %, adaptive-sensitivities [%]": 2.09,
    }
    assert {name: n[name] for name in expected} == pytest.approx(expected, rel=0.01)


def test_an_unloaded_record_does_not_tell_the_mass(example):
    """Drives that differ in all three by one factor give the same record, and the fit says so."""
    demand = section.set_points(seconds=1.0)
    heavy, light = (section.measure(section.table_drive(1, m), 1.0, demand, 1.0) for m in (2.2, 2.75))
    assert heavy["displacement"] == pytest.approx(light["displacement"], abs=2e-6)  # a bit of the converter
    assert any("mass.mass and spring.stiffness can hardly be told apart" in w for w in example.free_mass())


def test_the_figures_are_drawn(example, drives, tmp_path):
    files = example.draw(drives, tmp_path)
    assert [path.name for path in files] == [
        *(f"gawthrop_figure_{n}.svg" for n in ("1", "2a", "2b", "3")), "gawthrop_figure_12.png",
    ]  # fmt: skip
    assert all(path.stat().st_size > 5000 for path in files)
    strokes = "half strokes: bicausal"
    assert [strokes in path.read_text() for path in files[:4]] == [False, True, False, True]
