"""A run that ends before its earthquake begins is not praised."""

import re

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph import Model, bond
from bondloop.results import GroundMotion
from bondloop.structures import PointMass, Spring, Structure, field_form

TIMES = np.arange(2001) * 0.01
QUAKE = GroundMotion(np.sin(8 * TIMES) * np.exp(-(((TIMES - 6) / 2) ** 2)), 0.01)


def shaken(ground):
    """A mass on a column on moving ground, on whose top an actuator holds a spring and a small mass."""
    from bondloop.bondgraph import C, I, One, Port, R, Zero

    class Damper(Model):
        def __init__(self):
            self.base = Port()
            self.force, self.stretch, self.v = Zero(), One(), One()
            self.base >> self.force >> self.v >> I(mass=30.0)
            self.force >> self.stretch >> [C(stiffness=1800.0), R(damping=50.0)]

    house = Structure("house")
    house.node("foot", x=0.0)
    house.node("top", x=1.0)
    house.add(Spring("foot", "top", k=6e4, dof="ux"))
    house.add(PointMass("top", m=1000.0, dofs=("ux",)))
    house.support("foot")
    house.rayleigh(0.3, 0.0)
    whole = Model("whole")
    whole.frame, whole.damper = field_form(house.assemble(), "frame"), Damper()
    bond(whole.frame.top.ux, whole.damper.base)
    numerical, physical = whole.cut("frame.top.ux >> damper.base")
    servo = 2 * np.pi * 15.0
    table = bl.transfer.MassSpringDamper(50.0, 1.4 * 50.0 * servo, 50.0 * servo**2, drive="position")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, table),
        controller=bl.control.VirtualJunction(table),
        ground={"ux": ground},
        rate=500,
    )


@pytest.fixture(scope="module")
def filtered():
    return QUAKE.corrected("high-pass", "0.3 Hz")  # 10 s of silence before it


def test_a_run_over_the_silence_is_not_praised(filtered):
    run = shaken(filtered).run(8.0)
    assert "very well" not in run.verdict
    assert "hardly moved in the 8 s of the run" in run.verdict
    first, last = filtered.significant_times()
    assert f"from {first:.3g} to {last:.3g} s" in run.verdict
    begins = filtered.time[np.argmax(np.abs(filtered.values) > 0.01 * filtered.peak)]
    assert f".shifted('-{int(begins)} s')" in run.verdict


def test_the_shift_brings_the_strong_part_into_the_run():
    """A long weak beginning: a shift to where it begins would leave the strong part behind the run."""
    time = np.arange(0.0, 40.0, 0.01)
    weak = np.where(time < 8.0, 0.0, 0.02 * np.sin(6 * time))
    values = weak + np.where((time > 20.0) & (time < 30.0), np.sin(6 * time), 0.0)
    quake = bl.signals.Table(time, values)
    run = shaken(quake).run(5.0)
    shift = float(re.search(r"shifted\('-([\d.]+) s'\)", run.verdict)[1])
    assert 20.0 - 1.0 < shift <= 20.6
    assert "to see all of it" in run.verdict
    assert "hardly moved" not in shaken(quake.shifted(-shift)).run(5.0).verdict


def test_a_run_that_meets_the_earthquake_is_judged_as_before(filtered):
    for ground in (QUAKE, filtered.acceleration().shifted("-10 s")):
        run = shaken(ground).run(8.0)
        assert "hardly moved" not in run.verdict
        assert all(finding.measure != "excitation" for finding in run.judgement)


@pytest.mark.parametrize(("frequency", "fast"), [(249.9, False), (250.0, True), (3.0, False), (497.0, True)])
def test_an_excitation_too_fast_for_its_samples_is_not_praised(frequency, fast):
    """At 500 Hz: 497 Hz would run as 3 Hz."""
    test = shaken(bl.signals.Sine(0.01, frequency=frequency))
    run, found = test.run(1.0), test.check(1.0)
    words = f"goes up to {frequency:.4g} Hz, and samples every 0.002 s show it as a slower one"
    assert (words in run.verdict) == fast
    assert (words in str(found)) == fast
    assert ("the excitation is too fast for its samples" in found.verdict) == fast
