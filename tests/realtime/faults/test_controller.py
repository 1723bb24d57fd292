"""A fault that the rig's controller reports of itself, and a command that its channel does not allow."""

import sys
from pathlib import Path

import pytest
from fault_rules import RETREAT, STATED, channel, ended_safely, flagged, ticks
from two_halves import PERIOD, LoopOptions, make_computer, make_interlocked

sys.path.insert(0, str(Path(__file__).parents[1] / "channels"))
from packet_peer import Layout, Peer

from bondloop.files import read_channels_text
from bondloop.realtime import LoopProcess
from bondloop.realtime.programs.build import build_loop, driver_file
from bondloop.realtime.summary import measured_line, newest_measured

FILE = """
[[channel]]
name = "command"
direction = "output"
unit = "m"
channel = 0
type = "float64"
gain = 1
limits = [-{most}, {most}]

[[channel]]
name = "measured.force"
direction = "input"
unit = "N"
channel = 0
type = "float64"
gain = 1

[[fault]]
channel = 8
type = "uint8"
bit = 0
code = 5
words = "the oil pressure is off"

[packet.send]
bytes = 9
fields = [{{is = "enable", at = 8, type = "uint8"}}]

[packet.receive]
bytes = 9
"""
TAKES = Layout(9, {"command": (0, "float64"), "enable": (8, "uint8")})
GIVES = Layout(9, {"force": (0, "float64"), "faults": (8, "uint8")})


@pytest.fixture(params=["plain", "interlocked"])
def tick(request):
    return make_computer("plain_faulty") if request.param == "plain" else make_interlocked(RETREAT)


def loop_on(tick, peer, table, most=1.0, **more):
    lab = read_channels_text(FILE.format(most=most))
    program = build_loop(tick, drivers=[driver_file("packet")], channels=lab)
    options = LoopOptions(link=peer.link, retreat=RETREAT * PERIOD, timeout=60.0, stale=60_000, **more)
    return LoopProcess(program, options, table)


def test_the_rigs_controller_reports_a_fault(tick, table):
    fault = "the rig's controller reports a fault"

    def answer(_, number):
        return GIVES.pack({"force": 0.0, "faults": int(number > 60)})

    with Peer(TAKES, answer) as peer, loop_on(tick, peer, table) as loop:
        assert loop.wait(60) == 3
        rows, status = loop.ring.read(), loop.status()
        at = ended_safely(loop.ring, rows, status, fault, "n + 2")
    assert flagged(rows, "fault").argmax() == at + ticks(STATED[fault].found)
    assert (status.cause_detail, status.fault_words) == (5, "the oil pressure is off")


def test_a_command_beyond_the_limits_of_its_channel(table):
    """The mass begins at 50 mm: the first command is beyond, and none that is goes out on the way back."""
    fault = "command beyond the limits of its channel"

    def answer(*_):
        return GIVES.pack({"force": 0.0, "faults": 0})

    with (
        Peer(TAKES, answer) as peer,
        loop_on(make_computer("plain_faulty"), peer, table, most=0.02) as loop,
    ):
        assert loop.wait(60) == 3
        rows, status = loop.ring.read(), loop.status()
        at = ended_safely(loop.ring, rows, status, fault, late=1)
        first = int((abs(channel(loop.ring, rows, "command")) > 0.02).argmax())
    assert at == first + ticks(STATED[fault].found)
    assert max(abs(p["command"]) for p in peer.heard) <= 0.02


def test_inactive_a_fault_is_shown_and_ends_nothing(table):
    def answer(*_):
        return GIVES.pack({"force": 3.5, "faults": 1})

    with (
        Peer(TAKES, answer) as peer,
        loop_on(make_computer("plain_faulty"), peer, table, start=False, inactive=True) as loop,
    ):
        while loop.ring.written < 20:
            assert loop.running
        shown = newest_measured(loop.ring)
        loop.stop()
        assert loop.wait(60) == 0
    assert measured_line(shown) == "force +3.5 N   controller +1 fault"
