"""Residuals against the formulas of their tests, known autoregressions, and properties of the minimiser."""

import numpy as np
import pytest
from scipy.optimize import least_squares as reference
from scipy.signal import lfilter
from scipy.stats import chi2

from bondloop.identify.least_squares import (
    autoregression,
    check_residuals,
    effective_samples,
    minimise,
)


def correlations(e, lags):
    """Sums of products, lag by lag."""
    e = e - e.mean()
    return np.array([e[k:] @ e[: e.size - k] for k in range(lags + 1)]) / (e @ e)


@pytest.mark.parametrize(("n", "given", "lags"), [(400, {}, 25), (400, {"lags": 7}, 7), (40, {}, 10)])
def test_whiteness_is_ljung_and_boxs(n, given, lags):
    rng = np.random.default_rng(n)
    e = lfilter([1.0], [1.0, -0.1], rng.normal(size=n))
    r = correlations(e, lags)
    Q = sum(n * (n + 2) * r[k] ** 2 / (n - k) for k in range(1, lags + 1))
    found = check_residuals(e, rng.normal(size=n), **given)
    np.testing.assert_allclose(found.autocorrelation, r, rtol=1e-9, atol=1e-12)
    assert found.whiteness == pytest.approx(chi2.sf(Q, lags), rel=1e-9)
    assert found.cross_correlation.shape == (lags + 1,)


def test_at_least_one_lag_takes_part():
    rng = np.random.default_rng(3)
    e, u = rng.normal(size=(2, 100))
    assert check_residuals(e, u, 0).whiteness == check_residuals(e, u, 1).whiteness


@pytest.mark.parametrize("pole", [0.0, 0.35, 0.8, -0.6])
def test_coloured_samples_are_worth_fewer_white_ones(pole):
    """Of a first-order autoregression (1 - p²)/(1 + p²) of them, in the long run."""
    e = lfilter([1.0], [1.0, -pole], np.random.default_rng(11).normal(size=40_000))
    assert effective_samples(e) == pytest.approx(e.size * (1 - pole**2) / (1 + pole**2), rel=0.06)


@pytest.mark.parametrize("n", [300, 4000])
def test_a_trend_is_worth_few_samples(n):
    assert effective_samples(np.linspace(0.0, 1.0, n)) < 13


@pytest.mark.parametrize("seed", range(12))
def test_correlations_that_chance_explains_are_left_out(seed):
    """Beyond three deviations of an estimate where only shorter lags are correlated (Bartlett)."""
    e = lfilter([1.0], [1.0, -0.9], np.random.default_rng(seed).normal(size=300))
    worth = 1.0
    squares = correlations(e, 75) ** 2
    for k in range(1, 76):
        if squares[k] > 9 * sum(squares[abs(j)] for j in range(1 - k, k)) / 300:
            worth += 2 * squares[k]
    assert effective_samples(e) == pytest.approx(300 / worth)


@pytest.mark.parametrize("poles", [[0.9], [0.5 + 0.6j, 0.5 - 0.6j], [-0.7, 0.8], [0.6, -0.5, 0.9]])
def test_an_autoregression_is_found_again(poles):
    a = np.real(np.poly(poles))
    found = autoregression(lfilter([1.0], a, np.random.default_rng(2).normal(size=20_000)))
    np.testing.assert_allclose(found[: a.size], a, atol=0.03)
    np.testing.assert_allclose(found[a.size :], 0.0, atol=0.03)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_white_noise_needs_no_autoregression(size):
    """Akaike's criterion adds an order to white noise with a chance of one in six: not to most of forty."""
    drawn = size * np.random.default_rng(8).normal(size=(40, 400))
    assert sum(autoregression(x).size == 1 for x in drawn) > 20


TIME = np.linspace(0.0, 4.0, 60)


