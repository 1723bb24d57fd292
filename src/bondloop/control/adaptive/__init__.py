"""Controllers that adapt while the test runs."""

from __future__ import annotations

from bondloop.control.adaptive.adaptive_feedforward import (
    AdaptiveFeedforward,
    AdaptiveModelBased,
    AdaptiveTimeSeries,
    ConditionalTimeSeries,
)
from bondloop.control.adaptive.adaptive_prediction import AdaptivePrediction
from bondloop.control.adaptive.adaptive_remainder import AdaptiveRemainder
from bondloop.control.adaptive.mcs import MCS, DiscreteMCS
from bondloop.control.adaptive.recursive_fir import RecursiveFir, TwoStageAdaptive

__all__ = [
    "MCS", "AdaptiveFeedforward", "AdaptiveModelBased", "AdaptivePrediction", "AdaptiveRemainder",
    "AdaptiveTimeSeries", "ConditionalTimeSeries", "DiscreteMCS", "RecursiveFir", "TwoStageAdaptive",
]  # fmt: skip
