"""Recorders that do not get ready: nobody waits for them for ever."""

import os
from pathlib import Path

import pytest
from two_halves import until

from bondloop.errors import BondloopError
from bondloop.realtime import recorder_supervisor as recorder_process
from bondloop.realtime.policy import RecorderPolicy
from bondloop.realtime.recorder_supervisor import Recorders

ABOUT = {"text": "x" * (1 << 20)}
"""More than a pipe takes: who does not read it holds the writer up."""


@pytest.fixture
def stalls(tmp_path, monkeypatch):
    """A program that is started instead of Python, notes its number, and neither reads nor says anything."""
    script, notes = tmp_path / "stalls", tmp_path / "numbers"
    script.write_text(f"#!/bin/sh\necho $$ >> {notes}\nexec sleep 600\n")
    script.chmod(0o700)
    monkeypatch.setattr(recorder_process.sys, "executable", str(script))
    return notes


def is_gone(number):
    return not Path(f"/proc/{number}").exists()


def test_the_first_one_is_killed_and_refused(stalls, tmp_path):
    with pytest.raises(BondloopError, match=r"the recorder was not ready within 0\.5 s"):
        Recorders("bondloop-none", tmp_path / "run.h5", ABOUT, None, RecorderPolicy(patience=0.5))
    assert all(is_gone(int(n)) for n in stalls.read_text().split())


def test_a_program_that_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder_process.sys, "executable", str(tmp_path / "none"))
    with pytest.raises(BondloopError, match="the recorder cannot be started: "):
        Recorders("bondloop-none", tmp_path / "run.h5", {}, None)


def test_a_successor_that_stalls_holds_nobody_up(stalls, tmp_path, monkeypatch):
    """The first one is as good as any process that says it is ready, and dies: `look_after` does not wait."""
    ready = tmp_path / "ready"
    ready.write_text("#!/bin/sh\necho ready run.h5\nexec sleep 600\n")
    ready.chmod(0o700)
    monkeypatch.setattr(recorder_process.sys, "executable", str(ready))
    recorders = Recorders("bondloop-none", tmp_path / "run.h5", {}, None)
    recorders._command = [str(stalls.with_name("stalls"))]
    first = recorders.pid
    os.kill(first, 9)
    until(lambda: recorders._process.poll() is not None)
    recorders.look_after()
    recorders.look_after()  # one is enough
    until(lambda: stalls.exists() and stalls.read_text().split())
    recorders.look_after()
    recorders.close()
    numbers = stalls.read_text().split()
    assert len(numbers) == 1
    assert is_gone(int(numbers[0]))
    assert recorders.troubles == ["recorder 1 died of signal 9"]
    assert recorders.paths == [Path("run.h5")]
