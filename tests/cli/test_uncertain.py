"""`bondloop study --samples` and `bondloop tune --over`: what is uncertain, from the command line."""

import json

import numpy as np
import pytest

from bondloop.identify import fit_time
from bondloop.transfer import second_order

TEST = "gawthrop-two-actuators"
SCALE = "excitation.scale=uniform(5, 40)"


def test_worst_cases_are_ready_to_run(bondloop, tmp_path):
    """The file of the worst test, run, has the peak that was measured on the way."""
    result = bondloop(
        "study", TEST, "--vary", SCALE, "--samples", 12, "--seconds", 1, "--measure",
        "peak:max(abs(force[0]), abs(force[1])), delay", "--keep", "worst 2, 50 %", "-o", tmp_path,
        "--no-figures", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    names = [path.rsplit("/", 1)[1] for path in found["files"]]
    names = [name for name in names if name != "samples.parquet"]  # where pyarrow is installed
    assert names == [
        "samples.csv",
        *(f"{n}.{e}" for n in ("worst-1", "worst-2", "50-percent") for e in ("h5", "toml")),
    ]
    measure = "peak:max(abs(force[0]), abs(force[1]))"
    assert found["run"][measure].startswith(f"bondloop run {TEST} --set excitation.scale=")
    rows = (tmp_path / "samples.csv").read_text().splitlines()
    assert len(rows) == 13
    again = bondloop("run", tmp_path / "worst-1.toml", "-o", tmp_path / "again", "--no-figures", "--json")
    assert again.exit_code in (0, 1), again.output
    worst = found["worst"][measure][0]["excitation.scale"]
    assert f"scale = {worst!r}" in (tmp_path / "worst-1.toml").read_text().replace(
        '"excitation.scale"', "scale"
    )


@pytest.mark.parametrize(("scale", "told"), [("uniform(5, 6)", False), ("uniform(60, 80)", True)])
def test_a_worst_trip_is_named_where_a_test_tripped(bondloop, tmp_path, scale, told):
    words = ["--samples", 8, "--seconds", 1, "--measure", "error,trip", "-o", tmp_path, "--no-figures"]
    result = bondloop("study", TEST, "--vary", f"excitation.scale={scale}", *words)
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if line.startswith("worst ")]
    assert any("error" in line.partition(":")[0] for line in lines)
    assert any("trip" in line.partition(":")[0] for line in lines) == told


def test_a_csv_of_another_study_does_not_stay(bondloop, tmp_path, monkeypatch):
    monkeypatch.setattr("bondloop.cli.study.MOST_ROWS", 8)
    ask = ("study", TEST, "--vary", SCALE, "--seconds", 0.1, "-o", tmp_path, "--no-figures", "--samples")
    assert bondloop(*ask, 8).exit_code == 0
    assert len((tmp_path / "samples.csv").read_text().splitlines()) == 9
    more = bondloop(*ask, 9)
    assert "more than 8 tests are not written as CSV" in more.stdout
    assert not (tmp_path / "samples.csv").exists()


def test_a_csv_that_cannot_be_written_is_told(bondloop, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bondloop.studies.sampled.write_csv", full)
    (tmp_path / "samples.csv").write_text("old")
    result = bondloop(
        "study", TEST, "--vary", SCALE, "--seconds", 0.1, "-o", tmp_path, "--no-figures", "--samples", 8
    )
    assert result.exit_code == 1
    assert "samples.csv: No space left on device" in result.output
    assert "is that of an earlier study" in result.output
    assert (tmp_path / "samples.csv").read_text() == "old"


def test_from_an_identified_actuator(bondloop, tmp_path):
    random = np.random.default_rng(3)
    u = np.cumsum(random.normal(size=1500)) * 1e-4
    fit = fit_time(
        u, second_order(1.0, 12.0, 0.7).simulate(u, 1e-3) + 2e-4 * random.normal(size=1500), 1e-3, "G2"
    )
    fit.process.save(tmp_path / "model.json", fit.to_dict())
    b, a = fit.process.numerator, fit.process.denominator
    (tmp_path / "test.py").write_text(f"""
import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Se

class Brace(Model):
    def __init__(self):
        self.end, self.v = Port(), One()
        self.spring, self.damper = C(stiffness=20e3), R(damping=10)
        self.end >> self.v >> [self.spring, self.damper]

def test():
    frame = Model("frame")
    frame.shaker, frame.v, frame.mass, frame.damper = Se("F"), One(), I(mass=100), R(damping=1500)
    frame.brace = Brace()
    frame.shaker >> frame.v >> [frame.mass, frame.damper]
    frame.v >> frame.brace.end
    numerical, physical = frame.cut("v >> brace.end")
    return bl.HybridTest(
        numerical, rig=bl.rigs.Emulated(physical, bl.transfer.Process({b!r}, {a!r}).actuator()),
        controller=bl.control.Direct(), rate=500, excitation={{"F": bl.signals.Sine("10 N", 2.0)}},
    )
""")
    (tmp_path / "rig.toml").write_text('[vary]\n"rig.transfer" = "identified(model.json)"\n')
    result = bondloop(
        "study", tmp_path / "test.py", "--vary", tmp_path / "rig.toml", "--vary",
        "excitation.scale=uniform(1, 2)", "--samples", 16, "--seconds", 1, "--measure", "error,peak:force",
        "--sensitivity", "-o", tmp_path, "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["tests"] == 16 * 4
    assert list(found["total"]["error"]) == ["rig.transfer", "excitation.scale"]
    assert found["total"]["error"]["excitation.scale"]["value"] == pytest.approx(0, abs=1e-6)  # it is linear
    assert found["total"]["peak:force"]["excitation.scale"]["value"] > 0.7


def test_tune_over_uncertain_rigs(bondloop, tmp_path):
    result = bondloop(
        "tune", "wagg-three-mass", "--over", "rig.transfer.mass.mass=normal(1, 5%)", "--setting",
        "controller.alpha=10..1000", "--samples", 8, "--generations", 1, "--seconds", 0.5, "-o", tmp_path,
        "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert 10 <= found["settings"]["controller.alpha"] <= 1000
    assert found["tried"] == 16
    assert found["files"] == [str(tmp_path / "tuned.toml")]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("study", TEST, "--vary", SCALE, "--samples", 4, "--keep", "worse"), "expected a choice such as"),
        (("study", TEST, "--vary", SCALE, "--keep", "worst"), "give --samples"),
        (("study", TEST, "--vary", SCALE, "--samples", 5, "--sensitivity"), "power of two"),
        (("study", TEST, "--vary", "scale", "--samples", 4), "NAME=DISTRIBUTION"),
        (("study", TEST, "--vary", SCALE, "--vary", SCALE, "--samples", 4), "twice"),
        (("study", TEST, "--vary", "excitation.scal=normal(1, 5%)", "--samples", 4), "unknown parameter"),
        (("study", TEST, "--vary", "excitation.scale=normal(1, 90%)", "--samples", 99), "cut it off"),
        (("study", TEST, "--vary", "rig.transfer=identified(no.json)", "--samples", 4), "no.json"),
        (("tune", TEST, "--over", SCALE), "give --setting"),
        (("tune", TEST, "--setting", "controller.alpha=1..2"), "give --over"),
        (("tune", TEST, "--over", SCALE, "--setting", "controller.alpha"), "NAME=LOW..HIGH"),
    ],
)
def test_what_is_wrong_is_one_sentence(bondloop, tmp_path, words, told):
    result = bondloop(*words, "--seconds", 0.1, "-o", tmp_path)
    assert result.exit_code == 1
    assert told in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
