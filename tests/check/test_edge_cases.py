"""Odd but legal tests, whose verdicts plain physics tells: missed pulses, short runs, switches, drift."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "hybrid"))  # for small_pair.py

from small_pair import halves

import bondloop as bl
from bondloop.bondgraph import C, R
from bondloop.control import Direct, LeadCompensation
from bondloop.hybrid import HybridTest, PseudoDynamicTest, Switches
from bondloop.integrate import Exact, NewmarkAverage, SubStep
from bondloop.rigs import Emulated, ShakingTable, Specimen
from bondloop.safety import Interlock, Limits, RampedSwitch
from bondloop.signals import Constant, HalfSine, Pulse, Sine, Step
from bondloop.structures import Matrices
from bondloop.transfer import first_order


def small(specimen=None, **changes):
    """Return one mass on a wall that moves, a spring with a damper on a rig that lags by 3 ms."""
    numerical, physical = halves("odd", specimen or {"k": C(stiffness=2e3), "r": R(damping=6.0)})
    given = {
        "rig": Emulated(physical, first_order(1.0, 0.003).actuator()),
        "controller": LeadCompensation(0.0035, 5),
        "excitation": {"v_wall": Sine("1 mm", 4.0).derivative()},
        "rate": 1000,
        "limits": Limits(displacement="20 mm", force="100 N"),
    }
    return HybridTest(numerical, **{**given, **changes})


def stepped(step, signal):
    """Return a floor of 20 kg with a small mass on a table, pushed by a signal."""
    main = Matrices([[20.0]], [[30.0]], [[8e4]], ("floor",))
    damper = Matrices([[0, 0], [0, 1.0]], None, [[4e3, -4e3], [-4e3, 4e3]], ("base", "damper"))
    return PseudoDynamicTest(
        main, scheme=SubStep(1), rig=ShakingTable(Specimen.from_matrices(damper, "base")),
        interface="floor", excitation={"floor": signal}, time_step=step,
    )  # fmt: skip


def rules(check):
    return {f.rule for f in check.findings}


@pytest.mark.parametrize("integrator", [Exact(), NewmarkAverage()])
def test_a_pulse_between_two_samples_that_the_test_does_not_see_is_worth_nothing(integrator):
    test = small(excitation={"v_wall": Pulse("5 m/s", 1.0003, 0.0004)}, integrator=integrator)
    assert not np.any(test.run(5.0)["actual.displacement"])  # the structure moves by 2 mm
    check = test.check(5.0)
    assert check.level == "vain"
    assert "BL606" not in rules(check)


def test_a_push_between_two_steps_is_worth_nothing():
    test = stepped("50 ms", HalfSine("500 N", width=0.02))
    run = test.run(4.0)
    assert np.abs(run["actual.displacement"]).max() < 1e-3  # 500 N for 20 ms on 20 kg: 5 mm
    assert not test.check(4.0).passed


@pytest.mark.parametrize("seconds", [0.01, 0.012, 0.02, 0.05])
def test_less_than_two_periods_show_no_growth(seconds):
    assert "BL211" not in rules(small().check(seconds))


def test_a_step_just_before_the_end_is_no_growth():
    test = stepped("2 ms", Step("100 N", 3.995))
    assert "BL211" not in rules(test.check(4.0))


@pytest.mark.parametrize("which", ["force", "displacement"])
def test_a_switch_that_never_closes_is_told(which):
    check = small(switches=Switches(**{which: RampedSwitch(schedule=0.0)})).check(3.0)
    assert check.level == "stop"
    assert any(which in f.text for f in check.findings if f.rule == "BL107")


def test_a_linear_loop_that_drifts_steadily_does_not_sustain_itself():
    check = small(excitation={"v_wall": Constant(0.001)}).check(5.0)
    assert not rules(check) & {"BL503", "BL505", "BL506"}


def test_a_trip_is_told_and_not_what_comes_after_it():
    test = small(limits=None, interlock=Interlock(Limits(displacement="1e-9 m")))
    found = rules(test.check(3.0))
    assert "BL402" in found
    assert not found & {"BL403", "BL601"}


def test_a_controller_function_that_fails_is_told_with_its_name():
    def broken(desired, _measured, time):
        if time > 0.2:
            raise KeyError("gain")
        return desired.displacement

    check = small(controller=broken).check(1.0)
    assert check.level == "stop"
    assert "KeyError" in check.verdict + " ".join(check.problems)


def test_without_a_compiler_one_rehearsal_speaks(monkeypatch):
    from bondloop.check.ensemble import rehearsals

    monkeypatch.setattr(rehearsals, "compiler", lambda: None)
    test = small({"k": bl.rigs.cubic_spring(2e3, 1e8), "r": R(damping=6.0)}, controller=Direct())
    check = test.check(1.0)
    assert "BL513" in rules(check)
    assert any("no C compiler" in note for note in check.notes)
