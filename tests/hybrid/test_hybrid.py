"""Hybrid tests: names and values, faults before and during a run, run files, both backends."""

import json
import math

import numpy as np
import pytest

from bondloop.bondgraph import C, I, Model, One, R, Se, Sf
from bondloop.control import Direct, VirtualJunction
from bondloop.errors import InputError, ModelError
from bondloop.hybrid import HybridTest
from bondloop.integrate import RK4, Exact, ForwardEuler, NewmarkAverage
from bondloop.papers import gawthrop_three_mass, gawthrop_two_actuators, wagg_three_mass, wagg_two_mass_rig
from bondloop.papers.gawthrop_three_mass import Mass
from bondloop.rehearsal import Run, rerun
from bondloop.rigs import Emulated, Sensor, WhiteNoise
from bondloop.safety import Limits
from bondloop.signals import Noise, Sine
from bondloop.transfer import MassSpringDamper

PAPERS = (gawthrop_three_mass, gawthrop_two_actuators, wagg_three_mass, wagg_two_mass_rig)


def structure(spring=None):
    m = Model("two_mass")
    m.wall = Sf("r")
    m.m1 = Mass(1.0, 0.4, C(stiffness=40.0))
    m.m2 = Mass(0.5, 0.2, spring or C(stiffness=30.0))
    m.wall >> m.m1.left
    m.m1.right >> m.m2.left
    return m


def a_test(spring=None, **options):
    numerical, physical = structure(spring).cut("m1.right >> m2.left")
    rig = {k: options.pop(k) for k in ("sensors", "seed", "latency", "integrator_of_rig") if k in options}
    if "integrator_of_rig" in rig:
        rig["integrator"] = rig.pop("integrator_of_rig")
    settings = {"excitation": {"r": Sine(0.1, 1.0)}, "rate": 1000, **options}
    return HybridTest(
        numerical,
        rig=Emulated(physical, options.pop("actuator", None) or MassSpringDamper(1.0, 30.0, 900.0), **rig),
        controller=settings.pop("controller", VirtualJunction(MassSpringDamper(1.0, 30.0, 900.0))),
        **{k: v for k, v in settings.items() if k != "actuator"},
    )


# ------------------------------------------------------------------ before the run


def test_an_excitation_for_an_unknown_input_is_refused():
    with pytest.raises(InputError, match="unknown input 'q' of the numerical half"):
        a_test(excitation={"q": Sine(1, 1)})


def test_an_excitation_is_a_signal_or_a_number():
    constant = a_test(excitation={"r": 0.1}).run(0.1)
    assert constant["r"] == pytest.approx(0.1)
    with pytest.raises(InputError, match="excitation of 'r': expected a number with a unit"):
        a_test(excitation={"r": "sine"})


def test_an_unknown_record_path_is_refused():
    with pytest.raises(
        InputError, match=r"cannot record 'rigg\.x': unknown part of the test 'rigg'; did you mean 'rig'"
    ):
        a_test(record=["rigg.x"]).run(0.1)
    with pytest.raises((InputError, ModelError), match="m9"):
        a_test(record=["rig.specimen.m9.v.flow"]).run(0.1)


def test_any_variable_can_be_recorded_by_its_path():
    paths = ["numerical.m1.I.momentum", "rig.transfer.spring.effort", "controller.transfer.mass.momentum"]
    run = a_test(record=[*paths, paths[0], "rig.specimen.m2.I.mass"]).run(1)
    assert run["numerical.m1.I.momentum"] == pytest.approx(run["desired.velocity"], abs=1e-12)
    assert run["rig.transfer.spring.effort"] == pytest.approx(900 * run["actual.displacement"], abs=1e-9)
    assert run["controller.transfer.mass.momentum"] == pytest.approx(run["desired.velocity"], abs=1e-12)
    assert set(run["rig.specimen.m2.I.mass"]) == {0.5}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rate": 0}, "rate: expected a number above 0; found 0"),
        ({"rate": math.inf}, "rate: expected a finite number; found inf"),
        ({"coupling": "loose"}, "coupling must be"),
        (
            {"values": {"numerical.m1.I.mas": 1.0}},
            r"unknown parameter 'numerical.m1.I.mas' of the test; did you mean",
        ),
        ({"values": {"numerical.m1.I.mass": math.nan}}, "expected a finite number"),
    ],
)
def test_impossible_settings_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        a_test(**options)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf])
def test_an_impossible_length_is_refused(seconds):
    with pytest.raises(InputError, match="length of a run must be positive"):
        a_test().run(seconds)


