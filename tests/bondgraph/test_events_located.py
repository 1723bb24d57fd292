"""Events are located whatever the duration: short ones within a step, the first of several, fast gates."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bondloop.bondgraph import TF, C, Clutch, Diode, I, Input, Model, One, R, Se, Stop, Switch, Zero
from bondloop.errors import AccuracyWarning

from .switching_models import DRAWN, balls_on_a_line, buck, some

LONG = st.sampled_from([1.3, 7.0, 200.0, 1000.0])
FEW = settings(DRAWN, max_examples=4)
INSTANTS = 20_001


def box(gravity, up, height, restitution):
    """A ball that is thrown from a floor against a ceiling; downwards is positive."""
    m = Model("box")
    m.v, m.up = One(), One()
    m.floor, m.top = Stop(gap=0, restitution=1), Stop(gap=height, restitution=restitution)
    m.weight = Se(effort=gravity)
    m.weight >> m.v >> [I(mass=1, initial=-up), m.floor]
    m.v >> TF(modulus=-1) >> m.up >> m.top
    return m


@FEW
@given(LONG, some(1, 20), some(0.5, 0.9999), some(0, 1))
@example(200.0, 9.9, 0.96, 0.0)
def test_a_ceiling_is_met_before_the_floor(duration, up, share, restitution):
    # The throw would reach up^2 / 2g: the ceiling is lower, the floor is met later within the same long step.
    g = 9.8
    height = share * up**2 / (2 * g)
    times = np.linspace(0, duration, INSTANTS)
    run = box(g, up, height, restitution).compile().simulate(duration, times=times)
    at = (up - math.sqrt(up**2 - 2 * g * height)) / g
    first = run.events[0] if run.events else None
    assert (first is None) if at > duration else (first.path == "top")
    if first is not None:
        assert first.time == pytest.approx(at, rel=1e-8)
    assert run["top.displacement"].max() <= height + 1e-9
    assert run["floor.displacement"].max() <= 1e-9


def test_the_ceiling_of_a_throw_simulated_for_200_s():
    # Without it the throw reaches 5.0005 m.
    run = box(9.8, 9.9, 4.8, 0).compile().simulate(200)
    assert run.events[0].path == "top"
    assert run.events[0].time == pytest.approx((9.9 - math.sqrt(9.9**2 - 2 * 9.8 * 4.8)) / 9.8, rel=1e-9)


@FEW
@given(st.sampled_from([4.0, 30.0, 300.0]), some(-6, -1), some(0, 0.9))
def test_an_oscillator_that_barely_meets_a_stop(duration, exponent, restitution):
    gap = 2 - 10**exponent
    m = Model("oscillator")
    m.v, m.stop = One(), Stop(gap=gap, restitution=restitution)
    m.v >> [I(mass=1), C(stiffness=1, initial=-1), m.stop]
    run = m.compile().simulate(duration, times=np.linspace(0, duration, INSTANTS))
    # From rest at -1 it moves as 1 - cos t; an error in the path is more in the time of a slow meeting.
    assert run.events[0].time == pytest.approx(math.acos(1 - gap), abs=1e-8 / math.sin(math.acos(1 - gap)))
    assert run["stop.displacement"].max() <= gap + 1e-9


@FEW
@given(st.sampled_from([4.0, 60.0, 900.0]), some(-5, -2))
def test_a_diode_that_conducts_near_a_peak_only(duration, exponent):
    # The capacitor of an LC circuit swings as -cos t; the diode sees it above a voltage just below its peak.
    peak = 1 - 10**exponent
    m = Model("clamp")
    m.node, m.arm = One(), One()
    m.u, m.diode = Zero(), Diode()
    m.node >> I(inductance=1)
    m.u >> m.node
    m.u >> [C(capacitance=1, initial=-1), m.arm]
    m.arm >> [m.diode, R(resistance=1)]
    Se(effort=-peak) >> m.arm
    run = m.compile().simulate(duration)
    at = math.acos(-peak)
    assert (run.events[0].path, run.events[0].mode) == ("diode", "on")
    assert run.events[0].time == pytest.approx(at, abs=1e-8 / math.sin(at))


@FEW
@given(st.sampled_from([0.7, 30.0, 1000.0]), some(-6, -1), some(0.5, 60))
def test_a_clutch_that_slips_near_a_peak_only(duration, exponent, w):
    # Nothing moves while it sticks, so the solver takes its longest steps, over many periods of the force.
    capacity = 1 / (1 + 10**exponent)
    m = Model("brake")
    m.v, m.brake = One(), Clutch(capacity=capacity)
    Se("F") >> m.v >> [I(mass=1), m.brake]
    run = m.compile().simulate((0, duration), {"F": lambda t: -math.sin(w * t) * (t < 4 / w)})
    at = math.asin(capacity) / w
    if at < duration:
        assert run.events[0].mode == "sliding back"
        assert run.events[0].time == pytest.approx(at, rel=1e-9)


@FEW
@given(st.data(), st.integers(2, 3), some(0, 1), some(5, 20))
def test_long_steps_find_what_short_steps_find(data, n, restitution, duration):
    masses = data.draw(st.lists(some(0.5, 3), min_size=n, max_size=n))
    speeds = data.draw(st.lists(some(-2, 2), min_size=n, max_size=n))
    system = balls_on_a_line(masses, list(range(n)), speeds, restitution).compile()
    run, fine = system.simulate(duration), system.simulate(duration, max_step=duration / 400)
    assert [(e.path, e.mode) for e in run.events] == [(e.path, e.mode) for e in fine.events]
    np.testing.assert_allclose([e.time for e in run.events], [e.time for e in fine.events], rtol=1e-7)


@FEW
@given(some(0.3, 5), st.one_of(some(0.01, 0.03), some(0.97, 0.99)), some(150, 300))
def test_a_gate_changes_as_often_as_it_says(duration, duty, periods):
    # Pulses or pauses are shorter than an eighth of a thousandth of the duration.
    frequency = periods / duration
    m = Model("gate")
    m.loop, m.key = One(), Switch("gate")
    Se(effort=1) >> m.loop >> [m.key, R(resistance=1)]
    run = m.compile().simulate(duration, {"gate": lambda t: (frequency * t) % 1 < duty})
    k = np.arange(math.ceil(periods))
    at = np.sort(np.concatenate([(k + duty) / frequency, k[1:] / frequency]))
    at = at[at < duration]
    closed = [e for e in run.events if 0 < e.time < duration * (1 - 1e-12)]
    np.testing.assert_allclose([e.time for e in closed], at, rtol=1e-12)


def test_a_converter_with_a_slow_filter():
    # Its pulses are shorter than an eighth of a thousandth of the duration.
    frequency, duty, duration = 1e4, 0.03, 0.04
    m = buck(12, 1e-2, 1e-3, 5)
    run = m.compile(outputs=["out.effort"]).simulate(duration, {"gate": lambda t: (frequency * t) % 1 < duty})
    assert sum(e.path == "key" for e in run.events) == pytest.approx(2 * frequency * duration, abs=2)
    # Averaged: the same filter behind duty times the voltage, as long as the current is never cut off.
    a = Model("averaged")
    a.coil, a.out = One(), Zero()
    Se(effort=duty * 12) >> a.coil >> a.out >> [C(capacitance=1e-3), R(resistance=5)]
    a.coil >> I(inductance=1e-2)
    mean = a.compile(outputs=["out.effort"]).simulate(duration)["out.effort"]
    before = run.time < 0.009
    np.testing.assert_allclose(run["out.effort"][before], mean[before], atol=0.02 * 0.36)


@pytest.mark.parametrize("duration", [0.33, 2.1])
def test_a_rectifier_at_50_hz(duration):
    # No state, so the solver would step as far as it is let.
    m = Model("rectifier")
    m.loop, m.diode = One(), Diode()
    Se("v") >> m.loop >> [m.diode, R(resistance=1)]
    run = m.compile().simulate(duration, {"v": lambda t: math.sin(100 * math.pi * t)}, max_step=duration)
    at = np.arange(1, round(duration * 100)) / 100
    np.testing.assert_allclose([e.time for e in run.events if 1e-9 < e.time < duration - 1e-9], at, rtol=1e-9)


def test_a_command_through_a_signal_is_known_by_time_alone():
    m = Model("gate")
    m.loop, m.key, m.command = One(), Switch(threshold=0.25), Input("command")
    m.command >> m.key
    Se(effort=1) >> m.loop >> [m.key, R(resistance=1)]
    run = m.compile().simulate(200, {"command": lambda t: math.sin(2 * math.pi * t)})
    first = math.asin(0.25) / (2 * math.pi)
    assert len(run.events) == 400
    assert run.events[0].time == pytest.approx(first, rel=1e-12)
    assert run.events[-1].time == pytest.approx(199.5 - first, rel=1e-12)


def test_rows_of_a_gate_are_followed_from_row_to_row():
    m = Model("gate")
    m.loop, m.key = One(), Switch("gate")
    Se(effort=1) >> m.loop >> [m.key, R(resistance=1)]
    times = np.sort(np.random.default_rng(1).uniform(0, 100, 200))
    run = m.compile().simulate(100, {"gate": (times, np.arange(200) % 2)})
    np.testing.assert_allclose([e.time for e in run.events], 0.5 * (times[1:] + times[:-1]), rtol=1e-12)


def test_a_gate_that_cannot_be_seen_is_told():
    m = Model("gate")
    m.loop, m.key = One(), Switch("gate")
    Se(effort=1) >> m.loop >> [m.key, R(resistance=1)]
    with pytest.warns(AccuracyWarning, match=r"the command of key was looked at .* changes may be missed"):
        m.compile().simulate(1, {"gate": lambda t: t % 0.02 < 5e-7})


def test_two_gates_that_are_opposite_change_together():
    m = Model("half bridge")
    m.high, m.low, m.node, m.load = One(), One(), Zero(), One()
    m.upper, m.lower = Switch("upper"), Switch("lower")
    Se(effort=10) >> m.high >> m.node
    m.high >> m.upper
    m.low >> m.node
    m.low >> m.lower
    m.node >> m.load >> [R(resistance=1), I(inductance=1e-3)]
    gates = {"upper": lambda t: (1e3 * t + 0.3) % 1 < 0.5, "lower": lambda t: (1e3 * t + 0.3) % 1 >= 0.5}
    run = m.compile().simulate(0.02, gates)
    times = [e.time for e in run.events]
    assert len(run.events) == 2 * len(set(times))
    assert len(set(times)) == 40
