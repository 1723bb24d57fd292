"""Controllers and compensators of transfer systems."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "MCS",
    "AdaptiveCoupledInverse",
    "AdaptiveModelBased",
    "AdaptivePrediction",
    "AdaptiveRemainder",
    "AdaptiveTimeSeries",
    "AdaptiveVirtualJunction",
    "Compensator",
    "ConditionalTimeSeries",
    "ControlLaw",
    "Controller",
    "CoupledInverse",
    "Design",
    "Desired",
    "Direct",
    "DiscreteMCS",
    "FeedforwardLQG",
    "InverseModel",
    "LeadCompensation",
    "LoadFeedforward",
    "LoopShaping",
    "Measured",
    "ObservedVirtualJunction",
    "OuterLoop",
    "PerActuator",
    "PolynomialPrediction",
    "PythonControl",
    "RecursiveFir",
    "RecursiveLeastSquares",
    "RestoringForce",
    "Scheduled",
    "SensitivityVirtualJunction",
    "SlidingMode",
    "SmithPredictor",
    "TwoStageAdaptive",
    "VirtualJunction",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