def test_a_rig_that_does_not_fit_is_refused():
    numerical, physical = structure().cut("m1.right >> m2.left")
    actuator = MassSpringDamper(1.0, 30.0, 900.0)
    with pytest.raises(ModelError, match="1 interfaces, 2 transfer systems; give one for each"):
        HybridTest(
            numerical,
            rig=Emulated(physical, [actuator, actuator]),
            controller=Direct(),
            excitation={},
            rate=100,
        ).run(1)
    other = gawthrop_two_actuators.model().cut(*gawthrop_two_actuators.CUTS)[1]
    with pytest.raises(InputError, match="does not fit the numerical half: 1 interfaces there, 2"):
        HybridTest(
            numerical, rig=Emulated(other, [actuator] * 2), controller=Direct(), excitation={}, rate=100
        ).run(1)
    turned = structure().cut("m1.right >> m2.left", physical="m1")[1]
    with pytest.raises(
        (InputError, ModelError), match=r"the bond points out of both halves|inputs of its own"
    ):
        HybridTest(
            numerical, rig=Emulated(turned, actuator), controller=Direct(), excitation={}, rate=100
        ).run(1)


@pytest.mark.parametrize("as_equations", [False, True])
def test_a_specimen_with_an_input_of_its_own_is_refused(as_equations):
    m = structure()
    m.push = Se("F")
    m.push >> m.m2.v
    physical = m.cut("m1.right >> m2.left")[1]
    actuator = MassSpringDamper(1.0, 30.0, 900.0)
    if as_equations:
        from bondloop.transfer import transfer_system

        actuator = transfer_system(actuator).system
    with pytest.raises(ModelError, match=r"inputs of its own \(.*F\)"):
        Emulated(physical, actuator).system()


def test_inputs_keep_their_defaults_where_no_excitation_is_given():
    m = structure()
    m.pull, m.weight = Se(effort=3.0), Se(effort=9.81)
    m.pull >> m.m1.v
    m.weight >> m.m2.v
    numerical, physical = m.cut("m1.right >> m2.left")
    actuator = MassSpringDamper(1.0, 30.0, 900.0)
    test = HybridTest(
        numerical,
        rig=Emulated(physical, actuator),
        controller=VirtualJunction(actuator),
        excitation={},
        rate=1000,
        coupling="continuous",
        reference=(m, ["m2.v.flow"]),
        record=["rig.specimen.m2.v.flow"],
    )
    run = test.run(1)
    assert np.abs(run["reference.m2.v.flow"]).max() > 0.1
    assert run["rig.specimen.m2.v.flow"] == pytest.approx(run["reference.m2.v.flow"], abs=1e-9)
    weight = next(p for p in test.parameters if p.startswith("rig.") and "weight" in p)
    lighter = test.with_values({weight: 1.0}).run(1)
    assert np.abs(lighter["actual.displacement"] - run["actual.displacement"]).max() > 1e-3


# ------------------------------------------------------------------ values


@pytest.mark.parametrize(
    "integrator", [RK4(), Exact("first"), NewmarkAverage(), ForwardEuler()], ids=lambda i: type(i).__name__
)
def test_values_reach_every_scheme(integrator):
    """Changing a value is the same as having built the model with it, also where matrices are built in."""
    values = {
        "numerical.m1.I.mass": 2.5,
        "rig.specimen.m2.C.stiffness": 55.0,
        "rig.transfer.damper.damping": 44.0,
        "controller.transfer.damper.damping": 44.0,
    }
    changed = a_test(integrator=integrator, integrator_of_rig=integrator).with_values(values).run(2)
    m = Model("two_mass")
    m.wall = Sf("r")
    m.m1, m.m2 = Mass(2.5, 0.4, C(stiffness=40.0)), Mass(0.5, 0.2, C(stiffness=55.0))
    m.wall >> m.m1.left
    m.m1.right >> m.m2.left
    numerical, physical = m.cut("m1.right >> m2.left")
    actuator = MassSpringDamper(1.0, 44.0, 900.0)
    built = HybridTest(
        numerical,
        rig=Emulated(physical, actuator, integrator=integrator),
        controller=VirtualJunction(actuator),
        excitation={"r": Sine(0.1, 1.0)},
        rate=1000,
        integrator=integrator,
    ).run(2)
    assert np.abs(changed["force"] - built["force"]).max() < 1e-12
    assert np.abs(changed["force"] - a_test(integrator=integrator).run(2)["force"]).max() > 1e-3


