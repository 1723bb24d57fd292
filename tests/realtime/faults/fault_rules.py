"""What is stated of each fault, and the check that a run ended as stated.

``STATED`` is the table of docs/realtime-faults.md, and what the tests assert. All durations are ticks of the
loop, counted in the rows of the telemetry ring: ``stale`` and ``frozen`` are options of the loop, n is the
length of the retreat.
"""

import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from two_halves import until

from bondloop.realtime import Ring
from bondloop.realtime.protocol import FLAGS
from bondloop.realtime.stop_requests import STATES
from bondloop.safety.causes import Cause

PERIOD = 2e-3
RETREAT = 20
"""Ticks of the way to the safe command: n."""
STALE = 400
"""A rig that a busy machine holds up for 0.8 s is not missed."""

RAMP = "n"
"""From the cause until the safe command has been given, on the executive's own way."""
BY_TICK = "n + 2"
"""The same where the tick's interlock leads, which is asked for two ticks more."""


@dataclass(frozen=True)
class Stated:
    """What happens: `cause` None where the loop runs on; found at most `found` ticks after `since`."""

    cause: Cause | None
    found: str = ""
    since: str = ""


STATED = {
    "rig killed": Stated(Cause.LINK_LOST, "1", "an age of `stale` ticks"),
    "rig killed while it writes a message": Stated(Cause.LINK_LOST, "1", "an age of `stale` ticks"),
    "1 % of the packets dropped, each way": Stated(None),
    "50 % of the packets dropped, each way": Stated(None),
    "50 % of the packets dropped, stale = 2": Stated(Cause.LINK_LOST, "1", "an age of `stale` ticks"),
    "all packets dropped": Stated(Cause.LINK_LOST, "1", "an age of `stale` ticks"),
    "packets duplicated": Stated(None),
    "packets reordered": Stated(None),
    "packets corrupted": Stated(None),
    "all packets corrupted": Stated(Cause.LINK_LOST, "1", "an age of `stale` ticks"),
    "packets late by 8 ticks": Stated(None),
    "packets later and later": Stated(Cause.LINK_LOST, "1", "an age of `stale` ticks"),
    "not a number": Stated(Cause.NOT_A_NUMBER, "0", "its arrival"),
    "infinity": Stated(Cause.NOT_A_NUMBER, "0", "its arrival"),
    "not a number from the beginning": Stated(Cause.NOT_A_NUMBER, "0", "its arrival"),
    "frozen sensors": Stated(Cause.STALE, "frozen", "the first of those that are alike"),
    "a tick overruns, policy count": Stated(None),
    "a tick overruns, policy hold": Stated(None),
    "a tick overruns, policy trip": Stated(Cause.OVERRUN, "0", "the `overrun_limit`-th late tick in a row"),
    "a cycle overruns, inactive, policy trip": Stated(None),
    "supervisor killed": Stated(Cause.SUPERVISOR_LOST, "1", "`supervisor` seconds without a heartbeat"),
    "supervisor frozen": Stated(Cause.SUPERVISOR_LOST, "1", "`supervisor` seconds without a heartbeat"),
    "no operator": Stated(Cause.OPERATOR_LOST, "1", "`operator_loss` seconds without a heartbeat"),
    "telemetry segment made shorter": Stated(Cause.SUPERVISOR_LOST, "1", "its memory was gone"),
    "shared memory of the link made shorter": Stated(Cause.LINK_LOST, "1", "its memory was gone"),
    "Ctrl-C, the next recorder stalls": Stated(None),
    "Ctrl-C, the lock is held": Stated(None),
    "Ctrl-C, the live line hangs": Stated(None),
    "loop frozen": Stated(Cause.STOOD_STILL, "0", "it woke"),
    "loop frozen until the rig goes to rest": Stated(Cause.STOOD_STILL, "0", "it woke"),
    "loop frozen within a tick": Stated(Cause.STOOD_STILL, "0", "it woke"),
    "loop frozen on its way to rest": Stated(Cause.STOOD_STILL, "0", "it woke"),
    "packets piled up": Stated(Cause.STOOD_STILL, "0", "it woke"),
    "rig frozen, the loop held up": Stated(Cause.LINK_LOST, "1", "an age of `stale` ticks"),
    "inactive loop frozen": Stated(None),
    "recorder killed": Stated(None),
    "disk full": Stated(None),
    "a second loop on the same link": Stated(None),
    "force beyond its limit": Stated(Cause.FORCE, "0", "its arrival"),
    "command faster than its limit": Stated(Cause.COMMAND_RATE, "0", "it was computed"),
    "rig elsewhere than the test begins": Stated(Cause.START_POSITION, "0", "the start"),
    "loop frozen until its successor has the rig": Stated(Cause.LINK_LOST, "0", "it woke"),
    "rig says goodbye": Stated(Cause.LINK_LOST, "0", "its arrival"),
    "answers to commands that were never sent": Stated(Cause.LINK_LOST, "1", "an age of `stale` ticks"),
    "approach faster than its limit": Stated(Cause.COMMAND_RATE, "0", "it was computed"),
    "loop frozen for good": Stated(None),
    "disk full from the start": Stated(None),
    "emergency stop pressed": Stated(Cause.EMERGENCY_STOP, "0", "its arrival"),
    "the rig's controller reports a fault": Stated(Cause.CONTROLLER_FAULT, "0", "its arrival"),
    "command beyond the limits of its channel": Stated(Cause.CONTROLLER_FAULT, "0", "it was computed"),
    "near a limit": Stated(None),
    "packets without the key": Stated(None),
    "packets from another address": Stated(None),
    "commands that are not finite": Stated(None),
    "an earlier session played again": Stated(None),
    "foreign files under our names": Stated(None),
    "loop killed": Stated(None),
    "loop killed while it writes a message": Stated(None),
}


