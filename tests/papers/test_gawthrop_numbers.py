"""What the page about Gawthrop 2005 says beside its tables, as the example prints it."""

import gawthrop_numbers
import numpy as np
import pytest

from bondloop.papers import gawthrop_two_actuators as two


@pytest.fixture(scope="module")
def numbers():
    return gawthrop_numbers.numbers()


def test_every_number_is_what_the_page_says(numbers):
    expected = {
        "Figure 7 (b): largest command in the first 20 s [N]": 2.117,
        "Figure 7: largest error of the transfer system [mm]": 5.463,
        "Figure 7: the same after 10 s [mm]": 0.05385,
        "double well about its middle, fastest pole [1/s]": 1.255,
        "two samples late, growth [1/s]": 0.9041,
        "two samples late, larger error in 1 s [%]": 15.42,
        "two samples late, stroke reached after [s]": 4.922,
        "middle mass held, growth of side 1 [1/s]": 8.719,
        "middle mass held, growth of side 2 [1/s]": 7.021,
        "departure from proportion at 3 Hz, gain that falls, open loop [%]": 33.85,
        "departure from proportion at 3 Hz, gain that falls, closed loop [%]": 4.683,
        "departure from proportion at 10 Hz, gain that falls, open loop [%]": 33.85,
        "departure from proportion at 10 Hz, gain that falls, closed loop [%]": 51.12,
        "departure from proportion at 3 Hz, saturation, open loop [%]": 33.80,
        "departure from proportion at 3 Hz, saturation, closed loop [%]": 0.0,
        "departure from proportion at 10 Hz, saturation, open loop [%]": 33.67,
        "departure from proportion at 10 Hz, saturation, closed loop [%]": 65.02,
        "departure from proportion at 3 Hz, 5 N of friction, open loop [%]": 63.54,
        "departure from proportion at 3 Hz, 5 N of friction, closed loop [%]": 46.38,
        "departure from proportion at 10 Hz, 5 N of friction, open loop [%]": 63.17,
        "departure from proportion at 10 Hz, 5 N of friction, closed loop [%]": 59.14,
        "delay of actuator 1 by the formula of the hold [ms]": 0.849,
        "delay of actuator 2 by the formula of the hold [ms]": 0.683,
        "sizing at 5/5 Hz, 1 mm: force of drive 1 [N]": 3.725,
        "sizing at 5/5 Hz, 1 mm: speed of drive 1 [mm/s]": 20.35,
        "sizing at 5/5 Hz, 1 mm: force of drive 2 [N]": 4.773,
        "sizing at 5/5 Hz, 1 mm: speed of drive 2 [mm/s]": 20.35,
    }
    loops = {f"(11), off the closed form at g = {g:g}" for g in (0.6, 0.8, 1.0)}
    assert numbers.keys() == expected.keys() | loops
    assert {name: numbers[name] for name in expected} == pytest.approx(expected, rel=2e-3, abs=1e-9)
    assert all(numbers[name] < 2e-10 for name in loops)


def test_the_inverse_is_a_balance_of_forces(numbers):
    """At 5/5 Hz the middle mass stands still: F = (m s + c + d + k/s) v of one side alone, in letters."""
    s = 2j * np.pi * 5
    wall = 1e-3 * s  # velocity of the wall, 1 mm
    link = two.DAMPING + two.STIFFNESS / s
    speed = link * wall / (two.MASS * s + 2 * link)
    assert numbers["sizing at 5/5 Hz, 1 mm: speed of drive 1 [mm/s]"] == pytest.approx(
        1e3 * abs(speed), rel=1e-3
    )
    for i, (c, k) in enumerate(two.TABLE_I, 1):
        force = (two.MASS * s + c + k * 5e-4 + link) * speed
        assert numbers[f"sizing at 5/5 Hz, 1 mm: force of drive {i} [N]"] == pytest.approx(
            abs(force), rel=2e-3
        )
