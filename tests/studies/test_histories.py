"""Chosen tests: which they are, their histories by a second pass, and all of them as tables."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bondloop as bl
from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators, wagg_three_mass
from bondloop.studies import Sampled, sample
from bondloop.studies.distributions import Distribution

STATE = "numerical.m1.C.displacement"


def of(error, stopped=None):
    values = np.asarray(error, dtype=float)
    ended = np.zeros(len(values), bool) if stopped is None else np.asarray(stopped)
    own = {"a": Distribution("uniform", 0, 1)}
    return Sampled(own, np.arange(len(values))[:, None] * 1.0, {"error": values}, ended, {}, "lanes", 1.0)


@settings(deadline=None, max_examples=60)
@given(
    error=st.lists(st.floats(0, 1, width=16), min_size=1, max_size=30), share=st.integers(0, 100),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_the_chosen_are_those_of_the_ranking(error, share, seed):
    found = of(error, np.random.default_rng(seed).random(len(error)) < 0.2)
    chosen = found.choose("error", f"worst 2, best, {share}%, every 7")
    ranked = np.sort(np.where(found.stopped, np.inf, found["error"]))
    of_test = np.where(found.stopped, np.inf, found["error"])
    assert of_test[chosen["worst 1"]] == ranked[-1]
    assert of_test[chosen["best 1"]] == ranked[0]
    assert ("worst 2" in chosen) == (len(error) > 1)
    assert of_test[chosen[f"{share} %"]] == found.quantile("error", share / 100)
    assert [chosen[n] for n in chosen if n.startswith("test ")] == list(range(0, len(error), 7))


@settings(deadline=None, max_examples=60)
@given(
    times=st.lists(st.floats(0, 1, width=16) | st.just(math.nan), min_size=1, max_size=30),
    share=st.integers(0, 100),
)
def test_the_chosen_by_a_time_are_those_of_its_quantiles(times, share):
    when = np.array(times)
    found = replace(
        of(times, ~np.isnan(when)), measured={"trip_time": when, "f": when}, times=("trip_time", "f")
    )
    for name in ("trip_time", "f"):
        chosen = found.choose(name, f"worst, best, {share}%")
        if np.isnan(when).all():
            assert f"{share} %" not in chosen
            assert math.isnan(found.quantile(name, share / 100))
            continue
        assert when[chosen[f"{share} %"]] == found.quantile(name, share / 100)
        assert when[chosen["worst 1"]] == np.nanmin(when)
        assert np.isnan(when[chosen["best 1"]]) == np.isnan(when).any()


def test_the_worst_of_those_that_stopped_is_the_worst_by_its_measure():
    stopped = [True, True, True, False, True, False]
    found = of([0.3, 0.9, 0.9, 5.0, math.nan, 0.1], stopped)
    assert found.worst_first("error").tolist() == [1, 2, 0, 4, 3, 5]
    earlier = replace(
        found, measured={**found.measured, "trip_time": np.array([1, 3, 2, math.nan, 1, math.nan])}
    )
    assert earlier.worst_first("error").tolist() == [2, 1, 0, 4, 3, 5]
    assert earlier.choose("error", "best 2") == {"best 1": 5, "best 2": 3}


def test_the_worst_of_a_first_time_is_the_earliest():
    test = gawthrop_two_actuators.test()
    name = "first:abs(actual.displacement[0]) > 0.01"
    found = sample(test, {"excitation.scale": "uniform(0.5, 20)"}, 32, (name,), seconds=2)
    when = found[name]
    assert np.isnan(when).any()
    assert when[found.worst_first(name)[0]] == np.nanmin(when)
    assert found.quantile(name, 1) == np.nanmax(when)


@pytest.mark.parametrize("which", ["worse", "worst 0", "every", "every 0", "120 %", "", "worst 3 best", 3])
def test_what_is_no_choice_is_told(which):
    with pytest.raises(InputError, match="expected a choice such as"):
        of([0.1, 0.2]).choose("error", which)


def test_too_many_histories_are_refused():
    with pytest.raises(InputError, match="at most 1,000"):
        of(np.zeros(3000)).choose("error", "every 2")
    with pytest.raises(InputError, match="how long they were"):
        of([0.1]).histories(wagg_three_mass.test(), "error")


def test_a_second_pass_is_the_first_one():
    """Of each chosen test the measure of its history is what was measured on the way."""
    test = gawthrop_two_actuators.test()
    found = sample(
        test, {"excitation.scale": "uniform(5, 40)"}, 24, ("peak:force[0]", "trip_time"), seconds=1.5
    )
    runs = found.histories(test, "peak:force[0]", "worst 2, best, 50 %, every 10")
    assert list(runs) == ["worst 1", "worst 2", "best 1", "50 %", "test 0", "test 10", "test 20"]
    for name, number in found.choose("peak:force[0]", "worst 2, best, 50 %, every 10").items():
        run = runs[name]
        if found.backend != "cuda":
            assert np.abs(run["force[0]"]).max() == found["peak:force[0]"][number]
        assert run.completed == (not found.stopped[number])
        assert run.record.description["parameters"]["excitation.scale"] == found.values[number, 0]
        again = test.with_values(found.row(number)).run(1.5)
        np.testing.assert_array_equal(again["force[0]"], run["force[0]"])


def test_states_that_begin_otherwise_are_in_the_history(tmp_path):
    test = wagg_three_mass.test()
    varied = {STATE: "uniform(-0.2, 0.2)", "rig.transfer.mass.mass": "normal(1, 5%)"}
    found = sample(test, varied, 6, ("peak:force",), seconds=1.0)
    run = found.histories(test, "peak:force", "worst")["worst 1"]
    assert np.abs(run["force"]).max() == pytest.approx(found["peak:force"].max(), rel=1e-9)
    again = bl.rerun(run.save(tmp_path / "worst.h5"))
    np.testing.assert_array_equal(again["force"], run["force"])
    with pytest.raises(InputError, match="unknown parameter 'mass'"):
        test.prepare().run({"mass": 1.0}, 1.0)


def test_the_table_of_pandas():
    found = of([0.1, 0.2, math.nan], [False, True, False])
    try:
        import pandas  # noqa: F401, ICN001
    except ImportError:
        with pytest.raises(InputError, match="needs pandas"):
            found.to_pandas()
    else:
        table = found.to_pandas()
        assert list(table.columns) == ["test", "a", "error", "stopped", "stopped_by"]
        assert table["stopped"].tolist() == [False, True, False]
