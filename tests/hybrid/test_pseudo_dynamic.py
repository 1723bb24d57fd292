"""Pseudo-dynamic tests: against the complete structure, slow tests, limits, other schemes, bad input."""

import json

import numpy as np
import pytest

import bondloop as bl
from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.errors import InputError
from bondloop.hybrid import PseudoDynamicTest
from bondloop.integrate import SubStep
from bondloop.integrate.structural import CentralDifference, NewmarkExplicit
from bondloop.rehearsal import Run
from bondloop.rigs import RampHold, Sensor, ShakingTable, Specimen, WhiteNoise
from bondloop.safety import Limits
from bondloop.signals import Earthquake, HalfSine, Sine, Step
from bondloop.structures import Matrices

MAIN = Matrices(np.diag([20.0, 10.0]), 0.5 * np.eye(2) * 10, [[1.2e5, -4e4], [-4e4, 4e4]], ("lower", "upper"))
DAMPER = Matrices(
    [[0, 0], [0, 0.5]], [[1.0, -1.0], [-1.0, 1.0]], [[800.0, -800.0], [-800.0, 800.0]], ("base", "mass")
)


def test_of(**changed):
    parts = {
        "scheme": SubStep(8),
        "rig": ShakingTable(Specimen.from_matrices(DAMPER, "base")),
        "interface": "upper",
        "excitation": {"lower": HalfSine(200.0, start=0.01, width=0.05)},
        "time_step": 0.002,
        "reference": True,
    }
    return PseudoDynamicTest(MAIN, **{**parts, **changed})


test_of.__test__ = False


def error(run):
    exact = run["reference.force"]
    return np.sqrt(np.mean((run["force"] - exact) ** 2) / np.mean(exact**2))


def test_it_converges_to_the_complete_structure():
    errors = [
        error(test_of(time_step=h, scheme=SubStep(k)).run(2))
        for h, k in ((0.004, 4), (0.002, 8), (0.001, 16))
    ]
    assert errors[1] < 0.4 * errors[0]
    assert errors[2] < 0.4 * errors[1]
    assert errors[2] < 0.01


def test_the_complete_structure_is_exact():
    """Against SciPy, on a load that is smooth but no parabola."""
    from scipy.integrate import solve_ivp

    run = test_of(excitation={"lower": Sine(50.0, 6.0)}).run(1)
    whole = test_of().complete
    assert whole.dofs == ("lower", "upper", "mass")
    M, C, K = (x.toarray() for x in (whole.M, whole.C, whole.K))

    def rates(t, y):
        load = np.array([50 * np.sin(12 * np.pi * t), 0, 0])
        return np.append(y[3:], np.linalg.solve(M, load - C @ y[3:] - K @ y[:3]))

    y = solve_ivp(rates, (0, 1), np.zeros(6), t_eval=run.time, rtol=1e-10, atol=1e-14).y
    force = 800 * (y[2] - y[1]) + 1.0 * (y[5] - y[4])
    assert np.abs(run["reference.force"] - force).max() < 1e-6 * np.abs(force).max()
    given = test_of(excitation={"lower": Sine(50.0, 6.0)}, reference=whole).run(1)
    assert np.array_equal(given["reference.force"], run["reference.force"])


def test_compiled_equals_its_twin_with_noise_and_a_table_of_ground_motion():
    quake = Earthquake(peak=3.0, duration=1.0, seed=4)
    test = test_of(
        excitation={"ground": (quake, {"lower": -20.0, "upper": -10.0})},
        rig=ShakingTable(
            Specimen.from_matrices(DAMPER, "base"),
            bandwidth=40.0,
            sensor=Sensor((WhiteNoise(0.01),), unit="N"),
        ),
        scheme=SubStep(3, P=-1.0, I=1.0, D=1e-4),
    )
    c, python = (test.run(0.4, backend=backend) for backend in ("c", "numpy"))
    for name in c.record:
        assert np.abs(c[name] - python[name]).max() <= 1e-12 * max(1.0, np.abs(c[name]).max()), name
    assert c["ground"].any()


