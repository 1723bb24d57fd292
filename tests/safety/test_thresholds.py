"""Each limit from both sides, with both signs, to the last bits; no threshold here is one."""

import math

import numpy as np
import pytest

from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Const, Var, evaluate
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.errors import InputError
from bondloop.safety import Cause, Interlock, Limits, PowerTrip, RampedSwitch, Watched
from bondloop.signals import Step

T = 0.001
FORCE, PLACE, RATE, WANTED, WANTED_RATE, COMMAND = range(6)
BELOW, AT, ABOVE = 1 - 1e-12, 1.0, 1 + 1e-12
SIDES = [(BELOW, False), (AT, False), (ABOVE, True)]
BOTH = pytest.mark.parametrize("sign", [1, -1])


def causes(Bench, backend, interlock, rows, **more):
    return Bench(interlock, **more).runner(backend).run(len(rows), rows).channels


def pulse(column, value, ticks=20, at=7, interfaces=1):
    rows = np.zeros((ticks, 6 * interfaces))
    rows[at, column] = value
    return rows


@BOTH
@pytest.mark.parametrize(("factor", "trips"), SIDES)
@pytest.mark.parametrize(
    "judged",
    [
        ("displacement", PLACE, 0.02, Cause.DISPLACEMENT),
        ("velocity", RATE, 0.37, Cause.VELOCITY),
        ("force", FORCE, 450.0, Cause.FORCE),
        ("command", COMMAND, 6.5, Cause.COMMAND),
        ("tracking_error", PLACE, 0.0025, Cause.TRACKING_ERROR),
        ("tracking_error", WANTED, 0.0025, Cause.TRACKING_ERROR),
    ],
)
def test_a_limit(Bench, backend, judged, factor, trips, sign):
    word, column, limit, cause = judged
    found = causes(Bench, backend, Interlock(Limits(**{word: limit})), pulse(column, sign * factor * limit))
    np.testing.assert_array_equal(found["interlock.cause"], [0] * 7 + [cause if trips else 0] * 13)


@BOTH
@pytest.mark.parametrize(("share", "trips"), [(1 - 1e-6, False), (1 + 1e-6, True)])
@pytest.mark.parametrize("switch", [1.0, 0.4])
def test_limits_are_judged_behind_the_displacement_switch(Bench, backend, share, trips, sign, switch):
    """The rig is asked for safe + switch (command - safe), and is to be at safe + switch (desired - safe)."""
    safe = -1.5
    for word, column in (("command", COMMAND), ("tracking_error", WANTED)):
        rows = np.full((20, 6), 0.0)
        rows[:, [WANTED, COMMAND]] = safe
        rows[:, PLACE] = safe
        limit = 2.0 if word == "command" else 0.5
        goal = sign * limit * share if word == "command" else safe + sign * limit * share
        rows[7, column] = safe + (goal - safe) / switch
        interlock = Interlock(Limits(**{word: limit}), safe_position=safe)
        found = causes(Bench, backend, interlock, rows, displacement=RampedSwitch(switch))
        assert bool(found["interlock.cause"][7]) is trips, word
        assert not found["interlock.cause"][:7].any()


@BOTH
@pytest.mark.parametrize(("factor", "trips"), [(1 - 1e-9, False), (1 + 1e-9, True)])
def test_the_rate_of_the_command(Bench, backend, factor, trips, sign):
    """Change a second; the first tick follows from nothing, so what leads to it is no rate."""
    rows = np.zeros((20, 6))
    rows[:, COMMAND] = 3.0
    rows[7:, COMMAND] += sign * 7.5 * T * factor
    found = causes(Bench, backend, Interlock(Limits(command_rate=7.5)), rows)
    np.testing.assert_array_equal(
        found["interlock.cause"], [0] * 7 + [Cause.COMMAND_RATE if trips else 0] * 13
    )


@BOTH
@pytest.mark.parametrize(("factor", "warns"), [(1 - 1e-9, False), (1 + 1e-9, True)])
@pytest.mark.parametrize(
    "judged",
    [("force", FORCE, 450.0, 3), ("displacement", PLACE, 0.02, 1), ("command", COMMAND, 6.5, 4)],
)
def test_a_warning_comes_before_the_limit(Bench, backend, judged, factor, warns, sign):
    word, column, limit, cause = judged
    limits = Limits(**{word: limit}, warning=0.7)
    found = causes(Bench, backend, Interlock(limits), pulse(column, sign * 0.7 * limit * factor))
    np.testing.assert_array_equal(found["interlock.warning"], [0] * 7 + [cause if warns else 0] + [0] * 12)
    assert not found["interlock.cause"].any()


