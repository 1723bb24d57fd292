"""Controllers and compensators, one per file."""

from __future__ import annotations

from bondloop.control.adaptive import (
    MCS,
    AdaptiveModelBased,
    AdaptivePrediction,
    AdaptiveRemainder,
    AdaptiveTimeSeries,
    ConditionalTimeSeries,
    DiscreteMCS,
    RecursiveFir,
    TwoStageAdaptive,
)
from bondloop.control.base import Compensator, Controller, Design, Measured
from bondloop.control.blocks import RecursiveLeastSquares
from bondloop.control.control_law import ControlLaw, Desired
from bondloop.control.feedback import FeedforwardLQG, LoopShaping, OuterLoop, SlidingMode, SmithPredictor
from bondloop.control.feedforward import (
    AdaptiveCoupledInverse,
    CoupledInverse,
    Direct,
    InverseModel,
    LeadCompensation,
    LoadFeedforward,
    PolynomialPrediction,
)
from bondloop.control.junction import (
    AdaptiveVirtualJunction,
    ObservedVirtualJunction,
    SensitivityVirtualJunction,
    VirtualJunction,
)
from bondloop.control.python_control import PythonControl, as_controller
from bondloop.control.restoring_force import RestoringForce
from bondloop.control.several import PerActuator, Scheduled
from bondloop.data.described import Parameter

__all__ = [
    "MCS", "AdaptiveCoupledInverse", "AdaptiveModelBased", "AdaptivePrediction", "AdaptiveRemainder",
    "AdaptiveTimeSeries", "AdaptiveVirtualJunction", "Compensator", "ConditionalTimeSeries", "ControlLaw",
    "Controller", "CoupledInverse", "Design", "Desired", "Direct", "DiscreteMCS", "FeedforwardLQG",
    "InverseModel", "LeadCompensation", "LoadFeedforward", "LoopShaping", "Measured",
    "ObservedVirtualJunction", "OuterLoop", "Parameter", "PerActuator", "PolynomialPrediction",
    "PythonControl", "RecursiveFir", "RecursiveLeastSquares", "RestoringForce", "Scheduled",
    "SensitivityVirtualJunction", "SlidingMode", "SmithPredictor", "TwoStageAdaptive", "VirtualJunction",
    "as_controller",
]  # fmt: skip
