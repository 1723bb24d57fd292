"""The check of pseudo-dynamic tests: dry run, limits, ensemble, margins, what would do; beside their runs."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for drawn_stepped.py

from drawn_stepped import Plastic, stepped_case

from bondloop.bondgraph import Model, One, Port, R
from bondloop.check import Check
from bondloop.check.checking import check
from bondloop.check.linear.stepped_loop import SteppedLoop
from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.errors import InputError
from bondloop.hybrid import PseudoDynamicTest
from bondloop.integrate import SubStep
from bondloop.integrate.structural import NewmarkExplicit
from bondloop.rigs import (
    RampHold,
    Saturation,
    Sensor,
    ShakingTable,
    Specimen,
    WhiteNoise,
    coulomb,
    cubic_spring,
)
from bondloop.safety import Limits
from bondloop.signals import Constant, HalfSine, Sine, Table
from bondloop.structures import Matrices

MAIN = Matrices(np.diag([20.0, 10.0]), 5.0 * np.eye(2), [[1.2e5, -4e4], [-4e4, 4e4]], ("lower", "upper"))
DAMPER = Matrices(
    [[0, 0], [0, 0.5]], [[1.0, -1.0], [-1.0, 1.0]], [[800.0, -800.0], [-800.0, 800.0]], ("base", "mass")
)
PUSH = HalfSine(200.0, start=0.01, width=0.05)


def table(**limits):
    return ShakingTable(Specimen.from_matrices(DAMPER, "base"), **limits)


def stepped(**changed):
    parts = {
        "scheme": SubStep(8), "rig": table(), "interface": "upper", "excitation": {"lower": PUSH},
        "time_step": 0.002,
    }  # fmt: skip
    return PseudoDynamicTest(MAIN, **{**parts, **changed})


def column(k=3e4, c=60.0):
    return Specimen.from_matrices(Matrices([[0.0]], [[c]], [[k]], ("top",)), "top")


def actuator(specimen=None, **changed):
    return stepped(scheme=SubStep(5, control="displacement"), rig=RampHold(specimen or column()), **changed)


def of_law(element):
    """Return a specimen of one element that the actuator moves, with a slight damper beside it."""

    class Half(Model):
        def __init__(self):
            self.left, self.v = Port(), One()
            self.left >> self.v
            self.element, self.damper = element, R(damping=5.0)
            self.v >> [self.element, self.damper]

    whole = Model("whole")
    whole.near, whole.far = Model(), Half()
    whole.near.right, whole.near.v = Port(), One()
    whole.near.v >> whole.near.right
    whole.near.mass = R(damping=1.0)
    whole.near.v >> whole.near.mass
    whole.near.right >> whole.far.left
    return Specimen.from_model(whole.cut("near.right >> far.left")[1])


# ------------------------------------------------------------------ the dry run


@pytest.mark.parametrize(
    ("limit", "channel"),
    [
        ({"stroke": "1 mm"}, "actual.displacement"),
        ({"velocity": 0.1}, "actual.velocity"),
        ({"acceleration": 5.0}, "peak.acceleration"),
    ],
)
def test_a_table_that_is_too_small_does_not_pass(limit, channel):
    test = stepped(rig=table(**limit))
    answer = test.check(2)
    run = test.run(2)
    assert not answer.passed
    assert answer.problems[0] == f"the dry run stopped: {run.record.attributes['message']}"
    assert channel in answer.problems[0]
    assert answer.dry_run.usage[channel] > 1
    proposed = answer.suggest().proposed
    assert proposed.kind == "excitation"
    assert proposed.test.run(2).completed


def test_what_is_used_of_every_limit_is_what_the_run_uses():
    rig = table(stroke=0.02, velocity=0.5, acceleration=30.0)
    test = stepped(rig=rig, limits=Limits(force=50.0, displacement=0.03))
    answer, run = test.check(2), test.run(2)
    used = answer.dry_run.usage
    assert used["actual.displacement"] == np.abs(run["actual.displacement"]).max() / 0.02, (
        "the rig's, the tighter"
    )
    assert used["actual.velocity"] == np.abs(run["actual.velocity"]).max() / 0.5
    assert used["peak.acceleration"] == np.abs(run["peak.acceleration"]).max() / 30
    assert used["force"] == np.abs(run["force"]).max() / 50
    assert "m/s^2 of 30 m/s^2" in str(answer)


def test_what_is_near_asks_for_care():
    most = np.abs(stepped().run(2)["actual.displacement"]).max()
    near, far = (stepped(rig=table(stroke=share * most)).check(2) for share in (1.1, 3.0))
    assert "actual.displacement uses 91 % of its limit" in near.verdict
    assert "BL403" not in {f.rule for f in far.findings}


def test_an_actuator_has_a_velocity_and_its_limit_counts():
    """The ramp of each sub-step: commanded less actual displacement, over its time."""
    run = actuator().run(1)
    speed = np.diff(run["actual.displacement"]) / 0.002
    assert np.abs(run["actual.velocity"][:-1]).max() == pytest.approx(np.abs(speed).max(), rel=0.05)
    slow = actuator(limits=Limits(velocity=0.5 * float(np.abs(speed).max())))
    assert "'actual.velocity' reached" in slow.check(1).problems[0]
    assert not slow.run(1).completed


def test_the_excitation_is_scaled_in_both_structures():
    twice = stepped(reference=True).with_values({"excitation.scale": 2.0}).run(0.5)
    once = stepped(reference=True).run(0.5)
    for name in ("actual.displacement", "force", "reference.force", "lower"):
        np.testing.assert_allclose(twice[name], 2 * once[name], atol=1e-9 * np.abs(once[name]).max())
    begun = stepped(excitation={"lower": Constant(100.0)}).with_values({"excitation.scale": 0.5})
    state = {v.name: x for v, x in begun.tick.states.items()}
    assert state["numerical.lower.acceleration"] == pytest.approx(2.5)


def test_seconds_and_what_is_left_out_of_them():
    quake = Table(np.arange(0, 4, 0.1), np.sin(np.arange(0, 4, 0.1)))
    test = stepped(excitation={"lower": quake})
    assert test.check().dry_run.seconds == pytest.approx(3.9, abs=0.01), "as long as the excitation"
    assert test.run().time[-1] == pytest.approx(3.9, abs=0.01)
    short = test.check("1 s")
    assert short.dry_run.seconds == pytest.approx(1, abs=0.01)
    assert "the check covers 1 s, and the excitation is not complete before 3.9 s" in short.warnings
    for wrong in ("10 mm", -1, "long", 1e-3):
        with pytest.raises(InputError):
            test.check(wrong)


def test_a_saturated_sensor_is_told():
    sensor = Sensor((Saturation("2 N"),), unit="N")
    answer = stepped(rig=table(sensor=sensor)).check(1)
    assert any("'force' is at the end of its sensor's range" in w for w in answer.warnings)


def test_noise_is_the_same_in_run_and_dry_run():
    test = stepped(rig=table(sensor=Sensor((WhiteNoise(0.5),), unit="N"), seed=3), limits=Limits(force=50.0))
    assert test.check(1).dry_run.peaks["force"] == np.abs(test.run(1)["force"]).max()


# ------------------------------------------------------------------ stability


def test_an_unstable_scheme_is_refused_and_a_finer_one_is_found():
    test = stepped(time_step=0.05, scheme=SubStep(1))
    answer = test.check(20)
    assert not answer.passed
    assert answer.step.spectral_radius > 1
    assert f"{answer.step.frequency:.3g} Hz" in answer.problems[0]
    tried = answer.suggest().attempts
    finer = next(a for a in tried if a.words == "a time step of 6.25 ms")
    assert finer.stable
    assert finer.test.run(20).completed


def test_a_hard_spring_makes_a_stable_scheme_unstable():
    """An explicit scheme with k x at rest; at the motion's size the spring is many times as stiff."""
    law = {"lower": Sine(4000.0, 5.0)}
    soft, hard = (
        stepped(
            scheme=NewmarkExplicit(), rig=RampHold(of_law(cubic_spring(3e3, cubic))), time_step=0.008,
            excitation=law, limits=Limits(displacement=0.5),
        )
        for cubic in (1.0, 3e9)
    )  # fmt: skip
    assert soft.check(4).passed
    assert soft.run(4).completed
    answer = hard.check(4)
    assert one_step(hard.tick).stable, "at rest"
    assert not answer.passed
    assert not hard.run(4).completed


