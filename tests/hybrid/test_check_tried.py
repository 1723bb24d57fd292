"""What people found who tried to make the check say something wrong: each is a test."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for small_pair.py

from drawn_tests import case
from small_pair import halves

from bondloop import rigs
from bondloop.bondgraph import C, I, Model, One, R, Se, Sf, Zero
from bondloop.check import tolerances
from bondloop.check.checking import check
from bondloop.check.linear.running_loop import RunningLoop
from bondloop.control import MCS, AdaptiveVirtualJunction, Direct, VirtualJunction
from bondloop.engine.analysis.spectrum.delayed_step import DelayedStep, dense_matrix, with_registers
from bondloop.engine.analysis.spectrum.spectrum import count_outside, delays_in_closed_form
from bondloop.errors import SolveError
from bondloop.hybrid import HybridTest
from bondloop.hybrid.coupling import Switches
from bondloop.rehearsal.run_findings import reference_errors
from bondloop.rigs import Jump
from bondloop.safety import Interlock, Limits, RampedSwitch
from bondloop.signals import Constant, Pulse, Ramp, Sine, Step
from bondloop.transfer import MassSpringDamper, ServoHydraulic

ACTUATOR = MassSpringDamper(m=2, c=150, k=15e3, drive="position")


def small(specimen, controller=None, *, damping=60.0, **options):
    """Return a test of one mass with a specimen, which `Direct` lags behind by 10 ms."""
    numerical, physical = halves("tried", specimen, damping=damping)
    words = ("sensors", "latency", "substeps")
    rig = {k: options.pop(k) for k in words if k in options}
    settings = {
        "excitation": {"v_wall": Sine(0.01, 4.0)},
        "rate": 1000,
        "limits": Limits(displacement="20 mm", force="200 N"),
        **options,
    }
    emulated = rigs.Emulated(physical, ACTUATOR, **rig)
    return HybridTest(numerical, rig=emulated, controller=controller or Direct(), **settings)


# ---------------------------------------------------------------------- margins


def test_margins_are_those_of_the_most_delicate_regime():
    test = small({"stop": rigs.dead_zone_spring(5e3, "0.05 mm"), "r": R(damping=5.0)})
    found = check(test, 3.0)
    open_, closed = (check(small(s), 3.0).margins for s in (
        {"r": R(damping=5.0)}, {"k": C(stiffness=5e3), "r": R(damping=5.0)},
    ))  # fmt: skip
    assert open_.model_error.value > 2 * closed.model_error.value  # the open contact is far from any border
    assert found.margins.model_error.value == pytest.approx(closed.model_error.value, rel=0.02)
    assert found.margins.delay.value == pytest.approx(closed.delay.value, rel=0.05)
    assert found.margins.where
    assert found.margins.where in str(found)


@pytest.mark.parametrize("stiffness", [500.0, 2e3, 4e3])
@pytest.mark.parametrize("mass", [0.0, 0.3])
def test_margins_read_off_the_response_are_those_of_the_eigenvalues(monkeypatch, stiffness, mass):
    specimen = {"k": C(stiffness=stiffness), "r": R(damping=8.0)}
    test = small({**specimen, "m": I(mass=mass)} if mass else specimen, damping=80.0)
    exact = check(test, 2.0).margins
    monkeypatch.setattr(tolerances, "TRIED_PLACES", 0)
    read = check(test, 2.0).margins
    assert "read off" in read.left_out
    for name in ("delay", "gain", "least_gain"):
        a, b = getattr(exact, name), getattr(read, name)
        assert a.found == b.found, name
        if a.found:
            assert b.value == pytest.approx(a.value, rel=0.03), name
            assert b.frequency == pytest.approx(a.frequency, rel=0.05), name


def test_a_loop_whose_margins_are_unknown_is_run_with_care():
    found = check(small({"k": C(stiffness=500.0)}, VirtualJunction(ACTUATOR), coupling="continuous"), 2.0)
    assert found.level == "care"
    assert any("not known" in w for w in found.warnings)


# ---------------------------------------------------------------------- the length of a test


@pytest.mark.parametrize(
    ("signal", "seconds"),
    [
        (Step(1e-3, at=15.0), 25.0),
        (Sine(1e-3, 2.0) + Step(1e-3, at=12.0), 22.0),
        (Sine(1e-3, 2.0) + Pulse(1e-3, start=30.0, width=1.0), 41.0),
        (Step(1e-3, at=2.0).shifted(9.0) * 2.0, 21.0),
        (Constant(0.0) + Ramp(1e-3, start=3.0, end=14.0), 24.0),
        (Sine(1e-3, 2.0), 10.0),
        (Ramp(1e-3, start=3.0, end=14.0), 14.0),
    ],
)
def test_nothing_of_the_excitation_is_left_out(signal, seconds):
    test = small({"k": C(stiffness=500.0)}, excitation={"v_wall": signal})
    assert test.length == pytest.approx(seconds)
    late = [w for w in check(test, 5.0).warnings if "not complete" in w]
    assert bool(late) == (signal.last_event > 5.0)


# ---------------------------------------------------------------------- what is refused, and what is said


def test_a_linear_structure_that_is_unstable_is_refused_behind_a_converter_too():
    sensors = {"force": rigs.Sensor((rigs.Quantisation(16, 500.0),), "N")}
    found = check(small({"k": C(stiffness=500.0)}, damping=-1.0, sensors=sensors, excitation={}), 1.0)
    assert not found.passed


def test_a_safe_position_beyond_the_limits_is_not_safe():
    wide = Limits(displacement="50 mm")
    far = small({"k": C(stiffness=500.0)}, interlock=Interlock(limits=wide, safe_position="30 mm"))
    assert any("safe_position" in p for p in check(far, 1.0).problems)
    near = far.replaced(interlock=Interlock(limits=wide, safe_position="3 mm"))
    assert not any("safe_position" in p for p in check(near, 1.0).problems)


@pytest.mark.parametrize("fault", [rigs.GainError(-1.0), rigs.LowPass(1e-3), rigs.Backlash(1e4)])
def test_a_load_cell_that_does_not_show_the_force_is_named(fault):
    found, sound = (
        check(small({"k": C(stiffness=500.0)}, sensors={"force": rigs.Sensor((part,), "N")}), 2.0)
        for part in (fault, rigs.GainError(0.02))
    )
    assert any("measured.force" in w for w in found.problems)
    assert not any("measured.force" in w for w in sound.problems)


@pytest.mark.parametrize("controller", [None, Direct()])
def test_the_tests_own_reference_is_used(controller):
    from bondloop.papers import gawthrop_three_mass

    test = gawthrop_three_mass.test(spring="hardening")
    test = test if controller is None else test.replaced(controller=controller)
    found = check(test, 1.0)
    worst = max(found.dry_run.off_reference.values())
    run = test.run(1.0)
    errors = reference_errors(run.record)
    assert worst == pytest.approx(max(errors.values()), rel=0.3)  # the run's verdict leaves out a drift
    off = [w for w in found.problems if "reference" in w]
    assert bool(off) == (worst > 0.5)


def test_an_unstable_contact_is_not_mended_by_keeping_it_open():
    stop = {"stop": rigs.dead_zone_spring(4e4, "0.3 mm"), "r": R(damping=1.0)}
    found = check(small(stop, damping=12.0, limits=Limits(displacement="5 mm")), 3.0)
    assert not found.passed
    proposed = found.suggest().proposed
    assert proposed is None or proposed.kind != "excitation"


# ---------------------------------------------------------------------- long delays, many substeps


@pytest.mark.parametrize("seed", range(8))
def test_lines_that_are_read_in_many_places_are_counted_as_if_they_were_written_out(seed):
    rng = np.random.default_rng([seed, 5])
    n, sources = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    channels = int(rng.integers(sources + 1, 9))
    A = rng.standard_normal((n, n))
    A *= rng.uniform(0.5, 0.99) / np.abs(np.linalg.eigvals(A)).max()
    B, C_ = rng.standard_normal((n, channels)), rng.standard_normal((sources, n))
    B *= rng.uniform(0.02, 0.4) / channels
    E = np.where(rng.random((sources, channels)) < 0.2, 0.1, 0.0)
    C_[0] *= rng.random() < 0.7  # a line that is fed by nothing closes no loop
    reads = tuple(int(k) for k in rng.integers(0, sources, channels))
    delays = tuple(int(k) for k in rng.integers(1, 90, channels))
    step = DelayedStep(A, B, C_, E, reads, delays)
    dense = np.linalg.eigvals(dense_matrix(with_registers(step).A))
    leading, outside, _ = delays_in_closed_form(step, 1e-9, 1e-5)
    assert outside == count_outside(dense, 1e-9, 1e-5)
    assert np.abs(leading).max() == pytest.approx(np.abs(dense).max(), abs=1e-6)


@pytest.mark.parametrize("latency", [0.0004, 1.2004, 1.5, 20.0])
def test_any_latency_is_analysed(latency):
    test = small({"k": C(stiffness=200.0)}, latency=latency, damping=200.0)
    found = check(test, 2.0)
    assert found.step is not None
    assert found.step.spectrum.outside is not None
    assert not any("cannot be evaluated" in text for text in (*found.problems, *found.notes))


def test_a_thousand_substeps_are_analysed():
    few, many = (check(small({"k": C(stiffness=2e3)}, substeps=n, latency=2e-3), 1.0) for n in (10, 1000))
    assert many.step.growth == pytest.approx(few.step.growth, rel=1e-4)
    assert many.margins.delay.value == pytest.approx(few.margins.delay.value, rel=0.02)
    assert math.isfinite(many.margins.model_error.value)
    assert replace(few, name="many").verdict == many.verdict


def storey(spring, actuator, latency=0.0, amplitude=1e-3):
    """A storey of 2 t with a mass of 150 kg on it, on a spring and a damper: tuned to each other."""
    b = Model("storey")
    b.ground, b.shear, b.slip, b.v = Sf("v_g"), Zero(), One(), One()
    b.ground >> b.shear >> b.v >> I(mass=2000.0)
    b.shear >> b.slip >> [C(stiffness=4.6e5), R(damping=2e3)]
    b.f, b.s, b.w = Zero(), One(), One()
    b.v >> b.f >> b.w >> I(mass=150.0)
    b.f >> b.s >> [spring, R(damping=500.0)]
    numerical, physical = b.cut("v >> f")
    return HybridTest(
        numerical,
        rig=rigs.Emulated(physical, actuator, substeps=4, latency=latency),
        controller=Direct(),
        excitation={"v_g": Sine(amplitude, 2.0).derivative()},
        rate=1000,
        limits=Limits(displacement="70 mm"),
    )


def test_delay_to_spare_is_less_by_what_is_spent():
    """A servo-valve with friction: what is analysed sticks in some regimes, and there no delay matters."""
    spare = [
        check(storey(C(stiffness=31326.0), ServoHydraulic(), latency), 5.0).margins.delay.value
        for latency in (0.0, 0.03, 0.06)
    ]
    assert np.add(spare, [0.0, 0.03, 0.06]) == pytest.approx(spare[0], rel=0.02)
    assert check(storey(C(stiffness=31326.0), ServoHydraulic(), 0.08), 10.0).level == "stop"


def test_delay_to_spare_is_that_of_the_regime_that_has_least():
    """By a linear model of the same actuator, around 0 and at the ends of the motion, it is 69 ms."""
    found = [
        check(storey(C(lambda d: 31326.0 * d + 4e6 * d**3), ServoHydraulic(linear=plain), amplitude=a), 5.0,
              ).margins.delay
        for plain, a in ((True, 1e-3), (False, 1e-3), (False, 3e-3))
    ]  # fmt: skip
    assert [d.value for d in found] == pytest.approx([found[0].value] * 3, rel=0.03)
    assert all(d.where for d in found)


# ---------------------------------------------------------------------- controllers that learn


@pytest.mark.parametrize("excitation", [{"v_wall": Sine(0.01, 4.0)}, {}])
def test_gains_that_have_learnt_nothing_do_not_pass(excitation):
    """Weights of 100 bring the gains to a hundredth in 4 s; what they do once they are 1 is open."""
    test = small({"k": C(stiffness=500.0)}, MCS(100.0, 10.0, 0.05), excitation=excitation)
    found = check(test, 4.0)
    assert found.level == "vain"
    assert ("tracking error of 100 %" if excitation else "nothing moves") in found.verdict


@pytest.mark.parametrize(("stiffness", "level"), [(300.0, "care"), (4e3, "stop")])
def test_what_cannot_be_linearised_is_judged_by_its_motion(monkeypatch, stiffness, level):
    """A lag of 10 ms before a spring beside a damper of 12 N s/m: 300 N/m are 3 N s/m too many, 4 kN/m 40."""

    def nowhere(*_arguments, **_options):
        raise SolveError("no slope here")

    monkeypatch.setattr(RunningLoop, "at", nowhere)
    test = small({"k": C(stiffness=stiffness)}, damping=12.0, limits=None)
    found = check(test, 1.0)
    assert (found.level, found.step) == (level, None)
    assert ("could not be linearised" if level == "care" else "a disturbance grows") in found.verdict


# ---------------------------------------------------------------------- what comes late


def test_the_default_length_waits_for_switches_faults_and_slow_cycles():
    """A loop that `Direct` makes unstable, coupled after a minute; and limits that a slow sine reaches."""
    late = Switches(force=RampedSwitch(Step(1.0, at=60.0), ramp="500 ms"))
    coupled_late = small({"k": C(stiffness=4e3)}, damping=12.0, switches=late)
    assert coupled_late.length == pytest.approx(70.5)
    assert not check(coupled_late).passed
    faulty = rigs.Sensor((Jump(at="20 s", size="190 N"),))
    jumping = small({"k": C(stiffness=300.0)}, damping=60.0, sensors={"force": faulty})
    assert jumping.length == pytest.approx(30.0)
    assert not check(jumping).passed
    slow = small({"k": C(stiffness=300.0)}, excitation={"v_wall": Sine(0.04, 0.002).derivative()})
    assert slow.length == pytest.approx(1000.0)
    assert not check(slow, 400.0).passed
    assert "the excitation is not complete before 500 s" in check(slow, 10.0).verdict


def test_a_rig_that_moves_ever_farther_asks_for_care():
    drifting = small({"k": C(stiffness=300.0)}, excitation={"v_wall": Constant(1e-3)})
    found = check(drifting)
    assert "it moves ever farther" in found.verdict
    assert not check(drifting, 40.0).passed  # the limit of 20 mm


def test_an_estimate_may_be_as_large_as_what_it_estimates():
    """A stiffness of 2 GN/m is no divergence."""
    m = Model("pier")
    m.F, m.v, m.z, m.w = Se("F"), One(), Zero(), One()
    m.F >> m.v >> m.z >> m.w
    m.v >> [I(mass=1e6), C(stiffness=1e9), R(damping=6e6)]
    m.z >> C(stiffness=1e8)
    m.w >> [I(mass=1e4), R(damping=1e5)]
    numerical, physical = m.cut("v >> z")
    actuator = MassSpringDamper(m=1e4, c=1e7, k=2e9, drive="position")
    junction = AdaptiveVirtualJunction(actuator, ["spring.stiffness"], noise="1 kN")
    test = HybridTest(
        numerical,
        rig=rigs.Emulated(physical, actuator),
        controller=junction,
        excitation={"F": Sine(1e6, 2.0)},
        rate=1000,
    )
    assert check(test, 2.0).passed
    assert test.run(2.0).record.attributes["message"].startswith("finished")


@pytest.mark.parametrize("seed", [803193, 803398, 804043])
def test_what_adapts_must_be_moved_and_must_hold(seed):
    """Unstable where they start; in the first two nothing moves them, the third is louder at the end."""
    drawn = case(seed)
    answer = check(drawn.test, drawn.seconds)
    assert not answer.passed


def test_gains_that_break_out_when_the_excitation_is_repeated():
    """In a third repetition the rig would leave its bounds."""
    drawn = case(804430)
    answer = check(drawn.test, drawn.seconds)
    assert answer.level == "stop"
    assert "BL503" in {f.rule for f in answer.findings}  # nor does it come to rest after the first


def test_what_is_unstable_at_rest_and_lets_a_disturbance_grow():
    """Noise alone moves it, a rate limit bounds it at 5 %; after another knock it grows to twice the run."""
    drawn = case(1000949)
    answer = check(drawn.test, drawn.seconds)
    assert not answer.passed


def test_what_comes_to_rest_here_but_not_a_little_elsewhere():
    """A bistable specimen: a fifth of the motion goes on, and for half an hour grows after a slight shift."""
    drawn = case(1007016)
    answer = check(drawn.test, drawn.seconds)
    assert not answer.passed


def test_gains_that_learn_wait_for_the_switch():
    """While it ramps in the rig moves, and by less than it should: it is not the gains that do nothing."""
    slow = Switches(displacement=RampedSwitch(Step(1.0, at=0.1), ramp=4.0))
    law = MCS(10.0, 0.1, error_filter="reference", initial_gains=[0.0, 0.0, 1.0])
    answer = check(small({"r": R(damping=5.0)}, law, switches=slow), 2.0)
    assert not answer.passed
    assert "the displacement switch has not closed by the end of the dry run" in answer.problems[0]
