"""A test in real time, from the check to the record; without a clock, the numbers of the rehearsal."""

import os
import re
import signal
import threading
import time

import numpy as np
import pytest
from two_halves import until

from bondloop.check.checking import Check
from bondloop.errors import BondloopError, InputError
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import session
from bondloop.realtime.programs.build import rig_program, signal_table
from bondloop.realtime.recorder_supervisor import merged_files
from bondloop.realtime.segment import Segment
from bondloop.realtime.session import prepare, run_realtime
from bondloop.realtime.stop_requests import FOLDER, PREFIX
from bondloop.realtime.summary import Watcher, summary_lines
from bondloop.realtime.supervision import Attendant
from bondloop.rehearsal import Run
from bondloop.results import Record, read_cycles, read_run
from bondloop.safety import Interlock, Limits
from bondloop.signals import table

SECONDS = 0.2
RETREAT = 0.02
PATIENT = {"retreat": RETREAT, "supervisor": 60.0}
"""A supervisor may be slow where the machine is shared."""
SHM = f"shm://test-session-{os.getpid()}"
LINKS = [pytest.param(url, id=url.partition(":")[0]) for url in ("loopback://", SHM, "udp://127.0.0.1:0")]


@pytest.fixture(scope="module")
def test():
    return gawthrop_two_actuators.test().replaced(gap=60.0)  # however busy the machine is


@pytest.fixture(scope="module")
def rehearsal(test):
    return test.run(SECONDS)


def has_rig(link):
    return not link.startswith("loopback")


@pytest.mark.parametrize("link", LINKS)
def test_lock_step_is_the_rehearsal_to_the_last_bit(test, rehearsal, link):
    run = run_realtime(test, SECONDS, link=link, lock_step=True, start_rig=has_rig(link), **PATIENT)
    assert run.completed
    np.testing.assert_array_equal(run.time, rehearsal.time)
    shared = [name for name in run.record if name in rehearsal.record]
    assert {"command[0]", "desired.displacement[0]", "actual.displacement[1]", "force[1]"} <= set(shared)
    for name in shared:
        np.testing.assert_array_equal(run[name], rehearsal[name], err_msg=name)
        assert run.record.units[name] == rehearsal.record.units[name]
    assert run.with_check({}).verdict == rehearsal.verdict
    found = run.record.attributes["check"]["findings"]  # what the check left open is in the verdict
    left = [f["rule"] for f in found if not f["accepted"] and f["level"] != "run"]
    assert all(rule in run.verdict for rule in left)


def test_a_table_of_signals_is_the_rehearsals():
    """A ground motion, say, is no formula: the loop reads it row by row."""
    t = np.linspace(0.0, 1.0, 37)
    test = gawthrop_two_actuators.test()
    name = next(iter(test.excitation))
    test = test.replaced(excitation={**test.excitation, name: _tabulated(t, 1e-3 * np.sin(20 * t))})
    assert signal_table(test, 11).shape == (11, 2 * len(test.tables))
    run = run_realtime(test, SECONDS, lock_step=True, **PATIENT)
    rehearsal = test.run(SECONDS)
    for channel in ("command[0]", "command[1]", name):
        np.testing.assert_array_equal(run[channel], rehearsal[channel])


def _tabulated(t, values):
    return table.Table(t, values)


@pytest.mark.parametrize("link", LINKS)
def test_on_the_clock_every_tick_is_recorded(test, link, tmp_path):
    """How well the clock is kept is the machine's business; that every tick is in the file is ours."""
    path, seen = tmp_path / "run.h5", []
    run = run_realtime(
        test,
        SECONDS,
        link=link,
        start_rig=has_rig(link),
        record=path,
        live=seen.append,
        stale=10**6,
        **PATIENT,
    )
    assert run.completed
    attributes = run.record.attributes
    assert attributes["files"] == [str(path)]
    assert attributes["samples_lost"] == 0
    assert attributes["steps"] == len(run.time) == 201
    cycles = read_cycles(path)
    np.testing.assert_array_equal(cycles["step"], np.arange(201))
    assert (np.diff(cycles["time_ns"]) > 0).all()
    assert seen[-1].state == "finalized"
    assert seen[-1].time == pytest.approx(SECONDS)
    retreat = read_run(path, part="/retreat")
    assert retreat["command[0]"][-1] == 0.0, "the rig is left at its safe command"
    assert retreat.time[0] == pytest.approx(run.time[-1] + test.period)
    loaded = Run.load(path)
    assert loaded.completed
    np.testing.assert_array_equal(loaded["command[0]"], run["command[0]"])
    assert loaded.record.description["realtime"]["lock_step"] is False
    # With the rig in the same process nothing depends on the clock.
    if not has_rig(link):
        np.testing.assert_array_equal(run["command[0]"], test.run(SECONDS)["command[0]"])


def test_nothing_is_left_in_shared_memory(test):
    before = set(FOLDER.glob(f"{PREFIX}*"))
    run_realtime(test, 0.05, link=SHM, lock_step=True, start_rig=True, **PATIENT)
    assert set(FOLDER.glob(f"{PREFIX}{os.getpid()}*")) <= before


