"""Numerical tolerances of substructures."""

from __future__ import annotations

GROUND_ROUNDING = 1e-12
"""Share of the ground's motion that rounding leaves."""

RIGID_RESIDUAL = 1e-9
"""Residual, relative to the imposed flows, below which parts move without being stretched."""
