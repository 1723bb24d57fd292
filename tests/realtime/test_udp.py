"""UDP packets, against Python's struct and zlib: Python plays the rig, and the loop."""

import itertools
import math
import socket
import threading
import zlib
from dataclasses import replace

import pytest
from two_halves import PERIOD, LoopOptions, make_rig, until
from wire import ACCEPT, BUSY, BYE, COMMAND, HEAD, HELLO, MEASURED, MODEL, REFUSE, pack, unpack

from bondloop.engine.codegen import Runner
from bondloop.errors import InputError
from bondloop.realtime import LoopProcess, RigOptions, RigProcess
from bondloop.safety.causes import Cause

SIGNATURE = zlib.crc32(b"command\n\nmeasured.force")


def a_socket():
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)  # for who reads late
    made.bind(("127.0.0.1", 0))
    made.settimeout(120)  # the loop is perhaps still to be compiled, beside much else
    return made


class PythonRig(threading.Thread):
    """Answers every command in lock-step with what `answer(packet)` returns: a list of packets."""

    def __init__(self, answer):
        super().__init__(daemon=True)
        self.socket, self.answer, self.seen = a_socket(), answer, []

    @property
    def link(self):
        return f"udp://127.0.0.1:{self.socket.getsockname()[1]}"

    def run(self):
        while True:
            data, peer = self.socket.recvfrom(2048)
            packet = unpack(data)
            self.seen.append(packet)
            if packet["kind"] == BYE:
                return
            for reply in self.answer(packet):
                self.socket.sendto(reply, peer)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.join(20)
        self.socket.close()


def echo_rig(extra=lambda _: []):
    """A rig whose force is twice the command, and which answers each command once.

    A loop that waits for longer than 20 ms sends its command again; on a busy machine that is often, but here
    no packet is lost, so that the copies need no answer.
    """
    answered = set()

    def answer(packet):
        session, sequence = packet["session"], packet["sequence"]
        if packet["kind"] == HELLO:
            return [pack(ACCEPT, session, 0, 0, [0.25])]
        if sequence in answered:
            return []
        answered.add(sequence)
        reply = pack(MEASURED, session, sequence, sequence, [2 * packet["values"][0]])
        return [*extra(packet), reply]

    return PythonRig(answer)


def commands_of(packets):
    """The commands among them, without the copies that a loop sends when it has to wait."""
    return list({p["sequence"]: p for p in reversed(packets) if p["kind"] == COMMAND}.values())[::-1]


def options(link, steps=50, **more):
    return LoopOptions(link=link, lock_step=True, steps=steps, retreat=0.005, timeout=20.0, **more)


def test_a_rig_written_from_the_documented_layout(programs, table):
    with echo_rig() as rig, LoopProcess(programs.loop, options(rig.link), table) as loop:
        assert loop.wait(60) == 0
        rows = loop.ring.read()
        command, force = (
            rows["channels"][:50, loop.ring.names.index(n)] for n in ("command", "measured.force")
        )
    hello = rig.seen[0]
    assert hello["kind"] == HELLO
    assert hello["values"] == [1.0, 1.0, PERIOD, 1.0, 0.0]
    assert hello["detail"] == SIGNATURE
    commands = commands_of(rig.seen)
    assert [p["sequence"] for p in commands] == list(range(1, len(commands) + 1))
    assert {p["session"] for p in rig.seen} == {hello["session"]}
    assert [p["values"][0] for p in commands[:50]] == command.tolist()
    assert force.tolist() == [0.25, *(2 * command[:-1]).tolist()]
    stamps = [p["stamp"] for p in rig.seen]
    assert stamps == sorted(stamps)
    assert rig.seen[-1]["kind"] == BYE


