"""What the guard does, cycle by cycle: both signs, both sides of each limit, values other than one."""

import itertools
import math

import pytest
from virtual_loop import ACTIVE, INACTIVE, LOST, PARK, RESET, RETREAT, SAFE, START, TRIP, Loop, ramp

from bondloop.safety import Cause

STILL = (0.25, -0.5)
FRESH_FLAG, OVERRUN, HELD, EXECUTIVE, REFUSED, MAIL, SILENT, STOPPED, ENABLED, FAULT = (
    1 << i for i in range(10)
)
NAN, INF = math.nan, math.inf


def steady(commands):
    return lambda k: commands


def at(loop, cycle, what=TRIP, cause=0):
    loop.at[cycle] = lambda: loop.mail(what) if what in (START, RESET) else loop.request(what, cause)


def led_by_the_tick(loop, back):
    """Let the tick have an interlock, which from its trip on commands `back(ticks since)`."""
    loop["interlock_trip"], loop.since = 2, None
    way = loop.commands

    def commands(k):
        if loop.tripped:
            loop.since = k if loop.since is None else loop.since
            return back(k - loop.since)
        return way(k)

    inner = loop.compute

    def compute(state, parameters, inputs, t, k, channels):
        loop.tripped = parameters[2]
        return inner(state, parameters, inputs, t, k, channels)

    loop.commands, loop.compute, loop.tripped = commands, compute, 0.0


# ---------------------------------------------------------------------------------------- the way back


@pytest.mark.parametrize(
    ("commands", "rate", "cycles"),
    [
        ((0.5, -0.7), (INF, INF), 10),
        ((0.25 + 0.4, -0.5), (5.0, INF), 63),  # pi/2 0.4/(5 0.002) = 62.8
        ((0.25 - 0.4, -0.5), (5.0, INF), 63),
        ((0.25, -0.5 + 0.4), (INF, 8.0), 40),  # 39.3
        ((0.25, -0.5 - 0.4), (INF, 8.0), 40),
        ((0.25 + 0.4, -0.5 - 0.4), (5.0, 8.0), 63),
        ((0.25 + 0.4, -0.5 - 0.4), (8.0, 5.0), 63),
        ((0.25 + 0.01, -0.5 + 0.01), (5.0, 8.0), 10),
        ((0.25 + 0.2 / math.pi * 1.2, -0.5), (10.0, INF), 10),  # 6: shorter than configured
        ((0.25 + 0.2 / math.pi * 3, -0.5), (10.0, INF), 15),  # 15 to the last bit
        ((0.25 + 0.2 / math.pi * 3.01, -0.5), (10.0, INF), 16),
    ],
)
def test_the_way_back_is_a_raised_cosine_within_the_rate(loop, commands, rate, cycles):
    loop.rate[:2] = rate
    loop.commands = steady(commands)
    assert loop.run() == 0
    assert loop.states == [(ACTIVE, 40), (RETREAT, cycles - 1), (SAFE, 2)]
    way = loop.sent[40:]
    assert way == [pytest.approx(c, abs=1e-12) for c in [*ramp(commands, STILL, cycles), STILL]]
    assert way[-2] == STILL
    for a, b in zip([commands, *way], way, strict=False):
        assert all(abs(y - x) <= r * 0.002 * (1 + 1e-6) for x, y, r in zip(a, b, rate, strict=True))
    assert [bool(s.flags & EXECUTIVE) for s in loop.slots] == [False] * 40 + [True] * cycles + [False]


def test_the_way_back_takes_an_hour_at_most(loop):
    loop["period"] = 90.0  # 40 ticks to an hour
    loop.rate[:2] = (1e-9, INF)
    loop.commands = steady((0.5, -0.5))
    loop.run()
    assert loop.states == [(ACTIVE, 40), (RETREAT, 39), (SAFE, 2)]


def test_who_is_there_needs_no_way(loop):
    loop.commands = steady(STILL)
    loop.run()
    assert loop.states == [(ACTIVE, 40), (SAFE, 2)]


@pytest.mark.parametrize("commands", [(0.25, -0.5000001), (0.2500001, -0.5)])
def test_both_commands_must_be_there(loop, commands):
    loop.commands = steady(commands)
    loop.run()
    assert loop.states == [(ACTIVE, 40), (RETREAT, 9), (SAFE, 2)]


# ----------------------------------------------------------------------------------------------- trips


