"""An FMU that is none of ours: written with PythonFMU, whose binary carries a Python interpreter's code."""

import textwrap

import numpy as np
import pytest
from test_foreign import hybrid

from bondloop.errors import InputError
from bondloop.fmu import read_fmu
from bondloop.fmu.foreign import ForeignStep
from bondloop.substructure import FmuHalf

builder = pytest.importorskip("pythonfmu.builder", reason="PythonFMU is not installed")

SCRIPT = """
    from pythonfmu import Fmi2Causality, Fmi2Slave, Real


    class Oscillator(Fmi2Slave):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.k, self.F, self.x, self.v = 5000.0, 0.0, 0.004, 0.0
            self.register_variable(Real("k", causality=Fmi2Causality.parameter))
            self.register_variable(Real("F", causality=Fmi2Causality.input))
            self.register_variable(Real("x", causality=Fmi2Causality.output))
            self.register_variable(Real("v", causality=Fmi2Causality.output))

        def do_step(self, current_time, step_size):
            if self.x > 1.0:
                return False
            self.v += step_size * (-self.F - 12.0 * self.v - self.k * self.x) / 2.0
            self.x += step_size * self.v
            return True
"""


@pytest.fixture(scope="module")
def oscillator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pythonfmu")
    script = folder / "oscillator.py"
    script.write_text(textwrap.dedent(SCRIPT))
    path = builder.FmuBuilder.build_FMU(script, dest=folder)
    fmu = read_fmu(path)
    try:
        ForeignStep(fmu, [fmu.find("F", "input")], [fmu.find("x", "output")]).first()
    except InputError as error:
        if "cannot be loaded" in str(error):
            pytest.skip(f"PythonFMU's binary does not load here: {error}")
        raise
    return path


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_as_numerical_half(oscillator, backend):
    """The motion is that of the same four lines, here, with the forces that were measured."""
    half = FmuHalf(oscillator, force="F", velocity="v", displacement="x", parameters={"k": 4000.0})
    run = hybrid(half).run(0.2, backend=backend)
    x, v, seen = 0.004, 0.0, []
    for force in np.asarray(run["measured.force"]):
        seen.append(x)
        v += 1e-3 * (-force - 12.0 * v - 4000.0 * x) / 2.0
        x += 1e-3 * v
    # Its step is the difference of two times, and may be off by a rounding.
    np.testing.assert_allclose(np.asarray(run["desired.displacement"]), seen, rtol=1e-9, atol=1e-15)
    assert np.ptp(seen) > 1e-3


def test_its_types_are_told(oscillator):
    fmu = read_fmu(oscillator)
    assert fmu.version == 2
    assert {v.name: v.causality for v in fmu.variables.values()} == {
        "k": "parameter", "F": "input", "x": "output", "v": "output",
    }  # fmt: skip
    with pytest.raises(InputError, match="'k' is no input; known: F"):
        fmu.find("k", "input")
