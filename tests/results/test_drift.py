"""Mean and drift are taken out of a motion, and nothing else is."""

import numpy as np
import pytest

from bondloop.results import normalised_rms_error
from bondloop.results.assess.tracking import vibration, vibration_frequency

DT = 1e-3
T = np.arange(20_000) * DT


def baseline(rng, kind, size):
    """Displacements of the wanted peak size that errors of an acceleration leave after two integrations."""
    acceleration = {
        "offset": np.ones_like(T),
        "jump": np.where(np.abs(T - rng.uniform(6, 12)) < rng.uniform(2, 5), 1.0, 0.0),
        "slow": np.cos(2 * np.pi * T / rng.uniform(20, 60)),
        "constant": np.zeros_like(T),
    }[kind]
    drift = np.cumsum(np.cumsum(acceleration)) + (kind == "constant")
    return size * drift / np.abs(drift).max()


def left_of(drift, cut_off):
    """The most that the cosine lines above a cut-off may hold of a drift d without its parabola: rms.

    By parts, with |∫ d'' cos| ≤ L V(d'')/(k π) and V the total variation, a line over L seconds is at most
    |c_k| ≤ 2 L/(π k)² (|d'(0)| + |d'(L)| + L V(d'')/(k π)); the squares of 1/k² from K on are at most
    1/K⁴ + 1/(3 K³).
    """
    d = drift - np.polynomial.Polynomial.fit(T, drift, 2)(T)
    slope = np.gradient(d, DT)
    variation = np.abs(np.diff(np.gradient(slope, DT))).sum()
    length, first = T[-1] + DT, np.ceil(2 * cut_off * (T[-1] + DT))
    ends = abs(slope[0]) + abs(slope[-1]) + length * variation / (np.pi * first)
    return 2 * length / np.pi**2 * ends * np.sqrt((first**-4 + first**-3 / 3) / 2)


@pytest.mark.parametrize("kind", ["offset", "jump", "slow", "constant"])
@pytest.mark.parametrize("seed", range(4))
def test_the_error_of_the_vibration_is_found_beneath_any_drift(kind, seed):
    rng = np.random.default_rng(seed)
    frequency, size, gain = rng.uniform(1, 15), 10 ** rng.uniform(0, 2), rng.uniform(0.3, 0.9)
    sine = np.sin(2 * np.pi * frequency * T + rng.uniform(0, 6))
    drift = baseline(rng, kind, size)
    found = vibration(DT, sine + drift, gain * sine + drift)
    error = normalised_rms_error(*found.signals) / (1 - gain)
    left = left_of(drift, found.cut_off) / np.sqrt(0.5)  # beside the sine, whose error is divided by both
    assert 0.9 / (1 + left) <= error <= 1.1 / max(1 - left, 0.01)
    assert vibration_frequency(sine + drift, DT) == pytest.approx(frequency, rel=0.2)


def test_a_motion_without_drift_is_left_as_it_is():
    x = np.sin(2 * np.pi * 3 * T) + 0.5 * np.sin(2 * np.pi * 1.1 * T)
    found = vibration(DT, x)
    assert found.drift < 0.1
    assert normalised_rms_error(x, found.signals[0]) < 0.1


@pytest.mark.parametrize(
    "motion",
    [
        np.zeros(100),
        np.full(100, 3.0),
        np.arange(100.0),
        np.sin(np.linspace(0, 6, 100)),
        np.full(100, np.nan),
        np.ones(1),
        np.ones(2),
    ],
    ids=["rest", "offset", "ramp", "one period", "nan", "one sample", "two samples"],
)
def test_what_does_not_vibrate_has_no_vibration(motion):
    assert vibration(DT, motion, motion) is None


def test_noise_alone_is_no_trouble():
    noise = np.random.default_rng(0).normal(size=5000)
    assert vibration(DT, noise, 0 * noise) is None
    found = vibration(DT, np.sin(2 * np.pi * 2 * T[:5000]) + 0.05 * noise)
    assert found.cut_off == pytest.approx(0.2, rel=0.2)


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_the_noise_of_a_long_record_is_no_vibration(first):
    """However many lines it has, of which any might be the greatest: a share of 1e-6 of such records."""
    t = np.arange(60_000) * 250e-6
    for seed in range(first, first + 20):
        rng = np.random.default_rng(seed)
        x = np.sin(2 * np.pi * 5 * t + rng.uniform(0, 6)) + 0.1 * rng.normal(size=t.size)
        assert vibration_frequency(x, 250e-6) == pytest.approx(5, rel=0.01), seed
        assert np.isnan(vibration_frequency(rng.normal(size=t.size), 250e-6)), seed


def test_velocities_that_jump_are_judged_by_their_swing():
    """A mass between stops: 2 Hz, with a jump of its velocity in every period, which is no vibration."""
    swing = np.cos(2 * np.pi * 2 * T)
    jumps = np.where(np.mod(2 * T, 1.0) < 0.02, -1.5, 0.0) * np.exp(-np.mod(2 * T, 1.0) / 0.005)
    assert vibration_frequency(swing + jumps, DT, rates=1) < 8.0 < vibration_frequency(swing + jumps, DT)
    moving = vibration(DT, swing + jumps, 0.9 * swing + jumps, rates=1)
    whole = normalised_rms_error(swing + jumps, 0.9 * swing + jumps)
    assert normalised_rms_error(*moving.signals) == pytest.approx(whole, rel=0.05)
