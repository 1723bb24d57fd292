"""Drift of an identified model: known false alarms, and changes that are told soon."""

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.identify.drift import model_drift
from bondloop.transfer.process import second_order

T = 1 / 512
MODEL = second_order(0.98, 12.0, 0.7, 0.008)


def motion(seconds):
    t = np.arange(round(seconds / T)) * T
    return t, 5e-3 * np.sin(2 * np.pi * 1.1 * t) + 3e-3 * np.sin(2 * np.pi * 2.7 * t + 1)


def test_as_many_false_alarms_as_designed():
    """Nothing tolerated, 360 an hour: of 1198 windows of 0.5 s 60 warn, 37 to 83 within three deviations."""
    t, u = motion(600)
    y = MODEL.simulate(u, T) + 16e-6 * np.random.default_rng(0).normal(size=t.size)
    drift = model_drift(u, y, T, MODEL, window=0.5, tolerated_delay=0, tolerated_gain=0, false_alarms=360)
    assert 37 <= drift.warning.sum() <= 83
    quiet = model_drift(u, y, T, MODEL)
    assert quiet.first_warning is None
    assert "The model holds" in str(quiet)


@pytest.mark.parametrize(
    ("changed", "delay", "gain"),
    [(second_order(0.98, 12.0, 0.7, 0.010), 2e-3, 0.0), (second_order(1.029, 12.0, 0.7, 0.008), 0.0, 0.05)],
)
def test_a_change_is_told_within_two_seconds(changed, delay, gain):
    """2 ms of delay or 5 % of gain, from 20 s on."""
    t, u = motion(30)
    y = np.where(t < 20, MODEL.simulate(u, T), changed.simulate(u, T))
    drift = model_drift(u, y + 16e-6 * np.random.default_rng(1).normal(size=t.size), T, MODEL)
    assert 20 < drift.first_warning <= 22
    assert drift.delay_change[-1] == pytest.approx(delay, abs=5e-5)
    assert drift.gain_change[-1] == pytest.approx(gain, abs=1e-3)


def test_at_rest_nothing_is_said():
    t, u = motion(20)
    u = np.where(t < 5, u, u[t < 5][-1])
    y = MODEL.simulate(u, T) + 16e-6 * np.random.default_rng(2).normal(size=t.size)
    drift = model_drift(u, y, T, MODEL)
    assert drift.first_warning is None
    assert drift.delay_deviation[-1] > 1e3 * drift.delay_deviation[0]


def test_records_that_are_too_short_are_refused():
    u = motion(1.0)[1]
    with pytest.raises(InputError, match="too short"):
        model_drift(u, MODEL.simulate(u, T), T, MODEL, window=2.0)
    with pytest.raises(InputError, match="20 samples"):
        model_drift(u, MODEL.simulate(u, T), T, MODEL, window=0.01)
