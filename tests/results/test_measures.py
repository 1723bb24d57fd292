"""Every measure against a closed form."""

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.results.assess.error_metrics import energy_error, normalised_energy_error, work
from bondloop.results.assess.tracking import (
    delay,
    frequency_evaluation_index,
    maximum_error,
    normalised_peak_error,
    normalised_rms_error,
    peak_amplitude_error,
    rms,
    tracking_indicator,
)

PERIOD = 1e-3
T = np.arange(4000) * PERIOD  # 4 s: whole periods of every whole frequency
F0 = 5.0
W = 2 * np.pi * F0


def sine(lag=0.0, gain=1.0, frequency=F0):
    return gain * np.sin(2 * np.pi * frequency * (T - lag))


@pytest.mark.parametrize("lag", [-0.013, 0.0004, 0.002, 0.05])
@pytest.mark.parametrize("gain", [0.5, 1.0, 1.3])
def test_rms_error_of_a_scaled_and_delayed_sine(lag, gain):
    # |g e^{-jωτ} - 1|; for g = 1 it is 2 sin(ωτ/2), for τ = 0 it is |g - 1|
    exact = abs(gain * np.exp(-1j * W * lag) - 1)
    assert normalised_rms_error(sine(), sine(lag, gain)) == pytest.approx(exact, rel=1e-9)
    if gain == 1.0:
        assert exact == pytest.approx(2 * abs(np.sin(W * lag / 2)), rel=1e-9)


def test_peak_errors_of_a_scaled_and_delayed_sine():
    # the error is a sine of amplitude |g e^{-jωτ} - 1|; 200 samples a period miss its peak by < (π/200)²/2
    exact = abs(0.9 * np.exp(-1j * W * 0.004) - 1)
    actual = 3 * sine(0.004, 0.9)
    assert maximum_error(3 * sine(), actual) == pytest.approx(3 * exact, rel=2e-4)
    assert normalised_peak_error(3 * sine(), actual) == pytest.approx(exact, rel=2e-4)
    assert peak_amplitude_error(3 * sine(), actual) == pytest.approx(-0.1, abs=2e-4)


def test_nothing_desired_has_no_relative_error():
    zero = np.zeros(10)
    assert np.isnan(normalised_rms_error(zero, zero + 1))
    assert np.isnan(normalised_peak_error(zero, zero))
    assert maximum_error(zero, zero + 1) == 1.0


def test_rms_of_huge_values_does_not_overflow():
    assert rms(np.full(4, 1e200)) == pytest.approx(1e200)


@pytest.mark.parametrize("lag", [-0.0312, -0.0005, 0.0, 0.00025, 0.004, 0.09])
def test_delay_of_a_sine_within_half_a_period(lag):
    # parabola on a cosine: off by less than 2 % of a sample at 200 samples a period; half a period is 0.1 s
    found = delay(sine(), 0.7 * sine(lag) + 4.0, PERIOD)
    assert found == pytest.approx(lag, abs=0.02 * PERIOD)


def test_delay_of_noise_and_of_a_growing_oscillation():
    noise = np.random.default_rng(3).standard_normal(2100)
    late = 37  # samples
    assert delay(noise[100:], noise[100 - late : -late], PERIOD) == pytest.approx(
        late * PERIOD, abs=PERIOD / 2
    )
    grow = [np.exp(3 * (T - lag)) * np.sin(W * (T - lag)) for lag in (0.0, 0.007)]
    assert delay(*grow, PERIOD) == pytest.approx(0.007, abs=0.05 * PERIOD)


def test_noise_does_not_choose_another_period():
    rng = np.random.default_rng(4)
    for _ in range(5):
        actual = sine(0.003) + 0.05 * rng.standard_normal(T.size)
        assert delay(sine(), actual, PERIOD) == pytest.approx(0.003, abs=PERIOD)


def test_delay_without_meaning():
    assert np.isnan(delay(np.ones(50), sine()[:50], PERIOD))
    with pytest.raises(InputError, match="correlation grows"):
        delay(sine(), sine(0.05), PERIOD, longest=0.02)


def test_frequency_index_of_one_sine():
    found = frequency_evaluation_index(sine(), sine(0.012, 1.25), PERIOD)
    assert (found.amplitude, found.delay) == pytest.approx((1.25, 0.012), rel=1e-9)


