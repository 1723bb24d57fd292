"""Numerical tolerances of structures, and the sizes from which another way of computing is quicker."""

from __future__ import annotations

import numpy as np

NULL_STIFFNESS = 5e-15
"""Stiffness, relative to the diagonal, that rounding alone leaves behind."""

OUT_OF_PLANE = 1e-6
"""Share of a structure's size by which a node may lie beside its place."""

ASYMMETRY = 1e-9
"""Largest relative asymmetry that is taken for rounding."""

NO_STIFFNESS = 1e-14
"""A stiffness this much smaller than its neighbours is a cosine of 90° in floating point, not a stiffness."""

DEPENDENT = 1e-9
"""Smallest over largest singular value at which coordinates are taken for dependent on each other."""

ENTRY_ROUNDING = 16 * float(np.finfo(float).eps)
"""Share of its own terms below which a sum of matrix entries is taken for zero."""

RIGID_BODY = 100 * float(np.finfo(float).eps)
"""Where K is singular, an eigenvalue below this share of |φ|ᵀ|K||φ| is zero: it is rounding."""

MODE_RESIDUAL = 1e-6
"""Largest residual |K φ - λ M φ| relative to λ |M φ|, besides what rounding in K φ explains."""

ENERGY_ROUNDING = 8 * float(np.finfo(float).eps)
"""A motion whose energy is below this share of the sum of its parts costs no energy at all."""

NEGATIVE_PIVOT = 1e-12
"""Of the largest entry in a row of the stiffness: a pivot that is negative by more is no rounding."""

FORCE_ROUNDING = 16 * np.finfo(float).eps
"""Of the forces that cancel in stiff members: what is left of them is no unbalance."""

CLOSE_ROOTS = 1.0
"""Roots nearer to each other than this are treated by the mean value of the derivative between them."""

SERIES_TERMS = 24
"""Terms of the series of φ₁ and φ₂ for arguments below 1: the last is under 1e-24."""

DENSE_MODES = 150
"""Degrees of freedom up to which a dense eigenvalue problem is quicker than Lanczos."""

DENSE_BUCKLING = 400
"""Degrees of freedom up to which the eigenvalue problem of buckling is solved as a full one."""

SMALL_DAMPING = 150
"""Most degrees of freedom whose modal damping is a full matrix, however few modes it damps."""

FULL_DAMPING = 5000
"""Most degrees of freedom of which all modes are damped."""

ELEMENTS_AT_ONCE = 256
"""Elements whose full matrices are held at once: those of all would take more than what is assembled."""

INSTANTS_AT_ONCE = 1000
"""Instants that are looked at together."""

DESCRIBED_BY_ROWS = 12
"""Most degrees of freedom whose matrices are described by rows; those of larger ones by their entries."""

DESCRIBED_SUPPORTS = 60
"""Most supports that are written, each with its solution; of more, the directions alone."""
