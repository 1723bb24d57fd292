"""A page whose server stands still is noticed, and the rig retreats where the test wants that."""

import pytest

from bondloop import files
from bondloop.errors import InputError
from bondloop.files import load_text
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import Console, SessionPolicy
from bondloop.realtime.session import prepare


def run_with_a_page(then, *, beats, leaves=False, policy=None):
    """Run a test that a page watches for some `beats`, then no more; return the run and what was told."""
    test = gawthrop_two_actuators.test().replaced(gap=60.0, page_loss=then)
    made = prepare(test, 4.0, options={"retreat": 0.05, "supervisor": 60.0}, policy=policy)
    consoles, told, left = [], [], [beats]

    def live(now):
        told.append(now.trouble)
        if left[0] > 0 and now.state == "active":
            left[0] -= 1
            consoles[0].beat_page(attached=left[0] > 0 or not leaves)
        if now.state == "safe":  # it would wait there for its operator
            consoles[0].stop("ada")

    run = made.run(live=live, started=lambda segment: consoles.append(Console.attach(segment)))
    consoles[0].close()
    return run, [words for words in told if words]


def test_it_is_told():
    run, told = run_with_a_page("report", beats=5)
    assert run.completed
    assert "THE OPERATOR'S PAGE STANDS STILL" in told[-1]
    (note,) = [n for n in run.record.attributes["notes"] if "page" in n]
    assert note.startswith("the operator's page stood still at t = ")
    assert run.record.description["realtime"]["page_loss"] == "report"


def test_a_test_that_demands_its_page_retreats():
    run, told = run_with_a_page("retreat", beats=5)
    assert told
    assert not run.completed
    (note,) = [n for n in run.record.attributes["notes"] if "page" in n]
    assert note.endswith("so the rig goes to its safe position and waits")
    assert run.record.attributes["cause"] == 0


@pytest.mark.parametrize("beats", [0, 5])
def test_a_page_that_is_not_there_or_has_left_is_not_missed(beats):
    run, told = run_with_a_page("retreat", beats=beats, leaves=True)
    assert run.completed
    assert told == []


def test_a_policy_decides_how_long_a_page_may_stand_still():
    run, told = run_with_a_page("retreat", beats=5, policy=SessionPolicy(page_patience="1 min"))
    assert run.completed
    assert told == []


@pytest.mark.parametrize(("then", "completed"), [("retreat", False), ("report", True)])
def test_a_page_that_stood_still_before_the_start_is_not_forgotten(then, completed):
    test = gawthrop_two_actuators.test().replaced(gap=60.0, page_loss=then)
    made = prepare(test, 1.0, options={"retreat": 0.05, "supervisor": 60.0, "arm": True})
    consoles, done = [], []

    def live(now):
        console = consoles[0]
        if not done:
            console.beat_page()
            done.append("beat")
        elif done == ["beat"] and now.trouble:  # another console starts it all the same
            console.arm("ada")
            console.start("ada")
            done.append("started")
        if now.state == "safe":
            console.stop("ada")

    run = made.run(live=live, started=lambda segment: consoles.append(Console.attach(segment)))
    consoles[0].close()
    assert run.completed == completed
    notes = [n for n in run.record.attributes["notes"] if "page" in n]
    assert [n.endswith("goes to its safe position and waits") for n in notes] == [False] + [True] * (
        not completed
    )


def test_it_is_part_of_the_test():
    test = gawthrop_two_actuators.test().replaced(page_loss="retreat")
    assert load_text(files.to_toml(test)).test.page_loss == "retreat"
    with pytest.raises(InputError, match="page_loss must be 'report' or 'retreat'; found 'shrug'"):
        test.replaced(page_loss="shrug")
