"""The driver for packets of one's own, against a controller in Python that lays them out with struct."""

import math
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from packet_peer import LETTERS, Layout, Peer
from two_halves import LoopOptions, make_computer, until

from bondloop.errors import InputError
from bondloop.files import read_channels_text
from bondloop.realtime import LoopProcess
from bondloop.realtime.programs.build import build_loop, driver_file
from bondloop.safety.causes import Cause

FILE = """
[[channel]]
name = "command"
direction = "output"
unit = "mm"
channel = 4
type = "int32"
gain = "1e-3 mm"
limits = ["-200 mm", "200 mm"]

[[channel]]
name = "measured.force"
direction = "input"
unit = "N"
channel = 8
type = "float64"
gain = 2
offset = 1

[[channel]]
name = "oil"
direction = "auxiliary"
unit = "bar"
channel = "016"                     # sixteen, not fourteen
type = "uint16"
gain = "0.1 bar"

[[fault]]
channel = "018"
type = "uint8"
bit = 3
code = 42
words = "the oil pressure is off"

[[fault]]
channel = 19
type = "uint8"
words = "the drive has stopped"

[packet.send]
bytes = 16
fields = [
  {is = "counter", at = 0, type = "uint16"},
  {is = "constant", at = 2, type = "uint16", value = 0xB10C},
  {is = "enable", at = 8, type = "uint8"},
  {is = "crc16", at = 14, type = "uint16"},
]

[packet.receive]
bytes = 28
fields = [
  {is = "counter", at = 0, type = "uint16"},
  {is = "echo", at = 2, type = "uint16"},
  {is = "constant", at = 4, type = "uint32", value = 7},
  {is = "stop", at = 20, type = "uint8"},
  {is = "crc32", at = 24, type = "uint32"},
]
"""
TAKES = Layout(
    16,
    {"counter": (0, "uint16"), "mark": (2, "uint16"), "command": (4, "int32"), "enable": (8, "uint8"),
     "crc16": (14, "uint16")},
    constants={"mark": 0xB10C}, check="crc16",
)  # fmt: skip
GIVES = Layout(
    28,
    {"counter": (0, "uint16"), "echo": (2, "uint16"), "mark": (4, "uint32"), "force": (8, "float64"),
     "oil": (16, "uint16"), "faults": (18, "uint8"), "drive": (19, "uint8"), "stop": (20, "uint8"),
     "crc32": (24, "uint32")},
    constants={"mark": 7}, check="crc32",
)  # fmt: skip


def good(found, number, **more):
    """Force in half newtons less a half, as gain and offset have it: 30 N/m of what is commanded."""
    force = (30.0 * found["command"] * 1e-6 - 1.0) / 2.0
    echo = {"counter": number % 65536, "echo": found["counter"]}
    return GIVES.pack({"force": force, "oil": 1234, **echo, **more})


@pytest.fixture(scope="module")
def program():
    tick = make_computer("with_packets")
    return build_loop(
        tick, safe={"command": 0.01}, drivers=[driver_file("packet")], channels=read_channels_text(FILE)
    )


def loop_on(program, peer, table, steps=60, **more):
    return LoopProcess(
        program, LoopOptions(link=peer.link, steps=steps, retreat=0.02, timeout=60.0, **more), table
    )


