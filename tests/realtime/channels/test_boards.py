"""Drivers for boards, against stubs of their libraries: scaling, and faults that come through as words."""

import re
from pathlib import Path

import numpy as np
import pytest
from two_halves import LoopOptions, make_computer, until

from bondloop.engine.codegen import compiler
from bondloop.engine.codegen.toolchain import build_program
from bondloop.errors import InputError
from bondloop.files import read_channels_text
from bondloop.realtime import LoopProcess
from bondloop.realtime.programs.build import LIBRARIES, driver_file, loop_sources
from bondloop.safety.causes import Cause

STUBS = Path(__file__).parents[3] / "examples" / "drivers" / "stub"
STRICT = ("-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Werror")
FILES = {"nidaqmx": "nidaqmx_stub.c NIDAQmx.h", "ethercat": "soem_stub.c ethercat.h"}
FILES["comedi"] = "comedi_stub.c comedilib.h"

# 20 mm/V with 5 mm at 0 V; what comes back is read as 400 N/V. Counts: 20 mm for 1000, 1 N for 10.
ANALOGUE = """
[[channel]]
name = "command"
direction = "output"
unit = "mm"
channel = "{out}"
gain = "20 mm/V"
offset = "5 mm"
range = ["-9 V", "9 V"]

[[channel]]
name = "measured.force"
direction = "input"
unit = "kN"
channel = "{back}"
gain = "0.4 kN/V"
zero = "2 N"
range = ["-9.5 V", "9.5 V"]

[[channel]]
name = "loose"
direction = "auxiliary"
unit = "mV"
channel = "{loose}"
gain = 1000

[lines]
stop = "{stop}"
beat = "{beat}"
enable = "{enable}"

[[fault]]
channel = "{pressure}"
active = 0
code = 3
words = "the oil pressure is off"
unpowered = true
"""
NI = ANALOGUE.format(
    out="Dev1/ao1", back="Dev1/ai1", loose="Dev1/ai2", stop="Dev1/port0/line0", beat="Dev1/port0/line6",
    enable="Dev1/port0/line7", pressure="Dev1/port0/line1",
)  # fmt: skip
COMEDI = ANALOGUE.format(out=1, back=1, loose=3, stop=0, beat=6, enable=7, pressure=1)
ETHERCAT = """
[[channel]]
name = "other"
direction = "output"
unit = "mm"
channel = "1:6"
type = "uint16"
gain = 1
rest = 513

[[channel]]
name = "command"
direction = "output"
unit = "mm"
channel = "1:0"
type = "int16"
gain = "0.02 mm"

[[channel]]
name = "measured.force"
direction = "input"
unit = "N"
channel = "2:0"
type = "int16"
gain = 0.1

[[channel]]
name = "loose"
direction = "auxiliary"
unit = "V"
channel = "2:4"
type = "int16"
gain = 0.001

[lines]
stop = "2:6.0"
beat = "1:4.0"
enable = "1:4.1"

[[fault]]
channel = "2:7"
type = "uint8"
bit = 5
active = 0
code = 3
words = "the oil pressure is off"
unpowered = true
"""
LAB = {"nidaqmx": NI, "comedi": COMEDI, "ethercat": ETHERCAT}


def built(scheme, text, safe=0.01, change=("", "")):
    files = loop_sources(
        make_computer(f"on_{scheme}"), safe={"command": safe}, drivers=[driver_file(scheme)],
        channels=read_channels_text(text),
    )  # fmt: skip
    files |= {name: (STUBS / name).read_text(encoding="utf-8") for name in FILES[scheme].split()}
    if change[0]:
        assert files["guard.c"].count(change[0]) == 1
        files["guard.c"] = files["guard.c"].replace(*change)
    return build_program(files, f"{scheme}-loop", compiler(), extra=STRICT)


@pytest.fixture(scope="module")
def programs():
    return {scheme: built(scheme, text) for scheme, text in LAB.items()}


@pytest.fixture
def board(tmp_path, monkeypatch):
    path = tmp_path / "board"
    path.touch()
    monkeypatch.setenv("NIDAQMX_STUB", str(path))
    monkeypatch.setenv("SOEM_STUB", str(path))
    return path


def link(scheme, board):
    return {"nidaqmx": "nidaqmx://rig", "ethercat": "ethercat://eth1", "comedi": f"comedi://{board}"}[scheme]


def options(scheme, board, steps=50, **more):
    return LoopOptions(link=link(scheme, board), steps=steps, retreat=0.02, timeout=1.0, **more)


