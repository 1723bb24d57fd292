"""One link, one loop: a second is refused, and a killed one makes room for the next."""

import fcntl
import signal
import socket
import zlib

import numpy as np
import pytest
from fault_rules import PERIOD, STATED, channel, ended, ran_on
from shm_peek import Peek
from two_halves import until
from wire import ACCEPT, BYE, HELLO, pack, unpack

from bondloop.errors import InputError


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_a_second_loop_is_refused(bench, scheme):
    """The first one does not notice: no tick less, no packet of a stranger, one session for the rig."""
    assert STATED["a second loop on the same link"].cause is None
    rig = bench.rig(scheme)
    first = bench.loop(rig.link)
    until(lambda: first.ring.written > 20)
    for lock_step in (False, True):
        with pytest.raises(InputError, match=f"the rig at {scheme}://.* is in use by another loop"):
            bench.loop(rig.link, lock_step=lock_step)
    assert first.ring.state == "active"
    first.mailbox.stop()
    ring, rows, status = ended(first, 0)
    ran_on(ring, rows, status, status.counts["steps"])
    assert status.link["foreign"] == status.link["corrupted"] == 0
    assert rig.process.stdout.readline().startswith("a loop came")
    assert rig.process.stdout.readline().startswith("the loop has gone: ")


def test_loop_killed_over_udp(bench):
    """The rig goes on for `timeout` seconds, to rest in the second half of them, and is free then."""
    assert STATED["loop killed"].cause is None
    timeout = 2.0
    rig = bench.rig("udp", timeout=timeout)
    proxy = bench.proxy(rig)
    loop = bench.loop(proxy.link)
    until(lambda: loop.ring.written > 50)
    loop.send(signal.SIGKILL)
    loop.wait()
    assert rig.process.stdout.readline().startswith("a loop came")
    assert rig.process.stdout.readline().startswith("the loop has gone: ")
    last = proxy.commands[-1]["sequence"]
    after = [p for p in proxy.measured if p["echo"] == last]
    force = np.array([p["values"][0] for p in after])
    assert len(after) <= timeout / PERIOD + 102  # it catches up with its clock, by 100 steps at most
    assert np.abs(force[-1]) < 0.1 * np.abs(force).max()
    gets_in(bench, proxy.link)


@pytest.mark.parametrize("half_written", [False, True], ids=["between messages", "while it writes one"])
def test_loop_killed_over_shared_memory(bench, half_written):
    """A command that was only half written is not obeyed, and does not disturb the next loop."""
    assert STATED["loop killed"].cause is STATED["loop killed while it writes a message"].cause is None
    rig = bench.rig("shm", timeout=2.0)
    peek = Peek(rig.link)
    loop = bench.loop(rig.link)
    until(lambda: loop.ring.written > 50)
    loop.send(signal.SIGSTOP)
    before = loop.ring.written
    if half_written:
        peek.leave_half_written("command")
    loop.send(signal.SIGKILL)
    loop.wait()
    assert rig.process.stdout.readline().startswith("a loop came")
    assert rig.process.stdout.readline().startswith("the loop has gone: ")
    rows = loop.ring.read()
    force = np.abs(channel(loop.ring, rows, "measured.force"))
    assert abs(peek["measurement"]["values"][0]) < 0.1 * force.max()
    assert len(rows) >= before - 1
    gets_in(bench, rig.link)


def gets_in(bench, link):
    """A new loop runs from the beginning, and its commands arrive: measurements answer them."""
    loop = bench.loop(link, steps=100)
    ring, rows, status = ended(loop, 0)
    ran_on(ring, rows, status, 100)
    answered = rows["cycle"] + 1 - rows["age"]  # number of the command that each cycle's measurement answers
    assert answered.max() > 20
    assert rows["channels"][0, ring.names.index("x")] == 0.05


def test_nobody_reads_what_the_rig_says(bench):
    """A line for every session fills a pipe of 4 KiB after 50 of them; the rig must not wait for a reader."""
    rig = bench.rig("udp")
    fcntl.fcntl(rig.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    host, port = rig.link.removeprefix("udp://").split(":")
    signature = zlib.crc32(b"command\n\nmeasured.force")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.connect((host, int(port)))
        own.settimeout(20)
        for session in range(1, 80):
            own.send(pack(HELLO, session, 0, 0, [1.0, 1.0, PERIOD, 1.0, 0.0], signature))
            reply = unpack(own.recv(2048))
            assert reply["kind"] == ACCEPT
            own.send(pack(BYE, session ^ reply["echo"], 0, 0, []))