def test_without_a_share_there_is_no_warning(Bench):
    assert "interlock.warning" not in causes(Bench, "numpy", Interlock(Limits(force=3.0)), pulse(FORCE, 2.9))


@pytest.mark.parametrize("interface", [0, 1])
@pytest.mark.parametrize(("factor", "trips"), SIDES)
def test_each_interface_is_watched(Bench, backend, interface, factor, trips):
    rows = pulse(6 * interface + FORCE, -450.0 * factor, interfaces=2)
    rows[:, COMMAND], rows[:, 6 + COMMAND] = 0.3, -0.6
    found = causes(
        Bench, backend, Interlock(Limits(force=450.0), retreat=0.004, release=0.004), rows, interfaces=2
    )
    np.testing.assert_array_equal(found["interlock.cause"], [0] * 7 + [Cause.FORCE if trips else 0] * 13)
    for i, command in enumerate((0.3, -0.6)):
        k = np.clip(np.arange(20) - 7, 0, 4) * trips
        np.testing.assert_allclose(
            found[f"command[{i}]"], command * (1 + np.cos(np.pi * k / 4)) / 2, atol=1e-15
        )


def watched(limits, rows, parameters=None):
    """An interlock whose limits may be tightened while it runs, on rows as above."""
    names = ("F", "x", "v", "z", "z_rate", "u")
    signals = [Var(n) for n in names]
    adjustable = {"force": Var("interlock.limits.force")}
    time, count = Var("t"), Var("k")
    watch = Interlock(limits).watch(
        [Watched(*signals)], time, Context("interlock", count, T), adjustable=adjustable
    )
    made = watch.applied
    channels = (*made.channels, Channel("tripped", watch.tripped))
    tick = Tick(
        "t", T, time, count, tuple(signals), made.states, made.parameters, tuple(made.steps), channels
    )
    assert tick.parameters[adjustable["force"]] == limits.force
    return Runner(tick, backend="numpy").run(len(rows), rows, parameters).channels


@pytest.mark.parametrize(("limit", "force", "trips", "warns"),
    [(450.0, -400.0, False, True), (300.0, -301.0, True, True),
    (300.0, 299.0, False, True), (300.0, 211.0, False, True), (300.0, 209.0, False, False)])  # fmt: skip
def test_a_limit_that_is_tightened_holds_at_once_and_its_warning_with_it(limit, force, trips, warns):
    found = watched(Limits(force=450.0, warning=0.7), pulse(FORCE, force), {"interlock.limits.force": limit})
    assert found["tripped"][7] == (Cause.FORCE if trips else 0)
    assert found["interlock.warning"][7] == (Cause.FORCE if warns else 0)


# ------------------------------------------------------------------------------------------- the power trip


@BOTH
@pytest.mark.parametrize("threshold", [20.0, 0.05])
@pytest.mark.parametrize("cutoff", [3.0, 0.4])
@pytest.mark.parametrize("power", [0.99, 1.01, 2.5])
def test_power_beyond_a_threshold(Bench, backend, threshold, cutoff, power, sign):
    """Whichever way it flows: it trips after ln(1 - P_t²/P²)/ln(a) ticks, or never."""
    trip = PowerTrip(threshold, cutoff=cutoff)
    rows = np.zeros((2000, 6))
    rows[:, FORCE] = 40.0
    rows[:, RATE], rows[:, WANTED_RATE] = 0.3, 0.3 + sign * power * threshold / 40
    found = causes(Bench, backend, Interlock(power=trip), rows)
    if power < 1:
        assert not found["interlock.cause"].any()
    else:
        first = math.ceil(math.log(1 - 1 / power**2) / (-2 * math.pi * cutoff * T)) - 1
        assert np.flatnonzero(found["interlock.cause"])[0] == first
        assert found["interlock.cause"][-1] == Cause.POWER
    y = -np.expm1(-2 * math.pi * cutoff * T * np.arange(1, 2001))
    until = 2000 if power < 1 else first  # then the switch takes the desired velocity to nothing
    np.testing.assert_allclose(
        found["interlock.power"][:until], power * threshold * np.sqrt(y[:until]), rtol=1e-9
    )