def rows_of(loop):
    rows, names = loop.ring.read(), loop.ring.names
    wanted = ("command", "measured.force", "aux.loose")
    return rows, *(rows["channels"][:, names.index(n)] for n in wanted)


def words(board, first):
    rows = (line.split() for line in board.read_text().splitlines())
    return [[float(x) for x in row[1:]] for row in rows if row[0] == first]


def test_every_driver_that_comes_along_has_a_stub_or_needs_none():
    assert set(FILES) == {scheme for scheme, libraries in LIBRARIES.items() if libraries}
    assert all(driver_file(scheme).is_file() for scheme in LIBRARIES)


def test_a_board_by_nidaqmx(programs, board, table):
    with LoopProcess(programs["nidaqmx"], options("nidaqmx", board), table) as loop:
        assert loop.wait(20) == 0, loop.messages
        rows, command, force, loose = rows_of(loop)
        assert "tells nothing of an emergency stop" not in loop.messages
        assert "limits of outputs" not in str(loop.ring.self_test["not_tried"])
    volts = np.array(words(board, "ao"))
    assert set(volts[:, 0]) == {0.0}, "the output that the test does not use is left alone"
    sent = np.array([*command, 0.01])  # `close` ends with the safe one
    np.testing.assert_allclose(volts[:, 1], (sent - 0.005) / 0.02, rtol=1e-12)
    seen = np.insert(volts[:, 1], 0, 0.0)[: len(force)]
    np.testing.assert_allclose(force, 400 * seen - 2, rtol=1e-12)
    np.testing.assert_allclose(loose, 1.0)
    assert np.ptp(command) > 1e-4
    enable = [int(row[1]) for row in words(board, "do")]
    assert enable == [0, *(rows["flags"] & 256 > 0).astype(int), 0]


@pytest.mark.parametrize(
    "change",
    [
        ("if (run->stage == BL_INACTIVE || !run->commanded || bl", "if (!run->commanded || bl"),
        ("BL_INACTIVE || !run->commanded || bl_channels", "BL_INACTIVE || bl_channels"),
        ("bl_channels_refuse(run->wire, run->commands) == 0)", "1)"),
        ("memcpy(run->commands, last,", "memcpy(run->from, last,"),
        ("    run->commanded = run->given > run->given_before;", ""),
    ],
)
def test_a_guard_of_outputs_without_a_condition_fails_the_self_test(change, board, table):
    """What an output can give is tried at each start, where the link has channels."""
    with pytest.raises(InputError, match="fails its self-test: 'command' "):
        LoopProcess(built("nidaqmx", NI, change=change), options("nidaqmx", board), table)


def test_a_board_by_comedi(programs, board, table):
    with LoopProcess(programs["comedi"], options("comedi", board), table) as loop:
        assert loop.wait(20) == 0, loop.messages
        _, command, force, _ = rows_of(loop)
    samples = [int(s.split()[2]) for s in board.read_text().splitlines() if s.startswith("1 0 ")]
    sent = np.array([*command, 0.01])
    assert samples == np.rint(65535 * ((sent - 0.005) / 0.02 + 10) / 20).astype(int).tolist()
    seen = -10 + 20 * np.insert(np.array(samples), 0, 32768)[: len(force)] / 65535
    np.testing.assert_allclose(force, 400 * seen - 2, rtol=1e-9)


def test_a_bus_by_ethercat(programs, board, table):
    """The bus is operational from the fourth turn with the first command; before, outputs are not obeyed."""
    with LoopProcess(programs["ethercat"], options("ethercat", board), table) as loop:
        assert loop.wait(20) == 0, loop.messages
        rows, command, force, loose = rows_of(loop)
    turns = [line.split() for line in board.read_text().splitlines()[:-1]]
    assert board.read_text().splitlines()[-1] == "closed"
    outputs = np.array([[int(x) for x in t[1:]] for t in turns])
    counts = (outputs[:, 0] + 256 * outputs[:, 1]).astype(np.int16)
    # Twice a cycle: as the last command left it, and with the new one; at last the safe one.
    sent = np.rint(command / 2e-5).astype(int)
    assert counts[2::2][: len(sent)].tolist() == sent.tolist()
    assert counts[-1] == round(0.01 / 2e-5)
    assert [t[0] for t in turns[:5]] == ["4"] * 5
    assert {t[0] for t in turns[5:]} == {"8"}
    assert np.isin(np.rint(force / 0.1), [0, *sent]).all()
    assert np.ptp(force) > 0
    np.testing.assert_allclose(loose, 1.0)
    assert {tuple(row[6:8]) for row in outputs} == {(1, 2)}, "the other output is at rest: 513 is 1 + 256 * 2"
    enable = (outputs[2::2, 4] >> 1 & 1)[: len(rows)]
    assert enable.tolist() == (rows["flags"] & 256 > 0).astype(int).tolist()


