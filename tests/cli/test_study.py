"""`bondloop study`, and `run` and `check` of a pseudo-dynamic test."""

import json

import pytest


def test_study_prints_a_table_and_saves_a_figure(bondloop, tmp_path):
    result = bondloop(
        "study", "bayer-substep", "--vary", "sub_steps=2..4", "--vary", "time_step=0.002,0.004",
        "--measure", "stable,error", "--seconds", 1, "-o", tmp_path,
    )  # fmt: skip
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:4] == [
        "stable",
        "time_step \\ sub_steps    2    3    4",
        "0.002                  yes  yes  yes",
        "0.004                   NO   NO  yes",
    ]
    assert f"wrote {tmp_path / 'study.png'}" in lines
    assert (tmp_path / "study.png").stat().st_size > 5000
    assert (
        (tmp_path / "study.csv").read_text().startswith("sub_steps,time_step,stable,error\n2.0,0.002,True,")
    )


def test_json_has_every_cell(bondloop, tmp_path):
    result = bondloop(
        "study", "bayer-substep", "--vary", "P=0,-1", "--set", "sub_steps=2", "--measure", "stable,growth",
        "-o", tmp_path, "--no-figures", "--json",
    )  # fmt: skip
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["test"] == "bayer-substep"
    assert found["varied"] == {"P": [0.0, -1.0]}
    assert [c["stable"] for c in found["cells"]] == [False, True]
    assert found["cells"][0]["growth"] == pytest.approx(5.3, abs=0.05)
    assert found["files"] == [str(tmp_path / "study.csv")]


def test_any_test_and_any_parameter(bondloop, tmp_path):
    result = bondloop(
        "study", "gawthrop-two-actuators", "--vary", "controller=direct,virtual-junction",
        "--vary", "rig.transfer[0].damper.damping=150,165", "--measure", "stable", "-o", tmp_path, "--json",
    )  # fmt: skip
    assert result.exit_code == 0
    assert [c["stable"] for c in json.loads(result.stdout)["cells"]] == [False, False, True, True]


def test_a_file_of_ones_own(bondloop, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from bondloop.papers import bayer_substep\n"
        "SECONDS = 0.5\n"
        "def test(steps: int = 3):\n"
        "    return bayer_substep.test(sub_steps=steps, reference=False)\n"
    )
    result = bondloop(
        "study", file, "--vary", "steps=2,9", "--measure", "stable", "-o", tmp_path, "--no-figures"
    )
    assert result.exit_code == 0
    assert result.stdout.splitlines()[2].split() == ["NO", "yes"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--vary", "sub_steps"], "--vary takes NAME=VALUES"),
        (
            ["--vary", "sub_step=1..2"],
            "at sub_step = 1: unknown option 'sub_step' of this test; did you mean",
        ),
        (["--vary", "sub_steps=0"], "at sub_steps = 0: sub_steps must be a whole number of at least 1"),
        (["--vary", "sub_steps=2", "--measure", "stble"], "unknown measure 'stble'"),
        (["--vary", "alpha=0.1"], "at alpha = 0.1: alpha = 0.1 and delta = 0.5 are not stable"),
    ],
)
def test_faults_are_one_sentence(bondloop, tmp_path, words, sentence):
    result = bondloop("study", "bayer-substep", *words, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.startswith("bondloop: ")
    assert sentence in result.stderr
    assert not (tmp_path / "out").exists()


def test_run_with_the_paper_s_options(bondloop, tmp_path):
    words = ["run", "bayer-substep", "-o", tmp_path, "--json", "--no-figures"]
    found = json.loads(bondloop(*words, "--set", "sub_steps=3", "--set", "overshoot=0.1").stdout)["findings"]
    assert found["stable"] is False
    assert found["dominant_frequency"] == pytest.approx(44.7, abs=0.3)
    settings = ["sub_steps=3", "time_step=4 ms", "overshoot=0.1", "P=-1"]
    result = bondloop(*words, *(w for s in settings for w in ("--set", s)))
    assert result.exit_code == 0
    found = json.loads(result.stdout)["findings"]
    assert found["stable"] is True
    assert set(found) >= {"stable", "rms_error", "peak_coupling_force", "dominant_frequency"}


def test_run_draws_the_figures_of_a_test_without_actuators(bondloop, tmp_path):
    result = bondloop("run", "bayer-substep", "-o", tmp_path, "--seconds", 1)
    assert result.exit_code == 0
    assert (tmp_path / "coupling_force.png").exists()


def test_check_tells_stability(bondloop):
    passed = bondloop("check", "bayer-substep")
    assert passed.exit_code == 0
    assert "Verdict: Run it with care: 14 % off the reference." in passed.stdout
    failed = bondloop("check", "bayer-substep", "--set", "sub_steps=2", "--json")
    assert failed.exit_code == 1
    found = json.loads(failed.stdout)
    assert (found["test"], found["passed"]) == ("bayer-substep", False)
    assert found["step"]["frequency"] == pytest.approx(43.5, abs=0.1)


@pytest.mark.parametrize(
    ("name", "axis", "sentence"),
    [
        (
            "gawthrop-three-mass",
            "rig.transfer.mass.mass=1..2 mm/2",
            "rig.transfer.mass.mass: expected a quantity in kg",
        ),
        ("bayer-substep", "time_step=1..4 kg/2", "time_step: expected a quantity in s"),
        ("bayer-substep", "time_step=1 ms,4 kg", "expected quantities of one kind; found 1 ms and 4 kg"),
    ],
)
def test_an_axis_measures_what_it_varies(bondloop, tmp_path, name, axis, sentence):
    result = bondloop("study", name, "--vary", axis, "--measure", "stable", "-o", tmp_path)
    assert result.exit_code == 1
    assert sentence in result.stderr


def test_an_axis_obeys_the_range_of_the_constructor(bondloop, tmp_path):
    axis = "rig.transfer.mass.mass=0..2"
    result = bondloop("study", "gawthrop-three-mass", "--vary", axis, "--measure", "stable", "-o", tmp_path)
    assert result.exit_code == 1
    assert "rig.transfer.mass.mass: expected a number above 0; found 0" in result.stderr
