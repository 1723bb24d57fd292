"""A test whose excitation is held: the same up to then, at rest after it, and no jump of what is a place."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for small_pair.py

from small_pair import halves

from bondloop import control, signals
from bondloop.bondgraph import C, I, Model, One, R, Se, Zero
from bondloop.hybrid import HybridTest, PseudoDynamicTest, Switches
from bondloop.integrate import SubStep
from bondloop.papers.catalogue import find
from bondloop.rigs import Emulated, ShakingTable, Specimen
from bondloop.safety import RampedSwitch
from bondloop.signals import (
    Constant,
    Earthquake,
    Held,
    Noise,
    Rise,
    Sine,
    Step,
    Table,
    brought_to_rest,
    ground_brought_to_rest,
)
from bondloop.structures import Matrices
from bondloop.transfer import MassSpringDamper

ACTUATOR = MassSpringDamper(1.0, 2000.0, 1e6)
MORE = {
    "dubois-damper": 2.667,
    "gawthrop-three-mass": 4.0,
    "gawthrop-two-actuators": 1.003,
    "mr-damper-building": 3.001,
    "silva-benchmark": 2.5,
    "wagg-three-mass": 4.0,
    "wagg-two-mass-rig": 5.0,
}


def test_of(signal, **options):
    numerical, physical = halves("held", {"spring": C(stiffness=800.0)})
    settings = {"controller": control.Direct(), "rate": 1000, "excitation": {"v_wall": signal}, **options}
    return HybridTest(numerical, rig=Emulated(physical, ACTUATOR), **settings)


test_of.__test__ = False


@pytest.mark.parametrize("name", MORE)
def test_up_to_then_nothing_changes_and_then_no_excitation_is_left(name):
    test = find(name).load().test()
    at = round(MORE[name] / test.period) * test.period
    held = test.held(at)
    own, run = test.run(2 * at), held.run(2 * at)
    k = round(at / test.period)
    for channel, values in own.record.channels.items():
        assert np.array_equal(values[: k + 1], run[channel][: k + 1], equal_nan=True), channel
    for channel in held.excitation:
        assert np.all(run[channel][-(k // 2) :] == 0.0)


@pytest.mark.parametrize(
    "signal",
    [
        Sine("3 mm/s", 2.0),
        3 * Sine("1 mm/s", 2.0) + Sine("2 mm/s", 7.0),
        Noise(rms="2 mm/s", low=1, high=20, duration=4, seed=3),
        Table([0, 0.31, 0.9, 2], [0, 4e-3, -3e-3, 2e-3], unit="m/s"),
    ],
)
def test_a_wall_stops_where_it_is(signal):
    held = test_of(signal, record=["numerical.spring.displacement"]).held(1.25)
    run = held.run(4.0)
    assert np.all(run["v_wall"][run.time > 1.2505] == 0.0)
    # The wall stays, so the structure comes to rest where the two springs share what it has moved.
    wall = np.trapezoid(np.asarray(signal(np.linspace(0, 1.25, 100_001))), dx=1.25e-5)
    assert run["desired.displacement"][-1] == pytest.approx(wall * 5000 / 5800, rel=2e-2)


def test_what_is_there_from_the_start_stays_as_a_weight_does():
    whole = Model("loaded")
    whole.push, whole.weight, whole.v = Se("push"), Se("weight"), One()
    whole.spring, whole.shear = C(stiffness=500.0), Zero()
    [whole.push, whole.weight] >> whole.v >> [I(mass=2.0), R(damping=20.0), whole.shear]
    whole.shear >> whole.spring
    numerical, physical = whole.cut("v >> shear")
    test = HybridTest(
        numerical,
        rig=Emulated(physical, ACTUATOR),
        controller=control.Direct(),
        rate=1000,
        excitation={"push": Rise("10 N", end=1.0) + Sine("5 N", 3.0), "weight": Constant("2 N")},
    )
    held = test.held(1.125)
    values = held.excitation["push"](np.array([1.125, 1.13, 9.0]))
    assert values.tolist() == pytest.approx([10 + 5 * np.sin(2 * np.pi * 3 * 1.125), 10.0, 10.0])
    assert held.run(6.0)["desired.displacement"][-1] == pytest.approx(12.0 / 500.0, rel=1e-2)


def test_signals_tell_from_when_on_they_are_steady():
    cases = [
        (Constant(3.0), 0.0),
        (Step(1.0, at=2), 2.0),
        (Rise(1.0, end=4), 4.0),
        (Rise(1.0, end=4).shifted(1) + Step(2.0, at=1), 5.0),
        (Table([0, 2], [0, 1]), 2.0),
        (Sine(1.0, 1.0), np.inf),
        (signals.Sweep(1.0, start=1, stop=2, duration=3), np.inf),
        (Noise(rms=1.0, low=1, high=2, duration=3), np.inf),
    ]
    for signal, steady in cases:
        assert signal.steady_from == steady
        if steady < np.inf:
            assert np.ptp(signal(steady + np.linspace(0.001, 50, 1000))) == 0.0


def test_the_ground_comes_to_rest_and_not_to_a_steady_velocity():
    quake = Earthquake("0.3 gn", duration=20, seed=3)
    at = 7.3
    held = ground_brought_to_rest(quake, at)
    times = np.linspace(0, 12, 240_001)
    values = held(times)
    velocity = np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2) * 5e-5])
    assert abs(velocity[np.searchsorted(times, at)]) > 1e-2
    assert abs(velocity[-1]) < 1e-4
    assert np.abs(values).max() == np.abs(values[times <= at]).max()
    assert np.array_equal(values[times <= at], quake(times)[times <= at])


def test_a_velocity_whose_rate_is_needed_is_brought_to_rest_no_harder_than_before():
    sine = Sine("3 mm/s", 2.0)
    held = brought_to_rest(sine, 1.05)
    rate = held.derivative()
    times = np.linspace(0, 3, 30_001)
    assert np.abs(rate(times)).max() <= np.abs(sine.derivative()(times)).max() * (1 + 1e-9)
    assert abs(held(3.0)) < 1e-18
    assert np.array_equal(held(times)[times <= 1.05], sine(times)[times <= 1.05])


def test_a_held_displacement_has_a_derivative_that_ends_and_a_jump_has_none():
    still = Held(Sine(1.0, 1.0), at=0.1, value=float(Sine(1.0, 1.0)(0.1)))
    assert still.derivative()(np.array([0.05, 0.2])).tolist() == [
        pytest.approx(2 * np.pi * np.cos(0.1 * np.pi)),
        0.0,
    ]
    with pytest.raises(Exception, match="holds an impulse"):
        Held(Sine(1.0, 1.0), at=0.1, value=0.0).derivative()
    assert signals.signal_from(still.describe()) == still


def test_the_reference_of_an_adaptive_controller_stays_where_it_is():
    test = find("wagg-two-mass-rig").load().test()
    held = test.held(20.0)
    demand = test.controller.reference
    assert demand is not None
    assert held.controller.reference(99.0) == demand(20.0) != 0.0


def test_switches_on_schedule_are_no_excitation():
    switches = Switches(RampedSwitch(1.0), RampedSwitch(Step(1.0, at=1.0), ramp=0.2))
    test = test_of(Sine("3 mm/s", 2.0), switches=switches)
    assert test.held(0.5).switches is test.switches


def test_a_pseudo_dynamic_test_is_held_too():
    specimen = Matrices([[0, 0], [0, 1.0]], None, [[4e3, -4e3], [-4e3, 4e3]], ("base", "damper"))
    test = PseudoDynamicTest(
        Matrices([[20.0]], [[30.0]], [[8e4]], ("floor",)),
        scheme=SubStep(5),
        rig=ShakingTable(Specimen.from_matrices(specimen, "base")),
        interface="floor",
        excitation={"floor": Sine("100 N", 2.0), "support": (Sine("2 mm", 3.0), {"floor": 8e4})},
        time_step=0.002,
    )
    held = test.held(0.55)
    own, run = test.run(1.0), held.run(3.0)
    k = round(0.55 / 0.002)
    assert np.array_equal(own["force"][:k], run["force"][:k])
    assert run["floor"][-1] == 0.0
    assert run["support"][-1] == pytest.approx(2e-3 * np.sin(2 * np.pi * 3 * 0.55))
