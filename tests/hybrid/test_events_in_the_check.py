"""A test whose parts switch: it runs, and the check judges the loop in each of its modes."""

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Sf, Stop, Switch, Zero
from bondloop.check.linear.switched_modes import modes_of


def chain(*, gap=None, struck="v1", released=False, mass=1.0, damping=20.0):
    """Two masses on springs; a stop at one of them, or a damper that can be released."""
    m = Model("chain")
    m.ground, m.s1, m.v1, m.s2, m.v2 = Sf("g"), Zero(), One(), Zero(), One()
    m.ground >> m.s1 >> m.v1 >> m.s2 >> m.v2
    m.s1 >> C(stiffness=4000.0)
    m.s2 >> C(stiffness=1000.0)
    m.v1 >> I(mass=10.0)
    m.v2 >> [I(mass=mass), R(damping=5.0)]
    if released:
        m.held, m.release = Zero(), Switch("release")
        m.v1 >> m.held >> [R(damping=60.0), m.release]
    else:
        m.v1 >> R(damping=damping)
    if gap is not None:
        m.stop = Stop(gap=gap, restitution=0.3)
        getattr(m, struck) >> m.stop
    return m


def hybrid(model, amplitude=0.05, actuator=None, controller=None):
    numerical, physical = model.cut("v1 >> s2")
    actuator = actuator or bl.transfer.MassSpringDamper(m=0.5, c=60, k=4000)
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, actuator),
        controller=controller or bl.control.VirtualJunction(actuator),
        excitation={"g": bl.signals.Sine(amplitude=amplitude, frequency=2.0)},
        rate=1000,
    )


@pytest.fixture(scope="module")
def plain():
    return hybrid(chain()).check(2.0)


@pytest.mark.parametrize("struck", ["v1", "v2"])
def test_each_instant_is_linearised_in_the_mode_that_it_has(plain, struck):
    test = hybrid(chain(gap=0.004, struck=struck))
    check = test.check(2.0)
    assert {modes_of(test, i.step) for i in check.instants} >= {
        ((f"{'numerical' if struck == 'v1' else 'rig.specimen'}.stop", 1),)
    }
    free = [i.step.growth for i in check.instants if modes_of(test, i.step)[0][1] == 1]
    closed = [i.step.growth for i in check.instants if modes_of(test, i.step)[0][1] != 1]
    # Free, it is the test without a stop.
    assert free == pytest.approx([plain.step.growth] * len(free), rel=1e-6)
    if struck == "v1" and closed:  # held at the interface, the specimen swings alone: -c / 2m, nearly
        assert closed[0] == pytest.approx(-2.5, rel=0.05)
    assert check.passed


def test_the_run_keeps_the_stop_and_the_rig_follows():
    test = hybrid(chain(gap=0.004))
    run = test.run(2.0)
    assert run.completed
    # Moreau in samples: beyond the gap by no more than a sample's way.
    moved = run["desired.displacement"]
    assert 0.004 <= moved.max() < 0.004 + np.abs(run["desired.velocity"]).max() / 1000
