"""Closing in on the least error along one setting."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.tuning.setting_search import closed_in, next_place


def least(error, start, tries=4):
    seen = {}

    def tried(place):
        assert 0 <= place <= 1
        seen[place] = error(place)
        return seen[place]

    closed_in(tried, start, tries)
    assert len(seen) <= tries + 3
    return min(seen, key=seen.get)


@given(st.floats(0.05, 0.95), st.floats(0.2, 0.8), st.floats(1e-4, 0.1), st.floats(0.1, 10))
def test_an_rms_error_is_met_at_once(best, start, floor, slope):
    # sqrt(what stays^2 + (slope * off)^2): the parabola of its square is exact.
    place = least(lambda x: math.hypot(floor, slope * (x - best)), start)
    assert place == pytest.approx(best, abs=0.02)


@given(st.floats(0.1, 0.9), st.floats(0.25, 0.75), st.floats(0.5, 4.0))
def test_any_valley_is_come_nearer_to(best, start, power):
    def error(x):
        return 0.01 + abs(x - best) ** power

    reached = error(least(error, start, tries=8))
    assert reached <= min(error(start), error(0.0), error(1.0))
    # A cusp is no root of a parabola, and in a floor as flat as a fourth power two places are soon one.
    assert not 1 <= power <= 2 or reached <= 0.01 + 0.15**power


def test_places_that_come_to_nothing_are_left():
    place = least(lambda x: math.inf if x > 0.6 else 1.0 - x, 0.5, tries=6)
    assert 0.5 < place <= 0.6
    assert least(lambda _: math.inf, 0.5) is not None


def test_what_is_known_closely_is_not_tried_again():
    assert next_place({0.499: 0.2, 0.5: 0.1, 0.501: 0.2}) is None