def ticks(text, **values):
    """The number that a stated expression stands for."""
    return eval(text, {"n": RETREAT, **values})


def channel(ring, rows, name):
    return rows["channels"][:, ring.names.index(name)]


def flagged(rows, name):
    return rows["flags"] & FLAGS[name] > 0


def nothing_lost(ring, rows):
    """Every cycle from the first on is there, and every tick."""
    assert ring.lost == 0
    assert rows["cycle"].tolist() == list(range(len(rows)))
    steps = rows["step"][rows["step"] >= 0]
    assert steps.tolist() == list(range(len(steps)))


def halt(loop):
    """SIGSTOP while the loop waits for its next tick: within one, what it finds depends on where it was.

    A loop that was stopped too late for that goes on for a tick, and is stopped again.
    """

    def waits():
        loop.send(signal.SIGSTOP)
        until(lambda: Path(f"/proc/{loop.pid}/stat").read_text().rpartition(")")[2].split()[0] in "TZ")
        ring = Ring(loop.ring.segment)  # of its own, whose rows are not those of the test
        ring.cursor = ring.written - 1
        last = ring.read()[-1]
        planned = int(last["time_ns"]) - int(last["wake_ns"]) + round(1e9 * PERIOD)
        if time.monotonic_ns() < planned or not loop.running:
            return True
        written = loop.ring.written
        loop.send(signal.SIGCONT)
        until(lambda: loop.ring.written > written or not loop.running)
        return False

    until(waits)


def freeze(loop, seconds):
    """Halt a loop, and let it go on when the clock has gone on by so much since its last tick."""
    halt(loop)
    last = int(loop.ring.segment.header["heartbeat_ns"][0])
    until(lambda: time.monotonic_ns() - last > 1e9 * seconds)
    loop.send(signal.SIGCONT)


def ended_safely(ring, rows, status, fault, way=RAMP, late=0):
    """The cause is recorded, and so many ticks after it at most the rig has the safe command.

    `late` is 1 where the cause is found after the tick was executed. Return the number of the cause's row.
    """
    nothing_lost(ring, rows)
    cause = STATED[fault].cause
    assert (Cause(status.cause), status.state) == (cause, "finalized")
    at = status.cause_cycle
    assert set(rows["cause"][:at]) <= {0}
    assert set(rows["cause"][at:]) == {cause}
    assert set(rows["state"][:at]) <= {STATES.index("inactive"), STATES.index("active")}
    safe_at = int(np.argmax(rows["state"] == STATES.index("safe")))
    assert 0 <= safe_at - at <= ticks(way)
    assert set(rows["state"][at:safe_at]) <= {STATES.index("retreat")}
    assert set(rows["state"][safe_at:]) == {STATES.index("safe")}
    command = channel(ring, rows, "command")
    assert np.isfinite(command).all()
    assert set(command[safe_at:]) == {0.0}
    # A raised cosine over n ticks moves by at most pi/(2 n) of its way in one of them.
    path = command[max(at - 1 + late, 0) : safe_at + 1]
    most = abs(path[0]) * np.pi / (2 * RETREAT)
    assert np.abs(np.diff(path)).max(initial=0.0) <= 1.01 * most + 1e-15
    return at


def ran_on(ring, rows, status, steps):
    """All ticks were executed, and nothing tripped."""
    nothing_lost(ring, rows)
    assert (status.cause, status.state) == (0, "finalized")
    assert rows["step"].max() == steps - 1


def ages(rows):
    """Ages of the measurements in ticks, from the instants in the rows of a loop that began active.

    By the clock, to the nearest tick: how long there was no news, or how long the oldest command that no
    measurement answers has been waiting, whichever is more. Each row sends a command, after it has read.
    """
    time, row = rows["time_ns"], np.arange(len(rows))
    fresh = np.maximum.accumulate(np.where(flagged(rows, "fresh"), row, 0))
    waiting = np.clip(row - rows["age"], 0, row)
    return np.rint((time - time[np.minimum(fresh, waiting)]) / (1e9 * PERIOD)).astype(int)


def lost_by_the_clock(rows, at, status, stale):
    """A trip in the first cycle in which the measurement was older than `stale` ticks, and not before."""
    age = ages(rows)
    assert age[at] == status.cause_detail > stale >= age[:at].max()


def ended(loop, code):
    """Wait for the end of a loop; return its ring, rows and status."""
    assert loop.wait(60) == code, loop.messages
    return loop.ring, loop.ring.read(), loop.status()
