"""Everybody draws the same; `make test-fresh` draws what its seed says, and counts what it leaves out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DRAWING = """
import pytest
from hypothesis import given, settings, strategies as st

@settings(max_examples=3)
@given(st.integers(0, 10**12))
def test_drawn(number):
    print("\\n:drawn", number)

@pytest.mark.parametrize("seed", range(7, 9))
def test_counted(seed):
    print("\\n:counted", seed)
    assert seed != 1008

@pytest.mark.by_day(1)
@pytest.mark.parametrize("first", range(20, 24))
def test_hunt(first):
    print("\\n:hunt", first)

@pytest.mark.parametrize("seed", [5])
def test_known(seed):
    print("\\n:known", seed)

@pytest.mark.drawn
def test_marked():
    print("\\n:marked")

def test_fixed():
    print("\\n:fixed")
"""


@pytest.fixture
def drawing(tmp_path):
    path = tmp_path / "test_drawing.py"
    path.write_text(DRAWING)

    def run(*options, **environment):
        hidden = {"CI", "GITHUB_ACTIONS", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"}
        command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-s", "--rootdir", tmp_path, path]
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider", "-p", "no:randomly", *options],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if name not in hidden} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return sorted(re.findall(r"^:(.*)", done.stdout, re.MULTILINE)), done.stdout

    return run


def test_draws_are_the_same_with_and_without_ci(drawing):
    here, text = drawing()
    assert here == drawing(CI="1")[0] == drawing(GITHUB_ACTIONS="true")[0]
    assert len([line for line in here if line.startswith("drawn")]) == 3, text
    assert {"counted 7", "counted 8", "hunt 20", "known 5", "marked", "fixed"} < set(here)
    assert [line for line in here if line.startswith("hunt")] == ["hunt 20"], "the rest is drawn by night"


def hunts(seed):
    return [f"hunt {20 + i + seed}" for i in range(4)]


def test_a_seed_draws_its_own_cases_and_is_told(drawing):
    fresh = ("-p", "tests.fresh", "-m", "drawn")
    one, text = drawing(*fresh, "--fresh-seed=1000")
    assert "make test-fresh SEED=1000" in text.partition("collected")[0]
    assert re.search(r"make test-fresh SEED=1000 ARGS=\"'\S+::test_counted\[8\]'\"", text), "with the failure"
    assert "drawn with SEED=1000: 8 tests ran, 0 left out" in text
    other, _ = drawing(*fresh, "--fresh-seed=-3")
    assert one == drawing(*fresh, "--fresh-seed=1000")[0]
    assert [line for line in one if line[0] != "d"] == [
        "counted 1007",
        "counted 1008",
        *hunts(1000),
        "marked",
    ]
    assert [line for line in other if line[0] != "d"] == ["counted 4", "counted 5", *hunts(-3), "marked"]
    assert len({*one, *other, *drawing()[0]} & {x for x in one + other if x[0] == "d"}) >= 5


def test_what_does_not_begin_in_time_is_counted(drawing):
    ran, text = drawing("-p", "tests.fresh", "-m", "drawn", "--fresh-seed=1", "--fresh-seconds=0")
    assert ran == []
    assert "drawn with SEED=1: 0 tests ran, 8 left out by the time" in text