def test_friction_in_the_specimen_is_judged_by_its_motion():
    answer = actuator(of_law(coulomb(20.0, 0.02))).check(2)
    assert answer.passed
    assert answer.instants
    assert not any(answer.ensemble.sustained)
    assert not answer.step.linear


def test_a_column_that_gives_way_is_judged_in_each_of_its_modes():
    """Elastic, plastic and back, an exact law: the force stays at the capacity but for one step's events."""
    whole = Model("whole")
    whole.near = Model()
    whole.near.right, whole.near.v, whole.near.damper = Port(), One(), R(damping=1.0)
    whole.near.v >> [whole.near.right, whole.near.damper]
    whole.far = Plastic(2e4, 50.0)
    whole.near.right >> whole.far.left
    specimen = Specimen.from_model(whole.cut("near.right >> far.left")[1])
    test = stepped(scheme=NewmarkExplicit(), rig=RampHold(specimen), excitation={"lower": Sine(300.0, 6.0)})
    answer, run = test.check(2), test.run(2)
    assert answer.passed
    assert len({round(i.step.growth, 6) for i in answer.instants}) > 1  # stuck, and sliding
    # A step of 2 ms at the largest velocity is the elastic overshoot before the event acts.
    most = 50 + 2e4 * 0.002 * np.abs(run["actual.velocity"]).max()
    assert 50 <= np.abs(run["force"]).max() < most
    c, python = (test.run(0.3, backend=backend) for backend in ("c", "numpy"))
    assert all(np.array_equal(c[name], python[name]) for name in c.record)


