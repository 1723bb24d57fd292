"""What the loop hears: values, requests, signals, heartbeats; in every state, on both sides of each limit."""

import math

import pytest
from virtual_loop import ACTIVE, ARM, INACTIVE, PARK, RESET, RETREAT, SAFE, SET, START, STOP, TRIP, T, word

from bondloop.safety import Cause

(
    OBEYED,
    NO_SENSE,
    NO_COMMAND,
    NOT_NOW,
    NO_PARAMETER,
    NOT_FINITE,
    OUT_OF_BOUNDS,
    NOT_TUNABLE,
    ANOTHER,
    NOT_ARMED,
) = range(10)


def logged(loop, *kinds):
    return [(e.cycle, e.kind, e.index, e.before, e.value, e.refused) for e in loop.events if e.kind in kinds]


def parameters_seen(loop):
    seen, inner = [], loop.compute

    def compute(state, parameters, inputs, t, k, channels):
        seen.append(tuple(parameters[:3]))
        return inner(state, parameters, inputs, t, k, channels)

    loop.compute = compute
    return seen


# ---------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("index", "value", "refused"),
    [
        (0, 2.0, OBEYED), (0, 5.0, OBEYED), (0, 2.0 - 1e-9, OUT_OF_BOUNDS), (0, 5.0 + 1e-9, OUT_OF_BOUNDS),
        (1, -6.0, OBEYED), (1, -6.1, OUT_OF_BOUNDS), (1, 0.0, OUT_OF_BOUNDS),
        (1, 1e-300, OBEYED), (1, 6.0, OBEYED),
        (2, 0.0, NOT_TUNABLE), (3, 1.0, NO_PARAMETER), (2**32 - 1, 1.0, NO_PARAMETER),
        (0, math.nan, NOT_FINITE), (0, math.inf, NOT_FINITE), (1, -math.inf, NOT_FINITE),
    ],
)  # fmt: skip
def test_a_value_within_its_bounds_is_set(loop, index, value, refused):
    seen = parameters_seen(loop)
    loop.at[7] = lambda: loop.mail(SET, index, value)
    assert loop.run() == 0
    before = [3.0, -4.0, 0.0]
    after = [value if i == index and refused == OBEYED else x for i, x in enumerate(before)]
    assert seen[1:8] == [tuple(before)] * 7
    assert seen[8:] == [tuple(after)] * 33
    assert [loop.library.virtual_shown(i) for i in range(3)] == after
    known = before[index] if index < 3 else 0.0
    (event,) = [e for e in loop.events if e.kind == SET]
    assert (event.mail, event.cycle, event.step, event.index) == (1, 7, 7, index)
    assert (event.before, event.value, event.refused) == (
        known,
        pytest.approx(value, abs=0, nan_ok=True),
        refused,
    )
    assert event.run == 1
    assert (loop["counts.mails"], loop["counts.mails_refused"]) == (1, refused != OBEYED)
    assert [i for i, s in enumerate(loop.slots) if s.flags & 32] == [7]


def test_zero_is_a_value_where_it_may_be(loop):
    loop.least[0] = -1.0
    loop.at[7] = lambda: loop.mail(SET, 0, 0.0)
    loop.run()
    assert logged(loop, SET) == [(7, SET, 0, 3.0, 0.0, OBEYED)]


def test_bounds_that_are_one_value_allow_it(loop):
    loop.least[2] = loop.most[2] = 4.5
    loop.at[7] = lambda: loop.mail(SET, 2, 4.5)
    loop.run()
    assert logged(loop, SET) == [(7, SET, 2, 0.0, 4.5, OBEYED)]


@pytest.mark.parametrize("bad", [None, 0, 1])
def test_values_that_belong_together_are_set_together_or_not_at_all(loop, bad):
    values = [4.5, 5.5]
    if bad is not None:
        values[bad] = 77.0
    seen = parameters_seen(loop)

    def put():
        loop.mail(SET, 0, values[0], more=1)
        loop.mail(SET, 1, values[1])

    loop.at[7] = put
    loop.run()
    assert seen[8] == ((4.5, 5.5, 0.0) if bad is None else (3.0, -4.0, 0.0))
    refused = [OBEYED if bad is None else OUT_OF_BOUNDS if i == bad else ANOTHER for i in range(2)]
    assert logged(loop, SET) == [(7, SET, i, (3.0, -4.0)[i], values[i], refused[i]) for i in range(2)]
    assert loop["counts.mails_refused"] == (0 if bad is None else 2)


def test_values_that_belong_together_may_come_in_two_cycles(loop):
    seen = parameters_seen(loop)
    loop.at[7] = lambda: loop.mail(SET, 0, 4.5, more=1)
    loop.at[9] = lambda: loop.mail(SET, 1, 5.5)
    loop.run()
    assert seen[8:12] == [(3.0, -4.0, 0.0)] * 2 + [(4.5, 5.5, 0.0)] * 2


