"""Elements that switch, in the tick: it converges to the simulation, C and Python agree, work is bounded."""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from bondloop.bondgraph import MR, C, Clutch, Diode, I, Input, Model, One, R, Se, Stop, Switch, Zero
from bondloop.engine.codegen.backend import CBackend
from bondloop.engine.codegen.plan import Plan
from bondloop.engine.codegen.py_writer import PythonBackend
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.passes.compose import connect, prefixed
from bondloop.hybrid.simulation import Simulation
from bondloop.integrate import RK4, ForwardEuler, NewmarkAverage
from bondloop.signals import Sine, Step

sys.path.insert(0, str(Path(__file__).parents[1] / "bondgraph"))
from switching_models import diodes_between_capacitors

needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")


def ball():
    m = Model("ball")
    m.v, m.floor = One(), Stop(gap=1.0, restitution=0.6)
    Se(effort=2 * 9.81) >> m.v >> [I(mass=2.0), m.floor]
    return m, ["floor.displacement", "v.flow", "floor.mode"], {}, 2.5, 2000


def clutch():
    m = Model("clutch")
    m.w, m.between, m.clutch = [One(), One()], Zero(), Clutch(capacity=3.0)
    Se("T") >> m.w[0] >> m.between >> m.w[1] >> R(damping=0.5)
    m.w[0] >> I(inertia=0.2, initial=4.0)
    m.w[1] >> I(inertia=0.5)
    m.between >> m.clutch
    return m, ["w[0].flow", "w[1].flow", "clutch.mode"], {"T": Sine(amplitude=6.0, frequency=1.0)}, 3.0, 1000


def buck():
    m = Model("buck")
    m.supply, m.bridge, m.node, m.coil, m.out = One(), One(), Zero(), One(), Zero()
    m.key, m.diode = Switch("gate", threshold=0.3), Diode()
    Se(effort=12.0) >> m.supply >> m.node >> m.coil >> m.out
    m.supply >> m.key
    m.bridge >> m.node
    m.bridge >> m.diode
    m.coil >> I(inductance=1e-3)
    m.out >> [C(capacitance=1e-4), R(resistance=100.0)]
    return m, ["out.effort", "coil.flow"], {"gate": Sine(amplitude=1.0, frequency=1e4)}, 2e-3, 1e6


def rectifier():
    m = Model("rectifier")
    m.line, m.out, m.diode = One(), Zero(), Diode()
    Se("v") >> m.line >> m.out
    m.line >> [m.diode, R(resistance=1.0)]
    m.out >> [C(capacitance=1e-3), R(resistance=20.0)]
    return m, ["out.effort"], {"v": Sine(amplitude=10.0, frequency=50.0)}, 0.05, 2e4


MODELS = [ball, clutch, buck, rectifier]


@cache
def reference(build):
    """The model, and what the simulation gives at 201 instants."""
    model, outputs, excitation, seconds, _ = build()
    system = model.compile(outputs=outputs)
    run = system.simulate(seconds, excitation, times=np.linspace(0, seconds, 201))
    return system, {name: run[name] for name in outputs}


def error(build, rate, integrator=None):
    """Mean difference from the simulation over time, each output by its own size; the largest of them."""
    _, outputs, excitation, seconds, _ = build()
    system, right = reference(build)
    run = Simulation({"m": system}, excitation=excitation, rate=rate, integrator=integrator).run(seconds)
    places = np.round(np.linspace(0, seconds, 201) * rate).astype(int)
    places = places[places < len(run.time)]
    errors = []
    for name in outputs:
        y, z = run[f"m.{name}"][places], right[name][: len(places)]
        errors.append(np.abs(y - z).mean() / np.abs(z).max())
    return max(errors)


@pytest.mark.parametrize("build", MODELS)
def test_the_tick_converges_to_the_simulation(build):
    """An event acts at the next sample: first order in the period."""
    rate = build()[-1]
    coarse, fine = error(build, rate), error(build, 10 * rate)
    assert fine < 0.25 * coarse
    assert fine < 2e-3


@pytest.mark.parametrize(
    "integrator", [ForwardEuler(), RK4(), NewmarkAverage()], ids=lambda i: type(i).__name__
)
def test_any_integrator_of_nonlinear_systems_will_do(integrator):
    assert error(clutch, 1e4, integrator) < 5e-3


@needs_compiler
@pytest.mark.parametrize("build", MODELS)
def test_c_and_python_agree(build):
    model, outputs, excitation, _, rate = build()
    tick = Simulation({"m": model.compile(outputs=outputs)}, excitation=excitation, rate=rate).tick
    results = []
    for backend in (CBackend(), PythonBackend()):
        state = Plan(tick).initial()[None]
        record = np.zeros((1, 1500, len(tick.channels)))
        values = np.array([list(tick.parameters.values())])
        ends = backend.load(tick)(1500, 0, np.zeros((1, 1500, 1)), state, values, record, 1)
        results.append((np.array(ends).tolist(), state, record))
    assert results[0][0] == results[1][0]
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(results[0][2], results[1][2], rtol=1e-12, atol=1e-14)


