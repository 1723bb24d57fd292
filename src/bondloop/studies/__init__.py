"""Sweeps over a test's options and parameters, and rehearsals by the million: tables, maps, probabilities.

Figures are imported when they are first used: a worker that rehearses draws nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.lazy_names import lazy_names
from bondloop.studies.campaign import Interrupted, sample
from bondloop.studies.distributions import Correlated, Distribution, distribution
from bondloop.studies.identified import from_identified
from bondloop.studies.measures import MEASURES, Case, Simulated, simulated_stability
from bondloop.studies.policy import Policy
from bondloop.studies.robust_tuning import Setting, Tuned, tune_over
from bondloop.studies.sampled import Probability, Sampled
from bondloop.studies.sensitivity import Index, Sensitivity, sensitivity
from bondloop.studies.study import Axis, Study, axis_from, study
from bondloop.studies.tick_measures import Measure
from bondloop.studies.uncertainty import read_uncertainty

if TYPE_CHECKING:
    from bondloop.studies.figures import exceedance, exceedance_curves, heat_maps, overlay, tornado, trade_off

__all__ = [
    "MEASURES", "Axis", "Case", "Correlated", "Distribution", "Index", "Interrupted", "Measure",
    "Policy", "Probability", "Sampled", "Sensitivity", "Setting", "Simulated", "Study", "Tuned", "axis_from",
    "distribution", "exceedance", "exceedance_curves", "from_identified", "heat_maps", "overlay",
    "read_uncertainty", "sample", "sensitivity", "simulated_stability", "study", "tornado", "trade_off",
    "tune_over",
]  # fmt: skip

__getattr__, __dir__ = lazy_names(
    __name__,
    dict.fromkeys(
        ("exceedance", "exceedance_curves", "heat_maps", "overlay", "tornado", "trade_off"), "figures"
    ),
)