@pytest.mark.parametrize(("first", "then"), [(1, 1), (2, 0), (1, 5)])
def test_values_that_do_not_belong_together_are_refused(loop, first, then):
    loop.at[7] = lambda: (loop.mail(SET, 0, 4.5, more=first), loop.mail(SET, 1, 5.5, more=then))
    loop.run()
    assert [e[-1] for e in logged(loop, SET)] == [NO_SENSE] * 2
    assert loop["counts.mails_refused"] == 2


@pytest.mark.parametrize(("count", "refused"), [(16, OBEYED), (17, NO_SENSE)])
def test_so_many_values_at_once(loop, count, refused):
    def put():
        for i in range(count):
            loop.mail(SET, 0, 2.0 + 0.1 * i, more=count - 1 - i)

    loop.at[7] = put
    seen = parameters_seen(loop)
    loop.run()
    events = logged(loop, SET)
    assert events[0][-1] == refused
    assert seen[8][0] == pytest.approx(3.5 if refused == OBEYED else 3.0)
    if refused == OBEYED:
        assert [e[0] for e in events] == [7] * 16


def test_a_command_that_is_no_value_has_no_part_in_a_batch(loop):
    loop.at[7] = lambda: (loop.mail(SET, 0, 4.5, more=1), loop.mail(ARM))
    loop.at[9] = lambda: loop.mail(ARM, more=1)
    loop.run()
    assert logged(loop, SET, ARM) == [
        (7, SET, 0, 3.0, 4.5, ANOTHER), (7, ARM, 0, 0.0, 0.0, NO_COMMAND), (9, ARM, 0, 0.0, 0.0, NO_SENSE),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [0, 2, 4, 6, 8, 9, 77])
def test_a_kind_that_is_none(loop, kind):
    loop.at[7] = lambda: loop.mail(kind)
    assert loop.run() == 0
    assert loop.states[0] == (ACTIVE, 40)
    assert logged(loop, kind)[0] == (7, kind, 0, 0.0, 0.0, NO_COMMAND)


def test_four_commands_a_cycle_and_the_rest_in_the_next(loop):
    loop.at[7] = lambda: [loop.mail(SET, 0, 2.0 + 0.1 * i) for i in range(9)]
    loop.run()
    assert [e[0] for e in logged(loop, SET)] == [7] * 4 + [8] * 4 + [9]


def test_a_spoiled_command_is_left_out_at_the_sixteenth_look(loop):
    loop.at[7] = lambda: (loop.mail(SET, 0, 4.5, spoiled=1), loop.mail(SET, 0, 4.7))
    loop.run()
    assert logged(loop, 0) == [(7 + 15, 0, 0, 0.0, 0.0, NO_SENSE)]
    assert logged(loop, SET) == [(7 + 15, SET, 0, 3.0, 4.7, OBEYED)]
    assert loop["counts.mails_refused"] == 1
    assert loop.library.virtual_shown(0) == 4.7


# ----------------------------------------------------------------------------------- start, arm, reset


@pytest.mark.parametrize("armed", [True, False])
def test_a_start_wants_an_arm_where_that_is_so(loop, armed):
    loop["start"], loop["arm"] = 0, 1
    armed_words = []
    loop.at[4] = lambda: loop.mail(ARM) if armed else None
    loop.at[6] = lambda: (armed_words.append(loop["segment.armed"]), loop.mail(START))
    loop.at[9] = loop.stop
    loop.run()
    assert armed_words == [armed]
    assert logged(loop, START) == [(6, START, 0, 0.0, 0.0, OBEYED if armed else NOT_ARMED)]
    assert loop.states[:2] == ([(INACTIVE, 6), (ACTIVE, 3)] if armed else [(INACTIVE, 9), (SAFE, 2)])


@pytest.mark.parametrize("kind", [START, ARM, RESET])
@pytest.mark.parametrize("cycle", [7, 45])
def test_what_makes_no_sense_while_it_moves(loop, kind, cycle):
    loop["hold"] = 1
    loop.at[cycle] = lambda: loop.mail(kind)
    loop.run()
    assert logged(loop, kind) == [(cycle, kind, 0, 0.0, 0.0, NOT_NOW)]
    assert loop.states == [(ACTIVE, 40), (RETREAT, 9), (SAFE, 2)]


@pytest.mark.parametrize("kind", [START, ARM])
def test_what_makes_no_sense_in_the_inactive_mode(loop, kind):
    loop["inactive"] = 1
    loop.at[5] = lambda: loop.mail(kind)
    loop.at[9] = loop.stop
    loop.run()
    assert logged(loop, kind) == [(5, kind, 0, 0.0, 0.0, NOT_NOW)]
    assert {s.state for s in loop.slots} == {INACTIVE, SAFE}


