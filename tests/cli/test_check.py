"""`bondloop check`: a verdict with reasons, before anything moves."""

import json

import pytest


@pytest.mark.parametrize(
    "name", ["gawthrop-three-mass", "gawthrop-two-actuators", "wagg-three-mass", "wagg-two-mass-rig"]
)
def test_every_papers_test_passes(bondloop, name):
    result = bondloop("check", name)
    assert result.exit_code == 0, result.stdout
    assert "A dry run with the test's own excitation and limits went to its end" in result.stdout
    assert result.stdout.rstrip().splitlines()[-1].startswith("Verdict: Run it")


def test_an_unstable_loop_is_refused_with_the_reason(bondloop):
    result = bondloop("check", "gawthrop-two-actuators", "--set", "controller=direct")
    assert result.exit_code == 1
    assert "PROBLEM BL207: the loop is unstable: a mode at 9.7 Hz grows at 8.05 1/s" in result.stdout
    assert "-52.4 Ns/m of damping" in result.stdout
    last = result.stdout.rstrip().splitlines()[-1]
    assert last.startswith("Verdict: Do not run this test on a rig: the loop is unstable")


def test_json_has_assumptions_poles_lags_and_problems(bondloop):
    result = bondloop("check", "gawthrop-two-actuators", "--set", "controller=direct", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (found["test"], found["passed"], found["level"]) == ("gawthrop-two-actuators", False, "stop")
    assert found["step"]["growth"] == pytest.approx(8.05, abs=0.01)
    assert found["dry_run"]["completed"] is False
    assert found["dry_run"]["seconds"] == pytest.approx(0.547)
    assert "suggestion" not in found
    assert [a["number"] for a in found["assumptions"]] == [1, 2, 3, 4, 5]
    assert max(p[0] for p in found["poles"]) == pytest.approx(7.48, abs=0.05)
    assert found["lags"][0]["damping"] == pytest.approx(-52.4, abs=0.1)
    assert found["lags"][0]["structure_damping"] == pytest.approx(6, abs=0.05)
    stops = [f["rule"] for f in found["findings"] if f["level"] == "stop"]
    assert stops == ["BL207", "BL401"], "the loop, and the limit that it runs into"


def test_settings_reach_the_check(bondloop):
    """A controller whose model has 50 % too much damping leads the motion: the check sees the lag change."""
    plain, changed = (
        json.loads(bondloop("check", "gawthrop-two-actuators", "--json", *more).stdout)["lags"][0]["lag"]
        for more in ([], ["--set", "damping_error=0.5"])
    )
    assert plain == pytest.approx(0, abs=1e-8)
    assert changed == pytest.approx(-0.5 * 150.8 / 13618, rel=1e-2)


def test_the_check_is_drawn(bondloop, tmp_path):
    path = tmp_path / "check.png"
    result = bondloop("check", "gawthrop-two-actuators", "--figure", path, "--seconds", 2, "--json")
    found = json.loads(result.stdout)
    assert found["figure"] == str(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert found["dry_run"]["seconds"] == pytest.approx(2.0, abs=2e-3)
    assert found["margins"]["delay"]["value"] == pytest.approx(1.19e-3, rel=0.02)


def test_a_saved_run_cannot_be_checked(bondloop, tmp_path):
    result = bondloop("check", tmp_path / "run.h5")
    assert result.exit_code == 1
    assert "is a saved run; name the test that made it" in result.stderr


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("rig.specimen.m3.I.mass=-800", "rig.specimen.m3.I.mass: expected a number above 0; found -800"),
        ("rig.transfer.mass.mass=0", "rig.transfer.mass.mass: expected a number above 0; found 0"),
        ("controller.transfer.mass.mass=1e400", "expected a finite number; '1e400' is too large"),
        ("numerical.m1.I.mass=nan", "expected a number with a unit, such as '150 mm'; found 'nan'"),
    ],
)
def test_a_setting_obeys_the_range_of_the_constructor(bondloop, setting, words):
    result = bondloop("check", "gawthrop-three-mass", "--set", setting)
    assert result.exit_code == 1
    assert words in result.stderr


