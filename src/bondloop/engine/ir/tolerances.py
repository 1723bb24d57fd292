"""Numerical tolerances of matrices, of switching, and of Newton's method for algebraic loops.

Doubles round at 1.1e-16 of the larger operand. A residual is a sum of some tens of terms, each of which was
rounded a few times on its way, so that what is left of them when they cancel is up to 1e-14 of their size.
Newton's method converges quadratically: a step of a relative size of 1e-10 leaves an error of 1e-20.
"""

from __future__ import annotations

# ---------------------------------------------------------------- matrices

DENSE_POLES = 4000
"""States up to which poles are computed, by a dense eigenvalue problem."""

FACTORED_ROWS = 64
"""Rows of a matrix from which its factors may be worth while."""

PIVOT_THRESHOLD = 1e-3
"""Part of the largest entry of a column that is enough for its pivot to be taken from the diagonal."""

NULL_RANK = 1e-11
"""Singular values, against the largest or the largest entry of what was scaled, that count as zero."""

# ---------------------------------------------------------------- switching

SLACK = 1e-12
"""What counts as zero, as a share of the largest terms of an effort, flow or displacement."""

IMPULSE_SLACK = 1e-14
"""What counts as no impulse, as a share of its largest terms: no more than rounding, for it is divided by the
window."""

# ---------------------------------------------------------------- Newton's method

NEWTON_ITERATIONS = 80
"""Newton steps of a nonlinear loop at most, those that are shortened included: fixed, so that the work in a
real-time step is bounded. Half of them are left for a start from zero, where the last solution leads nowhere
else."""

ROUNDING = 1e-14
"""Disagreement between a tear and its definition, relative to the terms that are summed, that is rounding."""

STEP_TOLERANCE = 1e-10
"""A Newton step that changes every tear by less than this, relatively, is the last one."""

LAST_STEP = 1e-6
"""Largest last step, relative to the tear, when the steps are used up."""

PATIENCE = 5
"""How often a step is shortened before it is taken as it is: residuals may have to grow on the way."""

SHORTEST = 1e-3
"""Smallest factor by which a step is shortened at once."""

BISECTIONS = 40
"""Evaluations of a law, at most, that find how far a tear may go."""

TINY = 1e-300
"""Keeps a division by zero away."""

LAW_FLOOR = 1e-8
"""A law counts as no flatter than this part of its slope at zero, so that two diodes that block in series can
still be told apart: they have no slope at all. Only the steps are changed by it, not the solution."""

SINGULAR = 1e-14
"""Reciprocal condition, after scaling, below which a matrix counts as singular."""
