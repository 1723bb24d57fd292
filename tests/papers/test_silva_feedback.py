"""The benchmark with an adaptive remainder, LQG and loop shaping: what they reach."""

import pytest

from bondloop.papers import silva_benchmark as paper
from bondloop.papers.silva_benchmark import criteria

FLOOR = {1: (2.56, 2.82), 4: (2.00, 2.20)}
"""J2 and J4 of a rig that moves as it should, by case: the sensor's noise, and 1.1 times it."""


@pytest.fixture(scope="module")
def found():
    return lambda controller, case, plant=0: criteria(
        paper.test(case, controller, plant=plant).run(paper.SECONDS)
    )


@pytest.mark.parametrize(("case", "plant"), [(1, 0), (4, 0), (4, 12)])
def test_the_remainder_tracks_to_the_noise_of_the_sensors(found, case, plant):
    seen = found("remainder", case, plant)
    noise, tenth_more = FLOOR[case]
    assert abs(seen["delay_ms"]) <= 0.25
    assert seen["tracking_rms_percent"] <= 1.01 * noise
    assert seen["floor_1_rms_percent"] <= tenth_more
    assert seen["floor_2_rms_percent"] <= 0.2
    assert seen["floor_3_rms_percent"] <= 0.2


@pytest.mark.parametrize(("controller", "nominal", "other"), [("lqg", 2.12, 2.3), ("hinf", 2.06, 2.6)])
def test_a_feedback_is_worth_most_on_another_plant(found, controller, nominal, other):
    """The inverse alone has 6.8 % there (J4)."""
    assert found(controller, 4)["floor_1_rms_percent"] <= nominal
    assert found(controller, 4, 12)["floor_1_rms_percent"] <= other


def test_the_loop_with_the_remainder_has_the_margin_of_the_benchmark_itself():
    """Its critical delay is 8.73 ms in case 4, for a loop without any other delay: none is left here."""
    margins = paper.test(4, "remainder", noise=False).check(0.1).margins
    assert margins.delay.value == pytest.approx(8.73e-3, rel=2e-3)
