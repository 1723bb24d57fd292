"""The emergency stop at the rig: a trip in the tick in which it is read, which withdraws the enable."""

import random
import re

import numpy as np
import pytest
from fault_rules import RETREAT, STATED, channel, ended, flagged, freeze, nothing_lost, ticks
from two_halves import until

from bondloop.errors import InputError
from bondloop.realtime.stop_requests import STATES
from bondloop.realtime.summary import measured_line, newest_measured
from bondloop.safety.causes import Cause, cause_words

FAULT = "emergency stop pressed"
DRAW = random.Random(14)
MOMENTS = [1, *(DRAW.randrange(2, 300) for _ in range(3))]
"""Numbers of the first measurement that says so."""


@pytest.fixture(params=["plain", "interlocked"])
def bench(request, bench):
    """Also with an interlock in the tick, which would lead any other retreat."""
    if request.param == "interlocked":
        bench.programs, bench.table = request.getfixturevalue("interlocked"), None
    return bench


def halted(ring, rows, status):
    """Return the row of the trip, from which on the rig is let go of: no tick, no motion, no enable."""
    nothing_lost(ring, rows)
    assert Cause(status.cause) is STATED[FAULT].cause
    at = status.cause_cycle
    assert np.flatnonzero(flagged(rows, "stopped"))[0] == at + ticks(STATED[FAULT].found)
    # Latency: the last row that enables the rig is the one before.
    enabled = flagged(rows, "enabled")
    assert enabled[:at].all()
    assert not enabled[at:].any()
    assert (rows["step"][at:] == -1).all()
    safe = int(np.argmax(rows["state"] == STATES.index("safe")))
    assert safe - at == RETREAT - 1, "so long the rig has to come to rest, on record"
    assert set(rows["state"][at:safe]) == {STATES.index("retreat")}
    return at


@pytest.mark.parametrize("number", MOMENTS)
@pytest.mark.parametrize("lock_step", [False, True], ids=["clock", "lock-step"])
def test_pressed_in_the_same_process(bench, number, lock_step):
    loop = bench.loop(f"loopback://stop@{number}", lock_step=lock_step)
    ring, rows, status = ended(loop, 3)
    at = halted(ring, rows, status)
    assert (at, status.cause_step) == (number, number), "measurement N is there at tick N"
    assert cause_words(status.cause) == "the emergency stop at the rig was pressed"


@pytest.mark.parametrize("number", MOMENTS)
@pytest.mark.parametrize("lock_step", [False, True], ids=["clock", "lock-step"])
@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_pressed_at_a_rig(bench, scheme, number, lock_step):
    number += 0 if lock_step else 200  # on its clock the rig does not wait until the loop is ready
    rig = bench.rig(scheme, fault=f"stop@{number}")
    loop = bench.loop(rig.link, lock_step=lock_step)
    ring, rows, status = ended(loop, 3)
    at = halted(ring, rows, status)
    if lock_step:
        assert (status.cause_step, latency(rig)) == (number, 1), "the next command that it gets"
    command = channel(ring, rows, "command")
    assert np.isfinite(command).all()
    if "measured.displacement" not in ring.names:
        assert set(command[at:]) == {command[at - 1]}, "nobody knows better where it is"


def latency(rig):
    """Ticks of the rig from its first measurement that says so to the withdrawn enable, as it tells."""
    for line in rig.process.stdout:
        if words := re.match(r"the enable was withdrawn (\d+) ticks after the emergency stop", line):
            return int(words[1])
    raise AssertionError("the rig has not told")


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_across_a_link_it_takes_two_ticks_of_the_rig(bench, scheme):
    """One to reach the loop, one to come back; a busy machine takes more, so the best of some counts."""
    counted = []
    while not counted or (min(counted) > 2 and len(counted) < 8):
        rig = bench.rig(scheme, fault=f"stop@{DRAW.randrange(200, 300)}")
        ended(bench.loop(rig.link), 3)
        counted.append(latency(rig))
        rig.close()
    assert 1 <= min(counted) <= 2, counted


def test_a_loop_that_stood_still_does_not_bring_the_power_back(bench):
    """Who watches the beat has cut it meanwhile: commands go to safety, the enable stays withdrawn."""
    loop = bench.loop(bench.rig("shm").link, gap=0.5)
    until(lambda: loop.ring.written > 50)
    freeze(loop, 1.0)
    ring, rows, status = ended(loop, 3)
    assert Cause(status.cause) is Cause.STOOD_STILL
    enabled = flagged(rows, "enabled")
    assert enabled[: status.cause_cycle].all()
    assert not enabled[status.cause_cycle :].any()
    assert channel(ring, rows, "command")[-1] == 0.0


@pytest.mark.parametrize("scheme", ["udp", "shm", "loopback"])
def test_nothing_starts_while_it_is_pressed(bench, scheme):
    link = "loopback://stop@0" if scheme == "loopback" else bench.rig(scheme, fault="stop@0").link
    with pytest.raises(InputError, match=r"the emergency stop at the rig is pressed \(.*\); release it"):
        bench.loop(link)


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_who_only_looks_sees_it(bench, scheme):
    loop = bench.loop(bench.rig(scheme, fault="stop@0").link, inactive=True, start=False)
    until(lambda: loop.ring.written > 5)
    assert measured_line(newest_measured(loop.ring)).endswith("emergency stop +1 pressed")
    loop.mailbox.start()
    until(lambda: loop.status().counts["mails_refused"] == 1)
    loop.stop()
    assert loop.wait(20) == 0
    rows = loop.ring.read()
    assert not flagged(rows, "enabled").any()
    assert flagged(rows, "stopped").all()
