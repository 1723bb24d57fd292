"""How well a fit knows its parameters, against matrices inverted in full, tables and sums over all lags."""

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.signal import lfilter

from bondloop.identify import least_squares as confidence
from bondloop.identify.least_squares import (
    Estimate,
    autoregression,
    covariance,
    effective_samples,
    estimates,
    freedom,
)

SCALES = np.array([3e-4, -2.0, 5e3])


def drawn(n, rows=3, pole=0.0, seed=7):
    rng = np.random.default_rng(seed)
    return SCALES[:rows, None] * rng.normal(size=(rows, n)), 0.3 * lfilter(
        [1.0], [1.0, -pole], rng.normal(size=n)
    ) + 0.02


def test_white_residuals():
    """s² (J'J)⁻¹, where s² has n less the parameters and those fitted along as its divisor."""
    J, e = drawn(50)
    for besides in (0, 2):
        expected = np.linalg.inv(J @ J.T) * (e @ e) / (50 - 3 - besides)
        np.testing.assert_allclose(covariance(J, e, white=True, besides=besides), expected, rtol=1e-9)


def test_what_is_held_counts_as_known():
    J, e = drawn(50)
    found = covariance(J, e, white=True, free=np.array([True, False, True]))
    rest = J[[0, 2]]
    np.testing.assert_allclose(
        found[np.ix_([0, 2], [0, 2])], np.linalg.inv(rest @ rest.T) * (e @ e) / 48, rtol=1e-9
    )
    assert not found[1].any()
    assert not found[:, 1].any()
    assert not covariance(J, e, white=False, free=np.zeros(3, bool)).any()


@pytest.mark.parametrize(("samples", "taken", "left"), [(10, 3, 7), (10, 9, 1), (10, 10, 1), (10, 14, 1)])
def test_degrees_of_freedom(samples, taken, left):
    assert freedom(np.ones(samples), taken, white=True) == left


def test_degrees_of_freedom_of_coloured_residuals_are_what_they_are_worth():
    e = drawn(4000, pole=0.9)[1]
    assert freedom(e, 5, white=False) == pytest.approx(effective_samples(e) - 5)
    assert freedom(e, 5, white=False) < 1000


def parzen(share):
    """The window, as the convolution of four boxes has it."""
    return 1 - 6 * share**2 * (1 - share) if share <= 0.5 else 2 * (1 - share) ** 3


def coloured(J, e, lags):
    """J' R J by sums over all frequencies of a grid of its own, which is finer."""
    e = e - e.mean()
    a = autoregression(e)
    left = np.array([a @ e[k - np.arange(a.size)] for k in range(a.size - 1, e.size)])
    w = 2 * np.pi * np.arange(1 << 15) / (1 << 15)
    spectrum = np.zeros(w.size)
    for k in range(lags + 1):
        r = left[k:] @ left[: left.size - k] / left.size * parzen(k / (lags + 1))
        spectrum += (1 if k == 0 else 2) * r * np.cos(w * k)
    whitens = sum(c * np.exp(-1j * w * k) for k, c in enumerate(a))
    R = toeplitz(np.fft.ifft(np.maximum(spectrum, 0) / np.abs(whitens) ** 2).real[: e.size])
    return J @ R @ J.T


@pytest.mark.parametrize(("n", "lags"), [(60, 15), (90, 20), (400, 40)])
@pytest.mark.parametrize("pole", [0.6, -0.7])
@pytest.mark.parametrize("besides", [0, 4])
def test_coloured_residuals(n, lags, pole, besides):
    """(J'J)⁻¹ J'RJ (J'J)⁻¹, and what the parameters have taken."""
    J, e = drawn(n, pole=pole)
    taken = 3 + besides
    grown = 1 + taken / max(1.0, effective_samples(e) - taken)
    inverse = np.linalg.inv(J @ J.T)
    expected = inverse @ coloured(J, e, lags) @ inverse * grown
    found = covariance(J, e, white=False, besides=besides)
    size = np.outer(SCALES, SCALES)
    np.testing.assert_allclose(
        found * size, expected * size, rtol=1e-7, atol=1e-9 * np.abs(expected * size).max()
    )


