"""Stops and clutches in simulation: every model against its closed form, with drawn parameters."""

import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from bondloop.bondgraph import (
    MTF,
    TF,
    C,
    CField,
    Clutch,
    Df,
    I,
    IField,
    Input,
    Model,
    One,
    R,
    Se,
    SignalIntegrator,
    Stop,
    Switch,
    Zero,
)
from bondloop.errors import InputError

sys.path.insert(0, str(Path(__file__).parent))
from switching_models import DRAWN, ball, balls_on_a_line, clutch, some


@DRAWN
@given(some(0.1, 50), some(0.5, 20), some(0.01, 5), some(0.1, 0.85))
def test_a_ball_bounces_by_the_closed_form_and_comes_to_rest(mass, gravity, height, restitution):
    """Falls for T, then flies 2 e T, 2 e² T, ...: at rest after T (1 + e) / (1 - e)."""
    fall = np.sqrt(2 * height / gravity)
    rest = fall * (1 + restitution) / (1 - restitution)
    system = ball(mass, gravity, height, restitution).compile()
    run = system.simulate(1.2 * rest)
    number = np.arange(8)
    hits = fall * (1 + 2 * restitution * (1 - restitution**number) / (1 - restitution))
    np.testing.assert_allclose([e.time for e in run.events[:8]], hits, rtol=1e-9)
    assert run.events[-1].mode == "closed"
    # What is left out are flights shorter than 1e-8 of the duration: a geometric series of them.
    least = rest - 1.2e-8 * rest / (1 - restitution)
    located = 1e-9 * rest / (1 - restitution)  # an error of one hit is carried on by all that follow
    assert least - located < run.events[-1].time < rest * (1 + 1e-9)
    assert run["floor.effort"][-1] == pytest.approx(mass * gravity, rel=1e-12)
    assert run["v.flow"][-1] == 0
    # Each blow takes 1 - e² of the kinetic energy.
    place = "mass.momentum"
    assert [e.mode for e in run.events[:8]] == ["rebound"] * 8
    for event in run.events[:8]:
        before, after = event.before[place] ** 2 / 2 / mass, event.after[place] ** 2 / 2 / mass
        assert before - after == pytest.approx((1 - restitution**2) * before, rel=1e-9)


def test_a_ball_that_loses_nothing_bounces_for_ever():
    run = ball(2.0, 9.81, 1.0, 1.0).compile().simulate(5)
    fall = np.sqrt(2 / 9.81)
    np.testing.assert_allclose([e.time for e in run.events], fall * (1 + 2 * np.arange(6)), rtol=1e-10)
    energy = run["mass.momentum"] ** 2 / 4 - 2 * 9.81 * run["floor.displacement"]
    assert np.abs(energy).max() < 1e-9 * 2 * 9.81


def test_a_stop_lets_go_when_it_is_pulled():
    m = ball(1.0, 10.0, 0.5, 0.0)
    run = m.compile().simulate(2, {"weight": lambda t: 10.0 if t < 1 else -4.0})
    assert [(e.path, e.mode) for e in run.events] == [("floor", "closed"), ("floor", "free")]
    assert run.events[1].time == pytest.approx(1, abs=1e-9)
    assert run["floor.displacement"][-1] == pytest.approx(0.5 - 4 / 2, abs=1e-8)


def test_a_stop_without_a_mass_holds_a_spring():
    """Nothing is struck: the flow just ends, and the force is what the other side gives."""
    m = Model("massless")
    m.v, m.stop = One(), Stop(gap=0.1, restitution=0.9)
    Se(effort=6.0) >> m.v >> [R(damping=2.0), C(stiffness=10.0), m.stop]
    run = m.compile().simulate(1)
    # v = 3 exp(-5 t), x = 0.6 (1 - exp(-5 t)) = 0.1
    assert run.events[0].time == pytest.approx(-np.log(1 - 0.1 / 0.6) / 5, rel=1e-9)
    assert run["stop.effort"][-1] == pytest.approx(6 - 10 * 0.1, rel=1e-9)
    assert len(run.events) == 1


