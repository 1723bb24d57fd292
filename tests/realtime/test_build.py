"""Building programs: warnings, the layout of what is shared, what is refused, a driver of one's own."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from two_halves import (
    CHANNELS,
    COMMAND,
    FORCE,
    LOAD,
    PERIOD,
    SENT,
    K,
    LoopOptions,
    T,
    make_computer,
    make_rig,
)

from bondloop.engine.codegen.toolchain import build_program
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.errors import CompileError, InputError
from bondloop.papers import dubois_damper, gawthrop_two_actuators, wagg_two_mass_rig
from bondloop.realtime import LoopProcess
from bondloop.realtime.programs.build import build_loop, build_rig, loop_sources, rig_sources
from bondloop.realtime.programs.interface import computer_ends, rig_ends
from bondloop.realtime.protocol import EVENT, HEADER, MAIL, slot_type

sys.path.insert(0, str(Path(__file__).parents[1] / "codegen"))
from compilers_here import COMPILERS, STRICT


@pytest.mark.parametrize("using", COMPILERS)
@pytest.mark.parametrize(
    "hooks", [(), pytest.param(("-DBL_TEST_HOOKS",), marks=pytest.mark.nightly)], ids=["as it is", "hooks"]
)
def test_all_c_compiles_without_a_warning(using, hooks):
    for files in (loop_sources(make_computer(), rig=make_rig()), rig_sources(make_rig())):
        assert build_program(files, "strict", COMPILERS[using], extra=(*STRICT, *hooks)).exists()


@pytest.mark.parametrize("using", COMPILERS)
@pytest.mark.parametrize("paper", [dubois_damper, gawthrop_two_actuators, wagg_two_mass_rig])
def test_generated_ticks_compile_without_a_warning(paper, using):
    test = paper.test()
    files = loop_sources(test.computer_tick, rig=test.rig_tick())
    assert build_program(files, "strict", COMPILERS[using], extra=STRICT).exists()


def test_python_and_c_agree_on_the_layout(programs):
    printed = json.loads(subprocess.check_output([programs.loop, "--layout"]))
    assert printed.pop("header") == HEADER.itemsize
    assert printed.pop("slot") == slot_type(0).itemsize
    assert printed.pop("mail_size") == MAIL.itemsize
    assert printed.pop("event_size") == EVENT.itemsize
    assert printed == {name: HEADER.fields[name][1] for name in printed}
    assert len(printed) > 10


def test_what_was_built_is_kept(programs):
    assert build_loop(make_computer(), rig=make_rig()) == programs.loop
    other = replace(make_computer(), period=2e-3)
    assert build_loop(other) != programs.loop


def test_names_and_units_travel_with_the_telemetry(table):
    odd = (*CHANNELS, Channel('a "quoted" \\ name?', COMMAND, "µm"), Channel("größe", COMMAND))
    program = build_loop(make_computer("named", channels=odd), rig=make_rig(), about={"test": "tête-à-tête"})
    with LoopProcess(program, LoopOptions(lock_step=True, steps=3, retreat=1e-3), table) as loop:
        loop.wait(20)
        assert loop.ring.names == [c.name for c in odd]
        assert loop.ring.units == [c.unit for c in odd]
        about = loop.ring.metadata
        assert (about["test"], about["tick"], about["period"]) == ("tête-à-tête", "named", PERIOD)
        assert (about["commands"], about["measured"]) == (["command"], ["measured.force"])
        assert (about["tables"], about["parameters"]) == (["load.now"], ["stiffness"])


DRIVER = """
#include "link.h"
/* A board whose only sensor shows the last command plus one half. */
static double last;
static int board_open(bl_link_config *config, double *measured)
{
    (void)config;
    measured[0] = 0.5;
    return BL_LINK_FRESH;
}
static int board_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    if (commands) {
        last = commands[0];
        counts->sent += 1;
    }
    if (measured)
        measured[0] = last + 0.5;
    return BL_LINK_FRESH;
}
static void board_close(void)
{
}
const bl_link bl_link_board = {"board", BL_LINK_REAL_TIME, board_open, board_exchange, board_close};
"""


def test_a_driver_of_ones_own_is_one_file(tmp_path, table):
    path = tmp_path / "link_board.c"
    path.write_text(DRIVER)
    program = build_loop(make_computer("with_board"), drivers=[path])
    with LoopProcess(program, LoopOptions(link="board://0", steps=20, retreat=0.005), table) as loop:
        assert loop.wait(20) == 0
        rows = loop.ring.read()
        command, force = (
            rows["channels"][:20, loop.ring.names.index(n)] for n in ("command", "measured.force")
        )
        assert force[1:].tolist() == (command[:-1] + 0.5).tolist()
    with pytest.raises(InputError, match="cannot run in lock-step"):
        LoopProcess(program, LoopOptions(link="board://0", lock_step=True), table)


def test_drivers_that_are_none(tmp_path):
    for name in ("board.c", "link_udp.c", "link_x.txt"):
        path = tmp_path / name
        path.write_text("")
        with pytest.raises(InputError, match=r"a driver is a file link_NAME\.c"):
            build_loop(make_computer(), drivers=[path])
    path = tmp_path / "link_broken.c"
    path.write_text("this is no C")
    with pytest.raises(CompileError, match=r"link_broken\.c"):
        build_loop(make_computer(), drivers=[path])


def test_ticks_that_do_not_fit():
    with pytest.raises(InputError, match="no channel with the role of a command"):
        computer_ends(make_computer(channels=CHANNELS[:1]))
    sent = (Channel("command", LOAD, "", SENT),)
    with pytest.raises(InputError, match="measured inputs last"):
        Tick("swapped", PERIOD, T, K, (FORCE, LOAD), {}, {}, (), sent, {}, (FORCE,))
    with pytest.raises(InputError, match="did you mean 'command'"):
        computer_ends(make_computer(), safe={"comand": 1.0})
    with pytest.raises(InputError, match=r"unknown measured value 'measured\.velocity'"):
        build_rig(make_rig(), measured=["measured.velocity"])
    with pytest.raises(InputError, match="takes the commands command; the loop sends"):
        rig_ends(make_rig(), commands=["command[0]", "command[1]"])


def test_the_signature_is_that_of_the_names_in_their_order():
    ends = computer_ends(make_computer())
    assert ends.signature == rig_ends(make_rig()).signature
    assert replace(ends, measured=("measured.velocity",)).signature != ends.signature


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"overrun": "ignore"}, "overrun must be"),
        ({"retreat": -1.0}, "retreat must be finite"),
        ({"steps": float("inf")}, "steps: expected a finite number"),
        ({"stale": 2.5}, "stale must be a whole number"),
        ({"frozen": "10 ms"}, "frozen: expected a number without a unit"),
        ({"priority": 100}, "priority must be at most 99"),
        ({"cpu": -1}, "cpu must be finite and not negative"),
    ],
)
def test_options_that_make_no_sense(given, words):
    with pytest.raises(InputError, match=words):
        LoopOptions(**given)


def test_a_table_that_is_missing(programs):
    with pytest.raises(InputError, match="needs a table of 1 signals"):
        LoopProcess(programs.loop, LoopOptions())


def test_an_unknown_parameter(programs, table):
    with pytest.raises(InputError, match="no such parameter"):
        LoopProcess(programs.loop, LoopOptions(parameters={"mass": 1.0}), table)
