"""Ideal diodes among coils and capacitors, where some combinations of modes have no causality."""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from bondloop.bondgraph import C, Diode, I, Model, One, R, Sf
from bondloop.engine.codegen import Runner, tolerances
from bondloop.engine.ir.tick_json import dump_tick, load_tick
from bondloop.errors import InputError, SolveError
from bondloop.hybrid.simulation import Simulation
from bondloop.signals import Sine

sys.path.insert(0, str(Path(__file__).parent))
from ideal_diode_networks import contents, network
from switching_models import DRAWN, ball, bridge, buck, some

SIDE_BY_SIDE = [
    *[("V", 0, 1, 0.9), ("D", 0, 2, 1.0), ("LR", 3, 0, 0.4), ("D", 3, 1, 1.0)],
    *[("C", 2, 1, 0.7), ("C", 2, 1, 0.9), ("D", 0, 1, 1.0)],
]
"""Two capacitors side by side that a diode cuts off: bound to each other by numbers."""

PEAK, OMEGA = 10.0, 100 * np.pi


def behind_a_coil(inductance, *load):
    """The bridge with a coil in its line of 0.5 ohm: with all diodes off its current is forced to 0."""
    m = bridge(*load)
    m.line >> I(inductance=inductance)
    return m.compile(outputs=["out.effort", "line.flow"])


def volts(t):
    return PEAK * np.sin(OMEGA * t)


def forwards(t, x):
    return volts(t) - x[1]


def backwards(t, x):
    return -volts(t) - x[1]


def rectified(inductance, capacitance, load, duration):
    """Line current and capacitor voltage at the end, by a state machine of the three cases."""

    def rates(sense, t, x):
        di = (volts(t) - 0.5 * x[0] - sense * x[1]) / inductance if sense else 0.0
        return [di, (abs(x[0]) - x[1] / load) / capacitance]

    def left(sense, _, x):
        return sense * x[0]

    t, x, sense = 0.0, [0.0, 0.0], 1
    while t < duration:
        ends = [partial(left, sense)] if sense else [partial(forwards), partial(backwards)]
        for end in ends:
            end.terminal, end.direction = True, -1 if sense else 1
        options = {"rtol": 1e-10, "atol": 1e-12, "max_step": 1e-3}
        part = solve_ivp(partial(rates, sense), (t, duration), x, events=ends, **options)
        t, x = part.t[-1], part.y[:, -1].tolist()
        if sense:
            x[0] = 0.0 if part.status == 1 else x[0]
            sense = 1 if forwards(t, x) > 0 else -1 if backwards(t, x) > 0 else 0
        else:
            sense = 1 if len(part.t_events[0]) else -1
    return x


@settings(DRAWN, max_examples=3)
@given(some(2e-3, 3e-2), some(3e-4, 2e-3), some(5, 50))
@example(1e-2, 1e-3, 20.0)  # once refused by the simulation, and 25 % off in the tick
def test_a_bridge_behind_a_coil(inductance, capacitance, load):
    system = behind_a_coil(inductance, C(capacitance=capacitance), R(resistance=load))
    duration = 0.03
    run = system.simulate(duration, {"v": volts}, max_step=1e-3)
    current, voltage = rectified(inductance, capacitance, load, duration)
    assert run["out.effort"][-1] == pytest.approx(voltage, rel=1e-6)
    assert run["line.flow"][-1] == pytest.approx(current, abs=1e-6)
    assert (run["line.flow"] == 0.0).mean() > 0.02  # it comes to rest between the pulses


