"""Inactive, active, retreat, safe, finalized: and the way to safety from each."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from two_halves import (
    CHANNELS,
    COMMAND,
    SENT,
    K,
    LoopOptions,
    V,
    X,
    hooked,
    make_computer,
    make_interlocked,
    make_rig,
    stall,
    until,
)

from bondloop.engine.ir.expr import Const, Var, function, select
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel
from bondloop.realtime import LoopProcess, RigOptions, RigProcess, Ring
from bondloop.realtime.programs.build import build_loop
from bondloop.realtime.stop_requests import FOLDER
from bondloop.safety.causes import Cause

OPTIONS = {"link": "loopback://", "retreat": 0.02}


def states(rows):
    """The states in their order, each once."""
    found = rows["state"]
    return found[np.insert(np.diff(found) != 0, 0, True)].tolist()


def channel(loop, rows, name):
    return rows["channels"][:, loop.ring.names.index(name)]


def test_waits_for_the_start_and_goes_through_all_states(programs, table):
    with LoopProcess(programs.loop, LoopOptions(start=False, **OPTIONS), table) as loop:
        until(lambda: loop.ring.written > 20)
        assert loop.ring.state == "inactive"
        number = loop.mailbox.start()
        until(lambda: loop.ring.state == "active")
        assert loop.mailbox.taken(number)
        loop.mailbox.stop()
        assert loop.wait(20) == 0
        rows = loop.ring.read()
        assert states(rows) == [1, 2, 3, 4]
        assert loop.ring.state == "finalized"
        inactive = rows[rows["state"] == 1]
        assert (inactive["step"] == -1).all()
        assert (channel(loop, inactive, "command") == 0).all()  # nothing but the safe command
        assert (channel(loop, inactive, "measured.force")[1:] != 0).all()  # but it reads
        steps = rows["step"][rows["step"] >= 0]
        assert steps.tolist() == list(range(len(steps)))
        assert rows["cycle"].tolist() == list(range(len(rows)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("start", [True, False], ids=["active", "inactive"])
def test_signals_lead_to_the_safe_state(programs, table, number, start):
    with LoopProcess(programs.loop, LoopOptions(start=start, **OPTIONS), table) as loop:
        until(lambda: loop.ring.written > 10)
        loop.send(number)
        assert loop.wait(20) == 3
        rows, status = loop.ring.read(), loop.status()
        assert (status.cause, status.state) == (Cause.OPERATOR, "finalized")
        assert states(rows)[-1] == 4
        command = channel(loop, rows, "command")
        assert command[-1] == 0
        at = status.cause_cycle  # a raised cosine of 20 cycles from the last command before it
        way = command[at - 1] * 0.5 * (1 + np.cos(np.pi * np.arange(21) / 20))
        np.testing.assert_allclose(command[at - 1 :][:21], way[: len(command) - at + 1], atol=1e-15)


def test_the_supervisor_is_missed(programs):
    """A process starts a loop and is killed: the loop goes to safety, and removes what nobody will read."""
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "import numpy as np\n"
        "from bondloop.realtime import LoopOptions, LoopProcess\n"
        "options = LoopOptions(link='loopback://', retreat=0.02, supervisor=1.0, gap=60.0)\n"
        f"loop = LoopProcess(Path({str(programs.loop)!r}), options, np.zeros((2, 1)))\n"
        "print(loop.name, loop.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as supervisor:
        name, pid = supervisor.stdout.readline().split()
        with Ring.attach(name) as ring:
            until(lambda: ring.written > 10)
            assert ring.state == "active"
            supervisor.kill()
            supervisor.wait()
            until(lambda: ring.state == "finalized")
            assert ring.status().cause == Cause.SUPERVISOR_LOST
            rows = ring.read()
            assert rows["channels"][-1, ring.names.index("command")] == 0
        until(lambda: not (FOLDER / name).exists())
        until(lambda: _is_gone(pid))


def _is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_hold_reset_and_start_again(programs, table):
    with LoopProcess(programs.loop, LoopOptions(hold=True, **OPTIONS), table) as loop:
        until(lambda: loop.ring.written > 10)
        loop.mailbox.trip(Cause.EMERGENCY_STOP)
        until(lambda: loop.ring.state == "safe")
        assert loop.status().cause == Cause.EMERGENCY_STOP
        loop.mailbox.reset()
        until(lambda: loop.ring.state == "inactive")
        assert loop.status().cause == 0
        loop.mailbox.start()
        until(lambda: loop.ring.state == "active")
        loop.mailbox.stop()
        assert loop.wait(20) == 0
        rows = loop.ring.read()
        assert states(rows) == [2, 3, 4, 1, 2, 3, 4]
        first, second = (rows[i] for i in np.flatnonzero(rows["step"] == 0))
        x = loop.ring.names.index("x")
        assert first["channels"][x] == second["channels"][x] == 0.05  # from the beginning again


def test_parameters_are_set_between_two_ticks(programs, table):
    """Without stiffness or load the mass no longer turns round; the parameter's name is checked here."""
    from bondloop.errors import InputError

    with LoopProcess(programs.loop, LoopOptions(parameters={"stiffness": 100.0}, **OPTIONS), table) as loop:
        number = loop.mailbox.set("stiffness", 50.0)
        until(lambda: loop.mailbox.taken(number))
        with pytest.raises(InputError, match="did you mean 'stiffness'"):
            loop.mailbox.set("stifness", 1.0)
        with pytest.raises(InputError, match="finite"):
            loop.mailbox.set("stiffness", float("nan"))
        already = loop.ring.written
        until(lambda: loop.ring.written > already + 60)
        loop.mailbox.stop()
        loop.wait(20)
        rows = loop.ring.read()
        mailed = int(np.flatnonzero(rows["flags"] & 32)[0])
        x = channel(loop, rows, "x")[: mailed + 40]
        command = channel(loop, rows, "command")[: mailed + 40]
        force = channel(loop, rows, "measured.force")[: mailed + 40]
        v = (command - x) / 0.5e-3
        spring = table[: len(x) - 1, 0] - force[:-1] - 2.0 * v[:-1] - np.diff(v) / 1e-3
        used = spring / (x[:-1] * (1 + x[:-1] ** 2))
        expected = np.where(np.arange(len(used)) < mailed, 100.0, 50.0)
        clear = np.abs(x[:-1]) > 1e-3  # elsewhere the spring's force is too small to tell
        np.testing.assert_allclose(used[clear], expected[clear], rtol=1e-6)


