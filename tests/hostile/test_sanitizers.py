"""The executive, its links and its ring under AddressSanitizer and UndefinedBehaviorSanitizer."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest

from bondloop.engine.codegen import compiler
from bondloop.engine.codegen.toolchain import build_program
from bondloop.errors import CompileError, InputError

if sys.platform != "linux" or compiler() is None:
    pytest.skip("the loop on a clock needs Linux and a C compiler", allow_module_level=True)

from two_halves import LoopOptions, make_computer, make_interlocked, make_rig, until

from bondloop.realtime import LoopProcess, RigOptions, RigProcess
from bondloop.realtime.programs.build import Programs, loop_sources, rig_sources

SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1")
TABLE = np.sin(0.02 * np.arange(2001))[:, None]

pytestmark = [pytest.mark.nightly, pytest.mark.realtime, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def _leaks_do_not_count(monkeypatch):
    """What is allocated before the first tick is kept until the process ends."""
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")


@pytest.fixture(scope="module", params=["plain", "interlocked"])
def sanitized(request):
    computer = make_computer() if request.param == "plain" else make_interlocked()
    try:
        loop = build_program(loop_sources(computer, rig=make_rig()), "san-loop", compiler(), extra=SANITIZED)
        rig = build_program(rig_sources(make_rig()), "san-rig", compiler(), extra=SANITIZED)
    except CompileError:
        pytest.skip("this compiler has no sanitizers")
    return Programs(loop, rig)


def test_the_sanitizers_see(tmp_path):
    """That a fault would be told: a read beyond an array ends the program."""
    files = {"main.c": "int main(int n, char **v) { int a[4] = {0}; (void)v; return a[n + 3]; }\n"}
    try:
        program = build_program(files, "fault", compiler(), extra=SANITIZED)
    except CompileError:
        pytest.skip("this compiler has no sanitizers")
    done = subprocess.run([program], check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode != 0
    assert "runtime error" in done.stderr or "AddressSanitizer" in done.stderr


def clean(process):
    said = process.messages
    assert "Sanitizer" not in said, said
    assert "runtime error" not in said, said


@pytest.mark.parametrize("scheme", ["loopback", "shm", "udp"])
@pytest.mark.parametrize("lock_step", [True, False], ids=["lock-step", "clock"])
def test_a_whole_run(sanitized, scheme, lock_step):
    more = {"lock_step": True} if lock_step else {"stale": 10**6, "supervisor": 0}
    options = {"steps": 300, "retreat": 0.02, "timeout": 30.0, **more}
    if scheme == "loopback":
        with LoopProcess(sanitized.loop, LoopOptions(link="loopback://", **options), TABLE) as loop:
            assert loop.wait(100) == 0, loop.messages
            clean(loop)
        return
    own = f"shm://{os.getpid()}" if scheme == "shm" else "udp://127.0.0.1:0"
    with RigProcess(sanitized.rig, RigOptions(link=own, timeout=30.0)) as rig:
        with LoopProcess(sanitized.loop, LoopOptions(link=rig.link, **options), TABLE) as loop:
            assert loop.wait(100) == 0, loop.messages
            assert len(loop.ring.read()) > 300
            clean(loop)
        clean(rig)


def test_stops_trips_and_commands(sanitized):
    rng = random.Random(1)
    own = f"shm://{os.getpid()}"
    with RigProcess(sanitized.rig, RigOptions(link=own, timeout=30.0)) as rig:
        for ending in ("stop", signal.SIGINT, signal.SIGTERM, "stop"):
            options = LoopOptions(link=rig.link, retreat=0.02, stale=10**6, supervisor=0, timeout=30.0)
            with LoopProcess(sanitized.loop, options, TABLE) as loop:
                until(lambda loop=loop: loop.ring.written > 20)
                with contextlib.suppress(InputError):  # a loop that has ended takes none
                    for _ in range(200):  # commands that exist, and others
                        kind, index = rng.choice([1, 3, 4, 5, 77]), rng.choice([0, 1, 2**31])
                        loop.mailbox._send(kind, index, rng.choice([0.0, 1e308, float("inf"), -3.0]))
                if ending == "stop":
                    loop.mailbox.stop()
                else:
                    loop.send(ending)
                loop.wait(60)
                clean(loop)
        clean(rig)


def test_packets_of_noise(sanitized):
    rng = random.Random(2)
    with RigProcess(sanitized.rig, RigOptions(link="udp://127.0.0.1:0", timeout=30.0)) as rig:
        host, port = rig.link.removeprefix("udp://").rsplit(":", 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as noise:
            for _ in range(5000):
                noise.sendto(rng.randbytes(rng.choice([0, 1, 7, 16, 40, 64, 100, 1400])), (host, int(port)))
        options = LoopOptions(link=rig.link, steps=100, lock_step=True, retreat=0.02, timeout=30.0)
        with LoopProcess(sanitized.loop, options, TABLE) as loop:
            assert loop.wait(100) == 0, loop.messages
            clean(loop)
        clean(rig)
