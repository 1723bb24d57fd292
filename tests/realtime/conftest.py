"""Programs of a small test, and the check that nothing is left behind."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from bondloop.engine.codegen import compiler
from bondloop.realtime.programs.build import build_pair
from bondloop.realtime.stop_requests import FOLDER, PREFIX

sys.path.insert(0, str(Path(__file__).parent))  # for two_halves.py

collect_ignore_glob = [] if sys.platform == "linux" and compiler() is not None else ["*"]


@pytest.fixture(scope="session")
def programs():
    from two_halves import make_computer, make_rig

    return build_pair(make_computer(), make_rig())


@pytest.fixture
def table():
    """A load in N, for twenty seconds."""
    return np.sin(0.02 * np.arange(20_001))[:, None]


@pytest.fixture
def shm():
    """A link that no other process uses."""
    return f"shm://{os.getpid()}"


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """Segments carry the number of the process that made them: tests that run beside these have others."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)  # a recorder's own, which children would inherit
    marks = (f"{PREFIX}{os.getpid()}-", f"{PREFIX}link-{os.getpid()}")
    assert [p.name for p in FOLDER.glob(f"{PREFIX}*") if p.name.startswith(marks)] == []
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    if children.exists():
        assert [c for c in children.read_text().split() if _is_program(c)] == []


def _is_program(pid):
    try:
        name = Path(f"/proc/{pid}/exe").resolve().name
    except OSError:
        return False
    return "-loop-" in name or "-rig-" in name
