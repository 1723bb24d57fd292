"""Every verb takes a test in a TOML file."""

import json
from pathlib import Path

import pytest

from bondloop import papers
from bondloop.files import read
from bondloop.rehearsal import Run

EXAMPLE = Path(__file__).parents[2] / "examples" / "papers" / "gawthrop-two-actuators.toml"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(EXAMPLE.read_text().replace("seconds = 10", "seconds = 0.5"))
    return path


def test_run(bondloop, file, tmp_path):
    result = bondloop("run", file, "--no-figures", "--out", tmp_path, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["test"] == "two"
    run = Run.load(tmp_path / "run.h5")
    assert len(run.time) == 501  # as long as the file says
    whole = papers.find("gawthrop-two-actuators").load().test().run(0.5)
    assert run["command[0]"].tolist() == whole["command[0]"].tolist()
    assert run.record.description["controller"]["model"][0]["k"] == 13618


def test_entries_and_parameters_are_set_by_path(bondloop, file, tmp_path):
    def described(*words):
        result = bondloop("run", file, "--no-figures", "--out", tmp_path, *words)
        assert result.exit_code == 0, result.stderr
        return Run.load(tmp_path / "run.h5").record.description

    said = described(
        "--set", "rig.latency=2 ms", "--set", "rate=500", "--set", "rig.substeps=8",
        "--set", "excitation.r1.frequency=3", "--set", "controller.transfer[0].damper.damping=160",
        "--set", "seconds=0.2",
    )  # fmt: skip
    assert (said["rig"]["latency"], said["rate"], said["rig"]["substeps"]) == (0.002, 500.0, 8)
    assert said["excitation"]["r1"]["frequency"] == 3
    assert said["values"] == {"controller.transfer[0].damper.damping": 160.0}
    assert said["seconds"] == 0.2
    for words, answer in (
        ("rat=500", "unknown entry 'rat' of a test; did you mean"),
        ("rig.latncy=1", "unknown parameter 'rig.latncy' of the test"),
        ("rate", "--set takes PATH=VALUE"),
    ):
        result = bondloop("run", file, "--set", words, "--out", tmp_path)
        assert result.exit_code == 1
        assert answer in result.stderr


def test_check_equations_draw_study_and_export(bondloop, file, tmp_path):
    assert "Verdict: Run it with care" in bondloop("check", file).stdout
    assert "d/dt outer1.C.displacement" in bondloop("equations", file).stdout
    assert bondloop("draw", file, "--out", tmp_path / "two.svg").exit_code == 0
    result = bondloop(
        "study", file, "--vary", "rig.latency=0,0.001", "--no-figures", "--json", "--out", tmp_path
    )
    assert len(json.loads(result.stdout)["cells"]) == 2
    assert bondloop("export", "c", file, tmp_path / "c").exit_code == 0
    simulation = EXAMPLE.with_name("dasilva-beam.toml")
    assert "has no bond graph to show" in bondloop("equations", simulation).stderr


def test_every_fault_has_a_line_of_its_own(bondloop, file):
    text = file.read_text()
    file.write_text(
        text.replace("rate =", "rat =").replace('"25 mm"', '"25 N"').replace('"Emulated"', '"Emu"')
    )
    result = bondloop("check", file)
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert lines[0] == f"bondloop: {file}: 3 faults:"
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "line 5, rat", "line 13, rig.rig", "line 34, limits.displacement",
    ]  # fmt: skip
    missing = bondloop("check", file.with_name("no.toml"))
    assert missing.exit_code == 1
    assert "No such file" in missing.stderr


def test_a_ready_made_test_is_written_to_begin_with(bondloop, tmp_path):
    result = bondloop(
        "export", "toml", "gawthrop-three-mass", tmp_path / "three.toml", "--set", "spring=hardening",
        "--set", "rig.transfer.damper.damping=2",
    )  # fmt: skip
    assert result.exit_code == 0
    assert f"wrote {tmp_path / 'three.toml'}" in result.stdout
    file = read(tmp_path / "three.toml")
    assert file.seconds == 50.0
    ready = papers.find("gawthrop-three-mass").load().test(spring="hardening")
    assert file.test == ready.with_values({"rig.transfer.damper.damping": 2.0})


def test_schema(bondloop, tmp_path):
    printed = json.loads(bondloop("schema").stdout)
    assert bondloop("schema", "--out", tmp_path / "schema.json").exit_code == 0
    assert json.loads((tmp_path / "schema.json").read_text(encoding="utf-8")) == printed
    assert "controller.VirtualJunction" in printed["$defs"]
