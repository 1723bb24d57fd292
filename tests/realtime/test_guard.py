"""Measured values that cannot be believed never reach the tick."""

import numpy as np
import pytest
from two_halves import LoopOptions, make_computer, make_rig

from bondloop.realtime import LoopProcess, RigOptions, RigProcess
from bondloop.realtime.build import build_loop
from bondloop.safety.causes import Cause

AT = 40


def run(program, table, link, **more):
    options = LoopOptions(link=link, lock_step=True, steps=500, retreat=0.02, timeout=20.0, **more)
    with LoopProcess(program, options, table) as loop:
        assert loop.wait(60) == 3
        return loop.ring.read(), loop.ring.names, loop.status()


@pytest.mark.parametrize(
    ("fault", "cause", "delay"),
    [("nan", Cause.NOT_A_NUMBER, 0), ("inf", Cause.NOT_A_NUMBER, 0), ("frozen", Cause.STALE, 4)],
)
def test_faulty_sensors(programs, table, shm, fault, cause, delay):
    """The value of measurement 40 (from 0) is bad; a frozen one is found when it has come five times more."""
    with RigProcess(programs.rig, RigOptions(link=shm, fault=f"{fault}@{AT}", timeout=20.0)) as rig:
        rows, names, status = run(programs.loop, table, rig.link, frozen=5)
    assert (status.cause, status.cause_step) == (cause, AT + delay)
    force, command = (rows["channels"][:, names.index(n)] for n in ("measured.force", "command"))
    assert np.isfinite(force).all()
    assert np.isfinite(command).all()
    assert (command[-1], rows["state"][-1]) == (0, 4)
    assert rows["state"][status.cause_cycle - 1] == 2
    assert len(rows) <= status.cause_cycle + 20 + 3
    if fault != "frozen":
        assert not np.isfinite(status.cause_value)
        assert status.counts["refused"] > 0
        assert (rows["flags"][AT:] & 16).any()


def test_values_beyond_belief(table):
    """A force above 1 N is not believed: the specimen shows 30 N/m times up to 0.05 m."""
    program = build_loop(make_computer("bounded"), rig=make_rig(), bounds={"measured.force": 1.0})
    rows, names, status = run(program, table, "loopback://")
    force = rows["channels"][:, names.index("measured.force")]
    assert status.cause == Cause.RIG_FAULT
    assert status.cause_value > 1.0
    assert np.abs(force).max() <= 1.0


def test_another_safe_command(table):
    program = build_loop(make_computer("elsewhere"), rig=make_rig(), safe={"command": 0.0125})
    with LoopProcess(program, LoopOptions(lock_step=True, steps=50, retreat=0.02), table) as loop:
        assert loop.wait(20) == 0
        command = loop.ring.read()["channels"][:, loop.ring.names.index("command")]
    assert command[-1] == 0.0125


def test_what_is_not_granted_is_said(programs, table):
    """No machine has a processor 1023: the loop says so and runs on another."""
    with LoopProcess(programs.loop, LoopOptions(cpu=1023, steps=5, retreat=1e-3), table) as loop:
        assert loop.wait(20) == 0
        assert "not pinned to processor 1023" in loop.said
        assert loop.status().counts["pinned"] == 0
    with LoopProcess(programs.loop, LoopOptions(cpu=0, steps=5, retreat=1e-3), table) as loop:
        assert loop.wait(20) == 0
        assert loop.status().counts["pinned"] == 1
