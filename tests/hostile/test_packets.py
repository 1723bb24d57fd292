"""Hostile packets against a rig in the middle of a session: none is obeyed, none answered."""

import sys
from pathlib import Path

import pytest

from bondloop.engine.codegen import compiler

sys.path.insert(0, str(Path(__file__).parent))  # for packets.py

if sys.platform != "linux" or compiler() is None:
    pytest.skip("the loop on a clock needs Linux and a C compiler", allow_module_level=True)

import packets
from wire import MEASURED

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(300)]


def test_of_a_hundred_thousand_hostile_packets_none_moves_the_rig():
    told = packets.attack(100_000, 14)
    assert told["heard"] == 100_000
    assert (told["answered"], told["obeyed"]) == (0, 0)
    assert told["last"] == (MEASURED, 2)  # and then a command of the session is obeyed


def test_one_that_were_obeyed_would_be_told(monkeypatch):
    monkeypatch.setattr(packets, "hostile", lambda _, good, __: good)
    told = packets.attack(100, 14)
    assert told["answered"] > 0
    assert told["obeyed"] == 1  # the others are copies
