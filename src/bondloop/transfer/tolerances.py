"""Numerical tolerances of transfer systems: where a law is made smooth, and what counts as zero."""

from __future__ import annotations

SMOOTH_SIGN = 1e-3
"""Fraction of the spool's stroke over which the side from which oil is supplied changes."""

SMOOTH_ROOT = 0.02
"""Fraction of the supply pressure below which the root of the valve's pressure drop is made smooth."""

NEGLIGIBLE = 1e-10
"""Markov parameters below this fraction of the size of their factors count as zero."""
