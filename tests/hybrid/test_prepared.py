"""Prepared tests: what they compute is what a test built anew computes, bit for bit."""

import copy
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se, Stop
from bondloop.control import Direct
from bondloop.errors import InputError
from bondloop.integrate import RK4, Exact, ForwardEuler
from bondloop.papers import bayer_substep, gawthrop_three_mass, gawthrop_two_actuators, wagg_three_mass
from bondloop.rigs import Sensor, WhiteNoise

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
        anew = gawthrop_three_mass.test().with_values(values)
        assert same(prepared.run(values, seconds), anew.run(seconds, backend=backend))


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


@pytest.mark.parametrize("values", [{MASS: "1.3 kg"}, {"rig.seed": 5}, {MASS: 1.2, "rig.seed": 4}])
def test_a_prepared_run_says_the_same_of_itself_as_a_test_with_the_values(values):
    test = noisy_rig(RK4())
    run, other = test.prepare().run(values, 0.2), test.with_values(values).run(0.2)
    assert same(run, other)
    assert run.record.description == other.record.description
    assert run.record.attributes["seed"] == other.record.attributes["seed"]


def test_first_states_can_be_given():
    prepared = gawthrop_three_mass.test().prepare()
    state = next(v.name for v in prepared.test.tick.states if v.name.endswith("m1.C.displacement"))
    moved = prepared.run({state: 0.01}, 0.1)
    assert not same(moved, prepared.run(None, 0.1))
    assert moved.record.description["parameters"][state] == 0.01


def test_the_scale_of_the_excitation_is_a_plain_number():
    test = gawthrop_three_mass.test()
    for one in (test, bayer_substep.test()):
        with pytest.raises(InputError, match=r"excitation.scale: expected a number without a unit.*'1 m'"):
            one.with_values({"excitation.scale": "1 m"})
    half = test.with_values({"excitation.scale": "50 %"}).run(0.1)
    assert same(half, test.with_values({"excitation.scale": 0.5}).run(0.1))


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


def swing():
    mass = Model("mass")
    mass.v, mass.body = One(), I(mass=1)
    _ = Se("F") >> mass.v >> [mass.body, C(stiffness=100), R(damping=2)]
    return mass


def test_a_parameter_in_the_matrices_of_the_integrator_is_refused():
    moved = bl.Simulation(
        {"mass": swing()},
        excitation={"F": bl.signals.Sine(1.0, 2.0)},
        rate=100,
        integrator=Exact(),
        record="mass.v.flow",
    )
    prepared = moved.prepare()
    with pytest.raises(InputError, match=r"worked 'mass.body.mass' into its matrices.*with_values"):
        prepared.run({"mass.body.mass": 2.0}, 0.1)
    assert not same(moved.with_values({"mass.body.mass": 2.0}).run(1), prepared.run(None, 1))


def swinging_mass(integrator):
    mass = Model("mass")
    mass.v, mass.body, mass.wall = One(), I(mass=1), Stop(gap=0.05, restitution=0.5)
    _ = Se("F") >> mass.v >> [mass.body, C(stiffness=100), R(damping=2), mass.wall]
    return bl.Simulation(
        {"mass": mass}, excitation={"F": 9.0}, rate=500, integrator=integrator, record="mass.v.flow"
    )


def noisy_rig(integrator):
    test = gawthrop_three_mass.test()
    rig = replace(test.rig, sensors={"force": Sensor([WhiteNoise("0.1 N")])})
    return test.replaced(integrator=integrator, rig=rig, coupling="sampled", controller=Direct())


VALUES = {
    "of the rig": (
        lambda integrator: gawthrop_three_mass.test().replaced(integrator=integrator),
        [{MASS: 0.3}, {MASS: "2.5 kg", "excitation.scale": 0.5}, {}, {"excitation.scale": 0.0}, {MASS: 0.7}],
    ),
    "of the numerical half, for which the controller is designed": (
        lambda integrator: gawthrop_two_actuators.test().replaced(integrator=integrator),
        [{"numerical.mn1.I.mass": 2.0}, {"numerical.mn1.I.mass": 3.0}, {}, {"numerical.mn1.I.mass": 2.5}],
    ),
    "of noise": (noisy_rig, [{"rig.seed": 3}, {"rig.seed": 4}, {MASS: 1.2}, {"rig.seed": 5, MASS: 1.3}, {}]),
    "of what switches": (
        swinging_mass,
        [{"mass.wall.gap": 0.02}, {"mass.wall.gap": 0.03}, {"mass.body.mass": 0.5}, {"mass.wall.gap": 0.0}],
    ),
}


@pytest.mark.parametrize("which", VALUES)
def test_other_values_run_as_a_test_built_anew_does(which, tmp_path):
    make, rows = VALUES[which]
    test = make(RK4())
    for values in [*rows, *rows]:
        run, anew = test.with_values(values).run(0.3), make(RK4()).with_values(values).run(0.3)
        assert same(run, anew)
        assert run.record.description == anew.record.description
        assert run.record.attributes["seed"] == anew.record.attributes["seed"]
    assert bl.rerun(run.save(tmp_path / "last.h5")).record.attributes["difference"] == ""


@dataclass(frozen=True)
class CoarseWithLightMasses(RK4):
    """A scheme that depends on a value, as a user's integrator may."""

    def discretise(self, system, period, inputs, goals):
        light = system.parameters[MASS] < 0.4
        scheme = ForwardEuler() if light else RK4()
        return scheme.discretise(system, period, inputs, goals)


def test_a_value_may_change_the_form_of_the_tick():
    def made():
        return gawthrop_three_mass.test().replaced(integrator=CoarseWithLightMasses())

    test = made()
    for mass in (1.0, 0.5, 0.7, 0.3, 0.45, 0.35, 1.2):
        assert same(test.with_values({MASS: mass}).run(0.3), made().with_values({MASS: mass}).run(0.3)), mass
    assert not same(
        test.with_values({MASS: 0.35}).run(0.3), gawthrop_three_mass.test().with_values({MASS: 0.35}).run(0.3)
    )


def test_values_in_the_matrices_of_the_integrator_are_worked_in_every_time():
    def pendulum():
        return bl.Simulation(
            {"mass": swing()}, excitation={"F": 1.0}, rate=100, integrator=Exact(), record="mass.v.flow"
        )

    test = pendulum()
    for mass in (1.0, 2.0, 3.0, 1.5, 2.0):
        values = {"mass.body.mass": mass}
        assert same(test.with_values(values).run(1), pendulum().with_values(values).run(1))


@pytest.mark.parametrize(
    "paper", [gawthrop_three_mass, gawthrop_two_actuators, wagg_three_mass, bayer_substep]
)
@pytest.mark.parametrize("another", [copy.deepcopy, lambda test: pickle.loads(pickle.dumps(test))])
def test_a_copy_of_a_test_and_one_in_another_process_run_alike(paper, another):
    test = paper.test().with_values({"excitation.scale": 0.5})
    test.seconds = 0.2
    fresh = another(test)
    run = test.run()
    assert same(fresh.run(), run)
    assert same(another(test).run(), run)


def test_a_test_that_has_run_is_sent_to_other_processes():
    test = gawthrop_three_mass.test()
    record = test.run(0.2).record
    again = pickle.loads(pickle.dumps(record))
    assert again.description == record.description
    assert same(again, record)
