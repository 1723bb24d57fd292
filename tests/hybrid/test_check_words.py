"""What the check says where a test is not worth running, has no margin, or asks too much of its actuator."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for small_pair.py

from small_pair import halves

from bondloop import rigs
from bondloop.bondgraph import C, R
from bondloop.check.checking import VERDICTS, check
from bondloop.control import Direct
from bondloop.hybrid import HybridTest
from bondloop.safety import Limits
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper, ServoHydraulic

LAGGING = MassSpringDamper(m=2, c=150, k=15e3, drive="position")


def small(spring, *, actuator=LAGGING, amplitude=1e-3, frequency=4.0, drive=()):
    """Return a test of one mass with a spring on the rig: its stiffness, or an element."""
    parts = {"k": C(stiffness=spring) if isinstance(spring, float) else spring, "r": R(damping=5.0)}
    numerical, physical = halves("words", parts, damping=60.0)
    return HybridTest(
        numerical, rig=rigs.Emulated(physical, actuator, drive=drive), controller=Direct(), rate=1000,
        excitation={"v_wall": Sine(amplitude, frequency).derivative()},
        limits=Limits(displacement="10 m", force="10 MN"),
    )  # fmt: skip


def test_a_loop_on_its_border_is_not_run():
    # Stiffness that the check says makes the loop unstable: a thousandth below it nothing is left.
    border = 4e3 * check(small(4e3), 2.0).margins.stiffer.value
    on_it, near = (check(small(share * border), 2.0) for share in (0.999, 0.8))
    assert on_it.step.stable
    assert near.step.stable
    assert (on_it.level, near.level) == ("stop", "care")
    assert "gain margin of 1.00" in on_it.verdict


def test_a_test_that_tells_nothing_is_not_worth_running():
    answer = check(small(1e3, frequency=25.0), 2.0)
    assert not answer.passed
    assert max(answer.dry_run.error) > 0.5
    assert answer.level == "vain"
    assert answer.verdict.startswith(f"{VERDICTS['vain']}: tracking error of")
    assert check(small(1e3, frequency=2.0), 2.0).passed


@pytest.mark.parametrize(("amplitude", "named"), [(1e-3, False), (0.5, True)])
def test_an_actuator_that_is_too_small_is_named(amplitude, named):
    actuator = ServoHydraulic()
    answer = check(small(1e3, actuator=actuator, amplitude=amplitude), 2.0)
    asked = max(answer.dry_run.peaks[n] for n in ("desired.velocity", "desired.displacement"))
    assert (asked > min(actuator.capacity.values())) == named
    assert any("too small" in finding.short for finding in answer.findings) == named


@pytest.mark.parametrize(
    ("stiffness", "amplitude", "frequency", "said"),
    [
        # 25 kN of stall force on 10 kN/mm are 2.5 mm, and 8 mm are asked for.
        (1e7, 8e-3, 1.0, "the actuator stalls: 'force' comes to"),
        # 75 mm of stroke, and some 170 mm are asked for, slowly; 457 mm/s, and a metre a second and more.
        (1e3, 0.2, 0.3, "the actuator's stroke is too short: 'actual.displacement' comes to"),
        (1e3, 0.1, 4.0, "the actuator is too small for this motion, too slow: the numerical half asks for"),
    ],
)
def test_what_an_actuator_cannot_do_is_told_in_words(stiffness, amplitude, frequency, said):
    test = small(stiffness, actuator=ServoHydraulic(), amplitude=amplitude, frequency=frequency)
    answer = check(test, 3.0)
    (text,) = (f.text for f in answer.findings if f.text.startswith(said))
    assert "or less excitation" in text


def test_a_structure_that_is_unstable_by_itself_parts_from_its_reference_and_is_worth_running():
    """Gawthrop's double well is chaotic: two runs that differ by 0.01 part after 20 s."""
    from bondloop.papers import gawthrop_three_mass

    answer = gawthrop_three_mass.test().check(gawthrop_three_mass.SECONDS)
    assert answer.passed
    assert any("any two runs of the complete structure part" in text for text in answer.warnings)


def test_a_delay_that_the_rig_has_not_is_told():
    """Process.actuator() leaves the delay out, and says so only in its docstring."""
    from bondloop.papers import mr_damper_building

    test = mr_damper_building.test()
    assert test.rig.latency > 0
    assert not any("leaves out" in text for text in test.check(2).warnings)
    forgotten = test.replaced(rig=replace(test.rig, latency=0.0))
    assert any("leaves out" in text for text in forgotten.check(2).warnings)