def decaying(rng):
    """A decaying oscillation with noise: its amplitude, decay and frequency are sought."""
    true = rng.uniform([0.5, 0.2, 2.0], [2.0, 0.8, 3.0])
    data = true[0] * np.exp(-true[1] * TIME) * np.cos(true[2] * TIME) + 0.02 * rng.normal(size=TIME.size)

    def residual(p):
        return p[0] * np.exp(-p[1] * TIME) * np.cos(p[2] * TIME) - data

    def evaluate(p):
        envelope = np.exp(-p[1] * TIME)
        swing = np.cos(p[2] * TIME)
        rows = [
            envelope * swing,
            -TIME * p[0] * envelope * swing,
            -TIME * p[0] * envelope * np.sin(p[2] * TIME),
        ]
        return residual(p), np.array(rows)

    return evaluate, residual, true * rng.uniform(0.8, 1.25, 3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("high", [9.0, 0.4])
def test_the_least_sum_of_squares_is_that_of_scipy(seed, high):
    """With the decay free, and held by a bound for most seeds."""
    evaluate, residual, start = decaying(np.random.default_rng(seed))
    low, high = np.zeros(3), np.array([9.0, high, 9.0])
    found = minimise(evaluate, start, low, high, precision=1e-10)
    start = np.clip(start, 0.0, high - 1e-6)
    expected = reference(residual, start, bounds=(low, high), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    assert found.cost == pytest.approx(2 * expected.cost, rel=1e-6)
    np.testing.assert_allclose(found.theta, expected.x, rtol=1e-4)
    assert found.converged


@pytest.mark.parametrize("seed", range(4))
def test_the_units_of_parameters_change_nothing(seed):
    """Millimetres or kilometres: the same steps to the same place, bit for bit, for powers of two."""
    evaluate, _, start = decaying(np.random.default_rng(seed))
    unit = np.array([2.0**-30, 2.0**20, 2.0**9])

    def scaled(q):
        residual, rows = evaluate(q / unit)
        return residual, rows / unit[:, None]

    plain = minimise(evaluate, start, np.zeros(3), np.full(3, 9.0))
    other = minimise(scaled, start * unit, np.zeros(3), 9.0 * unit)
    assert (plain.theta * unit).tolist() == other.theta.tolist()
    assert plain.evaluations == other.evaluations


@pytest.mark.parametrize("seed", range(4))
def test_damping_follows_nielsens_rule(seed):
    """From step to step by max(0.1, 1 - (2 gain - 1)³), as the steps themselves show."""
    evaluate, _, start = decaying(np.random.default_rng(seed))
    visited = []

    def recorded(p):
        visited.append((p, *evaluate(p)))
        return visited[-1][1:]

    minimise(recorded, 1.2 * start, np.full(3, -99.0), np.full(3, 99.0))
    dampings, gains, (p, r, J) = [], [], visited[0]
    for q, tried, rows in visited[1:]:
        size = np.sqrt((J * J).sum(axis=1))
        hessian, pull, step = (J / size[:, None]) @ (J / size[:, None]).T, J @ r / size, (q - p) * size
        dampings.append(-step @ (hessian @ step + pull) / (step @ step))
        promised = r @ r - np.sum((r + step @ (J / size[:, None])) ** 2)
        gains.append((r @ r - tried @ tried) / promised)
        if gains[-1] > 0:
            p, r, J = q, tried, rows
    compared = 0
    for before, after, gain in zip(dampings, dampings[1:], gains, strict=False):
        if gain > 0 and before > 1e-6:  # of a smaller damping the step shows too little
            factor = max(0.1, 1 - (2 * min(gain, 1.0) - 1) ** 3)
            assert after == pytest.approx(before * factor, rel=1e-3)
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_bound_from_which_nothing_pushes_is_no_bound(side):
    """It begins on it, where the sum of squares is level, and the first step goes inwards."""
    visited = []

    def evaluate(p):
        visited.append(p)
        return np.array([p[0] - 2.0, side * p[0] + p[1]]), np.array([[1.0, side], [0.0, 1.0]])

    low, high = sorted([-9.0 * side, 0.0])
    found = minimise(evaluate, np.zeros(2), np.array([-9.0, low]), np.array([9.0, high]))
    assert visited[1] == pytest.approx([2.0, -2.0 * side], rel=0.01)
    assert found.theta == pytest.approx([2.0, -2.0 * side], rel=1e-4)