def test_the_session_of_the_acceptance_is_the_hellos_and_then_both_numbers(programs, table):
    """L of the loop, R of the rig: ACCEPT carries L and R apart, all later packets L exclusive-or R."""
    R, wrong = 0x8000000100000077, 0x55  # in both halves, so that one of 32 bits would be seen

    def answer(packet):
        session, number = packet["session"], packet["sequence"]
        if packet["kind"] == HELLO:
            return [
                pack(ACCEPT, session ^ R, 0, R, [9.0]),
                pack(ACCEPT, session + 1, 0, wrong, [9.0]),
                pack(ACCEPT, session, 0, wrong, [9.0, 9.0]),
                pack(BUSY, session ^ R, 0, 0, []),
                pack(ACCEPT, session, 0, R, [0.25]),
                pack(ACCEPT, session, 0, wrong, [9.0]),  # another answer comes too late
            ]
        foreign = [pack(MEASURED, s, number, number, [9.0]) for s in (session ^ R, R, session ^ wrong)]
        return [*foreign, pack(MEASURED, session, number, number, [0.5])]

    with PythonRig(answer) as rig, LoopProcess(programs.loop, options(rig.link, steps=20), table) as loop:
        assert loop.wait(60) == 0
        force = loop.ring.read()["channels"][:20, loop.ring.names.index("measured.force")]
    assert force.tolist() == [0.25, *[0.5] * 19]
    (hello,) = {p["session"] for p in rig.seen if p["kind"] == HELLO}
    assert {p["session"] for p in rig.seen if p["kind"] != HELLO} == {hello ^ R}


@pytest.mark.parametrize("lock_step", [True, False])
def test_a_goodbye_of_the_rigs_is_a_lost_link_at_once(programs, table, lock_step):
    """Whatever the loop would bear without news: 10⁶ ticks, or 20 s in lock-step."""
    last = []

    def answer(packet):
        session, number = packet["session"], packet["sequence"]
        if packet["kind"] == HELLO:
            return [pack(ACCEPT, session, 0, 0, [0.25])]
        if number < 20:
            return [pack(MEASURED, session, number, number, [0.25])]
        last.append(number)
        return [pack(BYE, session, 0, 0, [])] if number == 20 else []

    given = LoopOptions(lock_step=lock_step, retreat=0.005, timeout=20.0, stale=10**6)
    with PythonRig(answer) as rig, LoopProcess(programs.loop, replace(given, link=rig.link), table) as loop:
        assert loop.wait(15) == 3
        status, rows = loop.status(), loop.ring.read()
    assert status.cause == Cause.LINK_LOST
    if lock_step:
        assert status.cause_step == 20, "the tick after the one whose answer it was"
    assert (rows["cause"][rows["cycle"] < status.cause_cycle] == 0).all()


def test_answers_to_commands_that_were_never_sent_are_none(programs, table):
    """A rig that does not hear would hide it for ever: by one such answer, or by all of them."""

    def answer(packet):
        session, number = packet["session"], packet["sequence"]
        if packet["kind"] == HELLO:
            return [pack(ACCEPT, session, 0, 0, [0.25])]
        return [pack(MEASURED, session, number, 2**63 + number, [0.25])]

    given = LoopOptions(retreat=0.005, timeout=20.0, stale=50)
    with PythonRig(answer) as rig, LoopProcess(programs.loop, replace(given, link=rig.link), table) as loop:
        assert loop.wait(60) == 3
        status, rows = loop.status(), loop.ring.read()
    assert status.cause == Cause.LINK_LOST
    assert status.link["corrupted"] > 0
    assert status.link["received"] == 0
    # 1 tick after an age of 50, by the clock; a busy loop has fewer of them.
    assert status.cause_detail >= 50
    assert len(rows[rows["cycle"] <= status.cause_cycle]) <= 52


