"""The loop in virtual time for the tests of this folder, which find `virtual_loop` beside them."""

import ctypes
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from virtual_loop import COVERAGE, Loop, build


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    coverage = os.environ.get(COVERAGE)
    loaded = ctypes.CDLL(str(build(Path(coverage or tmp_path_factory.mktemp("virtual")), bool(coverage))))
    loaded.virtual_shown.restype = ctypes.c_double
    loaded.virtual_fault_words.restype = ctypes.c_char_p
    yield loaded
    if coverage:
        loaded.virtual_covered()


@pytest.fixture
def loop(library):
    return Loop(library)
