"""Simulations side by side: names, shared inputs, values, schemes, both backends, run files."""

import math

import numpy as np
import pytest

from bondloop import files
from bondloop.bondgraph import C, Diode, I, Model, One, R, Se, Sf
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.tick_json import dump_tick
from bondloop.errors import InputError
from bondloop.files import load_text
from bondloop.hybrid import Simulation
from bondloop.integrate import RK4, Exact, ForwardEuler, NewmarkAverage
from bondloop.rehearsal import Run, rerun
from bondloop.signals import Noise, Sine, Step


def oscillator(m=2.0, c=0.8, k=50.0, source=None):
    model = Model("oscillator")
    model.force = source or Se("F")
    model.v, model.mass, model.damper, model.spring = One(), I(mass=m), R(damping=c), C(stiffness=k)
    model.force >> model.v >> [model.mass, model.damper, model.spring]
    return model


def system(outputs=("v.flow", "spring.displacement"), **values):
    return oscillator(**values).compile(outputs=list(outputs))


def simulation(systems=None, **options):
    settings = {"excitation": {"F": Sine(3.0, 0.9)}, "rate": 500.0, **options}
    return Simulation(systems or {"one": system()}, **settings)


# ------------------------------------------------------------------ names


def test_channels_are_named_after_systems_and_inputs():
    run = simulation({"a": system(), "b": system(k=40.0)}).run(0.1, backend="numpy")
    assert isinstance(run, Run)
    assert list(run.record) == [
        "a.v.flow",
        "a.spring.displacement",
        "b.v.flow",
        "b.spring.displacement",
        "F",
    ]
    assert run.record.units["a.v.flow"] == "m/s"
    assert run.record.units["b.spring.displacement"] == "m"
    assert run.time[:2] == pytest.approx([0.0, 0.002])
    assert run.verdict == "The run was completed."
    assert run.metrics == []


@pytest.mark.parametrize("name", ["", "3 masses", "Größe/2"])
def test_any_name_of_a_simulation_runs(name):
    assert simulation(name=name).run(0.01, backend="numpy").completed


def test_an_unknown_input_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="unknown input 'f' of beam; did you mean 'F'"):
        simulation(excitation={"f": Sine(1.0, 1.0)}, name="beam")


def test_an_excitation_is_a_signal_or_a_number():
    assert simulation(excitation={"F": 2}).run(0.1, backend="numpy")["F"] == pytest.approx(2.0)
    with pytest.raises(InputError, match="excitation of 'F': expected a number with a unit"):
        simulation(excitation={"F": "sine"})


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_must_be_positive_and_finite(rate):
    with pytest.raises(InputError, match=r"rate: expected a (number above 0|finite number)"):
        simulation(rate=rate)


def test_a_simulation_of_nothing_is_refused():
    with pytest.raises(InputError, match="there are no systems to simulate"):
        Simulation({}, excitation={}, rate=100)


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.inf])
def test_the_length_of_a_run_must_be_positive_and_finite(seconds):
    with pytest.raises(InputError, match="length of a run"):
        simulation().run(seconds)


# ------------------------------------------------------------------ inputs


def test_an_input_of_several_systems_is_shared():
    run = simulation({"a": system(), "b": system()}).run(0.5, backend="numpy")
    assert np.array_equal(run["a.v.flow"], run["b.v.flow"])


def test_systems_may_have_different_inputs():
    pushed, pulled = system(), system(source=Se("G"))
    run = simulation({"a": pushed, "b": pulled}, excitation={"F": 1.0, "G": -1.0}).run(0.2, backend="numpy")
    assert run["a.v.flow"] == pytest.approx(-run["b.v.flow"])


def test_an_input_without_excitation_keeps_each_systems_own_value():
    """The value is the system's: what one system has does not reach the other."""
    a, b = system(source=Se("F", effort=5.0)), system(source=Se("F", effort=-10.0))
    run = simulation({"a": a, "b": b, "c": system()}, excitation={}).run(40.0, backend="numpy")
    assert run["a.spring.displacement"][-1] == pytest.approx(0.1, rel=1e-3)
    assert run["b.spring.displacement"][-1] == pytest.approx(-0.2, rel=1e-3)
    assert np.all(run["c.v.flow"] == 0.0)


def test_the_rate_of_an_input_comes_from_the_signal():
    """A mass that a velocity source drives needs the source's rate: its force is m dv/dt + c v + k x."""
    driven = oscillator(source=Sf("v0")).compile(outputs=["force.effort", "spring.displacement"])
    run = Simulation({"d": driven}, excitation={"v0": Sine(0.3, 1.5)}, rate=2000).run(1.0, backend="numpy")
    w = 2 * np.pi * 1.5
    t = run.time
    expected = (
        2.0 * 0.3 * w * np.cos(w * t) + 0.8 * 0.3 * np.sin(w * t) + 50.0 * 0.3 / w * (1 - np.cos(w * t))
    )
    assert run["d.force.effort"] == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


def test_a_signal_from_a_table_is_read_at_the_step_and_between():
    noise = Noise(rms=1.0, low=0.5, high=5.0, duration=2.0, seed=3)
    made = simulation(excitation={"F": noise})
    assert list(made.tables) == ["F"]
    run = made.run(1.0, backend="numpy")
    assert run["F"] == pytest.approx(noise(run.time), abs=1e-12)
    assert np.abs(run["one.v.flow"]).max() > 0


# ------------------------------------------------------------------ values


