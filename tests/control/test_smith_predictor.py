"""The Smith predictor: with the right model the loop is the one without a delay, later."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.control import AdaptivePrediction, OuterLoop, PolynomialPrediction, SmithPredictor
from bondloop.errors import InputError
from bondloop.transfer import Process, first_order, second_order

PERIOD = 0.001
T = np.arange(3000) * PERIOD
DEMAND = 0.01 * (np.sin(2 * np.pi * 2.0 * T) + 0.4 * np.sin(2 * np.pi * 6.3 * T))


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("ticks", [1, 7, 25])
def test_with_the_right_model_the_loop_is_that_without_a_delay_later(ticks, backend, loop):
    """y(k) = y₀(k - d) exactly: the delay has left the loop, whatever the gains."""
    gains = OuterLoop(3.0, 400.0, lead="2 ms", lag="1 ms")
    late = second_order(0.9, 12.0, 0.6, delay=ticks * PERIOD)
    free = Process(late.numerator, late.denominator)
    x = DEMAND[:600]
    without = loop(gains, free, x, backend=backend)
    predicted = loop(SmithPredictor(late, gains), late, x, backend=backend)
    assert np.abs(without["motion"]).max() > 0.005
    assert predicted["command"] == pytest.approx(without["command"], abs=1e-12)
    assert predicted["motion"][ticks:] == pytest.approx(without["motion"][:-ticks], abs=1e-12)


def test_gains_that_the_delay_forbids_are_allowed(loop):
    """3 + 400/s around a lag of 10 ms: without delay stable, with 15 ms of it not, unless predicted."""
    late = first_order(1.0, 0.010, delay=0.015)
    gains = OuterLoop(3.0, 400.0)
    assert np.abs(loop(gains, late, DEMAND)["motion"]).max() > 1e3
    assert np.abs(loop(SmithPredictor(late, gains), late, DEMAND)["motion"]).max() < 0.03


def test_a_prediction_takes_the_delay_away(loop):
    late = first_order(1.0, 0.010, delay=0.008)
    gains = OuterLoop(4.0, 400.0, lead=0.01 / 4, lag="0.5 ms")  # cancels the pole, and the one that is left
    errors = {}
    for ahead in (None, PolynomialPrediction("8 ms", 2, "20 ms", 16)):
        motion = loop(SmithPredictor(late, gains, ahead), late, DEMAND)["motion"]
        errors[ahead is None] = np.std(motion[500:] - DEMAND[500:])
    assert errors[False] < 0.2 * errors[True]


@settings(max_examples=15, deadline=None)
@given(delay=st.floats(0.0, 0.012), lag=st.floats(0.0005, 0.05), zero=st.floats(-0.01, 0.01))
def test_the_model_beside_is_exact_for_any_delay(delay, lag, zero, alone):
    """Of a plain gain of 1 the command is x - (y - late + free): late - free is that of Process.simulate."""
    process = Process((zero, 0.9), (lag * 0.004, lag + 0.004, 1.0), delay)
    x, y = np.random.default_rng(1).normal(size=(2, 120))
    x[0] = y[0] = 0.0
    u = alone(SmithPredictor(process, OuterLoop(1.0)), x, y, PERIOD)["command"]
    free = Process(process.numerator, process.denominator).simulate(u, PERIOD)
    scale = np.abs(u).max()
    assert x - y - u == pytest.approx(free - process.simulate(u, PERIOD), abs=1e-7 * scale)


@pytest.mark.parametrize("fast", [1e-3, 1e-5, 5e-6, 1e-7])
def test_a_fast_pole_and_part_of_a_sample(fast, alone):
    """Going back by half a sample multiplies a pole at 5 µs by e^100; forward nothing grows."""
    process = Process((0.9,), tuple(np.polymul([0.01, 1.0], [fast, 1.0])), 1.5 * PERIOD)
    x, y = np.random.default_rng(2).normal(size=(2, 60))
    x[0] = y[0] = 0.0
    u = alone(SmithPredictor(process, OuterLoop(1.0)), x, y, PERIOD)["command"]
    free = Process(process.numerator, process.denominator).simulate(u, PERIOD)
    assert x - y - u == pytest.approx(free - process.simulate(u, PERIOD), abs=1e-7 * np.abs(u).max())


def test_a_test_that_begins_away_from_zero_gets_no_blow(alone):
    x = np.full(50, 0.02)
    law = SmithPredictor(
        first_order(0.9, 0.01, delay=0.0055), OuterLoop(2.0, 95.0), PolynomialPrediction(0.005, 2)
    )
    assert alone(law, x, x, PERIOD)["command"] == pytest.approx(x, abs=1e-12)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"process": 0.01}, "expected a process model"),
        ({"process": Process((1.0,), (0.01, 1.0, 0.0))}, "is not stable"),
        ({"process": Process((1.0,), (-0.01, 1.0))}, "its poles are at 100"),
        ({"process": Process((0.01, 1.0), (0.02, 1.0))}, "jumps with its command"),
        ({"loop": 2.0}, r"SmithPredictor\(loop\): expected OuterLoop"),
        ({"loop": None}, "expected OuterLoop"),
        ({"prediction": 0.005}, "expected PolynomialPrediction"),
        ({"prediction": AdaptivePrediction()}, "one that adapts"),
    ],
)
def test_silly_settings_are_refused(words, said):
    with pytest.raises(InputError, match=said):
        SmithPredictor(**{"process": first_order(1.0, 0.01), "loop": OuterLoop(1.0), **words})
