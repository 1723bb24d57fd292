"""Whatever lies in the mailbox, and whoever holds its lock: the operator stops the loop."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from two_halves import LoopOptions, until

from bondloop.errors import InputError
from bondloop.realtime import LoopProcess, Mailbox
from bondloop.realtime.protocol import MAILS
from bondloop.realtime.stop_requests import FOLDER

HOLDER = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print(flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def loop(programs, table):
    with LoopProcess(programs.loop, LoopOptions(link="loopback://", retreat=0.02), table) as running:
        yield running


def is_obeyed(loop):
    """Commands are taken, one by one."""
    refused = loop.status().counts["mails_refused"]
    number = loop.mailbox.set("stiffness", 300.0)
    until(lambda: loop.mailbox.taken(number))
    assert loop.status().counts["mails_refused"] == refused


def stops(loop):
    loop.mailbox.stop()
    assert loop.wait(60) == 0
    assert (loop.status().cause, loop.ring.state) == (0, "finalized")


def test_a_command_that_makes_no_sense_is_left_out(loop):
    """It is counted as given, but nothing was written: the loop looks 16 times, and goes on to the next."""
    loop.segment.header["mail_given"][0] += 1
    is_obeyed_later = loop.mailbox.set("stiffness", 300.0)
    until(lambda: loop.mailbox.taken(is_obeyed_later))
    assert loop.status().counts["mails"] == 2
    assert loop.status().counts["mails_refused"] == 1
    stops(loop)


def test_stop_does_not_wait_for_its_turn(loop):
    """The mailbox is full of nonsense, and more is said to be in it."""
    loop.segment.header["mail"][0]["check"] = 1
    loop.segment.header["mail_given"][0] = 1 << 62
    stops(loop)


def test_whatever_lies_in_the_mailbox(loop):
    """Random bytes in all of it, and any number of commands said to be given; drawn 30 times."""
    rng = np.random.default_rng(14)
    header = loop.segment.header
    for _ in range(30):
        header["mail"].view("u1")[:] = rng.integers(0, 256, header["mail"].nbytes, "u1").reshape(1, -1)
        header["mail_given"][0] = rng.choice(
            [header["mail_taken"][0] + rng.integers(0, 2 * MAILS), rng.integers(0, 1 << 62)]
        )
        given = int(header["mail_given"][0])
        until(lambda given=given: int(header["mail_taken"][0]) >= given)
        is_obeyed(loop)
    stops(loop)


def test_a_lock_that_somebody_holds(loop):
    """Commands are refused after a second; stopping needs no lock, for this process and for any other."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(FOLDER / loop.name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        holder.stdout.readline()
        with pytest.raises(InputError, match=r"another process keeps the mailbox of bondloop-.* locked"):
            loop.mailbox.set("stiffness", 300.0)
        with Mailbox.attach(loop.name) as other:
            other.stop()
            assert loop.wait(60) == 0
        holder.communicate()


def test_what_is_compiled_in_for_tests_is_not_in_other_programs(loop):
    """Command 6 keeps a tick busy where it is known: here it is refused, as any other unknown one."""
    number = loop.mailbox._send(6, 0, 600.0)
    until(lambda: loop.mailbox.taken(number))
    already = loop.ring.written
    until(lambda: loop.ring.written > already + 10)
    assert loop.status().counts["mails_refused"] == 1
    stops(loop)


def test_mailboxes_of_one_process_take_turns(loop):
    """A session has one, and each of its consoles: a lock of the process would be all of theirs."""
    with Mailbox.attach(loop.name) as other, Mailbox.attach(loop.name) as third:
        with loop.mailbox._turn(time.monotonic() + 10):
            third.close()  # whose end must not unlock it for the others
            with pytest.raises(InputError, match=r"keeps the mailbox of .* locked"):
                other.set("stiffness", 300.0)
        number = other.set("stiffness", 300.0)
        until(lambda: loop.mailbox.taken(number))
    is_obeyed(loop)
    stops(loop)


def test_no_number_is_given_twice(loop):
    """Two threads of one process, each with a mailbox of its own: both commands of a number would be one."""
    with Mailbox.attach(loop.name) as other:
        numbers = {id(box): [] for box in (loop.mailbox, other)}

        def hurry(box):
            for _ in range(200):
                numbers[id(box)].append(box.set("stiffness", 300.0))

        threads = [threading.Thread(target=hurry, args=(box,)) for box in (loop.mailbox, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    given = [n for each in numbers.values() for n in each]
    assert len(set(given)) == len(given) == 400
    stops(loop)
