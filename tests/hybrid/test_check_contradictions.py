"""Drawn tests whose check and run once contradicted each other, either way; each is one of a kind."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for drawn_tests.py and truth.py

import numpy as np
from drawn_tests import Choices, case, from_recipe, recipe
from truth import outcome

from bondloop.check import repeated_run
from bondloop.check.checking import check
from bondloop.check.disturbance import Disturbance, _apart
from bondloop.check.free_motion import FreeMotion
from bondloop.check.repeated_run import growing, repeated, unheld
from bondloop.rehearsal.rehearsal import Rehearsal, steps_of


def test_what_is_learnt_must_hold_where_the_excitation_comes_in_another_phase():
    # Repeated in step with itself the motion settles; in any other phase the delay that is learnt runs away.
    drawn = case(1008649)
    answer = check(drawn.test, drawn.seconds)
    assert not answer.passed
    assert "repetition" in answer.verdict


def test_repetitions_have_other_noise():
    drawn = case(1008649)
    steps = steps_of(0.5, drawn.test.period)
    once, twice = (repeated(drawn.test, Rehearsal(drawn.test, steps))[0] for _ in range(2))
    assert once == twice  # the same noise again in another check
    other = drawn.test.replaced(rig=replace(drawn.test.rig, seed=5))
    assert repeated(other, Rehearsal(other, steps))[0] != once


@pytest.mark.nightly
def test_where_a_motion_goes_on_the_check_tells_how_much_is_left():
    # A converter of 256 steps for 160 N, and a motion of 2 N: where it rests beside a step it does not rest.
    drawn = case(1005955)
    answer, found = check(drawn.test, drawn.seconds), outcome(drawn)
    assert (
        answer.level == "care"
    )  # a third of the run's own, of a loop that is stable wherever it was looked at
    assert "does not come to rest by itself" in answer.verdict
    # Two runs that go on out of step differ by more than either moves: that is no growth.
    assert found.ran == "undecided"
    assert answer.dry_run.free.last == pytest.approx(found.levels[-1], abs=0.1)


def test_a_play_in_which_nothing_moves_does_not_hide_what_is_beyond_it():
    # At rest within the play the loop is open; any knock that crosses it runs away, however small it is.
    rng = np.random.default_rng([3201036, 2024])
    chosen = recipe(Choices(lambda most: int(rng.integers(most + 1))))
    fixed = {"controller": "sliding mode", "drive": "backlash", "actuator": "position"}
    drawn = from_recipe({**chosen, **fixed})
    answer = check(drawn.test, drawn.seconds)
    assert answer.step.stable
    assert outcome(drawn).ran == "fragile"
    assert not answer.passed
    assert "a knock makes the motion run away" in answer.problems[0]


def test_a_run_shorter_than_a_few_periods_is_measured_by_its_own_motion():
    # 2 s of run, windows of 2.3 s: without a motion of its own a step of the load cell was as large as it.
    drawn = case(2000371)
    answer = check(drawn.test, drawn.seconds)
    assert answer.passed, answer.verdict
    assert answer.dry_run.free.last < 0.05
    assert outcome(drawn).ran == "well"


@pytest.mark.nightly
def test_a_motion_that_is_on_its_way_to_rest_is_followed_until_it_is_there():
    # After 72 s two thirds of the run's motion are left, but it falls all the way.
    drawn = case(2000211)
    answer = check(drawn.test, drawn.seconds)
    assert answer.passed, answer.verdict
    assert answer.dry_run.free.seconds > 150
    assert outcome(drawn).ran == "well"


@pytest.mark.nightly  # by day the measure alone is tried, below
def test_noise_that_swings_up_what_is_lightly_damped_is_no_growth():
    # Time constant 140 s, run of 3.2 s: at its end the noise has only begun.
    drawn = case(2000131)
    answer = check(drawn.test, drawn.seconds)
    assert answer.passed, answer.verdict
    assert outcome(drawn).ran == "well"


@pytest.mark.parametrize(
    ("power", "expected", "grew"), [(0.5, -0.01, False), (0.5, np.nan, True), (3, -0.01, True)]
)
def test_noise_may_grow_with_the_root_of_the_time_where_the_loop_is_stable(power, expected, grew):
    time = np.linspace(4.0, 84.0, 40)
    raw = (time / 4.0) ** power
    falling = np.exp(-0.01 * time)
    motion = FreeMotion(falling, raw, 80.0, "", expected, ran=4.0)
    assert motion.grew == grew


def test_a_blow_on_the_interface_alone_starts_what_others_do_not():
    # Stable in the gap, just unstable on the spring beyond it: a cycle of three times the run's motion.
    drawn = case(2000036)
    answer, found = check(drawn.test, drawn.seconds), outcome(drawn)
    assert not answer.passed
    assert found.ran == "fragile"
    assert "goes on by itself" in found.evidence


def test_what_breaks_out_in_one_of_many_runs_asks_for_care():
    # Of nine repetitions in step, nine out of it and five times eighteen with other pauses and beginnings,
    # one breaks out.
    drawn = case(2000090)
    answer = check(drawn.test, drawn.seconds)
    assert outcome(drawn).ran == "fragile"
    assert answer.level == "care"
    assert "unstable in a part of its motion" in answer.verdict


def test_what_grows_while_it_slides_is_not_held_by_chattering_where_it_sticks():
    # It grows at 7 1/s where it slides, in four fifths of all instants, and so it does after the run: to
    # eight times the run's motion, before it happens to stick, where friction chatters over its own width.
    drawn = case(5000756)
    answer = check(drawn.test, drawn.seconds)
    assert outcome(drawn).ran == "grew"
    assert not answer.passed
    assert not any(regime.step.stable for regime in answer.regimes)


@pytest.mark.parametrize("seed", [3000314, 3000387])
def test_what_chatters_where_it_sticks_and_stays_small_passes(seed):
    # Unstable at every instant, too: but what is left after a knock never is as large as the run's motion.
    drawn = case(seed)
    answer = check(drawn.test, drawn.seconds)
    assert not any(step.stable for step in answer.steps)
    assert answer.dry_run.free.first < 1
    assert answer.passed, answer.verdict
    assert outcome(drawn).ran == "well"


def test_what_grows_long_after_a_knock_and_comes_back_has_grown():
    # Followed for 119 s. In the first eighth of that it grew from 1.7 to 8 times the run's motion, so that
    # 17.6 times looked like twice what it was in the beginning.
    drawn = case(7000125)
    answer = check(drawn.test, drawn.seconds)
    free = answer.dry_run.free
    assert free.levels[0] < 2 < 6 * 2 < free.levels.max()
    assert free.fades
    assert outcome(drawn).ran == "grew"
    assert not answer.passed
    assert "the motion grows" in answer.verdict


@pytest.mark.parametrize(("rise", "grew"), [(3.0, False), (7.0, True)])
def test_a_rise_in_the_first_eighth_of_a_long_way_is_measured_from_the_knock(rise, grew):
    # It comes back from 3.4 times what it was, which is no harm; from 6.9 times, which has grown.
    time = np.arange(400.0)
    levels = (1 + rise * np.exp(-(((time - 12) / 4) ** 2))) * np.exp(-time / 80)
    motion = FreeMotion(levels, levels, 100.0, "", -0.1, ran=4.0)
    assert motion.grew == grew


def test_repetitions_that_were_larger_before_have_not_grown():
    # Gains of MCS that wander: 0.56, 0.68, 1.20, 1.65, 1.59, 1.26, 1.18, 1.35, 1.44 of the motion meant.
    assert outcome(case(7000869)).ran != "grew"


@pytest.mark.parametrize("seed", [8000583, 8003388])
def test_a_repetition_that_runs_away_is_larger_than_any(seed):
    # Its level was no number, and so not larger than the one before: it passed, with care.
    drawn = case(seed)
    answer = check(drawn.test, drawn.seconds)
    assert answer.dry_run.repetitions[-1] == np.inf
    assert outcome(drawn).ran == "grew"
    assert not answer.passed
    assert "when the excitation is repeated the motion runs away" in answer.problems[0]
    assert answer.to_dict()["dry_run"]["repetitions"][-1] is None


def test_a_disturbance_that_runs_away_is_larger_than_any():
    still = {"x": np.zeros(4)}
    moved = {"x": np.array([1.0, 2.0, np.nan, np.nan])}
    assert _apart(still, moved, ["x"]).tolist() == [1.0, 2.0, np.inf, np.inf]
    assert Disturbance(0.0, 1.0, np.array([1.0, 2.0, np.inf])).ratio == np.inf
    assert Disturbance(0.0, 1.0, np.array([np.inf, np.inf, np.inf])).ratio == np.inf


def test_another_excitation_than_the_tests_own_makes_no_growth():
    # The run comes to rest within its play. A pulse that begins between two samples, followed as a table of
    # them, does not: fragile, not grown.
    drawn = case(9000604)
    assert check(drawn.test, drawn.seconds).passed
    assert outcome(drawn).ran == "fragile"


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        # A step in the first moments, and a delay that is learnt from it again and again, until it runs away.
        (9000128, "from repetition to repetition"),
        # An adaptive junction, whose excitation breaks out in its eighth repetition; after the check's knock
        # 39 % of the run's motion go on.
        (9020177, "goes on by itself"),
        # A model that is learnt within a limit of rate: the motion grows 400 times, and then no more.
        pytest.param(9041579, "from repetition to repetition", marks=pytest.mark.nightly),
        # MCS and a pulse: its gains creep on, and burst when the pulse comes for the ninth time.
        pytest.param(9041469, "from repetition to repetition", marks=pytest.mark.nightly),
        # A delay that is learnt from a preloaded specimen: some repetitions are as good as the run, others
        # move ninety times as much.
        pytest.param(9700708, "from repetition to repetition", marks=pytest.mark.nightly),
        # What an adaptive junction learns of two wells while switches close bursts in the next repetition.
        pytest.param(9600661, "from repetition to repetition", marks=pytest.mark.nightly),
        # Out of step it holds: what an adaptive junction learns of two wells adds up in step only.
        (9200763, "from repetition to repetition"),
        # A series that is learnt anew: the second repetition is a hundred times the first, beyond the limits.
        pytest.param(10004880, "from repetition to repetition", marks=pytest.mark.nightly),
    ],
)
def test_what_passed_and_grew_is_refused(seed, words):
    drawn = case(seed)
    answer = check(drawn.test, drawn.seconds)
    assert outcome(drawn).ran == "grew"
    assert not answer.passed
    assert words in answer.verdict


@pytest.mark.parametrize("seed", [pytest.param(9042315, marks=pytest.mark.nightly), 9043158])
def test_a_rig_that_moves_in_the_first_moments_only_is_measured_by_those(seed):
    # A drive in saturation goes along straight lines for the rest of its run: beside those all is large.
    drawn = case(seed)
    assert check(drawn.test, drawn.seconds).passed
    assert outcome(drawn).ran == "well"


def test_every_repetition_has_the_whole_excitation():
    # The pulse comes in the first moments, while the switches of the test still close: they close but once.
    test = case(9041469).test
    assert test.switches.displacement.scheduled
    levels, _ = repeated(test, Rehearsal(test, steps_of(case(9041469).seconds, test.period)))
    assert levels[1:8] == pytest.approx([levels[0]] * 7, rel=0.25)


def test_switches_that_close_again_are_no_growth():
    # A mass that nothing returns drifts: a rig that starts again from zero would strike it, ever harder.
    drawn = case(9200205)
    answer = check(drawn.test, drawn.seconds)
    assert outcome(drawn).ran == "well"
    assert answer.passed
    levels = answer.dry_run.repetitions
    assert max(levels) < 2 * levels[0]  # 500 times, where they close again


def test_growth_from_repetition_to_repetition():
    resonance = [1 - 0.5**k for k in range(1, 10)]
    runaway = [1.45**k for k in range(9)]
    wandering = [1.0, 2.0, 4.0, 5.0, 8.0, 15.0, 12.0, 10.0, 5.0]
    assert not growing(resonance)
    assert growing(runaway)
    assert not growing(wandering)
    assert not growing(runaway[:8])  # fewer than nine: it was ended, and why is said elsewhere
    assert growing([1.0, 11.0])
    assert growing([1.0, 2.0, 21.0, 1.0])
    assert not growing([0.0, 5.0, 6.0, 6.0])  # what comes at the end of a test moves it in the next one only


def test_a_motion_that_runs_away_in_a_pause_has_a_size(monkeypatch):
    drawn = case(9000128)
    test = drawn.test.unlimited()
    rehearsal = Rehearsal(test, steps_of(drawn.seconds, test.period))
    on = rehearsal.on

    def away(count, parameters):
        result = on(count, parameters)
        for values in result.channels.values():
            values[-1] = 1e200
        return replace(result, status="not a number", stopped_at=0.0)

    monkeypatch.setattr(rehearsal, "on", away)
    levels, why = repeated(test, rehearsal)
    assert why.startswith("in repetition 2")
    assert levels[1] == np.inf


def test_what_a_blow_leaves_in_motion_is_refused():
    # A converter with steps larger than the force: after the check's knock 42 % of the run's motion go on,
    # and after a blow as much as the run itself.
    drawn = case(9030326)
    answer = check(drawn.test, drawn.seconds)
    assert outcome(drawn).ran == "fragile"
    assert not answer.passed
    assert "goes on by itself" in answer.verdict


@pytest.mark.parametrize(
    ("in_step", "expected"),
    [
        (((1.0, 1.1, 20.0), "", ""), ((1.0, 1.1, 20.0), "", False)),  # grows in step alone
        (
            ((1.0, 1.1, 9.0), "gone", "gone"),
            ((1.0, 1.1, 9.0), "gone", True),
        ),  # runs away, with and without limits
        (((1.0, 1.1, 2.0), "a limit", ""), ((1.0, 1.1, 2.0), "a limit", False)),  # only a limit: worth a word
        (((1.0, 1.1, 1.2), "", ""), ((1.0, 1.0, 1.2), "", False)),  # nothing in either
    ],
)
def test_what_repetitions_in_step_add_to_those_out_of_step(monkeypatch, in_step, expected):
    levels, why, unlimited = in_step
    test = case(9200763).test
    calls = []

    def stub(_test, _rehearsal, _adapted, *, in_step):
        calls.append(in_step)
        if not in_step:
            return (1.0, 1.0, 1.2), ""
        return levels, unlimited if calls.count(True) > 1 else why

    monkeypatch.setattr(repeated_run, "repeated", stub)
    rehearsal = Rehearsal(test, 100)
    assert repeated_run.repetitions(test, rehearsal, (), in_step_too=True) == expected
    calls.clear()
    assert repeated_run.repetitions(test, rehearsal, (), in_step_too=False) == ((1.0, 1.0, 1.2), "", False)
    assert calls == [False]


@pytest.mark.parametrize(
    ("levels", "given_up", "diverged", "expected"),
    [
        ((1.0, 9.0), True, False, False),  # a limit, and less than tenfold
        ((1.0, 11.0), True, False, True),
        ((1.0, 9.0), True, True, True),  # without limits too: fivefold will do
        ((1.0, 9.0), False, False, False),
        ((np.inf, np.inf, 1.0, 8.0), True, True, True),  # what is beyond all numbers hides no jump
        ((0.0, 0.0, 0.0), True, True, False),
    ],
)
def test_how_large_a_jump_is_not_held(levels, given_up, diverged, expected):
    assert unheld(levels, given_up=given_up, diverged=diverged) == expected