def test_every_parameter_can_be_set_and_is_told():
    test = a_test(reference=(structure(), ["m2.v.flow"]))
    for path in test.parameters:
        assert test.with_values({path: 3.25}).parameters[path] == 3.25
    assert {"reference.m1.I.mass", "controller.transfer.mass.mass"} <= set(test.parameters)


def test_values_reach_the_check():
    soft = {"rig.transfer.damper.damping": 300.0}
    direct = a_test(controller=Direct())
    plain, changed = direct.check().lags[0], direct.with_values(soft).check().lags[0]
    assert plain.seconds == pytest.approx(30 / 900, rel=1e-3)
    assert changed.seconds == pytest.approx(300 / 900, rel=1e-3)


# ------------------------------------------------------------------ during the run


def test_a_law_that_gives_nan_stops_the_run_and_keeps_the_record():
    """The spring's force is sqrt(0.01 - d): not a number once it is stretched by more than 10 mm."""
    for backend in ("c", "numpy"):
        run = a_test(spring=C(law=lambda d: (0.01 - d) ** 0.5 - 0.1)).run(5, backend=backend)
        assert not run.completed
        assert "NaN" in run.record.attributes["message"]
        assert 10 < len(run.time) < 5000
        assert np.isfinite(run["force"][:-1]).all()
        assert "stopped" in run.verdict


def unstable(**options):
    return a_test(controller=Direct(), values={"rig.transfer.damper.damping": 300.0}, **options)


def test_a_run_that_diverges_stops_and_says_when_and_which_channel():
    run = unstable().run(1000)
    message = run.record.attributes["message"]
    assert not run.completed
    assert "the test diverged" in message
    assert "grew beyond 1e+09" in message
    assert f"at t = {run.time[-1]:.4g} s" in message
    channel = message.split("'")[1]
    assert abs(run[channel][-1]) > 1e9
    assert abs(run[channel][-2]) < 1e9


@pytest.mark.parametrize(
    ("limits", "channel", "unit"),
    [
        ({"displacement": "20 mm"}, "actual.displacement", "mm"),
        ({"velocity": 0.2}, "actual.velocity", "mm/s"),
        ({"force": 2.0}, "force", "N"),
        ({"command": 9.0}, "command", "N"),
    ],
)
def test_each_limit_trips_at_its_value(limits, channel, unit):
    run = unstable(limits=Limits(**limits)).run(100)
    message = run.record.attributes["message"]
    bound = getattr(Limits(**limits), next(iter(limits)))
    assert not run.completed
    assert message.startswith(f"'{channel}' reached ")
    assert f" {unit} at t = " in message
    assert f"raise limits.{next(iter(limits))}" in message
    assert abs(run[channel][-1]) > bound >= np.abs(run[channel][:-1]).max()
    assert np.isfinite(run[channel]).all()


def test_a_limit_crossed_between_recorded_samples_is_still_told():
    run = unstable(limits=Limits(force=2.0)).run(100, every=50)
    assert not run.completed
    message = run.record.attributes["message"]
    assert "limit ±2 N" in message
    assert np.abs(run["force"][:-1]).max() <= 2.0


def test_zero_excitation_has_nothing_to_follow():
    run = a_test(excitation={}).run(0.5)
    assert run.completed
    assert not run["actual.displacement"].any()
    assert "nothing to follow" in run.verdict


