"""Numerical tolerances of readers."""

SAME_RATE = 0.01
"""Relative difference of two statements of a rate that is taken for rounding: of 0.0083 s and 120 Hz it is
0.4 %."""
