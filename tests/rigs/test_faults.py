"""Faults: nothing before their time, and exactly what they say from the stated sample on."""

import json

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.rigs import Frozen, Imperfection, Infinite, Jump, NotANumber

U = np.sin(np.arange(60) * 0.2)  # at 10 ms


@pytest.mark.parametrize(("at", "first"), [(0.1, 10), (0.0999, 10), (0.1001, 11), (0, 0), ("300 ms", 30)])
def test_the_first_faulty_sample(execute, at, first):
    found = execute(NotANumber(at), U)
    np.testing.assert_array_equal(found[:first], U[:first])
    assert np.isnan(found[first:]).all()


@pytest.mark.parametrize(
    ("fault", "bad"),
    [
        (NotANumber(0.1, until=0.2), np.nan),
        (Infinite(0.1, until=0.2), np.inf),
        (Frozen(0.1, until=0.2), U[9]),
        (Jump(0.1, -3, until=0.2), U[10:20] - 3),
    ],
)
def test_a_fault_that_ends(execute, fault, bad):
    expected = U.copy()
    expected[10:20] = bad
    np.testing.assert_array_equal(execute(fault, U), expected)


def test_frozen_from_the_beginning_stays_at_the_first_sample(execute):
    np.testing.assert_array_equal(execute(Frozen(0), U + 4), np.full(60, 4.0))


def test_frozen_for_good(execute):
    np.testing.assert_array_equal(execute(Frozen(0.3), U), np.r_[U[:30], np.full(30, U[29])])


@pytest.mark.parametrize("fault", [NotANumber(1), Infinite(1, 2), Frozen(0.5), Jump("1 s", "5 mm", until=3)])
def test_descriptions(fault):
    assert Imperfection.from_description(json.loads(json.dumps(fault.describe()))) == fault


@pytest.mark.parametrize(
    "make", [lambda: NotANumber(-1), lambda: Frozen(2, until=2), lambda: Jump(1, 2, until="1 m")]
)
def test_what_is_refused(make):
    with pytest.raises(InputError):
        make()
