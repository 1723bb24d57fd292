"""An inactive loop reads and commands nothing, however long; a start from there is a start like any other."""

import threading

import numpy as np
import pytest
from two_halves import PERIOD, LoopOptions, make_computer, make_rig, make_whole, until
from wire import ACCEPT, ALIVE, BYE, COMMAND, HELLO, MEASURED, pack, unpack

from bondloop.engine.codegen import Runner
from bondloop.realtime import LoopProcess, RigOptions, RigProcess
from bondloop.realtime.programs.build import build_loop
from bondloop.realtime.protocol import FLAGS
from bondloop.safety.causes import Cause

SILENCE = 1.0
"""Seconds after which the rigs here miss a loop that gives no sign of life."""
FORCE = 30 * 0.01 + 5 * 0.01**2
"""N of the specimen at 10 mm, where it begins; a command of 0 would move it."""


@pytest.fixture(params=["udp", "shm"])
def rig(request, programs, shm):
    link = shm if request.param == "shm" else "udp://127.0.0.1:0"
    with RigProcess(programs.rig, RigOptions(link=link, timeout=SILENCE)) as made:
        yield made


def options(link, **more):
    usual = {"start": False, "retreat": 0.02, "phase": 0.25 * PERIOD, "stale": 10**6, "timeout": 20.0}
    return LoopOptions(link=link, **{**usual, **more})


def longer_than_the_timeout(loop):
    """Wait until the loop has been there for longer than the rig's patience, by its own telemetry."""
    end = loop.ring.written + 1.25 * SILENCE / PERIOD
    until(lambda: loop.ring.written > end)


def channel(loop, rows, name):
    return rows["channels"][:, loop.ring.names.index(name)]


def silent(rows):
    return rows["flags"] & FLAGS["silent"] > 0


def commands_at(rig):
    """Return the number of commands that the rig counted in the session that is over."""
    assert rig.process.stdout.readline().startswith("a loop came")
    return int(rig.process.stdout.readline().removeprefix("the loop has gone: ").split()[0])


def test_nothing_is_commanded_and_the_rig_stays_where_it_is(programs, table, rig):
    with LoopProcess(programs.loop, options(rig.link), table) as loop:
        longer_than_the_timeout(loop)
        assert loop.ring.state == "inactive"
        loop.mailbox.stop()
        assert loop.wait(20) == 0
        rows, status = loop.ring.read(), loop.status()
        assert silent(rows).all()
        assert set(rows["state"]) == {1, 4}
        np.testing.assert_allclose(channel(loop, rows, "measured.force"), FORCE, rtol=1e-15)
    assert status.link["sent"] == commands_at(rig) == 0
    assert (status.state, status.cause) == ("finalized", 0)
    assert status.link["received"] > 0.1 * len(rows)  # it was read all the time


@pytest.mark.parametrize("how", ["signal", "mail"])
def test_a_trip_while_inactive_commands_nothing(programs, table, rig, how):
    with LoopProcess(programs.loop, options(rig.link), table) as loop:
        until(lambda: loop.ring.written > 10)
        if how == "signal":
            loop.send(15)
        else:
            loop.mailbox.trip(Cause.EMERGENCY_STOP)
        assert loop.wait(20) == 3
        rows, status = loop.ring.read(), loop.status()
    assert status.cause == (Cause.OPERATOR if how == "signal" else Cause.EMERGENCY_STOP)
    assert silent(rows).all()
    assert set(rows["state"]) == {1, 4}
    assert status.link["sent"] == commands_at(rig) == 0


def test_it_starts_by_the_mailbox_and_is_silent_again_after_a_reset(programs, table, rig):
    with LoopProcess(programs.loop, options(rig.link, hold=True), table) as loop:
        longer_than_the_timeout(loop)
        loop.mailbox.start()
        until(lambda: loop.ring.state == "active")
        until(lambda: loop.status().counts["steps"] > 20)
        loop.mailbox.trip(Cause.EMERGENCY_STOP)
        until(lambda: loop.ring.state == "safe")
        loop.mailbox.reset()
        until(lambda: loop.ring.state == "inactive")
        longer_than_the_timeout(loop)  # the rig does not give it up
        loop.mailbox.stop()
        assert loop.wait(20) == 0
        rows, status = loop.ring.read(), loop.status()
        # After the reset nothing is commanded any more: not the safe value either, when it is stopped.
        reset = int(np.flatnonzero(rows["state"] == 1)[-1])
        assert (silent(rows) == ((rows["state"] == 1) | (np.arange(len(rows)) > reset))).all()
        assert status.link["sent"] == (~silent(rows)).sum()
        first = int(np.flatnonzero(rows["step"] == 0)[0])
        np.testing.assert_allclose(channel(loop, rows, "measured.force")[:first], FORCE, rtol=1e-15)
        # After the reset it holds the safe command, 0: by now the specimen is there.
        np.testing.assert_allclose(channel(loop, rows, "measured.force")[-1], 0.0, atol=1e-6)


