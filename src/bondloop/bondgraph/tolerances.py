"""Numbers by which the derivation of equations decides, each with its reason."""

from __future__ import annotations

OTHER_SIGNALS = (-1.3, 0.4, 2.1)
"""Values of signals with which a law is tried out: of either sign, and no round numbers."""

LOOP_SIZES = (1.0, 1e-2, 1e-4)
"""Sizes of the variables at which a loop must be singular: a steep law (a diode at half a volt) drowns all
others at one of them, and only what is bound by the structure is so at all."""

NO_GAIN = 1e-12
"""Gain, against the others of its row, that counts as none: a thousand roundings of a sum."""

NO_ROW = 1e-9
"""Size, among rows of size one, below which what is left of a row counts as zero."""

DRAWN_SIGNALS = (1.0, 0.1, 10.0, 0.01, 0.001)
"""Sizes of the signals at which a modulated matrix is tried until all its entries are finite."""

NO_SLOPE_COST = 1e6
"""Cost of naming an equation for an unknown that it hardly holds: more than all powers of two together."""

FOLD_POINTS = 240
"""Places at which it is looked whether a law turns back: sizes from 1e-4 to 1e3, of either sign."""

FOLD_SIDE = 12
"""Places on either side of a fold: fewer may be rounding."""

RANK_TRIALS = 3
"""Points at which equations must be dependent to count as dependent everywhere."""
