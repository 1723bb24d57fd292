"""A tick that takes too long, by the three policies: counted, the command held, or a trip."""

import numpy as np
import pytest
from fault_rules import (
    PERIOD,
    STATED,
    channel,
    ended,
    ended_safely,
    flagged,
    nothing_lost,
    ticks,
)
from two_halves import stall, until

TICKS = 40
"""Length of the tick that overruns, in periods."""


@pytest.mark.parametrize("scheme", ["udp", "shm"])
@pytest.mark.parametrize("policy", ["count", "hold"])
def test_the_loop_runs_on(bench, scheme, policy):
    assert STATED[f"a tick overruns, policy {policy}"].cause is None
    loop = bench.loop(bench.rig(scheme).link, overrun=policy)
    until(lambda: loop.ring.written > 20)
    stall(loop, TICKS * PERIOD)
    until(lambda: loop.status().counts["mails"] == 1)
    already = loop.ring.written
    until(lambda: loop.ring.written > already + 20)
    loop.mailbox.stop()
    ring, rows, status = ended(loop, 0)
    nothing_lost(ring, rows)
    assert status.cause == 0
    at = int(np.flatnonzero(flagged(rows, "mail"))[0])
    assert flagged(rows, "overrun")[at]
    assert status.counts["overruns"] == flagged(rows, "overrun").sum()
    # Deadlines that went by have no cycle of their own; the ticks go on by number.
    assert status.counts["missed"] >= TICKS - 2
    assert rows["time_ns"][at + 1] - rows["time_ns"][at] >= TICKS * PERIOD * 1e9
    assert rows["step"][at + 1] == rows["step"][at] + 1
    held, command = flagged(rows, "held"), channel(ring, rows, "command")
    if policy == "hold":
        assert held[at]
        assert status.counts["held"] == held.sum()
        assert (command[1:][held[1:]] == command[:-1][held[1:]]).all()
    else:
        assert not held.any()


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_four_in_a_row_trip(bench, scheme):
    """The loop takes four commands a cycle at most: with more than those waiting, every cycle is too long."""
    fault, limit = "a tick overruns, policy trip", 4
    loop = bench.loop(bench.rig(scheme).link, overrun="trip", overrun_limit=limit)
    until(lambda: loop.ring.written > 20 or not loop.running)
    while loop.running:
        number = stall(loop, 0.5 * PERIOD)
        until(lambda number=number: loop.mailbox.taken(number - 16) or not loop.running)
    ring, rows, status = ended(loop, 3)
    at = ended_safely(ring, rows, status, fault, late=1)
    assert status.cause_detail == limit
    late = flagged(rows, "overrun")[: at + 1]
    assert late[-limit:].all()  # the cause's row is that of the last of them
    assert np.convolve(late, np.ones(limit), "valid")[:-1].max(initial=0) < limit, "not before"
    assert ticks(STATED[fault].found) == 0


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_a_loop_that_commands_nothing_may_be_late(bench, scheme):
    """While it waits for its start nothing moves: a late cycle is no reason to end the test."""
    assert STATED["a cycle overruns, inactive, policy trip"].cause is None
    loop = bench.loop(bench.rig(scheme).link, overrun="trip", start=False)
    until(lambda: loop.ring.written > 5)
    number = stall(loop, TICKS * PERIOD)
    until(lambda: loop.mailbox.taken(number))
    already = loop.ring.written
    until(lambda: loop.ring.written > already + 5)
    assert loop.status().counts["overruns"] == loop.status().counts["missed"] == 0
    loop.mailbox.stop()
    ended(loop, 0)
