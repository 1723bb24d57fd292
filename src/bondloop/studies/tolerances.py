"""Numerical tolerances of studies."""

ACCUMULATED = 1e-14
"""Share of a sum of squares below which a variance is rounding. Sums of
some 1e4 samples carry an error of about their square root in units of the last place, 1e2 times 1e-16."""

CORRELATION = 1e-9
"""How far a matrix of correlations may be from a symmetric one with ones on its diagonal and no negative
eigenvalue: covariances printed with ten digits still pass."""

FREE_VIBRATION = 1e-9
"""Share of a run below which its difference from another run is rounding: 1e6 steps of 1e-16 each, times a
condition of 10."""
