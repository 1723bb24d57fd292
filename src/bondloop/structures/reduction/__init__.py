"""Reduction to fewer degrees of freedom, with its error over a band; coordinates of one's own."""

from bondloop.structures.reduction.base import Reduced, ReductionError
from bondloop.structures.reduction.coordinates import (
    elongation,
    in_coordinates,
    member_coordinates,
    motion_of,
    strokes,
)
from bondloop.structures.reduction.craig_bampton import craig_bampton
from bondloop.structures.reduction.guyan import guyan
from bondloop.structures.reduction.modal import modal

__all__ = [
    "Reduced", "ReductionError", "craig_bampton", "elongation", "guyan", "in_coordinates",
    "member_coordinates", "modal", "motion_of", "strokes",
]  # fmt: skip
