"""Compensators with a fixed law that acts on the demand alone."""

from __future__ import annotations

from bondloop.control.feedforward.coupled_inverse import AdaptiveCoupledInverse, CoupledInverse
from bondloop.control.feedforward.direct import Direct
from bondloop.control.feedforward.inverse_model import InverseModel, expect_process, inverse_series, shifted
from bondloop.control.feedforward.lead_compensation import LeadCompensation
from bondloop.control.feedforward.load_feedforward import LoadFeedforward
from bondloop.control.feedforward.polynomial_prediction import PolynomialPrediction

__all__ = [
    "AdaptiveCoupledInverse", "CoupledInverse", "Direct", "InverseModel", "LeadCompensation",
    "LoadFeedforward", "PolynomialPrediction", "expect_process", "inverse_series", "shifted",
]  # fmt: skip