def test_a_run_is_repeated_from_its_file(tmp_path):
    run = test_of().run(0.2)
    again = bl.rerun(run.save(tmp_path / "run.h5"))
    assert all(np.array_equal(run[name], again[name]) for name in run.record)
    assert Run.load(tmp_path / "run.h5").record.description["scheme"]["sub_steps"] == 8


def test_parameters_by_path():
    test = test_of()
    assert test.parameters["scheme.P"] == 0
    assert test.parameters["rig.overshoot"] == 0
    changed = test.with_values({"scheme.P": -1.0, "rig.overshoot": 0.1})
    own = test_of(
        scheme=SubStep(8, P=-1.0), rig=ShakingTable(Specimen.from_matrices(DAMPER, "base"), overshoot=0.1)
    )
    assert np.array_equal(changed.run(0.2)["force"], own.run(0.2)["force"])
    stiff = next(p for p in test.parameters if p.startswith("rig.specimen.A["))
    assert not np.array_equal(test.with_values({stiff: -3000.0}).run(0.2)["force"], test.run(0.2)["force"])
    assert set(map(str, test.tick.parameters)) == {"scheme.P", "rig.overshoot", "excitation.scale"}, (
        "what runs can be changed live"
    )
    with pytest.raises(InputError, match=r"unknown parameter 'scheme.Q' of the test; did you mean"):
        test.with_values({"scheme.Q": 1})


def test_the_check_is_of_the_tick_that_runs():
    stable, unstable = test_of().check(), test_of(time_step=0.05, scheme=SubStep(1)).check()
    assert stable.passed
    assert "Verdict: Run it." in str(stable)
    assert not unstable.passed
    assert "UNSTABLE" in str(unstable)
    assert f"{unstable.step.frequency:.3g} Hz" in unstable.problems[0]
    assert stable.step.resting == 2, "the table's position and velocity, which nothing returns"
    assert json.dumps(unstable.to_dict())
    assert unstable.to_dict()["step"]["spectral_radius"] > 1


# ------------------------------------------------------------------ displacement control, slow tests


def frame(column=3e4, viscous=0.0):
    """A rate-independent specimen (or not): a column under the upper mass, no inertia of its own."""
    return Specimen.from_matrices(Matrices([[0.0]], [[viscous]], [[column]], ("top",)), "top")


def slow(scheme=None, rig=None, **changed):
    return test_of(
        scheme=scheme or SubStep(5, control="displacement"), rig=rig or RampHold(frame()), **changed
    )


def test_displacement_control_converges_to_the_complete_structure():
    errors = [
        error(slow(SubStep(k, control="displacement"), time_step=h).run(2))
        for h, k in ((0.004, 4), (0.002, 8), (0.001, 16))
    ]
    assert errors[1] < 0.4 * errors[0]
    assert errors[2] < 0.4 * errors[1]


def test_acceleration_and_displacement_control_agree_on_a_table_specimen():
    table = test_of(time_step=0.0005).run(1)
    actuator = slow(
        SubStep(8, control="displacement"), RampHold(Specimen.from_matrices(DAMPER, "base")), time_step=0.0005
    )
    assert np.abs(table["force"] - actuator.run(1)["force"]).max() < 0.05 * np.abs(table["force"]).max()


@pytest.mark.parametrize("ramp", [1.0, 0.3])
def test_the_time_scale_does_not_matter_to_a_rate_independent_specimen(ramp):
    real, slowed = (slow(rig=RampHold(frame(), ramp=ramp), time_scale=s).run(1) for s in (1.0, 50.0))
    assert np.abs(real["force"] - slowed["force"]).max() < 1e-10 * np.abs(real["force"]).max()


def test_rate_effects_shrink_with_the_time_scale():
    """Slowed ten times, a viscous specimen answers like one with a tenth of the damping."""
    slowed = slow(rig=RampHold(frame(viscous=400.0)), time_scale=10.0).run(1)
    thin = slow(rig=RampHold(frame(viscous=40.0))).run(1)
    real = slow(rig=RampHold(frame(viscous=400.0))).run(1)
    assert np.abs(slowed["force"] - thin["force"]).max() < 1e-9 * np.abs(thin["force"]).max()
    assert np.abs(slowed["force"] - real["force"]).max() > 0.05 * np.abs(real["force"]).max()


