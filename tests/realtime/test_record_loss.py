"""A record that cannot be kept: the operator hears of it at once, a test can demand it, ticks are counted."""

import os
import re
import resource
import signal
from dataclasses import replace

import pytest
from click.testing import CliRunner

from bondloop import files
from bondloop.cli.main import app
from bondloop.cli.realtime import _trouble_reporter
from bondloop.cli.settings import find_test
from bondloop.errors import InputError
from bondloop.files import load_text
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import session
from bondloop.realtime.recorder_supervisor import Recorders
from bondloop.realtime.session import prepare
from bondloop.realtime.summary import Live
from bondloop.rehearsal import Run
from bondloop.safety.causes import Cause

TEST = "gawthrop-two-actuators"


@pytest.fixture
def recorders(monkeypatch):
    """The recorders of the session that is started next."""
    started = []

    class Kept(Recorders):
        def __init__(self, *args):
            started.append(self)
            super().__init__(*args)

    monkeypatch.setattr(session, "Recorders", Kept)
    return started


def ready(record_loss="report", seconds=3.0, slots=None):
    test = gawthrop_two_actuators.test().replaced(gap=60.0, record_loss=record_loss)
    made = prepare(test, seconds, options={"retreat": 0.05, "supervisor": 60.0})
    return made if slots is None else replace(made, options=replace(made.options, slots=slots))


def full_disk(recorders, path):
    """Let the file grow no further, as on a full disk; once some of it is there."""
    if path.exists() and recorders and (recorders[0]._progress.at or 0) > 100:
        size = path.stat().st_size + 1000
        resource.prlimit(recorders[0].pid, resource.RLIMIT_FSIZE, (size, size))
        return True
    return False


def run_with(made, path, sabotage):
    """Run, sabotage until that has worked, and return the run with all that the operator was told."""
    told, state = [], {"done": False}

    def live(now):
        state["done"] = state["done"] or (now.time > 0.7 and sabotage())  # some ticks are in the file
        if now.recording:
            told.append(now)

    return made.run(record=path, live=live), told


@pytest.mark.parametrize("lock_step", [False, True])
def test_nothing_moves_where_nothing_can_be_recorded(tmp_path, monkeypatch, lock_step):
    """The disk is full from the start: not even the loop's process is started."""
    made = prepare(gawthrop_two_actuators.test(), 3.0, lock_step=lock_step)
    monkeypatch.setattr(session, "LoopProcess", None)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, before[1]))
    try:
        with pytest.raises(
            InputError, match=r"can be recorded in .*, so nothing was started: file too large"
        ):
            made.run(record=tmp_path / "run.h5")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_while_the_test_goes_on(recorders, tmp_path):
    path = tmp_path / "run.h5"
    run, told = run_with(ready(), path, lambda: full_disk(recorders, path))
    attributes = run.record.attributes
    assert "file too large" in told[0].recording
    assert told[0].recording.endswith("nothing more is recorded")
    assert told[0].time < 2.9
    assert told[0].recording in str(told[0])  # the live line
    assert run.completed
    assert attributes["steps"] == 3001
    assert attributes["samples_missing"] == 3001 - len(run.time) > 0
    assert f"{attributes['samples_missing']:,} of 3,001 ticks are not in the record" in run.verdict


def test_a_test_that_demands_its_record_retreats(recorders, tmp_path):
    path = tmp_path / "run.h5"
    run, told = run_with(ready("retreat", seconds=20), path, lambda: full_disk(recorders, path))
    attributes = run.record.attributes
    assert told
    assert attributes["cause"] == Cause.RECORD_LOST
    assert not run.completed
    assert "the record could not be kept, which the test demands" in run.verdict
    assert attributes["steps"] < 15_000


LOST = {"report": "[1-9][0-9,]* are lost", "retreat": "are lost"}
"""When the recorder goes on: after a loss. A test that retreats at a lag may end before anything is lost."""


