"""Every family of compensators on any transfer system, and what the test may choose beside it."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))  # for late_pair.py

from late_pair import LATE, pair

import bondloop as bl
from bondloop import files
from bondloop.control.base import Controller
from bondloop.control.families import FAMILIES, Task, beginning, poles_for
from bondloop.errors import BondloopError, InputError
from bondloop.papers import silva_benchmark
from bondloop.transfer import Process, first_order, second_order
from bondloop.tuning.task import carried_on, identified_process, late_samples, plain_model
from bondloop.tuning.trial import noise_gain

PROCESSES = st.one_of(
    st.builds(
        lambda gain, lag, delay: first_order(gain, lag, delay=delay),
        st.floats(0.2, 3.0), st.floats(1e-3, 0.1), st.just(0.0) | st.floats(1e-3, 0.03),
    ),
    st.builds(
        lambda gain, f, damping, delay: second_order(gain, f, damping, delay=delay),
        st.floats(0.6, 1.8), st.floats(2.0, 200.0), st.floats(0.05, 1.5),
        st.just(0.0) | st.floats(1e-3, 0.02),
    ),
    st.just(silva_benchmark.Plant().process()),
    st.just(Process((-0.01, 1.0), (1e-4, 0.02, 1.0))),  # cannot be inverted
)  # fmt: skip


@settings(max_examples=8, deadline=None)
@given(PROCESSES, st.sampled_from([250.0, 1000.0, 4096.0]), st.floats(1.0, 20.0))
def test_every_family_makes_a_controller_or_says_why_not(process, rate, frequency):
    task = Task(process, 1 / rate, frequency, 0.005)
    for family in FAMILIES.values():
        try:
            star = list(family.star(task))
        except BondloopError:
            continue  # it does not suit the process, in words
        made = 0
        for candidate in star:
            try:
                controller = candidate.controller()
            except BondloopError:
                continue
            assert isinstance(controller, Controller)
            made += 1
        assert made or process.gain == 0 or not 0.5 <= process.gain <= 2 or not process.invertible, (
            family.name
        )


@pytest.mark.parametrize("name", FAMILIES)
def test_of_a_delay_with_a_lag_the_middle_of_every_family_can_run(name):
    task = Task(LATE, 1e-3, 7.0, 0.005)
    middle = next(FAMILIES[name].star(task))
    controller = middle.controller()
    assert np.isfinite(noise_gain(controller, 1e-3))
    assert pair(controller=controller).tick.steps


def test_a_star_changes_one_setting_at_a_time():
    task = Task(LATE, 1e-3, 7.0)
    middle, *others = FAMILIES["PolynomialPrediction"].star(task)
    grid = {c.key for c in FAMILIES["PolynomialPrediction"].candidates(task)}
    sizes = [len(s.values) for s in FAMILIES["PolynomialPrediction"].settings(task).values()]
    assert len(others) == sum(n - 1 for n in sizes)
    for other in others:
        assert sum(other.values[n] != v for n, v in middle.values.items()) == 1
        assert other.key in grid


def test_a_process_that_does_not_stay_where_it_is_told_is_refused():
    for odd in (Process((1.0, 0.0), (0.01, 1.0)), Process((1.0,), (0.01, 1.0, 0.0))):
        with pytest.raises(InputError, match="does not follow a constant command"):
            Task(odd, 1e-3, 7.0)


def test_what_adapts_begins_at_the_process_where_its_bounds_allow():
    assert beginning(Task(LATE, 1e-3, 7.0)) == {"process": LATE}
    loud = first_order(4.0, 0.01)  # the inverse has a gain of 0.25
    task = Task(loud, 1e-3, 7.0)
    assert beginning(task) == {"delay": task.lag}


@settings(max_examples=15, deadline=None)
@given(st.floats(1e-3, 0.05), st.just(0.0) | st.floats(1e-3, 0.02), st.integers(1, 3))
def test_poles_in_place_of_a_delay_are_the_process_for_slow_motions(lag, delay, poles):
    process = first_order(1.3, lag, delay=delay)
    model = poles_for(Task(process, 1e-3, 7.0), poles)
    assert model.delay == 0
    assert model.order <= poles
    assert np.all(model.poles().real < 0)
    slow = 0.01 / (2 * np.pi * (lag + delay))  # s times the lag is 0.01, so the next term of the series is
    off = abs(model.response([slow])[0] / process.response([slow])[0] - 1)
    assert off < 2 * 0.01 ** (poles + 1)


@settings(max_examples=15, deadline=None)
@given(
    st.floats(0.5, 2.0), st.floats(5.0, 40.0), st.floats(0.2, 1.0), st.floats(-1.0, 1.0), st.floats(0.0, 1.0)
)
def test_roots_far_beyond_the_band_are_taken_out_of_a_model(gain, f, damping, zero, pole):
    plain = second_order(gain, f, damping, delay=0.004)
    band = np.geomspace(0.5, 50.0, 40)
    far = 1e-5 / (2 * np.pi * 50.0)  # its part at the end of the band
    above = np.polymul(plain.numerator, [zero * far, 1.0])
    below = np.polymul(plain.denominator, [pole * far, 1.0])
    model = plain_model(Process(tuple(above), tuple(below), plain.delay), band)
    assert len(model.numerator) == 1
    assert model.order == 2
    np.testing.assert_allclose(model.response(band), plain.response(band), atol=3e-4 * gain)


def test_roots_within_the_band_stay():
    process = Process((0.002, 1.0), (1e-5, 0.01, 1.0))
    assert plain_model(process, np.linspace(0.1, 50.0, 30)) == process


def test_the_benchmarks_own_actuator_is_identified_with_its_five_poles():
    process = identified_process(silva_benchmark.test(noise=False), 5.9)
    f = np.array([0.5, 5.0, 20.0, 40.0])
    plant = silva_benchmark.Plant().process()
    assert (process.order, len(process.numerator)) == (5, 1)
    np.testing.assert_allclose(process.response(f), plant.response(f), rtol=1e-3)


def test_an_inverse_with_zeros_far_apart_from_its_poles():
    # Division of such polynomials leaves rounding that is large beside the smallest coefficients.
    process = Process(
        (8.767e-13, 1.3e-4, 1.0075), (1.7335e-16, 1.4188e-12, 6.31e-10, 4.024e-7, 1.1066e-4, 0.0252, 1.0)
    )
    assert np.isfinite(noise_gain(bl.control.InverseModel(process), 1 / 4096))


@pytest.mark.parametrize("late", [0, 1, 3])
def test_how_late_the_force_is_read_off_the_tick(late):
    sensor = bl.rigs.Sensor((bl.rigs.PureDelay(late * 1e-3),) if late else (), unit="N")
    test = pair(rig=replace(pair().rig, sensors={"force": sensor}))
    assert late_samples(test, 5.0) == pytest.approx(late, abs=1e-3)
    assert carried_on(test, 5.0).extrapolation.late == pytest.approx(late, abs=1e-3)


def test_a_test_with_its_own_extrapolation_keeps_it():
    own = bl.hybrid.Extrapolation(order=2, points=5)
    assert carried_on(pair(extrapolation=own), 5.0) is None
    answer = bl.tuning.recommend(LATE, pair(extrapolation=own), families=["Direct"], seconds=1)
    assert answer.extrapolation == own
    assert not any(t.candidate.carried for t in answer.trials)


def test_the_force_is_carried_on_where_that_is_better(tmp_path):
    # A force three samples late: no compensator makes up for it without leading the demand.
    late = bl.rigs.Sensor((bl.rigs.PureDelay(3e-3),), unit="N")
    test = pair(rig=replace(pair().rig, latency=0.0, sensors={"force": late}))
    process = first_order(1.0, "5 ms")
    both, held = (
        bl.tuning.recommend(process, test, families=["InverseModel"], seconds=3, extrapolate=choice)
        for choice in (True, False)
    )
    assert held.test.extrapolation is None
    assert both.best.error <= held.best.error
    if both.best.candidate.carried:
        assert both.test.extrapolation.late == pytest.approx(3, abs=1e-3)
        assert "Extrapolation(late=3, points=4)" in both.sentence
    files.to_toml(both.test, tmp_path / "tuned.toml")
    back = files.load(tmp_path / "tuned.toml")
    assert back.extrapolation == both.test.extrapolation
    run = both.test.run(3)
    pairs = [
        (n, run.record.meanings[n].counterpart) for n in run.record if run.record.meanings[n].counterpart
    ]
    errors = [np.sqrt(np.mean((run[o] - run[r]) ** 2)) / np.std(run[r]) for r, o in pairs]
    assert both.best.error == pytest.approx(max(errors), rel=1e-9)
