"""`bondloop study --samples` that is kept, interrupted, gone on with, and run by workers."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

WORDS = [
    "study", "gawthrop-two-actuators", "--vary", "excitation.scale=uniform(5, 40)", "--measure", "error,trip",
    "--backend", "lanes", "--no-figures",
]  # fmt: skip
needs_pyarrow = pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="needs pyarrow")
needs_dask = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs Dask")


def test_it_says_what_it_picked(bondloop, tmp_path):
    result = bondloop(*WORDS, "--samples", 16, "--seconds", 0.1, "-o", tmp_path)
    assert result.exit_code == 0
    assert "note: ran on " in result.stdout
    assert " lanes, " in result.stdout
    found = json.loads(bondloop(*WORDS, "--samples", 16, "--seconds", 0.1, "-o", tmp_path, "--json").stdout)
    assert found["backend"] == "lanes"
    assert found["notes"][0].startswith("ran on ")


@needs_pyarrow
def test_ctrl_c_keeps_what_is_done_and_resume_goes_on(bondloop, tmp_path):
    """A process of its own gets the signal once something is kept; then the study is ended by another."""
    words = [*WORDS, "--samples", "1500", "--seconds", "1", "-o", str(tmp_path)]
    long = [w if w != "1500" else "1000000" for w in words]
    process = subprocess.Popen(
        [sys.executable, "-m", "bondloop", *long], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    parts = tmp_path / "samples.parquet.parts"
    until = time.monotonic() + 120
    while not list(parts.glob("*.parquet")) and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "Traceback" not in told
    assert f"of 1,000,000 tests are kept in {parts}; --resume goes on from there" in told
    other = bondloop(*words, "--resume")
    assert other.exit_code == 1
    assert "is of another study (samples: 1000000; now 1500)" in other.stderr
    anew = bondloop(*words)
    assert anew.exit_code == 0
    assert f"wrote {tmp_path / 'samples.parquet'}" in anew.stdout
    assert not parts.exists()
    again = bondloop(*words, "--resume")
    assert again.exit_code == 0
    assert "1,500 of the tests were there already" in again.stdout


def test_ctrl_c_before_the_first_test_is_one_sentence(bondloop, tmp_path, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("bondloop.studies.campaign.unit_points", press)
    result = bondloop(*WORDS, "--samples", 16, "-o", tmp_path)
    assert result.exit_code == 130
    assert result.stderr.strip() == "bondloop: interrupted; no test had been run"


def test_without_pyarrow_it_says_what_to_install(bondloop, tmp_path, monkeypatch):
    monkeypatch.setattr("bondloop.studies.sampled.has_parquet", lambda: False)
    result = bondloop(*WORDS, "--samples", 16, "--resume", "-o", tmp_path)
    assert result.exit_code == 1
    assert "--resume: Parquet needs pyarrow ('pip install pyarrow')" in result.stderr


@needs_dask
def test_workers(bondloop, tmp_path):
    words = [*WORDS, "--samples", 256, "--seconds", 0.5, "--json"]
    alone = json.loads(bondloop(*words, "-o", tmp_path / "alone").stdout)
    result = bondloop(*words, "-o", tmp_path / "workers", "--workers", 2)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["quantiles"] == alone["quantiles"]
    assert found["notes"][0].startswith("ran on 2 workers, ")
    tables = [Path(tmp_path / name / "samples.csv").read_text() for name in ("alone", "workers")]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--samples", 16, "--workers", 2, "--dask", "tcp://x:1"], "give one of them"),
        (["--workers", 2], "need --samples"),
        (["--resume"], "need --samples"),
    ],
)
def test_faults_are_one_sentence(bondloop, tmp_path, words, sentence):
    result = bondloop(*WORDS, *words, "-o", tmp_path)
    assert result.exit_code == 1
    assert sentence in result.stderr


def test_options_of_a_test_are_drawn_too(bondloop, tmp_path):
    result = bondloop(
        "study", "bayer-substep", "--vary", "sub_steps=whole(2, 3)", "--samples", 8, "--seconds", 0.2,
        "--measure", "peak:force", "--no-figures", "-o", tmp_path, "--keep", "worst",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "worst-1.h5").exists()
    command = next(line for line in result.stdout.splitlines() if line.startswith("worst peak:force: "))
    again = bondloop(*command.split()[3:], "-o", tmp_path / "again", "--no-figures")
    assert again.exit_code == 0, again.stderr
    assert "sub_steps: not data of the tick, so that 2 tests were built anew (2 forms" in result.stdout
