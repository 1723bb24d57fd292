"""A test whose parts switch: it runs, and the check judges the loop in each of its modes."""

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Sf, Stop, Switch, Zero


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


@pytest.mark.parametrize(("struck", "path"), [("v1", "numerical.stop"), ("v2", "rig.specimen.stop")])
def test_each_mode_is_a_regime_by_name(plain, struck, path):
    check = hybrid(chain(gap=0.004, struck=struck)).check(2.0)
    seen = {r.words: r for r in check.regimes}
    assert set(seen) == {f"{path} free", f"{path} closed"}
    assert check.unvisited == ()
    # Free, it is the test without a stop.
    assert seen[f"{path} free"].step.growth == pytest.approx(plain.step.growth, rel=1e-6)
    if struck == "v1":  # held at the interface, the specimen swings alone: -c / 2m, but for the actuator
        assert seen[f"{path} closed"].step.growth == pytest.approx(-2.5, rel=0.05)
    assert check.passed


def test_a_mode_that_the_dry_run_does_not_visit_is_judged_too():
    check = hybrid(chain(gap=10.0)).check(2.0)
    assert [r.words for r in check.unvisited] == ["numerical.stop closed"]
    assert check.unvisited[0].share == 0.0
    assert (
        repr(check.unvisited)
        == "(<Regime 'numerical.stop closed': stable at t = 0.001 s, 0% of the instants>,)"
    )
    assert repr(check.step).startswith("<OneStep: ")
    assert len(repr(check.step)) < 100
    assert check.unvisited[0].step.stable
    assert "Modes in which it was at no instant that was looked at:" in str(check)
    assert check.passed


def test_an_unstable_mode_that_is_not_visited_asks_for_care():
    """A damper of 60 Ns/m holds an actuator's lag of 30 ms on 1 kN/m; without it the loop is unstable.

    The specimen's mass is so heavy that it stands still, and a spring with a lag is negative damping.
    """
    slow = bl.transfer.MassSpringDamper(m=0.5, c=120, k=4000)
    test = hybrid(chain(released=True, mass=200.0), 0.001, actuator=slow, controller=bl.control.Direct())
    check = test.check(2.0)
    (other,) = check.unvisited
    assert other.words == "numerical.release closed"
    assert not other.step.stable
    without = hybrid(chain(mass=200.0, damping=0.0), 0.001, actuator=slow, controller=bl.control.Direct())
    assert other.step.growth == pytest.approx(without.check(2.0).step.growth, rel=1e-6)
    assert any("unstable in a mode that was not looked at in the dry run" in f.short for f in check.findings)


def test_the_run_keeps_the_stop_and_the_rig_follows():
    test = hybrid(chain(gap=0.004))
    run = test.run(2.0)
    assert run.completed
    # Moreau in samples: beyond the gap by no more than a sample's way.
    moved = run["desired.displacement"]
    assert 0.004 <= moved.max() < 0.004 + np.abs(run["desired.velocity"]).max() / 1000
