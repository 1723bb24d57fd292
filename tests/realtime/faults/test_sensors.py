"""Sensors that show nonsense, or stand still: found at once, and never used."""

import numpy as np
import pytest
from fault_rules import STATED, channel, ended, ended_safely, flagged, ticks

AT = 60
"""Number of the first bad measurement."""


@pytest.mark.parametrize("scheme", ["udp", "shm"])
@pytest.mark.parametrize(("word", "fault"), [("nan", "not a number"), ("inf", "infinity")])
def test_nonsense(bench, scheme, word, fault):
    loop = bench.loop(bench.rig(scheme, fault=f"{word}@{AT}").link)
    ring, rows, status = ended(loop, 3)
    at = ended_safely(ring, rows, status, fault)
    refused = np.flatnonzero(flagged(rows, "refused"))
    assert at - refused[0] == ticks(STATED[fault].found)
    force = ring.metadata["measured"].index("measured.force")
    assert status.cause_detail == len(ring.names) + force, "no channel of the tick"
    assert not np.isfinite(status.cause_value)
    assert status.counts["refused"] == len(refused)
    force = channel(ring, rows, "measured.force")
    assert np.isfinite(force).all()
    assert set(force[at:]) == {force[at - 1]}  # the last good one


@pytest.mark.parametrize("scheme", ["udp", "shm"])
@pytest.mark.parametrize("lock_step", [False, True], ids=["clock", "lock-step"])
def test_nonsense_from_the_beginning(bench, scheme, lock_step):
    """What the handshake brings is not believed either."""
    fault = "not a number from the beginning"
    loop = bench.loop(bench.rig(scheme, fault="nan@0").link, lock_step=lock_step)
    ring, rows, status = ended(loop, 3)
    assert ended_safely(ring, rows, status, fault) == ticks(STATED[fault].found)
    assert set(channel(ring, rows, "measured.force")) == set(channel(ring, rows, "command")) == {0.0}


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_frozen(bench, scheme):
    fault, frozen = "frozen sensors", 12
    # A rig that gets no processor for a second is another fault.
    loop = bench.loop(bench.rig(scheme, fault=f"frozen@{AT}").link, frozen=frozen, stale=10**6)
    ring, rows, status = ended(loop, 3)
    at = ended_safely(ring, rows, status, fault)
    force = channel(ring, rows, "measured.force")
    alike = np.flatnonzero(force[: at + 1] != force[at])[-1] + 1  # the first one with the value that stays
    assert flagged(rows[alike + 1 : at + 1], "fresh").sum() == ticks(STATED[fault].found, frozen=frozen)
    assert status.cause_value == force[at]
