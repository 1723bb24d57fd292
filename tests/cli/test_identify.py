"""`bondloop identify`: table, model file, figure; and words where it cannot."""

import json

import numpy as np
import pytest

from bondloop.transfer.process import Process, second_order

TRUE = second_order(0.97, 24.0, 0.55, delay=0.0052)


@pytest.fixture
def recorded(tmp_path):
    """A CSV file of 3 s at 1 kHz of a rig with known dynamics, 40 dB of noise."""
    rng = np.random.default_rng(3)
    t = np.arange(3000) * 1e-3
    u = 2e-3 * rng.normal(size=3000)
    y = TRUE.simulate(u, 1e-3)
    y += 0.01 * y.std() * rng.normal(size=3000)
    path = tmp_path / "rig.csv"
    head = "time [s],command [m],position [m]"
    np.savetxt(path, np.column_stack([t, u, y]), delimiter=",", header=head, comments="", fmt="%.9g")
    return path


def test_one_model_with_file_and_figure(bondloop, recorded, tmp_path):
    model, figure = tmp_path / "new" / "model.json", tmp_path / "new" / "identification.png"
    words = (
        "--input",
        "command",
        "--output",
        "position",
        "--model",
        "G2D",
        "--out",
        tmp_path / "new",
    )
    result = bondloop("identify", recorded, *words)
    assert result.exit_code == 0, result.stderr
    assert "G2D: (0.9" in result.stdout
    assert "residuals are white" in result.stdout
    G = Process.load(model)
    assert G.delay == pytest.approx(TRUE.delay, abs=1e-4)
    assert G.response([10.0, 30.0]) == pytest.approx(TRUE.response([10.0, 30.0]), rel=0.01)
    about = json.loads(model.read_text())["about"]
    assert (about["model"], about["source"], about["output_unit"]) == ("G2D", "rig.csv", "m")
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_auto_ranks_and_recommends(bondloop, recorded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = bondloop("identify", recorded, "-u", "command", "-y", "position", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["wrote"] == ["out/rig/model.json", "out/rig/identification.png"]
    assert found["recommended"] == "G2D"
    assert {"G1", "G2", "G1D", "G2D"} <= {model["model"] for model in found["models"]}
    assert found["sample_period"] == pytest.approx(1e-3)
    best = next(m for m in found["models"] if m["model"] == "G2D")
    delay = best["parameters"]["delay"]
    assert delay["low"] < 0.0052 < delay["high"]


def test_a_phrase_names_the_model(bondloop, recorded, tmp_path):
    words = ("-u", "command", "-y", "position", "-m", "2 poles, 1 zero, delay", "--no-figures")
    result = bondloop("identify", recorded, *words, "--out", tmp_path)
    assert result.exit_code == 0
    assert not (tmp_path / "identification.png").exists()
    assert "2 poles, 1 zero, delay: (" in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-u", "comand", "-y", "position"), "did you mean 'command'"),
        (("-u", "command", "-y", "position", "-m", "G9X"), "cannot tell which model"),
        (("-u", "command", "-y", "position", "-m", "2 poles, 3 zeros"), "improper"),
        (("-u", "command", "-y", "position", "-m", "G2D", "--max-delay", "30"), "longer than the record"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(bondloop, recorded, words, message):
    result = bondloop("identify", recorded, *words)
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ((), "name --input (-u), the command and --output (-y), the measured motion, among"),
        (("-u", "command"), "name --output (-y), the measured motion, among"),
        (("-y", "position", "--drift", "model.json"), "name --input (-u), the command, among"),
    ],
)
def test_channels_that_were_not_named_are_listed(bondloop, recorded, words, missing):
    result = bondloop("identify", recorded, *words)
    assert result.exit_code == 1
    assert missing in result.stderr
    assert "its channels 'command' [m], 'position' [m]" in result.stderr


def test_a_missing_file(bondloop, tmp_path):
    result = bondloop("identify", tmp_path / "none.csv", "-u", "a", "-y", "b")
    assert result.exit_code == 1
    assert "there is no file" in result.stderr


def test_a_model_is_watched_for_drift(bondloop, recorded, tmp_path):
    model = tmp_path / "model.json"
    second_order(0.97, 24.0, 0.55, delay=0.0092).save(model)
    result = bondloop("identify", recorded, "-u", "command", "-y", "position", "--drift", model)
    assert result.exit_code == 0, result.stderr
    assert "The model no longer holds" in result.stdout


def test_several_outputs_give_a_matrix(bondloop, recorded, tmp_path):
    lines = recorded.read_text(encoding="utf-8").splitlines()
    both = tmp_path / "both.csv"
    rows = [f"{lines[0]},again", *(f"{line},{line.split(',')[-1]}" for line in lines[1:])]
    both.write_text("\n".join(rows), encoding="utf-8")
    options = [
        "-u",
        "command",
        "-y",
        "position",
        "-y",
        "again",
        "--model",
        "G2D",
        "--out",
        tmp_path,
        "--json",
    ]
    result = bondloop("identify", both, *options, "--no-figures")
    assert result.exit_code == 0, result.stderr
    content = json.loads(result.stdout)
    assert [len(row) for row in content["matrix"]] == [1, 1]
    assert (tmp_path / "model_1_0.json").exists()
