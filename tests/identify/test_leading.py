"""An output that leads its input is told, and only that."""

import numpy as np
import pytest

from bondloop.identify import Data
from bondloop.identify.input_output import leading
from bondloop.transfer.process import first_order, second_order

H = 1e-3
NAMES = ("command", "position")


def excitation(rng, kind, n=8000):
    if kind == "noise":
        return rng.normal(size=n)
    if kind == "sweep":
        t = np.arange(n) * H
        return np.sin(2 * np.pi * (0.5 + 1.5 * t) * t)
    if kind == "staircase":
        return np.repeat(rng.normal(size=n // 250), 250)
    return np.repeat(np.sign(rng.normal(size=n // 20)), 20)  # a binary sequence


def drawn(rng):
    delay = rng.uniform(0, 0.008)
    if rng.random() < 0.5:
        return first_order(rng.uniform(0.5, 2), rng.uniform(0.008, 0.04), delay=delay)
    return second_order(rng.uniform(0.5, 2), rng.uniform(8, 30), rng.uniform(0.3, 1.2), delay=delay)


@pytest.mark.parametrize("kind", ["noise", "sweep", "binary", "staircase"])
@pytest.mark.parametrize("seed", range(8))
def test_drawn_rigs_both_ways_round(kind, seed):
    rng = np.random.default_rng(seed)
    u = excitation(rng, kind)
    y = drawn(rng).simulate(u, H)
    y = y + 0.003 * y.std() * rng.normal(size=y.size)
    assert not leading(u, y, H, NAMES)
    (said,) = leading(y, u, H, NAMES)
    assert "'position' leads the input 'command' by" in said
    assert said.endswith("(-u and -y) swapped?")


@pytest.mark.parametrize("kind", ["noise", "sweep", "binary"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_velocities_and_accelerations_may_lead(kind, order, seed):
    rng = np.random.default_rng(100 + seed)
    u = excitation(rng, kind)
    y = second_order(1, rng.uniform(8, 30), rng.uniform(0.3, 1.2), delay=rng.uniform(0.001, 0.008)).simulate(
        u, H
    )
    for _ in range(order):
        y = np.gradient(y, H)
    assert not leading(u, y, H, NAMES)


def test_an_inverted_sensor_does_not_lead():
    u = excitation(np.random.default_rng(1), "noise")
    assert not leading(u, -first_order(1, 0.02, delay=0.004).simulate(u, H), H, NAMES)


def test_the_force_of_a_spring_and_a_dashpot_may_lead():
    x = first_order(1, 0.02).simulate(excitation(np.random.default_rng(2), "sweep"), H)
    force = 1e5 * x + 2e3 * np.gradient(x, H)
    assert not leading(x, force, H, NAMES, "kN")
    assert leading(x, force, H, NAMES)  # without a unit it is asked
    assert leading(x, force, H, NAMES, "furlongs")


def test_one_sine_cannot_tell():
    t = np.arange(4000) * H
    assert not leading(np.sin(40 * t), np.sin(40 * t + 1.0), H, NAMES)


def test_selected_data_say_so():
    u = excitation(np.random.default_rng(3), "sweep")
    y = first_order(1, 0.022, delay=0.004).simulate(u, H)
    data = Data.from_arrays({"c": u, "x": y}, rate=1000)
    assert not data.select("c", "x").warnings
    assert any("swapped?" in w for w in data.select("x", "c").warnings)
