"""Devices in bond graphs: in structures of both forms, beside what switches, in equations."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for braced.py

from braced import MASSES, STIFFNESSES, machine, two_storeys

import bondloop as bl
from bondloop.bondgraph import Df, Function, I, Model, One, Se, Stop
from bondloop.devices import (
    BaberNoori,
    Bilinear,
    GiuffreMenegottoPinto,
    OdeSpecimen,
    RambergOsgood,
    TripleFrictionPendulum,
)
from bondloop.engine.codegen import compiler
from bondloop.errors import InputError, ModelError
from bondloop.rigs import mounted
from bondloop.structures import field_form, network_form

BACKENDS = ["numpy", *(["c"] if compiler() is not None else [])]


def by_hand(law, force, h, steps):
    """Classical Runge-Kutta of the two masses, the memory renewed at the beginning of every step."""
    m, (k1, k2) = np.array(MASSES), STIFFNESSES
    y, states, record = np.zeros(4), law.initial_states(), []
    for n in range(steps):
        record.append(y[2:].copy())
        states = law.at_states(**states).memory(bl.devices.Imposed(y[0], y[2]))
        here = law.at_states(**states)

        def rate(t, y, here=here):
            u, v = y[:2], y[2:]
            r = np.array([k1 * u[0] - k2 * (u[1] - u[0]), k2 * (u[1] - u[0])])
            r[0] += here.force(bl.devices.Imposed(u[0], v[0]))
            return np.concatenate([v, (np.array([0.0, force(t)]) - r) / m])

        t = n * h
        a = rate(t, y)
        b = rate(t + h / 2, y + h / 2 * a)
        c = rate(t + h / 2, y + h / 2 * b)
        d = rate(t + h, y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    return np.array(record)


BRACE, STEEL = Bilinear(8e5, 4e3, 0.05, 0.3), GiuffreMenegottoPinto(8e5, 4e3)
BY_DAY = [
    (BRACE, field_form, BACKENDS[0]),
    (BRACE, network_form, BACKENDS[-1]),
    (STEEL, field_form, BACKENDS[-1]),
]
BY_NIGHT = [
    case
    for case in itertools.product((BRACE, STEEL), (field_form, network_form), BACKENDS)
    if case not in BY_DAY
]


@pytest.mark.parametrize(
    ("law", "form", "backend"),
    [*BY_DAY, *(pytest.param(*case, marks=pytest.mark.nightly) for case in BY_NIGHT)],
)
def test_a_structure_yields(form, law, backend):
    model = form(two_storeys(), "frame", forces={"two.ux": "push"})
    model.brace = law.element()
    _ = model.junction("one.ux") >> model.brace
    push = bl.signals.Sine(6e3, 1.7)
    outputs = [f"{d}.ux.flow" for d in ("one", "two")]
    run = bl.Simulation({"s": model.compile(outputs=outputs)}, excitation={"push": push}, rate=500).run(
        1.5, backend=backend
    )
    expected = by_hand(law, lambda t: float(push(t)), 1 / 500, len(run.time))
    found = np.column_stack([run[f"s.{name}"] for name in outputs])
    assert np.max(np.abs(found - expected)) < 1e-9 * np.max(np.abs(expected))
    elastic = by_hand(Bilinear(8e5, 1e9), lambda t: float(push(t)), 1 / 500, len(run.time))
    assert np.max(np.abs(found - elastic)) > 0.1 * np.max(np.abs(expected)), "it must have yielded"


def test_energy_is_accounted_for():
    """Work of the push = kinetic and elastic energy + what damper and brace took."""
    system = machine(Bilinear(2e6, 5e3, 0.1)).compile(
        outputs=["v.flow", "brace.effort", "C.effort", "brace.displacement"]
    )
    push = bl.signals.Sine(12e3, 2.0)
    errors = []
    for rate in (1000, 4000):
        run = bl.Simulation({"s": system}, excitation={"push": push}, rate=rate).run(2)
        v, f, e, x = (run[f"s.{n}"] for n in system.outputs)
        dt = np.diff(run.time)

        def integral(y, dt=dt):
            return np.sum((y[1:] + y[:-1]) / 2 * dt)

        work, lost = integral(push(run.time) * v), integral(1200 * v**2)
        brace = np.sum((f[1:] + f[:-1]) / 2 * np.diff(x))
        errors.append(abs(work - lost - brace - 1000 * v[-1] ** 2 - e[-1] ** 2 / (2 * 5e5)) / work)
    assert errors[1] < 1e-3
    assert errors[1] < errors[0] / 3


def test_loops_are_drawn_of_an_element():
    model = machine(BaberNoori())
    assert model.brace.plot_loops().axes
    with pytest.raises(InputError, match="no device"):
        bl.devices.device_at(model, "v")
    assert bl.devices.device_at(model, "brace") is model.brace


def test_what_remembers_is_simulated_in_steps():
    """A solver that chooses its steps by rates would miss what is remembered: it is refused."""
    system = mounted(Bilinear()).compile()
    assert not system.is_linear
    with pytest.raises(InputError, match="remembers"):
        system.simulate(1.0)
    with pytest.raises(InputError, match="remembers"):
        system.sensitivity(["bilinear.stiffness"])


def test_equations_of_a_long_law_end():
    """Written out, the Newton steps of a Ramberg-Osgood spring would fill libraries: the program is shown."""
    system = mounted(RambergOsgood()).compile()
    shown = system.equations()
    assert len(str(shown)) < 40_000, "126 rows, with sixteen turns in some of them"
    assert any("renewed at the beginning" in note for note in shown.notes)
    assert ("d/dt bilinear.plastic", "0") in mounted(Bilinear()).compile().equations().rows


def test_a_steady_state_is_reached_on_a_way_without_a_turn():
    """Statics under a load that grows: k x + F_y + b k_b (x - F_y/k_b) = load, beyond the yield force."""
    system = machine(Bilinear(2e6, 8e3, 0.05)).compile()
    x = system.steady_state({"push": 20e3})["brace.displacement"]
    assert x == pytest.approx((20e3 - 8e3 * 0.95) / (5e5 + 1e5))


def test_about_its_start_it_is_elastic():
    """Poles of a machine at rest: those of the springs before they yield."""
    poles = machine(Bilinear(2e6, 8e3)).compile().poles()
    fastest = np.max(np.abs(poles))
    assert fastest == pytest.approx(np.sqrt(2.5e6 / 2000), rel=1e-9)


def test_a_long_law_in_the_tick():
    """The triple pendulum, some hundred operations, in a rig and in the computer."""
    law = TripleFrictionPendulum(weight=5e4)
    run = bl.Simulation(
        {"s": mounted(law).compile()},
        excitation={"interface.flow": bl.signals.Sine(0.25, 0.5).derivative()},
        rate=1000,
    ).run(4)
    x = bl.signals.Sine(0.25, 0.5)(run.time)
    v = bl.signals.Sine(0.25, 0.5).derivative()(run.time)
    expected = law.respond(x, 1000, velocity=v)
    assert np.max(np.abs(run["s.interface.effort"] - expected)) < 2e-3 * np.max(np.abs(expected))


def test_what_switches_may_remember():
    """With a stop that it never meets a mass on a yielding brace moves as without; nearer, it strikes."""
    runs = []
    for gap in (None, 1.0, 2e-3):
        model = machine(Bilinear(2e6, 5e3, 0.1))
        if gap is not None:
            model.stop = Stop(gap=gap, restitution=0.3)
            _ = model.v >> model.stop
        outputs = ["v.flow", "brace.displacement", "brace.effort"]
        system = model.compile(outputs=outputs)
        assert [v.name for v in system.memories] == ["brace.plastic", "brace.back", "brace.growth"]
        runs.append(
            bl.Simulation({"s": system}, excitation={"push": bl.signals.Sine(12e3, 2.0)}, rate=1000).run(2)
        )
    free, far, near = runs
    for name in ("s.v.flow", "s.brace.effort"):
        assert far[name] == pytest.approx(free[name], rel=1e-9, abs=1e-9 * np.max(np.abs(free[name])))
    x, force = near["s.brace.displacement"], near["s.brace.effort"]
    assert x.max() < 2.5e-3 < free["s.brace.displacement"].max()
    # The force along the displacements that it went through is the law's own.
    assert force == pytest.approx(Bilinear(2e6, 5e3, 0.1).respond(x, 1000), abs=1e-6 * np.max(np.abs(force)))


def test_a_memory_that_is_none():
    def made(**body):
        return mounted(type("Bad", (OdeSpecimen,), {"states": {"m": 0.0}, **body})())

    def force(self, motion):  # noqa: ARG001
        return motion.displacement

    with pytest.raises(ModelError, match="has a rate and is in memory"):
        made(force=force, rates=lambda self, motion: {"m": 0.0}, memory=lambda self, motion: {"m": 0.0})  # noqa: ARG005
    with pytest.raises(ModelError, match="unknown state 'k'"):
        made(force=force, memory=lambda self, motion: {"m": 0.0, "k": 1.0})  # noqa: ARG005
    with pytest.raises(ModelError, match="memory"):
        made(force=force, memory=lambda self, motion: 3.0)  # noqa: ARG005


def test_a_law_reads_a_signal():
    """Inputs by name are signals that are bonded to the element, in that order."""

    class Coil(OdeSpecimen):
        """A dashpot that a signal makes stronger."""

        damping: float = 10.0
        inputs = {"current": "A"}  # noqa: RUF012

        def force(self, motion):
            return self.damping * self.current * motion.velocity

    model = Model("coil")
    model.push, model.v, model.sensor, model.gain, model.coil = (
        Se("push"),
        One(),
        Df(),
        Function(lambda e: 2 * e),
        Coil().element(),
    )
    model.push >> model.v >> [I(mass=1.0), model.coil]
    model.v >> model.sensor
    model.sensor >> model.gain >> model.coil
    system = model.compile()
    rates = system.rates([3.0], [5.0], [], list(system.values().values()))
    assert rates == pytest.approx([5 - 10 * (2 * 3) * 3])
    assert Coil().at_states(current=2.0).force(bl.devices.Imposed(velocity=0.5)) == 10.0
