"""One operator at a time: taken, given back, kept for who comes back, released for who does not."""

from hypothesis import given
from hypothesis import strategies as st

from bondloop.dashboard.crew import GRACE, Crew


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_the_role_waits_for_who_comes_back():
    clock = Clock()
    crew = Crew(clock)
    crew.come("a", "ada")
    crew.come("b", "bob")
    assert crew.take("a")
    assert not crew.take("b")
    crew.go("a")
    assert crew.waiting
    clock.now += 0.9 * GRACE
    assert crew.look() == ""
    assert not crew.take("b")
    crew.come("a", "ada")
    assert not crew.waiting
    clock.now += 10 * GRACE
    assert crew.look() == ""
    assert crew.operator_name == "ada"


def test_the_role_of_who_stays_away_is_released():
    clock = Clock()
    crew = Crew(clock)
    crew.come("a", "ada")
    crew.take("a")
    crew.go("a")
    clock.now += 1.1 * GRACE
    assert crew.look() == "ada"
    assert crew.operator == ""
    assert crew.absent == 0.0  # since the connexion broke, not since the role was released


def test_two_tabs_of_one_person_are_one():
    crew = Crew(Clock())
    crew.come("a", "ada")
    crew.come("a", "ada")
    crew.take("a")
    crew.go("a")
    assert not crew.waiting
    crew.go("a")
    assert crew.waiting


@given(st.lists(st.tuples(st.sampled_from(["come", "go", "take", "give", "look"]), st.sampled_from("abc"))))
def test_there_is_never_more_than_one_and_he_was_there(moves):
    clock, there = Clock(), {}
    crew = Crew(clock)
    for move, who in moves:
        clock.now += 0.3 * GRACE
        before = crew.operator
        if move == "come":
            crew.come(who, who)
            there[who] = there.get(who, 0) + 1
        elif move == "go" and there.get(who):
            crew.go(who)
            there[who] -= 1
        elif move == "take":
            assert crew.take(who) == (before == who or (not before and bool(there.get(who))))
        elif move == "give":
            assert crew.give_back(who) == (before == who and before != "")
        else:
            crew.look()
        assert crew.operator in ("", before, who)
        assert (crew.absent is None) == bool(crew.operator and there.get(crew.operator))
        assert crew.viewers == sum(bool(n) for w, n in there.items() if w != crew.operator)
