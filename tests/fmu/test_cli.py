"""`bondloop export fmu`."""

import json

from click.testing import CliRunner
from fmpy import read_model_description

from bondloop.cli.main import app


def test_export_fmu(tmp_path):
    path = tmp_path / "rig.fmu"
    options = ["--half", "rig", "--version", "2", "-o", str(path), "--json"]
    done = CliRunner().invoke(app, ["export", "fmu", "gawthrop-two-actuators", *options])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["file"] == str(path)
    description = read_model_description(str(path))
    assert description.fmiVersion == "2.0"
    inputs = [v.name for v in description.modelVariables if v.causality == "input"]
    assert inputs == ["command[0]", "command[1]"]


def test_faults_are_told_in_a_sentence(tmp_path):
    path = tmp_path / "x.fmu"
    for options, said in (
        (["--half", "left"], "unknown half 'left'"),
        (["--version", "1"], "FMI 2 or 3; found version 1"),
    ):
        done = CliRunner().invoke(app, ["export", "fmu", "gawthrop-two-actuators", *options, "-o", str(path)])
        assert done.exit_code != 0
        assert said in str(done.exception) + done.output
    assert not path.exists()
