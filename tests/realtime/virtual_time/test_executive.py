"""The executive's cycles, deadlines and link, to the nanosecond of a clock that only the test moves."""

import pytest
from virtual_loop import ACTIVE, INACTIVE, LOST, RESET, RETREAT, SAFE, START, STOP, TRIP, T, ramp, word

from bondloop.safety import Cause

STILL = (0.25, -0.5)
FRESH_FLAG, OVERRUN, HELD, EXECUTIVE, REFUSED, MAIL, SILENT, STOPPED, ENABLED, FAULT = (
    1 << i for i in range(10)
)
FIRST = 7_004_000_000
"""Instant of the first cycle: two whole periods after the last multiple of the period."""


def flagged(loop, flag):
    return [i for i, s in enumerate(loop.slots) if s.flags & flag]


def at(loop, cycle, what=TRIP, cause=0):
    loop.at[cycle] = lambda: loop.mail(what) if isinstance(what, int) else loop.request(what, cause)


# ----------------------------------------------------------------------------------------------- a run


def test_a_run_cycle_by_cycle(loop):
    assert loop.run() == 0
    slots = loop.slots
    assert [s.cycle for s in slots] == list(range(51))
    assert [s.step for s in slots] == [*range(40), *[-1] * 11]
    assert [s.time for s in slots] == [FIRST + i * T for i in range(51)]
    assert loop.slept == [(FIRST + i * T, 0) for i in range(51)]
    assert loop.states == [(ACTIVE, 40), (RETREAT, 9), (SAFE, 2)]
    assert [s.flags & ~EXECUTIVE for s in slots] == [FRESH_FLAG | ENABLED] * 50 + [FRESH_FLAG]
    assert loop.enables == [1, 3] * 25 + [0]  # enabled up to the first safe command, with a beat
    assert loop.sent[:40] == [pytest.approx(loop.commands(k)) for k in range(40)]
    assert {(s.wake, s.busy, s.exchange, s.age, s.cause, s.status) for s in slots} == {(0,) * 6}
    assert loop.column(1)[:50] == pytest.approx([c[0] for c in loop.sent[:50]])
    assert loop.column(4)[:50] == pytest.approx([c[1] for c in loop.sent[:50]])
    counts = {
        n: loop[f"counts.{n}"]
        for n in ("cycles", "steps", "overruns", "missed", "held", "refused", "stale", "mails")
    }
    assert counts == dict.fromkeys(counts, 0) | {"cycles": 51, "steps": 40}
    assert [loop[f"{h}.count"] for h in ("wake", "busy", "exchange")] == [51] * 3
    assert loop["segment.heartbeat_ns"] == FIRST + 50 * T
    assert loop["segment.step"] == 40
    assert (loop["segment.state"], loop["segment.run"], loop["segment.armed"]) == (5, 1, 1)
    assert (loop["wire.enable"], loop["wire.halted"]) == (0, 0)
    changes = [(e.cycle, e.step, e.before, e.value) for e in loop.events if e.kind == 100]
    # Whatever was done in a cycle is logged at its end; the end of all is logged, too.
    assert changes == [(0, 1, 0, 2), (40, 40, 2, 3), (49, 40, 3, 4), (51, 40, 4, 5)]