def test_a_ball_rests_in_the_tick_and_does_not_sink():
    """Rebounds shorter than a sample are none; what it has sunk in by then is less than a sample's fall."""
    model, outputs, _, _, _ = ball()
    for rate in (50, 317, 1000):
        run = Simulation({"m": model.compile(outputs=outputs)}, excitation={}, rate=rate).run(60)
        depth = run["m.floor.displacement"] - 1.0
        assert run["m.floor.mode"][-1] == 0
        assert run["m.v.flow"][-1] == 0
        assert depth[-1] == depth[len(depth) // 2] < 2 * 9.81 / rate**2
        assert depth.max() < np.sqrt(2 * 9.81) / rate


def test_a_clutch_gives_no_more_impulse_in_a_sample_than_it_can_carry():
    """A blow that turns the slip round in one sample is not swallowed by sticking."""
    m = Model("struck")
    m.v, m.friction, m.wall = One(), Clutch(capacity=1.0), Stop(gap=0.1, restitution=1.0)
    m.v >> [I(mass=1.0, initial=2.0), m.friction, m.wall]
    system = m.compile(outputs=["v.flow", "friction.mode"])
    run = Simulation({"m": system}, excitation={}, rate=1000).run(0.2)
    hit = np.sqrt(2.0**2 - 2 * 0.1)
    assert run["m.v.flow"].min() == pytest.approx(-hit, rel=2e-3)
    assert run["m.friction.mode"][-1] == -1
    assert system.simulate(0.2)["friction.mode"][-1] == -1


def test_two_systems_that_switch_can_be_joined():
    """Prefixes and connections carry the switching along: a rectifier drives a ball's weight."""
    source, _, excitation, _, _ = rectifier()
    falling = Model("ball")
    falling.v, falling.floor = One(), Stop(gap=0.001, restitution=0.5)
    Se("F") >> falling.v >> [I(mass=2.0), falling.floor]
    a = prefixed(source.compile(outputs=["out.effort"]), "a.")
    b = prefixed(falling.compile(outputs=["v.flow"]), "b.")
    whole = connect(
        "whole", [a, b], {b.input_vars[0]: a.expression("a.out.effort")},
        {"u": a.expression("a.out.effort"), "x": b.expression("b.floor.displacement")},
    )  # fmt: skip
    run = whole.simulate(0.05, {"a.v": excitation["v"]})
    assert {e.path for e in run.events} == {"a.diode", "b.floor"}
    alone = source.compile(outputs=["out.effort"]).simulate(0.05, {"v": excitation["v"]})
    np.testing.assert_allclose(run["u"], alone["out.effort"], atol=1e-8)
    assert 0.00099 < run["x"].max() <= 0.001 * (1 + 1e-11)


def test_a_loop_of_another_mode_need_not_have_a_solution():
    """Closed, f = 3 - a f with a = -1 while it is open: no solution, and none is asked for."""
    m = Model("series")
    m.loop, m.key, m.gain, m.resistor = One(), Switch("key"), Input("gain"), MR(lambda gain: 2 * gain - 1)
    Se(effort=3.0) >> m.loop >> [m.key, R(resistance=1.0), m.resistor]
    m.gain >> m.resistor
    on = Step(1.0, at=0.5)
    run = Simulation(
        {"m": m.compile(outputs=["loop.flow"])}, excitation={"key": on, "gain": on}, rate=100
    ).run(1)
    assert run.completed
    np.testing.assert_allclose(run["m.loop.flow"][[0, -1]], [0, 1.5], atol=1e-12)


@settings(deadline=None, max_examples=8, phases=[Phase.explicit, Phase.generate])
@given(st.data(), st.integers(2, 4), st.integers(1, 4))
def test_one_sample_finds_the_mode_of_many_diodes(data, n, k):
    m, voltages = diodes_between_capacitors(data, n, k)
    system = m.compile(outputs=[f"u[{i}].effort" for i in range(n)])
    tick = Simulation({"m": system}, excitation={}, rate=1000).tick
    record = np.zeros((1, 1, n))
    values = np.array([list(tick.parameters.values())])
    state = Plan(tick).initial()[None]
    PythonBackend().load(tick)(1, 0, np.zeros((1, 1, 1)), state, values, record, 1)
    np.testing.assert_allclose(record[0, 0], voltages, atol=1e-9)
