"""Emergency stop and enable as a rig on the network sees them: a peer written from the documented layout."""

import itertools
import random
import threading
from dataclasses import replace

import numpy as np
import pytest
from test_start import LIMITS, TICKS, Machine
from test_udp import SIGNATURE, PythonRig, a_socket
from two_halves import PERIOD, LoopOptions, until
from wire import ACCEPT, ALIVE, BYE, COMMAND, HELLO, MEASURED, pack, unpack

from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import LoopProcess, RigOptions, RigProcess
from bondloop.realtime.protocol import FLAGS
from bondloop.realtime.session import run_realtime
from bondloop.realtime.stop_requests import FOLDER, PREFIX
from bondloop.safety import Interlock

TELLS, PRESSED = 1, 2
WITHDRAWN, ENABLED = 1, (3, 7)
RETREAT = 50
"""Ticks of the retreat."""
STEPS = 100
PUSHED = 2e-4
"""m by which the specimen pushes the rig without power, each tick."""


@pytest.fixture(scope="module")
def test():
    limits = replace(LIMITS, tracking_error="12 mm")  # this rig stands still
    interlock = Interlock(limits, stale=10**6, release=0.01, retreat=RETREAT * 1e-3)
    return gawthrop_two_actuators.test().replaced(gap=60.0, interlock=interlock)


class Stopped(Machine):
    """A rig in lock-step that stands still, until its emergency stop is pressed: then it is pushed away.

    It is pressed from the answer to command `when` on, and shows a force beyond its limit from the answer to
    command `overload` on.
    """

    def __init__(self, test, when, overload=None):
        super().__init__(test, self._shows)
        self.when, self.overload = when, overload

    def _shows(self, heard):
        place = max(heard - self.when + 1, 0) * PUSHED
        force = 1e6 if self.overload is not None and heard >= self.overload else 0.0
        places = {f"measured.displacement[{i}]": (-1) ** i * place for i in (0, 1)}
        return {**places, "measured.force[0]": force}

    def _answer(self, packet):
        heard = packet["sequence"] if packet["kind"] == COMMAND else 0
        values = [self.shown(heard).get(name, 0.0) for name in self.names]
        word = TELLS | (PRESSED if heard >= self.when else 0)
        if packet["kind"] == HELLO:
            return [pack(ACCEPT, packet["session"], word, 0, values)]
        if packet["kind"] == COMMAND:
            return [pack(MEASURED, packet["session"], heard, heard, values, word)]
        return []

    @property
    def words(self):
        """What came with the commands, in their order."""
        rows = {p["sequence"]: p["detail"] for p in self.seen if p["kind"] == COMMAND}
        return [rows[n] for n in sorted(rows)]


DRAW = random.Random(7)
MOMENTS = {
    "at the first command": 1,
    "on the approach": DRAW.randrange(2, TICKS),
    "at the first tick": TICKS,
    "at the second tick": TICKS + 1,
    "in the test": DRAW.randrange(TICKS + 2, TICKS + STEPS),
    "at its last tick": TICKS + STEPS,
    "on the way to rest": TICKS + STEPS + 1 + DRAW.randrange(1, RETREAT - 1),
}


def run(test, machine):
    with machine:
        made = run_realtime(
            test, (STEPS - 1) * test.period, link=machine.link, lock_step=True,
            retreat=RETREAT * test.period, approach=TICKS * test.period, timeout=20.0, supervisor=60.0,
        )  # fmt: skip
    return made, machine.commands, machine.words


def lets_go(commands, words, when):
    """From the command after the answer that says so: not enabled, and where the rig is."""
    assert all(word in ENABLED for word in words[:when])
    assert set(words[when:]) == {WITHDRAWN}
    assert len(words) - when <= RETREAT + 1
    place = PUSHED * np.arange(1, len(words) - when + 1)
    np.testing.assert_array_equal(commands[when:], np.stack([place, -place], axis=1))


@pytest.mark.parametrize("moment", MOMENTS)
def test_pressed(test, moment):
    """The next command follows the rig: where its power comes back there is no jump."""
    when = MOMENTS[moment]
    made, commands, words = run(test, Stopped(test, when))
    about = made.record.attributes
    assert (about["cause"], about["cause_words"]) == (14, "the emergency stop at the rig was pressed")
    assert not made.completed
    # The ticks before and no other; on the approach there are none.
    assert about["cause_step"] == about["steps"] == min(max(when - TICKS, 0), STEPS)
    lets_go(commands, words, when)
    # Every second one has the beat, by which plain hardware sees that the loop is alive.
    assert {abs(a - b) for a, b in itertools.pairwise(words[:when])} <= {4}


