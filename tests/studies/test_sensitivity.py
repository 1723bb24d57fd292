"""Sobol's indices against closed forms and against scipy's."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from bondloop.engine.ir.expr import Var, function
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.errors import InputError
from bondloop.papers import wagg_three_mass
from bondloop.studies.sensitivity_study import _estimates, sensitivity
from bondloop.studies.tick_measures import Measure

EVERY = f"uniform({-math.pi!r}, {math.pi!r})"


def of(expression, *parameters):
    """Return a test whose one channel is an expression of its parameters."""
    channel = Channel("y", expression)
    values = dict.fromkeys(parameters, 1.0)
    tick = Tick("closed_form", 0.1, Var("t"), Var("k"), (), {}, values, (), (channel,))
    return SimpleNamespace(tick=tick, period=0.1, tables={}, seconds=0.1)


@pytest.fixture(scope="module")
def ishigami():
    x1, x2, x3 = (Var(f"x{i}") for i in (1, 2, 3))
    y = function("sin", x1) + 7.0 * function("sin", x2) ** 2 + 0.1 * x3**4 * function("sin", x1)
    return of(y, x1, x2, x3)


def test_ishigami(ishigami):
    """Ishigami and Homma (1990) with a = 7, b = 0.1: variances by hand."""
    found = sensitivity(ishigami, {f"x{i}": EVERY for i in (1, 2, 3)}, 4096, {"y": Measure("last", Var("y"))})
    a, b, p = 7.0, 0.1, math.pi
    own = [0.5 * (1 + b * p**4 / 5) ** 2, a**2 / 8, 0.0]
    together = b**2 * p**8 * (1 / 18 - 1 / 50)
    variance = sum(own) + together
    first, total = found.first["y"], found.total["y"]
    for i, one in enumerate(own):
        whole = one + (0 if i == 1 else together)
        assert first[f"x{i + 1}"].value == pytest.approx(one / variance, abs=0.02)
        assert total[f"x{i + 1}"].value == pytest.approx(whole / variance, abs=0.02)
        assert first[f"x{i + 1}"].low <= one / variance <= first[f"x{i + 1}"].high
        assert total[f"x{i + 1}"].low - 0.01 <= whole / variance <= total[f"x{i + 1}"].high + 0.01
    assert found.tests == 4096 * 5
    assert str(found).splitlines()[2].split()[0] == "x1"


def test_as_scipy_has_it():
    """Of the same tests, the same indices."""
    rows = np.random.default_rng(5).normal(size=(6, 256))
    rows[2:] += 0.7 * rows[0] + 0.2 * rows[1]
    rows += 0.3
    theirs = stats.sobol_indices(
        func={"f_A": rows[None, 0], "f_B": rows[None, 1], "f_AB": rows[2:, None]}, n=256
    )
    for ours, those in zip(_estimates(rows), (theirs.first_order, theirs.total_order), strict=True):
        np.testing.assert_allclose(ours, those.ravel(), rtol=1e-12)


def test_what_is_drawn_together_is_one():
    """y = a + b + c with correlated a and b: their share is that of their sum, (2 + 2r)/(3 + 2r)."""
    a, b, c = (Var(n) for n in "abc")
    varied = {"": "correlated(a=normal(0, 1), b=normal(0, 1), 0.6)", "c": "normal(0, 1)"}
    found = sensitivity(of(a + b + c, a, b, c), varied, 2048, {"y": Measure("last", Var("y"))})
    assert found.first["y"][""].value == pytest.approx(3.2 / 4.2, abs=0.02)
    assert found.total["y"]["c"].value == pytest.approx(1 / 4.2, abs=0.02)


def test_a_measure_that_is_the_same_for_all_or_not_finite():
    a, b = Var("a"), Var("b")
    measures = {
        "same": Measure("last", Var("y") * 0.0 + 3.0),
        "root": Measure("last", function("sqrt", Var("y"))),
    }
    found = sensitivity(of(a + b, a, b), {"a": "normal(0, 1)", "b": "normal(0, 1)"}, 64, measures)
    assert [x.value for x in found.total["same"].values()] == [0, 0]
    assert 0 < found.left_out["root"] < 64
    assert "left out" in str(found)


@pytest.mark.parametrize("samples", [1000, 1, 0, 2.5, "64"])
def test_samples_are_a_power_of_two(samples):
    with pytest.raises(InputError, match=r"power of two|whole number"):
        sensitivity(wagg_three_mass.test(), {"rig.transfer.mass.mass": "normal(1, 5%)"}, samples)
