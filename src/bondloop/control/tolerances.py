"""Numerical limits of the controllers, each with what it follows from."""

from __future__ import annotations

PRIOR_WEIGHT = 1e-6
"""Weight of the first coefficients beside the data of a window: far above the rounding errors of sums of
products (some 1e-13 of them), and far below what data that determine the coefficients weigh."""

LEAST_PIVOT = 1e-14
"""Pivots of a small system of equations below this share of their diagonal entry are rounding errors, some
fifty units in the last place, and are replaced by it."""

LEAST_VARIANCE = 1e-12
"""Least variance of an estimate, as a share of the first: its root is a millionth. Without it absurdly large
regressors would make it zero, and nothing would ever be learned again."""

IDLE_ZERO = 1e4
"""A zero so many times as fast as the fastest pole is none: it changes the phase by 1e-4 rad at that pole,
and in the division by it four digits and more would be lost."""

STEP_REACH = 0.5
"""Largest product of a Runge-Kutta step and the fastest pole of a model that runs beside the rig. RK4 is then
off by 0.5^5/120 = 3e-4 of the fastest motion in a step, and far from its limit of stability, 2.8."""

MOST_SUBSTEPS = 100
"""Most Runge-Kutta steps of such a model in a sample, so that its computing time has a bound."""

SHORTEST_LAG = 1e-9
"""Seconds of a lag that can be told from none: its corner is a thousand times beyond a rate of 100 kHz."""