@pytest.mark.parametrize("scheme", LAB)
def test_inactive_nothing_is_put_out(programs, board, table, scheme):
    with LoopProcess(programs[scheme], options(scheme, board, start=False), table) as loop:
        until(lambda: loop.ring.written > 20)
        loop.mailbox.stop()
        assert loop.wait(20) == 0
    text = board.read_text()
    if scheme == "ethercat":
        assert {line.split()[0] for line in text.splitlines()[:-1]} == {"4"}, "never operational"
    else:
        assert not [s for s in text.splitlines() if s.startswith(("ao", "0", "1"))]


PRESSURE = {"nidaqmx": "NIDAQMX_STUB_LOW", "ethercat": "SOEM_STUB_LOW", "comedi": "COMEDI_STUB_STOP"}


@pytest.mark.parametrize("scheme", LAB)
def test_pressure_that_goes_off_comes_through_as_words(programs, board, table, monkeypatch, scheme):
    """All lines fall, the emergency stop among them: the cause is what the controller says; no retreat."""
    monkeypatch.setenv(PRESSURE[scheme], "40")
    with LoopProcess(programs[scheme], options(scheme, board, steps=0), table) as loop:
        assert loop.wait(20) == 3
        status = loop.status()
        found = status.cause, status.cause_detail, status.fault_words
        rows, command, _, _ = rows_of(loop)
        assert "the rig's controller reported fault 3: the oil pressure is off" in loop.messages
    assert found == (Cause.CONTROLLER_FAULT, 3, "the oil pressure is off")
    after = rows["cycle"] >= status.cause_cycle
    assert set(command[after]) == {command[status.cause_cycle - 1]}, (
        "no power, no retreat: the last one stays"
    )
    assert not (rows["flags"][after] & 256).any()


def test_nothing_starts_without_pressure(programs, board, table, monkeypatch):
    monkeypatch.setenv("NIDAQMX_STUB_LOW", "0")
    with pytest.raises(InputError, match=r"emergency stop at the rig is pressed|reports fault 3"):
        LoopProcess(programs["nidaqmx"], options("nidaqmx", board), table)
    assert words(board, "ao") == []


def test_an_overrun_of_the_board_comes_through_as_words(programs, board, table, monkeypatch):
    monkeypatch.setenv("NIDAQMX_STUB_OVERRUN", "30")
    with LoopProcess(programs["nidaqmx"], options("nidaqmx", board), table) as loop:
        assert loop.wait(20) == 3
        status = loop.status()
        assert (status.cause, status.cause_detail) == (Cause.CONTROLLER_FAULT, 200279)
        assert status.fault_words.startswith("the analogue inputs: The application is not able to keep up")
    assert words(board, "ao")[-1][1] == pytest.approx(0.25), "and the way to safety was written: 10 mm"


def test_a_slave_that_is_gone_and_frames_that_are_lost(programs, board, table, monkeypatch):
    monkeypatch.setenv("SOEM_STUB_MISSING", "60")
    with LoopProcess(programs["ethercat"], options("ethercat", board, steps=0), table) as loop:
        assert loop.wait(20) == 3
        assert loop.status().cause == Cause.CONTROLLER_FAULT
        assert loop.status().fault_words == "slaves are missing on the bus: working counter 2 of 3"
    monkeypatch.delenv("SOEM_STUB_MISSING")
    monkeypatch.setenv("SOEM_STUB_LOST", "60")
    with LoopProcess(programs["ethercat"], options("ethercat", board, steps=0), table) as loop:
        assert loop.wait(20) == 3
        assert loop.status().cause == Cause.LINK_LOST


