"""Runs in real time, repeated from their files: what the loop computed, from what it measured."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bondloop as bl
from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import run_realtime
from bondloop.results import Record


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a run on the clock."""
    path = tmp_path_factory.mktemp("rerun") / "run.h5"
    run = run_realtime(gawthrop_two_actuators.test().replaced(gap=5.0), 0.2, record=path, supervisor=60.0)
    return Path(run.record.attributes["files"][0])


def test_a_run_on_the_clock_is_repeated_to_the_last_bit(file: Path) -> None:
    again = bl.rerun(file)
    assert again.record.attributes["difference"] == ""
    assert len(again.time) == len(Record.load(file))


def test_other_measurements_give_another_run(file: Path, tmp_path: Path) -> None:
    old = Record.load(file)
    channels = {name: np.array(old[name]) for name in old}
    channels["measured.force[0]"][50] += 1.0
    replace(old, channels=channels).save(tmp_path / "other.h5")
    assert "differs from t = 0.05" in bl.rerun(tmp_path / "other.h5").record.attributes["difference"]


def test_a_hole_in_the_record_is_said(file: Path, tmp_path: Path) -> None:
    old = Record.load(file)
    kept = np.delete(np.arange(len(old.time)), 30)
    channels = {name: old[name][kept] for name in old}
    replace(old, time=old.time[kept], channels=channels).save(tmp_path / "holes.h5")
    with pytest.raises(InputError, match=r"the tick at t = 0.03 s was not recorded"):
        bl.rerun(tmp_path / "holes.h5")
