"""Smooth laws that yield: the check looks at them elastic and yielding, says which, and the runs agree."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for small_pair.py

from small_pair import halves

from bondloop import rigs
from bondloop.bondgraph import R
from bondloop.check.checking import check
from bondloop.control import Direct
from bondloop.devices import BoucWen, ElastomericBearing, LeadRubberBearing
from bondloop.hybrid import HybridTest
from bondloop.safety import Limits
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper

LAGGING = MassSpringDamper(m=2, c=150, k=15e3, drive="position")  # lags by 10 ms
QUICK = MassSpringDamper(m=2, c=1500, k=3e6, drive="position")  # by half a millisecond
PART = "rig.specimen.specimen.bearing"
YIELD = 2e-3


def bearing_test(bearing, amplitude, *, actuator=QUICK, stiffness=5e3, damping=60.0, frequency=4.0):
    parts = {"bearing": bearing.element(), "damper": R(damping=5.0)}
    numerical, physical = halves("bearing", parts, stiffness=stiffness, damping=damping)
    return HybridTest(
        numerical, rig=rigs.Emulated(physical, actuator), controller=Direct(), rate=1000,
        excitation={"v_wall": Sine(amplitude, frequency).derivative()},
        limits=Limits(displacement="50 mm", force="1 kN"),
    )  # fmt: skip


def sharp(stiffness):
    """A bearing with a sharp knee at 2 mm, and a tenth of its stiffness beyond."""
    return BoucWen(stiffness=stiffness, yield_displacement=YIELD, post_yield=0.1, exponent=10)


BEARINGS = {
    "Bouc-Wen": BoucWen(stiffness=2e3, yield_displacement=YIELD),
    "lead-rubber": LeadRubberBearing(
        rubber_stiffness=500.0, rubber_damping=1.0, lead_area=1e-6, yield_stress=4e6, yield_displacement=YIELD
    ),
    "elastomeric": ElastomericBearing(
        initial_stiffness=2e3, strength=4.0, rubber_stiffness=200.0, stiffening=0.0
    ),
}


@pytest.mark.parametrize("name", BEARINGS)
def test_a_smooth_bearing_is_looked_at_elastic_and_yielding(name):
    # 5 mm at the wall move the bearing some 10 mm, five times as far as it is elastic.
    answer = check(bearing_test(BEARINGS[name], 5e-3), 2.0)
    assert {r.words for r in answer.regimes} == {f"{PART} elastic", f"{PART} yielding"}
    assert not answer.unvisited
    assert f" %: {PART} yielding: stable" in str(answer)


def negative(amplitude):
    """A mass that 800 N/m push from its place, held by a bearing of 2 kN/m, or of 200 N/m once it yields."""
    return bearing_test(sharp(2e3), amplitude, stiffness=-800.0, damping=30.0, frequency=1.0)


def test_an_elastic_bearing_holds_what_a_yielding_one_does_not():
    held, lost = (check(negative(amplitude), 3.0) for amplitude in (3e-4, 8e-3))
    # What has not yielded in the dry run is looked at all the same.
    (elastic,), (other,) = held.regimes, held.unvisited
    assert (elastic.words, elastic.share) == (f"{PART} elastic", 1.0)
    assert elastic.step.stable
    assert (other.words, other.share) == (f"{PART} yielding", 0.0)
    # m s² + (c + 5) s + (200 - 800) = 0 with m = 2, c = 30: 10.65 1/s.
    assert other.step.growth == pytest.approx(10.65, rel=0.03)
    assert held.level == "care"
    assert any(f"with {PART} yielding, as it was at no instant" in text for text in held.warnings)
    assert not lost.passed
    assert {r.words: r.step.stable for r in lost.regimes}[f"{PART} yielding"] is False

    run = negative(3e-4).run(30.0)
    assert run.completed
    assert np.abs(run["actual.displacement"]).max() < YIELD
    assert not negative(8e-3).run(3.0).completed  # it runs away to its limit of 50 mm


def late(amplitude):
    """A lag of 10 ms on 8 kN/m is -80 N s/m against 65: unstable; on 800 N/m it is -8."""
    return bearing_test(sharp(8e3), amplitude, actuator=LAGGING)


def test_a_yielding_bearing_holds_what_an_elastic_one_does_not():
    answer = check(late(2e-2), 3.0)
    stable = {r.words: r.step.stable for r in answer.regimes}
    assert stable == {f"{PART} elastic": False, f"{PART} yielding": True}

    # In the run a small motion grows as the elastic regime says, and no further once the bearing yields.
    growth = answer.step.growth
    motion = np.abs(late(1e-5).run(10.0)["actual.displacement"])
    early, later = motion[2000:2500].max(), motion[3000:3500].max()
    assert np.log(later / early) == pytest.approx(growth, rel=0.35)  # in 1 s; the excitation is in it
    assert YIELD / 2 < motion[-1000:].max() < 2 * YIELD
