"""Tests of FMUs need FMPy, a C compiler, and this folder on the path for `slaves.py`."""

import sys
from pathlib import Path

import pytest

from bondloop.engine.codegen import compiler

pytest.importorskip("fmpy", reason="FMPy is not installed")
sys.path.insert(0, str(Path(__file__).parent))

IN = ("test_foreign", "test_hostile", "test_pythonfmu", "test_specimen")
"""Files with FMUs that come in."""


def pytest_collection_modifyitems(items):
    """Skip what compiles where there is no compiler, and what runs FMUs of others where that cannot be."""
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        if compiler() is None:
            item.add_marker(pytest.mark.skip(reason="no C compiler"))
        if sys.platform != "linux" and item.path.stem in IN:
            item.add_marker(pytest.mark.skip(reason="FMUs are run on Linux only"))
