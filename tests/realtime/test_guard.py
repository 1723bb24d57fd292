"""Measured values that cannot be believed never reach the tick."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from two_halves import LoopOptions, make_computer, make_rig

from bondloop import papers
from bondloop.cli.settings import find_test
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import LoopProcess, RigOptions, RigProcess
from bondloop.realtime.machine_limits import NEEDED
from bondloop.realtime.programs.build import build_loop
from bondloop.realtime.programs.interface import measured_names
from bondloop.safety import Interlock, Limits
from bondloop.safety.causes import Cause

AT = 40


def run(program, table, link, **more):
    options = LoopOptions(link=link, lock_step=True, steps=500, retreat=0.02, timeout=20.0, **more)
    with LoopProcess(program, options, table) as loop:
        assert loop.wait(60) == 3
        return loop.ring.read(), loop.ring.names, loop.status()


@pytest.mark.parametrize(
    ("fault", "cause", "delay"),
    [("nan", Cause.NOT_A_NUMBER, 0), ("inf", Cause.NOT_A_NUMBER, 0), ("frozen", Cause.STALE, 4)],
)
def test_faulty_sensors(programs, table, shm, fault, cause, delay):
    """The value of measurement 40 (from 0) is bad; a frozen one is found when it has come five times more."""
    with RigProcess(programs.rig, RigOptions(link=shm, fault=f"{fault}@{AT}", timeout=20.0)) as rig:
        rows, names, status = run(programs.loop, table, rig.link, frozen=5)
    assert (status.cause, status.cause_step) == (cause, AT + delay)
    force, command = (rows["channels"][:, names.index(n)] for n in ("measured.force", "command"))
    assert np.isfinite(force).all()
    assert np.isfinite(command).all()
    assert (command[-1], rows["state"][-1]) == (0, 4)
    assert rows["state"][status.cause_cycle - 1] == 2
    assert len(rows) <= status.cause_cycle + 20 + 3
    if fault != "frozen":
        assert not np.isfinite(status.cause_value)
        assert status.counts["refused"] > 0
        assert (rows["flags"][AT:] & 16).any()


DRIVER = """
#include <stdlib.h>
#include <string.h>
#include "link.h"
/* Sensors that show nothing, and from measurement AT on one VALUE: any://AT:INDEX:VALUE */
static long at, index_, now, count;
static double value;

static int show(double *measured)
{
    memset(measured, 0, sizeof(double)*(size_t)count);
    if (now++ >= at)
        measured[index_] = value;
    return BL_LINK_FRESH;
}

static int any_open(bl_link_config *config, double *measured)
{
    char *end;
    at = strtol(config->address, &end, 10);
    index_ = strtol(end + 1, &end, 10);
    value = strtod(end + 1, &end);
    count = config->measured;
    return show(measured);
}

static int any_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    counts->sent += commands != NULL;
    return measured == NULL ? BL_LINK_OLD : show(measured);
}

static void any_close(void)
{
}

const bl_link bl_link_any = {"any", BL_LINK_REAL_TIME | BL_LINK_LOCK_STEP | BL_LINK_EMULATED,
    any_open, any_exchange, any_close};
"""
LIMITS = {"force": 350.0, "displacement": 0.021, "velocity": 0.83}
MOST = 0.019
"""Of the command, in m."""


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    """A loop of a test with limits, of other values than the test's own, and sensors that show anything."""
    driver = tmp_path_factory.mktemp("driver") / "link_any.c"
    driver.write_text(DRIVER)
    interlock = Interlock(Limits(**LIMITS, command=MOST, command_rate=2.5), retreat=0.02, release=0.01)
    test = gawthrop_two_actuators.test().replaced(interlock=interlock, limits=None)
    return build_loop(test.computer_tick, drivers=[driver]), measured_names(test.computer_tick)


@given(
    index=st.integers(0, 5),
    at=st.integers(0, 60),
    beyond=st.one_of(st.sampled_from([1.0 + 1e-9, 1e9, 1e18, 1e100, 1e300]), st.floats(1.001, 50)),
    sign=st.sampled_from([-1.0, 1.0]),
)
@settings(max_examples=40, deadline=None)
def test_a_number_of_any_size_trips_by_its_limit_in_the_very_tick(strange, index, at, beyond, sign):
    """No belief limit stands before the interlock, and none is needed (decision 0042)."""
    program, measured = strange
    word = measured[index].split(".")[1].split("[")[0]
    value = sign * min(beyond * LIMITS[word], 1e308)
    options = LoopOptions(link=f"any://{at}:{index}:{value!r}", lock_step=True, steps=120, retreat=0.02)
    with LoopProcess(program, options) as loop:
        assert loop.wait(60) == 3
        rows, names, status = loop.ring.read(), loop.ring.names, loop.status()
    assert (status.cause, status.cause_step) == (Cause[word.upper()], at)
    command = rows["channels"][:, [names.index(f"command[{i}]") for i in range(2)]]
    assert np.abs(command).max() <= MOST
    first = rows["step"].tolist().index(at)
    before = command[first - 1] if at > 0 else np.zeros(2)
    np.testing.assert_array_equal(command[first], before)  # the way to safety begins where the rig was
    assert (command[-1] == 0).all()


@pytest.mark.parametrize("factor", [1.0, 1.0 - 1e-9])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("index", range(6))
def test_a_number_at_its_limit_does_not_trip(strange, index, sign, factor):
    program, measured = strange
    value = sign * factor * LIMITS[measured[index].split(".")[1].split("[")[0]]
    options = LoopOptions(link=f"any://7:{index}:{value!r}", lock_step=True, steps=9, retreat=0.02)
    with LoopProcess(program, options) as loop:
        assert loop.wait(60) == 0


@pytest.mark.parametrize("name", [e.name for e in papers.entries() if e.kind == "test"])
def test_whatever_a_machine_measures_has_a_limit(name):
    """A machine needs limits of displacement, velocity and force: nothing else comes into the loop."""
    test, _ = find_test(name, [])
    assert {"displacement", "velocity", "force"} <= set(NEEDED)
    if getattr(test, "coupling", "") == "sampled":
        words = {n.split(".")[1].split("[")[0] for n in measured_names(test.computer_tick)}
        assert words <= {"displacement", "velocity", "force"}


def test_another_safe_command(table):
    program = build_loop(make_computer("elsewhere"), rig=make_rig(), safe={"command": 0.0125})
    with LoopProcess(program, LoopOptions(lock_step=True, steps=50, retreat=0.02), table) as loop:
        assert loop.wait(20) == 0
        command = loop.ring.read()["channels"][:, loop.ring.names.index("command")]
    assert command[-1] == 0.0125


def test_what_is_not_granted_is_said(programs, table):
    """No machine has a processor 1023: the loop says so and runs on another."""
    with LoopProcess(programs.loop, LoopOptions(cpu=1023, steps=5, retreat=1e-3), table) as loop:
        assert loop.wait(20) == 0
        assert "not pinned to processor 1023" in loop.messages
        assert loop.status().counts["pinned"] == 0
    with LoopProcess(programs.loop, LoopOptions(cpu=0, steps=5, retreat=1e-3), table) as loop:
        assert loop.wait(20) == 0
        assert loop.status().counts["pinned"] == 1