@pytest.mark.parametrize(
    ("phase", "first"), [(0, FIRST), (321, FIRST + 321), (322, FIRST - T + 322), (T - 1, FIRST - 1)]
)
@pytest.mark.parametrize(("spin", "spun"), [(300, 300), (T // 2, T // 2), (T // 2 + 1, T // 2)])
def test_phase_and_spin(loop, phase, first, spin, spun):
    loop["phase_ns"], loop["spin_ns"] = phase, spin
    loop.run()
    assert loop.slept[:3] == [(first + i * T, spun) for i in range(3)]


def test_the_tick_gets_its_time_its_number_its_table_and_what_was_measured(loop):
    loop["table_rows"] = 3
    loop["inputs"], loop["tables"] = 5, 2
    loop.measured_at[:3] = (3, 2, 4)
    loop.table[:6] = (1.5, -2.5, 3.5, -4.5, 5.5, -6.5)
    seen = []

    def compute(state, parameters, inputs, t, k, channels):
        seen.append((t, k, tuple(inputs[:5]), tuple(parameters[:3]), tuple(state[:2])))
        channels[1], channels[4] = loop.commands(k)
        return 0

    loop.compute = compute
    loop["steps"] = 5
    loop.run()
    assert seen.pop(0) == seen[0]  # the first one is tried before
    rows = [(1.5, -2.5), (3.5, -4.5), *[(5.5, -6.5)] * 3]  # the last row stays
    for k, (t, number, inputs, parameters, state) in enumerate(seen):
        assert (t, number) == (pytest.approx(0.002 * k), k)
        assert inputs == pytest.approx((*rows[k], 0.2 - 0.002 * k, 0.1 + 0.001 * k, 0.3))
        assert (parameters, state) == ((3, -4, 0), (7, 8))


def test_without_a_table_none_is_read(loop):
    loop["tables"], loop["table_rows"] = 0, 0
    assert loop.run() == 0


def test_what_open_brought_is_believed_at_first(loop):
    loop.measured[:3] = (0.4, 0.6, 0.8)
    loop.sensors = lambda cycle: None if cycle == 0 else (0.5, 0.7, 0.9)
    loop.run()
    assert loop.column(2)[:2] == pytest.approx([0.4, 0.5])
    assert 0 in flagged(loop, FRESH_FLAG)
    assert loop["counts.stale"] == 0


@pytest.mark.parametrize(("index", "value"), [(0, float("nan")), (1, float("inf"))])
def test_what_open_brought_is_judged(loop, index, value):
    loop.measured[index] = value
    loop.sensors = lambda cycle: None if cycle == 0 else (0.5, 0.7, 0.9)
    loop.run()
    assert loop.trip == (Cause.NOT_A_NUMBER, 0, 0, 6 + index)
    assert (loop.column(5)[0], loop.column(0)[0]) == (0, 0)  # nothing is believed yet


def test_measured_values_are_recorded_while_no_tick_runs(loop):
    loop.run()
    assert loop.column(5)[40:] == pytest.approx([0.1 + 0.001 * c for c in range(40, 51)])
    assert loop.column(0)[41] == pytest.approx(0.3)


@pytest.mark.parametrize("steps", [1, 2, 33])
def test_it_ends_after_its_steps(loop, steps):
    loop["steps"] = steps
    loop.run()
    assert loop["counts.steps"] == steps
    assert loop.states[0] == (ACTIVE, steps)


def test_without_a_number_of_steps_it_goes_on_until_it_is_stopped(loop):
    loop["steps"] = 0
    loop.at[300] = loop.stop
    assert loop.run() == 0
    assert loop["counts.steps"] == 300
    assert loop.states == [(ACTIVE, 300), (RETREAT, 9), (SAFE, 2)]


def test_hot_it_never_sleeps_and_counts_no_deadline(loop):
    loop["hot"] = 1
    loop.slow = dict.fromkeys(range(5, 9), 3 * T)
    assert loop.run() == 0
    assert loop.slept == []
    assert (loop["counts.overruns"], loop["counts.missed"], loop["counts.held"]) == (0, 0, 0)
    assert [s.wake for s in loop.slots] == [0] * 51
    assert [s.busy for s in loop.slots[4:10]] == [0, *[3 * T] * 4, 0]


# ------------------------------------------------------------------------------------------- deadlines


def test_waking_up_late_within_the_period_is_no_overrun(loop):
    loop.late[7] = T - 1
    assert loop.run() == 0
    assert [s.wake for s in loop.slots[6:9]] == [0, T - 1, 0]
    assert (loop["counts.overruns"], loop["counts.missed"]) == (0, 0)
    assert loop.slept[8] == (FIRST + 8 * T, 0)
    assert (loop["wake.sum"], loop["wake.most"]) == (T - 1, T - 1)


@pytest.mark.parametrize(
    ("late", "catch_up", "missed", "left_out"),
    [(1.0, 0, 1, 1), (1.3, 0, 1, 1), (3.7, 0, 3, 3), (1.3, 1, 0, 0), (2.3, 1, 2, 2), (2.3, 2, 0, 0)],
)
def test_deadlines_that_were_missed(loop, late, catch_up, missed, left_out):
    """Up to `catch_up` of them, their ticks follow at once; more are left out."""
    loop["catch_up"] = catch_up
    loop.late[7] = round(late * T)
    assert loop.run() == 0
    assert loop["counts.missed"] == missed
    assert loop.slept[8] == (FIRST + (8 + left_out) * T, 0)
    assert flagged(loop, OVERRUN)[0] == 7
    # Those that follow at once are late as long as a deadline of theirs has passed.
    overruns = 1 if left_out else int(late)
    assert loop["counts.overruns"] == overruns
    assert flagged(loop, OVERRUN) == [*range(7, 7 + overruns)]


@pytest.mark.parametrize("catch_up", [0, 5])
def test_in_retreat_nothing_is_caught_up(loop, catch_up):
    loop["catch_up"] = catch_up
    loop.late[45] = 3 * T
    loop.run()
    assert loop["counts.missed"] == 3
    assert loop.slept[46] == (FIRST + 49 * T, 0)


@pytest.mark.parametrize("cycle", [3, 60])
def test_what_is_late_while_nothing_moves_is_not_counted(loop, cycle):
    loop["start"], loop["hold"], loop["overrun_limit"] = 0, 1, 1
    at(loop, 9, START)
    at(loop, 49, TRIP)
    at(loop, 80, STOP)
    loop.late[cycle] = 3 * T
    loop.run()
    assert loop.trip == (9, 49, 40, 0)
    assert (loop["counts.missed"], loop["counts.overruns"]) == (0, 0)
    assert loop.slept[cycle + 1] == (FIRST + (cycle + 4) * T, 0)


@pytest.mark.parametrize(("slow", "late"), [(T, False), (T + 1, True)])
@pytest.mark.parametrize("policy", [0, 1])
def test_a_tick_that_takes_too_long(loop, slow, late, policy):
    """Under the policy of holding, what comes too late does not go out."""
    loop["overrun"] = policy
    loop.slow[7] = slow
    assert loop.run() == 0
    held = late and policy == 1
    assert loop["counts.overruns"] == late
    assert loop["counts.held"] == held
    assert flagged(loop, HELD) == ([7] if held else [])
    assert flagged(loop, OVERRUN) == ([7] if late else [])
    assert loop.sent[6:9] == [pytest.approx(loop.commands(k)) for k in (6, 6 if held else 7, 8)]
    assert (loop.slots[7].busy, loop.slots[7].exchange) == (slow, 0)
    assert (loop["busy.sum"], loop["busy.most"]) == (slow, slow)


@pytest.mark.parametrize(("slow", "gap", "cause"), [(0.6 * T, 9 * T, 0), (3.6 * T, 5 * T, Cause.STOOD_STILL)])
def test_the_first_tick_may_come_too_late_as_well(loop, slow, gap, cause):
    """It is computed twice, to be looked at and to be executed."""
    loop["overrun"], loop["gap_ns"], loop["stale"] = 1, gap, 20
    loop.slow[0] = round(slow)
    loop.run()
    assert flagged(loop, HELD) == [0]
    assert loop.sent[0] == STILL
    assert loop.trip[0] == cause


def test_the_approach_is_not_held(loop):
    loop["overrun"], loop["approach_cycles"] = 1, 5
    loop.slow[2] = T + 1
    loop.run()
    assert flagged(loop, OVERRUN) == [2]
    assert flagged(loop, HELD) == []


def test_what_is_no_tick_is_not_held(loop):
    """On the way back a late command is sent: it leads to safety."""
    loop["overrun"] = 1
    loop.late[45] = round(1.5 * T)
    loop.run()
    assert flagged(loop, OVERRUN) == [45]
    assert flagged(loop, HELD) == []


def test_waking_up_late_is_held_too(loop):
    loop["overrun"] = 1
    loop.late[7] = T
    loop.run()
    assert flagged(loop, HELD) == [7]
    assert loop.sent[7] == loop.sent[6]


@pytest.mark.parametrize(("slow", "late"), [(T, 0), (T + 1, 1)])
def test_sending_that_takes_too_long_is_an_overrun(loop, slow, late):
    loop.slow_sending[7] = slow
    loop.slow_receiving[9] = 5
    loop.run()
    assert loop["counts.overruns"] == late
    assert flagged(loop, OVERRUN) == [7][:late]
    assert [(s.busy, s.exchange) for s in loop.slots[7:10]] == [(slow, slow), (0, 0), (5, 5)]
    assert (loop["exchange.sum"], loop["exchange.most"]) == (slow + 5, slow)


@pytest.mark.parametrize(
    ("cycles", "limit", "trips"),
    [
        ((7,), 2, None),
        ((7, 9), 2, None),
        ((7, 8), 2, 8),
        ((7, 8), 3, None),
        ((7, 8, 9), 3, 9),
        ((7,), 1, 7),
        ((7, 8, 9), 0, None),
    ],
)
@pytest.mark.parametrize("policy", [0, 1, 2])
def test_so_many_overruns_in_a_row_trip(loop, cycles, limit, trips, policy):
    loop["overrun"], loop["overrun_limit"] = policy, limit
    loop.slow = dict.fromkeys(cycles, T + 1)
    assert loop.run() == (3 if trips else 0)
    if trips:
        assert loop.trip == (Cause.OVERRUN, trips, trips + 1, limit)


def test_the_tick_may_lead_after_an_overrun(loop):
    loop["interlock_trip"], loop["overrun_limit"] = 2, 1
    loop.slow[7] = T + 1
    loop.run()
    assert loop.sent[8] == pytest.approx(loop.commands(8))


# -------------------------------------------------------------------------------------- standing still


@pytest.mark.parametrize("leads", [True, False])
def test_a_pause_beyond_the_gap_trips_and_the_power_does_not_come_back(loop, leads):
    loop["gap_ns"], loop["interlock_trip"], loop["stale"] = 5 * T, 2 if leads else -1, 2
    loop.late[7] = 5 * T + 1
    assert loop.run() == 3
    assert loop.trip == (Cause.STOOD_STILL, 7, 7, 0)
    assert loop["segment.cause_value"] == pytest.approx((5 * T + 1) * 1e-9)
    assert [bool(e) for e in loop.enables] == [True] * 7 + [False] * (len(loop.enables) - 7)
    assert 7 not in flagged(loop, FRESH_FLAG)  # it came at some time during the pause
    assert loop["counts.stale"] == 1
    assert loop["counts.held"] == 0
    if leads:
        assert loop.sent[7] == pytest.approx(loop.commands(7))
    else:
        assert loop.sent[7:] == [pytest.approx(c) for c in [*ramp(loop.commands(6), STILL, 10), STILL]]


def test_a_pause_of_the_gap_itself_is_borne(loop):
    loop["gap_ns"] = 5 * T
    loop.late[7] = 5 * T
    loop["stale"] = 9
    assert loop.run() == 0
    assert all(loop.enables[:-1])


def test_a_pause_is_no_silence_of_the_rig(loop):
    """Nobody listened for 6 periods; what then comes late is counted from there."""
    loop["gap_ns"], loop["stale"], loop["steps"] = 5 * T, 2, 0
    loop["hold"] = 1
    loop.late[7] = 6 * T
    loop.sensors = lambda cycle: None if 7 <= cycle < 9 else (0.1 * cycle, 0.2, 0.3)
    at(loop, 30, STOP)
    loop.run()
    assert loop.trip[0] == Cause.STOOD_STILL


def test_a_pause_while_nothing_moves_is_no_cause(loop):
    loop["gap_ns"], loop["start"], loop["hold"] = 5 * T, 0, 1
    at(loop, 9, START)
    at(loop, 20, TRIP)
    at(loop, 60, STOP)
    loop.late = {3: 8 * T, 50: 9 * T}
    loop.run()
    assert loop.trip == (9, 20, 11, 0)
    assert 3 not in flagged(loop, FRESH_FLAG)


def test_a_pause_on_the_way_back_is_a_cause(loop):
    loop["gap_ns"] = 5 * T
    loop.late[45] = 8 * T
    assert loop.run() == 3
    assert loop.trip == (Cause.STOOD_STILL, 45, 40, 0)
    assert not any(loop.enables[45:])


def test_the_power_comes_back_with_a_reset(loop):
    loop["gap_ns"], loop["hold"], loop["steps"] = 5 * T, 1, 0
    loop.late[7] = 6 * T
    at(loop, 30, RESET)
    at(loop, 33, START)
    at(loop, 60, STOP)
    loop.run()
    assert [bool(e) for e in loop.enables] == [True] * 7 + [False] * 26 + [True] * 37 + [False]


@pytest.mark.parametrize(("slow", "trips"), [(6 * T, False), (6 * T + 1, True)])
def test_a_tick_that_stood_still_is_not_sent(loop, slow, trips):
    """Period and gap have passed when it is computed: the executive leads from what was sent."""
    loop["gap_ns"], loop["interlock_trip"], loop["stale"] = 5 * T, 2, 9
    loop.slow[7] = slow
    assert loop.run() == (3 if trips else 0)
    assert flagged(loop, HELD) == ([7] if trips else [])
    assert loop["counts.held"] == trips
    if trips:
        assert loop.trip == (Cause.STOOD_STILL, 7, 8, 0)
        assert loop["segment.cause_value"] == pytest.approx((slow - T) * 1e-9)
        assert loop.sent[7] == loop.sent[6]
        assert loop.sent[8:] == [pytest.approx(c) for c in [*ramp(loop.commands(6), STILL, 10), STILL]]
        assert not any(loop.enables[7:])


def test_times_too_long_for_their_words_stay_at_the_most(loop):
    loop["gap_ns"], loop["stale"] = 10**10, 10**6
    loop.late[7] = 2**31 + 5
    loop.slow[9] = 2**31 + 7
    loop.at[20] = lambda: setattr(loop.age, "value", -(2**31) - 9)
    loop.at[21] = lambda: setattr(loop.age, "value", -5)
    loop.run()
    assert loop.slots[7].wake == 2**31 - 1
    assert loop.slots[9].busy == 2**31 - 1
    assert loop.slots[20].age == -(2**31)
    assert loop.slots[21].age == -5


# -------------------------------------------------------------------------------------------- the link


@pytest.mark.parametrize(("late", "cycle"), [(T // 2 - 1, 11), (T // 2, 10)])
@pytest.mark.parametrize("leads", [True, False])
def test_silence_trips_to_the_nearest_tick(loop, late, cycle, leads):
    """News of cycle 6 is four and a half periods old, which is more than four."""
    if leads:
        loop["interlock_trip"] = 2
    loop.sensors = lambda c: None if c > 6 else (0.1 + c, 0.2, 0.3)
    loop.late[10] = late
    assert loop.run() == 3
    assert loop.trip == (Cause.LINK_LOST, cycle, cycle, 5)
    age = 4 * T + late if cycle == 10 else 5 * T
    assert loop["segment.cause_value"] == pytest.approx(age * 1e-9)
    assert loop["counts.stale"] == len(loop.slots) - 7
    assert loop.column(2)[8:cycle] == pytest.approx([6.1] * (cycle - 8))
    assert (loop.sent[cycle] == pytest.approx(loop.commands(cycle))) == leads


def test_news_of_now_and_then_is_enough(loop):
    loop["stale"] = 2
    loop.sensors = lambda c: None if c % 3 else (0.1 + c, 0.2, 0.3)
    assert loop.run() == 0
    assert loop["counts.stale"] == 34


@pytest.mark.parametrize(("age", "trips"), [(4, False), (5, True), (-7, False), (0, False)])
def test_commands_that_are_not_answered_trip(loop, age, trips):
    loop.at[7] = lambda: setattr(loop.age, "value", age)
    assert loop.run() == (3 if trips else 0)
    if trips:
        assert loop.trip == (Cause.LINK_LOST, 7, 7, 5)
        assert loop["segment.cause_value"] == pytest.approx(0.01)
    assert loop.slots[7].age == age


def test_no_command_can_be_older_than_the_first(loop):
    loop.at[2] = lambda: setattr(loop.age, "value", 10)
    loop.at[4] = lambda: setattr(loop.age, "value", 0)
    assert loop.run() == 0


def test_one_command_that_was_not_answered_is_dated_too(loop):
    """It went out before a pause of five periods that the loop bears."""
    loop["stale"] = 5
    loop.late[7] = 5 * T
    loop.at[7] = lambda: setattr(loop.age, "value", 1)
    loop.run()
    assert loop.trip == (Cause.LINK_LOST, 7, 7, 6)


def test_the_age_of_commands_is_by_the_clock(loop):
    """Two are not answered, and five periods have passed between them."""
    loop["stale"] = 4
    loop.late[7] = 3 * T
    loop.at[8] = lambda: setattr(loop.age, "value", 2)
    loop.run()
    assert loop.trip == (Cause.LINK_LOST, 8, 8, 5)


@pytest.mark.parametrize(("age", "periods"), [(1024, 1027), (1025, 1025), (1200, 1200)])
def test_of_older_commands_the_number_counts(loop, age, periods):
    loop["stale"], loop["steps"] = 1010, 2000
    loop.late[1400] = 3 * T
    loop.at[1500] = lambda: setattr(loop.age, "value", age)
    loop.run()
    assert loop.trip == (Cause.LINK_LOST, 1500, 1500, periods)


def test_what_was_commanded_before_counts_for_the_age_as_silence_does_after_a_reset(loop):
    loop["hold"], loop["steps"] = 1, 0
    at(loop, 7)
    at(loop, 30, RESET)
    at(loop, 40, START)
    loop.at[41] = lambda: setattr(loop.age, "value", 1)
    at(loop, 60, STOP)
    assert loop.run() == 0
    assert loop.trip[0] == 0


def test_a_link_that_is_lost_trips(loop):
    loop.sensors = lambda c: LOST if c == 7 else (0.1 + c, 0.2, 0.3)
    assert loop.run() == 3
    assert loop.trip == (Cause.LINK_LOST, 7, 7, 1)
    assert loop["segment.cause_value"] == pytest.approx(0.002)


@pytest.mark.parametrize("leads", [True, False])
def test_a_link_that_is_lost_while_sending_trips(loop, leads):
    loop["interlock_trip"] = 2 if leads else -1
    loop.send = lambda commands: LOST if loop.cycle == 7 else 0
    assert loop.run() == 3
    assert loop.trip == (Cause.LINK_LOST, 7, 8, 0)
    assert loop["segment.cause_value"] == 0
    assert loop.states[0] == (ACTIVE, 7)
    assert (loop.sent[8] == pytest.approx(loop.commands(8))) == leads


def test_a_fault_that_is_told_while_sending_comes_before_the_lost_link(loop):
    def send(commands):
        if loop.cycle == 7:
            loop.fault(-12, "amplifier")
        return LOST if loop.cycle == 7 else 0

    loop.send = send
    loop.run()
    assert loop.trip == (Cause.CONTROLLER_FAULT, 7, 8, -12)


def test_while_it_waits_nothing_is_commanded(loop):
    loop["start"] = 0
    at(loop, 9, START)
    assert loop.run() == 0
    assert loop.sent[:9] == [None] * 9
    assert loop.sent[9] == pytest.approx(loop.commands(0))
    assert loop.enables[:10] == [0] * 9 + [3]
    assert flagged(loop, SILENT) == [*range(9)]
    assert flagged(loop, ENABLED) == [*range(9, 59)]
    assert loop.states == [(INACTIVE, 9), (ACTIVE, 40), (RETREAT, 9), (SAFE, 2)]
    assert loop.slots[9].step == 0
    assert loop.column(1)[:9] == [0.25] * 9


# ------------------------------------------------------------------------------------------- lock-step


def test_in_lock_step_the_link_sets_the_pace(loop):
    """What the link brings with one exchange is what the next tick is computed from."""
    loop["lock_step"] = 1
    loop.measured[:3] = (0.5, 0.6, 0.7)
    assert loop.run() == 0
    assert loop.slept == []
    assert len(loop.sent) == 51
    assert loop.column(2)[:4] == pytest.approx([0.5, 0.1, 0.101, 0.102])
    assert loop["counts.stale"] == 0
    assert loop.sent[:40] == [pytest.approx(loop.commands(k)) for k in range(40)]
    assert (loop["counts.overruns"], loop["counts.missed"]) == (0, 0)


def test_in_lock_step_no_deadline_is_missed(loop):
    loop["lock_step"], loop["overrun"], loop["overrun_limit"] = 1, 1, 1
    loop["stale"], loop["gap_ns"] = 10**5, T
    loop.slow = dict.fromkeys(range(51), 5 * T)
    loop.slow_sending = dict.fromkeys(range(51), 5 * T)
    assert loop.run() == 0
    assert (loop["counts.overruns"], loop["counts.missed"], loop["counts.held"]) == (0, 0, 0)
    assert {s.wake for s in loop.slots} == {0}


def test_in_lock_step_a_lost_link_trips_in_the_next_cycle_and_nothing_is_sent(loop):
    loop["lock_step"] = 1
    loop.sensors = lambda c: LOST if c >= 7 else (0.1 + c, 0.2, 0.3)
    assert loop.run() == 3
    assert loop.trip == (Cause.LINK_LOST, 8, 8, 0)
    assert len(loop.sent) == 8
    assert flagged(loop, FRESH_FLAG) == [*range(8)]


def test_in_lock_step_it_waits_without_a_clock(loop):
    """A thousandth of a second at a time, and with the link alive."""
    loop["lock_step"], loop["start"] = 1, 0
    seen = []

    def send(commands):
        seen.append(commands)
        if len(seen) == 5:
            loop.mail(START)
        return 0

    loop.send = send
    assert loop.run() == 0
    assert loop.slept == [(loop.begin + 1_000_000 * i, 0) for i in range(1, 6)]
    assert seen[:5] == [None] * 5
    assert flagged(loop, SILENT) == [*range(5)]
    assert loop.states == [(INACTIVE, 5), (ACTIVE, 40), (RETREAT, 9), (SAFE, 2)]


def test_in_lock_step_a_lost_link_while_waiting_trips(loop):
    loop["lock_step"], loop["start"] = 1, 0
    loop.send = lambda commands: LOST
    assert loop.run() == 3
    assert loop.trip == (Cause.LINK_LOST, 0, 0, 0)


# --------------------------------------------------------------------------------------------- the end


@pytest.mark.parametrize("hold", [0, 1])
def test_after_a_trip_it_stays_where_that_is_wanted(loop, hold):
    loop["hold"] = hold
    at(loop, 7)
    at(loop, 30, STOP)
    assert loop.run() == 3
    assert loop.states == [(ACTIVE, 7), (RETREAT, 9), (SAFE, 2 if not hold else 14)]
    assert loop["counts.stops"] == hold


def test_after_its_steps_it_ends_though_trips_would_hold_it(loop):
    loop["hold"] = 1
    assert loop.run() == 0
    assert loop.states == [(ACTIVE, 40), (RETREAT, 9), (SAFE, 2)]


def test_a_stop_during_the_retreat_of_a_trip_ends_it(loop):
    loop["hold"] = 1
    at(loop, 7)
    at(loop, 9, STOP)
    assert loop.run() == 3
    assert loop.states == [(ACTIVE, 7), (RETREAT, 9), (SAFE, 2)]


def test_the_inactive_mode_never_starts(loop):
    loop["inactive"] = 1
    at(loop, 5, START)
    at(loop, 9, STOP)
    assert loop.run() == 0
    assert loop.states == [(INACTIVE, 9), (SAFE, 2)]
    assert set(loop.sent) == {None}


def test_news_at_the_very_start_dates_from_then(loop):
    """The rig was not asked before: its silence begins with the run."""
    loop["stale"] = 2
    loop.clock.value += 50 * T
    assert loop.run() == 0


@pytest.mark.parametrize("piece", range(1, 10))
def test_without_memory_nothing_is_commanded(loop, piece):
    """Eight pieces for the run, and one for its cycles."""
    word(loop.library, "virtual_no_memory").value = piece
    assert loop.run() == 1 or piece == 9
    assert loop.sent == []
