"""The recorder is killed, the disk is full: the loop does not notice."""

import contextlib
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest
from fault_rules import STATED, channel, ended, nothing_lost
from two_halves import until

from bondloop.errors import InputError
from bondloop.realtime.recorder import Exit
from bondloop.realtime.recorder_supervisor import merged_files
from bondloop.results import Record, read_cycles


@contextlib.contextmanager
def recorder(loop, path):
    words = [sys.executable, "-m", "bondloop.realtime.recorder", loop.name, str(path)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline().startswith("ready ")
        yield child
    finally:
        child.kill()
        child.communicate()


def recorded(path):
    with contextlib.suppress(InputError):
        return len(Record.load(path))
    return 0


def goes_on(loop):
    """The loop is active, and takes another 50 ticks."""
    already = loop.ring.written
    until(lambda: loop.ring.written > already + 50)
    assert loop.ring.state == "active"


def stopped(loop):
    loop.mailbox.stop()
    ring, rows, status = ended(loop, 0)
    nothing_lost(ring, rows)
    assert status.cause == 0
    return ring, rows[rows["step"] >= 0]


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_recorder_killed(bench, scheme, tmp_path):
    """The next one begins with what the ring still has: together they have every tick."""
    assert STATED["recorder killed"].cause is None
    loop, path = bench.loop(bench.rig(scheme).link), tmp_path / "run.h5"
    with recorder(loop, path) as first:
        until(lambda: recorded(path) > 50)
        first.send_signal(signal.SIGKILL)
        first.wait()
    goes_on(loop)
    with recorder(loop, path) as second:
        goes_on(loop)
        ring, rows = stopped(loop)
        assert second.wait(60) == 0, second.stderr.read()
    assert Record.load(path).attributes["status"] == "recording"
    assert Record.load(tmp_path / "run-2.h5").attributes["cause_words"] == "the operator stopped it"
    merged, cycles = merged_files([path, tmp_path / "run-2.h5"])
    np.testing.assert_array_equal(cycles["step"], rows["step"])
    np.testing.assert_array_equal(cycles["time_ns"], rows["time_ns"])
    np.testing.assert_array_equal(merged["command"], channel(ring, rows, "command"))
    np.testing.assert_array_equal(merged["measured.force"], channel(ring, rows, "measured.force"))


def test_disk_full(bench, tmp_path):
    """From some moment on the file cannot grow, as on a full disk: what it held then can be read."""
    assert STATED["disk full"].cause is None
    loop, path = bench.loop(bench.rig("shm").link), tmp_path / "run.h5"
    with recorder(loop, path) as child:
        until(lambda: recorded(path) > 50)
        before = recorded(path)
        size = path.stat().st_size + 1000
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (size, size))
        assert child.wait(60) == Exit.DISK
        assert "file too large; the loop runs on" in child.stderr.read()
    goes_on(loop)
    ring, rows = stopped(loop)
    found, count = Record.load(path), recorded(path)
    assert before <= count < len(rows)
    np.testing.assert_array_equal(read_cycles(path)["step"], rows["step"][:count])
    np.testing.assert_array_equal(found["command"], channel(ring, rows, "command")[:count])
