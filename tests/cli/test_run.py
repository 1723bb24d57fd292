"""`bondloop run`: what it prints, writes and returns."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bondloop.rehearsal import Run

FILE = """
import math
from bondloop.bondgraph import C, Model, Sf
from bondloop.control import VirtualJunction
from bondloop.hybrid import HybridTest
from bondloop.papers.gawthrop_three_mass import Mass
from bondloop.signals import Sine
from bondloop.rigs import Emulated
from bondloop.transfer import MassSpringDamper

SECONDS = 0.5

def test(amplitude: float = 0.1, count: int = 4, feedback: bool = True, name: str = "mine"):
    m = Model("two_mass")
    m.wall = Sf("r")
    m.m1, m.m2 = Mass(1.0, 0.4, C(stiffness=40.0)), Mass(0.5, 0.2, C(stiffness=30.0))
    m.wall >> m.m1.left
    m.m1.right >> m.m2.left
    numerical, physical = m.cut("m1.right >> m2.left")
    actuator = MassSpringDamper(1.0, 30.0, 900.0)
    return HybridTest(
        numerical, rig=Emulated(physical, actuator, substeps=count), controller=VirtualJunction(actuator),
        excitation={"r": Sine(amplitude, 1.0)}, rate=1000, feedback=feedback, name=name,
    )