def test_a_pseudo_dynamic_test_has_a_length_a_figure_and_a_dry_run(bondloop, tmp_path):
    path = tmp_path / "check.png"
    result = bondloop("check", "bayer-substep", "--seconds", 1, "--figure", path, "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["dry_run"]["seconds"] == pytest.approx(1.0, abs=5e-3)
    assert found["figure"] == str(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    unstable = bondloop("check", "bayer-substep", "--set", "sub_steps=1")
    assert unstable.exit_code == 1
    assert "PROBLEM BL209: a motion at 42.3 Hz grows at 18.4 1/s" in unstable.stdout
    assert "Take " not in unstable.stdout
    advised = bondloop("check", "bayer-substep", "--set", "sub_steps=1", "--suggest")
    assert advised.exit_code == 1
    assert "Take a time step of 0.5 ms: Run it. With care this would do too: 4 sub-steps." in advised.stdout


def test_a_suggestion_is_searched_for_only_when_it_is_wanted(bondloop):
    arguments = ("check", "gawthrop-two-actuators", "--set", "controller=direct", "--suggest")
    shown, data = bondloop(*arguments), bondloop(*arguments, "--json")
    assert (shown.exit_code, data.exit_code) == (1, 1)
    found = json.loads(data.stdout)["suggestion"]
    assert found["proposed"]["level"] in ("run", "care")
    assert any(a["level"] is None and a["stable"] is False for a in found["attempts"])
    assert f"Take {found['proposed']['words']}: {found['proposed']['verdict']}" in shown.stdout
    assert found["untried"] == 0


def test_a_simulation_is_listed_as_one_and_has_nothing_to_check(bondloop):
    listed = json.loads(bondloop("list", "--json").stdout)
    kinds = {item["name"]: item["kind"] for item in listed}
    assert kinds.pop("dasilva-beam") == "simulation"
    assert set(kinds.values()) == {"test"}
    result = bondloop("check", "dasilva-beam")
    assert result.exit_code == 1
    assert "dasilva-beam is a simulation: it has no rig and no loop to check; `bondloop run`" in result.stderr


def test_a_file_that_is_no_text_is_refused_by_name(bondloop, tmp_path):
    path = tmp_path / "mine.py"
    path.write_bytes(b"import bondloop\n\0\n")
    result = bondloop("check", path)
    assert result.exit_code == 1
    assert f"{path}: source code string cannot contain null bytes" in result.stderr


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("numerical.m1.I.mass=10 mm", "numerical.m1.I.mass: expected a quantity in kg"),
        ("rig.substeps=4", "Emulated(..., substeps=4)"),
        ("rig.transfer.spring.stifness=4", "did you mean 'rig.transfer.spring.stiffness'"),
    ],
)
def test_settings_that_cannot_be_made_say_what_to_do(bondloop, setting, words):
    result = bondloop("check", "gawthrop-three-mass", "--set", setting)
    assert result.exit_code == 1
    assert words in result.stderr


def test_a_finding_is_accepted_with_a_reason_and_both_are_kept(bondloop):
    result = bondloop("check", "gawthrop-two-actuators", "--accept", "BL302=measured on the rig", "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 0
    assert data["accepted"] == {"BL302": "measured on the rig"}
    (found,) = [f for f in data["findings"] if f["rule"] == "BL302"]
    assert found["accepted"] == "measured on the rig"
    assert "accepted: BL302" in data["verdict"]


@pytest.mark.parametrize(
    ("given", "said"), [("BL302", "expected a rule with a reason"), ("BL999=why", "has no rule 'BL999'")]
)
def test_what_cannot_be_accepted_is_told(bondloop, given, said):
    result = bondloop("check", "gawthrop-two-actuators", "--accept", given)
    assert result.exit_code != 0
    assert said in result.stderr


def test_a_laboratorys_limits_lie_beside_the_test(bondloop, tmp_path):
    (tmp_path / "own.py").write_text("from bondloop.papers.gawthrop_two_actuators import test\n")
    (tmp_path / "check.toml").write_text('delay_margin = "0.5 ms"\ndelay_samples = 1\n')
    data = json.loads(bondloop("check", str(tmp_path / "own.py"), "--json").stdout)
    assert data["policy"]["delay_margin"] == 0.0005
    assert "BL302" not in {f["rule"] for f in data["findings"]}
    other = tmp_path / "other.toml"
    other.write_text('delay_margin = "5 ms"\n')
    data = json.loads(bondloop("check", str(tmp_path / "own.py"), "--limits", str(other), "--json").stdout)
    assert "BL302" in {f["rule"] for f in data["findings"]}