@pytest.mark.parametrize(
    ("asked", "cause"), [(0, 9), (16, 16), (1, 1), (999, 999), (1000, 9), ((1 << 64) - 3, 9)]
)
def test_a_trip_that_was_requested(loop, asked, cause):
    at(loop, 7, cause=asked)
    assert loop.run() == 3
    assert loop.trip == (cause, 7, 7, 0)
    assert loop["segment.cause_value"] == 0
    assert loop.states == [(ACTIVE, 7), (RETREAT, 9), (SAFE, 2)]
    assert loop.sent[7:] == [pytest.approx(c) for c in [*ramp(loop.commands(6), STILL, 10), STILL]]
    assert [s.cause for s in loop.slots] == [0] * 7 + [cause] * 11
    assert loop["wire.halted"] == 0


def test_others_see_the_retreat_before_the_command_is_sent(loop):
    seen = []
    loop.send = lambda commands: seen.append(loop["segment.state"]) or 0
    loop.sensors = lambda cycle: (NAN if cycle == 7 else 0.1, 0.2, 0.3)
    loop.run()
    assert seen[6:8] == [ACTIVE, RETREAT]


def test_the_first_cause_stays(loop):
    at(loop, 7, cause=16)
    at(loop, 9, cause=11)
    at(loop, 17, cause=12)
    assert loop.run() == 3
    assert loop.trip == (16, 7, 7, 0)
    assert loop.states == [(ACTIVE, 7), (RETREAT, 9), (SAFE, 2)]  # nothing begins anew


def test_a_trip_before_the_start_ends_it_without_a_command(loop):
    loop["start"] = 0
    at(loop, 5)
    assert loop.run() == 3
    assert loop.trip == (9, 5, 0, 0)
    assert loop.states == [(INACTIVE, 5), (SAFE, 2)]
    assert set(loop.sent) == {None}
    assert set(loop.enables) == {0}
    assert loop["wire.halted"] == 1  # leave the outputs alone
    assert all(s.flags & SILENT for s in loop.slots)


@pytest.mark.parametrize("steps", [6, 12, 13])
def test_the_tick_leads_where_it_can_be_trusted(loop, steps):
    """It may take two cycles more than the retreat has; then the executive leads, from where it is."""
    led_by_the_tick(loop, lambda j: STILL if j >= steps - 1 else (0.25 + 0.01 * (20 - j), -0.6))
    at(loop, 7)
    assert loop.run() == 3
    assert loop.trip == (9, 7, 7, 0)
    assert loop.tripped == 9
    taken = loop.sent[7:19]
    expected = [STILL if j >= steps - 1 else (0.25 + 0.01 * (20 - j), -0.6) for j in range(12)]
    assert taken == [pytest.approx(c) for c in expected]
    if steps <= 12:
        assert loop.states == [(ACTIVE, 7), (RETREAT, 12), (SAFE, 2)]
        assert loop["counts.steps"] == 19
    else:
        assert loop.sent[19:] == [pytest.approx(c) for c in [*ramp(expected[-1], STILL, 10), STILL]]
        assert loop.states == [(ACTIVE, 7), (RETREAT, 12 + 9), (SAFE, 2)]


@pytest.mark.parametrize(("approach", "leads"), [(0, True), (3, False)])
def test_who_leads_a_trip_before_the_first_tick(loop, approach, leads):
    """With an approach the rig may be elsewhere than the interlock of the tick believes."""
    loop["approach_cycles"] = approach
    led_by_the_tick(loop, lambda j: (0.4 + j, 3.0))
    at(loop, 0 if leads else 2)
    loop.run()
    assert loop.trip[0] == 9
    assert (loop.sent[0 if leads else 2] == pytest.approx((0.4, 3.0))) == leads
    assert loop.tripped == (9 if leads else 0)


def test_the_tick_leads_after_an_approach_too(loop):
    loop["approach_cycles"] = 3
    led_by_the_tick(loop, lambda j: (0.4 + j, 3.0))
    at(loop, 4)  # the second tick
    loop.run()
    assert loop.trip == (9, 4, 1, 0)
    assert loop.sent[4:6] == [pytest.approx((0.4, 3.0)), pytest.approx((1.4, 3.0))]


def test_parameter_zero_may_be_the_request(loop):
    loop["interlock_trip"] = 0
    seen = []

    def compute(state, parameters, inputs, t, k, channels):
        if k > 0 or not seen:  # the first tick is tried before it is executed
            seen.append(parameters[0])
        return Loop.compute(loop, state, parameters, inputs, t, k, channels)

    loop.compute = compute
    at(loop, 7)
    loop.run()
    assert seen == [3.0] * 7 + [9.0] * 12


