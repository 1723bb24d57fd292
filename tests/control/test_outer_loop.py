"""PID with a lead around an actuator: against SciPy's filters, and on a plant whose best setting is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import cont2discrete, lfilter

from bondloop.control import OuterLoop
from bondloop.errors import InputError
from bondloop.transfer import first_order

PERIOD = 1 / 4096


def filtered(numerator, denominator, x):
    """A filter of which the input is straight between samples, as SciPy has it."""
    b, a, _ = cont2discrete((numerator, denominator), PERIOD, method="foh")
    return lfilter(np.atleast_1d(np.squeeze(b)), a, x)


gain = st.floats(0.1, 5.0)
span = st.floats(1e-4, 0.02)


@settings(max_examples=30)
@given(p=gain, i=st.floats(0.5, 200.0), d=span, lead=span, lag=span, with_derivative=st.booleans())
def test_the_command_is_that_of_scipy_s_filters(alone, p, i, d, lead, lag, with_derivative):
    law = OuterLoop(p, i, d if with_derivative else 0.0, lead, lag)
    x, y = np.random.default_rng(1).normal(size=(2, 400))
    x[0] = y[0] = 0.0  # SciPy's hold knows nothing of a sample before the first
    error = filtered([lead, 1], [lag, 1], x) - y
    pid = [p * lag + d, p + i * lag, i] if with_derivative else [p, i]
    expected = filtered(pid, [lag, 1, 0] if with_derivative else [1, 0], error)
    assert alone(law, x, y, PERIOD)["command"] == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())


def test_the_integral_is_the_trapezoidal_rule(alone):
    y = np.random.default_rng(2).normal(size=300)
    y[0] = 0.0
    total = np.concatenate([[0], np.cumsum((y[1:] + y[:-1]) / 2 * PERIOD)])
    found = alone(OuterLoop(2.0, 95.0), np.zeros(300), y, PERIOD)["command"]
    assert found == pytest.approx(-2.0 * y - 95.0 * total, abs=1e-9)


def test_a_test_that_begins_away_from_zero_gets_no_blow(alone):
    x = np.full(50, 0.02)
    law = OuterLoop(2.0, 95.0, lead="6 ms", lag="0.1 ms")
    assert alone(law, x, x, PERIOD)["command"] == pytest.approx(x, abs=1e-12)


def test_the_lead_that_cancels_a_lag_is_the_best(ratio, loop):
    """A gain P around a lag T leaves the pole (1 + P)/T, which a lead of T/(1 + P) cancels."""
    T, P, f = 0.02, 3.0, 4.0
    t = np.arange(3000) * 0.001
    x = np.sin(2 * np.pi * f * t)
    phases = {}
    for share in (0.0, 0.5, 1.0, 1.5):
        law = OuterLoop(P, lead=share * T / (1 + P), lag="0.2 ms")
        motion = loop(law, first_order(1.0, T), x)["motion"][1000:]
        phases[share] = abs(np.angle(ratio(motion, x[1000:], f, 0.001)))
    assert min(phases, key=phases.get) == 1.0
    assert phases[1.0] < 0.2 * phases[0.0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"lead": "5 ms"}, "a lead alone has no end to its gain"),
        ({"derivative": "5 ms"}, "a derivative alone has no end"),
        ({"proportional": 0}, "it moves nothing"),
        ({"integral": -1}, "at least 0"),
        ({"lead": "5 mm", "lag": "1 ms"}, "expected a quantity in s"),
    ],
)
def test_silly_settings_are_refused(words, said):
    with pytest.raises(InputError, match=said):
        OuterLoop(**words)


@pytest.mark.parametrize("lag", [1e-100, 1e-12])
def test_a_lag_that_no_loop_can_tell_from_none_is_refused(lag):
    with pytest.raises(InputError, match="shorter than any loop can tell"):
        OuterLoop(lead="1 ms", lag=lag)


def test_the_shortest_lag_still_gives_numbers():
    led = OuterLoop(1.0, lead="1 ms", lag=1e-9)
    assert np.isfinite(led._lead.response([0.0, 10.0], 1e-3)).all()
