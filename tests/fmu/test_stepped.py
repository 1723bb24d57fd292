"""Systems that integrate themselves in an FMU: those that switch and remember too, as in a simulation."""

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se, Stop
from bondloop.devices import GiuffreMenegottoPinto
from bondloop.errors import InputError
from bondloop.rigs import mounted


def pounding():
    model = Model("pounding")
    model.force, model.v = Se("f"), One()
    _ = model.force >> model.v >> [I(mass=2.0), C(stiffness=50.0), R(damping=0.5), Stop(gap=0.01)]
    return model.compile(["v.flow"])


def yielding():
    return mounted(GiuffreMenegottoPinto()).compile()


@pytest.mark.parametrize(("make", "value"), [(pounding, 3.0), (yielding, 0.02)])
@pytest.mark.parametrize("version", [2, 3])
def test_steps_are_those_of_a_simulation(tmp_path, make, value, version):
    system = make()
    (name,), (output,) = system.inputs, system.outputs
    path = system.write_fmu(tmp_path / "system.fmu", rate=1000, version=version)
    assert validate_fmu(str(path)) == []
    seen = fmpy.simulate_fmu(str(path), stop_time=1.0, output_interval=1e-3, start_values={name: value})
    own = bl.Simulation({"a": system}, rate=1000, excitation={name: value}).run(1.0)
    np.testing.assert_array_equal(seen[output], np.asarray(own[f"a.{output}"]))
    assert np.ptp(seen[output]) > 0


def test_rates_must_be_positive(tmp_path):
    with pytest.raises(InputError, match="rate: expected a number above 0"):
        pounding().write_fmu(tmp_path / "x.fmu", rate=0)