def test_the_gain_margin_is_where_the_tick_itself_becomes_unstable():
    """The border is looked for on the overshoot; the tick with that much is then built anew."""
    test = stepped(time_step=0.01, scheme=SubStep(1), rig=table())
    m = test.check(2).margins
    assert m.gain.found
    for share, stable in ((0.97, True), (1.03, False)):
        built = stepped(time_step=0.01, scheme=SubStep(1), rig=table(overshoot=share * m.gain.value - 1))
        assert one_step(built.tick).stable is stable


def test_the_open_loop_is_the_ratio_of_force_with_one_sub_step():
    """With one sub-step the loop is scalar: its locus is 1 where a factor on the rig's motion is a border."""
    test = stepped(time_step=0.01, scheme=SubStep(1))
    loop = SteppedLoop(test)
    step = loop.at()
    m, curves = loop.margins(step), loop.curves(step)
    locus = np.interp(m.gain.frequency, curves.frequency, curves.loci[:, 0])
    assert locus == pytest.approx(1 / m.gain.value, rel=0.02)


def test_words_json_and_figure(tmp_path):
    answer = stepped(rig=table(stroke="50 mm"), reference=True).check(1)
    assert isinstance(answer, Check)
    text = str(answer)
    assert "Note: 2 eigenvalues are 1: positions that nothing returns, such as a table's." in text
    assert "An ensemble of" in text
    data = json.loads(json.dumps(answer.to_dict()))
    assert data["dry_run"]["usage"].keys() == {"actual.displacement"}
    assert data["step"]["linear"]
    answer.plot(tmp_path / "check.png")
    assert (tmp_path / "check.png").stat().st_size > 10_000


@pytest.mark.parametrize(("frequency", "fast"), [(249.0, False), (251.0, True)])
def test_an_excitation_too_fast_for_the_steps_is_told(frequency, fast):
    """Half of 1/2 ms; the drawn test 4257 had 1.4 steps in a period, and was said to be fit to run."""
    found = check(stepped(excitation={"lower": Sine(1.0, frequency=frequency)}), 0.1)
    short = "the excitation is too fast for its samples"
    assert [f.rule for f in found.findings if f.short == short] == ["BL607"] * fast
    assert (short in found.verdict) == fast


# ------------------------------------------------------------------ against the runs


def last_level(test, seconds):
    """Return why a run left its limits, and what is left of its motion when the excitation is held."""
    run = test.held(seconds).run(4 * seconds)
    if not run.completed:
        return "left limits", np.inf
    levels = []
    for name in (n for n in run.record if n.startswith("desired.velocity")):
        v = run[name]
        own = np.std(v[: len(v) // 4])
        levels.append(np.std(v[-len(v) // 8 :]) / own if own else 0.0)
    return "", max(levels)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_what_passes_stays_within_its_limits_and_does_not_grow(first):
    for seed in range(first, first + 10):
        drawn = stepped_case(seed)
        if drawn.test is None:
            continue
        answer = drawn.test.check(drawn.seconds)
        if answer.level == "run":
            left, level = last_level(drawn.test, drawn.seconds)
            assert not left, (seed, answer.verdict)
            assert level < 1, (seed, answer.verdict)