def test_a_reset_is_a_beginning(loop):
    """State, parameters, channels, commands, cause, arm: as at the first start; the count of runs goes on."""
    loop["hold"], loop["arm"], loop["start"] = 1, 1, 0
    seen = parameters_seen(loop)
    loop.at[1] = lambda: (loop.mail(ARM), loop.mail(START))
    loop.at[3] = lambda: loop.mail(SET, 0, 4.5)
    loop.at[7] = lambda: loop.request(TRIP, 11)
    loop.at[30] = lambda: loop.mail(RESET)
    loop.at[32] = lambda: loop.mail(START)
    loop.at[34] = lambda: loop.mail(ARM)
    loop.at[36] = lambda: loop.mail(START)
    loop.at[50] = loop.stop
    assert loop.run() == 0
    assert loop.states == [
        (INACTIVE, 1),
        (ACTIVE, 6),
        (RETREAT, 9),
        (SAFE, 14),
        (INACTIVE, 6),
        (ACTIVE, 14),
        (RETREAT, 9),
        (SAFE, 2),
    ]
    assert logged(loop, START) == [
        (1, START, 0, 0, 0, OBEYED),
        (32, START, 0, 0, 0, NOT_ARMED),
        (36, START, 0, 0, 0, OBEYED),
    ]
    assert loop["segment.run"] == 2
    assert loop.trip == (0, -1, -1, 0)
    assert [s.step for s in loop.slots[36:39]] == [0, 1, 2]
    assert loop.column(0)[36] == 8.0
    assert loop.column(1)[30:36] == [0.25] * 6
    assert loop.column(3)[30] == 0
    assert seen[-1] == (3.0, -4.0, 0.0)
    assert loop.library.virtual_shown(0) == 3.0
    assert loop.sent[30:36] == [None] * 6
    causes = [(e.cycle, e.index, e.run) for e in loop.events if e.kind == 101]
    assert causes == [(7, 11, 1)]
    assert {e.run for e in loop.events if e.cycle > 30} == {2}


def test_after_a_reset_the_same_cause_is_logged_anew(loop):
    loop["hold"] = 1
    loop.at = {7: lambda: loop.request(TRIP, 11), 30: lambda: loop.mail(RESET), 33: lambda: loop.mail(START),
               40: lambda: loop.request(TRIP, 11), 60: loop.stop}  # fmt: skip
    assert loop.run() == 3
    assert [(e.cycle, e.index) for e in loop.events if e.kind == 101] == [(7, 11), (40, 11)]


def test_who_ends_is_not_reset(loop):
    loop["hold"] = 1
    loop.at = {7: lambda: loop.request(TRIP), 9: loop.stop, 17: lambda: loop.mail(RESET)}
    loop.run()
    assert logged(loop, RESET) == [(17, RESET, 0, 0, 0, NOT_NOW)]


# -------------------------------------------------------------------------------- requests and signals


@pytest.mark.parametrize(("what", "kind"), [(TRIP, 4), (PARK, 8), (STOP, 2)])
def test_requests_are_logged_and_heard(loop, what, kind):
    loop["hold"] = 1
    loop.at[7] = lambda: loop.request(what, 16)
    loop.at[40] = loop.stop
    loop.run()
    value = 16 if what == TRIP else 0
    assert logged(loop, kind)[0] == (7, kind, 0, 0, value, OBEYED)
    assert [loop.library.virtual_unheard(i) for i in range(3)] == [0, 0, 0]
    assert loop.trip[0] == value
    assert loop["counts.stops"] == 1
    assert loop.states[0] == (ACTIVE, 7)


@pytest.mark.parametrize("cycle", [3, 47])
def test_a_retreat_is_refused_where_nothing_is_active(loop, cycle):
    loop["start"] = 0
    loop.at = {cycle: lambda: loop.request(PARK), 5: lambda: loop.mail(START)}
    loop.run()
    assert logged(loop, 8) == [(cycle, 8, 0, 0, 0, NOT_NOW)]
    assert loop.states == [(INACTIVE, 5), (ACTIVE, 40), (RETREAT, 9), (SAFE, 2)]


def test_a_stop_comes_after_the_mailbox(loop):
    loop["start"] = 0
    loop.at[5] = lambda: (loop.stop(), loop.mail(START))
    assert loop.run() == 0
    assert loop.states == [(INACTIVE, 5), (SAFE, 2)]
    assert set(loop.sent) == {None}


