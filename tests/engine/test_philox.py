"""Philox4x32-10: the authors' known answers, the distributions, and arrays that equal scalars."""

import math

import numpy as np
import pytest
from scipy import stats

from bondloop.engine.ir.causal_order import partials
from bondloop.engine.ir.expr import Op, Var
from bondloop.engine.ir.philox import normal, normal_array, philox4x32, uniform, uniform_array

ALL = 0xFFFFFFFF
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ALL,) * 4, (ALL,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (PI, (0xA4093822, 0x299F31D0), (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ],
)
def test_known_answers(counter, key, expected):
    """From kat_vectors of Random123, by the generator's authors."""
    assert philox4x32(counter, key) == expected


@pytest.mark.parametrize(("scalar", "array"), [(uniform, uniform_array), (normal, normal_array)])
def test_arrays_equal_scalars_to_the_last_bit(scalar, array):
    counters = [*range(3000), 2**32 - 1, 2**32, 2**53 - 1]
    for seed, stream in [(0, 0), (2**53 - 1, 2**32 - 1), (12345, 7)]:
        assert array(seed, stream, counters).tolist() == [scalar(seed, stream, c) for c in counters]


def test_distributions():
    n = 200_000
    u, x = uniform_array(2024, 1, np.arange(n)), normal_array(2024, 1, np.arange(n))
    assert stats.kstest(u, "uniform").pvalue > 0.01
    assert stats.kstest(x, "norm").pvalue > 0.01
    for power, expected, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
        assert abs((x**power).mean() - expected) < 4 * math.sqrt(variance / n)
    assert 0.0 < u.min() < u.max() < 1.0


def test_streams_seeds_and_neighbours_are_uncorrelated():
    n = 100_000
    rows = [normal_array(5, stream, np.arange(n)) for stream in range(4)]
    rows += [normal_array(6, 0, np.arange(n)), normal_array(5, 0, np.arange(1, n + 1))]
    between = np.corrcoef(rows) - np.eye(len(rows))
    assert np.abs(between).max() < 4.5 / math.sqrt(n)


def test_the_series_are_the_functions():
    """Box and Muller's formula with the mathematical library gives the same but for rounding."""
    from bondloop.engine.ir.philox import _fraction, _words

    for counter in range(500):
        w = _words(3, 0, counter)
        u1, u2 = _fraction(w[0], w[1]), _fraction(w[2], w[3])
        assert normal(3, 0, counter) == pytest.approx(
            math.sqrt(-2 * math.log(u1)) * math.cos(2 * math.pi * u2), abs=5e-15
        )


@pytest.mark.parametrize("bad", [(-1, 0, 0), (0, 2.0**32, 0), (0, 0, 0.5), (0, 0, 2.0**53), (math.nan, 0, 0)])
def test_arguments_out_of_range_give_nan_or_are_refused(bad):
    assert math.isnan(uniform(*bad))
    assert math.isnan(normal(*bad))
    with pytest.raises(ValueError, match="expected"):
        normal_array(bad[0], bad[1], [bad[2]])


def test_noise_has_no_derivative():
    k = Var("k")
    assert partials(Op("normal", (Var("seed"), Var("stream"), k))) == {}
