"""Another process of the same user makes the shared memory of a loop or a rig shorter: no SIGBUS ends either.

The loops of the first test are started bare: a program in Python that has the segment mapped, as a supervisor
has, would itself be ended by the kernel.
"""

import os
import signal
import subprocess

import numpy as np
import pytest
from fault_rules import PERIOD, RETREAT, STATED, ended, ended_safely
from test_udp import commands_of, echo_rig
from two_halves import until

from bondloop.realtime import LoopOptions
from bondloop.realtime.protocol import HEADER
from bondloop.realtime.segment import fresh_name
from bondloop.realtime.stop_requests import FOLDER, PREFIX

WRITTEN = HEADER.fields["written"][1]
SIZES = [0, 4096, 30_000]
"""Nothing is left; a piece of the header; all of the header, and a few samples."""


def started(program, link, table, tmp_path, **more):
    """Start a loop without a supervisor; return it and the name of its telemetry segment."""
    name, path = fresh_name(), tmp_path / "table"
    table.tofile(path)
    words = {
        "retreat": RETREAT * PERIOD,
        "timeout": 20.0,
        "stale": 10**6,
        "gap": 60.0,
        "machine": True,
        **more,
    }
    options = LoopOptions(link=link, **words).arguments()
    command = [program, "--telemetry", name, "--table", path, "--alone", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    loop = subprocess.Popen(list(map(str, command)), **pipes)
    assert loop.stdout.readline().split() == ["ready", name]
    return loop, FOLDER / name


def written(path):
    with path.open("rb") as file:
        return int.from_bytes(os.pread(file.fileno(), 8, WRITTEN), "little")


@pytest.mark.parametrize("size", SIZES)
def test_telemetry_made_shorter(programs, table, tmp_path, size):
    """The way to safety as the rig sees it: every command, to the last."""
    fault = "telemetry segment made shorter"
    with echo_rig() as rig:
        loop, path = started(programs.loop, rig.link, table, tmp_path)
        with loop:
            try:
                until(lambda: written(path) > 100)
                os.truncate(path, size)
                _, said = loop.communicate(timeout=60)
            finally:
                loop.kill()
                path.unlink(missing_ok=True)
        assert loop.returncode == 3, said
        assert "has made the telemetry segment" in said
        assert f"tripped with cause {STATED[fault].cause:d} " in said
    command = np.array([p["values"][0] for p in commands_of(rig.seen)])
    assert command[-1] == 0.0
    at = len(command) - np.argmax(command[::-1] != 0.0)  # the first of the safe ones
    assert 0 < len(command) - at <= 3
    path = command[at - RETREAT : at + 1]
    assert np.abs(np.diff(path)).max() <= 1.01 * abs(path[0]) * np.pi / (2 * RETREAT)


def test_a_table_made_shorter(programs, table, tmp_path):
    """It was read whole before the loop was ready."""
    loop, path = started(programs.loop, "loopback://", table, tmp_path, steps=100)
    with loop:
        try:
            os.truncate(tmp_path / "table", 0)
            _, said = loop.communicate(timeout=60)
        finally:
            loop.kill()
            path.unlink(missing_ok=True)
    assert loop.returncode == 0, said


@pytest.mark.parametrize("size", SIZES[:2])
def test_link_made_shorter(bench, size):
    """The loop finds nobody at the other end; the rig, nobody who commands it."""
    rig = bench.rig("shm", timeout=0.5)
    loop = bench.loop(rig.link)
    until(lambda: loop.ring.written > 50)
    os.truncate(_memory(rig), size)
    ring, rows, status = ended(loop, 3)
    ended_safely(ring, rows, status, "shared memory of the link made shorter")
    assert rig.wait(60) == 0
    assert "has made the shared memory of" in rig.messages
    assert not _memory(rig).exists()
    bench.rig("shm")


def test_link_made_shorter_without_a_loop(bench):
    rig = bench.rig("shm")
    os.truncate(_memory(rig), 0)
    assert rig.wait(60) == 0
    assert not _memory(rig).exists()


def test_other_bus_errors_end_the_loop(programs, table, tmp_path):
    """What is not in the shelter is a fault of the program: it ends as ever, and the rig has a watchdog."""
    loop, path = started(programs.loop, "loopback://", table, tmp_path)
    with loop:
        loop.send_signal(signal.SIGBUS)
        until(lambda: loop.poll() is not None or loop.send_signal(signal.SIGBUS))
        path.unlink()
    assert loop.returncode == -signal.SIGBUS


def _memory(rig):
    return FOLDER / f"{PREFIX}link-{rig.link.removeprefix('shm://')}"