def test_what_cannot_be_trusted_takes_the_lead_from_the_tick(loop):
    led_by_the_tick(loop, lambda j: (0.4, NAN if j == 3 else 3.0))
    at(loop, 7)
    loop.run()
    assert loop.trip == (9, 7, 7, 0)
    assert loop.sent[7:10] == [pytest.approx((0.4, 3.0))] * 3
    assert loop.sent[10] == pytest.approx((0.4, 3.0))  # in this cycle nothing better is known
    assert loop.sent[11:] == [pytest.approx(c) for c in [*ramp((0.4, 3.0), STILL, 10), STILL]]


def test_what_can_be_trusted_leaves_the_lead_to_the_tick(loop):
    led_by_the_tick(loop, lambda j: STILL if j > 8 else (0.4, 3.0))
    at(loop, 7)
    at(loop, 9)
    loop.sensors = lambda cycle: (0.1, NAN if cycle == 11 else 0.2, 0.3)
    loop.run()
    assert loop.sent[7:19] == [pytest.approx((0.4, 3.0))] * 9 + [STILL] * 3
    assert loop.states == [(ACTIVE, 7), (RETREAT, 12), (SAFE, 2)]


def test_an_executives_ramp_goes_on_whatever_else_comes(loop):
    at(loop, 7)
    loop.sensors = lambda cycle: (0.1, NAN if cycle == 11 else 0.2, 0.3)
    loop.run()
    assert loop.states == [(ACTIVE, 7), (RETREAT, 9), (SAFE, 2)]


# -------------------------------------------------------------------------------- what a tick computed