def test_values_are_set_by_path_for_one_system():
    base = simulation({"a": system(), "b": system()})
    changed = base.with_values({"b.spring.stiffness": 60.0})
    run, plain = changed.run(0.5, backend="numpy"), base.run(0.5, backend="numpy")
    direct = simulation({"b": system(k=60.0)}).run(0.5, backend="numpy")
    assert np.array_equal(run["a.v.flow"], plain["a.v.flow"])
    assert np.array_equal(run["b.v.flow"], direct["b.v.flow"])
    again = changed.with_values({"b.mass.mass": 3.0})
    assert again.values == {"b.spring.stiffness": 60.0, "b.mass.mass": 3.0}
    assert base.values == {}


def test_an_unknown_parameter_is_refused_with_the_nearest():
    with pytest.raises(InputError, match=r"unknown parameter 'a\.spring\.stifness'.*did you mean"):
        simulation({"a": system()}).with_values({"a.spring.stifness": 1.0})


def test_initial_states_are_the_systems_own():
    model = Model("let go")
    model.v = One()
    model.mass, model.spring = I(mass=1.0), C(stiffness=4.0, initial=0.1)
    model.v >> [model.mass, model.spring]
    run = Simulation(
        {"s": model.compile(outputs=["spring.displacement"])}, excitation={}, rate=1000, integrator=Exact()
    ).run(np.pi / 2, backend="numpy")
    assert run["s.spring.displacement"] == pytest.approx(0.1 * np.cos(2 * run.time), abs=1e-9)


# ------------------------------------------------------------------ schemes and backends


@pytest.mark.parametrize("integrator", [None, RK4(), Exact(), NewmarkAverage(), ForwardEuler()])
def test_every_scheme_runs_and_is_as_good_as_its_order(integrator):
    run = simulation(excitation={"F": Step(5.0)}, integrator=integrator, rate=2000).run(2.0, backend="numpy")
    w, z = 5.0, 0.8 / (2 * 2.0 * 5.0)
    d = w * np.sqrt(1 - z * z)
    t = run.time
    exact = 0.1 * (1 - np.exp(-z * w * t) * (np.cos(d * t) + z * w / d * np.sin(d * t)))
    order = 4 if integrator is None else getattr(integrator, "order", 4)
    allowed = {1: 2e-2, 2: 1e-5}.get(order, 1e-7)
    assert np.abs(run["one.spring.displacement"] - exact).max() < allowed * 0.2


@pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("integrator", [RK4(), NewmarkAverage()])
def test_c_and_numpy_agree(integrator):
    made = simulation(
        {"a": system(), "b": system(k=70.0, c=0.1)},
        excitation={"F": Sine(3.0, 0.9) + Noise(rms=0.5, low=0.5, high=5.0, duration=2.0, seed=1)},
        integrator=integrator,
    )
    fast, slow = (made.run(2.0, backend=backend) for backend in ("c", "numpy"))
    assert fast.record.attributes["backend"] == "c"
    assert slow.record.attributes["backend"] == "numpy"
    for name in fast.record:
        assert fast[name] == pytest.approx(slow[name], abs=1e-12 * max(np.abs(slow[name]).max(), 1e-30))


def test_every_so_many_samples_are_recorded():
    run = simulation().run(1.0, backend="numpy", every=10)
    full = simulation().run(1.0, backend="numpy")
    assert np.array_equal(run["one.v.flow"], full["one.v.flow"][::10])


def test_a_run_that_diverges_is_stopped_and_says_so():
    run = simulation({"one": system(c=-400.0)}).run(10.0, backend="numpy")
    assert not run.completed
    assert "diverged" in run.verdict


# ------------------------------------------------------------------ run files


def test_a_run_is_repeated_exactly_from_its_file(tmp_path):
    run = simulation(
        excitation={"F": Noise(rms=1.0, low=0.5, high=5.0, duration=2.0, seed=3)}, integrator=NewmarkAverage()
    ).run(1.0, backend="numpy")
    path = run.save(tmp_path / "run.h5")
    again = rerun(path, backend="numpy")
    for name in run.record:
        assert np.array_equal(run[name], again[name])


def test_the_description_says_what_was_run():
    said = simulation({"a": system()}, name="pair").about()
    assert said["name"] == "pair"
    assert said["rate"] == 500.0
    assert said["states"]["a"] == ["a.mass.momentum", "a.spring.displacement"]
    assert said["parameters"]["a.spring.stiffness"] == 50.0
    assert said["excitation"]["F"]["signal"] == "Sine"


# ------------------------------------------------------------------ as data


COMPILED = {
    "a system": system,
    "its detectors": lambda: oscillator().compile(),
    "one output": lambda: oscillator().compile("v.flow"),
    "a reading": lambda: (m := oscillator()).compile([m.spring.displacement, "v.flow"]),
    "iterations": lambda: oscillator().compile(["v.flow"], iterations=4),
    "modes": lambda: rectifier().compile(["i.flow"], modes={"diode": "on"}),
    "a model": oscillator,
}


def rectifier():
    model = Model("rectifier")
    model.force, model.i, model.diode = Se("F"), One(), Diode()
    model.force >> model.i >> [I(inductance=0.1), R(resistance=2.0), model.diode]
    return model


@pytest.mark.parametrize("what", COMPILED)
def test_a_simulation_goes_to_a_file_and_back(what):
    sim = simulation({"one": COMPILED[what]()})
    again = load_text(files.to_toml(sim)).test
    assert dump_tick(again.tick) == dump_tick(sim.tick)
    assert again == sim


def test_a_model_that_was_edited_since_is_not_written_for_what_was_compiled():
    model = oscillator()
    sim = simulation({"one": model.compile(["v.flow"])})
    model.more = C(stiffness=3.0)
    model.v >> model.more
    with pytest.raises(InputError, match=r"systems\.one: it is an object of the class System"):
        files.to_toml(sim)


def test_what_is_neither_system_nor_model_is_refused():
    with pytest.raises(InputError, match=r"simulation\(systems\)\['one'\]: expected a system or a model"):
        simulation({"one": 3.0})
