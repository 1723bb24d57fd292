"""Numerical tolerances of the readings of a system: steady states, simulation, events, eigenvalues.

Doubles round at 1.1e-16 of the larger operand; what a reading loses beyond that stands with each number.
Sizes beyond which another method is taken were measured.
"""

from __future__ import annotations

# ---------------------------------------------------------------- steady states

DENSE_REST = 300
"""States from which a sparse solve is tried first."""

INTEGRATOR_CHAIN = 4
"""Longest chain of integrators that is looked for."""

BALANCED_RATES = 1e-9
"""Rates against the terms that they are made of, at which nothing changes."""

SETTLED_DECAYS = 25.0
"""Times the slowest decay after which a motion is over."""

REST_EVALUATIONS = 300_000
"""Evaluations of the rates after which a motion that is not over is given up."""

CLOSE_EVALUATIONS = 40_000
"""Evaluations more for following a motion closely, whose rest is known already to fewer digits."""

STIFF_RATIO = 30.0
"""Ratio of the fastest decay to what else moves from which a method for stiff equations is taken."""

REST_INSTANTS = 12
"""Instants of a motion from which a steady state is sought."""

STRAIGHT_SLOPES = 0.2
"""Change of the slopes, of size one, within which a motion around a stable rest ends there."""

NEUTRAL_SLOPES = 1e-9
"""Singular values of the slopes at rest, against the largest and in sizes of the states, that are none."""

REST_ROUNDS = 12
"""How often a motion is followed for as long as the slowest decay asks for."""

# ---------------------------------------------------------------- steady states of what switches

SWITCHING_DECAYS = 4.0
"""Times the slowest decay of a mode for which a motion is followed at first."""

SWITCHING_ROUNDS = 10
"""How often a motion is followed; each time for at least twice as long as before."""

SWITCHING_EVALUATIONS = 60_000
"""Evaluations of the rates in one round; a motion that needs more is given up."""

SWITCHING_INSTANTS = 201
"""Instants at which a motion is looked at, to see how far it goes."""

REST_DISTANCE = 1e-6
"""Distance from a rest, as a share of how far each state has moved, at which a motion is over."""

FREE_SHARE = 1e-9
"""Share in a free direction, where the equations are of size one, from which a state takes part."""

MODE_SLACK = 1e-9
"""What counts as zero, as a share of the terms: a steady state is not known better."""

IMAGINARY_AXIS = 1e-7
"""A zero this near the imaginary axis, relative to the fastest one, counts as on it."""

# ---------------------------------------------------------------- steps of the simulation

STIFFNESS_TEST_STEPS = 200
"""Steps after which it is first asked whether the method is the right one; twice as many each time after."""

STEPS_AHEAD = 1000
"""Steps that must still be ahead for another method to be worth it."""

STIFF_STEP, TAME_STEP = 2.0, 0.3
"""Steps times the fastest rate of decay. DOP853 follows a decay to 1e-9 with steps of less than one; where
they are of more than two, it is stability that limits them. Below 0.3 an implicit method follows that decay,
which the explicit one does with fewer steps."""

BDF_TOLERANCE = 0.03
"""Share of the relative tolerance that BDF gets: errors of its many steps add up to more than DOP853's."""

DECAY_DAMPING = 0.1
"""Least damping ratio of what counts as a decay; what swings longer has to be followed by any method."""

JUMPS, JUMP_STEPS, JUMP_WIDTH = 5, 10, 1e-10
"""Jumps of inputs that may follow each other within this share of the duration, and the steps taken with
wider tolerances at each: in the shortest step that a time allows, an input may move a state by too much."""

DENSE_STEPPING = 300
"""States up to which all eigenvalues are computed."""

ABSOLUTE_SHARE = 1e-12
"""Absolute tolerance of a state, as a share of its size."""

TRANSIENT_POWERS, CIRCLE_POWERS = 64, 60
"""Powers after which the growth of paths is that of their fastest circle, and over which it is taken: a
multiple of the lengths of short circles."""

INSTANT_WIDTH = 1e-14
"""Relative width of an instant. Steps are no shorter, so a jump of an input is not located more closely."""

INPUT_INSTANTS = 200
"""How often inputs that are functions of time are looked at."""

STIFF_STEPS = 1000
"""Steps, at least, of a stiff method that inputs act on."""

# ---------------------------------------------------------------- events

FEWEST_COMMAND_SAMPLES, MOST_COMMAND_SAMPLES = 2**14, 2**20
"""How often a command is looked at."""

SAMPLES_BETWEEN_CHANGES = 4
"""Looks between two changes of a command from which it counts as seen: were there more changes, some would be
closer."""

GOLDEN_RATIO = 0.6180339887498949
"""Multiples of the golden ratio, without their whole parts, lie evenly for any number of them, and are out of
step with whatever repeats itself."""

SIMULTANEOUS_COMMANDS = 1e-6
"""Share of the window within which commands change together: two gates that are each other's opposite."""

EDGE_DEGREE = 8
"""Of the polynomials: one more than DOP853's dense output has, to see whether it is enough."""

MOST_PANELS = 4096
"""Pieces into which a step is divided at most."""

EDGE_RESOLUTION = 0.1
"""Share of an edge's range within which the last coefficients of its polynomial must lie: what is looked at
less than twice in its period has coefficients that are all alike."""

EDGE_SLACKS = 1e3
"""Times the slack: an edge that is known to so much needs no shorter pieces."""

