"""Trip, retreat and stop need no lock, no mailbox and no memory that another process could take away."""

import fcntl
import getpass
import os
import struct
import subprocess
import sys

import pytest
from click.testing import CliRunner
from two_halves import LoopOptions, until

from bondloop.cli.stop import stop
from bondloop.errors import InputError
from bondloop.realtime import Console, LoopProcess, stop_requests
from bondloop.realtime.stop_requests import (
    FOLDER,
    REQUESTS,
    counts,
    living_loops,
    opened,
    request,
    request_all,
)

ALONE = """
import sys
from bondloop.realtime import stop_requests
heavy = {"numpy", "scipy", "h5py", "starlette", "click", "bondloop.realtime.segment"} & set(sys.modules)
assert not heavy, heavy
print(stop_requests.request_all([sys.argv[1]], sys.argv[2], "somebody")[0].confirmed)
"""


@pytest.fixture
def loop(programs, table):
    with LoopProcess(
        programs.loop, LoopOptions(link="loopback://", retreat=0.02, hold=True), table
    ) as running:
        until(lambda: running.ring.state == "active")
        yield running


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_process_that_knows_nothing_else_brings_the_rig_to_rest(loop, kind):
    """Beside a mailbox that is locked and full of nonsense."""
    with opened(FOLDER / loop.name, writable=True) as other, Console.attach(loop.name) as console:
        console.mailbox.segment.header["mail_given"][0] = 2**40
        fcntl.lockf(other, fcntl.LOCK_EX)
        words = [sys.executable, "-c", ALONE, loop.name, kind]
        assert subprocess.run(words, check=True, capture_output=True, text=True).stdout == "True\n"
        ended = {"trip": "safe", "retreat": "safe", "stop": "finalized"}[kind]
        until(lambda: loop.ring.state == ended)
        assert loop.status().cause == (9 if kind == "trip" else 0)
        (event,) = [e for e in console.events() if e.kind == kind]
        assert (event.who, event.refused, event.mail) == ("somebody", "", 0)
        loop.stop()
        loop.wait(60)


def test_each_loop_answers_for_itself(loop):
    assert loop.name in living_loops()
    found = {r.loop: r for r in request_all([loop.name, "bondloop-none"], "retreat", patience=60)}
    assert found[loop.name].confirmed
    assert not found["bondloop-none"].confirmed
    loop.stop()
    loop.wait(60)
    assert loop.name not in living_loops()
    assert request_all([loop.name], "trip")[0].confirmed, "a loop that has ended moves nothing"


def test_a_frozen_loop_has_not_confirmed(loop):
    os.kill(loop.pid, 19)
    try:
        (answer,) = request_all([loop.name], "stop", patience=0.2)
        assert not answer.confirmed
    finally:
        os.kill(loop.pid, 18)
    loop.wait(60)


def test_a_segment_that_was_cut_ends_nobody(tmp_path):
    path = tmp_path / "segment"
    path.write_bytes(b"BLRING02")
    path.chmod(0o600)
    with opened(path, writable=True) as file:
        with pytest.raises(InputError, match="too short"):
            request(file.fileno(), "trip")
        assert counts(file.fileno(), "trip") == (0, 0)
    assert path.read_bytes() == b"BLRING02"


def test_what_is_refused_is_told(loop):
    """Nothing moves any more: a retreat makes no sense, a stop always does."""
    with Console.attach(loop.name) as console:
        loop.mailbox.trip()
        until(lambda: loop.ring.state == "safe")
        receipt = console.retreat("ada")
        assert not receipt.wait(60)
        assert "makes no sense" in receipt.refused
        assert console.stop("ada").wait(60)
        loop.wait(60)


@pytest.mark.parametrize("kind", REQUESTS)
def test_what_is_no_loop_is_not_written_to(tmp_path, kind):
    path = tmp_path / "run.h5"
    path.write_bytes(bytes(range(250)))
    path.chmod(0o600)
    (answer,) = request_all([str(path)], kind)
    assert (answer.confirmed, answer.missing) == (False, True)
    assert path.read_bytes() == bytes(range(250))


@pytest.mark.parametrize(("strangers", "code"), [(True, 1), (False, 0)])
def test_loops_of_others_are_not_passed_over(tmp_path, monkeypatch, strangers, code):
    monkeypatch.setattr(stop_requests, "FOLDER", tmp_path)
    for name in ("bondloop-1-loop", "bondloop-link-2"):
        (tmp_path / name).write_bytes(b"BLRING02")
    if strangers:
        own = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    said = CliRunner().invoke(stop, [])
    assert said.exit_code == code
    assert said.stdout == "no loop of yours runs on this machine\n"
    expected = "NOT STOPPED, for other users own them: bondloop-1-loop; press the emergency stop\n"
    assert said.stderr == (expected if strangers else "")


def test_a_user_without_a_name_may_stop(loop, monkeypatch):
    def unknown():
        raise KeyError(os.getuid())

    monkeypatch.setattr(getpass, "getuser", unknown)
    assert "confirmed after" in CliRunner().invoke(stop, [loop.name]).stdout
    loop.wait(60)
    with Console(loop.segment) as console:
        (event,) = [e for e in console.events() if e.kind == "stop"]
    assert event.who == f"user {os.getuid()} at a terminal"


def test_what_makes_no_sense_is_confirmed_and_refused(loop):
    (first,) = request_all([loop.name], "retreat", patience=60)
    assert (first.confirmed, first.refused) == (True, False)
    until(lambda: loop.ring.state == "safe")
    (again,) = request_all([loop.name], "retreat", patience=60)
    assert (again.confirmed, again.refused, again.state) == (True, True, "safe")
    loop.stop()
    loop.wait(60)


def test_a_loop_that_died_has_confirmed_nothing(loop):
    """Its supervisor still holds the memory; and then nobody does."""
    os.kill(loop.pid, 9)
    loop.wait(60)
    (answer,) = request_all([loop.name], "stop", patience=0.2)
    assert not answer.confirmed


def test_a_loop_in_another_container_is_found_by_its_lock(loop, monkeypatch):
    """Numbers of processes mean nothing there; another file of the memory is held by nobody."""
    monkeypatch.setattr(stop_requests, "process_lives", lambda _: False)
    assert loop.name in living_loops()
    os.kill(loop.pid, 19)
    try:
        (answer,) = request_all([loop.name], "stop", patience=0.2)
        assert (answer.confirmed, answer.state) == (False, "active")
    finally:
        os.kill(loop.pid, 18)
    loop.wait(60)


def test_a_memory_that_nobody_holds_is_of_a_dead_loop(monkeypatch, tmp_path):
    monkeypatch.setattr(stop_requests, "FOLDER", tmp_path)
    path = tmp_path / "bondloop-1-none"
    path.write_bytes((b"BLRING02" + bytes(4096)).replace(bytes(16), struct.pack("<Qq", 6, 2**30), 1))
    path.chmod(0o600)
    assert living_loops() == []
    (answer,) = request_all([path.name], "stop")
    assert (answer.confirmed, answer.missing, answer.state) == (False, False, "dead")