@pytest.mark.parametrize("channel", [1, 4])
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_a_command_that_is_no_number_does_not_go_out(loop, channel, value):
    def compute(state, parameters, inputs, t, k, channels):
        Loop.compute(loop, state, parameters, inputs, t, k, channels)
        if k == 7:
            channels[channel] = value
        return 0

    loop.compute = compute
    loop["interlock_trip"] = 2  # which is not trusted now
    assert loop.run() == 3
    assert loop.trip == (Cause.NOT_A_NUMBER, 7, 7, channel)
    assert loop.sent[6] == loop.sent[7] == pytest.approx(loop.commands(6))
    assert loop.sent[8:] == [pytest.approx(c) for c in [*ramp(loop.commands(6), STILL, 10), STILL]]
    assert loop.slots[7].status == 2
    assert loop["segment.cause_value"] == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize(("channel", "bound"), [(0, 30.0), (3, 0.02), (5, 7.0)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_channel_beyond_its_bound_is_the_cause(loop, channel, bound, sign):
    """The status of the tick tells that something is wrong, the guard which channel is beyond its bound."""
    loop.bound[channel], loop.cause[channel] = bound, 3

    def compute(state, parameters, inputs, t, k, channels):
        Loop.compute(loop, state, parameters, inputs, t, k, channels)
        channels[channel] = sign * bound * (1 + 1e-12 * (k == 7))
        return 1 if k == 7 else 0

    loop.compute = compute
    assert loop.run() == 3
    assert loop.trip == (3, 7, 7, channel)
    assert loop["segment.cause_value"] == pytest.approx(sign * bound)
    assert loop.slots[7].status == 1


@pytest.mark.parametrize("status", [1, 4, 16])
def test_a_tick_that_says_that_it_failed_trips_though_every_channel_is_in_its_bound(loop, status):
    loop.bound[0] = 7.0 + 8  # as it is at tick 7, to the last bit
    loop.cause[0] = 3

    def compute(state, parameters, inputs, t, k, channels):
        Loop.compute(loop, state, parameters, inputs, t, k, channels)
        return status if k == 7 else 0

    loop.compute = compute
    assert loop.run() == 3
    assert loop.trip == (Cause.NOT_A_NUMBER, 7, 7, 0)
    assert loop.slots[7].status == status
    assert loop.sent[7] == pytest.approx(loop.commands(6))


def test_of_two_channels_the_first_is_the_cause(loop):
    loop.bound[0:4], loop.cause[0:4] = [1e9, 1e9, 0.05, 0.0], [1, 2, 3, 4]

    def compute(state, parameters, inputs, t, k, channels):
        Loop.compute(loop, state, parameters, inputs, t, k, channels)
        channels[3] = 0.5
        return 1 if k == 7 else 0

    loop.compute = compute
    loop.run()
    assert loop.trip == (3, 7, 7, 2)
    assert loop["segment.cause_value"] == pytest.approx(0.107)


@pytest.mark.parametrize(("value", "infinite"), [(NAN, 0), (INF, 1), (-INF, 1)])
def test_a_channel_that_is_no_number_is_found_within_any_bound(loop, value, infinite):
    loop.bound[5], loop.cause[5] = INF, 3

    def compute(state, parameters, inputs, t, k, channels):
        Loop.compute(loop, state, parameters, inputs, t, k, channels)
        channels[5] = value if k == 7 else 0
        return 2 if k == 7 else 0

    loop.compute = compute
    loop.run()
    assert loop.trip == (Cause.NOT_A_NUMBER, 7, 7, 5)
    assert loop["segment.cause_value"] == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize("leads", [True, False])
def test_the_interlock_of_the_tick_trips(loop, leads):
    """Its channel holds the cause. Its command goes out where it leads, at once."""
    loop["interlock_cause"] = 3
    loop["interlock_trip"] = 2 if leads else -1

    def compute(state, parameters, inputs, t, k, channels):
        Loop.compute(loop, state, parameters, inputs, t, k, channels)
        channels[3] = 5.0 if k >= 7 else 0.0
        return 0

    loop.compute = compute
    assert loop.run() == 3
    assert loop.trip == (5, 7, 7, 0)
    assert loop["segment.cause_value"] == 5
    assert loop.sent[7] == pytest.approx(loop.commands(7) if leads else loop.commands(6))
    assert loop.states[0] == (ACTIVE, 7)
    assert loop["counts.steps"] == (19 + 1 if leads else 8)
    if not leads:
        assert loop.sent[8:] == [pytest.approx(c) for c in [*ramp(loop.commands(6), STILL, 10), STILL]]


def test_channel_zero_may_hold_the_cause(loop):
    loop["interlock_cause"] = 0

    def compute(state, parameters, inputs, t, k, channels):
        Loop.compute(loop, state, parameters, inputs, t, k, channels)
        channels[0] = -4.0 if k == 7 else 0.0
        return 0

    loop.compute = compute
    loop.run()
    assert loop["segment.cause_cycle"] == 7
    assert loop["segment.cause_value"] == -4


# ----------------------------------------------------------------------------------- what was measured


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_what_is_no_number_is_not_believed(loop, index, value):
    def sensors(cycle):
        seen = list(Loop.sensors(loop, cycle))
        if cycle in (7, 8):
            seen[index] = value
        return seen

    loop.sensors = sensors
    assert loop.run() == 3
    assert loop.trip == (Cause.NOT_A_NUMBER, 7, 7, 6 + index)
    assert loop["segment.cause_value"] == pytest.approx(value, nan_ok=True)
    assert loop["counts.refused"] == 2
    assert [i for i, s in enumerate(loop.slots) if s.flags & REFUSED] == [7, 8]
    assert loop.column(5)[7:10] == pytest.approx([0.106, 0.106, 0.109])  # the last good one meanwhile


def test_numbers_of_any_size_are_believed(loop):
    loop.sensors = lambda cycle: (1e308, -1e308, 1e308)
    assert loop.run() == 0


@pytest.mark.parametrize("value", [NAN, INF])
def test_what_is_only_recorded_stops_nothing(loop, value):
    loop.sensors = lambda cycle: (0.1 + cycle, 0.2, value if cycle == 7 else 0.3)
    assert loop.run() == 0
    assert loop["counts.refused"] == 0
    assert loop.column(0)[41:44] == [pytest.approx(0.3)] * 3  # as measured, while no tick runs


@pytest.mark.parametrize(
    ("frozen", "same", "trips"), [(3, 3, False), (3, 4, True), (1, 1, False), (1, 2, True), (0, 30, False)]
)
@pytest.mark.parametrize("recorded_moves", [True, False])
def test_what_repeats_to_the_bit_is_frozen(loop, frozen, same, trips, recorded_moves):
    """So many repeats after the first; the values that are only recorded do not count."""
    loop["frozen"] = frozen

    def sensors(cycle):
        still = 7 <= cycle < 7 + same
        return (
            0.1 if still else 0.1 + cycle,
            -0.2 if still else -0.2 - cycle,
            cycle if recorded_moves else 0.3,
        )

    loop.sensors = sensors
    assert loop.run() == (3 if trips else 0)
    if trips:
        assert loop.trip == (Cause.STALE, 7 + frozen, 7 + frozen, 0)
        assert loop["segment.cause_value"] == pytest.approx(0.1)


def test_one_sensor_that_moves_is_enough(loop):
    loop["frozen"] = 3
    loop.sensors = lambda cycle: (0.1, 0.2 + 1e-15 * cycle, 0.3)
    assert loop.run() == 0


def test_zero_at_the_first_cycle_repeats_nothing(loop):
    loop["frozen"], loop["steps"] = 3, 2
    loop.sensors = lambda cycle: (0.0, 0.0, 0.0)
    loop.measured[:3] = (0.0, 0.0, 0.0)
    assert loop.run() == 0
    loop = Loop(loop.library)
    loop["frozen"] = 3
    loop.sensors = lambda cycle: (0.0, 0.0, 0.0)
    loop.run()
    assert loop.trip == (Cause.STALE, 3, 3, 0)


def test_without_judged_values_none_is_frozen(loop):
    loop["frozen"], loop["judged"] = 1, 0
    loop.sensors = lambda cycle: (0.1, 0.2, 0.3)
    assert loop.run() == 0


def test_what_is_frozen_before_the_start_does_not_count(loop):
    loop["frozen"], loop["start"] = 5, 0
    loop.sensors = lambda cycle: (0.1, 0.2, 0.3)
    at(loop, 9, START)
    loop.run()
    assert loop.trip == (Cause.STALE, 9 + 5, 5, 0)


# ---------------------------------------------------------------------------------- the emergency stop


def press(loop, cycle, release=10**9):
    def sensors(now):
        loop["wire.stopped"] = cycle <= now < release
        return Loop.sensors(loop, now)

    loop.sensors = sensors


def test_the_emergency_stop_lets_go_of_the_rig(loop):
    """The place follows the rig, the force has its safe value at once; the enable goes in the same cycle."""
    press(loop, 7, 9)
    loop.at[7] = lambda: loop.mail(START)
    assert loop.run() == 3
    assert loop["segment.cause_value"] == 0
    assert loop.slots[7].flags & MAIL
    assert loop.trip == (Cause.EMERGENCY_STOP, 7, 7, 0)
    assert loop.states == [(ACTIVE, 7), (RETREAT, 9), (SAFE, 2)]
    assert loop.sent[6] == pytest.approx(loop.commands(6))
    assert loop.sent[7:] == [(pytest.approx(0.1 + 0.001 * c), -0.5) for c in range(7, 18)]
    assert [bool(e) for e in loop.enables] == [True] * 7 + [False] * 11
    assert [i for i, s in enumerate(loop.slots) if s.flags & STOPPED] == [7, 8]
    assert all(s.flags & EXECUTIVE for s in loop.slots[7:17])
    assert loop["wire.halted"] == 1


@pytest.mark.parametrize(
    ("at", "value", "expected"), [(-1, 0.3, "last"), (2, 0.3, 0.3), (2, NAN, "last"), (2, -INF, "last")]
)
def test_a_command_whose_place_nobody_knows_stays(loop, at, value, expected):
    loop.place_measured[0] = at
    press(loop, 7)
    inner = loop.sensors
    loop.sensors = lambda cycle: (*inner(cycle)[:2], value)
    loop.run()
    held = loop.commands(6)[0] if expected == "last" else expected
    assert loop.sent[7:16] == [pytest.approx((held, -0.5))] * 9


def test_pressed_before_the_start_nothing_happens(loop):
    loop["start"] = 0
    press(loop, 3, 6)
    at(loop, 9, START)
    assert loop.run() == 0
    assert [i for i, s in enumerate(loop.slots) if s.flags & STOPPED] == [3, 4, 5]
    assert loop.states == [(INACTIVE, 9), (ACTIVE, 40), (RETREAT, 9), (SAFE, 2)]


def test_a_start_finds_it_pressed(loop):
    loop["start"] = 0
    press(loop, 3)
    at(loop, 9, START)
    assert loop.run() == 3
    assert loop.trip == (Cause.EMERGENCY_STOP, 9, 0, 0)
    assert set(loop.enables) == {0}


def test_pressed_on_the_way_back_it_lets_go_too(loop):
    at(loop, 7, cause=16)
    press(loop, 9)
    assert loop.run() == 3
    assert loop.trip == (16, 7, 7, 0)
    assert loop.states == [(ACTIVE, 7), (RETREAT, 2 + 9), (SAFE, 2)]  # its own time from there
    assert loop.sent[9] == pytest.approx((0.109, -0.5))
    assert [bool(e) for e in loop.enables] == [True] * 9 + [False] * 11


def test_pressed_while_the_tick_leads_it_lets_go_too(loop):
    led_by_the_tick(loop, lambda j: (0.4 + j, 3.0))
    at(loop, 7, cause=16)
    press(loop, 9)
    loop.run()
    assert loop.sent[8:10] == [pytest.approx((1.4, 3.0)), pytest.approx((0.109, -0.5))]
    assert loop.states == [(ACTIVE, 7), (RETREAT, 2 + 9), (SAFE, 2)]


def test_pressed_in_the_safe_state_the_rig_is_let_go(loop):
    loop["hold"] = 1
    at(loop, 7, cause=16)
    press(loop, 20)
    loop.at[25] = loop.stop
    assert loop.run() == 3
    assert loop.trip == (16, 7, 7, 0)
    assert loop.states == [(ACTIVE, 7), (RETREAT, 9), (SAFE, 9)]
    assert loop.sent[19:21] == [STILL, (pytest.approx(0.12), -0.5)]
    assert loop["wire.halted"] == 1


def test_pressed_when_nothing_was_commanded_nothing_is_caused(loop):
    """A retreat that leads from nowhere is over at once; the stop in its cycle is only shown."""
    loop["start"] = 0
    loop.at[3] = loop.stop
    press(loop, 3)
    assert loop.run() == 0
    assert loop.trip[0] == 0
    assert loop.states == [(INACTIVE, 3), (SAFE, 2)]


# ---------------------------------------------------------------------------- faults of the controller


def fail(loop, cycle, code=37, words="pump"):
    loop.at[cycle] = lambda: loop.fault(code, words)


@pytest.mark.parametrize("code", [37, -5])
def test_a_fault_of_the_controller_trips(loop, code):
    fail(loop, 7, code)
    fail(loop, 9, 41, "later")
    assert loop.run() == 3
    assert loop.trip == (Cause.CONTROLLER_FAULT, 7, 7, code)
    assert loop.library.virtual_fault_words() == b"pump"
    assert loop.states == [(ACTIVE, 7), (RETREAT, 9), (SAFE, 2)]
    assert [bool(s.flags & FAULT) for s in loop.slots] == [False] * 7 + [True] * 11


def test_the_tick_may_lead_after_a_fault_of_the_controller(loop):
    led_by_the_tick(loop, lambda j: (0.4 + j, 3.0))
    fail(loop, 7)
    loop.run()
    assert loop.sent[7] == pytest.approx((0.4, 3.0))


def test_a_fault_before_the_start_waits_for_it(loop):
    loop["start"] = 0
    fail(loop, 3)
    at(loop, 9, START)
    assert loop.run() == 3
    assert loop.trip == (Cause.CONTROLLER_FAULT, 9, 0, 37)
    assert loop.slots[3].flags & FAULT
    assert loop.states == [(INACTIVE, 9), (SAFE, 2)]


def test_a_fault_after_another_cause_leaves_its_words_out(loop):
    at(loop, 7, cause=16)
    fail(loop, 9)
    loop.run()
    assert loop.trip == (16, 7, 7, 0)
    assert loop.library.virtual_fault_words() == b""


def test_a_fault_in_the_safe_state_is_no_cause(loop):
    fail(loop, 50)
    assert loop.run() == 0
    assert loop.slots[50].flags & FAULT
    assert loop.trip[0] == 0


def test_a_fault_on_the_way_back_is_the_cause(loop):
    fail(loop, 45)
    assert loop.run() == 3
    assert loop.trip == (Cause.CONTROLLER_FAULT, 45, 40, 37)
    assert loop.states == [(ACTIVE, 40), (RETREAT, 9), (SAFE, 2)]


# --------------------------------------------------------------------------------- what outputs refuse


def test_commands_that_the_outputs_refuse_do_not_go_out(loop):
    loop["interlock_trip"] = 2  # it does not lead from here
    loop.refuse = lambda commands: -1 if commands[0] > 0.3 + 0.0651 and not loop.fault(10001, "beyond") else 0
    assert loop.run() == 3
    assert loop.trip == (Cause.CONTROLLER_FAULT, 7, 8, 10001)
    assert loop["segment.cause_value"] == 0
    assert loop.library.virtual_fault_words() == b"beyond"
    assert loop.sent[7] == loop.sent[6] == pytest.approx(loop.commands(6))
    assert loop.sent[8:] == [pytest.approx(c) for c in [*ramp(loop.commands(6), STILL, 10), STILL]]
    assert loop.slots[7].flags & FAULT
    assert [bool(e) for e in loop.enables] == [True] * 18 + [False]
    assert loop["wire.halted"] == 0


def test_in_lock_step_the_fault_is_shown_in_the_same_cycle(loop):
    loop["lock_step"] = 1
    loop.refuse = lambda commands: -1 if commands[0] > 0.3 + 0.0651 and not loop.fault(10001, "beyond") else 0
    loop.run()
    assert loop.trip == (Cause.CONTROLLER_FAULT, 7, 8, 10001)
    assert loop.slots[7].flags & (FAULT | FRESH_FLAG) == FAULT | FRESH_FLAG


def test_where_the_first_commands_are_refused_none_goes_out(loop):
    loop.refuse = lambda commands: -1 if commands[0] > 0.26 else 0
    assert loop.run() == 3
    assert loop.trip == (Cause.CONTROLLER_FAULT, 0, 1, 10001)
    assert set(loop.sent) == {None}
    assert set(loop.enables) == {0}
    assert loop["wire.halted"] == 1


def test_outputs_are_not_asked_before_the_start(loop):
    loop["start"] = 0
    loop.refuse = lambda commands: -1
    loop.at[5] = loop.stop
    assert loop.run() == 0


def test_after_a_reset_what_was_given_before_does_not_count(loop):
    loop["hold"], loop.allowed = 1, True
    at(loop, 7)
    at(loop, 20, RESET)
    at(loop, 23, START)
    loop.at[22] = lambda: setattr(loop, "allowed", False)
    loop.at[40] = loop.stop
    loop.refuse = lambda commands: 0 if loop.allowed or commands == STILL else -1
    loop.run()
    assert loop.trip == (Cause.CONTROLLER_FAULT, 23, 1, 10001)
    assert set(loop.sent[20:]) == {None}
    assert loop["wire.halted"] == 1


# ------------------------------------------------------------------------------------ where the rig is


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("apart", "trips"), [(0.03 - 1e-9, False), (0.03 + 1e-9, True)])
@pytest.mark.parametrize("approach", [0, 5])
def test_a_rig_that_stands_elsewhere_is_not_led(loop, sign, apart, trips, approach):
    loop["approach_cycles"], loop.within[0] = approach, 0.03

    def compute(state, parameters, inputs, t, k, channels):
        Loop.compute(loop, state, parameters, inputs, t, k, channels)
        channels[2] = inputs[2] - sign * apart
        return 0

    loop.compute = compute
    assert loop.run() == (3 if trips else 0)
    if trips:
        assert loop.trip == (Cause.START_POSITION, 0, 0, 0)
        assert loop["segment.cause_value"] == pytest.approx(sign * apart)
        assert set(loop.sent) == {None}
        assert loop.states == [(RETREAT, 1), (SAFE, 2)]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("place", "channel", "trips"), [(1, 5, True), (1, -1, False), (-1, 5, False), (0, 0, True)]
)
def test_the_second_command_has_a_place_too(loop, sign, place, channel, trips):
    """Its measured value against its channel, at any index; where either is missing, nothing is known."""
    loop.place_measured[1], loop.place_channel[1], loop.within[1] = place, channel, 0.4

    def compute(state, parameters, inputs, t, k, channels):
        Loop.compute(loop, state, parameters, inputs, t, k, channels)
        if channel >= 0:
            channels[channel] = inputs[[2, 1][place]] + sign * 0.5
        return 0

    loop.compute = compute
    assert loop.run() == (3 if trips else 0)
    if trips:
        assert loop.trip == (Cause.START_POSITION, 0, 0, 1)
        assert loop["segment.cause_value"] == pytest.approx(-0.5 * sign)


