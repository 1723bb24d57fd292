"""A test with an interlock of its own: the executive asks it to trip, and takes its way to safety."""

import signal

import numpy as np
import pytest
from fault_rules import (
    BY_TICK,
    RETREAT,
    STALE,
    STATED,
    channel,
    ended,
    ended_safely,
    flagged,
    freeze,
    lost_by_the_clock,
    ticks,
)
from two_halves import until


@pytest.fixture
def bench(bench, interlocked):
    bench.programs = interlocked
    bench.table = None
    return bench


def the_tick_led(ring, rows, status, fault):
    """Cause, command and force switch are the interlock's, tick by tick."""
    at = ended_safely(ring, rows, status, fault, way=BY_TICK)
    assert set(channel(ring, rows, "interlock.cause")[:at]) == {0.0}
    assert set(channel(ring, rows, "interlock.cause")[at:]) == {float(STATED[fault].cause)}
    assert not flagged(rows[at : at + RETREAT], "executive").any()
    command = channel(ring, rows, "command")
    assert command[at - 1] != 0
    k = np.arange(RETREAT + 1)  # from the last command before, along a raised cosine (docs/safety.md)
    way = command[at - 1] * 0.5 * (1 + np.cos(np.pi * k / RETREAT))
    np.testing.assert_allclose(command[at : at + RETREAT + 1], way, rtol=1e-9, atol=1e-15)
    # The switch is closed, and opens in half the retreat: in steps of 1/10, no jump.
    gamma = channel(ring, rows, "switch.force")
    assert gamma[at - 1] == 1
    assert gamma[-1] == 0
    steps = np.diff(gamma[at - 1 :])
    assert (steps <= 0).all()
    assert steps.min() >= -1 / (0.5 * RETREAT) - 1e-12
    return at


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_rig_killed(bench, scheme):
    fault = "rig killed"
    rig = bench.rig(scheme)
    loop = bench.loop(rig.link)
    until(lambda: loop.ring.written > 100)
    rig.send(signal.SIGKILL)
    ring, rows, status = ended(loop, 3)
    at = the_tick_led(ring, rows, status, fault)
    lost_by_the_clock(rows, at, status, STALE)
    rig.wait()
    if scheme == "shm":
        bench.rig(scheme)


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_not_a_number(bench, scheme):
    fault = "not a number"
    loop = bench.loop(bench.rig(scheme, fault="nan@100").link)
    ring, rows, status = ended(loop, 3)
    at = the_tick_led(ring, rows, status, fault)
    assert at - np.flatnonzero(flagged(rows, "refused"))[0] == ticks(STATED[fault].found)
    assert np.isfinite(rows["channels"]).all()


def test_the_loop_stood_still(bench):
    """The interlock leads from its own last command, which is the one that was sent."""
    fault = "loop frozen"
    loop = bench.loop(bench.rig("shm").link, gap=1.0)
    until(lambda: loop.ring.written > 100)
    freeze(loop, 1.5)
    ring, rows, status = ended(loop, 3)
    at = the_tick_led(ring, rows, status, fault)
    assert rows["time_ns"][at] - rows["time_ns"][at - 1] > 1e9


def test_frozen(bench):
    loop = bench.loop(bench.rig("shm", fault="frozen@100").link, frozen=10)
    ring, rows, status = ended(loop, 3)
    the_tick_led(ring, rows, status, "frozen sensors")