"""


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def answer(result):
    return json.loads(result.stdout)


def test_a_papers_test_is_rehearsed_with_verdict_figures_and_run_file(bondloop, tmp_path):
    result = bondloop("run", "gawthrop-three-mass", "--seconds", 5, "--out", tmp_path)
    assert result.exit_code == 0
    assert "5 s rehearsed in" in result.stdout
    assert "times real time, c)" in result.stdout
    assert "The transfer system followed the numerical half" in result.stdout
    assert "peak error first 20 s:" in result.stdout
    for name in ("run.h5", "overview.png", "subspace.png", "spectra.png"):
        assert f"wrote {tmp_path / name}" in result.stdout
        assert (tmp_path / name).stat().st_size > 1000
    assert len(Run.load(tmp_path / "run.h5").time) == 5001


def test_json_has_everything_and_nothing_else_on_stdout(bondloop, tmp_path):
    result = bondloop("run", "wagg-three-mass", "--seconds", 2, "--out", tmp_path, "--no-figures", "--json")
    assert result.exit_code == 0
    found = answer(result)
    assert set(found) == {
        "test", "completed", "message", "verdict", "judgement", "findings", "metrics", "backend",
        "wall_seconds", "files",
    }  # fmt: skip
    assert found["test"] == "wagg-three-mass"
    assert found["completed"] is True
    assert found["files"] == [str(tmp_path / "run.h5")]
    assert "normalised_rms_error_to_complete" in found["findings"]
    assert found["metrics"][0]
    assert found["wall_seconds"] > 0


def test_adaptive_gains_have_their_figure(bondloop, tmp_path):
    result = bondloop("run", "wagg-three-mass", "--seconds", 2, "-o", tmp_path)
    assert (tmp_path / "gains.png").exists()
    assert "gains.png" in result.stdout


def test_a_run_that_is_stopped_exits_with_one_and_keeps_its_record(bondloop, tmp_path):
    result = bondloop(
        "run", "gawthrop-two-actuators", "--set", "controller=direct", "-o", tmp_path, "--no-figures"
    )
    assert result.exit_code == 1
    assert "The run was stopped: 'actual.displacement[0]' reached" in result.stdout
    run = Run.load(tmp_path / "run.h5")
    assert not run.completed
    assert np.abs(run["actual.displacement[0]"][-1]) > 0.025


def test_the_output_folder_is_out_and_the_name_by_default(bondloop, mine, monkeypatch):
    monkeypatch.chdir(mine.parent)
    result = bondloop("run", "mine.py", "--no-figures")
    assert result.exit_code == 0
    assert Path("out/mine/run.h5").exists()
    assert len(Run.load("out/mine/run.h5").time) == 501


def test_settings_reach_arguments_of_every_kind_and_any_parameter(bondloop, mine, tmp_path):
    words = ["run", mine, "-o", tmp_path, "--no-figures", "--json"]
    settings = {
        "amplitude": "200 mm", "count": "2", "feedback": "off", "name": "other",
        "numerical.m1.I.mass": "3 kg", "rig.transfer.damper.damping": "45",
    }  # fmt: skip
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    assert bondloop(*words).exit_code == 0
    run = Run.load(tmp_path / "run.h5")
    d = run.record.description
    assert np.abs(run["r"]).max() == pytest.approx(0.2)
    assert (d["rig"]["substeps"], d["feedback"], d["name"]) == (2, False, "other")
    assert d["parameters"]["numerical.m1.I.mass"] == 3
    assert d["parameters"]["rig.transfer.damper.damping"] == 45


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("amplitude", "--set takes PATH=VALUE; found 'amplitude'"),
        ("=3", "--set takes PATH=VALUE"),
        ("amplitude=", "--set takes PATH=VALUE"),
        ("amplitude=big", "amplitude: "),
        ("count=2.5", "count: expected a whole number; found '2.5'"),
        ("feedback=perhaps", "feedback: expected true or false; found 'perhaps'"),
        ("amplitud=3", "unknown option 'amplitud' of this test; did you mean 'amplitude'"),
        ("numerical.m1.I.mas=3", "unknown parameter 'numerical.m1.I.mas' of the test; did you mean"),
        ("numerical.m1.I.mass=heavy", "numerical.m1.I.mass: "),
    ],
)
def test_faulty_settings_are_refused_in_one_sentence(bondloop, mine, tmp_path, setting, words):
    result = bondloop("run", mine, "-o", tmp_path / "out", "--set", setting)
    assert result.exit_code == 1
    assert result.stderr.startswith("bondloop: ")
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out" / "run.h5").exists()


def test_the_numpy_backend_gives_the_same(bondloop, mine, tmp_path):
    for backend in ("c", "numpy"):
        result = bondloop(
            "run", mine, "-o", tmp_path / backend, "--no-figures", "--json", "--backend", backend
        )
        assert answer(result)["backend"] == backend
    c, python = (Run.load(tmp_path / b / "run.h5")["force"] for b in ("c", "numpy"))
    assert np.abs(c - python).max() < 1e-12
    result = bondloop("run", mine, "-o", tmp_path, "--backend", "fortran")
    assert result.exit_code == 1
    assert "unknown backend 'fortran'" in result.stderr


def test_repetitions_have_folders_of_their_own_and_say_whether_they_are_equal(
    bondloop, mine, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        assert bondloop("run", mine, "-o", f"out/{name}", "--no-figures").exit_code == 0
        result = bondloop("run", f"out/{name}/run.h5", "--no-figures")
        assert result.exit_code == 0
        assert f"equal to out/{name}/run.h5, to the last bit" in result.stdout
        assert f"wrote out/{name}-again/run.h5" in result.stdout
        assert Path(f"out/{name}-again/run.h5").exists()
    first = Run.load("out/one/run.h5").record
    other = {n: first[n].copy() for n in first}
    other["command"][7] += 1e-9
    Run(replace(first, channels=other)).save("out/other.h5")
    result = bondloop("run", "out/other.h5", "--no-figures")
    words = f"'command' differs from t = {first.time[7]:.6g} s on, by up to 1e-09"
    assert f"NOT equal to out/other.h5: {words}" in result.stdout


def test_a_saved_run_is_repeated_exactly_beside_the_first(bondloop, mine, tmp_path):
    assert bondloop("run", mine, "-o", tmp_path, "--no-figures", "--every", 2).exit_code == 0
    saved = tmp_path / "run.h5"
    before = saved.read_bytes()
    result = bondloop("run", saved, "-o", tmp_path, "--no-figures", "--json")
    assert result.exit_code == 0
    assert answer(result)["files"] == [str(tmp_path / "repeated" / "run.h5")]
    assert saved.read_bytes() == before
    first, second = Run.load(saved), Run.load(tmp_path / "repeated" / "run.h5")
    assert all(np.array_equal(first[n], second[n]) for n in first.record)
    assert answer(result)["difference"] == ""
    refused = bondloop("run", saved, "--seconds", 3, "-o", tmp_path)
    assert refused.exit_code == 1
    assert "repeated exactly as it was" in refused.stderr


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("gawthrop-three-mas", "did you mean 'gawthrop-three-mass'"),
        ("nowhere.py", "nowhere.py: there is no such file"),
        ("nowhere.h5", "nowhere.h5"),
    ],
)
def test_a_source_that_does_not_exist_is_refused(bondloop, tmp_path, monkeypatch, source, words):
    monkeypatch.chdir(tmp_path)
    result = bondloop("run", source, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert words in result.stderr
    assert not (tmp_path / "out").exists(), "nothing is made for a test that is not there"


def test_a_file_without_a_test_or_with_a_fault_is_refused(bondloop, tmp_path):
    empty, faulty, wrong = tmp_path / "empty.py", tmp_path / "faulty.py", tmp_path / "wrong.py"
    empty.write_text("model = 3\n")
    faulty.write_text("x = 1\ntest = 1 / 0\n")
    wrong.write_text("test = 3\n")
    assert "defines no `test`" in bondloop("run", empty, "-o", tmp_path).stderr
    assert "line 2: ZeroDivisionError" in bondloop("run", faulty, "-o", tmp_path).stderr
    result = bondloop("run", wrong, "-o", tmp_path)
    assert result.exit_code == 1
    assert "`test` is of type int; a bondloop.HybridTest was expected" in result.stderr


def test_an_impossible_length_is_refused(bondloop, mine, tmp_path):
    result = bondloop("run", mine, "--seconds", "-1", "-o", tmp_path)
    assert result.exit_code == 1
    assert "length of a run must be positive" in result.stderr
    assert bondloop("run", mine, "--every", "0", "-o", tmp_path).exit_code == 1


def test_a_test_at_rest_has_nothing_to_follow_and_its_json_stays_json(bondloop, mine, tmp_path):
    result = bondloop("run", mine, "--set", "amplitude=0", "-o", tmp_path, "--no-figures", "--json")
    assert result.exit_code == 0
    assert "NaN" not in result.stdout
    assert "nothing to follow" in answer(result)["verdict"]


def test_an_interruption_is_no_failed_test(bondloop, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("bondloop.hybrid.HybridTest.run", interrupted)
    assert bondloop("run", "gawthrop-three-mass").exit_code == 130
