"""Statements of docs/integrators-compared.md; the numbers are those that benchmarks/integrators.py prints."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from bondloop.integrate.structural.simulate import SCHEMES

FILE = Path(__file__).parents[3] / "benchmarks" / "integrators.py"


@pytest.fixture(scope="module")
def compared():
    spec = importlib.util.spec_from_file_location("benchmark_integrators", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_scheme_is_compared(compared):
    assert {type(s).__name__ for s in compared.CANDIDATES.values()} == {
        "SubStep", *(s.__name__ for s in SCHEMES)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "milliseconds"),
    [
        ("SubStep(1)", 1.28),
        ("SubStep(4)", 5.41),
        ("SubStep(9)", 12.05),
        ("CentralDifference()", 8.00),
        ("ChenRicles()", 9.10),
        ("ChenRicles(), k3 known", 11.90),
    ],
)
def test_largest_stable_step(compared, name, milliseconds):
    """The table's limit: stable 1 % below it, not 1 % above."""
    scheme = compared.CANDIDATES[name]
    assert compared.stable(scheme, 0.99e-3 * milliseconds)
    assert not compared.stable(scheme, 1.01e-3 * milliseconds)


def test_explicit_limit_is_longer_than_that_of_the_whole_structure(compared):
    """Of all four masses it is 2/ω of the fourth mode, 44.57 Hz (Bayer 2000, Table 2)."""
    whole = 2 / (2 * np.pi * 44.57)
    assert whole == pytest.approx(7.14e-3, abs=5e-6)
    assert compared.stable(compared.CANDIDATES["CentralDifference()"], 1.1 * whole)


def test_order_at_a_thousand_exchanges_a_second(compared):
    """The page's table: 1.82, 2.28, 5.47, 15.66 and 17.99 %, in that order."""
    expected = {
        "ChenRicles(), k3 known": 1.82,
        "NewmarkExplicit()": 2.28,
        "Rosenbrock(), k3 known": 5.47,
        "NewmarkImplicit(), k3 known": 15.66,
        "SubStep(4)": 17.99,
    }
    found = [100 * compared.error(compared.CANDIDATES[name], 1000) for name in expected]
    assert found == pytest.approx([*expected.values()], abs=0.01)
    assert found == sorted(found)


def test_sub_steps_converge_with_the_age_of_the_force(compared):
    """First order in the time between exchanges: twice as many halve the error."""
    few, many = (compared.error(compared.CANDIDATES["SubStep(4)"], rate) for rate in (4000, 8000))
    assert few / many == pytest.approx(2, abs=0.1)
