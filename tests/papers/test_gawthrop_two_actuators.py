"""The two-actuator experiment: numbers of section 5, table I and the papers' README."""

import numpy as np
import pytest

from bondloop.check.checking import check as checked
from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators as two


def errors(seconds=10, **settings):
    run = two.test(**settings).run(seconds)
    assert run.completed, run.record.attributes["message"]
    return list(two.findings(run).values())


def test_with_the_matched_virtual_junction_the_subspace_plots_close():
    """Issue 3: normalised rms error under 3 % at 5/5 Hz."""
    assert max(errors()) < 0.03


@pytest.mark.parametrize(("settings", "seconds"), [({"case": "3/5"}, 10), ({"case": "sweep"}, 60)])
def test_the_other_excitations_are_followed_as_well(settings, seconds):
    assert max(errors(seconds, **settings)) < 0.03


def test_without_feedback_the_ellipses_of_figure_13_appear():
    """The papers' README: 36 % and 24 % rms error at 5 Hz."""
    assert errors(controller="direct", feedback=False) == pytest.approx([0.36, 0.24], abs=0.01)


def test_one_sample_of_latency_costs_some_five_percent():
    """The papers' README: from about 2 % to about 6 %."""
    assert errors(latency_samples=1) == pytest.approx([0.065, 0.058], abs=0.01)


def test_errors_in_the_model_of_the_actuators_show():
    """x/z of a mismatched inverse at 5 Hz is (m s^2 + c' s + k')/(m s^2 + c s + k), with c' = 1.1 c."""
    s = 2j * np.pi * 5
    for name, (dc, dk) in {"damping_error": (0.1, 0), "stiffness_error": (0, 0.1)}.items():
        run = two.test(rate=20000, **{name: 0.1}).run(5)
        for i, (c, k) in enumerate(two.TABLE_I):
            # Position drive: the command is divided by the assumed stiffness, multiplied by the true one.
            ratio = (2.2 * s**2 + c * (1 + dc) * s + k * (1 + dk)) / (1 + dk) / (2.2 * s**2 + c * s + k)
            later = run.time > 2.5
            x, z = (run[f"{w}.displacement[{i}]"][later] for w in ("actual", "desired"))
            load = run[f"measured.force[{i}]"][later] * (1 if i == 0 else -1)
            wave = np.exp(-s * run.time[later])
            X, Z, F = (np.mean(y * wave) for y in (x, z, load))
            expected = ratio * Z + F * (1 / (1 + dk) - 1) / (2.2 * s**2 + c * s + k)
            assert abs(X - expected) < 2e-3 * abs(Z)


def test_without_virtual_junction_the_check_names_the_negative_damping():
    """The papers' README: c_t/k_t = 11 ms on 4750 N/m is -52 Ns/m, against 6 in the structure."""
    check = two.test(controller="direct").check()
    assert not check.passed
    first, second = check.lags
    assert first.seconds == pytest.approx(150.8 / 13618, rel=1e-3)
    assert second.seconds == pytest.approx(200.8 / 25902, rel=1e-3)
    assert first.damping == pytest.approx(-52.5, abs=0.5)
    assert first.structure == pytest.approx(6.0, abs=0.05)
    text = str(check)
    assert "the loop is unstable" in text
    assert "-52.4 Ns/m of damping" in text
    assert "against 6 Ns/m in the numerical half" in text
    assert "Verdict: Do not run this test on a rig: the loop is unstable" in text


def test_the_predicted_growth_is_the_one_of_the_run():
    """Without sampling the run must grow as the check's least stable pole says."""
    test = two.test(controller="direct", rate=10000)
    pole = max(checked(test).poles, key=lambda p: p.real)
    run = test.run(10)
    assert not run.completed
    x = run["actual.displacement[0]"]
    half = len(x) // 2
    period = round(10000 * 2 * np.pi / abs(pole.imag))
    early, late = np.abs(x[half - period : half]).max(), np.abs(x[-period:]).max()
    growth = np.log(late / early) / ((len(x) - half) / 10000)
    assert growth == pytest.approx(pole.real, rel=0.15)


def test_without_virtual_junction_the_run_trips_at_the_stroke():
    """Section 5: the displacement transducers measure 50 mm in all; the actuators give 500 N."""
    run = two.test(controller="direct").run(10)
    assert not run.completed
    message = run.record.attributes["message"]
    assert message.startswith("'actual.displacement[0]' reached -25.")
    assert "mm at t = 0.5" in message
    assert "limit ±25 mm" in message
    assert 0.3 < run.time[-1] < 1.0


def test_the_matched_test_passes_the_check():
    check = two.test().check()
    assert check.passed
    assert [lag.seconds for lag in check.lags] == pytest.approx([0, 0], abs=1e-8)
    assert check.level == "care", "it bears 1.2 samples of extra delay"
    assert "Verdict: Run it with care: only 1.19 ms of delay to spare" in str(check)


def test_settings_are_checked():
    with pytest.raises(InputError, match="case must be"):
        two.test(case="7/7")
    with pytest.raises(InputError, match="controller must be"):
        two.test(controller="pid")


def test_the_check_sees_that_two_samples_of_latency_destabilise_the_sampled_loop() -> None:
    # Without sampling the matched loop is stable, so only the one-step matrix of the tick itself can tell.
    late = two.test(latency_samples=2).check()
    assert not late.passed
    assert any("sampling and latency make the loop unstable" in p for p in late.problems)
    assert late.step is not None
    assert late.step.growth > 0
    once = two.test(latency_samples=1).check()
    assert once.passed
    assert once.step is not None
    assert once.step.stable


def test_the_growth_of_the_sampled_loop_is_that_of_the_run() -> None:
    # The one-step matrix's own growth, against a fit of the peaks of the run before it is stopped.
    test = two.test(controller="direct", amplitude=1e-9)
    step = checked(test).step
    assert step is not None
    run = test.run(2.0)
    size = np.abs(run["desired.displacement[0]"])
    peaks = [i for i in range(500, len(size) - 1) if size[i - 1] < size[i] >= size[i + 1]]
    slope = np.polyfit(run.time[peaks], np.log(size[peaks]), 1)[0]
    assert slope == pytest.approx(step.growth, rel=0.02)


@pytest.mark.parametrize("controller", ["adaptive", "adaptive-sensitivities"])
def test_identification_on_line_mends_wrong_models(controller: str) -> None:
    """Section 6. Models wrong by +30 % and -20 %: 27 % and 17 % become what the right models leave."""
    wrong = {"damping_error": 0.3, "stiffness_error": -0.2}
    assert errors(**wrong) == pytest.approx([0.268, 0.167], abs=0.002)
    matched = errors()
    run = two.test(controller=controller, **wrong).run(10)
    assert list(two.findings(run).values()) == pytest.approx(matched, rel=0.05)
    for i, values in enumerate(two.TABLE_I):
        paths = [f"controller.transfer[{i}].{n}.estimate" for n in two.ADAPTED]
        assert [run[path][-1] for path in paths] == pytest.approx(values, rel=1e-3)