@pytest.mark.parametrize("tcp", [False, True])
def test_commands_arrive_as_fields_and_fields_as_newtons(program, table, tcp):
    with Peer(TAKES, good, tcp=tcp) as peer, loop_on(program, peer, table, stale=60_000) as loop:
        assert loop.wait(60) == 0, loop.messages
        rows, status, names = loop.ring.read(), loop.status(), loop.ring.names
        command, force, oil = (
            rows["channels"][:, names.index(n)] for n in ("command", "measured.force", "aux.oil")
        )
        assert loop.ring.units[names.index("aux.oil")] == "Pa"
    sent = [p["command"] for p in peer.heard if p["enable"] & 1]
    enabled = rows["flags"] & 256 > 0
    assert sent == np.rint(command[enabled] * 1e6).astype(int).tolist()
    assert [p["counter"] for p in peer.heard] == list(range(len(peer.heard)))
    assert set(oil[1:]) == {1234 * 0.1 * 1e5}
    assert np.ptp(command) > 1e-4
    # Every force is 30 N/m of one of the commands that went out, to the resolution of the field (1 µm).
    given_out = {round(p["command"] * 30e-6, 9) for p in peer.heard}
    assert {round(f, 9) for f in force[1:]} <= given_out
    assert (status.link["corrupted"], status.link["lost"], status.link["reordered"]) == (0, 0, 0)
    # Before the first command: at rest, not enabled. At the end: the safe command, not enabled.
    assert (peer.heard[0]["command"], peer.heard[0]["enable"]) == (0, 0)
    assert (peer.heard[-1]["command"], peer.heard[-1]["enable"]) == (10_000, 0)
    beats = [p["enable"] >> 1 for p in peer.heard if p["enable"] & 1]
    assert np.abs(np.diff(beats)).tolist() == [1] * (len(beats) - 1)


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [({"faults": 8}, 42, "the oil pressure is off"), ({"drive": 77}, 77, "the drive has stopped")],
)
def test_a_fault_of_the_controller_comes_through_as_words(program, table, more, code, words):
    def answer(found, number):
        return good(
            found, number, **(more if sum(p["enable"] & 1 for p in peer.heard) > 20 else {"faults": 1})
        )

    with Peer(TAKES, answer) as peer, loop_on(program, peer, table, steps=0, stale=60_000) as loop:
        assert loop.wait(60) == 3
        status = loop.status()
        assert (status.cause, status.cause_detail, status.fault_words) == (
            Cause.CONTROLLER_FAULT,
            code,
            words,
        )
        assert f"fault {code}: {words}" in loop.messages
    assert (peer.heard[-1]["command"], peer.heard[-1]["enable"]) == (10_000, 0)


def test_nothing_starts_while_the_controller_has_a_fault(program, table):
    with (
        Peer(TAKES, lambda f, n: good(f, n, faults=8)) as peer,
        pytest.raises(InputError, match="reports fault 42: the oil pressure is off; mend it"),
    ):
        loop_on(program, peer, table)
    assert {p["enable"] for p in peer.heard} == {0}


def test_the_emergency_stop_of_a_controller(program, table):
    def answer(found, number):
        return good(found, number, stop=int(sum(p["enable"] & 1 for p in peer.heard) > 20))

    with Peer(TAKES, answer) as peer, loop_on(program, peer, table, steps=0, stale=60_000) as loop:
        assert loop.wait(60) == 3
        assert loop.status().cause == Cause.EMERGENCY_STOP
    last = [p["command"] for p in peer.heard if p["enable"] & 1][-1]
    assert {p["command"] for p in peer.heard[-10:]} == {last}, "the last command stays: no retreat"


def test_hostile_packets_are_counted_and_never_used(program, table):
    """Cut short, too long, changed in any bit, old, doubled; the force of each would be 1 MN."""
    draws = random.Random(3)

    def answer(found, number):
        bad = bytearray(GIVES.pack({"force": 5e5, "counter": (number + 9) % 65536, "echo": found["counter"]}))
        kind = draws.randrange(5)
        if kind == 0:
            bad = bad[: draws.randrange(len(bad))]
        elif kind == 1:
            bad += b"\0" * draws.randrange(1, 1200)
        elif kind == 2:
            bad[draws.randrange(28)] ^= 1 << draws.randrange(8)
        elif kind == 3:
            bad = bytearray(draws.randbytes(28))
        else:
            bad = bytearray(GIVES.pack({"force": 5e5, "counter": (number - 3) % 65536, "echo": 0}))
        return [good(found, number), bytes(bad), bytes(bad)] if number > 3 else good(found, number)

    with Peer(TAKES, answer) as peer, loop_on(program, peer, table, steps=0, stale=60_000) as loop:
        until(lambda: (link := loop.status().link)["corrupted"] > 100 and link["reordered"] > 10)
        loop.stop()
        assert loop.wait(60) == 0, loop.messages
        rows, status = loop.ring.read(), loop.status()
        force = rows["channels"][:, loop.ring.names.index("measured.force")]
    assert np.abs(force).max() < 10
    assert status.link["received"] > 100


def test_not_a_number_in_a_sound_packet_trips(program, table):
    def answer(found, number):
        return good(found, number, **({"force": math.nan} if number > 30 else {}))

    with Peer(TAKES, answer) as peer, loop_on(program, peer, table, steps=0, stale=60_000) as loop:
        assert loop.wait(60) == 3
        assert loop.status().cause == Cause.NOT_A_NUMBER
        assert np.isfinite(loop.ring.read()["channels"]).all()


