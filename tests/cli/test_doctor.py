"""The doctor: says what is there by trying it, and what to do where something is missing."""

import json
import os

import pytest

from bondloop.cli import doctor as health


def states(text):
    return {a["what"]: a["state"] for a in json.loads(text)}


def test_every_question_is_answered(bondloop):
    asked = bondloop("doctor", "--json")
    found = states(asked.stdout)
    assert {"bondloop", "C compiler", "cache", "graphics processor"} <= set(found)
    for answer in json.loads(asked.stdout):
        assert answer["found"]
        assert answer["state"] in ("good", "care", "missing", "bad")


def test_no_compiler_is_said_with_what_to_do(bondloop, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("bondloop.engine.codegen.compiler", lambda: None)
    found = bondloop("doctor")
    assert found.exit_code == 0  # tests run in Python
    assert "bondloop[zig]" in found.stdout


def test_a_compiler_that_cannot_be_found_is_bad(bondloop, monkeypatch):
    monkeypatch.setenv("CC", "/no/such/compiler")
    found = bondloop("doctor", "--json")
    assert found.exit_code == 1
    assert states(found.stdout)["C compiler"] == "bad"


def test_a_compiler_that_cannot_compile_is_bad(bondloop, monkeypatch, tmp_path):
    false = tmp_path / "cc"
    false.write_text("#!/bin/sh\necho broken >&2; exit 3\n")
    false.chmod(0o755)
    monkeypatch.setenv("CC", str(false))
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path / "cache"))
    assert states(bondloop("doctor", "--json").stdout)["C compiler"] == "bad"


def test_strict_minds_what_could_be_better(bondloop, monkeypatch):
    monkeypatch.setattr(health, "answers", lambda: [health.Answer("x", "care", "so so")])
    monkeypatch.setattr("bondloop.cli.doctor.answers", health.answers)
    assert bondloop("doctor").exit_code == 0
    assert bondloop("doctor", "--strict").exit_code == 1


def test_elsewhere_real_time_is_said_to_need_linux(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    [answer] = health._real_time()
    assert "Linux" in answer.found


@pytest.mark.parametrize(("begun", "wanted"), [("mr-", "mr-damper-building"), ("gaw", "gawthrop-three-mass")])
def test_shells_complete_names_and_files(begun, wanted, tmp_path, monkeypatch):
    from bondloop.cli.options import completed

    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "mine.toml").touch()
    (tmp_path / "tests" / "notes.txt").touch()
    assert wanted in completed(begun)
    assert completed("tes") == ["tests/"]
    assert completed("tests/") == ["tests/mine.toml"]
    assert completed(f"{tmp_path}{os.sep}tests/m") == [f"{tmp_path}{os.sep}tests/mine.toml"]
    assert completed("/no/such/folder/x") == []
