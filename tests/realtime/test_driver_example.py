"""The worked example of a driver, link_comedi.c, against the stub of its library."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from two_halves import LoopOptions, make_computer, until

from bondloop.errors import InputError
from bondloop.realtime import LoopProcess
from bondloop.safety.causes import Cause

FOLDER = Path(__file__).parents[2] / "examples" / "drivers"
STRICT = ("-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Werror")
STEPS = 65535  # of a converter of 16 bits
ZERO = 32768  # 0 V, or as near as it comes


def example(path):
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(safe=0.01):
    tick = make_computer("with_comedi")
    return example(FOLDER / "comedi_loop.py").build(tick, {"command": safe}, options=STRICT)


@pytest.fixture(scope="module")
def program():
    return built()


@pytest.fixture
def board(tmp_path):
    path = tmp_path / "board"
    path.touch()
    return path


def written(board):
    """Return channels, ranges and samples in the order in which the outputs were converted."""
    return np.loadtxt(board, dtype=int, ndmin=2).T


def volts(sample, most=10.0):
    return -most + 2 * most * sample / STEPS


def options(board, wires, steps=50, **more):
    return LoopOptions(link=f"comedi://{board}?{wires}", steps=steps, retreat=0.02, **more)


def test_commands_come_out_as_volts_and_volts_come_in_as_newtons(program, board, table):
    """20 mm/V with 5 mm at 0 V on output 1; a cable to input 1, which is read as 400 N/V with -3 N at 0 V."""
    with LoopProcess(program, options(board, "out=1,0.02,0.005&in=1,400,-3"), table) as loop:
        assert loop.wait(20) == 0, loop.messages
        rows, status = loop.ring.read(), loop.status()
        command, force = (
            rows["channels"][:, loop.ring.names.index(n)] for n in ("command", "measured.force")
        )
    channel, number, sample = written(board)
    assert set(channel) == {1}
    assert set(number) == {0}
    # Nothing before the commands of the cycles, and `close` ends with the safe one.
    sent = np.array([*command, 0.01])
    assert sample.tolist() == np.rint(STEPS * ((sent - 0.005) / 0.02 + 10) / 20).astype(int).tolist()
    assert np.ptp(command) > 1e-4  # it did move
    seen = np.insert(sample, 0, ZERO)[: len(force)]
    np.testing.assert_allclose(force, -3 + 400 * volts(seen), rtol=1e-12)
    assert command[-1] == 0.01
    assert status.link["sent"] == status.link["received"] == status.counts["cycles"] == len(rows)
    assert status.counts["stale"] == 0


def test_another_range_has_finer_steps(program, board, table):
    """Output 0 at +-5 V (range 1), input 2 behind a divider by two, at +-10 V."""
    with LoopProcess(program, options(board, "out=0,0.02,0,1&in=2,100"), table) as loop:
        assert loop.wait(20) == 0, loop.messages
        rows = loop.ring.read()
        command, force = (
            rows["channels"][:, loop.ring.names.index(n)] for n in ("command", "measured.force")
        )
    _, number, sample = written(board)
    assert set(number) == {1}
    np.testing.assert_allclose(volts(sample[:-1], most=5.0), command / 0.02, atol=5 / STEPS)
    # Half a step of the input, 10 V/65535, and half the error of the output's.
    np.testing.assert_allclose(force[1:], 100 * 0.5 * command[:-1] / 0.02, atol=100 * 1.3 * 10 / STEPS)


@pytest.mark.parametrize("start", [True, False])
def test_inactive_the_outputs_are_left_alone(program, board, table, start):
    with LoopProcess(program, options(board, "out=0,0.02&in=3,400", start=False), table) as loop:
        until(lambda: loop.ring.written > 20)
        if start:
            assert board.read_text() == ""
            loop.mailbox.start()
            until(lambda: loop.ring.state == "active")
        else:
            loop.mailbox.stop()
            assert loop.wait(20) == 0
        rows = loop.ring.read()
        inactive = rows["channels"][rows["state"] == 1]
        # A loose input hangs at 1 V: the sensor is read all the time.
        shown = inactive[1:, loop.ring.names.index("measured.force")]
        np.testing.assert_allclose(shown, 400 * volts(round(STEPS * 11 / 20)), rtol=1e-12)
    if not start:
        assert board.read_text() == ""  # nor did `close` write anything
        return
    sample = written(board)[2]
    assert sample[0] == round(STEPS * (0.05 / 0.02 + 10) / 20)  # the mass begins at 50 mm
    assert sample[-1] == round(STEPS * (0.01 / 0.02 + 10) / 20)


@pytest.mark.parametrize(
    ("wires", "words"),
    [
        ("out=2,0.02&in=0,1", "no out=2, but the board has 2 such channels"),
        ("out=0,0.02&in=4,1", "no in=4, but the board has 4 such channels"),
        ("out=0,0.02,0,2&in=0,1", "no range 2 of out=0; the board has 2"),
        ("out=0,0.02", "are 1 and 1, found 1 out= and 0 in="),
        ("out=0,0.02&out=1,0.02&in=0,1", "found 2 out= and 1 in="),
        ("out=0,0&in=0,1", "expected out= or in=CHANNEL,SCALE[,OFFSET[,RANGE]]; found out=0,0"),
        ("out=0&in=0,1", "found out=0"),
        ("out=-1,0.02&in=0,1", "found out=-1,0.02"),
        ("out=0.5,0.02&in=0,1", "found out=0.5,0.02"),
        ("out=0,0.02,0,0,7&in=0,1", "found out=0,0.02,0,0,7"),
        ("out=0,nan&in=0,1", "found out=0,nan"),
        ("out=0,0.02&sensor=0,1", "found sensor=0,1"),
        ("out=0,0.02&in=0,1&stop=8", "no stop=8, but the board has 8 such lines"),
        ("out=0,0.02&in=0,1&stop=", "expected stop=, beat= or enable=LINE, each once; found stop="),
        ("out=0,0.02&in=0,1&beat=1&beat=2", "each once; found beat=2"),
        ("out=0,0.02&in=0,1&enable=-1", "each once; found enable=-1"),
        ("out=0,0.0005&in=0,1", "the safe command is beyond the range of its output"),
    ],
)
def test_refuses_what_the_board_cannot_do(program, board, table, wires, words):
    """And leaves the outputs alone."""
    with pytest.raises(InputError, match=re.escape(words)):
        LoopProcess(program, options(board, wires), table)
    assert board.read_text() == ""


def test_a_board_that_is_not_there(program, tmp_path, table):
    with pytest.raises(InputError, match="cannot be opened: No such file"):
        LoopProcess(program, options(tmp_path / "none", "out=0,0.02&in=0,1"), table)


def test_a_second_loop_is_refused(program, board, table):
    wires = "out=0,0.02&in=0,1"
    with LoopProcess(program, options(board, wires, steps=0), table) as loop:
        with pytest.raises(InputError, match="another program uses the board"):
            LoopProcess(program, options(board, wires), table)
        assert loop.running


def test_lock_step_is_no_capability_of_a_board(program, board, table):
    with pytest.raises(InputError, match="cannot run in lock-step"):
        LoopProcess(program, options(board, "out=0,0.02&in=0,1", lock_step=True), table)


def test_a_board_that_stops_converting(program, board, table, monkeypatch):
    """After 31 readings, one by `open`, the 31st cycle trips; the way to safety is still written."""
    monkeypatch.setenv("COMEDI_STUB_FAIL", "31")
    with LoopProcess(program, options(board, "out=0,0.02&in=0,1"), table) as loop:
        assert loop.wait(20) == 3
        status, rows = loop.status(), loop.ring.read()
        assert (status.cause, status.cause_cycle) == (Cause.LINK_LOST, 30)
        command = rows["channels"][:, loop.ring.names.index("command")]
    sample = written(board)[2]
    assert len(sample) == len(rows) + 1
    assert command[-1] == 0.01
    assert sample[-1] == round(STEPS * (0.01 / 0.02 + 10) / 20)


def test_a_command_beyond_the_range_is_held_and_trips(board, table):
    """1 mm/V reaches to 10 mm, the mass begins at 50 mm: the cycle that sends it trips."""
    with LoopProcess(built(safe=0.0), options(board, "out=0,0.001&in=0,1"), table) as loop:
        assert loop.wait(20) == 3
        status, rows = loop.status(), loop.ring.read()
        assert (status.cause, status.cause_cycle) == (Cause.LINK_LOST, 0)
        command = rows["channels"][:, loop.ring.names.index("command")]
    sample = written(board)[2]
    reached = command[np.abs(command) <= 0.01]
    assert len(reached) < len(command)
    expected = np.rint(STEPS * (np.array([*reached, 0.0]) / 0.001 + 10) / 20)
    assert np.abs(sample - expected).max() <= 1  # a tie between two steps may go either way


def test_a_sensor_at_the_end_of_its_range_trips(program, board, table):
    """5 mm/V asks for 10 V at 50 mm; an input with a range of 5 V is at its end, which is no measurement."""
    with LoopProcess(program, options(board, "out=0,0.00505&in=0,1,0,1"), table) as loop:
        assert loop.wait(20) == 3
        assert loop.status().cause == Cause.NOT_A_NUMBER
        rows = loop.ring.read()
        assert np.isfinite(rows["channels"]).all()
    assert written(board)[2][-1] == round(STEPS * (0.01 / 0.00505 + 10) / 20)


LINES = "out=0,0.02&in=0,1&stop=5&beat=6&enable=7"


def digital(board, number):
    """Return what was written to a digital line, in its order."""
    words = (text.split() for text in board.read_text().splitlines())
    return [int(w[2]) for w in words if w[0] == "line" and int(w[1]) == number]


def samples(board):
    return [int(text.split()[2]) for text in board.read_text().splitlines() if not text.startswith("line")]


def test_the_enable_line_and_the_beat(program, board, table):
    """Low from `open` on; with the commands high, and toggling; low with the last one, and by `close`."""
    with LoopProcess(program, options(board, LINES, start=False), table) as loop:
        until(lambda: loop.ring.written > 20)
        assert set(digital(board, 7)) == set(digital(board, 6)) == {0}
        assert samples(board) == []
        loop.mailbox.start()
        assert loop.wait(20) == 0, loop.messages
        rows = loop.ring.read()
        assert "tells nothing of an emergency stop" not in loop.messages
    enable, beat = digital(board, 7), digital(board, 6)
    given = (rows["flags"] & 256 > 0).astype(int)
    assert enable == [0, *given, 0]
    assert given.sum() == len(samples(board)) - 2, "all but those of the last cycle and of `close`"
    at = np.flatnonzero(enable)
    assert np.abs(np.diff(np.array(beat)[at])).tolist() == [1] * (len(at) - 1)
    text = board.read_text().splitlines()
    first = text.index("line 7 1")
    assert not text[first - 2].startswith("line"), "enabled when the command is there"


def test_the_emergency_stop_of_a_board(program, board, table, monkeypatch):
    """High at 31 readings, one by `open`: the 31st cycle trips; the last command stays."""
    monkeypatch.setenv("COMEDI_STUB_STOP", "31")
    with LoopProcess(program, options(board, LINES), table) as loop:
        assert loop.wait(20) == 3
        status, rows = loop.status(), loop.ring.read()
        assert (status.cause, status.cause_cycle) == (Cause.EMERGENCY_STOP, 30)
        command = rows["channels"][:, loop.ring.names.index("command")]
    assert digital(board, 7) == [0, *[1] * 30, *[0] * (len(rows) - 30), 0]
    assert set(command[30:]) == {command[29]}
    volt = np.rint(STEPS * (command / 0.02 + 10) / 20).astype(int).tolist()
    assert samples(board) == volt, "and not the safe command, to which it would jump"


def test_nothing_starts_while_the_emergency_stop_of_a_board_is_pressed(program, board, table, monkeypatch):
    monkeypatch.setenv("COMEDI_STUB_STOP", "0")
    with pytest.raises(InputError, match="the emergency stop at the rig is pressed"):
        LoopProcess(program, options(board, LINES), table)
    assert samples(board) == []
    assert set(digital(board, 7)) == {0}


def test_hot_as_for_measuring_what_the_driver_costs(program, board, table):
    with LoopProcess(program, options(board, "out=0,0.02&in=0,1", steps=200, hot=True), table) as loop:
        assert loop.wait(20) == 0
        assert loop.status().exchange.count == loop.status().counts["cycles"]
        assert loop.status().exchange.most > 0


def test_a_whole_test_with_its_record(board, tmp_path):
    """The displacement is measured at the output's cable, a sample late; force and velocity are at rest."""
    test = example(FOLDER.parent / "first_hybrid_test.py").test(noise=0.0).replaced(gap=60.0)
    link = f"comedi://{board}?out=0,0.005&in=3,1e-6&in=0,0.005&in=1,1e-6"
    run = example(FOLDER / "comedi_loop.py").run(
        test, 0.25, link, tmp_path / "run.h5", stub=True, retreat=0.01
    )
    assert run.completed, run.verdict
    command, found = run["command"], run["actual.displacement"]
    assert len(command) == 1001  # 4 kHz
    step = 0.005 * 20 / STEPS
    np.testing.assert_allclose(found[1:], command[:-1], atol=0.51 * step)
    assert np.ptp(command) > 20 * step
    assert link in str(run.record.description["realtime"]["link"])  # the calibration is on record


def test_watching_what_is_measured_without_starting(board):
    test = example(FOLDER.parent / "first_hybrid_test.py").test()
    link = f"comedi://{board}?out=0,0.005&in=3,200&in=0,0.005&in=1,1"
    watching = example(FOLDER / "comedi_loop.py").watch(test, link, stub=True)
    force = pytest.approx(200 * volts(round(STEPS * 11 / 20)))
    try:
        until(lambda: next(watching)["measured.force"] == force)
        assert set(next(watching)) == {"measured.force", "measured.displacement", "measured.velocity"}
    finally:
        watching.close()
    assert board.read_text() == ""