def blows(masses, x, v, e, end):
    """Straight lines from blow to blow, each with Newton's law and momentum kept."""
    x, v, t, count = np.array(x), np.array(v), 0.0, 0
    while True:
        ahead = [(g / s if s > 1e-12 else np.inf) for g, s in zip(np.diff(x), -np.diff(v), strict=True)]
        i = int(np.argmin(ahead)) if ahead else 0
        if not ahead or t + max(ahead[i], 0.0) > end:
            return x + v * (end - t), v, count
        x, t, count = x + v * max(ahead[i], 0.0), t + max(ahead[i], 0.0), count + 1
        a, b = masses[i], masses[i + 1]
        impulse = (1 + e) * (v[i] - v[i + 1]) * a * b / (a + b)
        v = v.copy()
        v[i] -= impulse / a
        v[i + 1] += impulse / b


@DRAWN
@given(
    st.lists(some(0.5, 4), min_size=3, max_size=4),
    st.lists(some(0.1, 1), min_size=3, max_size=3),
    st.lists(some(-2, 2), min_size=4, max_size=4),
    some(0.5, 1.0),
)
def test_balls_on_a_line_meet_as_computed_blow_by_blow(masses, gaps, velocities, restitution):
    n = len(masses)
    positions = np.concatenate([[0.0], np.cumsum(gaps)])[:n]
    x, v, count = blows(masses, positions, velocities[:n], restitution, 3.0)
    run = balls_on_a_line(masses, positions, velocities[:n], restitution).compile().simulate(3.0)
    assert len(run.events) == count
    np.testing.assert_allclose([run[f"v[{i}].flow"][-1] for i in range(n)], v, atol=1e-9)
    end = [run[f"gap[{i}].displacement"][-1] for i in range(n - 1)]
    np.testing.assert_allclose(end, -np.diff(x) + np.diff(positions), atol=1e-9)


def test_balls_that_touch_hand_the_blow_on():
    """Newton's cradle: three blows at one instant, one after the other."""
    m = balls_on_a_line([1.0] * 4, [0.0, 0.5, 0.5, 0.5], [1.0, 0.0, 0.0, 0.0], 1.0)
    run = m.compile().simulate(2)
    np.testing.assert_allclose([run[f"v[{i}].flow"][-1] for i in range(4)], [0, 0, 0, 1], atol=1e-12)
    assert [e.path for e in run.events] == ["gap[0]", "gap[1]", "gap[2]"]


@DRAWN
@given(some(0.1, 5), some(0.1, 5), some(-50, 50), some(-50, 50), some(1, 100))
def test_a_clutch_slips_until_both_shafts_turn_alike(j1, j2, w1, w2, capacity):
    """The slip falls evenly; momentum is kept, and all that is lost is heat of the clutch."""
    if abs(w1 - w2) < 0.1:
        return
    reduced = j1 * j2 / (j1 + j2)
    slip_time = reduced * abs(w1 - w2) / capacity
    run = clutch((j1, j2), (w1, w2), capacity).compile().simulate(2 * slip_time)
    (event,) = run.events
    assert event.mode == "stuck"
    assert event.time == pytest.approx(slip_time, rel=1e-9)
    together = (j1 * w1 + j2 * w2) / (j1 + j2)
    scale = abs(w1) + abs(w2)
    assert run["w[0].flow"][-1] == pytest.approx(together, abs=1e-9 * scale)
    assert run["w[1].flow"][-1] == pytest.approx(together, abs=1e-9 * scale)
    heat = np.trapezoid(run["clutch.effort"] * run["clutch.flow"], run.time)
    assert heat == pytest.approx(reduced * (w1 - w2) ** 2 / 2, rel=2e-3)  # trapezoids over the kink


def test_a_clutch_is_engaged_by_a_signal():
    """Its capacity grows as 10 t, so that the slip ends when 5 t² is what it had to give."""
    m = clutch((1.0, 3.0), (8.0, 0.0), 1.0)
    m.swap("clutch", Clutch(lambda pressure: 2 * pressure))
    m.pressure = Input("pressure")
    m.pressure >> m.clutch
    run = m.compile().simulate(2, {"pressure": lambda t: 5 * t})
    (event,) = run.events
    assert event.time == pytest.approx(np.sqrt(0.75 * 8 / 5), rel=1e-9)
    assert run["w[1].flow"][-1] == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("method", ["RK45", "Radau", "BDF", "LSODA"])
