"""Hybrid tests: wiring, check before the test, run."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["Extrapolation", "HybridTest", "PseudoDynamicTest", "Simulation", "Switches", "Tunable"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
