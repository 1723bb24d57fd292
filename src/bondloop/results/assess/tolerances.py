"""Numerical tolerances of measures."""

AS_GOOD = 0.02
"""Peaks this close to the highest count as equal; a sine repeats every period and noise must not choose."""

SLOW = 0.1
"""What is slower than this share of the vibration's frequency is drift: a decade keeps the two apart."""

FEWEST_PERIODS = 3.0
"""With fewer periods in the record nothing tells a drift from the motion itself."""

LEAST_VIBRATION = 1e-6
"""A vibration this small beside the whole motion is rounding or noise, not something to be followed."""

FALSE_ALARM = 1e-6
"""Probability that of all lines of white noise the greatest is taken for a motion's."""

LARGEST = 1e150
"""Beyond this a product of two values overflows: a run is measured up to there."""

FEWEST = 4
"""Samples below which nothing is measured."""
