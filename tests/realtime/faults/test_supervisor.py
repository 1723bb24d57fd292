"""The process that started the loop dies, freezes, or is interrupted at its terminal."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fault_rules import PERIOD, RETREAT, STALE, STATED, ended_safely, ticks
from two_halves import until

from bondloop.realtime import Console, Ring
from bondloop.realtime.stop_requests import FOLDER

PATIENCE = 1.0
"""Seconds without a heartbeat that the loop bears."""

SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from bondloop.realtime import LoopOptions, LoopProcess, RigOptions, RigProcess

loop_program, rig_program, link = sys.argv[1:4]
retreat, stale, phase, patience = map(float, sys.argv[4:])
with RigProcess(Path(rig_program), RigOptions(link=link, timeout=20.0)) as rig:
    options = LoopOptions(
        link=rig.link, retreat=retreat, stale=int(stale), phase=phase, supervisor=patience, timeout=20.0,
        gap=60.0,
    )
    with LoopProcess(Path(loop_program), options, np.sin(0.02 * np.arange(9999))[:, None]) as loop:
        print(loop.name, loop.pid, rig.pid, flush=True)
        try:
            loop.wait()
        except KeyboardInterrupt:
            alive = loop.running, rig.running
            loop.mailbox.stop()
            print(*alive, loop.wait(20), loop.status().cause, rig.running, flush=True)
"""


def start(programs, link, patience):
    numbers = (RETREAT * PERIOD, STALE, 0.25 * PERIOD, patience)
    words = [sys.executable, "-c", SCRIPT, programs.loop, programs.rig, link, *numbers]
    return subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True, start_new_session=True)


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize(
    ("fault", "number"),
    [("supervisor killed", signal.SIGKILL), ("supervisor frozen", signal.SIGSTOP)],
    ids=["killed", "frozen"],
)
@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_supervisor_lost(programs, shm, scheme, fault, number):
    """Loop and rig live on: the rig is led to rest, then both end, and leave nothing behind."""
    with start(programs, shm if scheme == "shm" else "udp://127.0.0.1:0", PATIENCE) as supervisor:
        name, *children = supervisor.stdout.readline().split()
        with Ring.attach(name) as ring:
            until(lambda: ring.written > 50)
            supervisor.send_signal(number)
            if number == signal.SIGKILL:
                supervisor.wait()
            until(lambda: ring.state == "finalized")
            rows, status = ring.read(), ring.status()
            at = ended_safely(ring, rows, status, fault)
            silence = (rows["time_ns"] - ring.segment.header["supervisor_ns"][0]) * 1e-9
            assert silence[at] > PATIENCE
            assert silence[at - ticks(STATED[fault].found)] <= PATIENCE
            assert status.cause_value == pytest.approx(silence[at], abs=1e-9)
        supervisor.kill()
        for pid in children:
            until(lambda pid=pid: is_gone(pid))
        assert not (FOLDER / name).exists()


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_operator_lost(bench, scheme):
    """The console beats a few times, and no more; the supervisor is there all the time."""
    loop = bench.loop(bench.rig(scheme).link, operator_loss=PATIENCE)
    with Console.attach(loop.name) as console:
        for _ in range(3):
            console.beat()
        loop.wait(100)
        rows, status = loop.ring.read(), loop.status()
        at = ended_safely(loop.ring, rows, status, "no operator")
        earlier = (rows["time_ns"][at] - rows["time_ns"][at - ticks(STATED["no operator"].found)]) * 1e-9
        assert status.cause_value > PATIENCE
        assert status.cause_value - earlier <= PATIENCE
        until_the_last_beat = (rows["time_ns"][at] - loop.segment.header["operator_ns"][0]) * 1e-9
        assert status.cause_value <= until_the_last_beat + 1e-9


def test_ctrl_c_is_for_the_supervisor_alone(programs, shm):
    """A terminal sends the signal to all of its foreground group; loop and rig are in none of it."""
    with start(programs, shm, 20.0) as supervisor:
        name, *children = supervisor.stdout.readline().split()
        with Ring.attach(name) as ring:
            until(lambda: ring.written > 20)
            assert {os.getpgid(int(pid)) for pid in children} == set(map(int, children))
            os.killpg(supervisor.pid, signal.SIGINT)
            # Both alive when it came; the loop was stopped (0), not tripped, and the rig saw it to its end.
            assert supervisor.stdout.readline().split() == ["True", "True", "0", "0", "True"]
        assert supervisor.wait(20) == 0
        assert all(is_gone(pid) for pid in children)
