"""No machine is moved without limits: what is refused, what is derived; the template can be pasted."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bondloop import files
from bondloop.errors import InputError
from bondloop.files import load_text
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import LoopOptions, session
from bondloop.realtime.machine_limits import NEEDED, expected, machine_options
from bondloop.realtime.session import prepare, run_realtime
from bondloop.safety import Interlock, Limits, PowerTrip

SECONDS = 0.5
LINK = "udp://127.0.0.1:5005"
LIMITS = Limits(displacement="25 mm", velocity=0.5, force=500, command="25 mm", command_rate="1 m/s")


@pytest.fixture(scope="module")
def test():
    return gawthrop_two_actuators.test().replaced(gap=60.0)


@pytest.fixture(scope="module")
def limited(test):
    return test.replaced(interlock=Interlock(LIMITS))


@pytest.fixture(scope="module")
def machine(limited):
    interlock = Interlock(replace(LIMITS, tracking_error="1 mm"))
    return prepare(limited.replaced(interlock=interlock), SECONDS, link=LINK)


@pytest.mark.parametrize("link", [LINK, "shm://somewhere", "board://0"])
def test_a_link_that_is_named_is_a_machine_and_needs_limits(test, link, monkeypatch):
    monkeypatch.setattr(session, "loop_program", None)
    with pytest.raises(InputError, match="moves a machine, and the test does not say how far") as error:
        prepare(test, SECONDS, link=link)
    assert "no limit of velocity, command and command_rate" in str(error.value)


@pytest.mark.parametrize("name", NEEDED)
def test_each_of_the_five_is_needed(limited, name):
    fewer = limited.replaced(interlock=Interlock(replace(LIMITS, **{name: None})), limits=None)
    with pytest.raises(InputError, match=rf"no limit of {name}\. State"):
        prepare(fewer, SECONDS, link=LINK)


def test_what_the_test_limits_itself_counts_too(test):
    some = Limits(velocity=0.5, command="25 mm", command_rate="1 m/s")  # the test has the other two
    made = prepare(test.replaced(interlock=Interlock(some)), SECONDS, link=LINK)
    assert made.test.interlock.limits.displacement == test.limits.displacement
    assert made.test.interlock.limits.force == test.limits.force


def test_the_template_can_be_pasted(test):
    with pytest.raises(InputError) as error:
        prepare(test, SECONDS, link=LINK)
    _, python, toml = re.split(r"In Python:\n\n|In a test file:\n\n", str(error.value))
    interlock = eval("dict(" + python + ")", {"Interlock": Interlock, "Limits": Limits})["interlock"]
    made = prepare(test.replaced(interlock=interlock), SECONDS, link=LINK)
    assert made.options.machine
    again = load_text(f"{files.to_toml(test)}\n{toml}").test
    assert again.interlock == interlock
    seen = expected(test, SECONDS)
    for name in ("velocity", "command", "command_rate"):
        assert 1.5 * getattr(seen, name) <= getattr(interlock.limits, name) < 1.7 * getattr(seen, name)


def test_where_nothing_moves_the_template_asks(test):
    """Half a tick of nothing tells no velocity: what is to be filled in is no number, in either language."""
    still = test.replaced(excitation={}, limits=None)
    with pytest.raises(InputError) as error:
        prepare(still, SECONDS, link=LINK, force=True)
    assert re.search(r"velocity=\.\.\., +# m/s: fill in", str(error.value))
    with pytest.raises(InputError, match="expected a number or a text"):
        Limits(velocity=...)


def test_the_other_trips_are_on_with_values_from_the_rehearsal(limited):
    made = prepare(limited, SECONDS, link=LINK)
    interlock, seen = made.test.interlock, expected(limited, SECONDS)
    assert interlock.limits.tracking_error == pytest.approx(
        max(3 * seen.tracking_error, 0.01 * 0.025), rel=0.1
    )
    assert interlock.power.threshold == pytest.approx(max(3 * seen.power, 0.01 * 500 * 0.5), rel=0.1)
    assert (interlock.stale, interlock.limits.warning) == (50, 0.8)
    # The check finds 1.19 ms of delay to spare: one late tick of 1 ms, not two.
    assert (made.options.overrun, made.options.overrun_limit, interlock.deadline) == ("trip", 1, 1)
    assert made.options.approach == made.options.retreat == interlock.retreat
    assert made.options.catch_up == 0, "a machine's time is not made good by a jump"


def test_what_the_test_says_itself_stays(limited):
    stated = Interlock(
        replace(LIMITS, tracking_error=2e-3, warning="50 %"),
        PowerTrip(7.0),
        stale=33,
        deadline=4,
        retreat=2.0,
    )
    made = prepare(limited.replaced(interlock=stated, limits=None), SECONDS, link=LINK)
    assert made.test.interlock == stated
    assert made.options.overrun_limit == 4
    assert prepare(limited, SECONDS, link=LINK, options={"overrun": "hold"}).options.overrun == "hold"


@pytest.mark.parametrize("policy", ["count", "hold", "trip"])
def test_no_policy_for_late_ticks_turns_the_trip_off(limited, policy):
    made = prepare(limited, SECONDS, link=LINK, options={"overrun": policy})
    assert (made.options.overrun, made.options.overrun_limit) == (policy, 1)
    made = prepare(limited, SECONDS, link=LINK, options={"overrun": policy, "overrun_limit": 50})
    assert made.options.overrun_limit == made.test.interlock.deadline == 50


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"stale": 0}, "stale must be 1 tick or more: there is no value for never"),
        ({"overrun_limit": 0}, r"deadline\): expected a number of late ticks in a row, 1 or more"),
        ({"supervisor": 0.0}, "does not go on for ever without one"),
        ({"retreat": 1e300}, "retreat must be at most 3600"),
        ({"stale": 10**12}, "stale must be at most 2e"),
    ],
)
def test_there_is_no_value_for_never(limited, option, words):
    with pytest.raises(InputError, match=words):
        prepare(limited, SECONDS, link=LINK, options=option)


def test_what_is_in_force_is_told_and_in_the_file(limited):
    """As the operator has set it: not the defaults, and every option of the loop but the key."""
    given = {"overrun_limit": 50, "stale": 77, "approach": 2.5, "retreat": 3.5, "supervisor": 4.5}
    made = prepare(limited, SECONDS, link=LINK, options={**given, "key": "0" * 32})
    told = made.in_force[0]
    for words in (
        "50 late ticks",
        "77 ticks without",
        "approach in 2.5 s",
        "retreat in 3.5 s",
        "4.5 s without",
    ):
        assert words in told
    described = json.loads(json.dumps(made._about(LINK)["description"]))
    assert (described["interlock"]["deadline"], described["interlock"]["retreat"]) == (50, 3.5)
    kept = described["realtime"]
    assert {name: kept[name] for name in given} == given
    assert set(kept) >= set(LoopOptions.__dataclass_fields__) - {"key"}
    assert "key" not in kept
    assert (kept["link"], kept["emulated"], kept["record_loss"], kept["gap"]) == (LINK, False, "report", 60.0)


def test_what_is_expected_is_what_the_record_shows(limited):
    """Against the record of the rehearsal, with the power's filter as a loop."""
    run = limited.run(SECONDS)
    seen = expected(limited, SECONDS)
    filtered, largest, a = np.zeros(2), 0.0, PowerTrip(1.0).decay(limited.period)
    force, actual, desired = (
        np.stack([run[f"{n}[{i}]"] for i in (0, 1)], axis=1)
        for n in ("measured.force", "actual.velocity", "desired.velocity")
    )
    for power in force * (actual - desired):
        filtered = a * filtered + (1 - a) * power**2
        largest = max(largest, filtered.max() ** 0.5)
    assert seen.power == pytest.approx(largest, rel=1e-9)
    commands = np.stack([run[f"command[{i}]"] for i in (0, 1)], axis=1)
    assert seen.command == abs(commands).max()
    assert seen.command_rate == pytest.approx(abs(np.diff(commands, axis=0)).max() / limited.period)
    errors = [run[f"desired.displacement[{i}]"] - run[f"actual.displacement[{i}]"] for i in (0, 1)]
    assert seen.tracking_error == np.abs(errors).max()


