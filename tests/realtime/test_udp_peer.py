"""The example of a rig in plain Python, against the real link; and the packet of the how-to, byte by byte."""

import contextlib
import importlib.util
import math
import re
import socket
import struct
import subprocess
import sys
import threading
import zlib
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from two_halves import LOAD, PERIOD, STIFFNESS, LoopOptions, V, X, make_computer, until
from wire import ACCEPT, unpack

from bondloop.engine.codegen import compiler
from bondloop.engine.codegen.toolchain import build_program
from bondloop.engine.ir.tick import Update
from bondloop.errors import InputError
from bondloop.realtime import LoopProcess
from bondloop.realtime.programs.build import build_loop

ROOT = Path(__file__).parents[2]
PEER = ROOT / "examples" / "drivers" / "udp_peer.py"
HOW_TO = ROOT / "docs" / "realtime-driver.md"


@pytest.fixture(scope="module")
def peer():
    spec = importlib.util.spec_from_file_location("drivers_udp_peer", PEER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def playing(peer, monkeypatch):
    """A peer that answers in a thread; its link, and its rig."""
    monkeypatch.setattr(peer, "TIMEOUT", 20.0)  # however busy the machine is
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.bind(("127.0.0.1", 0))
    rig = peer.Spring()

    def play():
        try:
            peer.serve(own, rig)
        except OSError:  # the socket was closed: the test is over
            return

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    yield f"udp://127.0.0.1:{own.getsockname()[1]}", rig
    own.close()
    thread.join(5)


def options(link, steps=100, lock_step=True):
    return LoopOptions(link=link, lock_step=lock_step, steps=steps, retreat=0.005, timeout=20.0, stale=10**6)


def channels(loop, *names):
    rows = loop.ring.read()
    return [rows["channels"][:, loop.ring.names.index(n)] for n in names]


def test_lock_step(programs, table, playing):
    """The force is 30 kN/m times the command before it, to the last bit; one session after another."""
    link, _ = playing
    for _ in range(2):
        with LoopProcess(programs.loop, options(link), table) as loop:
            assert loop.wait(60) == 0, loop.messages
            command, force = channels(loop, "command", "measured.force")
            counts = loop.status().link
        assert force[0] == 0
        assert force[1:100].tolist() == (30e3 * command[:99]).tolist()
        assert [counts[n] for n in ("lost", "reordered", "corrupted", "foreign", "age")] == [0] * 5


class Thrice(socket.socket):
    """Accepts a loop three times, as a rig does that was slow to answer its first greeting."""

    def sendto(self, data, address):
        for _ in range(3 if unpack(data)["kind"] == ACCEPT else 1):
            super().sendto(data, address)


def test_a_greeting_that_is_answered_again_is_no_stranger(programs, table, peer, monkeypatch):
    """An operator who reads of foreign packets looks for another loop, or for an intruder."""
    monkeypatch.setattr(peer, "TIMEOUT", 20.0)
    with Thrice(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", 0))

        def play():
            with contextlib.suppress(OSError):  # the socket was closed: the test is over
                peer.serve(own, peer.Spring())

        thread = threading.Thread(target=play, daemon=True)
        thread.start()
        link = f"udp://127.0.0.1:{own.getsockname()[1]}"
        with LoopProcess(programs.loop, options(link), table) as loop:
            assert loop.wait(60) == 0, loop.messages
            counts = loop.status().link
    thread.join(5)
    assert [counts[n] for n in ("foreign", "lost", "duplicated", "reordered", "corrupted")] == [0] * 5


def test_inactive_the_rig_stays_where_it_stands(programs, table, playing):
    """Somebody left it at 125 mm: there it is, in every sample, and there it is when the loop has gone."""
    link, rig = playing
    rig.displacement = 0.125
    waiting = replace(options(link, lock_step=False), start=False)
    with LoopProcess(programs.loop, waiting, table) as loop:
        until(lambda: loop.status().link["received"] > 20)
        loop.mailbox.stop()
        assert loop.wait(60) == 0, loop.messages
        (force,) = channels(loop, "measured.force")
    assert set(force) == {30e3 * 0.125}
    with LoopProcess(programs.loop, options(link, steps=1), table) as loop:  # after the BYE of the first
        assert loop.wait(60) == 0, loop.messages
        assert channels(loop, "measured.force")[0][0] == 30e3 * 0.125
    until(lambda: rig.displacement == 0.0)


def unmoved():
    """The small test, deaf to the force: one that is late by any number of ticks could drive it off."""
    computer = make_computer("unmoved")
    felt = Update(((X, X + PERIOD * V), (V, V + PERIOD * (LOAD - STIFFNESS * X - 2.0 * V))))
    return replace(computer, steps=(*computer.steps[:-1], felt))


def test_its_emergency_stop(programs, table, playing):
    """It moves at no command after that, nor at the goodbye; released, it waits for the next session."""
    link, rig = playing
    with LoopProcess(build_loop(unmoved()), options(link, steps=0, lock_step=False), table) as loop:
        until(lambda: rig.displacement != 0.0)
        rig.stopped = True
        assert loop.wait(60) == 3
        assert loop.status().cause == 14
    stood = rig.displacement
    with pytest.raises(InputError, match="the emergency stop at the rig is pressed"):
        LoopProcess(programs.loop, options(link), table)
    rig.stopped = False
    with LoopProcess(programs.loop, options(link, steps=1), table) as loop:
        assert loop.wait(60) == 0, loop.messages
        assert channels(loop, "measured.force")[0][0] == 30e3 * stood != 0.0


def test_on_the_clock_as_a_program_of_its_own(table):
    """However late the answers are, each is of a command that was sent."""
    command = [sys.executable, str(PEER), "0", "command", "measured.force"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            link = process.stdout.readline().split()[-1]
            with LoopProcess(build_loop(unmoved()), options(link, steps=200, lock_step=False), table) as loop:
                assert loop.wait(60) == 0, loop.messages
                sent, force = channels(loop, "command", "measured.force")
                counts = loop.status().link
        finally:
            process.kill()
    assert set(force) <= {0.0, *(30e3 * sent)}
    assert counts["received"] > 0
    assert counts["corrupted"] == counts["foreign"] == counts["duplicated"] == 0


def test_a_loop_that_falls_silent(peer, playing, monkeypatch):
    """The rig goes to rest and is free for another; what is old, or of nobody, moves nothing."""
    link, rig = playing
    signature = zlib.crc32(b"command\n\nmeasured.force")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.settimeout(20)
        own.connect(("127.0.0.1", int(link.rpartition(":")[2])))

        def ask(*words, **more):
            own.send(peer.pack(*words, **more))
            data = own.recv(2048)
            kind, session, sequence, _, values = peer.unpack(data)
            return kind, session, sequence, values, unpack(data)["echo"]

        hello = {"values": [1, 1, 1e-3, 0, 0.03125], "detail": signature}
        *answer, nonce = ask(peer.HELLO, 5, **hello)
        assert answer == [peer.ACCEPT, 5, rig.word(), (0.0,)]
        mine = 5 ^ nonce
        own.send(peer.pack(peer.COMMAND, 5, 9, values=[0.7]))  # of nobody
        own.send(peer.pack(peer.COMMAND, mine, 9, values=[math.nan]))  # nowhere to go
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as neighbour:
            neighbour.sendto(peer.pack(peer.COMMAND, mine, 9, values=[0.7]), own.getpeername())
        assert ask(peer.COMMAND, mine, 2, values=[0.25]) == (peer.MEASURED, mine, 1, (7500.0,), 2)
        own.send(peer.pack(peer.COMMAND, mine, 1, values=[0.5]))  # overtaken
        assert ask(peer.COMMAND, mine, 2, values=[0.5]) == (peer.MEASURED, mine, 2, (7500.0,), 2)  # a copy
        monkeypatch.setattr(peer, "TIMEOUT", 0.0)
        until(lambda: rig.displacement == 0.03125)  # the safe place that the loop has named
        monkeypatch.setattr(peer, "TIMEOUT", 20.0)
        assert ask(peer.HELLO, 6, **hello)[:2] == (peer.ACCEPT, 6)


def test_who_is_refused(programs, table, playing):
    link, _ = playing
    other = make_computer("other_names")
    renamed = tuple(replace(c, name="command[0]") if c.name == "command" else c for c in other.channels)
    stranger = build_loop(make_computer("other_names", channels=renamed))
    with pytest.raises(InputError, match="other signals or another rate"):
        LoopProcess(stranger, options(link), table)
    with LoopProcess(build_loop(unmoved()), options(link, steps=0, lock_step=False), table) as loop:
        with pytest.raises(InputError, match="in use by another loop"):
            LoopProcess(programs.loop, options(link), table)
        assert loop.running, (loop.messages, loop.status())


def test_what_is_no_packet(peer):
    good = peer.pack(peer.COMMAND, 7, 3, 0, [0.5, -1.0])
    assert peer.unpack(good) == (peer.COMMAND, 7, 3, 0, (0.5, -1.0))
    for bad in (b"", good[:-1], good + b"\0", b"x" + good[1:], good[:50] + b"\x01" + good[51:]):
        assert peer.unpack(bad) is None


MAIN = """
#include <stdio.h>
#include "packet.h"
int main(void)
{
    const bl_packet packet = {.kind = BL_COMMAND, .session = 0x1122334455667788, .sequence = 1, .echo = 0,
        .time_ns = 1500000000, .count = 1, .detail = 3, .values = {0.005}};
    unsigned char bytes[BL_PACKET_BYTES];
    const size_t count = bl_packet_write(bytes, &packet);
    for (size_t i = 0; i < count; ++i)
        printf("%02x", bytes[i]);
    return 0;
}
"""


def test_the_dump_in_the_how_to_is_what_the_c_code_writes():
    folder = resources.files("bondloop.realtime") / "c"
    names = ("packet.c", "packet.h", "link.h", "finite.h", "siphash.c", "siphash.h")
    files = {n: (folder / n).read_text() for n in names}
    program = build_program({**files, "main.c": MAIN}, "dump", compiler())
    written = bytes.fromhex(subprocess.check_output([program], text=True))
    lines = re.findall(
        r"^(\d{4})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})  ", HOW_TO.read_text(encoding="utf-8"), re.MULTILINE
    )
    shown = b""
    for offset, text in lines:
        assert int(offset) == len(shown)
        shown += bytes.fromhex(text)
    assert shown == written
    assert struct.unpack_from("<d", shown, 48) == (0.005,)


def test_the_table_in_the_how_to_has_the_offsets_of_the_layout(peer):
    """Offset and size of every field, against struct's own reading of the head."""
    rows = re.findall(r"^\| (\d+) \| (\d+) \| `(\w+)` \|", HOW_TO.read_text(encoding="utf-8"), re.MULTILINE)
    at = 0
    for (offset, size, _), letter in zip(rows, peer.HEAD.format[1:].replace("4s", "s"), strict=True):
        assert int(offset) == at
        at += {"s": 4, "H": 2, "I": 4, "Q": 8, "q": 8}[letter]
        assert int(size) == at - int(offset)
    assert at == peer.HEAD.size == 48
