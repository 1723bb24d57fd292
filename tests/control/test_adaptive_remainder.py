"""Chains: the remainder is found where it is known, both ways; whatever adapts; refusals."""

import numpy as np
import pytest

from bondloop.control import (
    AdaptiveModelBased,
    AdaptivePrediction,
    AdaptiveRemainder,
    AdaptiveTimeSeries,
    Compensator,
    ConditionalTimeSeries,
    ControlLaw,
    FeedforwardLQG,
    InverseModel,
    LeadCompensation,
    LoadFeedforward,
    OuterLoop,
)
from bondloop.errors import InputError
from bondloop.transfer import Process, first_order

T = 0.001
LAG = first_order(1.0, 0.02)
INVERSE = InverseModel(LAG, ahead=0.5)
t = np.arange(15_000) * T
DEMAND = 0.01 * (np.sin(2 * np.pi * 1.5 * t) + 0.5 * np.sin(2 * np.pi * 4 * t + 1))


def error(run, demand=DEMAND):
    late = slice(-4000, None)
    return np.sqrt(np.mean((run["motion"] - demand)[late] ** 2) / np.mean(demand[late] ** 2))


@pytest.mark.parametrize("kind", [AdaptiveTimeSeries, AdaptiveModelBased])
@pytest.mark.parametrize("left", [0.003, 0.008])
def test_of_two_lags_the_second_is_learned(kind, left, loop):
    """The inverse of the first leaves 1 + left s: its coefficients are 1 and left."""
    plant = Process((1.0,), tuple(np.polymul([0.02, 1.0], [left, 1.0])))
    law = AdaptiveRemainder(INVERSE, kind(order=1, largest_delay="15 ms"))
    run = loop(law, plant, DEMAND)
    a = [run[f"controller.adaptive.a{j}"][-1] for j in range(2)]
    assert a[1] == pytest.approx(left, abs=3e-4)
    assert a[0] == pytest.approx(1.0, abs=0.01)  # the derivative is a low pass's, which is not quite one
    assert error(run) < 0.015
    assert error(loop(INVERSE, plant, DEMAND)) > 8 * error(run)


@pytest.mark.parametrize("kind", [AdaptiveTimeSeries, AdaptiveModelBased, ConditionalTimeSeries])
def test_an_inverse_that_does_too_much_is_taken_back(kind, loop):
    """(1 + 0.02 s)/(1 + 0.03 s) is 1 - 0.01 s + ...: the remainder leads."""
    law = AdaptiveRemainder(InverseModel(first_order(1.0, 0.03), ahead=0.5), kind(largest_delay="20 ms"))
    run = loop(law, LAG, DEMAND)
    assert run["controller.adaptive.a1"][-1] == pytest.approx(-0.01, abs=0.004)
    assert error(loop(law.fixed, LAG, DEMAND)) > 2.5 * error(run)


@pytest.mark.parametrize(("lag", "left"), [(0.02, 0.006), (0.02, 0.0), (0.026, 0.0)])
def test_a_delay_that_an_inverse_leaves_is_predicted(lag, left, loop):
    """For one sine: the delay and half a sample, less what the inverse leads, and the gain to go with it."""
    w = 2 * np.pi * 3
    demand = 0.01 * np.sin(w * t)
    plant = first_order(1.0, 0.02, delay=left)
    run = loop(AdaptiveRemainder(InverseModel(first_order(1.0, lag)), AdaptivePrediction(0.0)), plant, demand)
    late = left + T / 2 - (np.arctan(w * lag) - np.arctan(w * 0.02)) / w
    assert run["controller.adaptive.delay"][-1] == pytest.approx(late, abs=2e-4)
    gain = np.sqrt((1 + (w * 0.02) ** 2) / (1 + (w * lag) ** 2))
    assert run["controller.adaptive.gain"][-1] == pytest.approx(gain, rel=5e-3)
    assert error(run, demand) < 0.01


def test_a_law_of_one_s_own_stands_before_the_fixed_part(loop):
    class Louder(ControlLaw):
        """A gain that follows the error."""

        states = {"gain": 1.0}  # noqa: RUF012 - as laws are written
        adapted = ("gain",)

        def step(self, desired, measured):
            x = desired.displacement
            self.gain = self.gain + 5e3 * self.period * (x - measured.displacement) * x
            return self.gain * x

    run = loop(AdaptiveRemainder(INVERSE, Louder()), first_order(0.8, 0.02), DEMAND)
    assert run["controller.adaptive.gain"][-1] == pytest.approx(1.25, rel=0.02)


def test_a_chain_can_be_the_feedforward_of_a_feedback(loop):
    plant = first_order(0.9, 0.025)
    law = FeedforwardLQG(LAG, AdaptiveRemainder(INVERSE, AdaptiveModelBased(largest_delay="15 ms")))
    assert law.adapts
    run = loop(law, plant, DEMAND)
    assert error(run) < 0.02
    assert Compensator.from_description(law.describe()) == law


def test_where_nothing_is_left_nothing_is_learned(loop):
    run = loop(AdaptiveRemainder(INVERSE, AdaptiveTimeSeries(order=1, largest_delay="15 ms")), LAG, DEMAND)
    assert run["controller.adaptive.a0"][-1] == pytest.approx(1.0, abs=1e-3)
    assert abs(run["controller.adaptive.a1"][-1]) < 1e-4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((LAG, AdaptiveTimeSeries()), r"AdaptiveRemainder\(fixed\): expected a compensator"),
        ((INVERSE, 5), r"AdaptiveRemainder\(adaptive\): expected a compensator"),
        ((INVERSE, LeadCompensation(0.01)), "LeadCompensation does not adapt; expected one that does,"),
        (
            (AdaptiveTimeSeries(), AdaptiveTimeSeries()),
            "AdaptiveTimeSeries adapts; expected one that does not",
        ),
    ],
)
def test_what_is_no_chain_is_refused(arguments, said):
    with pytest.raises(InputError, match=said):
        AdaptiveRemainder(*arguments)


@pytest.mark.parametrize("fixed", [OuterLoop(0.5), FeedforwardLQG(LAG), LoadFeedforward(INVERSE, 1e-9, 0.0)])
def test_a_feedback_is_no_fixed_part(fixed, alone):
    with pytest.raises(InputError, match="reads what is measured"):
        alone(AdaptiveRemainder(fixed, AdaptiveTimeSeries()), np.zeros(3))


def test_an_adaptive_prediction_within_an_inverse_is_refused_with_the_way_to_write_it():
    with pytest.raises(
        InputError, match=r"AdaptiveRemainder\(InverseModel\(process\), AdaptivePrediction\(...\)\)"
    ):
        InverseModel(LAG, AdaptivePrediction(0.005))
