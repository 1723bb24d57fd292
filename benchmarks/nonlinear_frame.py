"""Ten storeys with hinges that yield, under El Centro: beside OpenSees, and in a hybrid test at 1 kHz.

    python benchmarks/nonlinear_frame.py [--opensees PYTHON] [--seconds 20]

The frame (nonlinear_frame_model.py) in OpenSees: opensees_nonlinear_frame.py.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import nonlinear_frame_model as frame
import numpy as np

import bondloop as bl
from bondloop.papers import silva_benchmark

STEP, SCALE = 1e-3, 1.0


def opensees(python: str, ground: np.ndarray, steps: int, **options: object) -> dict:
    """Run the frame in OpenSees."""
    what = {
        "h": STEP, "steps": steps, "ground": ground.tolist(), "bays": frame.BAYS, "storeys": frame.STOREYS,
        "bay": frame.BAY, "height": frame.HEIGHT, "column": frame.COLUMN, "beam": frame.BEAM,
        "mass": frame.MASS, "inertia": frame.INERTIA, "end": frame.END, "hinge": frame.HINGE,
        "alpha": frame.ALPHA, "beta": frame.BETA, "solver": "BandGeneral", "algorithm": ["Newton"], **options,
    }  # fmt: skip
    script = str(Path(__file__).with_name("opensees_nonlinear_frame.py"))
    answer = subprocess.run([python, script], input=json.dumps(what), capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(answer.stderr[-2000:])
    line = next(text for text in answer.stdout.splitlines() if text.startswith("{"))
    return json.loads(line.removesuffix("Process 0 Terminating"))
