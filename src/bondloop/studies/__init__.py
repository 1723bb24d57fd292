"""Sweeps over a test's options and parameters, and rehearsals by the million: tables, maps, probabilities."""

from __future__ import annotations

from bondloop.studies.axis import Axis, axis_from
from bondloop.studies.correlated import Correlated
from bondloop.studies.distributions import Distribution, distribution
from bondloop.studies.heat_maps import heat_maps
from bondloop.studies.identified import from_identified
from bondloop.studies.measures import MEASURES, Case
from bondloop.studies.on_the_way import Measure
from bondloop.studies.robust_tuning import Setting, Tuned, tune_over
from bondloop.studies.sampled import Probability, Sampled, sample
from bondloop.studies.sampled_figure import exceedance
from bondloop.studies.sensitivity import Index, Sensitivity, sensitivity
from bondloop.studies.simulated import Simulated, simulated_stability
from bondloop.studies.study import Study, study
from bondloop.studies.uncertainty import read_uncertainty
from bondloop.studies.uncertainty_figures import exceedance_curves, overlay, tornado, trade_off

__all__ = [
    "MEASURES", "Axis", "Case", "Correlated", "Distribution", "Index", "Measure", "Probability", "Sampled",
    "Sensitivity", "Setting", "Simulated", "Study", "Tuned", "axis_from", "distribution", "exceedance",
    "exceedance_curves", "from_identified", "heat_maps", "overlay", "read_uncertainty", "sample",
    "sensitivity", "simulated_stability", "study", "tornado", "trade_off", "tune_over",
]  # fmt: skip
