"""Smaller models of large structures, one method per file, each with its error over a band."""

from __future__ import annotations

from bondloop.structures.reduction.base import Reduced, ReductionError
from bondloop.structures.reduction.craig_bampton import craig_bampton
from bondloop.structures.reduction.guyan import guyan
from bondloop.structures.reduction.modal import modal

__all__ = ["Reduced", "ReductionError", "craig_bampton", "guyan", "modal"]
