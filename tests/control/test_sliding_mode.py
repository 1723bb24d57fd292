"""Sliding mode: the time to its layer, what is left in it, and what a wrong model does."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bondloop.control import InverseModel, SlidingMode
from bondloop.errors import InputError, SolveError
from bondloop.transfer import Process, first_order, second_order

T = np.arange(4000) * 0.001
DEMAND = 0.005 * (
    np.sin(2 * np.pi * 1.3 * T) - np.sin(2 * np.pi * 3.1 * T) + 0.3 * np.cos(2 * np.pi * 5.0 * T) - 0.3
)


@settings(max_examples=5, deadline=None)
@given(reaching=st.floats(0.03, 0.3), bandwidth=st.floats(5.0, 20.0), start=st.floats(0.01, 0.05))
@example(reaching=0.03, bandwidth=11.0, start=0.03125)
@example(reaching=0.03, bandwidth=20.0, start=0.05)
def test_the_layer_is_reached_in_its_time_and_left_no_more(reaching, bandwidth, start, loop):
    """A rig that begins `start` away: (start - layer)/reaching, at that speed; then e^(-λ t).

    Sampling changes that by what can be told beforehand. With a = 1/20 ms, a command held for a sample moves
    this rig by (1 - e^(-aT))/a in place of T: all speeds are `held` times as large. The observer begins at
    the demand. Its error dies by p = e^(-2π 5 kHz T) a sample, from p e^(aT) `start` on, and the law, which
    makes up for that much less of the rig's own pull, comes nearer by (e^(aT) - 1) p/(1 - p) `start`. (It
    sees (1 - p e^(aT)) `start` at first, more than the layer.) In the layer a sample multiplies the error by
    1 - λT `held`, not by e^(-λT): a share λt T (λ - a)/2 off e^(-λt), which is at most T |λ - a|/(2e) of the
    layer. Where it enters between two samples, (λT)²/2 + λT aT/2 come to it. T (λ + a)/2 is above the sum.
    """
    period, pull = 5e-5, 1 / 0.02
    law = SlidingMode(first_order(0.9, 0.02), bandwidth, reaching, uncertainty=0.0, observer=5e3)
    rate, layer = 2 * math.pi * bandwidth, reaching / (2 * math.pi * bandwidth)
    start = max(start, 2 * layer)
    held, p = -math.expm1(-pull * period) / (pull * period), math.exp(-2 * math.pi * 5e3 * period)
    ahead = math.expm1(pull * period) * p / (1 - p) * start
    ideal, reached = (start - layer) / reaching, (start - ahead - layer) / (held * reaching)
    assert reached == pytest.approx(ideal, rel=0.002)  # as the class says it, without samples
    count = round((reached + 2.0 / rate) / period)
    error = loop(law, first_order(0.9, 0.02), np.full(count, start), period)["motion"] - start
    t = np.arange(count) * period
    outside = (t > 10 * period) & (t < reached)  # p^10 `ahead` is 1e-10 `start`
    assert -error[outside] == pytest.approx(start - ahead - held * reaching * t[outside], abs=1e-9 * start)
    # A tenth of a sample for what the observer has left where the two meet at a sample.
    assert np.flatnonzero(np.abs(error) <= layer)[0] == pytest.approx(reached / period + 0.5, abs=0.6)
    inside = t > reached
    expected = layer * np.exp(-rate * (t[inside] - reached))
    assert -error[inside] == pytest.approx(expected, abs=period * (rate + pull) / 2 * layer)


def test_the_layer_at_rest():
    law = SlidingMode(first_order(1.0, 0.02), bandwidth=10.0, reaching="0.2 m/s")
    assert law.layer == pytest.approx(0.2 / (20 * math.pi))


@pytest.mark.parametrize(
    "process",
    [
        first_order(1.1, 0.02),
        second_order(0.95, 12.0, 0.6),
        Process((0.95,), np.polymul([0.01, 1.0], [1 / 90**2, 1.2 / 90, 1.0])),
        Process((0.003, 0.95), np.polymul([0.01, 1.0], [1 / 90**2, 1.2 / 90, 1.0])),
    ],
    ids=["1 pole", "2 poles", "3 poles", "3 poles, 1 zero"],
)
def test_with_the_right_model_the_demand_is_followed(process, loop):
    motion = loop(SlidingMode(process, bandwidth=20.0, ahead=0.5), process, DEMAND)["motion"]
    late = slice(1000, None)
    assert np.std(motion[late] - DEMAND[late]) < 1e-2 * np.std(DEMAND)


def test_a_wrong_gain_matters_less_than_without_feedback(loop):
    """10 % more gain than known: the inverse alone is 10 % off, the surface leaves a0/λ² of it."""
    known, true = second_order(1.0, 8.0, 0.7), second_order(1.1, 8.0, 0.7)
    late = slice(1000, None)
    errors = [
        np.std(loop(law, true, DEMAND)["motion"][late] - DEMAND[late])
        for law in (SlidingMode(known, bandwidth=30.0), InverseModel(known))
    ]
    assert errors[0] < 0.3 * errors[1]


def test_noise_that_is_bounded_leaves_a_bounded_error(loop):
    process = second_order(0.95, 12.0, 0.6)
    noise = np.random.default_rng(3).uniform(-2e-5, 2e-5, len(T))
    motion = loop(SlidingMode(process, bandwidth=20.0), process, DEMAND, noise=noise)["motion"] - noise
    assert np.abs(motion[1000:] - DEMAND[1000:]).max() < 3e-4


def test_a_test_that_begins_away_from_zero_gets_no_blow(alone):
    x = np.full(50, 0.02)
    law = SlidingMode(second_order(0.8, 12.0, 0.6), bandwidth=20.0)
    assert alone(law, x, x)["command"] == pytest.approx(x / 0.8, abs=1e-12)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"process": "G"}, "expected a process model"),
        ({"process": first_order(1.0, 0.01, delay=0.01)}, "a delay of 0.01 s, which no surface"),
        ({"process": Process((1.0,), (1.0,))}, "one to 6 poles"),
        ({"process": Process((0.01, 1.0), (0.02, 1.0))}, "fewer zeros than poles"),
        ({"process": Process((1.0,), np.poly([-10.0] * 7))}, "one to 6 poles"),
        ({"process": Process((1.0,), (0.1, 1.0, 0.0))}, "a pole at 0"),
        ({"bandwidth": 0}, "above 0"),
        ({"reaching": -1}, "above 0"),
        ({"uncertainty": 2}, "at most 1"),
        ({"reaching": "0.1 m"}, "m/s"),
    ],
)
def test_silly_settings_are_refused(words, said):
    with pytest.raises(InputError, match=said):
        SlidingMode(**{"process": first_order(1.0, 0.01), **words})


def test_an_unstable_zero_is_refused():
    with pytest.raises(SolveError, match="cannot be inverted"):
        SlidingMode(Process((-0.01, 1.0), (1e-4, 0.02, 1.0)))


def test_a_bandwidth_beyond_the_samples_is_refused(alone):
    with pytest.raises(InputError, match=r"too much for 1000 samples a second; at most 79.58 Hz"):
        alone(SlidingMode(first_order(1.0, 0.01), bandwidth=100.0), np.zeros(5))
