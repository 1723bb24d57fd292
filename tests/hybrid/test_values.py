"""Values given by path obey the ranges of the constructors, in every ready-made test."""

import math
import re
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bondloop import papers
from bondloop.errors import InputError
from bondloop.hybrid import Simulation

TESTS = [e.name for e in papers.entries() if e.kind == "test"]
SILLY = [float("nan"), float("inf"), float("-inf"), "1e400", "-1e400 kg", "", "heavy", None]
POSITIVE = (
    "mass",
    "inertia",
    "volume",
    "width",
    "stroke",
    "bandwidth",
    "opening_time",
    "rated_flow",
    "alpha",
)


LEAST = {"exponent": 1.0}
"""Where half of a value may be too little: below 1 the law of Bouc and Wen is infinitely steep at zero."""


@cache
def ready(name):
    return papers.find(name).load().test()


def parameters(test):
    if isinstance(test, Simulation):
        return {path: x for s in test.systems.values() for path, x in s.parameters.items()}
    return test.parameters


drawn = st.sampled_from(TESTS).flatmap(
    lambda name: st.tuples(st.just(name), st.sampled_from(sorted(parameters(ready(name)))))
)


@pytest.mark.slow
@given(drawn, st.floats(0.5, 2.0))
@example(("mr-damper-building", "reference.damper.exponent"), 0.5)
@settings(max_examples=40, deadline=None)
def test_a_sensible_value_is_taken(chosen, factor):
    name, path = chosen
    test = ready(name)
    value = max(parameters(test)[path] * factor, LEAST.get(path.rpartition(".")[2], -math.inf))
    changed = test.with_values({path: value})
    assert (changed.values[path] if isinstance(test, Simulation) else changed.parameters[path]) == value


@pytest.mark.parametrize("owner", ["reference.damper", "rig.specimen.damper"])
def test_an_exponent_below_one_is_refused_by_path(owner):
    path = f"{owner}.exponent"
    with pytest.raises(InputError, match=rf"^{re.escape(path)}: expected a number at least 1; found 0\.999"):
        ready("mr-damper-building").with_values({path: 0.999})


@given(drawn, st.sampled_from(SILLY))
@settings(max_examples=40, deadline=None)
def test_what_is_no_finite_number_is_refused_by_path(chosen, value):
    name, path = chosen
    with pytest.raises(InputError) as caught:
        ready(name).with_values({path: value})
    assert str(caught.value).startswith(f"{path}: ")
    assert "expected" in str(caught.value)


@given(drawn, st.sampled_from([0.0, -1.0, -800.0, -1e-12]))
@settings(max_examples=60, deadline=None)
def test_zero_and_negative_values_are_refused_where_a_constructor_would(chosen, value):
    name, path = chosen
    word = path.rpartition(".")[2]
    try:
        ready(name).with_values({path: value})
    except InputError as error:
        words = str(error)
    else:
        assert word not in POSITIVE
        return
    assert words.startswith(f"{path}: expected a number ")
    assert words.endswith(f"; found {value:g}")


@pytest.mark.parametrize("name", TESTS)
def test_every_mass_of_a_ready_made_test_stays_positive(name):
    test = ready(name)
    masses = [p for p in parameters(test) if p.endswith((".mass", ".I.mass", ".inertia"))]
    for path in masses:
        for value in (0, -800):
            with pytest.raises(InputError, match=rf"expected a number above 0; found {value}"):
                test.with_values({path: value})


def test_several_paths_and_texts_with_units():
    test = ready("gawthrop-three-mass")
    changed = test.with_values({"rig.transfer.mass.mass": "500 g", "rig.transfer.damper.damping": -2})
    assert changed.parameters["rig.transfer.mass.mass"] == 0.5
    assert changed.parameters["rig.transfer.damper.damping"] == -2.0  # an active element is allowed


def test_the_tick_that_runs_holds_its_parameters_to_the_same_ranges():
    from bondloop.engine.codegen import Runner

    runner = Runner(ready("gawthrop-three-mass").tick, "numpy")
    with pytest.raises(InputError, match=r"numerical\.m1\.I\.mass: expected a number above 0; found 0"):
        runner.run(1, parameters={"numerical.m1.I.mass": 0.0})
