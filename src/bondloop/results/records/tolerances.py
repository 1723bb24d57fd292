"""Numerical tolerances of records."""

EVEN_TIME = 0.01
"""How far, in sample periods, a time may stand from an even grid before a record has no one period. Times
of a recorder jitter by some microseconds of a millisecond; a missing sample is off by a whole period."""