def test_a_stop_while_parked_ends_at_once(loop):
    loop.at = {7: lambda: loop.request(PARK), 30: loop.stop}
    assert loop.run() == 0
    assert loop.slots[-1].cycle == 29
    assert loop.states == [(ACTIVE, 7), (RETREAT, 9), (SAFE, 14)]


@pytest.mark.parametrize("signals", [1, 3])
def test_signals_stop_it(loop, signals):
    loop.at[7] = lambda: setattr(word(loop.library, "bl_asked_to_stop"), "value", signals)
    assert loop.run() == 0
    assert loop.states == [(ACTIVE, 7), (RETREAT, 9), (SAFE, 2)]
    assert loop["counts.stops"] == 1


@pytest.mark.parametrize(
    ("name", "cause"), [("bl_asked_to_end", Cause.OPERATOR), ("bl_telemetry_lost", Cause.SUPERVISOR_LOST)]
)
def test_flags_that_end_it_trip(loop, name, cause):
    loop["hold"] = 1
    loop.at[7] = lambda: setattr(word(loop.library, name), "value", 1)
    assert loop.run() == 3
    assert loop.trip == (cause, 7, 7, 0)
    assert loop.states == [(ACTIVE, 7), (RETREAT, 9), (SAFE, 1)]  # and then nobody would end it


@pytest.mark.parametrize("name", ["bl_asked_to_end", "bl_telemetry_lost"])
def test_flags_that_come_while_it_waits(loop, name):
    loop["start"] = 0
    loop.at[7] = lambda: setattr(word(loop.library, name), "value", 1)
    assert loop.run() == 3
    assert loop.trip[1:3] == (7, 0)
    assert set(loop.sent) == {None}


def test_asked_to_end_on_the_way_back_is_no_trip(loop):
    loop.at[42] = lambda: setattr(word(loop.library, "bl_asked_to_end"), "value", 1)
    assert loop.run() == 0
    assert loop.states == [(ACTIVE, 40), (RETREAT, 9), (SAFE, 1)]


def test_the_tick_may_lead_whatever_asked(loop):
    loop["interlock_trip"] = 2
    loop.at[7] = lambda: setattr(word(loop.library, "bl_asked_to_end"), "value", 1)
    loop.run()
    assert loop.sent[7] == pytest.approx(loop.commands(7))


# ------------------------------------------------------------------------------------------ heartbeats


@pytest.mark.parametrize(("limit", "trips"), [(5 * T, 13), (5 * T - 1, 12), (0, None)])
def test_a_supervisor_that_no_longer_answers_trips(loop, limit, trips):
    """Its last heartbeat is that of cycle 7."""
    loop["supervisor_ns"] = limit

    def beat():
        loop["segment.supervisor_ns"] = loop.clock.value

    loop.at = dict.fromkeys(range(8), beat)
    assert loop.run() == (3 if trips else 0)
    if trips:
        assert loop.trip == (Cause.SUPERVISOR_LOST, trips, trips, 0)
        assert loop["segment.cause_value"] == pytest.approx((trips - 7) * T * 1e-9)
        assert loop.states == [(ACTIVE, trips), (RETREAT, 9), (SAFE, 1)]


def test_where_there_was_no_supervisor_none_is_lost(loop):
    loop["supervisor_ns"] = T
    assert loop.run() == 0


@pytest.mark.parametrize(("limit", "trips"), [(5 * T, 13), (5 * T - 1, 12), (0, None)])
def test_an_operator_who_is_gone_trips(loop, limit, trips):
    loop["operator_ns"] = limit

    def beat():
        loop["segment.operator_ns"] = loop.clock.value

    loop.at = dict.fromkeys(range(8), beat)
    assert loop.run() == (3 if trips else 0)
    if trips:
        assert loop.trip == (Cause.OPERATOR_LOST, trips, trips, 0)
        assert loop["segment.cause_value"] == pytest.approx((trips - 7) * T * 1e-9)


def test_who_starts_it_is_there_from_then_on(loop):
    loop["start"], loop["operator_ns"] = 0, 5 * T
    loop.at[9] = lambda: loop.mail(START)
    loop.run()
    assert loop.trip == (Cause.OPERATOR_LOST, 9 + 6, 6, 0)


def test_nobody_needs_an_operator_on_the_way_back(loop):
    loop["operator_ns"] = 42 * T
    assert loop.run() == 0
    loop = type(loop)(loop.library)
    loop["operator_ns"] = 38 * T
    assert loop.run() == 3
    assert loop.trip[:2] == (Cause.OPERATOR_LOST, 37)  # two periods lie between the start and the first cycle


def test_the_tick_may_lead_where_nobody_is_there(loop):
    loop["interlock_trip"], loop["operator_ns"] = 2, 5 * T
    loop.run()
    assert loop.sent[6] == pytest.approx(loop.commands(6))
