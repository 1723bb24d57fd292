"""Numerical limits of identification: accuracy, and bounds of the effort, each with its reason."""

from __future__ import annotations

FEWEST_SAMPLES = 32
"""Samples under which nothing is identified: two for each number that the smallest structures may take."""
LARGEST_SIZE = 1e60
"""Magnitude beyond which squares of squares and their sums leave the numbers that there are; likewise its
inverse."""
SHORTEST_PERIOD, LONGEST_PERIOD = 1e-12, 1e9
"""Seconds between samples: beyond these a time column has another unit, or is another column."""

HARDLY_DETERMINED = 1e-10
"""Share of the largest eigenvalue of J'J below which a direction is hardly determined: J's digits then are
five, since rounding in J'J is 1e-15 of the largest."""
ROUNDING = 1e-9
"""Errors below this part of the data are rounding of a simulation over a long record."""

LINES = 1000
"""Lines of a spectrum that take part in a fit: five digits of a parameter need fewer."""
LINES_OF_SEARCH = 500
"""Lines that take part in a search, whose fits are compared only."""
LINES_OF_MATRIX = 2000
"""Lines that take part in a fit of a matrix; of more, those with the most input."""
LINES_OF_STARTS = 200
"""Lines of a fit that its starting values are made of."""
LINES_IN_TIME = 300
"""Lines that the starting values of a fit in time are made of."""
STARTING_ROUNDS = 6
"""Rounds of Sanathanan and Koerner's iteration; the fit proper does the rest."""
MOST_DELAYS = 40
"""Delays that are tried to start from."""
LEAST_PRODUCT = 1e-10
"""Least product of all poles over the fastest: a companion form keeps six digits of the slowest then."""
FASTEST_POLE = 30.0
"""Poles faster than so many times the highest frequency change its response by 1/30 in phase: hardly a
trace in the data."""
SAMPLES_COMPARED = 10_000
"""Samples up to which starts are compared in time as well as in the spectrum: more only take longer."""
SAMPLES_CONTRASTED = 100_000
"""In a record with more samples no model is fitted for contrast alone, which would take seconds."""

MOST_POLES = 8
"""More poles cannot be told apart in measured data."""
SEARCHED_POLES, SEARCHED_ZEROS = 6, 3
"""Most poles and zeros that a search tries."""
IDLE_ROUNDS = 2
"""So many poles more that do not help end a search."""
HELPFUL = 2.0
"""By so much must Akaike's criterion fall for a larger structure to help: one parameter."""
SIMILAR_COST = 1.5
"""Structures whose cost on lines is no more than so many times the least may be as good in time."""
PROMISING, MOST_PROMISING = 12.0, 4
"""Structures no further from the least criterion are worth a fit in time, the simplest so many of them."""

MOST_FILTERS = 81
"""Filters of a step response at most: frequencies up to 40 over the settling time."""
NOISE_ORDERS = 8
"""Orders of autoregressive noise that are tried."""
SAMPLES_OF_SETTLING = 10_000
"""Samples that are enough to find a settling time with."""

STARTS_OF_BOND_GRAPH = 16
"""Starts that are looked at besides a model's own values, spread over the bounds."""
STEP_REACH = 0.5
"""Largest product of a Runge-Kutta step and the fastest pole: RK4 is off by 3e-4 of that motion in a step."""
MOST_SUBSTEPS = 200
"""Most such steps in a sample."""

STARTS_OF_SPECIMEN = 24
"""Starts that are looked at besides a law's own values."""
FITTED_STARTS = 2
"""Of all starts, how many are fitted from, unless that leaves a part of the law out."""
SAMPLES_OF_WHITENESS = 50
"""Samples of a record from which on its residuals can be tested for whiteness: twice the lags."""
START_FACTOR = 10.0
"""By which factor the parameters of these starts differ from the law's own, at most."""
WIDEST_FACTOR = 1e4
"""By which factor a positive parameter may leave the law's own value, unless bounds say otherwise."""
FINE_STEPS, ROUGH_STEPS = 1e-3, 3e-3
"""Changes of the force, as a part of its rms, that shorter steps may make: at the end, and on the way."""
DIFFERENCE = 1e-6
"""A parameter is changed, for a derivative, so that the forces change by this part of their rms: between the
rounding of a run, 1e-12, and its curvature."""
DIVERGED = 1e6
"""Times the greatest measured force: a computed one beyond it is no force."""
THINNED_ERROR = 0.003
"""Samples are left out as long as what a spline makes of the others is no further off, as a part of the rms:
a tenth of what the best laws leave."""
THINNED_FEWEST = 200
"""Samples that are kept in any case, where there are so many."""
THINNING = (2, 5, 10, 20, 50)
"""Of how many samples one is kept."""
RK4_STAGES = (0.0, 0.5, 1.0)
"""Fractions of a step at which a Runge-Kutta step asks for its inputs."""
