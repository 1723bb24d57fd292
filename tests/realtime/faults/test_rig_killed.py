"""The rig is killed: the loop hears nothing more, and brings the command to its safe value."""

import signal

import pytest
from fault_rules import STALE, channel, ended, ended_safely, flagged, lost_by_the_clock
from shm_peek import Peek
from two_halves import until


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_rig_killed(bench, scheme):
    fault = "rig killed"
    rig = bench.rig(scheme)
    loop = bench.loop(rig.link)
    until(lambda: loop.ring.written > 50)
    rig.send(signal.SIGKILL)
    ring, rows, status = ended(loop, 3)
    at = ended_safely(ring, rows, status, fault)
    lost_by_the_clock(rows, at, status, STALE)
    assert not flagged(rows[at:], "fresh").any()
    rig.wait()
    if scheme == "shm":
        bench.rig(scheme)  # the name is free again, and what the dead one left is removed


def test_rig_killed_while_it_writes_a_message(bench):
    """Half a message is never taken for a whole one."""
    fault = "rig killed while it writes a message"
    rig = bench.rig("shm")
    loop = bench.loop(rig.link)
    until(lambda: loop.ring.written > 50)
    rig.send(signal.SIGSTOP)
    Peek(rig.link).leave_half_written("measurement")
    rig.send(signal.SIGKILL)
    ring, rows, status = ended(loop, 3)
    at = ended_safely(ring, rows, status, fault)
    lost_by_the_clock(rows, at, status, STALE)
    assert abs(channel(ring, rows, "measured.force")).max() < 10.0  # the half-written one says 1e6
    rig.wait()
    bench.rig("shm")