def test_any_solver_will_do(method):
    run = ball(2.0, 9.81, 1.0, 0.5).compile().simulate(1.5, method=method, rtol=1e-8, atol=1e-10)
    fall = np.sqrt(2 / 9.81)
    np.testing.assert_allclose([e.time for e in run.events[:3]], fall * np.array([1, 2, 2.5]), rtol=1e-6)
    assert run["floor.mode"][-1] == 0


@DRAWN
@given(some(0.2, 3), some(0.2, 3), some(-3, 3), some(-3, 3), some(0.2, 3))
def test_a_clutch_that_sticks_gives_way_beyond_its_capacity(j1, j2, drive, load, capacity):
    """Sticking, it carries (T1 J2 - T2 J1) / (J1 + J2)."""
    carried = (drive * j2 - load * j1) / (j1 + j2)
    if abs(abs(carried) - capacity) < 1e-3:
        return
    run = clutch((j1, j2), (1.0, 1.0), capacity, (drive, load)).compile().simulate(1.0)
    if abs(carried) < capacity:
        slip, effort = 0.0, carried
    else:
        effort = np.copysign(capacity, carried)
        slip = (drive - effort) / j1 - (load + effort) / j2
    assert run["clutch.effort"][-1] == pytest.approx(effort, rel=1e-9)
    assert run["clutch.flow"][-1] == pytest.approx(slip, abs=1e-9)


def test_dry_friction_with_a_reversing_force_sticks_and_slides():
    """1 kg, 2 N of friction, a force of 3 sin t: it slides when the force passes 2 N, both ways alike."""
    m = Model("slider")
    m.v, m.friction = One(), Clutch(capacity=2.0)
    Se("F") >> m.v >> [I(mass=1.0), m.friction]
    run = m.compile().simulate(4 * np.pi, {"F": lambda t: 3 * np.sin(t)})
    t1 = np.arcsin(2 / 3)

    def speed(t):
        return 3 * (np.cos(t1) - np.cos(t)) - 2 * (t - t1)

    t2 = brentq(speed, np.pi / 2, np.pi + 1)
    times = [e.time for e in run.events]
    assert [e.mode for e in run.events[:4]] == ["sliding", "stuck", "sliding back", "stuck"]
    np.testing.assert_allclose(times[:4], [t1, t2, np.pi + t1, np.pi + t2], atol=1e-8)


@settings(DRAWN, max_examples=10)
@given(st.data(), st.integers(2, 5), st.integers(1, 3))
def test_a_blow_is_the_nearest_motion_that_the_constraints_allow(data, n, k):
    """Gauss and Carnot: v⁺ minimises the kinetic energy of v⁺ - v⁻, computed here from matrices.

    Each constraint says that a sum of velocities, through transformers, is zero; all begin at one instant.
    """
    masses = data.draw(st.lists(some(0.2, 5), min_size=n, max_size=n))
    speeds = data.draw(st.lists(some(-3, 3), min_size=n, max_size=n))
    A = np.zeros((k, n))
    m = Model("constrained")
    m.v, m.sum, m.lock = [One() for _ in range(n)], [Zero() for _ in range(k)], [Switch() for _ in range(k)]
    m.free = Input("free")
    for v, mass, speed in zip(m.v, masses, speeds, strict=True):
        v >> I(mass=mass, initial=mass * speed)
    for row, node, lock in zip(A, m.sum, m.lock, strict=True):
        for i in data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3, unique=True)):
            row[i] = data.draw(st.sampled_from([-2.0, -1.0, 0.5, 1.0, 1.7]))
            m.v[i] >> TF(modulus=row[i]) >> node
        node >> lock
        m.free >> lock
    if np.linalg.svd(A)[1][min(k, n) - 1] < 1e-3 or k > n:
        return  # constraints that say the same twice
    run = m.compile().simulate(2, {"free": lambda t: t < 1}, max_step=0.1)
    W = np.diag(1 / np.array(masses))
    v = np.array(speeds)
    expected = v - W @ A.T @ np.linalg.solve(A @ W @ A.T, A @ v)
    np.testing.assert_allclose([run[f"v[{i}].flow"][-1] for i in range(n)], expected, atol=1e-10)