def test_a_place_that_is_no_number_is_elsewhere(loop):
    loop.within[0] = 5.0

    def compute(state, parameters, inputs, t, k, channels):
        Loop.compute(loop, state, parameters, inputs, t, k, channels)
        channels[2] = NAN
        return 0

    loop.compute = compute
    loop.run()
    assert loop.trip == (Cause.START_POSITION, 0, 0, 0)


def test_a_rig_that_stands_where_its_outputs_cannot_hold_it_is_not_led(loop):
    stood = []
    loop.stand = lambda measured: stood.append(measured) or loop.fault(10001, "too far") or -1
    assert loop.run() == 3
    assert stood == [pytest.approx((0.1, 0.2, 0.3))]  # looked at once, with what was measured
    assert loop.trip == (Cause.CONTROLLER_FAULT, 0, 0, 10001)
    assert loop.library.virtual_fault_words() == b"too far"
    assert set(loop.sent) == {None}
    assert loop.states == [(RETREAT, 1), (SAFE, 2)]


# ---------------------------------------------------------------------------------------- the approach


@pytest.mark.parametrize("cycles", [1, 2, 7])
def test_the_approach_is_a_raised_cosine_from_where_the_rig_is(loop, cycles):
    """The place begins where it is measured, the force at its safe value."""
    loop["approach_cycles"] = cycles
    assert loop.run() == 0
    first = loop.commands(0)
    way = [
        tuple(
            a + math.sin(math.pi * j / (2 * cycles)) ** 2 * (b - a)
            for a, b in zip((0.1, -0.5), first, strict=True)
        )
        for j in range(1, cycles + 1)
    ]
    assert loop.sent[:cycles] == [pytest.approx(c) for c in way]
    assert loop.sent[cycles : cycles + 2] == [pytest.approx(first), pytest.approx(loop.commands(1))]
    assert [s.step for s in loop.slots[: cycles + 2]] == [-1] * cycles + [0, 1]
    assert [bool(s.flags & EXECUTIVE) for s in loop.slots[: cycles + 2]] == [True] * cycles + [False] * 2
    assert all(loop.enables[:-1])
    assert loop.states == [(ACTIVE, 40 + cycles), (RETREAT, 9), (SAFE, 2)]
    # The tick is tried on a copy of its state, and executed from the first one on.
    assert loop.column(0)[: cycles + 2] == [8.0] * cycles + [8.0, 9.0]


