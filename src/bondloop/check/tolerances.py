"""Numerical tolerances of the check, and sizes from which it reads instead of trying, each with its reason.

What the check *judges* by is no tolerance: those limits stand in `bondloop.check.policy`.
"""

from __future__ import annotations

# ---------------------------------------------------------------- responses

CHEAP_STATES = 80
"""States below which a response is taken at 300 frequencies instead of 60: some 20 ms, as measured."""

# ---------------------------------------------------------------- margins

FOLLOWED = 0.05
"""Relative error up to which a motion counts as followed: what a calibrated displacement sensor, an actuator
in good order and the eye on a figure agree to."""

GAIN_FACTORS = (1.0, 1.1, 1.25, 1.6, 2.5, 5.0, 10.0)
"""Factors that are tried on the measured force; what stands ten times as much is not near anything. Between
them borders are read off the response, which leaves out none."""

SPECIMEN_FACTORS = (1.0, 1.1, 1.25, 1.6, 3.0)
"""The same for a specimen's stiffness or mass, where each try means to differentiate the tick anew. No
estimate of a specimen is three times off; and far stiffer ones are too stiff for the time steps of the
emulation, which says nothing of the rig."""

LONGEST_DELAY = 2.0
"""Seconds of extra delay beyond which none is looked for: no transfer system is so far off its model."""

TRIED_PLACES = 160
"""States, with places in delay lines, beyond which margins are read off the response: a spectrum takes 30 ms
there, grows with the cube, and a margin takes dozens."""

JITTER_PLACES = 100
"""The same for jitter: 8 ms for a spectrum, and some thirty of them."""

TRIED_STATEMENTS = 5000
"""Statements of a tick, times substeps of the rig, from which the same is done: a try differentiates all."""

REAL_LOCUS = 1e-3
"""Imaginary over real part from which the loop's slowest response counts as real: what lies below the lowest
frequency that is looked at turns it by less."""

BORDER = 4e-3
"""Relative precision of a border: a tenth of what a margin is read for."""

SPECIMEN_BORDER = 1e-2
"""The same where each try means to differentiate the tick anew."""

SAME_MOTION = 30.0
"""Decay on one side of a border and growth on the other, within such a factor, are taken for one motion's."""

EDGE_STEPS = 8
"""Fine steps in a sample, at least, in which the rig's answer to a command that comes late is computed. The
answer is smooth between them; by cubic splines it is known to (w T/8)^4/384 of itself, 0.3 % where the rig
swings at w = 8/T, far above half the sample rate."""

EDGE_FRACTIONS = 32
"""Fractions of a sample at which it is asked whether a locus of the loop has come round 1. A loop that would
be unstable between two of them only, and stable at both, is unstable for 3 % of a sample."""

PHASE_STEP = 0.3
"""Radians by which the delay may turn a locus between two frequencies that bracket a crossing: an angle is
known without doubt up to pi, and the loop turns it too."""

NEAR_ONE = 0.05
"""Size of a locus, off 1, within which it is looked at more closely between two frequencies."""

FREQUENCY_HALVINGS = 12
"""How often the distance of two frequencies is halved, at most: then it is a 4000th of what it was."""

CELL_HALVINGS = 14
"""The same for a cell of frequencies and delays that holds a border: 1/32 sample becomes a 500,000th."""

JITTER_STEPS = 24
"""Sizes of jitter up to one sample that are tried; between the last stable and the first unstable one the
border is closed in on."""

# ---------------------------------------------------------------- the dry run

WINDOWS = 48
"""Parts of a run in which peaks are kept: enough for a figure, and for a trend from quarter to quarter."""

MOTION_FLOOR = 1e-12
"""Motions in m, or m/s, below this are rounding: a picometre."""

KEPT_NUMBERS = 4_000_000
"""Numbers up to which the motions at the interfaces are kept for comparison: 32 MB."""

STARTED = 10
"""Ticks after which a run has started: before, no instant is worth a linear analysis."""

BLOCK = 2000
"""Ticks of a linear run whose outputs are kept before they are looked at."""

# ---------------------------------------------------------------- notes

LOUD_PREDICTION = 1000.0
"""Amplification of errors in the samples from which it is worth a word: noise of a micrometre is then a
millimetre of command."""

MISSED_VELOCITY = 0.03
"""Part of the velocity that a sample may miss without a word; load cells and fitted laws are no better."""

NO_LAG = 1e-6
"""Lags in ms and dampings in N s/m below this are rounding."""

NO_LOOP = 1e-12
"""Size of a loop gain below which nothing comes back."""
