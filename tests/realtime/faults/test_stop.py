"""The operator's stop reaches the loop, whatever the rest of the supervising program is doing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fault_rules import STATED, flagged
from two_halves import until

from bondloop.realtime import Ring
from bondloop.realtime.stop_requests import FOLDER, STATES
from bondloop.results import Record

SCRIPT = """
import os, signal, sys, time
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import session

case, record = sys.argv[1:]

class Loop(session.LoopProcess):
    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        print(self.name, self.pid, flush=True)

class Recorders(session.Recorders):
    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        print(self.pid, flush=True)
        # Whoever comes after the first never gets ready.
        self._command = [sys.executable, "-c", "import time; time.sleep(600)  # stalls"]

def look(live):
    while case == "the live line hangs" and live.time > 0.05:
        time.sleep(1.0)

session.LoopProcess, session.Recorders = Loop, Recorders
test = gawthrop_two_actuators.test().replaced(gap=60.0)
made = session.prepare(test, 600.0, options={"stale": 10**6, "retreat": 0.02})
run = made.run(record=record, live=look)
print(run.record.attributes["message"], flush=True)
"""

HOLDER = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print(flush=True)
    sys.stdin.read()
"""


RETREAT = 20
"""Ticks of the way to the safe command, as the script asks for them."""


class Session:
    """A supervising program in a process of its own, its loop active."""

    def __init__(self, case, record):
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, case, str(record)],
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            name, pid = self.process.stdout.readline().split()
            self.loop, self.recorder = int(pid), int(self.process.stdout.readline())
            self.ring, self.segment = Ring.attach(name), FOLDER / name
            until(lambda: self.ring.status().counts["steps"] > 100)
        except BaseException:
            self.process.kill()
            raise

    def stalled(self):
        """The successor that never gets ready, among all processes of the machine; None if there is none."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"PPid:\t{self.process.pid}\n" in (folder / "status").read_text() and (
                    b"# stalls" in (folder / "cmdline").read_bytes()
                ):
                    return int(folder.name)
            except OSError:
                continue
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ring.close()
        for pid in (self.stalled(), self.loop if self.process.poll() is None else None):
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.communicate()
        self.segment.unlink(missing_ok=True)


def stopped(session, fault, since):
    """The loop is finalized, stopped (not tripped), on its way since the tick after the signal at most."""
    assert STATED[fault].cause is None
    ring = session.ring
    until(lambda: ring.state == "finalized", 20)
    rows, status = ring.read(), ring.status()
    assert status.cause == 0
    retreat = rows[rows["state"] == STATES.index("retreat")]
    assert len(retreat) <= RETREAT
    assert flagged(retreat, "executive").all()
    assert rows["state"][-1] == STATES.index("safe")
    for name in ("command[0]", "command[1]"):
        assert rows["channels"][-1, ring.names.index(name)] == 0.0
    assert retreat["time_ns"][0] > since


@pytest.mark.parametrize(
    "fault", ["Ctrl-C, the next recorder stalls", "Ctrl-C, the lock is held", "Ctrl-C, the live line hangs"]
)
def test_ctrl_c_stops_the_loop(fault, tmp_path):
    case, path = fault.removeprefix("Ctrl-C, "), tmp_path / "run.h5"
    with Session(case, path) as session:
        holder = None
        if case == "the lock is held":
            words = [sys.executable, "-c", HOLDER, str(session.segment)]
            holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            holder.stdout.readline()
        elif case == "the next recorder stalls":
            os.kill(session.recorder, signal.SIGKILL)
            until(lambda: session.stalled() is not None)
        since = int(session.ring.segment.header["heartbeat_ns"][0])
        try:
            os.kill(session.process.pid, signal.SIGINT)
            stopped(session, fault, since)
        finally:
            if holder is not None:
                holder.communicate()
        if case == "the live line hangs":
            return  # for good: that is the program's own business, and the loop does not mind
        if case == "the next recorder stalls":
            os.kill(session.stalled(), signal.SIGKILL)
        said = session.process.stdout.read()
        assert "the operator stopped it after" in said
        assert session.process.wait(60) == 0
        assert Record.load(path).attributes["status"] == (
            "stopped" if case == "the lock is held" else "recording"  # as far as the first one came
        )
        assert not session.segment.exists()