@pytest.mark.parametrize(
    ("place", "is_place", "begins"), [(0, 1, 0.1), (1, 1, 0.2), (0, 0, 0.25), (-1, 1, 0.25)]
)
def test_where_the_approach_begins(loop, place, is_place, begins):
    loop["approach_cycles"] = 2
    loop.place_measured[0], loop.is_place[0] = place, is_place
    loop.run()
    assert loop.sent[0] == pytest.approx(((begins + 0.3) / 2, -0.6))


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("factor", "trips"), [(1 + 1e-6, False), (1 - 1e-6, True)])
def test_the_approach_keeps_the_rate(loop, which, sign, factor, trips):
    """The fastest of its seven cycles is the one in the middle."""
    loop["approach_cycles"] = 7
    begin = (0.1, -0.5)
    goal = [0.1, -0.5]
    goal[which] += sign * 0.3
    loop.commands = steady(tuple(goal))
    shares = [math.sin(math.pi * j / 14) ** 2 for j in range(8)]
    fastest = max(b - a for a, b in itertools.pairwise(shares)) * 0.3 / 0.002
    loop.rate[which] = fastest * factor
    assert loop.run() == (3 if trips else 0)
    if trips:
        assert loop.trip == (Cause.COMMAND_RATE, 3, 0, which)
        assert loop["segment.cause_value"] == pytest.approx(fastest)
        assert loop.sent[3] == loop.sent[2]
        ways = ramp(loop.sent[2], STILL, len(loop.sent) - 5)
        assert loop.sent[4:] == [pytest.approx(c) for c in [*ways, STILL]]
        assert begin != loop.sent[2]


