"""The thread that serves the operator is the one that beats the heart."""

import os
import signal
import threading

import numpy as np
import pytest
from two_halves import until

from bondloop.realtime.supervision import Attendant, interrupts


class Loop:
    """Notes what it is told; `stop` takes as long as `free` is not set."""

    silence = 0.0

    def __init__(self):
        self.signals, self.free = [], threading.Event()
        self.free.set()

    def stop(self):
        self.signals.append("stop")
        self.free.wait()

    def send(self, number):
        self.signals.append(number)


@pytest.fixture
def header():
    return {"supervisor_ns": np.zeros(1, np.int64)}


def beaten(header):
    """Wait for another beat."""
    before = int(header["supervisor_ns"][0])
    until(lambda: int(header["supervisor_ns"][0]) > before)


@pytest.fixture
def attended(header):
    loop = Loop()
    attendant = Attendant(loop, header, 0.002)
    yield loop, attendant
    loop.free.set()
    attendant.close()


def test_the_first_ctrl_c_stops_the_next_trips(attended, header):
    loop, attendant = attended
    with interrupts(bell=attendant.bell) as asked:
        os.kill(os.getpid(), signal.SIGINT)
        until(lambda: loop.signals == ["stop"])
        os.kill(os.getpid(), signal.SIGTERM)
        until(lambda: loop.signals == ["stop", signal.SIGTERM])
        beaten(header)
    assert asked == [signal.SIGINT, signal.SIGTERM]
    assert signal.set_wakeup_fd(-1) == -1, "the bell is taken down"


def test_what_follows_the_first_is_for_who_waits_behind_it(attended):
    """Who serves a program beside the loop goes by the second, though the loop is still being watched."""
    loop, attendant = attended
    with interrupts() as outer:
        with interrupts(bell=attendant.bell, further=outer) as inner:
            for _ in range(3):
                os.kill(os.getpid(), signal.SIGINT)
            until(lambda: loop.signals == ["stop", signal.SIGTERM, signal.SIGTERM])
        assert (inner, outer) == ([signal.SIGINT], [signal.SIGINT, signal.SIGINT])
        os.kill(os.getpid(), signal.SIGTERM)
        until(lambda: len(outer) == 3)


def test_a_loop_that_does_not_answer_is_killed_by_the_second(attended):
    """Not by the first: it may be on its way already, and stop when it wakes."""
    loop, attendant = attended
    loop.silence = 3.0
    for number, told in ((signal.SIGINT, ["stop"]), (signal.SIGINT, ["stop", signal.SIGKILL])):
        os.write(attendant.bell, bytes([number]))
        until(lambda told=told: loop.signals == told)


def test_it_does_not_need_the_main_thread(attended):
    """A handler of the main thread's own would run only after this; the bell rings at once."""
    loop, attendant = attended
    came = []

    def handle(*_):
        until(lambda: loop.signals == ["stop"])
        came.append(1)

    with interrupts(then=handle, bell=attendant.bell):
        os.kill(os.getpid(), signal.SIGINT)
        until(lambda: came)


def test_other_signals_are_none_of_its_business(attended, header):
    loop, attendant = attended
    os.write(attendant.bell, bytes([signal.SIGCHLD, signal.SIGUSR2, signal.SIGWINCH]))
    beaten(header)
    beaten(header)
    assert loop.signals == []


def test_where_the_operator_is_not_served_the_heart_does_not_beat(attended, header):
    loop, attendant = attended
    loop.free.clear()
    os.write(attendant.bell, bytes([signal.SIGINT]))
    until(lambda: loop.signals == ["stop"])
    last = int(header["supervisor_ns"][0])
    assert not threading.Event().wait(0.1)  # fifty beats long
    assert int(header["supervisor_ns"][0]) == last
    loop.free.set()
    beaten(header)


def test_after_its_end_there_is_no_beat(header):
    attendant = Attendant(Loop(), header, 0.002)
    beaten(header)
    attendant.close()
    last = int(header["supervisor_ns"][0])
    assert not threading.Event().wait(0.02)
    assert int(header["supervisor_ns"][0]) == last
