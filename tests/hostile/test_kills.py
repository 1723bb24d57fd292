"""A process of a run is killed or frozen: all end by themselves, with a record, and leave nothing behind."""

import sys
from pathlib import Path

import pytest

from bondloop.engine.codegen import compiler

sys.path.insert(0, str(Path(__file__).parent))  # for kills.py

if sys.platform != "linux" or compiler() is None:
    pytest.skip("the loop on a clock needs Linux and a C compiler", allow_module_level=True)

from kills import MEMORY, kill_one

pytestmark = [pytest.mark.realtime, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.mark.nightly  # .ci/run does the first fifteen, as far as it comes
@pytest.mark.parametrize("seed", [0, 2, 4, 7])  # recorder frozen, supervisor and loop killed, rig frozen
def test_one_is_harmed(seed):
    outcome = kill_one(seed, recorded=True)
    assert outcome.faults == []
    assert outcome.rows is not None


def test_the_memory_is_taken_away():
    """Supervisor and recorder are ended by the kernel; loop and rig go to rest, and the record is kept."""
    outcome = kill_one(1, MEMORY, recorded=True)
    assert outcome.faults == []
    assert outcome.rows is not None
