"""Whatever comes in, numbers within bounds go out; and C does what its twin does."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.expr import Const, Op, Var, evaluate, select
from bondloop.engine.passes.block import Applied
from bondloop.safety import Cause, Interlock, Limits, PowerTrip, RampedSwitch

INTERFACES = 2
COLUMNS = 6 * INTERFACES


class Spoilt:
    """A fault to order: NaN or an infinity instead of certain values.

    Inputs of a tick are finite, so a fault is coded as a value: 1e300 for NaN, ±2e300 for infinities.
    """

    def apply(self, value, _context):
        bad = select(value > 0, Const(np.inf), Const(-np.inf))
        spoilt = select(Op("eq", (abs(value), Const(2e300))), bad, value)
        return Applied([], select(Op("eq", (value, Const(1e300))), Const(np.nan), spoilt))


WORDS = ("force", "displacement", "velocity", "desired_displacement", "desired_velocity", "command")
values = st.one_of(
    st.floats(-2, 2),
    st.sampled_from([0.0, 1e300, 2e300, -2e300, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324]),
    st.floats(allow_nan=False, allow_infinity=False),
)
rows = st.lists(values, min_size=COLUMNS, max_size=COLUMNS)
orders = st.fixed_dictionaries(
    {
        "interlock.reset": st.sampled_from([0.0, 1.0]),
        "interlock.trip": st.sampled_from([0.0, 0.0, 0.0, 9.0, 12.0]),
        "gamma.target": st.floats(allow_nan=False, allow_infinity=False),
        "delta.target": st.sampled_from([1.0, 0.4]),
    }
)


def quiet(ticks):
    """Small values, never the same twice: only these let a reset through."""
    return (0.01 * np.sin(np.arange(ticks * COLUMNS))).reshape(ticks, COLUMNS).tolist()


calm = st.integers(1, 30).map(quiet)
wild = st.lists(rows, min_size=1, max_size=4)
recovery = [(quiet(20), {"interlock.reset": 0.0}), (quiet(9), {"interlock.reset": 1.0})]
acts = st.one_of(st.tuples(st.one_of(calm, wild), orders).map(lambda act: [act]), st.just(recovery))
segments = st.lists(acts, min_size=1, max_size=8).map(lambda found: [act for acts in found for act in acts])


@functools.cache
def runner(Bench, backend):
    interlock = Interlock(
        Limits(1.0, 1.0, 1.5, 1.5, 1.0),
        PowerTrip(0.5, cutoff=400),
        stale=4,
        release=0.002,
        retreat=0.004,
        safe_position=0.25,
    )
    faults = dict.fromkeys(WORDS, Spoilt())
    return Bench(
        interlock, faults, RampedSwitch(1.0, ramp=0.003), RampedSwitch(1.0, ramp=0.005), INTERFACES
    ).runner(backend)


def played(Bench, backend, pieces):
    run = runner(Bench, backend)
    run.reset()
    results = [run.run(len(table), table, parameters) for table, parameters in pieces]
    assert all(r.finished for r in results), [r.message for r in results]  # a NaN would have ended the run
    return {n: np.concatenate([r.channels[n] for r in results]) for n in results[0].channels}


@given(segments)
@settings(deadline=None, max_examples=80)
def test_numbers_within_bounds_go_out(Bench, pieces):
    found = played(Bench, "numpy", pieces)
    for name in ("gamma", "delta"):
        assert ((found[name] >= 0) & (found[name] <= 1)).all()
    assert (np.abs(np.diff(found["gamma"])) <= 0.001 / 0.002 + 1e-12).all()
    for i in range(INTERFACES):
        assert (np.abs(found[f"command[{i}]"]) <= 1.5).all(), "no command beyond its limit ever goes out"
    assert np.isin(found["interlock.cause"], [*Cause]).all()
    for before, after in zip(found["interlock.cause"], found["interlock.cause"][1:], strict=False):
        assert not before or after in (before, 0)


@pytest.mark.skipif(not compiler(), reason="no C compiler")
@given(segments)
@settings(deadline=None, max_examples=50)
def test_c_does_what_its_twin_does(Bench, pieces):
    twin, found = played(Bench, "numpy", pieces), played(Bench, "c", pieces)
    for name, expected in twin.items():
        # cos is the one function whose last bit a library may choose
        np.testing.assert_allclose(found[name], expected, rtol=1e-14, atol=1e-15, err_msg=name)


def test_the_faults_are_what_they_are_meant_to_be():
    value = Var("x")
    spoilt = Spoilt().apply(value, None).value
    assert np.isnan(evaluate(spoilt, {value: 1e300}))
    assert evaluate(spoilt, {value: -2e300}) == -np.inf
    assert evaluate(spoilt, {value: 0.3}) == 0.3
