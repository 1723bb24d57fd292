"""Processes that stand still for a while: nobody goes on afterwards as if nothing had happened."""

import signal

import numpy as np
import pytest
from fault_proxy import PacketFaults
from fault_rules import (
    PERIOD,
    STALE,
    STATED,
    ages,
    channel,
    ended,
    ended_safely,
    flagged,
    freeze,
    halt,
    ticks,
)
from two_halves import stall, until
from wire import MEASURED, pack

from bondloop.realtime import LoopOptions
from bondloop.realtime.protocol import FLAGS
from bondloop.realtime.stop_requests import STATES
from bondloop.safety.causes import Cause

GAP = 1.0
"""Seconds that a busy machine may hold these loops up."""

AT_REST = np.full((20_001, 1), 21.5625)
"""The load, in N, under which the mass of `two_halves` stays at 0.05 m, where it begins:
400 0.05 (1 + 0.05²) = 20.05 of its own spring, 30 0.05 + 5 0.05² = 1.5125 of the specimen."""


def frozen_from(rows, gap=GAP):
    """The first row after the longest pause between two of them, which is longer than `gap` seconds."""
    pauses = np.diff(rows["time_ns"])
    assert pauses.max() * 1e-9 > gap
    return int(np.argmax(pauses)) + 1


def test_a_rig_on_its_way_to_rest_is_not_called_back(bench):
    """The loop is frozen until the rig's own watchdog is half-way: from then on the rig goes to rest alone.

    Its force falls from measurement to measurement, whatever the loop commands after it woke.
    """
    fault = "loop frozen until the rig goes to rest"
    bench.table = AT_REST
    rig = bench.rig("udp", timeout=4.0)  # to rest in the last two of these seconds
    proxy = bench.proxy(rig)
    loop = bench.loop(proxy.link, gap=GAP)
    until(lambda: loop.ring.written > 100)
    full = 1.5125
    assert proxy.measured[-1]["values"][0] == pytest.approx(full, rel=0.05)
    halt(loop)
    until(lambda: proxy.measured[-1]["values"][0] < 0.5 * full)
    count = len(proxy.measured)
    loop.send(signal.SIGCONT)
    ring, rows, status = ended(loop, 3)
    at = ended_safely(ring, rows, status, fault)
    assert at - frozen_from(rows) == ticks(STATED[fault].found)
    assert rig.process.stdout.readline().startswith("a loop came")
    assert rig.process.stdout.readline().startswith("the loop has gone: ")
    force = np.array([p["values"][0] for p in proxy.measured[count - 1 :]])
    assert (np.diff(force) <= 1e-9).all(), "it was called back"
    # It follows no command any more, and says so: its answers are to the last one before it gave up.
    assert len({p["echo"] for p in proxy.measured[count - 1 :]}) == 1


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_the_loop_stood_still(bench, scheme):
    """The rig waits where it was left: the loop leads it to rest from there."""
    fault = "loop frozen"
    loop = bench.loop(bench.rig(scheme).link, gap=GAP)
    until(lambda: loop.ring.written > 100)
    freeze(loop, 1.5 * GAP)
    ring, rows, status = ended(loop, 3)
    at = ended_safely(ring, rows, status, fault)
    assert at - frozen_from(rows) == ticks(STATED[fault].found)
    most = np.iinfo(rows["wake_ns"].dtype).max  # what a row can say of a pause; the machine may add to it
    assert min(status.cause_value, 1e-9 * most) == pytest.approx(1e-9 * rows["wake_ns"][at])
    assert status.cause_value > GAP


def test_the_tick_is_not_sent_that_the_loop_stood_still_in(bench):
    """One tick takes 2.5 s: its command is too late; the one before stays, and the way back begins there."""
    fault = "loop frozen within a tick"
    loop = bench.loop(bench.rig("shm").link, gap=2.0)
    until(lambda: loop.ring.written > 100)
    stall(loop, 2.5)
    ring, rows, status = ended(loop, 3)
    at = ended_safely(ring, rows, status, fault)
    assert flagged(rows, "mail")[at]
    assert at - int(np.flatnonzero(flagged(rows, "mail"))[0]) == ticks(STATED[fault].found)
    command = channel(ring, rows, "command")
    assert command[at] == command[at - 1]
    assert flagged(rows, "held")[at]
    assert flagged(rows[at + 1 : at + 10], "executive").all()


