"""One operator at a time: taken, given back, kept for who comes back, released for who does not."""

from hypothesis import given
from hypothesis import strategies as st

from bondloop.dashboard.presence import Presence


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_the_role_waits_for_who_comes_back():
    clock = Clock()
    presence = Presence(clock)
    presence.come("a", "ada")
    presence.come("b", "bob")
    assert presence.take("a")
    assert not presence.take("b")
    presence.go("a")
    assert presence.waiting
    clock.now += 0.9 * Presence.grace
    assert presence.look() == ""
    assert not presence.take("b")
    presence.come("a", "ada")
    assert not presence.waiting
    clock.now += 10 * Presence.grace
    assert presence.look() == ""
    assert presence.operator_name == "ada"


def test_the_role_of_who_stays_away_is_released():
    clock = Clock()
    presence = Presence(clock)
    presence.come("a", "ada")
    presence.take("a")
    presence.go("a")
    clock.now += 1.1 * Presence.grace
    assert presence.look() == "ada"
    assert presence.operator == ""
    assert presence.absent == 0.0  # since the connection broke, not since the role was released


def test_two_tabs_of_one_person_are_one():
    presence = Presence(Clock())
    presence.come("a", "ada")
    presence.come("a", "ada")
    presence.take("a")
    presence.go("a")
    assert not presence.waiting
    presence.go("a")
    assert presence.waiting


@given(st.lists(st.tuples(st.sampled_from(["come", "go", "take", "give", "look"]), st.sampled_from("abc"))))
def test_there_is_never_more_than_one_and_he_was_there(moves):
    clock, there = Clock(), {}
    presence = Presence(clock)
    for move, who in moves:
        clock.now += 0.3 * Presence.grace
        before = presence.operator
        if move == "come":
            presence.come(who, who)
            there[who] = there.get(who, 0) + 1
        elif move == "go" and there.get(who):
            presence.go(who)
            there[who] -= 1
        elif move == "take":
            assert presence.take(who) == (before == who or (not before and bool(there.get(who))))
        elif move == "give":
            assert presence.give_back(who) == (before == who and before != "")
        else:
            presence.look()
        assert presence.operator in ("", before, who)
        assert (presence.absent is None) == bool(presence.operator and there.get(presence.operator))
        assert presence.viewers == sum(bool(n) for w, n in there.items() if w != presence.operator)
