"""The search for a compensator: what it measures, what it chooses, and what it refuses."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))  # for late_pair.py

from late_pair import LATE, Mass, pair

import bondloop as bl
from bondloop import files
from bondloop.bondgraph import Model, Sf
from bondloop.control.families import FAMILIES, Candidate, Family
from bondloop.errors import InputError
from bondloop.tuning.setting_search import Search, chosen
from bondloop.tuning.task import identified_process, task_of, true_velocities, with_excitation
from bondloop.tuning.trial import Bench, Trial, noise_gain


@pytest.fixture(scope="module")
def answer():
    return bl.tuning.recommend(
        LATE, pair(), families=["Direct", "LeadCompensation", "PolynomialPrediction"], seconds=3
    )


def test_what_is_recommended_passes_and_follows(answer):
    assert answer.check.passed
    assert answer.test.check().passed
    assert answer.test.controller == answer.controller
    assert answer.best.tracking < 0.05
    assert answer.seconds > 0


def test_no_grid_of_the_same_families_is_better_by_a_fifth(answer):
    bench = Bench(pair(), 3.0)
    search = Search(bench, answer.task, [FAMILIES["PolynomialPrediction"]])
    search.run([c for c in search.coarse(2) if c.values["samples"] <= 14])  # longer ones are far off
    least = next(t.error for t in search.ranked() if bench.checked(t).passed)
    assert answer.best.error <= 1.2 * least


def test_the_error_is_that_of_a_run_against_its_reference(answer):
    # An independent reading: the record of an ordinary run.
    run = answer.test.run(3)
    pairs = [
        (n, run.record.meanings[n].counterpart) for n in run.record if run.record.meanings[n].counterpart
    ]
    assert pairs
    errors = [np.sqrt(np.mean((run[o] - run[r]) ** 2)) / np.std(run[r]) for r, o in pairs]
    assert answer.best.error == pytest.approx(max(errors), rel=1e-9)


def test_it_says_what_it_did(answer):
    text = str(answer)
    assert "LeadCompensation" in text
    assert "unstable at" in text  # direct command
    assert answer.sentence.startswith(f"Take {answer.best.candidate.family.name} with ")
    assert answer.sentence in text
    data = json.loads(json.dumps(answer.to_dict(), default=str))
    assert data["recommended"]["passed"] is True
    assert len(data["trials"]) == len(answer.trials)
    assert len(answer.trials) >= answer.planned


def test_the_test_file_has_the_controller(answer, tmp_path):
    files.to_toml(answer.test, tmp_path / "tuned.toml")
    assert files.load(tmp_path / "tuned.toml").controller == answer.controller


def test_the_figure_can_be_drawn(answer, tmp_path):
    answer.plot(tmp_path / "tuning.png")
    assert (tmp_path / "tuning.png").stat().st_size > 10_000


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 4), st.floats(0.0, 0.02), st.integers(6, 30))
def test_noise_of_a_prediction_is_the_length_of_its_weights(order, delay, points):
    # Parseval: white noise through constant weights w comes out sqrt(sum w^2) times as large.
    prediction = bl.control.PolynomialPrediction(delay, order=order, span=0.03, points=points)
    expected = float(np.sqrt(np.sum(prediction.weights(1e-3) ** 2)))
    assert noise_gain(prediction, 1e-3) == pytest.approx(expected, rel=1e-6)


def test_noise_of_other_controllers():
    assert noise_gain(bl.control.Direct(), 1e-3) == 1.0
    assert noise_gain(bl.control.OuterLoop(2.0), 1e-3) == pytest.approx(2 * math.sqrt(2))  # demand and motion
    assert math.isnan(noise_gain(bl.control.MCS(), 1e-3))


def test_the_truth_is_the_structure_in_one_piece():
    # Against the reference in the tick, which is integrated at the sample rate.
    test = pair(controller=bl.control.LeadCompensation("14 ms", ratio=10))
    true = true_velocities(test.replaced(reference=None), 3.0)["desired.velocity"]
    seen = test.run(3)["reference.velocity"]
    assert np.std(true - seen) < 1e-3 * np.std(seen)


def test_values_that_are_set_are_those_of_the_truth_too():
    softer = {"numerical.a.spring.stiffness": 30e3, "rig.specimen.b.spring.stiffness": 5e3}
    plain = pair(reference=None)
    true = true_velocities(plain.with_values(softer), 2.0)["desired.velocity"]
    whole = Model("pair")
    whole.wall = Sf("v_wall")
    whole.a, whole.b = Mass(20, 120, 30e3), Mass(2, 12, 5e3)
    whole.wall >> whole.a.left
    whole.a.right >> whole.b.left
    flow = plain.half.flows[0].name.removeprefix("numerical.")
    alone = bl.Simulation({"x": whole.compile([flow])}, excitation=plain.excitation, rate=16000).run(
        2, every=16
    )
    np.testing.assert_allclose(true, alone[f"x.{flow}"], atol=1e-6 * np.abs(true).max())


def test_the_emulated_actuator_is_identified():
    # The rig is a first-order lag of 5 ms and 9 ms of latency, stiff against its load.
    process = identified_process(pair(), 8.0)
    f = np.array([1.0, 5.0, 20.0])
    np.testing.assert_allclose(process.response(f), LATE.response(f), rtol=5e-3)


def test_a_test_without_excitation_gets_noise():
    quiet = pair(excitation={}, limits=bl.safety.Limits(displacement="20 mm"))
    loud = with_excitation(quiet)
    bench = Bench(loud, 10.0)
    task = task_of(loud, LATE, bench.velocity)
    assert task.stroke == pytest.approx(0.2 * 0.02, rel=0.3)
    assert 5 < task.frequency < 25


def test_where_none_passes_it_says_so():
    hopeless = bl.tuning.recommend(LATE, pair(), families=["Direct"], seconds=2)
    assert hopeless.best is None
    assert "none of 1 settings gives a stable loop" in hopeless.sentence
    assert "unstable at" in str(hopeless)
    with pytest.raises(InputError, match="there is no controller to recommend"):
        _ = hopeless.controller
    hopeless.plot()


def test_settings_for_which_the_budget_left_no_time_are_counted():
    answer = bl.tuning.recommend(
        LATE, pair(), families=["Direct", "LeadCompensation"], seconds=1, budget=1e-9
    )
    assert answer.trials == ()
    assert answer.untried == answer.planned > 5
    assert f"before {answer.planned} of {answer.planned} settings; allow more" in answer.sentence


def test_what_cannot_be_tuned_is_refused():
    with pytest.raises(InputError, match="unknown family of compensators 'LeadCompensaton'; did you mean"):
        bl.tuning.recommend(LATE, pair(), families=["LeadCompensaton"])
    with pytest.raises(InputError, match=r"expected a bondloop\.HybridTest; found str"):
        bl.tuning.recommend(LATE, "test.toml")
    with pytest.raises(InputError, match="expected a model of the transfer system"):
        bl.tuning.recommend("G1D", pair(), families=["Direct"], seconds=1)
    with pytest.raises(InputError, match="does not move"):
        bl.tuning.recommend(LATE, pair(excitation={"v_wall": 0.0}), seconds=1)
    with pytest.raises(InputError, match="works sample by sample"):
        bl.tuning.recommend(LATE, pair(coupling="continuous"))
    with pytest.raises(InputError, match="budget"):
        bl.tuning.recommend(LATE, pair(), budget=-1)


def test_a_candidate_that_cannot_be_made_is_noted():
    broken = Family("broken", lambda _: {}, lambda _: bl.control.LeadCompensation(-1.0))
    bench = Bench(pair(), 1.0)
    trial = bench.tried(Candidate(broken, task_of(pair(), LATE, bench.velocity), {}))
    assert not trial.ran
    assert "delay" in trial.note


class _Checked:
    def __init__(self, level):
        self.level, self.passed = level, level != "stop"


def _trial(error, margin=0.5, noise=1.0, level="run"):
    return Trial(None, error=error, tracking=error, margin=margin, noise=noise, check=_Checked(level))


@pytest.mark.parametrize(
    ("trials", "which"),
    [
        ([_trial(0.01), _trial(0.02, margin=2.0)], 0),  # a much greater margin does not buy twice the error
        ([_trial(0.01), _trial(0.0105, margin=0.8)], 1),  # within a tenth the margin decides
        ([_trial(0.01, noise=9.0), _trial(0.0105, margin=0.49)], 1),  # then the noise
        ([_trial(0.01, level="care", margin=2.0), _trial(0.0105, level="run")], 1),  # care counts before both
        ([_trial(0.01, level="stop"), _trial(0.5, level="care")], 1),  # what is refused is no choice
    ],
)
def test_the_choice(trials, which):
    assert chosen(trials) is trials[which]
    assert chosen(reversed(trials)) is trials[which]


def test_nothing_to_choose():
    assert chosen([]) is None
    assert chosen([_trial(0.1, level="stop")]) is None
