"""What would make a refused test pass: only what a laboratory can do, each judged, and the budget told."""

import itertools
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for late_pair.py and refused_tests.py

from late_pair import pair
from refused_tests import half_a_second, many_interfaces

from bondloop import rigs
from bondloop.check import RunningLoop, SuggestionPolicy, coupled
from bondloop.check.checking import Check, check
from bondloop.check.finding import Finding
from bondloop.check.suggestions.suggested_changes import actuator_lag
from bondloop.check.suggestions.suggestion_search import suggestion
from bondloop.control import Direct, PolynomialPrediction
from bondloop.errors import InputError
from bondloop.safety import Limits
from bondloop.signals import Noise

KINDS = {"emulation", "compensator", "filter", "excitation", "rate", "specimen"}


def agrees(attempt, refused):
    """Check an attempt anew: what is said of it is what its own check and its own loop say."""
    step = RunningLoop(coupled(attempt.test)).at()
    assert attempt.stable == step.stable
    if attempt.level is not None:
        again = check(attempt.test, refused.seconds)
        assert (attempt.level, attempt.verdict) == (again.level, again.verdict)
        assert attempt.tracking == pytest.approx(max(again.dry_run.error))


@pytest.mark.parametrize("make", [half_a_second, many_interfaces, pair])
def test_every_attempt_is_what_its_own_check_says(make):
    refused = check(make(), 4.0)
    assert not refused.passed
    answer = refused.suggest(SuggestionPolicy(budget=120.0))
    assert answer.untried == 0
    assert {a.kind for a in answer.attempts} <= KINDS
    for attempt in answer.attempts:
        if attempt.test is not None:
            agrees(attempt, refused)
            rig, own = attempt.test.rig, refused.test.rig
            assert (rig.latency, rig.actuators) == (own.latency, own.actuators)  # nobody can buy another
    if answer.proposed is not None:
        assert answer.proposed in answer.attempts
        assert answer.proposed.passed
        assert answer.proposed.words in answer.reason


def test_half_a_second_of_delay_is_not_compensated_and_says_what_was_tried():
    answer = check(half_a_second(), 10.0).suggest()
    assert answer.proposed is None
    assert answer.reason.startswith("No change was found that makes hybrid_test pass.")
    assert {a.kind for a in answer.attempts} >= {"compensator", "rate", "specimen", "filter"}
    assert sum(a.stable is False for a in answer.attempts) >= 3


def test_the_proposed_change_of_a_late_pair_runs_within_bounds_and_as_it_is_it_does_not():
    refused = check(pair(), 4.0)
    proposed = refused.suggest().proposed
    assert proposed.kind == "compensator"

    def largest(test):
        return np.abs(test.run(6.0)["actual.displacement"]).max()

    assert largest(proposed.test) < 0.01
    assert largest(refused.test) > 1.0


def test_the_lag_of_an_actuator_is_that_of_its_model():
    """5 ms of a first-order lag and 9 ms of delay at low frequency, and half a sample for the hold."""
    loop = RunningLoop(coupled(pair()))
    step = loop.at()
    w = 2 * math.pi * step.frequency
    expected = math.atan(5e-3 * w) / w + 9e-3
    assert actuator_lag(loop, step) == pytest.approx(expected + 1e-3, abs=0.6e-3)


def coarse(damping):
    """Return a test whose emulation has one step a sample, and a dashpot of so many N s/m."""
    late = pair(reference=None)
    sensors = {"force": rigs.Sensor((rigs.WhiteNoise("1 N"),), "N")}
    return late.replaced(
        rig=rigs.Emulated(late.rig.physical, late.rig.actuators, substeps=1, sensors=sensors),
        controller=PolynomialPrediction("5 ms", order=1, span="20 ms", points=10),
    ).with_values({"rig.specimen.b.damper.damping": damping})


@pytest.mark.parametrize("damping", [9e3, 2e4])
def test_a_coarse_emulation_is_told_and_nothing_of_the_laboratory_is_changed(damping):
    """The check itself takes finer steps, says so, and judges the test by these."""
    answer = check(coarse(damping), 2.0)
    assert answer.passed
    assert [f.rule for f in answer.findings] == ["BL210"]
    assert answer.refined == "8 instead of 1 substeps of the emulated rig"