def failing(name, value, bounds=None):
    """A tick whose command is something else from its 30th tick on."""
    sent = Var("sent")
    extra = (Assign(sent, select(K >= 30.0, value, COMMAND)),)
    channels = (CHANNELS[0], Channel("command", sent, "m", SENT), CHANNELS[2])
    return build_loop(make_computer(name, channels=channels, extra=extra, bounds=bounds), rig=make_rig())


@pytest.mark.parametrize(
    ("name", "value", "bounds", "cause"),
    [
        ("nan", function("sqrt", Const(-1.0) - X * X), {}, Cause.NOT_A_NUMBER),
        ("infinite", Const(1.0) / (X - X), {}, Cause.NOT_A_NUMBER),
        ("beyond", Const(7.0) + V, {"command": 5.0}, Cause.COMMAND),
    ],
)
def test_a_tick_that_cannot_be_trusted(table, name, value, bounds, cause):
    """The executive takes over from the last good command; the bad one is never sent."""
    with LoopProcess(failing(f"failing_{name}", value, bounds), LoopOptions(**OPTIONS), table) as loop:
        assert loop.wait(20) == 3
        status, rows = loop.status(), loop.ring.read()
        assert (status.cause, status.cause_step) == (cause, 30)
        assert loop.ring.names[status.cause_detail] == "command"
        command = channel(loop, rows, "command")
        assert np.isfinite(command).all()
        assert command[30] == command[29]
        assert np.abs(command).max() < 0.1
        assert command[-1] == 0
        assert rows["status"][30] != 0
        assert len(rows) <= 30 + 20 + 3


@pytest.mark.parametrize("how", ["mail", "signal"])
def test_the_ticks_own_interlock_is_asked_first(table, how):
    """Its way to safety is a straight line, not the executive's cosine."""
    program = build_loop(make_interlocked(retreat=20), rig=make_rig())
    with LoopProcess(program, LoopOptions(**OPTIONS), table) as loop:
        until(lambda: loop.ring.written > 10)
        if how == "mail":
            loop.mailbox.trip(Cause.RIG_FAULT)
        else:
            loop.send(signal.SIGTERM)
        assert loop.wait(20) == 3
        status, rows = loop.status(), loop.ring.read()
        cause = Cause.RIG_FAULT if how == "mail" else Cause.OPERATOR
        assert status.cause == cause
        at = status.cause_cycle
        assert set(channel(loop, rows, "interlock.cause")[at : at + 20]) == {float(cause)}
        way = channel(loop, rows, "command")[at : at + 21]
        np.testing.assert_allclose(way, way[0] * np.linspace(1, 0, 21), atol=1e-12)
        assert channel(loop, rows, "command")[-1] == 0
        assert not (rows["flags"][at : at + 20] & 8).any()


