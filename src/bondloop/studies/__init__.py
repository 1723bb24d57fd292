"""Sweeps over a test's options and parameters, and rehearsals by the million: tables, maps, probabilities."""

from __future__ import annotations

from bondloop.studies.axis import Axis, axis_from
from bondloop.studies.correlated import Correlated
from bondloop.studies.distributions import Distribution, distribution
from bondloop.studies.heat_maps import heat_maps
from bondloop.studies.identified import from_identified
from bondloop.studies.measures import MEASURES, Case
from bondloop.studies.on_the_way import Measure
from bondloop.studies.sampled import Probability, Sampled, sample
from bondloop.studies.sampled_figure import exceedance
from bondloop.studies.simulated import Simulated, simulated_stability
from bondloop.studies.study import Study, study
from bondloop.studies.uncertainty import read_uncertainty

__all__ = [
    "MEASURES", "Axis", "Case", "Correlated", "Distribution", "Measure", "Probability", "Sampled",
    "Simulated", "Study", "axis_from", "distribution", "exceedance", "from_identified", "heat_maps",
    "read_uncertainty", "sample", "simulated_stability", "study",
]  # fmt: skip