def test_an_emulation_that_is_coarser_still_is_refined_by_the_search():
    refused = check(coarse(5e4), 2.0)
    assert "BL202" in {f.rule for f in refused.findings}
    answer = refused.suggest()
    assert answer.attempts[0].kind == "emulation"
    assert "emulation is too coarse" in answer.reason


# ---------------------------------------------------------------------- the budget


def ticking(step):
    """Return a clock that goes on by so many seconds whenever it is read."""
    times = itertools.count(0.0, step)
    return lambda: next(times)


@pytest.mark.parametrize("step", [1e-6, 1.0, 3.0, 90.0])
def test_a_search_that_ran_out_of_time_says_how_much_is_left(step):
    refused = check(pair(), 2.0)
    whole = suggestion(refused, check, clock=ticking(1e-6))
    cut = suggestion(refused, check, clock=ticking(step))
    assert whole.untried == 0
    assert bool(cut.untried) == (step > 1e-3)
    told = {a.words for a in cut.attempts if a.level is not None or a.stable is False or "others" in a.note}
    assert ("budget of 30 s ended the search" in cut.reason) == bool(cut.untried)
    assert cut.to_dict()["untried"] == cut.untried
    assert len(told) <= len(whole.attempts)


def test_a_long_test_is_tried_as_far_as_time_goes_and_not_skipped():
    """A million samples: each check takes long, and the search says that the budget ended it."""
    refused = check(pair(reference=None), 2.0)
    seen = []

    def slow(test, seconds):
        seen.append(test)
        return check(test, seconds)

    now = [0.0]

    def clock():
        return now[0] + 100.0 * len(seen)

    answer = suggestion(refused, slow, clock=clock)
    assert len(seen) == 1
    assert answer.untried >= 1 or answer.proposed.level == "run"


# ---------------------------------------------------------------------- what needs no search


def test_what_may_be_run_needs_no_change_and_what_cannot_be_built_has_none():
    fine = Check((), name="fine", test=pair())
    assert "Nothing needs to be changed" in fine.suggest().reason
    broken = pair(controller=PolynomialPrediction("10 ms", order=4, span="5 ms", points=12)).check(1.0)
    assert broken.suggest().proposed is None
    assert "cannot be built" in broken.suggest().reason
    with pytest.raises(InputError, match="does not hold its test"):
        Check((Finding("BL207", "stop", "no", "no"),)).suggest()


def test_the_test_is_no_part_of_what_a_check_found():
    one, other = check(pair(), 1.0), check(pair(), 1.0)
    assert one.test is not other.test
    assert "test=" not in repr(one)
    assert "test" not in one.to_dict()


def test_less_excitation_is_the_mildest_change_of_what_only_asks_too_much():
    motion = Noise("4 mm", 0.5, 4.0, 8.0, seed=3).derivative()
    test = pair(
        controller=Direct(),
        reference=None,
        excitation={"v_wall": motion},
        limits=Limits(displacement="8 mm"),
        rig=rigs.Emulated(pair().rig.physical, pair().rig.actuators),
    )
    test = test.with_values({"numerical.a.damper.damping": 2e3, "rig.specimen.b.damper.damping": 300.0})
    refused = check(test, 8.0)
    assert refused.step.stable
    assert not refused.passed
    answer = refused.suggest()
    assert answer.proposed.kind == "excitation"
    tried = [a.test.scale for a in answer.attempts if a.kind == "excitation" and a.level is not None]
    assert tried == sorted(tried, reverse=True)


@pytest.mark.parametrize("make", [half_a_second, pair])
def test_a_suggestion_can_be_read_kept_and_shown(make):
    answer = check(make(), 2.0).suggest()
    kept = json.loads(json.dumps(answer.to_dict()))
    assert len(kept["attempts"]) == len(answer.attempts)
    assert (kept["proposed"] is None) == (answer.proposed is None)
    assert str(answer).splitlines()[-1] == answer.reason
    assert answer.reason in answer._repr_html_()
    assert all(a.words in str(answer) for a in answer.attempts)
    assert len(repr(answer)) <= 300