def test_what_is_wrong_with_packets_is_counted_and_harmless(programs, table):
    """With every answer come a corrupted packet, one of another session and a copy of the last one."""

    def extra(packet):
        session, sequence = packet["session"], packet["sequence"]
        good = pack(MEASURED, session, sequence, sequence, [1e6])
        flipped = bytearray(good)
        flipped[HEAD.size + 3] ^= 4
        before = [pack(MEASURED, session, sequence - 1, sequence - 1, [-1e6])] if sequence > 1 else []
        return [bytes(flipped), good[:-5], pack(MEASURED, session ^ 1, sequence, sequence, [1e6]), *before]

    with echo_rig(extra) as rig, LoopProcess(programs.loop, options(rig.link), table) as loop:
        assert loop.wait(60) == 0
        status = loop.status()
        rows = loop.ring.read()
        sent = len(commands_of(rig.seen))
        assert abs(rows["channels"][:, loop.ring.names.index("measured.force")]).max() < 1.0
    assert status.link["sent"] == sent
    assert status.link["corrupted"] == 2 * sent
    assert status.link["foreign"] == sent
    assert status.link["duplicated"] == sent - 1
    assert status.link["lost"] == status.link["reordered"] == 0


def test_a_lost_command_is_sent_again(programs, table):
    """The rig overhears every tenth command once: in lock-step the loop repeats it, and nothing is lost."""
    heard = set()

    def answer(packet):
        if packet["kind"] == HELLO:
            return [pack(ACCEPT, packet["session"], 0, 0, [0.25])]
        sequence = packet["sequence"]
        if sequence % 10 == 0 and sequence not in heard:
            heard.add(sequence)
            return []
        return [pack(MEASURED, packet["session"], sequence, sequence, [2 * packet["values"][0]])]

    with PythonRig(answer) as rig, LoopProcess(programs.loop, options(rig.link), table) as loop:
        assert loop.wait(60) == 0
        rows = loop.ring.read()
        command, force = (
            rows["channels"][:50, loop.ring.names.index(n)] for n in ("command", "measured.force")
        )
    assert force[1:].tolist() == (2 * command[:-1]).tolist()
    assert len(heard) >= 5


def test_a_loop_written_from_the_documented_layout(programs):
    """Python commands the rig: its force is that of the rehearsed rig for the same commands."""
    commands = [0.01 * math.sin(0.1 * k) for k in range(60)]
    expected = Runner(make_rig(), backend="c").run(60, [[c] for c in commands]).channels["measured.force"]
    with (
        RigProcess(programs.rig, RigOptions(link="udp://127.0.0.1:0", timeout=20.0)) as rig,
        a_socket() as own,
    ):
        host, port = rig.link.removeprefix("udp://").split(":")
        own.connect((host, int(port)))
        own.send(pack(HELLO, 77, 0, 0, [1.0, 1.0, PERIOD, 1.0, 0.0], SIGNATURE))
        reply = unpack(own.recv(2048))
        assert (reply["kind"], reply["session"], reply["detail"]) == (ACCEPT, 77, MODEL)
        session = 77 ^ reply["echo"]  # the rig's share
        force = [reply["values"][0]]
        for k, command in enumerate(commands):
            own.send(pack(COMMAND, session, k + 1, 0, [command]))
            own.send(pack(COMMAND, session, k + 1, 0, [command]))  # a copy advances nothing, and is answered
            for _ in range(2):
                reply = unpack(own.recv(2048))
                assert (reply["kind"], reply["echo"]) == (MEASURED, k + 1)
            force.append(reply["values"][0])
        assert force[:60] == expected.tolist()
        # While this session lasts nobody else gets in, whatever they ask for.
        own.send(pack(HELLO, 78, 0, 0, [1.0, 1.0, PERIOD, 1.0, 0.0], SIGNATURE))
        assert unpack(own.recv(2048))["kind"] == BUSY
        own.send(pack(BYE, session, 0, 0, []))
        own.send(pack(HELLO, 79, 0, 0, [1.0, 1.0, PERIOD, 1.0, 0.0], SIGNATURE + 1))
        reply = unpack(own.recv(2048))
        refusal = reply["kind"], reply["values"], reply["detail"]
        assert refusal == (REFUSE, [], 0), "it tells nothing of itself"
        other = 1.5 * PERIOD  # no multiple of its own
        own.send(pack(HELLO, 80, 0, 0, [1.0, 1.0, other, 1.0, 0.0], SIGNATURE))
        assert unpack(own.recv(2048))["kind"] == REFUSE
        own.send(pack(HELLO, 81, 0, 0, [1.0, 1.0, PERIOD, 1.0, 0.0], SIGNATURE))
        assert unpack(own.recv(2048))["kind"] == ACCEPT