@pytest.mark.parametrize("tcp", [False, True])
def test_a_controller_that_falls_silent_or_hangs_up(program, table, tcp):
    def answer(found, number):
        if number <= 40:
            return good(found, number)
        return b"\0" * 28 if tcp else None  # in a stream, nothing behind it can be read

    with Peer(TAKES, answer, tcp=tcp) as peer, loop_on(program, peer, table, steps=0) as loop:
        assert loop.wait(60) == 3
        assert loop.status().cause == Cause.LINK_LOST


def test_a_command_beyond_its_limits_is_held_and_said(table):
    """The mass begins at 50 mm; the file allows 20."""
    lab = read_channels_text(FILE.replace("200 mm", "20 mm"))
    tick = make_computer("with_packets")
    program = build_loop(tick, safe={"command": 0.01}, drivers=[driver_file("packet")], channels=lab)
    with Peer(TAKES, good) as peer, loop_on(program, peer, table, stale=60_000) as loop:
        assert loop.wait(60) == 3
        status = loop.status()
    assert status.cause == Cause.CONTROLLER_FAULT
    assert status.fault_words == "command of 50 mm is beyond its limits, -20 to 20 mm; it was held"
    assert {(p["command"], p["enable"]) for p in peer.heard} == {(0, 0)}, "it is the first: nothing moves"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1", "expected packet://HOST:PORT"),
        ("127.0.0.1:1?udp", "expected ?tcp or nothing behind the port"),
        ("127.0.0.1:none", "no such address"),
        ("127.0.0.1:1?tcp", "cannot be reached: Connection refused"),
        ("127.0.0.1:1", "no packet of the described layout came in time"),
    ],
)
def test_refuses_what_cannot_be_reached(program, table, address, words):
    with pytest.raises(InputError) as refused:
        LoopProcess(program, LoopOptions(link=f"packet://{address}", timeout=0.2), table)
    assert words in str(refused.value)


def test_a_driver_of_channels_without_a_channels_file(table):
    program = build_loop(make_computer("no_channels"), drivers=[driver_file("packet")])
    with pytest.raises(InputError, match="this link needs a channels file"):
        LoopProcess(program, LoopOptions(link="packet://127.0.0.1:1", timeout=0.2), table)


def test_an_echo_that_is_wider_than_the_counter_is_not_old_when_that_begins_again(table):
    """The counter of 8 bits is 0 again after 255, in the echo of 16 too; the age was 256 from then on."""
    narrow = FILE.replace('"counter", at = 0, type = "uint16"', '"counter", at = 0, type = "uint8"', 1)
    takes = Layout(
        16, {**TAKES.fields, "counter": (0, "uint8")}, constants=TAKES.constants, check=TAKES.check
    )
    tick = make_computer("narrow_counter")
    program = build_loop(tick, drivers=[driver_file("packet")], channels=read_channels_text(narrow))
    with Peer(takes, good) as peer, loop_on(program, peer, table, steps=0, stale=60_000) as loop:
        until(lambda: loop.status().link["received"] > 400)
        loop.stop()
        assert loop.wait(60) == 0, loop.messages
        rows = loop.ring.read()
    assert len(peer.heard) > 300
    assert rows["age"].max() < 256


def test_an_echo_without_a_counter_is_refused():
    text = FILE.replace('  {is = "counter", at = 0, type = "uint16"},\n', "", 1)
    with pytest.raises(InputError, match=r"packet\.receive.*: expected a counter in packet\.send, too"):
        read_channels_text(text)


@st.composite
def layouts(draw):
    """Packets with fields of any type in any order, with gaps; the counters are there, the rest may be."""
    order = draw(st.sampled_from("<>"))

    def side(names):
        at, fields = 0, {}
        for name, kinds in draw(st.permutations(names)):
            kind = draw(st.sampled_from(kinds))
            at += draw(st.integers(0, 5))
            fields[name] = (at, kind)
            at += {"8": 1, "6": 2, "2": 4, "4": 8}[kind[-1]]
        check = draw(st.sampled_from(("", "crc16", "crc32")))
        if check:
            fields[check] = (at, "uint16" if check == "crc16" else "uint32")
            at += 4
        return Layout(at + draw(st.integers(0, 9)), fields, order, check=check)

    unsigned, wide = ["uint8", "uint16", "uint32"], ["int32", "float32", "float64"]
    sent = [("counter", unsigned), ("enable", unsigned), ("command", wide)]
    return side(sent), side(
        [("counter", unsigned), ("echo", unsigned), ("force", [*wide, "int16", "uint16"])]
    )


