"""Adaptive forward prediction: gain and delay found from the synchronisation error."""

import numpy as np
import pytest

from bondloop.control import AdaptivePrediction, PolynomialPrediction
from bondloop.errors import InputError
from bondloop.transfer import Process, first_order

PERIOD = 0.001
T = np.arange(15000) * PERIOD


def settled(loop, compensator, process, frequency, amplitude=0.005):
    x = amplitude * np.sin(2 * np.pi * frequency * T)
    result = loop(compensator, process, x)
    error = result["motion"][-3000:] - x[-3000:]
    return result, np.abs(error).max() / amplitude


@pytest.mark.parametrize("frequency", [2.0, 5.0, 9.3])
def test_gain_and_delay_become_those_of_the_process(frequency, loop):
    """A sine is followed exactly when gain and delay are the process's own at its frequency."""
    process = Process((0.9,), (0.002, 1.0), 0.008)
    result, error = settled(loop, AdaptivePrediction(0.0), process, frequency)
    assert error < 1e-3
    w = 2 * np.pi * frequency
    delay, gain = result["controller.delay"][-1], result["controller.gain"][-1]
    a, z = np.exp(-PERIOD / 0.002), np.exp(1j * w * PERIOD)
    held = 0.9 * (1 - a) / (z - a) * z**-8  # the process behind its hold, sampled
    # In closed form: command by the polynomial with what was found, times the held process, is the demand.
    found = PolynomialPrediction(delay, order=4, span=0.015, points=16)
    command = gain * found.response(frequency, PERIOD) * np.exp(1j * w * delay)
    assert complex(command * held) == pytest.approx(1, abs=1e-5)
    lag = -np.angle(held) / w
    assert delay == pytest.approx(lag, rel=0.02)
    assert gain == pytest.approx(1 / abs(process.response(frequency)), rel=0.02)


def test_without_steps_it_is_polynomial_prediction(alone):
    x = np.random.default_rng(0).normal(size=400)
    fixed = PolynomialPrediction(0.004, order=4, span=0.015, points=16)
    adaptive = AdaptivePrediction(0.004, delay_step=0, gain_step=0)
    expected = alone(fixed, x)["command"]
    assert alone(adaptive, x, motion=x)["command"] == pytest.approx(expected, abs=1e-9)


def test_it_follows_a_process_that_grows_slower(loop):
    """A delay found for one process is unlearnt for a quicker one: both ways work."""
    _, error = settled(loop, AdaptivePrediction(0.03), first_order(1.0, 0.005), 3.0)
    assert error < 1e-3


def test_small_motions_change_nothing(loop):
    result, _ = settled(loop, AdaptivePrediction(0.004), first_order(0.9, 0.01), 3.0, amplitude=4e-5)
    assert np.ptp(result["controller.delay"]) == 0
    assert np.ptp(result["controller.gain"]) == 0


def test_a_mean_position_and_an_offset_of_the_sensor_do_not_matter(loop):
    process = Process((0.9,), (0.002, 1.0), 0.008)
    x = 0.006 + 0.005 * np.sin(2 * np.pi * 3 * T)
    plain = loop(AdaptivePrediction(0.0), process, x - 0.006)
    away = loop(AdaptivePrediction(0.0), process, x, noise=np.full(len(x), 0.002))
    for name in ("controller.delay", "controller.gain"):
        assert away[name][-1] == pytest.approx(plain[name][-1], rel=1e-4)


def test_bounds_hold_where_they_are_in_the_way(loop):
    narrow = AdaptivePrediction(0.0, largest_delay=0.004, largest_gain=1.05, least_gain=0.95)
    result, _ = settled(loop, narrow, Process((0.8,), (0.002, 1.0), 0.01), 3.0)
    assert result["controller.delay"].max() == 0.004
    assert result["controller.gain"].max() == 1.05


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"delay": 0.1}, "longer than the largest"),
        ({"delay": 0.0, "gain": 3}, "is not between 0.5 and 2"),
        ({"delay": 0.0, "points": 3}, "needs at least 5 points"),
    ],
)
def test_impossible_settings_are_refused(options, reason):
    with pytest.raises(InputError, match=reason):
        AdaptivePrediction(**options)
