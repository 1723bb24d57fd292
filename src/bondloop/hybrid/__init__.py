"""Hybrid tests: wiring, check before the test, run."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

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

__getattr__, __dir__ = lazy_names(__name__, __file__)
