"""`bondloop realtime`, `bondloop rig`, `bondloop export c`: what they print, write and return."""

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from bondloop import files
from bondloop.cli.realtime import _report_left_out
from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators
from bondloop.rehearsal import Run

pytestmark = pytest.mark.realtime

TEST = "gawthrop-two-actuators"
QUICK = ("--retreat", 0.02, "--set", "gap=60")  # however busy the machine is
BONDLOOP = [sys.executable, "-c", "from bondloop.cli.main import app; app()"]


@contextlib.contextmanager
def started(*words):
    """Start the command in a group of its own, as a terminal does."""
    child = subprocess.Popen(
        [*BONDLOOP, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def test_a_short_run_ends_with_a_summary_and_files(bondloop, tmp_path):
    path = tmp_path / "new" / "run.h5"
    result = bondloop("realtime", TEST, "--seconds", 0.1, "--out", path, "--link", "loopback://", *QUICK)
    assert result.exit_code == 0
    assert "0.1 s at 1,000 Hz over loopback://" in result.stdout
    assert "101 ticks: " in result.stdout
    assert "wake-up latency" in result.stdout
    assert "Transfer system 1 followed" in result.stdout
    for name in ("run.h5", "run-overview.png", "run-latency.png"):
        assert f"wrote {path.parent / name}" in result.stdout
        assert (path.parent / name).stat().st_size > 1000
    assert len(Run.load(path).time) == 101


def test_lock_step_with_a_rig_of_its_own_as_json(bondloop, tmp_path):
    words = ("--seconds", 0.1, "--lock-step", "-o", tmp_path / "run.h5", "--json", *QUICK)
    result = bondloop("realtime", TEST, *words, "--rate", 500, "--no-figures")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["test"] == TEST
    assert found["completed"] is True
    assert found["steps"] == 51
    assert (found["cause"], found["cause_words"], found["samples_missing"]) == (0, "no trip", 0)
    assert found["files"] == [str(tmp_path / "run.h5")]
    rehearsal = gawthrop_two_actuators.test().replaced(rate=500.0).run(0.1)
    assert (Run.load(tmp_path / "run.h5")["command[0]"] == rehearsal["command[0]"]).all()


def test_a_dry_run_builds_and_starts_nothing(bondloop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = bondloop("realtime", TEST, "--seconds", 1, "--dry")
    assert result.exit_code == 0
    assert "the check has passed" in result.stdout
    assert "1,001 ticks at 1,000 Hz" in result.stdout
    assert "nothing started" in result.stdout
    found = json.loads(
        bondloop("realtime", TEST, "--dry", "--link", "udp://10.0.0.7:5005", "--emulated", "--json").stdout
    )
    assert found["link"] == "udp://10.0.0.7:5005"
    assert found["rig"] is None, "a link that is named has its rig already"
    assert list(tmp_path.iterdir()) == []


LIMITS = [
    word
    for setting in (
        "velocity=0.5",
        "command=25 mm",
        "command_rate=1 m/s",
        "displacement=25 mm",
        "force=0.5 kN",
    )
    for word in ("--set", f"interlock.limits.{setting}")
]


def test_a_machine_without_limits_is_refused_with_a_template(bondloop, tmp_path):
    words = ("realtime", TEST, "--dry", "--seconds", 1, "--link", "udp://10.0.0.7:5005")
    result = bondloop(*words)
    assert result.exit_code == 1
    assert "moves a machine" in result.stderr
    lines = result.stderr.splitlines()  # to be pasted, so every one has a line
    assert "[interlock.limits]" in lines
    assert any(re.fullmatch(r"        command_rate=[0-9.]+, +# m/s: .*", line) for line in lines)
    # Every limit and trip can be set from the command line, for a ready-made test and for a file alike.
    trips = ("tracking_error=2 mm", "warning=70 %")
    more = [word for text in trips for word in ("--set", f"interlock.limits.{text}")]
    more += ["--set", "interlock.power=7 W", "--set", "interlock.stale=33", "--set", "interlock.retreat=2 s"]
    file = tmp_path / "test.toml"
    files.to_toml(gawthrop_two_actuators.test(), file)
    for source in (TEST, file):
        result = bondloop("realtime", source, *words[2:], *LIMITS, *more, "--deadline", 3, "--json")
        assert result.exit_code == 0, result.stderr
        arguments = json.loads(result.stdout)["arguments"]
        assert "--machine" in arguments
        given = dict(itertools.pairwise(arguments))
        keys = ("--overrun", "--overrun-limit", "--retreat", "--approach")
        assert [given[key] for key in keys] == ["trip", "3", "2.0", "2.0"]
    wrong = bondloop("realtime", TEST, *words[2:], "--set", "interlock.limits.forse=3")
    assert "did you mean 'limits.force'" in wrong.stderr


@pytest.mark.parametrize("seconds", [1e300, 1e12, "inf"])
def test_a_run_without_end_is_refused_at_once(bondloop, seconds):
    result = bondloop("realtime", TEST, "--seconds", seconds, "--dry")
    assert result.exit_code == 1
    assert re.search("at most 1,000,000,000 are executed|positive and finite", result.stderr)


def test_a_retreat_in_no_time_is_refused(bondloop):
    result = bondloop("realtime", TEST, "--seconds", 0.1, "--retreat", 0)
    assert result.exit_code == 1
    assert "takes more than 0 s" in result.stderr


def test_a_key_that_others_can_read_is_refused(bondloop, tmp_path):
    key = tmp_path / "key"
    key.write_text("0123456789abcdef" * 2)
    key.chmod(0o644)
    words = ("realtime", TEST, "--seconds", 0.1, "--dry", "--key-file", key)
    assert "can be read by others" in bondloop(*words).stderr
    key.chmod(0o600)
    result = bondloop(*words, "--json")
    assert result.exit_code == 0
    assert "0123456789abcdef" not in result.stdout
    key.write_text("no key")
    assert "32 hexadecimal digits" in bondloop(*words).stderr


def test_what_is_not_recorded_is_told(capsys):
    test = gawthrop_two_actuators.test()
    inside = next(s for s in test.rig_system.system.states if s.startswith("rig.specimen."))
    _report_left_out(test.replaced(record=[inside]))
    assert f"a loop does not know the inside of its rig: {inside}" in capsys.readouterr().err
    _report_left_out(test)
    assert capsys.readouterr().err == ""


def test_the_help_names_every_kind_of_link(bondloop):
    told = bondloop("realtime", "--help").stdout
    for scheme in ("udp://", "shm://", "fmu://", "loopback://"):
        assert scheme in told


def test_a_test_that_fails_its_check_is_not_started(bondloop, tmp_path):
    result = bondloop("realtime", TEST, "--set", "controller=direct", "-o", tmp_path / "run.h5")
    assert result.exit_code == 1
    assert "the check has not passed, so nothing was started" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_out_may_be_a_folder(bondloop, tmp_path):
    result = bondloop("realtime", TEST, "--seconds", 0.1, "-o", tmp_path / "run", "--no-figures", *QUICK)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "run" / "realtime.h5").is_file()


def test_ctrl_c_still_gives_the_summary_and_the_file(tmp_path):
    path = tmp_path / "run.h5"
    words = ("--seconds", 60, "-o", path, "--link", "loopback://", "--no-figures", *QUICK)
    with started("realtime", TEST, *words) as child:
        pause = threading.Event()
        while not (path.exists() and _rows(path) > 20):
            assert child.poll() is None, child.stderr.read()
            pause.wait(0.02)
        os.killpg(child.pid, signal.SIGINT)  # to everybody in the terminal, as the keyboard does
        said, trouble = child.communicate()
    assert child.returncode == 1, trouble
    assert "Traceback" not in trouble
    assert "operator" in said
    assert f"wrote {path}" in said
    assert 20 < len(Run.load(path).time) < 60_001


def test_who_waits_for_an_operator_says_what_start_will_do(tmp_path):
    words = ("--arm", "-o", tmp_path / "run.h5", "--link", "loopback://", "--no-figures", *QUICK)
    with started("realtime", TEST, *words) as child:
        assert "bondloop dashboard --segment bondloop-" in child.stderr.readline()
        assert child.stderr.readline() == "what Start will do: Start couples the halves at once\n"
        os.killpg(child.pid, signal.SIGINT)
        child.communicate()


def _rows(path):
    with contextlib.suppress(InputError):
        return len(Run.load(path).time)
    return 0


@pytest.mark.parametrize("link", ["loopback://", None])
def test_inactive_shows_what_is_measured_and_commands_nothing(bondloop, tmp_path, monkeypatch, link):
    monkeypatch.chdir(tmp_path)
    words = ("realtime", TEST, "--inactive", "--seconds", 0.05, *(("--link", link) if link else ()))
    result = bondloop(*words)
    assert result.exit_code == 0
    # At rest all sensors of the emulated rig show zero.
    shown = result.stdout.splitlines()[0].split("   ")
    quantities = {"force": "N", "displacement": "m", "velocity": "m/s"}
    assert shown == [f"{word}[{i}] +0 {unit}" for word, unit in quantities.items() for i in (0, 1)]
    found = json.loads(bondloop(*words, "--json").stdout)
    assert (found["commands_sent"], found["cause"]) == (0, 0)
    assert set(found["measured"].values()) == {0.0}
    assert list(tmp_path.iterdir()) == []


def test_inactive_needs_no_check_but_a_clock(bondloop):
    words = ("realtime", TEST, "--set", "controller=direct", "--inactive", "--seconds", 0.02)
    assert bondloop(*words).exit_code == 0
    result = bondloop(*words, "--lock-step")
    assert result.exit_code == 1
    assert "leave --lock-step out" in result.stderr


def test_ctrl_c_ends_the_watching_of_sensors():
    with started("realtime", TEST, "--inactive") as child:
        assert child.stdout.readline().startswith("force[0] ")
        os.killpg(child.pid, signal.SIGINT)
        _, trouble = child.communicate()
    assert (child.returncode, trouble) == (0, "")


def test_inactive_ends_when_the_rig_does():
    with started("rig", TEST, "--link", "udp://127.0.0.1:0", "--json") as rig:
        link = json.loads(rig.stdout.readline())["link"]
        with started("realtime", TEST, "--inactive", "--link", link) as child:
            assert child.stdout.readline().startswith("force[0] ")
            rig.send_signal(signal.SIGINT)
            said, _ = child.communicate()
    assert child.returncode == 1
    assert said.splitlines()[-1] == "stopped: the link to the rig was lost; nothing was commanded"


def test_a_rig_of_ones_own_and_a_loop_that_finds_it(bondloop, tmp_path):
    with started("rig", TEST, "--link", "udp://127.0.0.1:0", "--json") as rig:
        first = json.loads(rig.stdout.readline())
        assert (first["test"], first["event"]) == (TEST, "listening")
        words = (
            "--seconds",
            0.1,
            "--link",
            first["link"],
            "--emulated",
            "--lock-step",
            "--no-figures",
            "--json",
            *QUICK,
        )
        result = bondloop("realtime", TEST, *words, "-o", tmp_path / "run.h5")
        assert json.loads(result.stdout)["completed"] is True
        rig.send_signal(signal.SIGINT)
        said, trouble = rig.communicate()
    assert rig.returncode == 0, trouble
    events = [json.loads(line)["event"] for line in said.splitlines()]
    assert ["a loop came" in events[0], "the loop has gone" in events[1]] == [True, True]
    # At its own, finer steps the rig moves as in the rehearsal, but for rounding.
    rehearsal = gawthrop_two_actuators.test().run(0.1)
    largest = abs(rehearsal["command[0]"]).max()
    assert abs(Run.load(tmp_path / "run.h5")["command[0]"] - rehearsal["command[0]"]).max() < 1e-9 * largest


def test_a_rig_that_does_not_fit_is_refused(bondloop):
    result = bondloop("rig", TEST, "--rate", 1234)
    assert result.exit_code == 1
    assert "a whole multiple of the test's 1000 Hz" in result.stderr


def test_export_says_how_to_build_it(bondloop, tmp_path):
    result = bondloop("export", "c", TEST, tmp_path / "c")
    assert result.exit_code == 0
    assert f"make -C {tmp_path / 'c'}" in result.stdout
    shutil.rmtree(tmp_path / "c")
    found = json.loads(bondloop("export", "c", TEST, tmp_path / "c", "--json").stdout)
    assert str(tmp_path / "c" / "Makefile") in found["files"]