@settings(DRAWN, max_examples=3)
@given(some(2e-3, 3e-2), some(1, 50))
def test_a_bridge_with_a_resistor_is_a_resistor(inductance, load):
    """Whichever pair conducts, the line sees the load: L di/dt + (0.5 + R) i = v, in closed form."""
    run = behind_a_coil(inductance, R(resistance=load)).simulate(0.05, {"v": volts}, max_step=1e-3)
    r = 0.5 + load
    z2, wl = r**2 + (OMEGA * inductance) ** 2, OMEGA * inductance
    fading = wl * np.exp(-r / inductance * run.time)
    current = PEAK / z2 * (r * np.sin(OMEGA * run.time) - wl * np.cos(OMEGA * run.time) + fading)
    np.testing.assert_allclose(run["line.flow"], current, atol=1e-6)
    np.testing.assert_allclose(run["out.effort"], load * np.abs(current), atol=1e-6 * load)


def test_a_bridge_behind_a_coil_in_the_tick():
    system = behind_a_coil(1e-2, C(capacitance=1e-3), R(resistance=20.0))
    tick = Simulation({"b": system}, excitation={"v": Sine(PEAK, 50.0)}, rate=20000.0).tick
    c, python = (Runner(tick, backend).run(1001) for backend in ("c", "numpy"))
    assert c.finished, c.message
    voltage = rectified(1e-2, 1e-3, 20.0, 0.05)[1]
    assert c.channels["b.out.effort"][-1] == pytest.approx(voltage, rel=2e-4)  # first order at events
    for name, values in c.channels.items():
        np.testing.assert_allclose(values, python.channels[name], rtol=1e-12, atol=1e-12)
    # What goes through a file is the same tick.
    again = Runner(load_tick(json.loads(json.dumps(dump_tick(tick)))), "numpy").run(200)
    assert np.array_equal(again.channels["b.line.flow"], python.channels["b.line.flow"][:200])


@st.composite
def networks(draw):
    """Return the number of nodes, and branches: each node hangs on an earlier one, and more go across."""
    nodes = draw(st.integers(3, 5))
    branches = [("V", 0, 1, draw(some(0.2, 1)))]
    for n in [*range(2, nodes), *[0] * draw(st.integers(2, 5))]:
        ends = [n, draw(st.integers(0, n - 1))] if n else draw(st.permutations(range(nodes)))[:2]
        tail, head = ends if draw(st.booleans()) else reversed(ends)
        kind = draw(st.sampled_from(["D", "D", "D", "D", "L", "LR", "C", "R"]))
        branches.append((kind, tail, head, draw(some(0.1, 1))))
    kinds = {kind for kind, *_ in branches}
    assume("D" in kinds and kinds & {"L", "LR", "C"})
    return nodes, branches


@settings(DRAWN, max_examples=5)
@given(networks())
@example((4, SIDE_BY_SIDE))
def test_drawn_networks_against_diodes_with_resistances(drawn):
    nodes, branches = drawn
    duration, kinds = 2.0, [kind for kind, *_ in branches]
    names = [f"coil[{i}].momentum" for i in range(kinds.count("L") + kinds.count("LR"))]
    names += [f"store[{i}].displacement" for i in range(kinds.count("C"))]
    system = network(nodes, branches).compile(outputs=names)
    signals = {"v": lambda t: 3 * np.sin(5 * t)}
    if system.input_rates:
        signals["d/dt v"] = lambda t: 15 * np.cos(5 * t)
    run = system.simulate(duration, signals, max_step=0.05, times=[0, duration])
    # The implicit Euler method is of first order: extrapolated, and what that changes is its tolerance.
    coarse, fine = (contents(nodes, branches, signals["v"], duration, n) for n in (400, 800))
    slack = 2 * np.abs(coarse - fine).max() + 3e-4
    np.testing.assert_allclose(run.outputs[-1], 2 * fine - coarse, atol=slack)
    test = Simulation({"n": system}, excitation={"v": Sine(3.0, 5 / (2 * np.pi))}, rate=500.0)
    result = Runner(test.tick, "numpy").run(1001)
    assert result.finished, result.message
    ends = [result.channels[f"n.{name}"][-1] for name in names]
    np.testing.assert_allclose(ends, run.outputs[-1], atol=2e-2)


