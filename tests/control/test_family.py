"""What is tried for a transfer system: scales, grids, and the lag that they are derived from."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.control import Controller
from bondloop.control.families import FAMILIES, Family, Setting, Task, between, one_of
from bondloop.errors import BondloopError, InputError
from bondloop.transfer import Process, first_order, second_order

positive = st.floats(1e-4, 1e4)
marks = st.lists(positive, min_size=2, max_size=5, unique=True).map(sorted).map(tuple)


@given(marks, st.integers(1, 5))
def test_a_finer_scale_keeps_its_marks_and_divides_every_step(values, times):
    finer = between(*values).finer(times).values
    assert len(finer) == times * (len(values) - 1) + 1
    assert finer[::times] == pytest.approx(values)
    assert list(finer) == sorted(finer)


@given(marks, st.integers(0, 4))
def test_neighbours_lie_on_both_sides(values, place):
    setting = between(*values)
    value = values[place % len(values)]
    low, high = setting.around(value)
    assert 0 < low < value < high
    assert low < setting.middle(low, high, 0.5) < high
    assert setting.middle(low, high, setting.share(low, high, value)) == pytest.approx(value)
    assert {low, high} & {*values}  # a mark that is there is given as it is, not by way of its logarithm


def test_a_scale_that_begins_at_zero_has_equal_steps_and_stays_there():
    setting = between(0.0, 1.0, 2.0)
    assert setting.finer(2).values == (0.0, 0.5, 1.0, 1.5, 2.0)
    assert setting.around(0.0) == (0.0, 1.0)
    assert setting.around(2.0) == (1.0, 3.0)
    assert one_of("a", "b").finer(7) == Setting(("a", "b"))


@given(st.floats(1e-3, 0.05), st.floats(0, 0.05), st.floats(0.1, 20.0), st.sampled_from([1e-3, 2.5e-4]))
def test_the_lag_is_that_of_the_phase(time_constant, delay, frequency, period):
    # arctan(w tau)/w of a first-order lag, the delay, and half a sample of hold.
    task = Task(first_order(0.97, time_constant, delay), period, frequency)
    w = 2 * math.pi * frequency
    assert task.lag == pytest.approx(math.atan(w * time_constant) / w + delay + period / 2, rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(
    st.floats(0.5, 2.0), st.floats(5.0, 60.0), st.floats(0.2, 1.0), st.floats(0.0, 0.05),
    st.floats(0.2, 30.0), st.sampled_from([200.0, 1000.0, 4096.0]), st.floats(1e-6, 1.0),
)  # fmt: skip
def test_every_family_offers_controllers_for_any_actuator(
    gain, frequency, damping, delay, highest, rate, stroke
):
    task = Task(second_order(gain, frequency, damping, delay), 1 / rate, highest, stroke)
    for family in FAMILIES.values():
        candidates = list(family.candidates(task))
        assert 1 <= len(candidates) <= 120
        assert len({c.key for c in candidates}) == len(candidates)
        for candidate in candidates[:: max(1, len(candidates) // 5)]:
            assert isinstance(candidate.controller(), Controller)


def test_a_family_says_why_it_does_not_suit():
    task = Task(Process([-0.01, 1], [0.001, 0.05, 1]), 1e-3, 5.0)
    with pytest.raises(BondloopError, match="cannot be inverted"):
        list(FAMILIES["InverseModel"].candidates(task))


@pytest.mark.parametrize("word", ["period", "frequency", "stroke"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_silly_task_is_refused(word, value):
    with pytest.raises(InputError, match=word):
        Task(first_order(1.0, 0.01), **{"period": 1e-3, "frequency": 5.0, word: value})
    with pytest.raises(InputError, match="expected a model of the transfer system"):
        Task("G1", 1e-3, 5.0)


def test_a_family_of_ones_own_is_a_few_lines():
    from bondloop.control import LeadCompensation

    own = Family(
        "mine",
        lambda task: {"share": between(0.5, 1.0)},  # noqa: ARG005
        lambda task, share: LeadCompensation(share * task.lag),
    )
    task = Task(first_order(1.0, 0.01), 1e-3, 5.0)
    first, second = own.candidates(task)
    assert second.controller().delay == pytest.approx(2 * first.controller().delay)
    assert first.other(share=0.7).controller().delay == pytest.approx(0.7 * task.lag)
