"""Step responses by frequency-sampling filters, against the exact ones of known systems."""

import numpy as np
import pytest
import scipy.signal as sg

from bondloop.errors import InputError
from bondloop.identify import step_response

H = 1e-3
# Gawthrop 2005, Figure 11: a mass of 2.2 kg behind a spring, X/X_d = k/(m s² + c s + k).
MASS, DAMPING, STIFFNESS = 2.2, 60.0, 6000.0


def held(numerator, denominator, u):
    """Return the exact output for an input held over each sample."""
    b, a, _ = sg.cont2discrete((numerator, denominator), H, "zoh")
    return sg.lfilter(b.ravel(), a, u)


def rig(u):
    return held([STIFFNESS], [MASS, DAMPING, STIFFNESS], u)


def binary(seed, count=200, hold=25):
    return np.repeat(np.random.default_rng(seed).choice([-1.0, 1.0], count), hold)


def test_second_order_from_a_binary_sequence():
    u = binary(0)
    found = step_response(u, 0.4 + rig(u), H, settling=0.5)
    exact = rig(np.ones(500))
    # 81 filters reach 80 Hz, where the system's gain is 1 %: the corner at t = 0 is rounded by less.
    np.testing.assert_allclose(found.response, exact, atol=4e-3)
    z = DAMPING / (2 * np.sqrt(MASS * STIFFNESS))
    assert found.overshoot == pytest.approx(np.exp(-np.pi * z / np.sqrt(1 - z**2)), abs=0.01)
    assert found.gain == pytest.approx(1, abs=1e-3)
    assert found.warnings == ()


def test_more_filters_err_less():
    u = binary(1)
    exact = rig(np.ones(500))
    errors = [
        np.abs(step_response(u, rig(u), H, settling=0.5, filters=n).response - exact).max()
        for n in (21, 41, 81)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 4e-3


def test_a_system_of_few_frequencies_is_exact():
    # An impulse response made of the filters themselves is recovered to rounding.
    N, k = 50, np.arange(50)
    impulse = (1 + np.cos(2 * np.pi * k / N) + 0.5 * np.sin(4 * np.pi * k / N)) / N
    u = np.random.default_rng(2).normal(size=2000)
    found = step_response(u, sg.lfilter(impulse, [1.0], u), H, settling=N * H)
    assert found.filters == 5
    np.testing.assert_allclose(found.response, np.cumsum(impulse), atol=1e-9)


def test_one_step_from_rest():
    u = np.concatenate((np.full(100, 2.0), np.full(900, 5.0)))
    y = 7 + 3 * rig(np.concatenate((np.zeros(100), np.ones(900))))
    found = step_response(u, y, H, settling=0.5, at_rest=True)
    np.testing.assert_allclose(found.response, rig(np.ones(500)), atol=0.012)


@pytest.mark.parametrize("pole", [0.0, 0.9])  # white noise, and noise of a time constant of 10 samples
def test_intervals_cover_the_truth(pole):
    impulse = np.exp(-np.arange(100) / 14) * (1 - np.cos(2 * np.pi * np.arange(100) / 100))
    exact = np.cumsum(impulse)
    inside = []
    for seed in range(50):
        u = binary(seed, 150, 10)
        e = np.random.default_rng(1000 + seed).normal(size=u.size + 200)
        y = sg.lfilter(impulse, [1.0], u) + sg.lfilter([np.sqrt(1 - pole**2)], [1.0, -pole], e)[200:]
        low, high = step_response(u, y, H, settling=0.1, filters=31).interval(0.95)
        inside.append(np.mean((low <= exact) & (exact <= high)))
    assert 0.91 < np.mean(inside) < 0.98


def test_noise_model_is_found():
    u = binary(3)
    e = sg.lfilter([1.0], [1.0, -0.9], np.random.default_rng(4).normal(size=u.size))
    assert step_response(u, rig(u) + 0.02 * e, H, settling=0.5).noise_order == 1
    white = np.random.default_rng(5).normal(size=u.size)
    found = step_response(u, rig(u) + 0.05 * white, H, settling=0.5)
    assert found.noise_order == 0
    assert found.noise == pytest.approx(0.05, rel=0.05)


def test_settling_time_is_found():
    u = np.random.default_rng(6).normal(size=8000)
    found = step_response(u, rig(u), H)
    assert 0.2 < found.time[-1] < 1.1  # the envelope e^{-13.6 t} is 2 % at 0.29 s
    assert found.gain == pytest.approx(1, abs=0.01)
    assert found.settling_time(0.05) == pytest.approx(0.2, abs=0.08)


def test_first_order_rise_time():
    u = binary(7, hold=40)
    found = step_response(u, held([3.0], [0.03, 1.0], u), H, settling=0.3)
    assert found.gain == pytest.approx(3, rel=2e-3)
    assert found.rise_time == pytest.approx(0.03 * np.log(9), rel=0.03)  # τ ln 9
    assert found.overshoot < 0.01


def test_warnings_and_refusals():
    u = binary(8)
    short = step_response(u, rig(u), H, settling=0.08)
    assert any("not settled" in warning for warning in short.warnings)
    tone = np.sin(2 * np.pi * 5.3 * np.arange(5000) * H)
    poor = step_response(tone, rig(tone), H, settling=0.4, filters=21)
    assert any("tells only" in warning for warning in poor.warnings)
    with pytest.raises(InputError, match="nothing near zero frequency"):  # 5 Hz is one of the filters
        step_response(np.sin(2 * np.pi * 5 * np.arange(5000) * H), u, H, settling=0.4)
    with pytest.raises(InputError, match="record at least"):
        step_response(u[:600], u[:600], H, settling=0.5)
    with pytest.raises(InputError, match="does not vary"):
        step_response(np.ones(500), u[:500], H, settling=0.1)
    with pytest.raises(InputError, match="odd and positive"):
        step_response(u, u, H, settling=0.1, filters=4)
    with pytest.raises(InputError, match="not finite"):
        step_response(u, np.full(u.size, np.nan), H, settling=0.1)