@pytest.mark.parametrize("record_loss", ["report", "retreat"])
def test_a_recorder_that_lags_is_told_and_what_it_loses_is_counted(recorders, tmp_path, record_loss):
    """A recorder that stands still lags by more than half a ring of 0.4 s, loses ticks, and comes back."""
    stood, told = [], []

    def live(now):
        told.append(now.recording)
        if now.time > 0.7 and not stood:  # the recorder has come to the ticks; before them nothing is lost
            stood.append(recorders[0].pid)
            os.kill(stood[0], signal.SIGSTOP)
        elif stood and re.search(LOST[record_loss], now.recording):
            os.kill(stood[0], signal.SIGCONT)

    run = ready(record_loss, seconds=3, slots=400).run(record=tmp_path / "run.h5", live=live)
    words = [w for w in told if w]
    assert any(re.fullmatch(r"the recorder lags by [0-9,]+ ticks; [0-9,]+ are lost", w) for w in words)
    attributes = run.record.attributes
    assert attributes["samples_missing"] == attributes["steps"] - len(run.time)
    if record_loss == "retreat":
        assert attributes["cause"] == Cause.RECORD_LOST
    else:
        assert run.completed
        assert attributes["samples_missing"] > 0
        assert "ticks are not in the record" in run.verdict
        assert len(run.metrics) == 2
        assert words[-1].endswith("ticks are not in the record")


def test_a_successor_that_lost_nothing_is_no_loss(recorders, tmp_path):
    killed = []

    def sabotage():
        if recorders and (recorders[0]._progress.at or 0) > 100 and not killed:
            killed.append(recorders[0].pid)
            os.kill(recorders[0].pid, signal.SIGKILL)
        return bool(killed)

    run, told = run_with(ready("retreat"), tmp_path / "run.h5", sabotage)
    assert killed
    assert told[0].recording == "recorder 1 died of signal 9; another is being started"
    assert run.completed
    assert run.record.attributes["samples_missing"] == 0


def test_the_verdict_on_a_run_of_which_nothing_is_recorded():
    run = gawthrop_two_actuators.test().run(0.1)
    nothing = replace(run.record.between(1, 2), attributes={**run.record.attributes, "samples_missing": 101})
    assert Run(nothing).verdict == "None of 101 ticks is in the record."
    assert Run(nothing).metrics == []


# ---------------------------------------------------------------------- the setting


def test_there_and_back():
    test = gawthrop_two_actuators.test()
    assert test.record_loss == "report"
    other = test.replaced(record_loss="retreat")
    assert other != test
    assert load_text(files.to_toml(other)).test.record_loss == "retreat"
    assert load_text(files.to_toml(test).replace('record_loss = "report"\n', "")).test == test
    with pytest.raises(InputError, match="record_loss must be 'report' or 'retreat'; found 'shrug'"):
        test.replaced(record_loss="shrug")


def test_by_set(tmp_path):
    assert find_test(TEST, ["record_loss=retreat"])[0].record_loss == "retreat"
    path = tmp_path / "test.toml"
    path.write_text(files.to_toml(gawthrop_two_actuators.test()))
    assert find_test(str(path), ["record_loss=retreat"])[0].record_loss == "retreat"
    refused = CliRunner().invoke(app, ["realtime", TEST, "--dry", "--set", "record_loss=shrug"])
    assert refused.exit_code == 1


def test_without_a_terminal_each_trouble_is_one_line(capsys):
    tell = _trouble_reporter()
    quiet = Live(1.0, "active", 0, 0.0, 0.0, 0.0, 0)
    for words in (
        "",
        "the recorder lags by 700 ticks",
        "the recorder lags by 1,700 ticks",
        "the disk is full",
    ):
        tell(replace(quiet, recording=words))
    assert capsys.readouterr().err.splitlines() == [
        "recording: the recorder lags by 700 ticks (t = 1.00 s)",
        "recording: the disk is full (t = 1.00 s)",
    ]