@pytest.mark.parametrize("white", [True, False])
def test_what_the_data_do_not_tell_at_all_has_an_enormous_spread(white):
    """A row of zeros: 10¹⁴ times that of a parameter that is told as well as the best one."""
    e = drawn(50)[1]
    found = covariance(np.array([np.full(50, 2.0), np.zeros(50)]), e, white=white)
    if white:
        assert found[1, 1] == pytest.approx(1e14 * (e @ e) / 48)
        assert found[0, 0] == pytest.approx((e @ e) / 48 / 200)
    else:
        assert found[1, 1] == pytest.approx(1e14 * (e @ e) / 50 * (1 + 2 / (effective_samples(e) - 2)))


@pytest.mark.parametrize(("apart", "is_white"), [(1e-3, False), (3e-5, False), (1e-6, True)])
def test_in_a_direction_that_is_hardly_told_residuals_count_as_white(apart, is_white):
    """Two rows that differ by a part `apart`: their difference has apart²/4 of the largest eigenvalue."""
    n = 200
    a, b = np.cos(1.2 * np.arange(n)), np.sin(1.2 * np.arange(n))
    b -= a * (a @ b) / (a @ a)
    b *= np.sqrt((a @ a) / (b @ b))
    e = drawn(n, pole=0.8)[1]
    spread = covariance(np.array([a, a + apart * b]), e, white=False)
    difference = spread[0, 0] + spread[1, 1] - 2 * spread[0, 1]
    grown = 1 + 2 / (effective_samples(e) - 2)
    white = 4 / apart**2 / (a @ a) * (e @ e) / n * grown
    rows = coloured(np.array([b / (b @ b)]), e, 28)[0, 0]
    expected = white if is_white else 4 / apart**2 * rows * grown
    assert difference == pytest.approx(expected, rel=0.02)
    assert rows < 0.7 * (e @ e) / n / (a @ a)  # so that the two can be told apart


def test_a_spectrum_below_nothing_counts_as_none(monkeypatch):
    """A window that lets the spectrum of an alternating sequence go below nothing."""
    J = np.array([np.ones(40)])
    monkeypatch.setattr(confidence, "autoregression", lambda _: np.ones(1))
    monkeypatch.setattr(
        confidence,
        "autocovariance",
        lambda _, lags: np.where(np.arange(lags + 1) < 2, [1.0, *[-4.0] * lags], 0),
    )
    e = np.tile([1.0, -1.0], 20)
    assert covariance(J, e, white=False)[0, 0] >= 0
    assert covariance(J * np.tile([1.0, -1.0], 20), e, white=False)[0, 0] > 0


def test_intervals_are_students():
    """t = 2.3646 for 97.5 % and seven degrees of freedom (any table)."""
    found = estimates(
        {"a": 5.0, "b": -3.0, "c": 0.5},
        {"a": "N"},
        np.diag([4.0, 0.25, -1e-20]),
        7.0,
        np.array([False, True, False]),
    )
    a, b, c = found["a"], found["b"], found["c"]
    assert list(found) == ["a", "b", "c"]
    assert (a.value, a.deviation, a.unit, a.at_bound) == (5.0, 2.0, "N", False)
    assert (a.low, a.high) == pytest.approx((5 - 2 * 2.364624, 5 + 2 * 2.364624), rel=1e-5)
    assert (b.value, b.deviation, b.unit, b.at_bound) == (-3.0, 0.5, "", True)
    assert (b.low, b.high) == pytest.approx((-3 - 0.5 * 2.364624, -3 + 0.5 * 2.364624), rel=1e-5)
    assert (c.deviation, c.low, c.high) == (0, 0.5, 0.5)


def test_words():
    assert str(Estimate(2.5, 0.1, 2.3, 2.7)) == "2.5 (95 %: 2.3 to 2.7)"
    assert (
        str(Estimate(2.5, 0.1, 2.3, 2.7, "N", at_bound=True))
        == "2.5 N (95 %: 2.3 to 2.7) (held by its bound)"
    )
