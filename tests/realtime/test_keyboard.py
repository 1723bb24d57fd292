"""Keys at the terminal bring the rig to rest; a terminal is as it was afterwards."""

import os
import pty
import select
import termios
import threading
from pathlib import Path

import pytest
from two_halves import LoopOptions, until

from bondloop.cli.terminal import stop_keys
from bondloop.realtime import LoopProcess


@pytest.fixture
def loop(programs, table):
    with LoopProcess(
        programs.loop, LoopOptions(link="loopback://", retreat=0.02, hold=True), table
    ) as running:
        until(lambda: running.ring.state == "active")
        yield running


@pytest.fixture
def terminal(monkeypatch):
    """Both ends of a terminal that this process is in the foreground of."""
    ours, theirs = pty.openpty()
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())  # it is not the tests' own
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    ("keys", "state", "cause"),
    [(b" ", "safe", 9), (b"qT", "safe", 9), (b"r", "safe", 0), (b"x\x1b[As", "finalized", 0)],
)
def test_a_key_is_enough(loop, terminal, keys, state, cause):
    ours, theirs = terminal
    before = termios.tcgetattr(theirs)
    with stop_keys(loop.name, theirs) as there:
        assert there
        os.write(ours, keys)
        until(lambda: loop.ring.state == state)
    assert loop.status().cause == cause
    assert termios.tcgetattr(theirs) == before
    loop.stop()
    loop.wait(60)


def test_other_keys_do_nothing(loop, terminal):
    ours, theirs = terminal
    with stop_keys(loop.name, theirs):
        os.write(ours, b"abcdefghijklmnopquvwxyz\n1234567890")
        already = loop.ring.written
        until(lambda: loop.ring.written > already + 50)
        assert loop.ring.state == "active"
    loop.stop()
    loop.wait(60)


def test_in_the_background_keys_are_the_shells(loop, terminal, monkeypatch):
    ours, theirs = terminal
    with stop_keys(loop.name, theirs):
        monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp() + 1)
        os.write(ours, b" trs")
        already = loop.ring.written
        until(lambda: loop.ring.written > already + 500)
        assert loop.ring.state == "active"
        assert select.select([theirs], [], [], 0)[0], "they were not taken from the shell"
        os.set_blocking(theirs, False)
        os.read(theirs, 64)
        monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())
        os.write(ours, b"r")
        until(lambda: loop.ring.state == "safe")
        monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp() + 1)
        shell = termios.tcgetattr(theirs)
    assert termios.tcgetattr(theirs) == shell, "nor is the terminal set behind its back"
    loop.stop()
    loop.wait(60)


def test_a_terminal_that_is_closed_takes_nothing_with_it(loop, terminal, monkeypatch):
    ours, theirs = terminal
    failed = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    with stop_keys(loop.name, theirs):
        os.dup2(os.open(os.devnull, os.O_RDWR), ours)
        already = loop.ring.written
        until(lambda: loop.ring.written > already + 500)
        assert loop.ring.state == "active"
    assert not failed
    loop.stop()
    loop.wait(60)


def test_without_a_terminal_no_key_is_heard(loop):
    with Path(os.devnull).open() as nothing, stop_keys(loop.name, nothing.fileno()) as there:
        assert not there
    loop.stop()
    loop.wait(60)
