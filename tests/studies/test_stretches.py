"""A measure is of the samples in which the rig is to follow: not of a retreat, nor of what is before."""

import numpy as np
import pytest

import bondloop as bl
from bondloop import results
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.expr import Var
from bondloop.errors import InputError
from bondloop.papers import dubois_damper, gawthrop_two_actuators
from bondloop.studies.rehearsals import Rehearsals
from bondloop.studies.tick_measures import Measure

BACKENDS = ["lanes", "one by one"] if compiler() else ["one by one"]
SCALES = np.array([[6.0], [36.0], [42.0]])
NAMES = ("error", "rms:force[0]", "last:command[0]", "delay", "energy", "growth", "limit", "mean:force[0]")


def rms(values):
    return np.sqrt(np.mean(np.square(values)))


@pytest.fixture(scope="module")
def watched():
    """Return a test whose interlock trips where its limits would have stopped it."""
    test = gawthrop_two_actuators.test()
    limits = bl.safety.Limits(displacement=0.025)
    return test.replaced(limits=None, interlock=bl.safety.Interlock(limits=limits))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_retreat_is_not_measured(watched, backend):
    found = Rehearsals(watched, ["excitation.scale"], (*NAMES, "trip_time"), 4.0, backend).run(SCALES)
    assert found.stopped[0] < found.stopped[-1]
    for i, scale in enumerate(SCALES[:, 0]):
        run = watched.with_values({"excitation.scale": scale}).run(4.0)
        end = len(run.time) if run.trip is None else int(np.argmax(run["interlock.cause"] != 0)) + 1
        desired, actual = (np.asarray(run[name])[:end] for name in run.pairs[0])
        force, command = (np.asarray(run[name])[:end] for name in ("force[0]", "command[0]"))
        got = {name: values[i] for name, values in found.measured.items()}
        assert got["error"] == pytest.approx(rms(actual - desired) / rms(desired), rel=1e-9)
        assert got["rms:force[0]"] == pytest.approx(rms(force), rel=1e-9)
        assert got["mean:force[0]"] == pytest.approx(force.mean(), rel=1e-9)
        assert got["last:command[0]"] == pytest.approx(command[-1], rel=1e-9)
        through = np.abs((force[1:] + force[:-1]) / 2 * np.diff(desired)).sum()
        energy = np.ravel(results.work(force, actual - desired))[-1] / through
        assert got["energy"] == pytest.approx(energy, rel=1e-9)
        assert np.isinf(got["growth"]) == (run.trip is not None)
        assert (got["limit"] > 1) == (run.trip is not None)
        if run.trip is not None:
            assert got["trip_time"] == pytest.approx(run.trip[0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_before_the_halves_are_coupled_is_not_measured(backend):
    test = dubois_damper.test()
    run = test.run(4.0)
    assert "switch.displacement" in run.record.channels
    assert run.coupled.time[0] > 1
    found = Rehearsals(test, [], ("error",), 4.0, backend).run(np.zeros((2, 0)))
    assert found.measured["error"] == pytest.approx(
        dict(run.metrics[0].items())["normalised_rms_error"], rel=1e-9
    )


def test_the_first_stretch_alone():
    test = gawthrop_two_actuators.test()
    when = Var("desired.displacement[0]") > 0
    measures = {
        "peak": Measure("peak", Var("force[0]"), during=when),
        "n": Measure("mean", Var("force[0]"), during=when),
    }
    found = Rehearsals(test, [], measures, 4.0).run(np.zeros((1, 0)))
    run = test.run(4.0)
    inside = np.asarray(run["desired.displacement[0]"]) > 0
    first = int(np.argmax(inside))
    force = np.asarray(run["force[0]"])[first : first + int(np.argmin(inside[first:]))]
    assert 2 < len(force) < len(inside) / 2
    assert found.measured["peak"][0] == pytest.approx(np.abs(force).max(), rel=1e-9)
    assert found.measured["n"][0] == pytest.approx(force.mean(), rel=1e-9)


def test_growth_is_of_the_whole_test():
    with pytest.raises(InputError, match="without during"):
        Measure("growth", Var("x"), during=Var("y"))