class Killed:
    """Kills processes once the file holds some samples, looking whenever the session looks at the loop.

    Not before the file has come within a second of the loop, however busy the machine is.
    """

    def __init__(self, monkeypatch, path, victims):
        self.path, self.victims, self.rows_then = path, victims, None
        self.processes = {}
        for word in ("LoopProcess", "RigProcess", "Recorders"):
            monkeypatch.setattr(session, word, self._remembering(word, getattr(session, word)))

    def _remembering(self, word, kind):
        def made(*given, **named):
            self.processes[word] = process = kind(*given, **named)
            return process

        return made

    def __call__(self, live):
        if self.rows_then is None and self.path.exists():
            rows = len(Record.load(self.path))
            if rows > 50 and 1e-3 * rows > live.time - 1.0:
                self.time_then = live.time
                self.rows_then = rows
                for word in self.victims:
                    os.kill(self.processes[word].pid, signal.SIGKILL)


def test_after_kill_9_of_everything_the_file_holds_all_but_the_last_second(test, tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    killed = Killed(monkeypatch, path, ["LoopProcess", "RigProcess", "Recorders"])
    run = run_realtime(
        test, 60.0, link=SHM, start_rig=True, record=path, live=killed, stale=10**6, supervisor=60.0
    )
    assert not run.completed
    assert run.record.attributes["message"].startswith("the loop's process died after")
    found = Record.load(path)
    assert found.attributes["status"] == "recording"
    assert len(found) >= killed.rows_then
    assert found.time[-1] > killed.time_then - 1.0
    np.testing.assert_allclose(np.diff(found.time), test.period, rtol=1e-9)
    assert np.isfinite(found["command[0]"]).all()
    # The session lived, and had the rest from the ring.
    assert run.record.attributes["steps"] == len(run.time) >= len(found)


def test_a_killed_recorder_has_a_successor_and_the_loop_runs_on(test, tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    killed = Killed(monkeypatch, path, ["Recorders"])
    # Long enough for a second recorder to start; with the rig in the same process the numbers are known.
    run = run_realtime(test, 2.0, record=path, live=killed, stale=10**6, **PATIENT)
    assert killed.rows_then is not None
    assert run.completed
    assert run.record.attributes["files"] == [str(path), str(tmp_path / "run-2.h5")]
    assert run.record.attributes["recording"] == "recorder 1 died of signal 9"
    whole = test.run(2.0)
    np.testing.assert_array_equal(run.time, whole.time)
    np.testing.assert_array_equal(run["command[1]"], whole["command[1]"])
    merged, cycles = merged_files([path, tmp_path / "run-2.h5"])
    assert len(merged) == len(cycles["step"]) == len(whole.time)


def test_a_killed_rig_ends_in_the_safe_state(test, tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    killed = Killed(monkeypatch, path, ["RigProcess"])
    run = run_realtime(test, 60.0, link=SHM, start_rig=True, record=path, live=killed, stale=100, **PATIENT)
    assert not run.completed
    assert run.record.attributes["cause_words"] == "the link to the rig was lost"
    assert run.verdict.startswith("The run was stopped: the link to the rig was lost at t = ")
    assert read_run(path, part="/retreat")["command[0]"][-1] == 0.0


def test_ctrl_c_stops_safely_and_keeps_the_record(test, tmp_path):
    path = tmp_path / "run.h5"

    def interrupt(live):
        if live.time > 0.02:
            os.kill(os.getpid(), signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    run = run_realtime(test, 60.0, record=path, live=interrupt, **PATIENT)
    assert signal.getsignal(signal.SIGINT) is handler
    assert not run.completed
    assert "operator" in run.record.attributes["message"]
    assert 20 < len(run.time) < 60_001
    assert read_run(path, part="/retreat")["command[0]"][-1] == 0.0
    assert len(Run.load(path).time) == len(run.time)


def test_a_frozen_loop_is_told_and_two_ctrl_c_end_it(test, tmp_path, monkeypatch):
    """A loop that is stopped for good said nothing for minutes, and no Ctrl-C ended it."""
    frozen = Killed(monkeypatch, tmp_path / "run.h5", [])
    told = []

    def look(live):
        frozen(live)
        pid = frozen.processes["LoopProcess"].pid
        if frozen.rows_then is not None and not told:
            os.kill(pid, signal.SIGSTOP)
            told.append("")
        if told and live.trouble:
            told.append(live.trouble)
            os.kill(os.getpid(), signal.SIGINT)

    run = run_realtime(test, 60.0, record=tmp_path / "run.h5", live=look, stale=10**6, **PATIENT)
    assert re.match(r"THE LOOP DOES NOT ANSWER \(\d+ s\): .* use the emergency stop", told[1])
    assert not run.completed
    assert run.record.attributes["message"].startswith("the loop's process died after")
    assert len(told) <= 4, "two were enough"


def test_a_stop_in_the_approach_is_summed_up_by_the_executives_own_counts(test, tmp_path):
    """No tick was executed, so the record knows nothing; the rig was moved all the same."""
    limits = Limits(displacement=0.1, velocity=1.0, force=1e3, command=0.1, command_rate=10.0)
    watched = test.replaced(interlock=Interlock(limits, retreat=1.0))

    def interrupt(live):
        if live.state == "active":
            os.kill(os.getpid(), signal.SIGINT)

    run = run_realtime(
        watched, 1.0, record=tmp_path / "run.h5", emulated=False, live=interrupt, approach=600.0,
        supervisor=60.0,
    )  # fmt: skip
    attributes = run.record.attributes
    assert attributes["steps"] == len(run.time) == 0
    moving, counts = attributes["moving"], attributes["counts"]
    assert 0 < moving["cycles"] <= counts["cycles"]
    assert moving["late"] <= counts["overruns"]
    line = summary_lines({**attributes, "moving": {"cycles": 1234, "late": 3, "missed": 2}})[0]
    assert line == "0 ticks: 3 late, 2 deadlines missed of 1,234 cycles, approach and retreat included"


def test_a_live_line_shows_whatever_a_rig_shows():
    """10³⁰⁸ N times a velocity is no number; that is no reason for a warning of NumPy's."""
    watcher = object.__new__(Watcher)
    watcher._force, watcher._velocity = [0], [1]
    assert watcher._power(np.array([[1e308, 10.0]])) == np.inf
    assert np.isnan(watcher._power(np.array([[np.inf, 0.0]])))


def test_nothing_moves_before_the_check_passes(monkeypatch):
    test = gawthrop_two_actuators.test(controller="direct")
    monkeypatch.setattr(session, "LoopProcess", None)
    with pytest.raises(InputError, match="the check has not passed, so nothing was started: the loop is"):
        run_realtime(test, SECONDS)
    with pytest.raises(InputError, match=r"force=True \(--force\) runs it all the same"):
        prepare(test, SECONDS)
    assert not prepare(test, SECONDS, force=True).passed


def test_what_cannot_be_built_is_not_offered_by_force(test, monkeypatch):
    unbuilt = Check(fault="for a reason").judged(test)
    monkeypatch.setattr(type(test), "check", lambda *_, **__: unbuilt)
    with pytest.raises(InputError, match="so nothing was started: the test cannot be built") as caught:
        prepare(test, SECONDS)
    assert str(caught.value).endswith("`bondloop check` tells more")  # and no word of --force


def test_what_cannot_be(test, tmp_path):
    with pytest.raises(InputError, match=r"reached by udp:// or shm://; found loopback://"):
        prepare(test, SECONDS, start_rig=True)
    with pytest.raises(InputError, match="positive and finite; found -1"):
        prepare(test, -1.0)
    with pytest.raises(InputError, match="unknown option 'prioritty' of the loop; did you mean 'priority'"):
        prepare(test, SECONDS, options={"prioritty": 3})
    with pytest.raises(InputError, match="a whole multiple of the test's 1000 Hz; found 1500 Hz"):
        rig_program(test, rate=1500.0)
    with pytest.raises(InputError, match="there is no folder"):
        prepare(test, SECONDS).run(record=tmp_path / "none" / "run.h5")
    with pytest.raises(InputError, match="no rig"):
        run_realtime(test, SECONDS, link=f"shm://nobody-{time.monotonic_ns()}", emulated=True, timeout=0.05)


def test_another_rate_is_another_test(test):
    made = prepare(test, SECONDS, rate=500.0)
    assert made.steps == 101
    assert made.test.period == 2e-3


def test_it_runs_in_a_thread_too(test):
    """Signals go to the main thread only; elsewhere there is nothing to catch."""
    found = []
    thread = threading.Thread(
        target=lambda: found.append(run_realtime(test, 0.05, lock_step=True, **PATIENT))
    )
    thread.start()
    thread.join()
    assert found[0].completed


def test_a_loop_that_ends_while_its_recorder_starts_says_why(test, monkeypatch, tmp_path):
    """The recorder then finds no segment, and told the operator to start the loop first."""

    class Slow(Attendant):
        def __init__(self, loop, header, _):
            super().__init__(loop, header, 3600.0)

    monkeypatch.setattr("bondloop.realtime.process.Attendant", Slow)
    # On a busy machine it may have gone before its segment was looked at: then it is the loop's own words.
    words = (
        "the loop ended (while its recorder was started: the supervising program no longer answered"
        "|as soon as it had begun: .*tripped with cause 12)"
    )
    with pytest.raises(BondloopError, match=words):
        run_realtime(test, 60.0, record=tmp_path / "run.h5", retreat=RETREAT, supervisor=0.05)


def test_a_loop_that_ended_before_it_was_looked_at_says_why(test, monkeypatch):
    """Its segment is gone then, and "start the loop first" was all that was said."""

    def late(name, **options):
        until(lambda: not (FOLDER / name).exists())
        return Segment(name, **options)

    monkeypatch.setattr("bondloop.realtime.process.Segment", late)
    with pytest.raises(
        BondloopError, match=r"the loop ended as soon as it had begun: .*tripped with cause 12"
    ):
        run_realtime(test, 60.0, retreat=RETREAT, supervisor=0.05)