def test_a_trip_of_the_tick_itself_is_noticed(table):
    program = build_loop(make_interlocked(retreat=20), rig=make_rig())
    with LoopProcess(program, LoopOptions(**OPTIONS), table) as loop:
        number = loop.mailbox.set("interlock.trip", 5.0)  # as the tick's own conditions would
        until(lambda: loop.mailbox.taken(number))
        assert loop.wait(20) == 3
        assert loop.status().cause == Cause.TRACKING_ERROR


def test_real_time_against_rig_processes(programs, table, shm):
    """0.3 s on the clock: every sample is there, the counters add up."""
    for link in (shm, "udp://127.0.0.1:0"):
        with RigProcess(programs.rig, RigOptions(link=link, timeout=20.0)) as rig:
            options = LoopOptions(
                link=rig.link, steps=300, retreat=0.02, phase=0.25e-3, stale=10**6, timeout=20.0
            )
            with LoopProcess(programs.loop, options, table) as loop:
                assert loop.wait(60) == 0
                rows, status = loop.ring.read(), loop.status()
                assert loop.ring.lost == 0
                assert rows["cycle"].tolist() == list(range(len(rows)))
                assert status.counts["steps"] == 300
                assert status.counts["cycles"] == status.wake.count == len(rows) == status.link["sent"]
                assert status.link["corrupted"] == status.link["foreign"] == 0
                # The grid is that of the clock: planned instants are multiples of the period plus the phase.
                planned = rows["time_ns"] - rows["wake_ns"]
                assert (planned % 1_000_000 == 250_000).all()
                # A deadline that went by has no cycle. It counts where the rig was moved, in stages 2
                # and 3, and a cycle begins in the stage in which the one before it ended.
                missed = rows["wake_ns"] // 1_000_000
                assert (np.diff(planned) == 1_000_000 * (1 + missed[:-1])).all()
                moved = np.isin(np.concatenate([[2], rows["state"][:-1]]), (2, 3))
                assert missed[moved].sum() == status.counts["missed"]


@pytest.mark.parametrize("policy", ["count", "hold"])
def test_so_many_late_ticks_trip_whatever_else_they_do(table, policy):
    programs = hooked(make_computer(), make_rig())
    with LoopProcess(programs.loop, LoopOptions(overrun=policy, overrun_limit=1, **OPTIONS), table) as loop:
        until(lambda: loop.ring.written > 10 or not loop.running)
        stall(loop, 0.02)
        assert loop.wait(20) == 3
        assert loop.status().cause == Cause.OVERRUN


def test_deadlines_count_only_while_the_rig_is_moved(table):
    """A loop that waits for its start is kept busy for 40 periods, twice; then while it moves the rig."""
    programs = hooked(make_computer(), make_rig())
    with LoopProcess(programs.loop, LoopOptions(**{**OPTIONS, "start": False}), table) as loop:
        for _ in range(2):
            number = stall(loop, 0.04)
            until(lambda number=number: loop.mailbox.taken(number))
        already = loop.ring.written
        until(lambda: loop.ring.written > already + 2)
        waiting = loop.status()
        assert waiting.state == "inactive"
        assert (waiting.counts["missed"], waiting.counts["overruns"]) == (0, 0)
        assert waiting.wake.most > 30_000_000  # of what was late the histogram knows
        loop.mailbox.start()
        stall(loop, 0.04)
        until(lambda: loop.status().counts["missed"] >= 38)
        assert loop.status().counts["overruns"] >= 1
        loop.mailbox.stop()
        loop.wait(20)


@pytest.mark.parametrize("policy", ["count", "hold", "trip"])
def test_overruns(table, policy):
    """One cycle is kept busy for 20 periods: 19 deadlines or more pass without a cycle of their own."""
    programs = hooked(make_computer(), make_rig())
    with LoopProcess(programs.loop, LoopOptions(overrun=policy, **OPTIONS), table) as loop:
        until(lambda: loop.ring.written > 10 or not loop.running)
        stall(loop, 0.02)
        if policy == "trip":
            assert loop.wait(20) == 3
            assert loop.status().cause == Cause.OVERRUN
            return
        until(lambda: (loop.status().counts["mails"]) == 1)
        cycles = loop.status().counts["cycles"]
        # A stop that comes while the cycle is kept busy is taken in that same cycle, which holds nothing.
        until(lambda: loop.status().counts["cycles"] > cycles + 1)
        loop.mailbox.stop()
        loop.wait(20)
        status, rows = loop.status(), loop.ring.read()
        assert status.cause == 0
        assert status.counts["missed"] >= 18
        late = rows[rows["flags"] & 2 > 0]
        assert len(late) == status.counts["overruns"] >= 1
        if policy == "hold":
            at = int(np.flatnonzero(rows["flags"] & 4)[0])
            command = channel(loop, rows, "command")
            assert at == 0 or command[at] == command[at - 1]
            assert status.counts["held"] >= 1
