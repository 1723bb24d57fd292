"""What is set as a parameter of an FMU has the whole effect, or is refused; never a part of it."""

import numpy as np
import pytest
from slaves import opened

import bondloop as bl
from bondloop import papers
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.fmu.model_description import tick_variables
from bondloop.integrate import Exact, NewmarkAverage

READY = [entry.name for entry in papers.entries()]
STEPS = 100


def simulation(integrator):
    model = Model("oscillator")
    model.force, model.v = Se("f"), One()
    _ = model.force >> model.v >> [I(mass=2.0), C(stiffness=50.0), R(damping=0.3)]
    return bl.Simulation(
        {"one": model}, rate=200, excitation={"f": bl.signals.Sine(1.0, 1.0)}, integrator=integrator
    )


@pytest.mark.parametrize("integrator", [NewmarkAverage(), Exact()])
@pytest.mark.parametrize("version", [2, 3])
def test_what_is_worked_into_matrices_is_constant(tmp_path, capfd, integrator, version):
    test = simulation(integrator)
    path = test.write_fmu(tmp_path / "one.fmu", version=version, seconds=1.0)
    with opened(path) as one:
        about = {v.name: v for v in one.md.modelVariables}["one.C.stiffness"]
        assert (about.causality, about.variability, float(about.start)) == ("local", "constant", 50.0)
        assert one.get(["one.C.stiffness"]) == [50.0]
        with pytest.raises(Exception, match="status 3"):
            one.set({"one.C.stiffness": 60.0})
    said = capfd.readouterr().out
    assert "parameter 'one.C.stiffness' is worked into the matrices of a step, and stays 50" in said


def compare(test, path, name, value):
    """Compare an FMU in which a parameter was set with the test that was built with it, in all channels."""
    run = test.with_values({name: value}).run(STEPS * test.period)
    channels = [v for v in tick_variables(test.tick, len(test.tick.inputs)) if v.group == "output"]
    rows = []
    with opened(path, starts={name: value}) as one:
        for k in range(len(run.time)):
            rows.append(one.get([c.name for c in channels]))
            if k < len(run.time) - 1:
                one.step(k * test.period, test.period)
    for i, c in enumerate(channels):
        said = f"{name} = {value:g}: {c.name}"
        np.testing.assert_array_equal(np.array(rows)[:, i], np.asarray(run[c.path]), err_msg=said)


@pytest.mark.slow
@pytest.mark.parametrize("name", READY)
def test_every_ready_made_test_takes_its_parameters_or_has_them_as_constants(tmp_path, name):
    test = papers.find(name).load().test()
    path = test.write_fmu(tmp_path / "whole.fmu", seconds=STEPS * test.period)
    own = [v for v in tick_variables(test.tick, len(test.tick.inputs)) if v.group == "parameter"]
    # The switches and buttons of the operator are the tick's alone: the test is not built with them.
    free = [v for v in own if not v.fixed and not v.name.startswith(("switch.", "interlock.", "excitation."))]
    compared = 0
    for i in np.random.default_rng(21).permutation(len(free)):
        value = free[i].start * 1.01 or 0.01
        if compared < 2 and free[i].least <= value <= free[i].most:
            compare(test, path, free[i].name, value)
            compared += 1
    assert compared or not free