@pytest.mark.parametrize("by_tick", [True, False], ids=["interlock", "executive"])
def test_pressed_on_the_way_to_safety_after_another_trip(test, by_tick):
    """The first cause stays; the retreat does not: a rig without power is not led anywhere."""
    overload = TICKS + 30 if by_tick else TICKS - 5
    when = overload + DRAW.randrange(2, RETREAT - 2)
    made, commands, words = run(test, Stopped(test, when, overload))
    assert made.record.attributes["cause"] == 3
    lets_go(commands, words, when)


@pytest.mark.parametrize("moment", ["none", "trip"])
def test_the_enable_goes_as_far_as_the_first_safe_command(test, moment):
    """Withdrawn with the one after, which is the last."""
    overload = None if moment == "none" else TICKS + 10
    made, commands, words = run(test, Stopped(test, 10**9, overload))
    assert made.completed == (overload is None)
    assert all(word in ENABLED for word in words[:-1])
    assert words[-1] == WITHDRAWN
    np.testing.assert_array_equal(commands[-2:], 0.0)
    assert (commands[-3] != 0.0).all() or overload is not None


def test_pressed_before_the_start(test):
    machine = Stopped(test, 0)
    with pytest.raises(InputError, match="the emergency stop at the rig is pressed"):
        run(test, machine)
    assert not machine.words
    assert machine.seen[-1]["kind"] == BYE


def test_a_rig_that_knows_nothing_of_it_works_as_before_and_that_is_said(test):
    """Words of 0, as rigs send that were built before; also nonsense that does not say that it is known."""
    with Machine(test, lambda _: {}) as machine:
        made = run_realtime(
            test, 0.05, link=machine.link, lock_step=True, approach=0.02, timeout=20.0, supervisor=60.0
        )
    assert made.completed
    assert any("tells nothing of an emergency stop" in note for note in made.record.attributes["notes"])


def test_a_word_that_does_not_say_that_it_is_known_is_nothing(programs, table):
    def answer(packet):
        if packet["kind"] == HELLO:
            return [pack(ACCEPT, packet["session"], PRESSED, 0, [0.25])]
        sequence = packet["sequence"]
        return [pack(MEASURED, packet["session"], sequence, sequence, [0.0], 0xFFFFFFFE)]

    with PythonRig(answer) as rig:
        given = LoopOptions(link=rig.link, lock_step=True, steps=50, retreat=0.005, timeout=20.0)
        with LoopProcess(programs.loop, given, table) as loop:
            assert loop.wait(60) == 0, loop.messages
            assert "tells nothing of an emergency stop" in loop.messages


class Clocked(threading.Thread):
    """A rig on the loop's clock: answers everything, pressed as long as `pressed` is set."""

    def __init__(self, pressed=False):
        super().__init__(daemon=True)
        self.socket, self.seen, self.pressed = a_socket(), [], pressed
        self.link = f"udp://127.0.0.1:{self.socket.getsockname()[1]}"

    def run(self):
        sent = 0
        while True:
            data, peer = self.socket.recvfrom(2048)
            packet = unpack(data)
            self.seen.append(packet)
            if packet["kind"] == BYE:
                return
            word = TELLS | (PRESSED if self.pressed else 0)
            if packet["kind"] == HELLO:
                reply = pack(ACCEPT, packet["session"], word, 0, [0.25])
            else:
                sent += 1
                reply = pack(MEASURED, packet["session"], sent, packet["sequence"], [0.25], word)
            self.socket.sendto(reply, peer)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.join(20)
        self.socket.close()


def clocked(link, **more):
    return LoopOptions(
        link=link, stale=10**6, supervisor=0.0, retreat=0.02, timeout=20.0, slots=65536, start=False, **more
    )


def is_stopped(loop):
    """Whether the newest row says that it is pressed."""
    loop.ring.cursor = max(loop.ring.written - 1, 0)
    return bool(loop.ring.read()["flags"][-1] & FLAGS["stopped"])


def test_a_start_while_it_is_pressed_commands_nothing(programs, table):
    """Released when the link was opened, pressed before the start."""
    with Clocked() as rig, LoopProcess(programs.loop, clocked(rig.link), table) as loop:
        until(lambda: loop.ring.written > 10)
        rig.pressed = True
        until(lambda: is_stopped(loop))
        assert loop.ring.state == "inactive", "nothing moves, so it is no reason to end"
        loop.mailbox.start()
        assert loop.wait(20) == 3
        assert loop.status().cause == 14
    assert {p["kind"] for p in rig.seen} == {HELLO, ALIVE, BYE}
    assert {p["detail"] for p in rig.seen if p["kind"] != HELLO} == {WITHDRAWN}