def test_what_has_piled_up_is_not_fresh(bench):
    """Over UDP: of what came while the loop was frozen nothing is used, however much the kernel kept.

    Each measurement is replaced by its own number, so that it can be seen which one a tick used.
    """
    fault = "packets piled up"

    def numbered(packet):
        number = packet["sequence"]
        return pack(
            MEASURED, packet["session"], number, packet["echo"], [1e-6 * number], stamp=packet["stamp"]
        )

    patience = 600.0  # a rig that gets little of the processor sends few packets, and gives up by its timeout
    rig = bench.rig("udp", timeout=2 * patience)
    proxy = bench.proxy(rig, PacketFaults(MEASURED, rewrite=numbered))
    loop = bench.loop(proxy.link, gap=GAP)
    until(lambda: loop.ring.written > 100)
    halt(loop)
    before = len(proxy.measured)
    until(lambda: len(proxy.measured) > before + 1200, patience)  # more than are handled in four ticks
    newest = proxy.measured[-2]["sequence"]  # the last may have been seen and not passed on yet
    loop.send(signal.SIGCONT)
    ring, rows, status = ended(loop, 3)
    at = ended_safely(ring, rows, status, fault)
    assert at - frozen_from(rows) == ticks(STATED[fault].found)
    used = np.rint(1e6 * channel(ring, rows, "measured.force")).astype(int)
    fresh = flagged(rows, "fresh")
    assert not fresh[at]
    assert (used[at:][fresh[at:]] > newest).all()
    assert (used[at:][~fresh[at:]] == np.maximum.accumulate(used)[at:][~fresh[at:]]).all()


def test_age_is_that_of_the_clock(bench):
    """The rig is frozen, the loop so slow that it has one tick in 40: still found after `stale` periods."""
    fault = "rig frozen, the loop held up"
    rig = bench.rig("shm")
    loop = bench.loop(rig.link)
    until(lambda: loop.ring.written > 100)
    rig.send(signal.SIGSTOP)
    while loop.running:
        number = stall(loop, 40 * PERIOD)
        until(lambda number=number: loop.mailbox.taken(number) or not loop.running)
    rig.send(signal.SIGCONT)
    ring, rows, status = ended(loop, 3)
    at = ended_safely(ring, rows, status, fault)
    age = ages(rows)
    assert age[at] == status.cause_detail > STALE >= age[:at].max()
    assert status.counts["missed"] > 0.5 * STALE


def test_a_loop_that_commands_nothing_may_stand_still(bench):
    """Inactive, nothing moves: it is counted, and the test can begin afterwards."""
    assert STATED["inactive loop frozen"].cause is None
    loop = bench.loop(bench.rig("shm").link, gap=GAP, start=False)
    until(lambda: loop.ring.written > 20)
    freeze(loop, 1.5 * GAP)
    already = loop.ring.written
    until(lambda: loop.ring.written > already + 5)
    assert (loop.ring.state, loop.status().cause) == ("inactive", 0)
    loop.mailbox.start()
    until(lambda: loop.ring.state == "active")
    loop.stop()
    assert loop.wait(60) in (0, 3)  # 3: where the machine itself held it up for a second
    rows = loop.ring.read()
    at = frozen_from(rows)
    assert not rows["flags"][at] & FLAGS["fresh"]
    assert rows["state"][at] == STATES.index("inactive")


def test_on_its_way_to_rest_it_is_recorded_too(bench):
    """The operator stops it, and then it stands still: it was no stop as any other."""
    fault = "loop frozen on its way to rest"
    loop = bench.loop(bench.rig("shm").link, gap=GAP, retreat=4.0)
    until(lambda: loop.ring.written > 100)
    loop.stop()
    until(lambda: loop.ring.state == "retreat")
    freeze(loop, 1.5 * GAP)
    _, rows, status = ended(loop, 3)
    at = frozen_from(rows)
    assert (status.cause, status.cause_cycle) == (STATED[fault].cause, at + ticks(STATED[fault].found))
    command = rows["channels"][:, loop.ring.names.index("command")]
    assert command[-1] == 0
    way = command[rows["state"] >= STATES.index("retreat")]
    assert np.abs(np.diff(way)).max() <= 1.01 * np.pi / (2 * 4.0 / PERIOD) * np.abs(way).max()


def test_twenty_milliseconds_where_nothing_else_is_said(bench):
    assert LoopOptions().gap == 0.02
    loop = bench.loop(bench.rig("shm").link, gap=LoopOptions().gap)
    until(lambda: loop.ring.written > 5 or not loop.running)
    freeze(loop, 0.1)
    assert loop.wait(60) == 3
    assert (loop.status().cause, loop.status().cause_value > 0.02) == (Cause.STOOD_STILL, True)