@pytest.mark.parametrize("scheme", [CentralDifference(), NewmarkExplicit()])
def test_other_schemes_ask_the_rig_for_displacements(scheme):
    errors = [error(slow(scheme, time_step=h).run(2)) for h in (0.002, 0.001)]
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 0.05
    assert one_step(slow(scheme).tick).stable


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize(
    ("limit", "channel", "words"),
    [
        ({"stroke": "1 mm"}, "actual.displacement", "limit ±1 mm; lower the excitation, check the stability"),
        ({"velocity": 0.01}, "actual.velocity", "take a rig with more velocity"),
        ({"acceleration": 0.5}, "peak.acceleration", "limit ±0.5 m/s^2"),
    ],
)
def test_a_table_limit_trips_the_run_with_time_and_value(limit, channel, words):
    rig = ShakingTable(Specimen.from_matrices(DAMPER, "base"), **limit)
    run = test_of(rig=rig).run(2)
    assert not run.completed
    message = run.record.attributes["message"]
    assert message.startswith(f"'{channel}' reached ")
    assert f"at t = {run.time[-1]:.4g} s" in message
    assert words in message
    bound = next(iter(rig.bounds.values()))
    assert np.abs(run[channel][-1]) > bound >= np.abs(run[channel][:-1]).max()


def test_limits_of_the_test_apply_as_well():
    run = test_of(limits=Limits(force="1 N")).run(2)
    assert "limit ±1 N; lower the excitation, improve the controller, or raise limits.force" in run.verdict


def test_a_limit_of_the_command_is_in_its_unit():
    with pytest.raises(
        InputError, match=r"limits\.command: found a value in V, but the rig is commanded in m/s\^2"
    ):
        test_of(limits=Limits(command="5 V"))
    assert test_of(limits=Limits(command="5 m/s^2")).limits.command == 5.0


def test_a_diverging_test_stops_by_itself():
    run = test_of(time_step=0.05, scheme=SubStep(1)).run(900)
    assert not run.completed
    assert "the test diverged" in run.record.attributes["message"]


# ------------------------------------------------------------------ start, bad input


def test_a_load_that_is_there_from_the_start_is_balanced():
    test = test_of(excitation={"lower": Step(100.0)}, scheme=SubStep(8, P=-1.0))
    run = test.run(0.01)
    assert np.abs(run["error.force"]).max() < 0.05
    state = {v.name: x for v, x in test.tick.states.items()}
    assert state["numerical.lower.acceleration"] == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"time_step": 0}, "time_step: expected a number above 0"),
        ({"interface": "uper"}, "unknown degree of freedom 'uper'; did you mean 'upper'"),
        ({"interface": ["lower", "upper"]}, "the specimen has 1 interface"),
        ({"excitation": {"roof": 1.0}}, "a load by another name is given with its pattern"),
        ({"excitation": {"g": (1.0, {"roof": 1.0})}}, "unknown degree of freedom 'roof'"),
        ({"excitation": {"lower": "loud"}}, "the excitation of 'lower': expected a number with a unit"),
        ({"time_scale": 10.0}, "which does not slow down with the test"),
        (
            {"scheme": SubStep(control="displacement")},
            "SubStep commands displacements, but a ShakingTable takes accelerations",
        ),
        (
            {"scheme": CentralDifference()},
            "commands displacements, but a ShakingTable takes accelerations",
        ),
        ({"rig": RampHold(frame()), "scheme": SubStep()}, "SubStep commands accelerations"),
    ],
)
def test_bad_tests_are_refused(changed, words):
    with pytest.raises(InputError, match=words):
        test_of(**changed)


def test_a_reference_needs_matrices():
    from bondloop.papers import bayer_substep

    physical = bayer_substep.model().cut("m2.right >> m3.left")[1]
    with pytest.raises(InputError, match="give its matrices as reference"):
        test_of(rig=ShakingTable(Specimen.from_model(physical)))
    clash = Matrices(DAMPER.M, DAMPER.C, DAMPER.K, ("base", "lower"))
    with pytest.raises(InputError, match="both have lower; rename one"):
        test_of(rig=ShakingTable(Specimen.from_matrices(clash, "base")))