def test_held_until_it_is_released_and_reset(programs, table):
    with Clocked() as rig, LoopProcess(programs.loop, clocked(rig.link, hold=True), table) as loop:

        def started():
            until(lambda: loop.ring.state == "inactive")
            loop.mailbox.start()

        started()
        until(lambda: loop.status().counts["steps"] > 20)
        rig.pressed = True
        until(lambda: loop.ring.state == "safe")
        loop.mailbox.reset()
        started()  # still pressed
        until(lambda: loop.ring.state == "safe")
        assert loop.status().cause == 14
        rig.pressed = False
        until(lambda: not is_stopped(loop))
        assert loop.ring.state == "safe", "releasing starts nothing"
        loop.mailbox.reset()
        before = loop.status().counts["steps"]
        started()
        until(lambda: loop.status().counts["steps"] > before + 20)
        loop.mailbox.stop()
        assert loop.wait(20) == 0
        assert loop.status().cause == 0


@pytest.mark.parametrize("ending", ["stop", "trip"])
def test_after_a_reset_nothing_is_commanded_before_a_start(programs, table, ending):
    """Without power the rig was pushed away; the safe command would be a step to where it stood before."""
    with Clocked() as rig, LoopProcess(programs.loop, clocked(rig.link, hold=True), table) as loop:
        until(lambda: loop.ring.state == "inactive")
        loop.mailbox.start()
        until(lambda: loop.status().counts["steps"] > 20)
        rig.pressed = True
        until(lambda: loop.ring.state == "safe")
        rig.pressed = False
        until(lambda: not is_stopped(loop))
        loop.mailbox.reset()
        until(lambda: loop.ring.state == "inactive")
        # The rig may be far behind, among what was sent before the start; what comes behind a command is new.
        until(lambda: rig.seen[-1]["kind"] == ALIVE and any(p["kind"] == COMMAND for p in rig.seen))
        before = len(rig.seen)
        getattr(loop.mailbox, ending)()
        until(lambda: loop.ring.state in ("safe", "finalized"))
        loop.mailbox.stop()
        assert loop.wait(20) == (3 if ending == "trip" else 0)
    assert {p["kind"] for p in rig.seen[before:]} <= {ALIVE, BYE}
    assert {p["detail"] for p in rig.seen[before:]} == {WITHDRAWN}


def test_the_rig_obeys_no_command_that_is_not_enabled(programs):
    """In lock-step: never enabled it stays; withdrawn it drops out within 50 ms; 0 is a loop of before."""
    with (
        RigProcess(programs.rig, RigOptions(link="udp://127.0.0.1:0", timeout=20.0)) as rig,
        a_socket() as own,
    ):
        host, port = rig.link.removeprefix("udp://").split(":")
        own.connect((host, int(port)))

        def force(session, first, count, command, word):
            for number in range(first, first + count):
                own.send(pack(COMMAND, session, number, 0, [command], word))
                reply = unpack(own.recv(2048))
                assert (reply["kind"], reply["echo"], reply["detail"]) == (MEASURED, number, TELLS)
            return reply["values"][0]

        for word, is_obeyed in ((WITHDRAWN, False), (0, True), (3, True), (7, True), (0xFFFFFFFE, True)):
            own.send(pack(HELLO, 77, 0, 0, [1.0, 1.0, PERIOD, 1.0, 0.0], SIGNATURE))
            reply = unpack(own.recv(2048))
            assert (reply["kind"], reply["sequence"]) == (ACCEPT, TELLS)
            session, begins = 77 ^ reply["echo"], reply["values"][0]
            there = force(session, 1, 60, 0.02, word)
            held = 30 * 0.02 + 5 * 0.02**2  # the specimen's law
            assert there == pytest.approx(held if is_obeyed else begins, rel=1e-6)
            if is_obeyed:
                assert force(session, 61, 60, 0.02, WITHDRAWN) == pytest.approx(held, rel=1e-6)
                assert force(session, 121, 60, 0.0, WITHDRAWN) == pytest.approx(held, rel=1e-6)
            own.send(pack(BYE, session, 0, 0, []))


def test_a_rig_of_another_version_in_shared_memory(programs, table, shm):
    with RigProcess(programs.rig, RigOptions(link=shm, timeout=20.0)):
        path = FOLDER / f"{PREFIX}link-{shm.removeprefix('shm://')}"
        with path.open("r+b") as file:
            file.write(b"BLSHM002")
        with pytest.raises(InputError, match="is a rig's of another version of bondloop"):
            LoopProcess(programs.loop, LoopOptions(link=shm, timeout=0.05), table)