def test_the_power_trip_holds_a_hundred_thresholds(Bench, backend):
    rows = np.zeros((5, 6))
    rows[2, [FORCE, RATE]] = 1e200
    found = causes(Bench, backend, Interlock(power=PowerTrip(20.0)), rows)
    assert found["interlock.power"][2] == 2000
    assert found["interlock.power"][1] == 0


def test_a_discrepancy_that_is_no_number_trips():
    y = Var("y")
    tripped = PowerTrip(20.0).tripped(y)
    values = (math.nan, 400.0, 400.0 * ABOVE, -math.inf, math.inf)
    assert [evaluate(tripped, {y: value}) for value in values] == [1, 0, 1, 0, 1]


# ------------------------------------------------------------------------------------- what cannot be meant


@pytest.mark.parametrize("word", ["stale", "deadline"])
@pytest.mark.parametrize(
    ("number", "good"),
    [(1, True), (7, True), (0, False), (-2, False), (1.5, False), (True, False), ("3", False)],
)
def test_numbers_of_samples(word, number, good):
    if good:
        assert getattr(Interlock(**{word: number}), word) == number
    else:
        with pytest.raises(InputError, match=rf"Interlock\({word}\): expected a number of .*, 1 or more"):
            Interlock(**{word: number})


@BOTH
def test_the_safe_position_is_within_the_limit_of_the_command(sign):
    assert Interlock(Limits(command=2.5), safe_position=sign * 2.5).safe_position == sign * 2.5
    with pytest.raises(InputError, match=r"within the limit of the command, 2\.5; found"):
        Interlock(Limits(command=2.5), safe_position=sign * 2.5 * (1 + 1e-9))


def test_switches_are_open_when_the_retreat_ends():
    assert Interlock(release=0.7, retreat=0.7).release == 0.7
    with pytest.raises(InputError, match="make the release the shorter one"):
        Interlock(release=0.7001, retreat=0.7)


def test_the_way_back_takes_an_hour_at_most():
    assert Interlock(retreat=3600).retreat == 3600
    with pytest.raises(InputError, match="retreat"):
        Interlock(retreat=3600.1)


@pytest.mark.parametrize("given", [{"limits": 5}, {"limits": None}, {"power": 5}, {"power": Limits()}])
def test_parts_of_another_kind(given):
    with pytest.raises(InputError, match=r"Interlock\((limits|power)\): expected"):
        Interlock(**given)


def test_nothing_to_watch():
    with pytest.raises(InputError, match="at least one interface"):
        Interlock().watch([], Var("t"), Context("interlock", Var("k"), T))


@pytest.mark.parametrize(
    ("given", "good"),
    [(0.99, True), ("99 %", True), (1.0, False), (1.5, False), (0.0, False), (-0.5, False)],
)
def test_a_warning_is_a_share(given, good):
    if good:
        assert Limits(force=5, warning=given).warning == 0.99
    else:
        with pytest.raises(InputError, match=r"limits\.warning"):
            Limits(force=5, warning=given)


@pytest.mark.parametrize("value", [0, -3.0, math.nan, math.inf, -math.inf, "0", "three", [3], float])
@pytest.mark.parametrize("word", ["force", "command"])
def test_a_limit_is_a_positive_number(word, value):
    with pytest.raises(InputError, match=rf"limits\.{word}"):
        Limits(**{word: value})


def test_the_stricter_of_two_limits():
    strict = Limits(force=10, command=2, velocity=3).stricter(Limits(force=7, command=4, displacement=0.5))
    assert (strict.force, strict.command, strict.velocity, strict.displacement) == (7, 2, 3, 0.5)
    assert strict.tracking_error is None
    assert Limits(force=10).stricter(None) == Limits(force=10)


def test_a_switch_begins_where_its_schedule_is():
    assert RampedSwitch(0.3).initial == 0.3
    assert not RampedSwitch(0.3).scheduled
    assert RampedSwitch(0.3).last_event == 0
    assert RampedSwitch(0.3, initial=0.2).scheduled
    moving = RampedSwitch(Step(0.5, at=2.0), ramp=0.25)
    assert (moving.initial, moving.scheduled, moving.last_event) == (0.0, True, 2.25)
    assert isinstance(RampedSwitch(0.3).target(Var("t")), Const)
    with pytest.raises(InputError, match="without a unit"):
        RampedSwitch(Step("5 mm"))