@pytest.mark.parametrize("link", ["loopback://", LINK])
def test_a_retreat_in_no_time_is_refused(limited, link):
    with pytest.raises(InputError, match="takes more than 0 s; found 0 s, a jump"):
        prepare(limited, SECONDS, link=link, options={"retreat": 0.0})


def test_a_retreat_beyond_the_rate_is_refused(limited):
    """From 25 mm to 0 along a raised cosine the rate is π/2 · 25 mm/retreat; 1 m/s allows 39.3 ms."""
    with pytest.raises(InputError, match=r"faster than limits\.command_rate .* at least 0\.04 s"):
        prepare(limited, SECONDS, link=LINK, options={"retreat": 0.039})
    assert prepare(limited, SECONDS, link=LINK, options={"retreat": 0.0393}).options.retreat == 0.0393
    with pytest.raises(InputError, match=r"the interlock's retreat of 0\.03 s"):
        prepare(limited.replaced(interlock=Interlock(LIMITS, release=0.02, retreat=0.03)), SECONDS, link=LINK)
    with pytest.raises(InputError, match="led to the first command in more than 0 s"):
        prepare(limited, SECONDS, link=LINK, options={"approach": 0.0})


@settings(deadline=None, max_examples=100)
@given(st.integers(-999, 999), st.integers(-330, 330))
@example(1, 300)
@example(1, 16)
@example(1, -6)
@example(1, -1)
def test_an_approach_is_refused_or_within_its_bounds(machine, mantissa, exponent):
    """From 1 mm off, at most 1 m/s: π/2 ms at the least; an hour at the most."""
    approach = float(f"{mantissa}e{exponent}")
    if 0.5e-3 * np.pi <= approach <= 3600:
        options = LoopOptions(**machine_options(machine.test, {"approach": approach}))
        assert options.arguments()[options.arguments().index("--approach") + 1] == repr(approach)
    else:
        with pytest.raises(InputError, match="approach"):
            LoopOptions(**machine_options(machine.test, {"approach": approach})).arguments()


