"""Sweeps over a test's options and parameters: tables and maps of stability and accuracy."""

from __future__ import annotations

from bondloop.studies.axis import Axis, axis_from
from bondloop.studies.heat_maps import heat_maps
from bondloop.studies.measures import MEASURES, Case
from bondloop.studies.simulated import Simulated, simulated_stability
from bondloop.studies.study import Study, study

__all__ = [
    "MEASURES", "Axis", "Case", "Simulated", "Study", "axis_from", "heat_maps",
    "simulated_stability", "study",
]  # fmt: skip
