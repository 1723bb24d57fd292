"""Devices beside OpenSees' materials.

The table holds the stresses of OpenSeesPy 3.7.1 along a random walk, made by ``python
benchmarks/nonlinear.py --opensees PYTHON --write tests/devices/opensees_histories.csv``. Those of BoucWen
and BWBN, which OpenSees steps by implicit Euler, are extrapolated from 2,000 and 4,000 steps a sample.
"""

import csv
import importlib.util
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def benchmark():
    spec = importlib.util.spec_from_file_location("nonlinear_benchmark", ROOT / "benchmarks" / "nonlinear.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table():
    with (Path(__file__).parent / "opensees_histories.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    return dict(zip(rows[0], np.array(rows[1:], dtype=float).T, strict=True))


CASES, TABLE = benchmark().CASES, table()


@pytest.mark.parametrize("name", CASES)
def test_a_device_is_opensees_material(name):
    device, reference, x = CASES[name][0], TABLE[name], TABLE["displacement"]
    force = device.respond(x, 100, substeps=256)
    assert np.max(np.abs(reference)) > 100, "the history must make it yield"
    assert np.max(np.abs(force - reference)) < 1e-6 * np.max(np.abs(reference))


def test_the_table_could_tell():
    """A hardening that is off by a thousandth is seen."""
    device, x = CASES["Steel01"][0], TABLE["displacement"]
    other = type(device)(device.stiffness, device.yield_force, device.hardening + 0.001)
    assert np.max(np.abs(other.respond(x, 100) - TABLE["Steel01"])) > 1e-4 * np.max(np.abs(TABLE["Steel01"]))
