"""Switches and diodes in simulation: every circuit against its closed form, with drawn parameters."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.optimize import brentq

from bondloop.bondgraph import GY, TF, C, Diode, I, Model, One, R, Se, Stop, Switch, Zero

sys.path.insert(0, str(Path(__file__).parent))
from energy_models import RELAY, relay
from switching_models import DRAWN, bridge, buck, diodes_between_capacitors, some


def buck_exactly(voltage, L, cap, res, period, duty, cycles):
    """Current and voltage after some cycles: matrix exponentials from event to event."""
    A = np.array([[0, -1 / L, 1 / L], [1 / cap, -1 / (res * cap), 0], [0, 0, 0]])  # the last is the supply
    x, blocked = np.zeros(2), 0.0
    for _ in range(cycles):
        x = (expm(A * duty * period) @ [*x, voltage])[:2]
        left = (1 - duty) * period

        def current(t, x=x):
            return (expm(A * t) @ [*x, 0.0])[0]

        if current(left) < 0:
            # The current may swing back up: the first zero counts.
            grid = np.linspace(0, left, 50)
            k = next(i for i, t in enumerate(grid) if i and current(t) < 0)
            zero = brentq(current, grid[k - 1], grid[k], xtol=1e-16)
            v = (expm(A * zero) @ [*x, 0.0])[1] * np.exp(-(left - zero) / (res * cap))
            x, blocked = np.array([0.0, v]), blocked + left - zero
        else:
            x = (expm(A * left) @ [*x, 0.0])[:2]
    return x, blocked


@settings(DRAWN, max_examples=4)
@given(some(5, 50), some(0.2, 0.8), some(-1, 1.5), some(0.5, 3))
def test_a_buck_converter_in_both_conduction_modes(voltage, duty, logarithm, scale):
    """Light loads let the current come to rest in every cycle (discontinuous conduction)."""
    L, cap, res, period = 1e-3 * scale, 1e-4, 10 * 10**logarithm, 1e-4
    cycles = 6
    x, blocked = buck_exactly(voltage, L, cap, res, period, duty, cycles)
    run = (
        buck(voltage, L, cap, res)
        .compile(outputs=["out.effort", "coil.flow"])
        .simulate(cycles * period, {"gate": lambda t: (t / period + 1e-12) % 1 < duty}, max_step=period / 20)
    )
    assert run["out.effort"][-1] == pytest.approx(x[1], rel=1e-7)
    assert run["coil.flow"][-1] == pytest.approx(x[0], abs=1e-7 * voltage)
    seen = {e.mode for e in run.events if e.path == "diode"}
    assert seen == {"on", "off"}
    resting = (run["key.mode"] == 0) & (run["diode.mode"] == 0)
    assert (blocked > 0.02 * cycles * period) <= bool(resting.any())


@settings(DRAWN, max_examples=4)
@given(some(1, 100), some(5, 50), some(1e-4, 2e-3))
def test_a_rectifier_with_a_capacitor(voltage, resistance, capacitance):
    """It lets go where C dv/dt + v / R = 0, and conducts again where the decaying voltage is met."""
    omega = 2 * np.pi * 50
    m = Model("rectifier")
    m.line, m.out, m.diode = One(), Zero(), Diode()
    Se("v") >> m.line >> m.out
    m.line >> m.diode
    m.out >> [C(capacitance=capacitance), R(resistance=resistance)]
    run = m.compile(outputs=["out.effort"]).simulate(
        0.05,
        {"v": lambda t: voltage * np.sin(omega * t), "d/dt v": lambda t: voltage * omega * np.cos(omega * t)},
    )
    off = (np.pi - np.arctan(omega * resistance * capacitance)) / omega

    def lacking(t):
        return np.sin(omega * t) - np.sin(omega * off) * np.exp(-(t - off) / (resistance * capacitance))

    on = brentq(lacking, 0.02, 0.025)
    np.testing.assert_allclose([e.time for e in run.events[1:4]], [off, on, off + 0.02], rtol=1e-9)
    assert [e.mode for e in run.events[:4]] == ["on", "off", "on", "off"]


def test_four_diodes_turn_a_voltage_into_its_magnitude():
    """With all four off the source would float: that combination is none, and another stands for it."""
    system = bridge(R(resistance=20.0)).compile(outputs=["out.effort"])
    run = system.simulate(0.05, {"v": lambda t: 10 * np.sin(100 * np.pi * t)})
    expected = np.abs(10 * np.sin(100 * np.pi * run.time)) * 20 / 20.5
    np.testing.assert_allclose(run["out.effort"], expected, atol=1e-9)
    assert any("no causality with" in note for note in system.notes)


def test_four_diodes_and_a_capacitor_against_one_diode_and_a_magnitude():
    """An independent model of the same: the smooth law of the magnitude, charged through one switch."""
    run = (
        bridge(C(capacitance=1e-3), R(resistance=20.0))
        .compile(outputs=["out.effort"])
        .simulate(0.05, {"v": lambda t: 10 * np.sin(100 * np.pi * t)})
    )
    from scipy.integrate import solve_ivp

    def rate(t, v):
        return [(max(abs(10 * np.sin(100 * np.pi * t)) - v[0], 0) / 0.5 - v[0] / 20) / 1e-3]

    other = solve_ivp(rate, (0, 0.05), [0.0], rtol=1e-9, atol=1e-10, max_step=1e-5, t_eval=run.time)
    np.testing.assert_allclose(run["out.effort"], other.y[0], atol=1e-6)


@DRAWN
@given(some(0.1, 5), some(0.1, 5), some(-5, 5), some(-5, 5), some(-3, 3).filter(lambda r: abs(r) > 0.1))
def test_two_capacitors_share_their_charge(c1, c2, q1, q2, ratio):
    """Through a transformer too, where n times the charge of the one counts."""
    m = Model("pair")
    m.a, m.b, m.link, m.key = Zero(), Zero(), One(), Switch("key")
    m.first, m.second, m.ratio = (
        C(capacitance=c1, initial=q1),
        C(capacitance=c2, initial=q2),
        TF(modulus=ratio),
    )
    m.a >> m.first
    m.b >> m.second
    m.a >> m.link >> m.ratio >> m.b
    m.link >> m.key
    run = m.compile().simulate(2, {"key": lambda t: t >= 1}, max_step=0.1)
    # u_a = n u_b, and for every charge that leaves a, n charges arrive at b: n q_a + q_b is kept.
    u_b = (ratio * q1 + q2) / (c1 * ratio**2 + c2)
    assert run["b.effort"][-1] == pytest.approx(u_b, rel=1e-9, abs=1e-12)
    assert run["a.effort"][-1] == pytest.approx(ratio * u_b, rel=1e-9, abs=1e-12)
    (event,) = run.events
    assert event.time == pytest.approx(1, abs=1e-9)
    energies = [
        x["first.displacement"] ** 2 / 2 / c1 + x["second.displacement"] ** 2 / 2 / c2
        for x in (event.before, event.after)
    ]
    lost = (q1 / c1 - ratio * q2 / c2) ** 2 / 2 / (1 / c1 + ratio**2 / c2)
    assert energies[0] - energies[1] == pytest.approx(lost, rel=1e-9, abs=1e-12)


@settings(DRAWN, max_examples=8)
@given(st.data(), st.integers(2, 4), st.integers(1, 4))
def test_diodes_between_capacitors_find_their_mode(data, n, k):
    m, voltages = diodes_between_capacitors(data, n, k)
    run = m.compile(outputs=[f"u[{i}].effort" for i in range(n)]).simulate(1.0, max_step=0.5)
    np.testing.assert_allclose(run.outputs[-1], voltages, atol=1e-9)


def test_a_blow_passes_through_a_gyrator():
    """A coil whose circuit is opened: its flux is a momentum on the other side of the gyrator, J w."""
    m = Model("motor")
    m.circuit, m.shaft, m.motor, m.key = One(), One(), GY(ratio=0.5), Switch("key")
    Se(effort=12.0) >> m.circuit >> m.motor >> m.shaft
    m.circuit >> [I(inductance=0.1), R(resistance=1.0), m.key]
    m.shaft >> [I(inertia=0.02), R(damping=0.01)]
    run = m.compile(outputs=["circuit.flow", "shaft.flow"]).simulate(1, {"key": lambda t: t < 0.5})
    # A blow of voltage meets the coil alone, whose current it ends; the shaft runs out by its friction.
    assert run["circuit.flow"][-1] == 0
    place = "I2.momentum"
    (event,) = run.events
    assert event.before[place] == pytest.approx(event.after[place], rel=1e-12)
    last = event.after[place] / 0.02 * np.exp(-0.01 / 0.02 * (1 - event.time))
    assert run["shaft.flow"][-1] == pytest.approx(last, rel=1e-8)


def test_a_relay_closes_against_its_stop():
    """An energy field is struck: the flux is kept. At rest the stop carries the pull less the spring."""
    m = relay()
    m.stop = Stop(gap=8e-4, restitution=0.3)
    m.stop >> m.v  # drawn out of the stop: it is met as the gap closes
    run = m.compile().simulate(0.1, {"V": 40.0})
    before, after = run.events[0].before, run.events[0].after
    assert after["m.momentum"] == pytest.approx(-0.3 * before["m.momentum"], rel=1e-9)
    assert after["coil.coil.momentum"] == before["coil.coil.momentum"]
    assert run.events[-1].mode == "closed"
    gap, current = RELAY["x0"] - 8e-4, 40.0 / 5.0
    force = current**2 * RELAY["a"] / (2 * (RELAY["b"] + gap) ** 2) - RELAY["k"] * 8e-4
    assert run["stop.effort"][-1] == pytest.approx(force, rel=1e-6)
