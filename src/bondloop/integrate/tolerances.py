"""Numerical tolerances of the integrators, and the sizes from which another way of computing is quicker."""

from __future__ import annotations

DENSE_ENTRIES = 4096
"""Entries of a matrix that are all kept, at the most."""

SINGULAR = 1e-13
"""Smallest over largest singular value, after scaling, at which a matrix is taken for singular."""

DIVERGED = 1e12
"""A displacement, in m, that no structure reaches."""

NEAR_LAWS = 0.1
"""Share of its own influence above which one law's on another is solved for within a sweep."""

COUPLED_STATES = 200
"""Most states of a coupled part whose matrix exponential is formed; more would make the step too slow."""

SUM_TERMS = 16
"""Terms from which a sum over states is written as a product with a matrix."""
