"""A compiler, and all that it has started, ends with the Python that started it, whatever ends that."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from compilers_here import COMPILERS

LIMIT = 300.0
"""Seconds after which what should have happened has not."""
PROC = Path("/proc")

pytestmark = pytest.mark.skipif(not PROC.is_dir(), reason="looks for processes in /proc")


def stat(pid):
    """Return a process's parent and start; None once it is gone, buried or not."""
    try:
        words = (PROC / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if words[0] in "ZX" else (int(words[1]), int(words[19]))


def family(pid):
    """Return all that a process has started, and what these have started, each with when."""
    found, parents = {}, {}
    for folder in PROC.glob("[0-9]*"):
        about = stat(folder.name)
        if about:
            parents.setdefault(about[0], []).append((int(folder.name), about[1]))
    waiting = [pid]
    while waiting:
        for child, start in parents.get(waiting.pop(), []):
            found[child] = start
            waiting.append(child)
    return found


def words_of(pid):
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def until(condition):
    end = time.monotonic() + LIMIT
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


@pytest.mark.parametrize("name", [n for n in ("gcc", "clang") if n in COMPILERS])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_compiler_outlives_python(tmp_path, name, how):
    """The compiler waits for an included file that never comes: a pipe that nobody writes to."""
    os.mkfifo(tmp_path / "never.h")
    source = f'#include "{tmp_path}/never.h"\n'
    code = f"from bondloop.engine.codegen.toolchain import *; build({source!r}, 'demo', compiler())"
    environment = {**os.environ, "CC": COMPILERS[name].command[0], "BONDLOOP_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stderr=subprocess.DEVNULL, start_new_session=True
    ) as python:
        started = {}
        try:

            def compiling():
                started.update(family(python.pid))
                return [p for p in started if "-cc1" in words_of(p) or "cc1\0" in words_of(p)]

            assert until(compiling)
            assert len(started) >= 3  # the compiler, what it has started, and the leader of their group
            python.send_signal(how)
            assert python.wait(LIMIT) != 0
            until(lambda: all((stat(p) or (0, 0))[1] != start for p, start in started.items()))
        finally:
            python.kill()
            for pid, start in started.items():
                if (stat(pid) or (0, 0))[1] == start:
                    os.kill(pid, signal.SIGKILL)