def test_where_no_mode_fits_it_is_said():
    """A current is forced through a diode the wrong way: off has no causality, on carries it backwards."""
    m = Model("backwards")
    m.i, m.d = One(), Diode()
    Sf("j") >> m.i >> [m.d, R(resistance=1.0)]
    system = m.compile(outputs=["i.flow"])
    assert system.simulate(1.0, {"j": lambda _: 1.0})["i.flow"][-1] == 1.0
    with pytest.raises(SolveError, match=r"no consistent mode was found .*last tried: d on"):
        system.simulate(1.0, {"j": lambda t: 0.5 - t})
    test = Simulation({"s": system}, excitation={"j": Sine(1.0, 1.0)}, rate=100.0)
    for backend in ("c", "numpy"):
        result = Runner(test.tick, backend).run(100)
        assert result.status == "no consistent mode"
        assert result.stopped_at == pytest.approx(0.5, abs=0.011)
        assert "no combination of the modes of s.d fits" in result.message


def test_linearised_in_the_mode_that_holds():
    """A buck converter: 1/(LC) and 1/(RC) while the coil carries current, the capacitor alone otherwise."""
    L, cap, res = 1e-3, 1e-4, 5.0
    system = buck(10.0, L, cap, res).compile(outputs=["out.effort"])
    ringing = np.roots([1, 1 / (res * cap), 1 / (L * cap)])
    resting = system.linearise()
    assert resting.mode == "key open, diode off"
    assert resting.states == ("C.displacement",)
    assert system.poles() == pytest.approx([-1 / (res * cap)], rel=1e-12)
    points = [
        ("key closed, diode off", {"inputs": {"gate": 1.0}}),
        ("key open, diode on", {"states": {"I.momentum": 1e-3}}),
        ("key open, diode on", {"modes": {"key": "open", "diode": 1}}),
    ]
    for words, point in points:
        local = system.linearise(**point)
        assert local.mode == words
        assert np.sort_complex(local.poles()) == pytest.approx(np.sort_complex(ringing), rel=1e-12)
    # From the source to the output while the key is closed: at rest it passes the whole voltage.
    closed = system.linearise(inputs={"gate": 1.0})
    gain = closed.frequency_response([0.0])[0][0, closed.inputs.index("source")]
    assert gain == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda s: s.numeric(), "compile the model with modes="),
        (lambda s: s.linearise(modes={"key": 1}), r"missing diode \(off, on\)"),
        (lambda s: s.linearise(modes={"key": 1, "diode": "of"}), "'off', 'on'; found 'of'"),
        (lambda s: s.linearise(modes={"ky": 1}), "key"),
        (lambda s: s.linearise(modes={"key": 1, "diode": 1}), "no causality with key closed, diode on"),
    ],
)
def test_modes_that_cannot_be_linearised(ask, words):
    with pytest.raises(InputError, match=words):
        ask(buck(10.0, 1e-3, 1e-4, 5.0).compile())


def test_modes_are_for_what_switches():
    falling = ball(1.0, 9.81, 1.0, 0.5).compile(modes={"floor": "free"})
    with pytest.raises(InputError, match="no elements that switch"):
        falling.linearise(modes={"floor": "free"})


@pytest.mark.parametrize("least", [1, 2])
def test_a_search_in_loops_over_many_statements_is_the_same(monkeypatch, tmp_path, least):
    """What says that a search is over is read after all of its body: nothing may have taken its place."""
    system = behind_a_coil(1e-2, C(capacitance=1e-3), R(resistance=20.0))
    tick = Simulation({"b": system}, excitation={"v": Sine(PEAK, 50.0)}, rate=20000.0).tick
    plain = Runner(tick, "c").run(500)
    monkeypatch.setattr(tolerances, "GROUPED_FROM", 0)
    monkeypatch.setattr(tolerances, "SMALLEST_GROUP", least)
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path))
    grouped = Runner(tick, "c").run(500)
    for name, values in plain.channels.items():
        assert np.array_equal(values, grouped.channels[name]), name