def test_a_safe_position_beyond_the_limits_is_refused(limited):
    limits = replace(LIMITS, command=1.0, command_rate=100.0, tracking_error=1.0)
    beyond = Interlock(limits, PowerTrip(5.0), safe_position=0.03)
    with pytest.raises(InputError, match="safe_position within the limits"):
        prepare(limited.replaced(interlock=beyond), SECONDS, link=LINK, force=True)
    with pytest.raises(InputError, match="safe_position"):
        Interlock(LIMITS, safe_position=0.03)


def test_a_check_that_did_not_pass_derives_nothing():
    unstable = gawthrop_two_actuators.test(controller="direct").replaced(interlock=Interlock(LIMITS))
    with pytest.raises(InputError, match="no trips can be derived"):
        prepare(unstable, SECONDS, link=LINK, force=True)


def test_a_model_needs_no_limits_but_must_say_that_it_is_one(test):
    made = prepare(test, SECONDS, link=LINK, emulated=True)
    assert not made.options.machine
    assert made.test.interlock is None


def test_inactive_nothing_is_needed_and_nothing_can_start(test):
    made = prepare(test, SECONDS, link=LINK, inactive=True)
    assert made.options.inactive
    with pytest.raises(InputError, match="may move nothing"):
        made.run()


def test_what_is_given_to_a_machine_can_be_rehearsed(limited):
    """Approach, interlock and trips as on a machine, against the model inside the loop, without a clock."""
    run = run_realtime(
        limited, 0.2, emulated=False, lock_step=True, retreat=0.05, approach=0.02, supervisor=60.0
    )
    assert run.completed
    assert "interlock.cause" in run.record
    assert not run["interlock.warning"].any()
    np.testing.assert_allclose(run["command[0]"], limited.run(0.2)["command[0]"], atol=1e-4)
    assert any(note.startswith("trips: displacement 0.025 m") for note in run.record.attributes["notes"])
