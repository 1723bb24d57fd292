"""Controllers and compensators, one per file."""

from __future__ import annotations

from bondloop.control.adaptive_coupled_inverse import AdaptiveCoupledInverse
from bondloop.control.adaptive_model_based import AdaptiveModelBased
from bondloop.control.adaptive_prediction import AdaptivePrediction
from bondloop.control.adaptive_remainder import AdaptiveRemainder
from bondloop.control.adaptive_time_series import AdaptiveTimeSeries
from bondloop.control.adaptive_virtual_junction import AdaptiveVirtualJunction
from bondloop.control.base import Controller, Design, Measured
from bondloop.control.compensator import Compensator
from bondloop.control.conditional_time_series import ConditionalTimeSeries
from bondloop.control.control_law import ControlLaw, Desired
from bondloop.control.coupled_inverse import CoupledInverse
from bondloop.control.direct import Direct
from bondloop.control.discrete_mcs import DiscreteMCS
from bondloop.control.feedforward_lqg import FeedforwardLQG
from bondloop.control.inverse_model import InverseModel
from bondloop.control.lead_compensation import LeadCompensation
from bondloop.control.load_feedforward import LoadFeedforward
from bondloop.control.loop_shaping import LoopShaping
from bondloop.control.mcs import MCS
from bondloop.control.observed_virtual_junction import ObservedVirtualJunction
from bondloop.control.outer_loop import OuterLoop
from bondloop.control.per_actuator import PerActuator
from bondloop.control.polynomial_prediction import PolynomialPrediction
from bondloop.control.python_control import PythonControl, as_controller
from bondloop.control.recursive_fir import RecursiveFir
from bondloop.control.recursive_least_squares import RecursiveLeastSquares
from bondloop.control.restoring_force import RestoringForce
from bondloop.control.scheduled import Scheduled
from bondloop.control.sensitivity_virtual_junction import SensitivityVirtualJunction
from bondloop.control.sliding_mode import SlidingMode
from bondloop.control.smith_predictor import SmithPredictor
from bondloop.control.two_stage_adaptive import TwoStageAdaptive
from bondloop.control.virtual_junction import VirtualJunction
from bondloop.program.described import Parameter

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
    "Parameter",
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
    "as_controller",
]
