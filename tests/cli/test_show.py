"""`bondloop show` and `identify` on files as recorders write them."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bondloop import papers
from bondloop.engine.ir.quantity import Meaning, Role
from bondloop.results import Record
from bondloop.transfer.process import Process, first_order

sys.path.insert(0, str(Path(__file__).parents[1] / "readers"))  # for recorders.py

from recorders import daq


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """6 s of a known process, 22 ms with 4 ms of delay, in a logger's raw file with four decimals."""
    u = 2 * np.random.default_rng(5).normal(size=6000)
    y = first_order(1.002, 0.0221, delay=0.00397).simulate(u, 1e-3)
    path = tmp_path_factory.mktemp("raw") / "chirp.txt"
    path.write_bytes(daq(6000, (u, y)))
    return path


def test_a_raw_file_is_shown(bondloop, recorded):
    told = bondloop("show", recorded)
    assert told.exit_code == 0, told.stderr
    assert "6,000 samples, 1000 a second, 0 to 5.999 s; time: the rate" in told.stdout
    assert "CHANNEL0" in told.stdout
    found = json.loads(bondloop("show", recorded, "--json").stdout)
    assert found["rate"] == 1000
    assert [c["name"] for c in found["channels"]] == ["Sample Number", "CHANNEL0", "CHANNEL1"]


def test_a_raw_file_is_identified_as_it_is(bondloop, recorded, tmp_path):
    told = bondloop(
        "identify", recorded, "-u", "CHANNEL0", "-y", "CHANNEL1", "-m", "G1D", "-o", tmp_path, "--no-figures"
    )
    assert told.exit_code == 0, told.stderr
    model = Process.load(tmp_path / "model.json")
    assert model.delay == pytest.approx(0.00397, abs=1e-5)
    assert abs(model.response([0.0])[0]) == pytest.approx(1.002, rel=1e-3)


def test_a_run_file_is_shown(bondloop, tmp_path):
    run = papers.find("gawthrop-three-mass").load().test().run(0.05)
    run.save(tmp_path / "run.h5")
    told = bondloop("show", tmp_path / "run.h5")
    assert told.exit_code == 0, told.stderr
    assert "tested: gawthrop_three_mass (a hybrid test)" in told.stdout
    assert "ended: completed: finished 51 steps" in told.stdout
    found = json.loads(bondloop("show", tmp_path / "run.h5", "--json").stdout)
    assert found["run"]["verdict"] == run.verdict


def test_of_a_machine_it_is_shown_who_confirmed_what(bondloop, tmp_path):
    run = papers.find("gawthrop-three-mass").load().test().run(0.05)
    items = [
        {"text": "The rig is at rest", "kind": "observed", "by": "the loop", "at": "", "evidence": ""},
        {"text": "The oil is warm", "kind": "confirmed", "by": "ada", "at": "", "evidence": ""},
    ]
    record = replace(
        run.record,
        attributes={**run.record.attributes, "operator": "carl", "preflight": items},
        description={**run.record.description, "realtime": {"machine": True}},
    )
    record.save(tmp_path / "run.h5")
    told = bondloop("show", tmp_path / "run.h5").stdout
    assert "rig: a machine\n" in told
    assert "operator: carl\n" in told
    assert "pre-flight: The rig is at rest: observed, the loop; The oil is warm: confirmed, ada\n" in told
    run.save(tmp_path / "rehearsal.h5")
    rehearsed = bondloop("show", tmp_path / "rehearsal.h5").stdout
    assert "rig: Emulated\n" in rehearsed
    assert "operator:" not in rehearsed
    assert "pre-flight:" not in rehearsed


def test_what_cannot_be_shown_is_told(bondloop, tmp_path):
    (tmp_path / "a.xyz").write_text("?")
    (tmp_path / "b.csv").write_text("t,x\n0,1\n1,oops\n2,3\n3,4\n4,5\n5,6\n")
    for name, words in (
        ("a.xyz", "cannot tell what a.xyz is"),
        ("b.csv", "line 3, column 2 (x): 'oops'"),
        ("none.csv", "none.csv: No such file"),
    ):
        told = bondloop("show", tmp_path / name)
        assert told.exit_code == 1
        assert words in told.stderr


def test_of_a_run_only_what_sensors_made_is_doubted(bondloop, tmp_path):
    rng = np.random.default_rng(4)
    frozen = np.concatenate((rng.normal(size=1000), np.full(500, 0.25)))
    time = np.arange(1500) * 1e-3
    channels = {
        "switch.force": np.ones(1500), "ground_ux": frozen, "command": np.minimum(np.sin(9 * time), 0.9),
        "measured.force": frozen,
    }  # fmt: skip
    roles = (Role.SAFETY, Role.EXCITATION, Role.COMMAND, Role.MEASURED)
    meanings = {name: Meaning(role) for name, role in zip(channels, roles, strict=True)}
    Record(time, channels, meanings=meanings).save(tmp_path / "run.h5")
    lines = [s for s in bondloop("show", tmp_path / "run.h5").stdout.splitlines() if "suspicious" in s]
    assert len(lines) == 1
    assert "'measured.force' looks frozen: at 0.25 for 500 samples" in lines[0]
    # A file that does not say what its channels are is looked at as anybody's.
    Record(time, channels).save(tmp_path / "old.h5")
    assert bondloop("show", tmp_path / "old.h5").stdout.count("suspicious") == 4


def test_a_rate_that_contradicts_the_time_stamps_is_told(bondloop, tmp_path):
    """As `read_data` does: the rate given is used, and that it is not the stamps' is said."""
    path = tmp_path / "stamped.csv"
    path.write_text("time,x\n" + "".join(f"{k / 100},{k % 3}\n" for k in range(50)))
    told = bondloop("show", path, "--rate", "5000")
    assert "50 samples, 5000 a second, 0 to 0.0098 s; time: the rate given" in told.stdout
    assert "the rate given is 5000 Hz, but the time stamps are 0.01 s apart" in told.stdout
    agreed = bondloop("show", path, "--rate", "100")
    assert "50 samples, 100 a second, 0 to 0.49 s; time: 'time'" in agreed.stdout
    assert "rate given" not in agreed.stdout
