"""Hybrid tests: wiring, check before the test, run."""

from __future__ import annotations

from bondloop.hybrid.check import Check
from bondloop.hybrid.extrapolation import Extrapolation
from bondloop.hybrid.pseudo_dynamic import PseudoDynamicTest
from bondloop.hybrid.run import PreparedTest, Run, rerun
from bondloop.hybrid.simulation import Simulation
from bondloop.hybrid.switches import Switches
from bondloop.hybrid.test import HybridTest
from bondloop.program.tunable import Tunable

__all__ = [
    "Check",
    "Extrapolation",
    "HybridTest",
    "PreparedTest",
    "PseudoDynamicTest",
    "Run",
    "Simulation",
    "Switches",
    "Tunable",
    "rerun",
]
