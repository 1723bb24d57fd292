"""Prepared tests: what they compute is what a test built anew computes, bit for bit."""

import pickle

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.errors import InputError
from bondloop.integrate import Exact
from bondloop.papers import gawthrop_three_mass, gawthrop_two_actuators

MASS = "rig.specimen.m3.I.mass"


def same(a, b):
    assert list(a) == list(b)
    return all(np.array_equal(a[name], b[name], equal_nan=True) for name in a)


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_numbers_are_those_of_a_test_built_anew(backend):
    test = gawthrop_three_mass.test()
    prepared = test.prepare(backend)
    for values in ({MASS: 0.3}, {}, {MASS: "2.5 kg", "excitation.scale": 0.5}, {MASS: 0.3}):
        seconds = 0.2 if backend == "numpy" else 1.5
        assert same(prepared.run(values, seconds), test.with_values(values).run(seconds, backend=backend))


def test_a_second_run_is_the_first_again_with_other_lengths_between():
    test = gawthrop_two_actuators.test()
    first = test.run(1)
    test.run(0.5, every=3)
    assert same(test.run(1), first)


def test_a_prepared_run_is_saved_with_its_numbers_and_repeats(tmp_path):
    prepared = gawthrop_three_mass.test().prepare()
    runs = [prepared.run({MASS: mass}, 0.5) for mass in (0.7, 1.4)]
    for run, mass in zip(runs, (0.7, 1.4), strict=True):  # saved after both were run
        assert run.record.description["parameters"][MASS] == mass
        again = bl.rerun(run.save(tmp_path / f"{mass}.h5"))
        assert again.record.attributes["difference"] == ""


def test_first_states_can_be_given():
    prepared = gawthrop_three_mass.test().prepare()
    state = next(v.name for v in prepared.test.tick.states if v.name.endswith("m1.C.displacement"))
    moved = prepared.run({state: 0.01}, 0.1)
    assert not same(moved, prepared.run(None, 0.1))
    assert moved.record.description["parameters"][state] == 0.01


def test_what_the_tick_does_not_have_is_refused():
    prepared = gawthrop_three_mass.test().prepare()
    with pytest.raises(InputError, match=r"unknown parameter 'rig.specimen.m3.I.mas' .* did you mean"):
        prepared.run({"rig.specimen.m3.I.mas": 1.0})
    with pytest.raises(InputError, match="mass"):
        prepared.run({MASS: -1.0})
    with pytest.raises(InputError, match="kg"):
        prepared.run({MASS: "1 m"})
    with pytest.raises(InputError, match=r"m1.C.displacement: .*'1 kg'"):
        prepared.run({"numerical.m1.C.displacement": "1 kg"})
    moved = prepared.run({"numerical.m1.C.displacement": "10 mm"}, 0.01)
    assert same(moved, prepared.run({"numerical.m1.C.displacement": 0.01}, 0.01))


def test_a_parameter_in_the_matrices_of_the_integrator_is_refused():
    mass = Model("mass")
    mass.v, mass.body = One(), I(mass=1)
    _ = Se("F") >> mass.v >> [mass.body, C(stiffness=100), R(damping=2)]
    swing = bl.Simulation(
        {"mass": mass},
        excitation={"F": bl.signals.Sine(1.0, 2.0)},
        rate=100,
        integrator=Exact(),
        record="mass.v.flow",
    )
    prepared = swing.prepare()
    with pytest.raises(InputError, match=r"worked 'mass.body.mass' into its matrices.*with_values"):
        prepared.run({"mass.body.mass": 2.0}, 0.1)
    assert not same(swing.with_values({"mass.body.mass": 2.0}).run(1), prepared.run(None, 1))


def test_a_test_that_has_run_is_sent_to_other_processes():
    test = gawthrop_three_mass.test()
    record = test.run(0.2).record
    again = pickle.loads(pickle.dumps(record))
    assert again.description == record.description
    assert same(again, record)
