"""Wheel and sdist hold what they must, and nothing else; the checks of them bite."""

import sys
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for archives.py

import archives


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return archives.build(tmp_path_factory.mktemp("dist"))


def test_the_wheel_holds_the_package_and_nothing_else(built):
    assert archives.faults_of_wheel(archives.names_in_wheel(built[1])) == []


def test_the_sdist_holds_what_one_needs_to_build_test_and_read(built):
    assert archives.faults_of_sdist(archives.names_in_sdist(built[0])) == []
    assert built[0].stat().st_size < archives.LARGEST


def test_licences_of_what_others_measured_are_named_and_in_the_wheel(built):
    with zipfile.ZipFile(built[1]) as wheel:
        (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
        lines = wheel.read(name).decode().split("\n\n", 1)[0].splitlines()
    assert "License-Expression: BSD-3-Clause AND MIT" in lines
    assert len([line for line in lines if line.startswith("License-File: ")]) == 3


def test_what_is_missing_or_too_much_is_told(built):
    names = archives.names_in_wheel(built[1])
    fewer = [name for name in names if not name.endswith("report/style.css")]
    assert archives.faults_of_wheel(fewer) == ["not in the wheel: bondloop/report/style.css"]
    more = [*names, "tests/conftest.py", "bondloop/compile/__pycache__/x.pyc"]
    assert len(archives.faults_of_wheel(more)) == 2
    assert archives.faults_of_sdist([*archives.names_in_sdist(built[0]), "src/bondloop/tick.so"]) == [
        "left over: src/bondloop/tick.so"
    ]