def test_an_input_may_have_the_name_of_a_channel():
    m = Model("pushed")
    m.push = Se("force")
    m.m1, m.m2 = Mass(1.0, 0.4, C(stiffness=40.0)), Mass(0.5, 0.2, C(stiffness=30.0))
    m.push >> m.m1.v
    m.wall = Sf(flow=0)
    m.wall >> m.m1.left
    m.m1.right >> m.m2.left
    numerical, physical = m.cut("m1.right >> m2.left")
    actuator = MassSpringDamper(1.0, 30.0, 900.0)
    run = HybridTest(
        numerical,
        rig=Emulated(physical, actuator),
        controller=VirtualJunction(actuator),
        excitation={"force": Sine(1.0, 1.0)},
        rate=1000,
    ).run(1)
    assert run["excitation.force"] == pytest.approx(np.sin(2 * math.pi * run.time), abs=1e-12)
    assert np.array_equal(run["force"], run["measured.force"])


# ------------------------------------------------------------------ files and backends


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: p.__name__.rpartition(".")[2])
def test_python_and_c_agree_on_the_papers_tests(paper):
    test = paper.test()
    c, python = test.run(2, backend="c"), test.run(2, backend="numpy")
    assert c.record.attributes["backend"] == "c"
    assert python.record.attributes["backend"] == "numpy"
    assert list(c.record) == list(python.record)
    for name in c.record:
        scale = max(1.0, np.abs(python[name]).max())
        assert np.abs(c[name] - python[name]).max() < 1e-12 * scale, name


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: p.__name__.rpartition(".")[2])
def test_a_description_is_json(paper):
    description = json.loads(json.dumps(paper.test().about(), allow_nan=False))
    assert description["name"] == paper.__name__.rpartition(".")[2]
    assert description["parameters"]


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_saved_run_is_repeated_bit_for_bit(tmp_path, backend):
    noise = Noise(0.05, 0.5, 20.0, 10.0, seed=7)
    test = a_test(
        excitation={"r": noise},
        sensors={"force": Sensor((WhiteNoise(0.01),)), "displacement": Sensor((WhiteNoise(1e-5),))},
        seed=11,
        latency=0.001,
        limits=Limits(displacement=1.0),
    )
    run = test.run(1, backend=backend, every=3)
    path = run.save(tmp_path / "run.h5")
    again = rerun(path, backend=backend)
    assert list(again.record) == list(run.record)
    for name in run.record:
        assert np.array_equal(again[name], run[name]), name
    assert np.array_equal(again.time, run.time)
    loaded = Run.load(path)
    assert np.array_equal(loaded["force"], run["force"])
    assert loaded.record.attributes["seed"] == 11
    assert again.record.attributes["repeats"] == str(path)


def test_a_stopped_run_is_saved_and_repeated_too(tmp_path):
    run = unstable(limits=Limits(displacement="20 mm")).run(100)
    again = rerun(run.save(tmp_path / "run.h5"))
    assert not again.completed
    assert again.record.attributes["message"] == run.record.attributes["message"]


def test_a_file_without_a_tick_cannot_be_repeated(tmp_path):
    run = a_test().run(0.1)
    run.record.description.pop("repeat")
    with pytest.raises(InputError, match="does not hold what is needed to repeat"):
        rerun(run.save(tmp_path / "run.h5"))


def test_c_is_written_for_other_targets(tmp_path):
    path = a_test(name="my test").write_c(tmp_path / "build")
    assert path.name == "my_test.c"
    assert "malloc" not in path.read_text()


def test_a_rigid_rig_and_other_paths_through_the_check():
    m = structure()
    numerical, physical = m.cut("m1.right >> m2.left")
    open_loop = HybridTest(
        numerical,
        rig=Emulated(physical, MassSpringDamper(1.0, 30.0, 900.0)),
        controller=Direct(),
        excitation={},
        rate=1000,
        feedback=False,
    ).check()
    assert "not fed back" in str(open_loop)
    assert open_loop.passed
    block = Model("block")
    block.wall, block.m1, block.mass = Sf("r"), Mass(1.0, 0.4, C(stiffness=40.0)), One()
    block.wall >> block.m1.left
    block.m1.right >> block.mass >> [I(mass=0.5), R(damping=0.1)]
    numerical, physical = block.cut("m1.right >> mass")
    found = HybridTest(
        numerical,
        rig=Emulated(physical, MassSpringDamper(1.0, 30.0, 900.0)),
        controller=Direct(),
        excitation={},
        rate=1000,
    ).check()
    assert found.lags == ()
    assert found.passed, "it needs no virtual junction"
    assert "begins with a mass" in str(found.assumptions)
