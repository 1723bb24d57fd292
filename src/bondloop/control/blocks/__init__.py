"""Statements of a tick that controllers are made of: histories, filters, bounds, least squares, models."""

from __future__ import annotations

from bondloop.control.blocks.bounds import clipped, motion_gate, moved
from bondloop.control.blocks.filters import (
    DiscreteFilter,
    LinearFilter,
    butterworth,
    rational,
    state_variable_filter,
)
from bondloop.control.blocks.history import (
    backward_differences,
    coefficient_matrix,
    earlier,
    fit_weights,
    from_first,
    from_line,
    late,
    weighted,
)
from bondloop.control.blocks.least_squares import MovingWindow, RecursiveLeastSquares, solve_symmetric
from bondloop.control.blocks.transfer_model import (
    ackermann,
    carried,
    interpolated,
    sending,
    substeps,
    transfer_models,
    with_displacement,
)

__all__ = [
    "DiscreteFilter", "LinearFilter", "MovingWindow", "RecursiveLeastSquares", "ackermann",
    "backward_differences", "butterworth", "carried", "clipped", "coefficient_matrix", "earlier",
    "fit_weights", "from_first", "from_line", "interpolated", "late", "motion_gate", "moved", "rational",
    "sending", "solve_symmetric", "state_variable_filter", "substeps", "transfer_models", "weighted",
    "with_displacement",
]  # fmt: skip
