"""Parameters that are changed while a test runs: bounds, rates, limits; the same in C and in NumPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop import files
from bondloop.engine.ir.tick import reads
from bondloop.errors import InputError
from bondloop.hybrid import Tunable
from bondloop.integrate import NewmarkAverage
from bondloop.papers import dubois_damper, gawthrop_two_actuators
from bondloop.rehearsal import rerun
from bondloop.rehearsal.tunables import operated
from bondloop.safety import Cause

SCALE, HOLD, FORCE = "excitation.scale", "excitation.hold", "interlock.limits.force"
GAIN = "numerical.outer1.R.damping"
RATE = 3.0
STEPS = 150


@pytest.fixture(scope="module")
def test():
    return gawthrop_two_actuators.test().replaced(
        tunable={SCALE: Tunable(0, 1.5, rate=RATE), GAIN: Tunable(2, 20)}
    )


@pytest.fixture(scope="module")
def guarded():
    declared = {SCALE: Tunable(0, 1, rate=RATE), FORCE: Tunable(least=1)}
    return dubois_damper.test().replaced(tunable=declared)


def same(a, b):
    return all(np.array_equal(a.record[n], b.record[n]) for n in a.record.channels if n in b.record.channels)


def test_what_could_be_changed_and_is_not_changes_nothing(test):
    plain = test.replaced(tunable=None)
    tuned = test.run(0.3)
    assert same(plain.run(0.3), tuned)
    assert set(tuned.record.channels) - set(plain.run(0.3).record.channels) == {SCALE, GAIN}


SETS = st.dictionaries(
    st.integers(0, STEPS - 1),
    st.fixed_dictionaries(
        {},
        optional={
            SCALE: st.floats(0, 1.5), HOLD: st.sampled_from([0.0, 1.0]), GAIN: st.floats(2, 20),
        },
    ),
    max_size=8,
)  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(sets=SETS)
def test_rates_hold_and_both_back_ends_agree(test, sets):
    """The span follows what is wanted, in closed form: as near as the rate lets it, tick by tick."""
    seconds = (STEPS - 1) * test.period
    run = test.run(seconds, sets=sets)
    assert same(run, test.run(seconds, sets=sets, backend="numpy"))
    target, hold, gain, span = 1.0, 0.0, 6.0, 1.0
    step = RATE * test.period
    for k in range(STEPS):
        given_now = sets.get(k, {})
        target, hold, gain = (
            given_now.get(SCALE, target),
            given_now.get(HOLD, hold),
            given_now.get(GAIN, gain),
        )
        goal = 0.0 if hold else target
        span = goal if abs(goal - span) <= step else span + math.copysign(step, goal - span)
        assert run[SCALE][k] == pytest.approx(span, abs=1e-12)
        assert run[GAIN][k] == gain
    assert (np.abs(np.diff(run[SCALE])) <= step * (1 + 1e-9)).all()


def test_the_span_multiplies_the_excitation(test):
    """At half the span, the excitation is half of what it is without: r1 by its own formula."""
    whole, half = test.run(1.0), test.run(1.0, sets={0: {SCALE: 0.5}})
    at = round(0.5 / RATE / test.period) + 2
    assert np.allclose(half["r1"][at:], 0.5 * whole["r1"][at:], rtol=1e-12, atol=0)


def test_a_run_with_sets_is_repeated_from_its_file(test, tmp_path):
    run = test.run(0.2, sets={20: {SCALE: 0.5}, 90: {GAIN: 12.0, HOLD: 1.0}})
    run.save(tmp_path / "run.h5")
    assert rerun(tmp_path / "run.h5").record.attributes["difference"] == ""
    other = test.run(0.2, sets={21: {SCALE: 0.5}, 90: {GAIN: 12.0, HOLD: 1.0}})
    assert not same(run, other)


def test_a_limit_that_is_tightened_trips(guarded):
    """At the very tick after which the force is larger than the new limit; the old one is out of reach."""
    free = guarded.run(4.0)
    force = np.abs(free["measured.force"])
    k = int(np.argmax(force))
    assert not free["interlock.cause"].any()
    tight = guarded.run(4.0, sets={k - 5: {FORCE: 0.99 * force[k]}})
    first = int(np.argmax(tight["interlock.cause"] != 0))
    assert tight["interlock.cause"][first] == Cause.FORCE
    assert first == k - 5 + int(np.argmax(force[k - 5 :] > 0.99 * force[k]))


def test_limits_are_never_widened(guarded):
    limit = guarded.interlock.limits.force
    with pytest.raises(InputError, match="at most 20000"):
        guarded.run(0.1, sets={3: {FORCE: limit * 1.01}})
    with pytest.raises(InputError, match="tightened while the test runs, never widened"):
        guarded.replaced(tunable={FORCE: Tunable(most=limit * 1.01)})
    with pytest.raises(InputError, match="tightened, not made"):
        guarded.replaced(tunable={"interlock.limits.velocity": Tunable()})


@pytest.mark.parametrize(
    ("tunable", "words"),
    [
        ({"excitation.scal": Tunable()}, "did you mean 'excitation.scale'"),
        ({SCALE: Tunable(-1, 1)}, "at least 0"),
        ({SCALE: Tunable(1.5, 2)}, "begins with 1"),
        ({SCALE: 2.0}, "expected Tunable"),
        ({"rig.transfer[0].mass.mass": Tunable()}, "parameter"),
    ],
)
def test_what_cannot_be_declared(test, tunable, words):
    with pytest.raises(InputError, match=words):
        test.replaced(tunable=tunable)


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ({3: {SCALE: 1.6}}, "at most 1.5"),
        ({3: {SCALE: math.nan}}, "finite"),
        ({3: {"numerical.mn1.I.mass": 3.0}}, "fixed while the test runs"),
        ({3: {"gain": 3.0}}, "unknown parameter|no parameter"),
        ({-1: {SCALE: 1.0}}, "ticks from 0"),
        ({True: {SCALE: 1.0}}, "ticks from 0"),
        ({0.5: {SCALE: 1.0}}, "ticks from 0"),
        ({10**9: {SCALE: 1.0}}, "ticks from 0"),
    ],
)
def test_what_cannot_be_set(test, sets, words):
    with pytest.raises(InputError, match=words):
        test.run(0.1, sets=sets)


def test_a_test_with_tunables_is_data(test, guarded, tmp_path):
    for given_test in (test, guarded):
        files.to_toml(given_test, tmp_path / "test.toml")
        assert files.load(tmp_path / "test.toml") == given_test


def test_the_operator_gets_a_span(test):
    assert operated(test) is test
    plain = test.replaced(tunable=None, values={SCALE: 2.0})
    span = operated(plain).tunable[SCALE]
    assert (span.least, span.most) == (0.0, 2.0)


def test_the_check_is_that_of_the_test_without_but_for_what_can_be_set(test):
    found, plain = test.check(1.0), test.replaced(tunable=None).check(1.0)
    assert found.off == plain.off
    assert {f.rule for f in plain.findings} <= {f.rule for f in found.findings}
    assert found.ensemble.of("tunable")
    assert not plain.ensemble.of("tunable")


def test_what_is_worked_into_matrices_cannot_be_tuned_though_a_channel_shows_it():
    """A linear step of Newmark's keeps its matrices: a stiffness set later would change channels alone."""
    name = "numerical.outer1.C.stiffness"
    test = gawthrop_two_actuators.test().replaced(integrator=NewmarkAverage())
    assert name in test.tick.worked_in
    assert name in {v.name for v in reads(test.tick.steps)}
    with pytest.raises(InputError, match="works its value into constant matrices"):
        _ = test.replaced(tunable={name: Tunable()}).computer_tick
