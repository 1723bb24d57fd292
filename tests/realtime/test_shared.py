"""Segments of the dead are removed, those of the living stay."""

import fcntl
import os
import signal

import pytest
from two_halves import LoopOptions, until

from bondloop.errors import InputError
from bondloop.realtime import LoopProcess
from bondloop.realtime import segment as shared
from bondloop.realtime.segment import Segment, fresh_name, need_linux, sweep
from bondloop.realtime.stop_requests import FOLDER


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A segment that has been there for an hour; in a folder of its own, since other tests sweep, too."""
    monkeypatch.setattr(shared, "FOLDER", tmp_path)
    path = tmp_path / fresh_name()
    path.write_bytes(b"x")
    path.chmod(0o600)
    hour_ago = path.stat().st_mtime - 3600
    os.utime(path, (hour_ago, hour_ago))
    return path


def test_what_nobody_holds_is_swept(old):
    assert old.name in sweep()
    assert not old.exists()


def test_what_somebody_holds_stays(old):
    with old.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert old.name not in sweep()
    assert old.exists()
    assert old.name in sweep()


def test_what_is_just_being_made_stays(old):
    os.utime(old)
    assert old.name not in sweep()


def test_after_everything_is_killed(programs, table):
    """The loop is killed outright: its segment can still be read, and is removed in the end."""
    with LoopProcess(programs.loop, LoopOptions(), table) as loop:
        until(lambda: loop.ring.written > 10)
        loop.send(signal.SIGKILL)
        loop.wait()
        path = FOLDER / loop.name
        os.utime(path, (0, 0))
        assert loop.name not in sweep()  # its supervisor, this process, still holds it
        rows = loop.ring.read()
        assert rows["cycle"].tolist() == list(range(len(rows)))
        assert loop.ring.state == "active"
    assert not path.exists()


def test_other_systems_are_told(monkeypatch, tmp_path):
    monkeypatch.setattr(shared.sys, "platform", "darwin")
    with pytest.raises(InputError, match="needs Linux; this is darwin"):
        need_linux()
    monkeypatch.undo()
    monkeypatch.setattr(shared, "FOLDER", tmp_path / "none")
    with pytest.raises(InputError, match="is missing or cannot be written to"):
        need_linux()


def test_a_segment_that_somebody_keeps_for_himself(old):
    """A supervisor does not wait for ever for who has locked it."""
    with old.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process keeps the telemetry segment"):
            Segment(old.name, hold=True)
