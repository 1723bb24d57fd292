"""Every condition for a trip: a fault is injected, and trips at the very tick that is stated.

The fault begins at 0.1 s, sample 100 at 1 kHz. ``late`` is how many ticks later the interlock trips: none,
but for stale data, which need the number of repeats that was asked for (the first frozen sample is the first
one). The power trip, which takes its time, is in test_power_trip.py.
"""

import numpy as np
import pytest

from bondloop.rigs import Frozen, Infinite, Jump, NotANumber
from bondloop.safety import Cause, Interlock, Limits, cause_words

AT = 100
LIMITS = Limits(displacement="20 mm", velocity="0.5 m/s", force="500 N", command="30 mm")
TRACKING = Limits(tracking_error="2 mm")
MEASURED = ("force", "displacement", "velocity")
NAN, INF = NotANumber(0.1), Infinite(0.1)

CONDITIONS = [
    ("displacement", Interlock(LIMITS), Jump(0.1, 0.025), Cause.DISPLACEMENT, 0),
    ("displacement", Interlock(LIMITS), Jump(0.1, -0.025), Cause.DISPLACEMENT, 0),
    ("velocity", Interlock(LIMITS), Jump(0.1, "0.6 m/s"), Cause.VELOCITY, 0),
    ("force", Interlock(LIMITS), Jump(0.1, -700), Cause.FORCE, 0),
    ("command", Interlock(LIMITS), Jump(0.1, 0.04), Cause.COMMAND, 0),
    ("displacement", Interlock(TRACKING), Jump(0.1, 0.003), Cause.TRACKING_ERROR, 0),
    ("desired_displacement", Interlock(TRACKING), Jump(0.1, 0.003), Cause.TRACKING_ERROR, 0),
    *((word, Interlock(LIMITS), NAN, Cause.NOT_A_NUMBER, 0) for word in MEASURED),
    *((word, Interlock(LIMITS), INF, Cause.NOT_A_NUMBER, 0) for word in MEASURED),
    *((word, Interlock(), NAN, Cause.NOT_A_NUMBER, 0) for word in ("command", "desired_displacement")),
    *((word, Interlock(), INF, Cause.NOT_A_NUMBER, 0) for word in ("command", "desired_velocity")),
    *((word, Interlock(stale=5), Frozen(0.1), Cause.STALE, 4) for word in MEASURED),
    ("force", Interlock(stale=1), Frozen(0.1), Cause.STALE, 0),
]  # fmt: skip


@pytest.mark.parametrize(("word", "interlock", "fault", "cause", "late"), CONDITIONS)
def test_a_fault_trips_at_the_stated_tick(Bench, motion, backend, word, interlock, fault, cause, late):
    runner = Bench(interlock, {word: fault}).runner(backend)
    result = runner.run(150, motion(150))
    assert result.finished, result.message
    expected = np.where(np.arange(150) < AT + late, 0, cause)
    np.testing.assert_array_equal(result.channels["interlock.cause"], expected)
    assert runner.state["interlock.tripped_at"] == pytest.approx((AT + late) * 0.001)
    # The command of the tick that trips is already the one before it, held.
    command = result.channels["command[0]"]
    assert command[AT + late] == command[AT + late - 1] == motion(AT + late)[-1, 5]


@pytest.mark.parametrize("word", ["force", "displacement", "velocity"])
def test_a_measured_value_that_is_no_number_is_replaced_by_the_last_good_one(Bench, motion, backend, word):
    fault = NotANumber(0.1, until=0.12)
    result = Bench(Interlock(), {word: fault}).runner(backend).run(150, motion(150))
    column = ["force", "displacement", "velocity"].index(word)
    expected = motion(150)[:, column]
    expected[100:120] = expected[99]
    np.testing.assert_array_equal(result.channels[f"{word}[0]"], expected)


def test_without_a_fault_nothing_trips(Bench, motion, backend):
    runner = Bench(Interlock(Limits(0.00101, 0.032, 101, 0.00101, 1e-9), stale=2)).runner(backend)
    result = runner.run(400, motion(400))
    assert not result.channels["interlock.cause"].any()
    np.testing.assert_array_equal(result.channels["command[0]"], motion(400)[:, 5])
    assert runner.state["interlock.tripped_at"] == -1


def test_a_value_that_rests_is_not_stale_before_its_time(Bench, backend):
    """Zeros from the first sample on: the sample 7 is the seventh that repeats the one before it."""
    result = Bench(Interlock(stale=7)).runner(backend).run(12, np.zeros((12, 6)))
    np.testing.assert_array_equal(result.channels["interlock.cause"], [0] * 7 + [Cause.STALE] * 5)


@pytest.mark.parametrize("code", range(9, 15))
def test_a_trip_on_request(Bench, motion, code):
    runner = Bench(Interlock()).runner("numpy")
    assert not runner.run(20, motion(20)).channels["interlock.cause"].any()
    result = runner.run(20, motion(20, first=20), {"interlock.trip": code})
    assert (result.channels["interlock.cause"] == code).all()
    assert (runner.run(20, motion(20, first=40)).channels["interlock.cause"] == code).all()


def test_the_request_of_c_is_the_same(Bench, motion, backend):
    runner = Bench(Interlock()).runner(backend)
    result = runner.run(20, motion(20), {"interlock.trip": 0.5})
    assert (result.channels["interlock.cause"] == Cause.OPERATOR).all()


def test_causes_at_the_same_tick_have_an_order(Bench, motion, backend):
    """NaN explains the others; then displacement before force."""
    jump = Jump(0.1, 1000)
    faults = {"displacement": jump, "force": jump, "velocity": jump}
    result = Bench(Interlock(LIMITS), faults).runner(backend).run(120, motion(120))
    assert result.channels["interlock.cause"][-1] == Cause.DISPLACEMENT
    result = Bench(Interlock(LIMITS), {**faults, "command": NAN}).runner(backend).run(120, motion(120))
    assert result.channels["interlock.cause"][-1] == Cause.NOT_A_NUMBER


def test_any_of_several_interfaces_trips_all(Bench, motion, backend):
    bench = Bench(Interlock(LIMITS, safe_position=0.002), {("force", 1): Jump(0.1, 1000)}, interfaces=3)
    inputs = motion(1200, interfaces=3)
    inputs[:, 17] *= 2  # the third command
    result = bench.runner(backend).run(1200, inputs)
    assert np.flatnonzero(result.channels["interlock.cause"])[0] == AT
    for i in range(3):
        command = result.channels[f"command[{i}]"]
        # 0.002 + (c - 0.002) rounds once more than c
        np.testing.assert_allclose(command[:AT], inputs[:AT, 6 * i + 5], rtol=0, atol=1e-18)
        assert command[AT] == command[AT - 1]
        assert command[-1] == 0.002


def test_words_of_the_causes():
    words = [cause_words(c) for c in Cause]
    assert len(set(words)) == len(words) == 21
    assert cause_words(10.0) == "the link to the rig was lost"
    assert cause_words(float("nan")) == "unknown cause nan"
    assert [c.value for c in Cause] == list(range(21))  # records hold these numbers