def test_without_commands_the_rig_goes_to_rest_and_is_free(programs):
    """On its clock the rig follows 0.02 m; then the loop falls silent, and says no goodbye."""
    with (
        RigProcess(programs.rig, RigOptions(link="udp://127.0.0.1:0", timeout=2.0)) as rig,
        a_socket() as own,
    ):
        host, port = rig.link.removeprefix("udp://").split(":")
        own.connect((host, int(port)))
        own.send(pack(HELLO, 5, 0, 0, [1.0, 1.0, PERIOD, 0.0, 0.0], SIGNATURE))
        reply = unpack(own.recv(2048))
        assert reply["kind"] == ACCEPT
        session = 5 ^ reply["echo"]
        numbers, force = itertools.count(1), []
        held = 30 * 0.02 + 5 * 0.02**2  # the specimen's law

        def follows():
            own.send(pack(COMMAND, session, next(numbers), 0, [0.02]))
            force.append(unpack(own.recv(2048))["values"][0])
            return force[-1] == pytest.approx(held, rel=1e-3)

        def gets_in():
            """Ask, and read until the answer; the measurements before it are those of the silent loop."""
            own.send(pack(HELLO, 6, 0, 0, [1.0, 1.0, PERIOD, 0.0, 0.0], SIGNATURE))
            while True:
                try:
                    reply = unpack(own.recv(2048))
                except TimeoutError:  # there was no room for the answer among all the measurements
                    return False
                if reply["kind"] in (ACCEPT, BUSY):
                    return reply["kind"] == ACCEPT
                force.append(reply["values"][0])

        until(follows)
        own.settimeout(0.5)
        until(gets_in)
        assert abs(force[-1]) < 0.1 * held


def test_a_rig_that_falls_silent_in_lock_step(programs, table):
    """After 20 answers there is none: link lost (cause 10), the command at its safe value at the end."""

    def answer(packet):
        if packet["kind"] == HELLO:
            return [pack(ACCEPT, packet["session"], 0, 0, [0.25])]
        sequence = packet["sequence"]
        return [pack(MEASURED, packet["session"], sequence, sequence, [0.0])] if sequence <= 20 else []

    with PythonRig(answer) as rig:
        silent = LoopOptions(link=rig.link, lock_step=True, steps=50, retreat=0.005, timeout=2.0)
        with LoopProcess(programs.loop, silent, table) as loop:
            assert loop.wait(60) == 3
            status, rows = loop.status(), loop.ring.read()
            command = rows["channels"][:, loop.ring.names.index("command")]
    assert (status.cause, status.state) == (10, "finalized")
    assert status.cause_step == 21
    assert command[20] != 0
    assert command[-1] == 0


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("udp://127.0.0.1:9", "no rig answers"),
        ("udp://nowhere", "expected udp://HOST:PORT"),
        ("shm://a/b", "without slashes"),
        ("shm://none-such", "no rig answers"),
        ("tape://x", "no driver for the link"),
        ("udp", "no driver for the link"),
    ],
)
def test_links_that_cannot_be_opened(programs, table, link, words):
    with pytest.raises(InputError, match=words):
        LoopProcess(programs.loop, LoopOptions(link=link, timeout=0.05), table)


def test_a_port_in_use(programs):
    with RigProcess(programs.rig, RigOptions(link="udp://127.0.0.1:0")) as rig:
        with pytest.raises(InputError, match="another rig plays there"):
            RigProcess(programs.rig, RigOptions(link=rig.link))
        assert rig.running
