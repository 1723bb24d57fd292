"""Compensators with a loop of their own around the transfer system."""

from __future__ import annotations

from bondloop.control.feedback.outer_loop import OuterLoop
from bondloop.control.feedback.sliding_mode import SlidingMode
from bondloop.control.feedback.smith_predictor import SmithPredictor
from bondloop.control.feedback.tracking_feedback import FeedforwardLQG, LoopShaping

__all__ = ["FeedforwardLQG", "LoopShaping", "OuterLoop", "SlidingMode", "SmithPredictor"]
