"""FMI's reference FMUs, where the user has them: in the folder that BONDLOOP_REFERENCE_FMUS names.

They are those of https://github.com/modelica/Reference-FMUs, by their names, at any depth: 2.0/VanDerPol.fmu.
"""

import os
from pathlib import Path

import fmpy
import numpy as np
import pytest

from bondloop.fmu import read_fmu
from bondloop.fmu.foreign import ForeignStep

FOLDER = os.environ.get("BONDLOOP_REFERENCE_FMUS", "")
FILES = {name: sorted(Path(FOLDER).rglob(f"{name}*.fmu")) if FOLDER else [] for name in
         ("Dahlquist", "VanDerPol", "BouncingBall")}  # fmt: skip
MODELS = {
    "Dahlquist": (["x"], 0.1, 100),
    "VanDerPol": (["x0", "x1"], 0.01, 500),
    "BouncingBall": (["h", "v"], 0.01, 300),  # meets the floor: events, handled in its own steps
}


@pytest.mark.skipif(not FOLDER, reason="$BONDLOOP_REFERENCE_FMUS names no folder of FMI's reference FMUs")
@pytest.mark.parametrize("name", list(MODELS))
def test_they_run_as_by_fmpy(name):
    outputs, period, steps = MODELS[name]
    files = [path for path in FILES[name] if fmpy.read_model_description(path).fmiVersion[0] in "23"]
    assert files, f"there is no {name} in {FOLDER}"
    for path in files:
        fmu = read_fmu(path)
        step = ForeignStep(fmu, [], [fmu.find(output, "output") for output in outputs])
        own = np.array(
            [[step._asked(i)(k, k * period) for i in range(len(outputs))] for k in range(steps + 1)]
        )
        other = fmpy.simulate_fmu(
            path, fmi_type="CoSimulation", stop_time=steps * period, output_interval=period
        )
        for i, output in enumerate(outputs):
            np.testing.assert_array_equal(own[:, i], other[output][: steps + 1], err_msg=f"{path}: {output}")
        assert np.ptp(own[:, 0]) > 0.5
