"""Feed-forward with LQG: gains in closed form, separation of poles, what the feedback is worth, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.control import Compensator, FeedforwardLQG, InverseModel, LeadCompensation
from bondloop.errors import BondloopError, InputError
from bondloop.transfer import Process, first_order, second_order

LAG = first_order(1.0, 0.02)


@settings(max_examples=30, deadline=None)
@given(lag=st.floats(0.003, 0.1), gain=st.floats(0.3, 3.0), effort=st.floats(1e-3, 10.0))
def test_the_regulator_of_a_lag_solves_its_quadratic_equation(lag, gain, effort):
    """x(k+1) = f x + g u in units of x: p = 1 + f² p r/(r + g² p), by hand."""
    T = 0.001
    law = FeedforwardLQG(first_order(gain, lag), effort=effort)
    f, g = np.exp(-T / lag), gain * (1 - np.exp(-T / lag))
    a, b, c = g * g, effort * (1 - f * f) - g * g, -effort
    p = (-b + np.sqrt(b * b - 4 * a * c)) / (2 * a)
    C = law.model(T)[2][0]
    assert law.gains(T)[0][0] == pytest.approx(C * p * f * g / (effort + g * g * p), rel=1e-8)


@settings(max_examples=30, deadline=None)
@given(lag=st.floats(0.003, 0.1), ratio=st.floats(0.1, 100.0))
def test_the_observer_of_a_lag_with_white_noise_solves_its_quadratic_equation(lag, ratio):
    """With so high a corner the disturbance is white; s = f² s/(1 + s) + g² q for the output's variance."""
    T = 0.001
    law = FeedforwardLQG(first_order(1.0, lag), corner="1 MHz", disturbance=ratio * 1e-5, noise=1e-5)
    f, g = np.exp(-T / lag), 1 - np.exp(-T / lag)
    q = (g * ratio) ** 2
    b = 1 - f * f - q
    s = (-b + np.sqrt(b * b + 4 * q)) / 2
    C, M = law.model(T)[2][0], law.gains(T)[1][0]
    share = C * M
    assert share == pytest.approx(s / (1 + s), rel=1e-8)


def test_the_gain_of_a_double_integrator_tends_to_the_textbook_s():
    """In continuous time K = [r^(-1/2), sqrt(2) r^(-1/4)] (Kwakernaak and Sivan), to first order in T."""
    effort = 1e-4
    exact = np.array([effort**-0.5, 2**0.5 * effort**-0.25])
    errors = []
    for T in (2e-3, 1e-3, 5e-4):
        K, _ = FeedforwardLQG(Process((1.0,), (1.0, 0.0, 0.0)), effort=effort).gains(T)
        errors.append(np.abs(K[:2] / exact - 1).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert errors[-1] < 0.01
    assert np.all(np.abs(orders - 1) < 0.1)


@settings(max_examples=30, deadline=None)
@given(
    frequency=st.floats(2.0, 60.0),
    damping=st.floats(0.05, 1.5),
    late=st.floats(0.0, 0.02),
    effort=st.floats(1e-2, 10.0),
    corner=st.floats(0.1, 20.0),
)
def test_the_poles_of_the_loop_are_the_regulator_s_and_the_observer_s(
    frequency, damping, late, effort, corner
):
    T = 0.001
    law = FeedforwardLQG(second_order(1.0, frequency, damping, late), effort=effort, corner=corner)
    F, G, C = law.model(T)
    plant, inlet, out = F[:-1, :-1], G[:-1], C[:-1]  # without the disturbance, which is not there
    filt = law.feedback(T)
    whole = np.block(
        [[plant - np.outer(inlet, filt.H[0] * out), np.outer(inlet, filt.C)], [-filt.G * out, filt.F]]
    )
    K, M = law.gains(T)
    largest = np.abs(np.linalg.eigvals(whole)).max()
    assert largest < 1
    regulator = np.abs(np.linalg.eigvals(plant - np.outer(inlet, K[:-1]))).max()
    observer = np.abs(np.linalg.eigvals(F - F @ np.outer(M, C))).max()
    assert largest == pytest.approx(max(regulator, observer), abs=1e-6)


def error(law, plant, loop, T=0.001):
    t = np.arange(4000) * T
    x = 0.01 * (np.sin(2 * np.pi * 0.5 * t) + 0.3 * np.sin(2 * np.pi * 2 * t))
    motion = loop(law, plant, x, T)["motion"]
    return np.sqrt(np.mean((motion - x)[1000:] ** 2) / np.mean(x[1000:] ** 2))


def test_the_feedback_takes_away_what_the_model_does_not_know(loop):
    """A fifth too much gain and half as much lag again."""
    plant = first_order(1.2, 0.03)
    law = FeedforwardLQG(LAG, effort=0.01, disturbance="2 mm", corner="2 Hz")
    assert error(law.forward, plant, loop) > 0.19
    assert error(law, plant, loop) < 0.35 * error(law.forward, plant, loop)


def test_with_a_perfect_model_feedback_changes_little(loop):
    law = FeedforwardLQG(LAG)
    assert error(law, LAG, loop) <= error(law.forward, LAG, loop)
    assert law.forward == InverseModel(LAG, ahead=0.5)


def test_any_compensator_can_be_its_feedforward(loop):
    law = FeedforwardLQG(LAG, LeadCompensation("20 ms", ratio=20), effort=0.05)
    assert error(law, LAG, loop) < 0.02
    assert Compensator.from_description(law.describe()) == law


@pytest.mark.parametrize(
    ("arguments", "words", "said"),
    [
        (("G",), {}, "expected a process model"),
        ((Process((0.02, 1.0), (0.03, 1.0)),), {}, "as many zeros as poles"),
        ((Process((-0.01, 1.0), (1e-4, 0.02, 1.0)),), {}, "cannot be inverted"),
        ((LAG, 3.0), {}, "expected a compensator"),
        ((LAG,), {"effort": 0}, "above 0"),
        ((LAG,), {"corner": -1}, "above 0"),
        ((LAG,), {"noise": "1 N"}, "expected a quantity in m"),
    ],
)
def test_silly_settings_are_refused(arguments, words, said):
    with pytest.raises(BondloopError, match=said):
        FeedforwardLQG(*arguments, **words)


def test_a_delay_of_too_many_samples_is_refused_where_it_is_built(alone):
    with pytest.raises(InputError, match="late by 1000 samples"):
        alone(FeedforwardLQG(first_order(1.0, 0.02, delay=1.0)), np.zeros(3))