EVENT_WINDOW = 1e-8
"""Events within this share of the duration are one instant, and a rebound that is shorter is none."""

INPUT_STEPS, CONSTANT_INPUT_STEPS = 1000, 100
"""Steps into which the duration is divided at least: a solver does not see an input that acts on a switch
alone. Fewer where all inputs are constant."""

MOST_EVENTS = 1_000_000
"""Events of one simulation; more are taken for a model that chatters."""

MODE_COMBINATIONS = 20_000
"""Combinations of modes that are tried at an instant: those of several models side by side multiply."""

GAP_EXCESS = 1e-9
"""How far beyond its gap a stop may start, in SI units and as a share of the gap: where another simulation
has left it, by no more than its tolerance."""

INSTANT_SECONDS = 1e-8
"""Seconds within which events are one instant where there is but one instant."""

# ---------------------------------------------------------------- positive realness

ROUNDED_SHARE = 1e-10
"""Share of a number's size below which it is rounding."""

FREQUENCY_DECADES, FREQUENCY_POINTS = 3.0, 300
"""How far beyond the system's own frequencies is looked for its least value, and at how many points."""

# ---------------------------------------------------------------- eigenvalues of one step

TRIPLE_EIGENVALUE = 1e-5
"""Eigenvalues closer to 1 than this belong to motions that nothing returns, such as a table's position. A
Jordan block of three, which a table has, is split by rounding to about the cube root of 1e-16."""

SINGLE_EIGENVALUE, DOUBLE_EIGENVALUE = 1e-8, 1e-6
"""The same for a single eigenvalue, and for a Jordan block of two."""

SLOW_RATE = 1e-4
"""Rate [1/s] below which a single eigenvalue at 1 rests: it adds less than half in an hour. What the design
of a controller makes rest is at 1 only as exactly as the design was solved: an integrator in an inverse whose
numbers were searched for, to 2e-8 a step, up or down as the machine rounds."""

GROWTH_ROUNDING = 1e-9
"""Growth per step that is taken for rounding."""

DENSE_SLOPES = 600
"""Columns of slopes, or rows that are wanted, up to which they are solved densely."""

MANY_COLUMNS = 100
"""Columns of slopes from which it pays to look first which matter: of a reference's hundred states, none."""

DENSE_RESPONSE = 250
"""States and channels up to which responses are solved for densely, all points at once."""

SINGLE_POINT_STATES, COMPARED_POINTS, COMPARED_RESPONSES = 30, 8, 1e-8
"""States and sources up to which every point is solved for by itself. With more, and with short delay lines,
the matrix is made triangular once for all points. This is less exact where numbers differ by many powers of
ten, so it is held against solutions at some points, and taken if they differ by no more than the last,
relative to the largest response."""

# ---------------------------------------------------------------- eigenvalues with delay lines

STEP_ASIDE = 1e-9
"""How far to step aside of a point at which the characteristic matrix is singular, as a share of it."""

EIGENVALUE_CONDITIONS = (1e9, 1e5, 1e3, 1e2)
"""Condition numbers of an eigenvalue beyond which it stays in the triangular part, tried in this order."""

TRIANGULAR_STATES = 300
"""States up to which all of them may stay there."""

DEFECTIVE_GAP = 1e-6
"""Eigenvalues nearer to each other are suspected of being defective, whatever their eigenvectors say."""

SAFE_CONDITION = 1e7
"""Condition of the eigenvectors up to which residues keep enough digits."""

CHUNK = 1 << 21
"""Numbers held at a time in one array: 32 MB of complex ones."""

DENSE_SPECTRUM = 1500
"""States and places up to which all eigenvalues are computed densely: a second or two, 100 MB."""

PLACES_WRITTEN_OUT, PLACES_PER_VALUE = 200, 25
"""Places in delay lines up to which they are written out as states, in all or for each value that is read:
the closed form takes longer the more are read, a prediction over 50 ms at 4 kHz twenty times as long."""

CLOSED_FORM_LINES = 60
"""Delay lines up to which the closed form pays; beyond, its determinants cost more than the registers."""

SHORT_REGISTER, SHORT_REGISTER_PLACES = 16, 100
"""Registers up to this length are written out, up to this many places: the long ones then set the pace."""

LOGARITHM_STEP = 2.0
"""Largest change of log f between neighbouring points. A double zero half-way between them makes it 4,
although the phase itself would then be back where it was: the derivative is what tells."""

LOGARITHM_AGREEMENT = 0.5
"""How far the change of log f may stray from the one that its derivatives promise."""

LISTED_EIGENVALUES = 200
"""Eigenvalues in the upper half plane that are listed."""

MULTIPLE_ZERO = 1e-7
"""Zeros nearer to each other are one, of higher multiplicity: Newton's method parts them no better."""

ROOT_ITERATIONS = 40
"""Steps of Newton's method at most."""

NEAR_POLES = 12
"""Poles near a start that are multiplied out."""

SHIFTS = 7
"""Factorisations at most: some seconds for 10,000 states."""

ARNOLDI_VECTORS = 100
"""Vectors of Arnoldi's method per shift; about half as many eigenvalues converge."""

ARNOLDI_PRODUCTS = 2e8
"""Multiplications that make these vectors orthogonal, at most: larger steps get fewer vectors."""

SHIFT_OFFSET = 1e-4
"""Shifts stand this far outside the circle: eigenvalues at exactly 1 are common, and must not be hit."""