def test_frequency_index_of_a_sum_of_sines():
    # Guo et al. 2014 with l = 2: FEI = Σ a_k² g_k e^{-jω_k τ_k} / Σ a_k², f_eq = Σ a_k² f_k / Σ a_k²
    parts = [(1.0, 2.0, 0.9, 0.010), (0.5, 5.0, 1.2, 0.004), (0.3, 11.0, 0.7, 0.002)]
    desired = sum(a * sine(frequency=f) for a, f, _, _ in parts)
    actual = sum(a * sine(lag, gain, f) for a, f, gain, lag in parts)
    power = sum(a**2 for a, *_ in parts)
    index = sum(a**2 * g * np.exp(-2j * np.pi * f * lag) for a, f, g, lag in parts) / power
    mean = sum(a**2 * f for a, f, *_ in parts) / power
    found = frequency_evaluation_index(desired, actual + 7.0, PERIOD)  # an offset has no delay
    assert found.amplitude == pytest.approx(abs(index), rel=1e-9)
    assert found.frequency == pytest.approx(mean, rel=1e-9)
    assert found.delay == pytest.approx(-np.angle(index) / (2 * np.pi * mean), rel=1e-9)


def test_frequency_index_of_a_constant_has_no_meaning():
    assert np.isnan(frequency_evaluation_index(np.full(100, 3.0), sine()[:100], PERIOD).delay)


def test_tracking_indicator_counts_ellipses():
    # an ellipse of semi-axes X, Y and phase φ has area π X Y sin φ; 4 s are 20 periods less one sample
    t = np.linspace(0, 4, 4001)
    x, lagging = 2 * np.sin(W * t), 1.5 * np.sin(W * t - 0.3)
    area = np.pi * 2 * 1.5 * np.sin(0.3)
    found = tracking_indicator(x, lagging)
    assert found[-1] == pytest.approx(20 * area, rel=1e-3)  # polygon of 200 sides: sin(α)/α, α = 2π/200
    assert tracking_indicator(lagging, x)[-1] == pytest.approx(-found[-1])
    np.testing.assert_allclose(tracking_indicator(x, 0.4 * x), 0.0, atol=1e-12)


def test_work_of_an_ellipse():
    angle = np.linspace(0, 2 * np.pi, 2001)
    assert work(5 * np.cos(angle), 3 * np.sin(angle))[-1] == pytest.approx(np.pi * 15, rel=1e-5)  # π a b


def test_a_lagging_actuator_on_a_spring_puts_energy_in():
    # F = k x_P; x_P = X sin(ωt - φ), x_N = X sin ωt: E = ∮F d(x_P - x_N) = +π k X² sin φ a period
    k, amplitude, phase = 4750.0, 0.01, 0.2
    t = np.linspace(0, 4, 8001)
    x_n, x_p = amplitude * np.sin(W * t), amplitude * np.sin(W * t - phase)
    v_n, v_p = amplitude * W * np.cos(W * t), amplitude * W * np.cos(W * t - phase)
    exact = 20 * np.pi * k * amplitude**2 * np.sin(phase)
    assert energy_error(k * x_p, v_n, v_p, t[1])[-1] == pytest.approx(exact, rel=1e-4)
    assert energy_error(k * x_p, x_n, x_p)[-1] == pytest.approx(exact, rel=1e-3)
    # ∫|sin(a - φ) cos a| over a period = 2 (cos φ + φ sin φ) ... with |sin(2a - φ) - sin φ|/2 integrated
    exchanged = 20 * k * amplitude**2 * 2 * (np.cos(phase) + phase * np.sin(phase))
    normalised = normalised_energy_error(k * x_p, v_n, v_p, t[1])
    assert normalised == pytest.approx(exact / exchanged, rel=1e-4)


def test_signals_that_do_not_fit():
    with pytest.raises(InputError, match=r"desired \(3,\), actual \(2,\)"):
        normalised_rms_error(np.zeros(3), np.zeros(2))
    with pytest.raises(InputError, match="no samples"):
        maximum_error([], [])
    with pytest.raises(InputError, match="sample_period: expected a number above 0"):
        delay(sine(), sine(), 0.0)
