"""Statements of a tick that controllers are made of: histories, filters, bounds, least squares, models."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "DiscreteFilter",
    "LinearFilter",
    "MovingWindow",
    "ackermann",
    "backward_differences",
    "butterworth",
    "carried",
    "clipped",
    "coefficient_matrix",
    "earlier",
    "fit_weights",
    "from_first",
    "from_line",
    "interpolated",
    "late",
    "motion_gate",
    "moved",
    "rational",
    "sending",
    "solve_symmetric",
    "state_variable_filter",
    "substeps",
    "transfer_models",
    "weighted",
    "with_displacement",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