@pytest.mark.parametrize("scheme", ["loopback", "udp", "shm"])
def test_a_start_by_the_mailbox_in_lock_step_equals_the_rehearsal(programs, table, shm, scheme):
    """The rig's count does not run ahead while the loop waits."""
    steps = 300
    whole = Runner(make_whole(), backend="c").run(steps, table[:steps])

    def run(link):
        with LoopProcess(programs.loop, options(link, lock_step=True, steps=steps), table) as loop:
            longer_than_the_timeout(loop)  # a millisecond each
            loop.mailbox.start()
            assert loop.wait(60) == 0, loop.messages
            return loop.ring.names, loop.ring.read()

    if scheme == "loopback":
        names, rows = run("loopback://")
    else:
        link = shm if scheme == "shm" else "udp://127.0.0.1:0"
        with RigProcess(programs.rig, RigOptions(link=link, timeout=SILENCE)) as rig:
            names, rows = run(rig.link)
    active = rows[rows["state"] == 2]
    for i, name in enumerate(names):
        assert active["channels"][:, i].tolist() == whole.channels[name].tolist(), name


class Listener(threading.Thread):
    """A peer written from the documented layout, which notes the kind of every packet and answers."""

    def __init__(self, own):
        super().__init__(daemon=True)
        self.socket, self.seen = own, []

    def run(self):
        sent = 0
        while True:
            data, peer = self.socket.recvfrom(2048)
            packet = unpack(data)
            self.seen.append(packet)
            if packet["kind"] == BYE:
                return
            kind = ACCEPT if packet["kind"] == HELLO else MEASURED
            sent += kind == MEASURED
            newest = packet["sequence"]
            self.socket.sendto(pack(kind, packet["session"], sent, newest, [0.25]), peer)


def test_on_the_wire(programs, table):
    """HELLO, then ALIVE without values and with the number of the last command, 0; BYE. No COMMAND."""
    from test_udp import a_socket

    with a_socket() as own:
        listener = Listener(own)
        listener.start()
        link = f"udp://127.0.0.1:{own.getsockname()[1]}"
        with LoopProcess(programs.loop, options(link), table) as loop:
            until(lambda: loop.ring.written > 50)
            loop.mailbox.stop()
            assert loop.wait(20) == 0
            rows = loop.ring.read()
        listener.join(20)
    kinds = [p["kind"] for p in listener.seen]
    assert COMMAND not in kinds
    alive = [p for p in listener.seen if p["kind"] == ALIVE]
    assert len(alive) == len(rows)
    assert {(p["sequence"], tuple(p["values"])) for p in alive} == {(0, ())}
    assert (kinds[0], kinds[-1]) == (HELLO, BYE)


def test_a_late_hello_disturbs_nobody(programs):
    """A copy that comes after the first sign of life is no new beginning: measurements are numbered on."""
    from test_udp import SIGNATURE, a_socket

    with (
        RigProcess(programs.rig, RigOptions(link="udp://127.0.0.1:0", timeout=20.0)) as rig,
        a_socket() as own,
    ):
        host, port = rig.link.removeprefix("udp://").split(":")
        own.connect((host, int(port)))
        hello = pack(HELLO, 5, 0, 0, [1.0, 1.0, PERIOD, 0.0, 0.0], SIGNATURE)
        own.send(hello)
        replies = [unpack(own.recv(2048))]
        session = 5 ^ replies[0]["echo"]
        own.send(pack(ALIVE, session, 0, 0, []))
        own.send(hello)
        replies += [unpack(own.recv(2048)) for _ in range(49)]
        assert [r["kind"] for r in replies] == [ACCEPT, *[MEASURED] * 49]
        assert [r["sequence"] for r in replies[1:]] == list(range(1, 50))
        assert {r["values"][0] for r in replies} == {replies[0]["values"][0]}  # it stands still
        own.send(pack(BYE, session, 0, 0, []))


DRIVER = """
#include <stddef.h>
#include "link.h"
static int exchanges;
static int fake_open(bl_link_config *config, double *measured)
{
    for (long i = 0; i < config->measured; ++i)
        measured[i] = 0.0;
    return BL_LINK_FRESH;
}
static int fake_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    if (measured != NULL) {
        measured[0] = 1e-3*exchanges;
        counts->received += 1;
        return BL_LINK_FRESH;
    }
    counts->sent += commands != NULL;
    return ++exchanges == 31 ? BL_LINK_LOST : BL_LINK_OLD;
}
static void fake_close(void)
{
}
const bl_link bl_link_deaf = {"deaf", BL_LINK_REAL_TIME, fake_open, fake_exchange, fake_close};
"""


@pytest.mark.parametrize("start", [True, False])
def test_a_link_that_fails_to_send_trips_in_that_cycle(table, tmp_path, start):
    """The 31st cycle cannot send, once: link lost, though the sensors go on."""
    (tmp_path / "link_deaf.c").write_text(DRIVER)
    program = build_loop(make_computer("deaf"), rig=make_rig(), drivers=[tmp_path / "link_deaf.c"])
    with LoopProcess(program, LoopOptions(link="deaf://", retreat=0.02, start=start), table) as loop:
        assert loop.wait(20) == 3
        rows, status = loop.ring.read(), loop.status()
        command = channel(loop, rows, "command")
    assert (status.cause, status.cause_cycle) == (Cause.LINK_LOST, 30)
    assert set(rows["state"][:30]) == {2 if start else 1}
    assert (rows["state"][30], rows["state"][-1]) == (3, 4)
    assert command[-1] == 0
    assert status.link["sent"] == (len(rows) if start else 0)
    if start:  # the ramp begins in the next cycle
        way = command[30] * 0.5 * (1 + np.cos(np.pi * np.arange(21) / 20))
        np.testing.assert_allclose(command[30:51], way, atol=1e-15)
