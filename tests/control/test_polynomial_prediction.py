"""Polynomial forward prediction: exactness, closed-form gain and phase, the two settings of du Bois 2010."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.control import PolynomialPrediction
from bondloop.control.blocks.filters import backward_differences, fit_weights
from bondloop.errors import InputError

PERIOD = 0.001
SLOW = PolynomialPrediction(0.005, order=6, span=0.1, points=20)
QUICK = PolynomialPrediction(0.005, order=6, span=0.01, points=10)


@settings(max_examples=40, deadline=None)
@given(
    order=st.integers(0, 6),
    extra=st.integers(1, 12),
    stretch=st.floats(1.0, 6.0),
    delay=st.floats(0.0, 0.02),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_polynomial_up_to_its_order_is_predicted_exactly(order, extra, stretch, delay, seed):
    """The definition of a least-squares polynomial, whatever ticks the points were moved to."""
    points = order + extra
    p = PolynomialPrediction(delay, order=order, span=max(points - 1, 1) * stretch * PERIOD, points=points)
    c = np.random.default_rng(seed).uniform(-1, 1, order + 1)
    scale = max(p.span, delay)  # the polynomial's own time, so that all its terms matter

    def x(t):
        return np.polyval(c, t / scale)

    times = -PERIOD * np.array(p.ticks(PERIOD))
    for derivative, exact in enumerate((x(delay), np.polyval(np.polyder(c), delay / scale) / scale)):
        if derivative <= order:
            found = p.weights(PERIOD, derivative) @ x(times)
            size = p.amplification(PERIOD, derivative)
            assert abs(found - exact) < 1e-13 * size * (order + 1) * 10 + 1e-12


def test_the_block_predicts_a_polynomial_once_its_history_is_full(alone):
    t = np.arange(200) * PERIOD

    def x(s):
        return 0.02 + 0.1 * s - 3 * s**2 + 40 * s**3

    command = alone(SLOW, x(t))["command"]
    assert np.abs(command[101:] - x(t[101:] + 0.005)).max() < 1e-12


@pytest.mark.parametrize("p", [SLOW, QUICK, PolynomialPrediction(0.0123, order=3, span=0.03, points=7)])
@pytest.mark.parametrize(("frequency", "backend"), [(2.5, "c"), (10.0, "c"), (40.0, "c"), (10.0, "numpy")])
def test_closed_form_gain_and_phase_are_those_of_the_running_block(p, frequency, backend, alone, ratio):
    t = np.arange(1000) * PERIOD
    x = 0.01 * np.sin(2 * np.pi * frequency * t)
    command = alone(p, x, backend=backend)["command"]
    found = ratio(command[200:], x[200:], frequency, PERIOD)
    expected = p.response(frequency, PERIOD) * np.exp(2j * np.pi * frequency * p.delay)
    assert abs(found - expected) < 1e-9 * max(1, abs(expected))


def good(p, frequency):
    H = p.response(frequency, PERIOD)
    return np.abs(np.abs(H) - 1) < 0.1, np.abs(np.degrees(np.angle(H))) < 10


def test_twenty_points_over_a_tenth_of_a_second_are_good_to_ten_hertz():
    """du Bois 2010, Figure 15: the first curves degrade shortly after 10 Hz."""
    f = np.linspace(0, 10, 101)
    assert np.all(good(SLOW, f))
    assert not np.any(np.all(good(SLOW, np.linspace(12.5, 60, 200)), axis=0))


def test_ten_points_over_a_hundredth_of_a_second_are_good_to_forty_hertz():
    """du Bois 2010, Figure 15: the second set remains acceptable until around 40 Hz."""
    assert np.all(good(QUICK, np.linspace(0, 40, 401)))
    assert not np.any(np.all(good(QUICK, np.linspace(50, 80, 100)), axis=0))
    one_millisecond_apart = PolynomialPrediction(0.005, span=0.009, points=10)
    assert np.all(good(one_millisecond_apart, np.linspace(0, 40, 401)))


def test_the_short_span_pays_in_amplified_noise(alone):
    """White noise through constant weights: its variance is multiplied by the sum of their squares."""
    noise = np.random.default_rng(3).normal(size=20000)
    for p, least, most in ((SLOW, 1, 20), (QUICK, 500, 5000)):
        gain = np.std(alone(p, noise, backend="c")["command"][100:])
        assert gain == pytest.approx(np.sqrt(np.sum(p.weights(PERIOD) ** 2)), rel=0.05)
        assert least < p.amplification(PERIOD) < most


def test_a_demand_that_begins_away_from_zero_gives_no_blow(alone):
    command = alone(QUICK, np.full(50, 0.03))["command"]
    assert np.abs(command - 0.03).max() < 1e-12


def test_weights_agree_with_numpys_polynomial_fit():
    rng = np.random.default_rng(0)
    times = [-n * PERIOD for n in SLOW.ticks(PERIOD)]
    x = rng.normal(size=20)
    fitted = np.polynomial.Polynomial.fit(times, x, 6)
    for d in range(4):
        value = (fitted.deriv(d) if d else fitted)(0.005)
        assert fit_weights(times, 6, 0.005, d) @ x == pytest.approx(value, rel=1e-8)


def test_backward_differences_of_three_samples_are_the_papers():
    """du Bois 2010, eqs. 5-8, each divided by the period: half a step on from the newest difference."""
    T = 0.002
    x0, x1, x2 = 0.7, 0.4, -0.3
    first, before = (x0 - x1) / T, (x1 - x2) / T
    second = (first - before) / T
    assert backward_differences(2, 3, T) @ [x0, x1, x2] == pytest.approx(second)
    assert backward_differences(1, 3, T) @ [x0, x1, x2] == pytest.approx(first + second * T / 2)


@pytest.mark.parametrize("derivative", [0, 1, 2])
def test_slow_motions_are_predicted_perfectly(derivative):
    H = QUICK.response([0.0, 0.5], PERIOD, derivative)
    assert np.abs(H - 1).max() < 1e-6


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"order": 6, "points": 6}, "order 6 needs at least 7 points; found 6"),
        ({"span": -1}, "above 0"),
        ({"order": 99}, "from 0 to 12"),
    ],
)
def test_impossible_settings_are_refused(options, reason):
    with pytest.raises(InputError, match=reason):
        PolynomialPrediction(0.005, **options)


def test_points_closer_than_samples_are_refused_with_what_fits():
    p = PolynomialPrediction(0.005, span=0.01, points=20)
    with pytest.raises(InputError, match=r"at least 0\.019 s, or at most 11 points, fits"):
        p.ticks(PERIOD)
    assert p.ticks(0.0005) == tuple(int(i * 20 / 19 + 0.5) for i in range(20))
