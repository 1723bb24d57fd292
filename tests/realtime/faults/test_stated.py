"""docs/realtime-faults.md states what the tests assert, fault by fault."""

import re
from pathlib import Path

from fault_rules import BY_TICK, RAMP, STATED

PAGE = (Path(__file__).parents[3] / "docs" / "realtime-faults.md").read_text(encoding="utf-8")


def rows(columns):
    cells = [
        [c.strip() for c in line.strip("|").split("|")] for line in PAGE.splitlines() if line[:2] == "| "
    ]
    return {c[0]: c[1:] for c in cells if len(c) == columns and c[0] != "fault"}


def test_every_fault_is_in_one_of_the_two_tables():
    assert set(rows(4)) == {fault for fault, stated in STATED.items() if stated.cause is not None}
    assert set(rows(3)) == {fault for fault, stated in STATED.items() if stated.cause is None}


def test_the_causes_and_the_ticks_are_those_of_the_tests():
    for fault, (_, found, cause) in rows(4).items():
        stated = STATED[fault]
        assert cause == f"{stated.cause:d}, {stated.cause.name.lower().replace('_', ' ')}"
        assert re.search(r"`([^`]+)`", found)[1] == stated.found, fault
        assert found.endswith(stated.since), fault


def test_the_way_to_safety_is_as_long_as_the_tests_allow():
    assert re.findall(r"\*\*(.*?) ticks\*\*", PAGE) == [RAMP, BY_TICK]