def as_file(takes, gives):
    """Return what a channels file says of two layouts."""

    def fields(side):
        own = {n: f for n, f in side.fields.items() if n not in ("command", "force")}
        return ", ".join(f'{{is = "{n}", at = {at}, type = "{kind}"}}' for n, (at, kind) in own.items())

    text = ""
    for name, way, unit, (at, kind), gain in (
        ("command", "output", "mm", takes.fields["command"], 0.001),
        ("measured.force", "input", "N", gives.fields["force"], 0.5),
    ):
        text += f'[[channel]]\nname = "{name}"\ndirection = "{way}"\nunit = "{unit}"\n'
        text += f'channel = {at}\ntype = "{kind}"\ngain = {gain}\n'
    text += f'[packet]\nbyte_order = "{"little" if takes.order == "<" else "big"}"\n'
    for way, side in (("send", takes), ("receive", gives)):
        text += f"[packet.{way}]\nbytes = {side.size}\nfields = [{fields(side)}]\n"
    return text


@given(pair=layouts())
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_layout_goes_there_and_back(table, pair):
    """A controller that answers 1, 2, 3...: what it packs is what the loop reads, half of it."""
    takes, gives = pair
    wraps = 2 ** (8 * {"8": 1, "6": 2, "2": 4}[gives.fields["counter"][1][-1]])
    echo = 2 ** (8 * {"8": 1, "6": 2, "2": 4}[gives.fields["echo"][1][-1]])

    def answer(found, number):
        return gives.pack({"force": number, "counter": number % wraps, "echo": found["counter"] % echo})

    lab = read_channels_text(as_file(takes, gives))
    program = build_loop(make_computer("any_layout"), drivers=[driver_file("packet")], channels=lab)
    with Peer(takes, answer) as peer, loop_on(program, peer, table, steps=0, stale=60_000) as loop:
        until(lambda: loop.status().link["received"] > 40)
        loop.stop()
        assert loop.wait(60) == 0, loop.messages
        rows, names, status = loop.ring.read(), loop.ring.names, loop.status()
        command, force = (rows["channels"][:, names.index(n)] for n in ("command", "measured.force"))
    sent = [p["command"] for p in peer.heard if p["enable"] & 1]
    wanted = command[rows["flags"] & 256 > 0] * 1e6
    whole = not takes.fields["command"][1].startswith("float")
    np.testing.assert_allclose(sent, np.rint(wanted) if whole else wanted, rtol=1e-6)
    fresh = force[(rows["flags"] & 1 > 0) & (rows["step"] >= 0)]
    assert (np.diff(fresh) >= 0).all()
    assert (2 * fresh == np.rint(2 * fresh)).all()
    assert fresh.max() >= 10
    assert status.link["corrupted"] == 0
    assert set(LETTERS) >= {k for _, k in takes.fields.values()}


def test_after_a_command_beyond_the_limits_the_way_begins_where_the_output_is(table):
    """The mass begins at 50 mm; its swing to the other side passes the limit of -20 mm."""
    lab = read_channels_text(FILE.replace('["-200 mm", "200 mm"]', '["-20 mm", "200 mm"]'))
    program = build_loop(
        make_computer("one_sided"), safe={"command": 0.01}, drivers=[driver_file("packet")], channels=lab
    )
    with Peer(TAKES, good) as peer, loop_on(program, peer, table, steps=0, stale=60_000) as loop:
        assert loop.wait(60) == 3, loop.messages
        status = loop.status()
        command = loop.ring.read()["channels"][:, loop.ring.names.index("command")]
    assert status.cause == Cause.CONTROLLER_FAULT
    assert "is beyond its limits, -20 to 200 mm" in status.fault_words
    sent = np.array([p["command"] for p in peer.heard if p["enable"] & 1])
    assert sent.min() >= -20_000
    assert sent.tolist() == np.rint(1e6 * command)[: len(sent)].astype(int).tolist()
    lowest = int(sent.argmin())
    assert sent.min() < -15_000
    assert (np.diff(sent[lowest:]) >= 0).all(), "straight from there to the safe command"
    assert peer.heard[-1]["command"] == 10_000