def test_a_first_cycle_that_is_too_fast_commands_nothing(loop):
    loop["approach_cycles"] = 2
    loop.rate[0] = 0.05 / 0.002
    assert loop.run() == 3
    assert loop.trip == (Cause.COMMAND_RATE, 0, 0, 0)
    assert loop["segment.cause_value"] == pytest.approx(0.1 / 0.002)
    assert set(loop.sent) == {None}


@pytest.mark.parametrize(("apart", "trips"), [(0.019, False), (0.021, True), (-0.019, False), (-0.021, True)])
@pytest.mark.parametrize("approach", [0, 7])
def test_the_first_tick_may_not_jump_from_where_the_approach_ended(loop, apart, trips, approach):
    """It may have changed since the approach looked at it. Without an approach nothing is compared."""
    loop["approach_cycles"] = approach
    loop.rate[0] = 0.02 / 0.002 * (1 + 1e-9)
    way = loop.commands
    loop.sensors = lambda cycle: (0.3, 0.2, 0.3)
    loop.commands = lambda k: way(k) if loop.cycle < approach else (way(k)[0] + apart, way(k)[1])
    assert loop.run() == (3 if trips and approach else 0)
    if trips and approach:
        assert loop.trip == (Cause.COMMAND_RATE, 7, 0, 0)
        assert loop["segment.cause_value"] == pytest.approx(abs(apart) / 0.002)


def test_a_tick_that_fails_during_the_approach_trips(loop):
    loop["approach_cycles"] = 7

    def compute(state, parameters, inputs, t, k, channels):
        Loop.compute(loop, state, parameters, inputs, t, k, channels)
        return 4 if loop.cycle == 3 else 0

    loop.compute = compute
    loop.run()
    assert loop.trip == (Cause.NOT_A_NUMBER, 3, 0, 0)
    assert loop.sent[3] == loop.sent[2]
    assert loop.states == [(ACTIVE, 3), (RETREAT, 10), (SAFE, 2)]


# ---------------------------------------------------------------------------------------------- parked


def test_a_retreat_on_request_is_no_trip_and_stays(loop):
    at(loop, 7, PARK)
    loop.at[30] = loop.stop
    assert loop.run() == 0
    assert loop.trip[0] == 0
    assert loop.states == [(ACTIVE, 7), (RETREAT, 9), (SAFE, 14)]


def test_a_lost_link_while_waiting_ends_it(loop):
    loop["start"] = 0
    loop.send = lambda commands: LOST if loop.cycle == 4 else 0
    assert loop.run() == 3
    assert loop.trip == (Cause.LINK_LOST, 4, 0, 0)