def test_a_controlled_junction_joins_two_shafts_and_momentum_is_kept():
    """A switch at a 0-junction: closed, no torque passes; open, the gear turns both."""
    m = Model("dog")
    m.w1, m.w2, m.teeth, m.free, m.gear = One(), One(), Zero(), Switch("free"), TF(modulus=0.5)
    m.w1 >> I(inertia=2.0, initial=20.0)
    m.w2 >> I(inertia=3.0, initial=-3.0)
    m.w1 >> m.gear >> m.teeth >> m.w2
    m.teeth >> m.free
    run = m.compile().simulate(3, {"free": lambda t: not 1 <= t < 2})
    after = (20 + 0.5 * -3) / (2 + 0.25 * 3)
    assert run["w1.flow"][-1] == pytest.approx(after, rel=1e-12)
    assert run["w2.flow"][-1] == pytest.approx(0.5 * after, rel=1e-12)
    assert [e.mode for e in run.events] == ["open", "closed"]


def test_a_blow_on_a_field_of_masses():
    """M (v⁺ - v⁻) is an impulse on the first velocity alone, which comes back with -e times its value."""
    M, e = np.array([[2.0, 1.0], [1.0, 3.0]]), 0.5
    m = Model("field")
    m.v, m.stop, m.field = One(size=2), Stop(gap=0.5, restitution=e), IField(M, initial=[1.0, 0.2])
    m.v >> [m.field, CField(np.array([[8.0, -4.0], [-4.0, 4.0]]))]
    m.v[0] >> m.stop
    system = m.compile()
    event = system.simulate(3).events[0]
    before, after = (
        np.array([x[f"field[{i}].flow.state"] for i in range(2)]) for x in (event.before, event.after)
    )
    assert after[0] == pytest.approx(-e * before[0], rel=1e-9)
    assert (M @ (after - before))[1] == pytest.approx(0, abs=1e-12)


def test_a_blow_between_masses_whose_law_is_not_linear():
    """v = p + p³ meets 2 kg: both move alike, and momentum is kept."""
    m = Model("bent")
    m.a, m.b, m.between, m.free = One(), One(), Zero(), Switch("free")
    m.a >> I(law=lambda p: p + p**3, inverse="newton", initial=1.0)
    m.b >> I(mass=2.0, initial=3.0)
    m.a >> m.between >> m.b
    m.between >> m.free
    run = m.compile().simulate(2, {"free": lambda t: t < 1}, max_step=0.1)
    p = brentq(lambda p: p + p**3 - (4 - p) / 2, 0, 4)
    assert run["a.flow"][-1] == pytest.approx(p + p**3, rel=1e-10)
    assert run["b.flow"][-1] == pytest.approx(p + p**3, rel=1e-10)


def test_a_blow_through_a_modulated_transformer():
    """A crank: the blow meets J + m cos² of the angle, which the angle itself does not feel."""
    m = Model("crank")
    m.w, m.x, m.speed, m.angle = One(), One(), Df(), SignalIntegrator(initial=0.3)
    m.arm, m.stop = MTF(sp.cos), Stop(gap=0.4, restitution=0.5)
    m.w >> I(inertia=1.0, initial=1.0)
    m.w >> m.arm >> m.x >> [I(mass=0.5), m.stop]
    m.w >> m.speed >> m.angle >> m.arm
    run = m.compile().simulate(2)
    event = run.events[0]
    before, after = event.before, event.after
    # The stop is met after sin(angle) has grown by 0.4.
    assert np.sin(before["angle.value"]) == pytest.approx(np.sin(0.3) + 0.4, rel=1e-9)
    assert after["angle.value"] == before["angle.value"]
    assert after["I.momentum"] == pytest.approx(-0.5 * before["I.momentum"], rel=1e-9)
    # J w² + m (w cos)² is kept until then.
    w = before["I.momentum"]
    cosines = np.cos([0.3, before["angle.value"]]) ** 2
    assert w**2 * (1 + 0.5 * cosines[1]) == pytest.approx(1 + 0.5 * cosines[0], rel=1e-8)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Stop(gap="3 kg"),
        lambda: Stop(gap="3 mm", initial="1 V"),
        lambda: Stop(restitution=1.5),
        lambda: Clutch(capacity="3 mm"),
        lambda: Clutch(capacity=-1.0),
    ],
)
def test_parameters_that_cannot_be_are_refused(make):
    with pytest.raises(InputError, match="expected"):
        make()
    assert Stop("3 mm").parameters["gap"] == pytest.approx(0.003)
    assert Clutch("3 kN").parameters["capacity"] == 3000.0