@pytest.mark.parametrize(
    ("scheme", "old", "new", "words_"),
    [
        ("nidaqmx", "Dev1/ai1", "Dev2/ai1", "Dev2/ai1: Device identifier is invalid."),
        ("nidaqmx", "Dev1/ao1", "Dev1/ao7", "Dev1/ao7: Physical channel specified does not exist"),
        ("nidaqmx", "Dev1/port0/line1", "Dev1/port0/line9", "Dev1/port0/line9: Physical channel specified"),
        ("nidaqmx", "Dev1/ai1", "Dev1/ai0:1", "Dev1/ai0:1 makes 2 channels; expected one"),
        ("nidaqmx", "Dev1/ao1", "Dev1/ao0:1", "Dev1/ao0:1 makes 2 channels; expected one"),
        ("nidaqmx", "Dev1/port0/line1", "Dev1/port0/line1:4", "Dev1/port0/line1:4 makes 4 channels"),
        ("nidaqmx", "Dev1/port0/line0", "Dev1/port0", "Dev1/port0 makes 8 channels; expected one: name each"),
        ("nidaqmx", "Dev1/port0/line6", "Dev1/port0/line5:6", "Dev1/port0/line5:6 makes 2 channels"),
        ("nidaqmx", "Dev1/port0/line7", "Dev1/port0", "Dev1/port0 makes 8 channels; expected one"),
        ("ethercat", "2:0", "5:0", "there is no such slave on the bus: 5:0"),
        ("ethercat", "2:4", "2:7", "the slave has no such inputs: 2:7"),
        ("ethercat", "1:0", "1.0", "expected SLAVE:BYTE; found 1.0"),
        ("ethercat", "2:6.0", "2:6", "expected SLAVE:BYTE.BIT; found 2:6"),
        ("ethercat", "2:6.0", "3:0.4", "the slave has no such inputs: 3:0.4"),  # it has four bits
        ("ethercat", "2:7", "3:0", "the slave has single bits, and no field: say SLAVE:BYTE.BIT"),
        (
            "nidaqmx",
            "gain = 1000",
            'gain = 1\nraw = "mA"',
            "the board gives and takes volts; found the channel loose",
        ),
        ("comedi", "gain = 1000", 'gain = 1\nraw = "mA"', "found the channel loose with another raw unit"),
        (
            "comedi",
            "gain = 1000",
            'gain = 1\ntype = "int16"',
            "found the channel loose with the type of a field",
        ),
        ("nidaqmx", "active = 0", 'type = "uint8"\nbit = 3', "a fault is at a digital line, without a type"),
        ("comedi", 'channel = "1"\ngain = "20', 'channel = "2"\ngain = "20', "no out=2, but the board has 2"),
        ("comedi", 'channel = "3"', 'channel = "three"', "expected the number of a channel; found three"),
        ("comedi", 'stop = "0"', 'stop = "8"', "no stop=8, but the board has 8 such lines"),
    ],
)
def test_what_is_not_there_is_said(board, table, scheme, old, new, words_):
    assert old in LAB[scheme]
    program = built(scheme, LAB[scheme].replace(old, new, 1))
    with pytest.raises(InputError, match=re.escape(words_)):
        LoopProcess(program, options(scheme, board), table)


@pytest.mark.parametrize(("stop", "pressed"), [("3:0.3", False), ("4:0.0", True)])
def test_the_bits_of_slaves_that_share_a_byte_are_their_own(board, table, stop, pressed):
    # SOEM packs slaves of less than eight bits into one byte: slave 4 begins at its bit 4 (Istartbit).
    program = built("ethercat", ETHERCAT.replace("2:6.0", stop))
    if pressed:
        with pytest.raises(InputError, match="the emergency stop at the rig is pressed"):
            LoopProcess(program, options("ethercat", board), table)
        return
    with LoopProcess(program, options("ethercat", board), table) as loop:
        loop.wait()
        assert loop.status().cause == 0


@pytest.mark.parametrize(
    ("interface", "found"),
    [
        ("none", "the network interface cannot be opened"),
        ("empty", "no slave answers on this interface"),
        ("stuck", "not all slaves reach SAFE_OP: slave 2 (inputs): Sync manager watchdog"),
    ],
)
@pytest.mark.usefixtures("board")
def test_a_bus_that_is_not_there(programs, table, interface, found):
    with pytest.raises(InputError, match=re.escape(found)):
        LoopProcess(programs["ethercat"], LoopOptions(link=f"ethercat://{interface}"), table)


def test_the_safe_command_must_be_in_reach(board, table):
    program = built("nidaqmx", NI, safe=0.5)
    with pytest.raises(
        InputError, match=r"the safe command, 500 mm, is beyond the limits or the range of command"
    ):
        LoopProcess(program, options("nidaqmx", board), table)
