"""Any latency of an emulated rig, against the exact response to the held command that comes late."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from bondloop.bondgraph import C, I, Model, One, Port, R
from bondloop.engine.codegen import Runner
from bondloop.engine.ir.tick import Delay, Repeat
from bondloop.integrate import Exact
from bondloop.rigs import Emulated, mounted
from bondloop.rigs.emulated import rig_tick
from bondloop.transfer import MassSpringDamper

PERIOD = 1e-2


def specimen():
    m = Model("specimen")
    m.end, m.v, m.spring, m.damper = Port(), One(), C(stiffness=3e3), R(damping=8.0)
    m.end >> m.v >> [m.spring, m.damper]
    return mounted(m)


def rig(latency, substeps=4, mass=2.0, damping=60.0):
    actuator = MassSpringDamper(mass, damping, 4e3, drive="position")
    return Emulated(specimen(), actuator, latency=latency, substeps=substeps, integrator=Exact())


def ticked(emulated, commands, period=PERIOD):
    tick = rig_tick(emulated, emulated.system(), period)
    result = Runner(tick, "numpy").run(len(commands), np.asarray(commands)[:, None])
    return result.channels["measured.displacement"]


def exactly(latency, commands, period=PERIOD, **options):
    """Displacement at the beginnings of the ticks, with a matrix exponential from change to change."""
    system = rig(0.0, **options).system()
    space = system.system.numeric()
    A, B = space.A.toarray(), space.B.toarray()[:, space.inputs.index(system.commands[0].name)]
    column = space.states.index(system.displacements[0].name)
    whole, part = divmod(latency / period, 1.0)
    before = np.concatenate(
        [np.zeros(int(whole) + 1), commands]
    )  # the command of tick n is before[n + whole + 1]
    first, second = (held(A, B, h) for h in (part * period, (1 - part) * period))
    x, found = np.zeros(len(A)), []
    for old, new in itertools.pairwise(before):
        found.append(x[column])
        x = first[0] @ x + first[1] * old
        x = second[0] @ x + second[1] * new
    return np.array(found[: len(commands)])


def held(A, B, h):
    """Transition and response to a unit input over a time h."""
    n = len(A)
    block = np.zeros((n + 1, n + 1))
    block[:n, :n], block[:n, n] = A * h, B * h
    full = expm(block)
    return full[:n, :n], full[:n, n]


COMMANDS = np.random.default_rng(5).normal(size=30)


@given(st.integers(0, 9), st.integers(1, 6))
@settings(max_examples=15, deadline=None)
def test_whole_steps_are_exact_and_take_one_delay_line(steps, substeps):
    emulated = rig(steps * PERIOD / substeps, substeps)
    tick = rig_tick(emulated, emulated.system(), PERIOD)
    (repeat,) = (s for s in tick.steps if isinstance(s, Repeat))
    assert [s.length for s in repeat.body if isinstance(s, Delay)] == [steps] * bool(steps)
    late = exactly(steps * PERIOD / substeps, COMMANDS)
    np.testing.assert_allclose(ticked(emulated, COMMANDS), late, atol=1e-12)


@given(st.floats(0.0, 2.5))
@settings(max_examples=25, deadline=None)
def test_any_latency_is_exact_to_the_second_order_of_the_fine_step(periods):
    latency = periods * PERIOD
    late = exactly(latency, COMMANDS)
    for substeps in (4, 32):
        # |A B| f (1 - f) h²/2 for every jump; the slope of the response to a unit pulse is at most k/m.
        h = PERIOD / substeps
        bound = 4e3 / 2.0 * h**2 / 8 * np.abs(np.diff(COMMANDS)).max() * 3
        assert np.abs(ticked(rig(latency, substeps), COMMANDS) - late).max() < bound


@pytest.mark.parametrize("part", [0.25, 0.5, 0.8])
def test_the_error_falls_with_the_square_of_the_fine_step(part):
    """The same part of a fine step at every fineness: the observed order is two."""
    errors = []
    for substeps in (2, 4, 8, 16):
        latency = (substeps + part) * PERIOD / substeps
        errors.append(np.abs(ticked(rig(latency, substeps), COMMANDS) - exactly(latency, COMMANDS)).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2.0, atol=0.15)


@pytest.mark.parametrize("part", [0.2, 0.5, 0.7])
@pytest.mark.parametrize("frequency", [1.0, 2.0])
def test_gain_and_phase_of_slow_motion_are_those_that_emulated_states(part, frequency):
    """A sine that the tick samples: 1 - f (1-f) (ωh)²/2, and a lead of f (1-f) (1-2f) (ωh)³/6.

    The rig is heavy, so that it does not answer to the steps that a hold leaves in the command.
    """
    omega, heavy = 2 * math.pi * frequency, {"mass": 200.0, "damping": 2000.0}
    n = np.arange(800)  # whole cycles in its second half; the first lets the start die away
    commands = np.sin(omega * n * PERIOD)
    latency = (1 + part) * PERIOD
    wave = np.exp(-1j * omega * n[400:] * PERIOD)
    given = wave @ ticked(rig(latency, 1, **heavy), commands)[400:]
    ratio = given / (wave @ exactly(latency, commands, **heavy)[400:])
    angle = omega * PERIOD
    assert abs(ratio) == pytest.approx(1 - part * (1 - part) * angle**2 / 2, rel=2e-4)
    lead = part * (1 - part) * (1 - 2 * part) * angle**3 / 6
    assert np.angle(ratio) == pytest.approx(lead, abs=2e-5 + 0.05 * abs(lead))


def test_a_rig_with_a_rate_of_its_own_takes_any_latency():
    """In one step a tick, five ticks to a sample of the computer: what is late is the same."""
    latency, own = 0.37 * PERIOD, PERIOD / 5
    commands = np.repeat(COMMANDS, 5)
    fine = ticked(rig(latency, 1), commands, own)[::5]
    np.testing.assert_allclose(fine, ticked(rig(latency, 5), COMMANDS), atol=1e-12)


def test_with_a_command_that_acts_at_once_the_newest_is_measured():
    """A mass bolted to the actuator feels the command at once: at a sample it is the one that then acts."""
    m = Model("payload")
    m.end, m.v, m.mass = Port(), One(), I(mass=1.0)
    m.end >> m.v >> m.mass
    force = []
    for part in (0.0, 0.3):
        emulated = Emulated(
            mounted(m), MassSpringDamper(2.0, 0.0, 0.0), latency=(1 + part) * PERIOD / 4, integrator=Exact()
        )
        tick = rig_tick(emulated, emulated.system(), PERIOD)
        force.append(Runner(tick, "numpy").run(4, np.array([[3.0], [6.0], [0.0], [0.0]])))
        # A third of the force goes into the payload; it is measured at the end of the tick that sent it.
        np.testing.assert_allclose(force[-1].channels["measured.force"], [0.0, 1.0, 2.0, 0.0], atol=1e-12)
