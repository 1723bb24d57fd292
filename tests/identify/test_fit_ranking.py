"""Ranking of models, tests of residuals, confidence: what a fit says about itself."""

import json

import numpy as np
import pytest
from scipy.signal import lfilter

from bondloop.errors import InputError
from bondloop.identify import IdentificationPolicy
from bondloop.identify.least_squares import check_residuals, covariance, effective_samples, minimise
from bondloop.identify.process.ranking import rank, rank_frequency, rank_time
from bondloop.identify.process.time_fit import fit_time
from bondloop.transfer.process import Process, first_order, second_order

T = 1e-3


def record(G, samples=5000, decibels=40.0, seed=1):
    rng = np.random.default_rng(seed)
    u = np.repeat(rng.normal(size=samples // 4 + 1), 4)[:samples]
    y = G.simulate(u, T)
    return u, y + 10 ** (-decibels / 20) * y.std() * rng.normal(size=samples)


@pytest.mark.parametrize(
    ("name", "G"),
    [
        ("G1", first_order(1.0, 0.02)),
        ("G2", second_order(1.0, 15.0, 0.5)),
        ("G1D", first_order(1.0, 0.02, 0.0055)),
        ("G2D", second_order(1.0, 15.0, 0.5, 0.0055)),
    ],
)
def test_the_model_that_made_the_data_is_recommended(name, G):
    """Larger models fit as well; parsimony leaves them aside."""
    found = rank_time(*record(G), T, ["G1", "G2", "G1D", "G2D", "2 poles, 1 zero, delay"])
    assert found.recommended.name == name
    assert found.recommended.tests.white
    assert f"take {name}." in found.reasons[0]
    assert [f.aic(found.effective) for f in found.fits] == sorted(f.aic(found.effective) for f in found.fits)


def test_the_phase_beyond_180_degrees_asks_for_a_delay():
    """du Bois 2010, section 3.1: the phase goes well beyond the -180 degrees of a second order."""
    G = second_order(1.0, 20.0, 0.5, 0.006)
    f = np.linspace(1, 60, 60)
    found = rank_frequency(f, G.response(f) * (1 + 0.002 * np.cos(7 * f)), ["G1", "G2", "G1D", "G2D"])
    # At 60 Hz: atan2 of the closed form, -159.4 - 129.6 degrees.
    exact = np.degrees(np.unwrap(np.angle(G.response(f))))[-1]
    assert exact < -180
    assert found.recommended.name == "G2D"
    assert f"phase is {exact:.0f} degrees, beyond the -180 degrees" in " ".join(found.reasons)
    assert "Without the delay (G2) the rms error is" in " ".join(found.reasons)


def test_a_nonlinearity_shows_in_the_residuals():
    """Cubic distortion follows the input: the test of independence says so, and so does the advice."""
    u, y = record(second_order(1.0, 15.0, 0.5), decibels=60.0)
    found = rank_time(u, y + 0.2 * np.concatenate([[0, 0], u[:-2]]) ** 3, T, ["G2", "G2D"])
    assert not found.recommended.tests.independent
    assert "still follow the input" in " ".join(found.reasons)


def test_a_zero_right_of_the_axis_cannot_be_inverted_and_that_is_said():
    u, y = record(Process((-0.01, 1.0), (1e-4, 0.012, 1.0)), decibels=60.0)
    found = rank_time(u, y, T, ["G1", "2 poles, 1 zero"])
    assert found.recommended.name == "2 poles, 1 zero"
    assert "cannot be inverted" in " ".join(found.reasons)


def test_aic_and_bic_by_hand():
    u, y = record(second_order(1.0, 15.0, 0.5), 2000)
    fit = fit_time(u, y, T, "G2", start="rest")
    n, rss = 2000, float(fit.residual @ fit.residual)
    assert fit.samples == n
    assert fit.aic() == pytest.approx(n * np.log(rss / n) + 2 * 4)  # three parameters and an offset
    assert fit.bic() == pytest.approx(n * np.log(rss / n) + 4 * np.log(n))
    assert fit.rms == pytest.approx(np.sqrt(rss / n))
    about = y - y.mean()
    assert fit.fit == pytest.approx(100 * (1 - np.sqrt(rss / (about @ about))))


def test_a_ranking_fits_into_json_and_a_table():
    found = rank_time(*record(second_order(1.0, 15.0, 0.5), 1500), T, ["G1", "G2"])
    again = json.loads(json.dumps(found.to_dict()))
    assert again["recommended"] == "G2"
    assert [m["model"] for m in again["models"]] == ["G2", "G1"]
    lines = str(found).splitlines()
    assert lines[1].startswith("*G2 ")
    assert lines[2].startswith(" G1 ")
    with pytest.raises(InputError, match="no fit to rank"):
        rank([], band=1.0)


def test_progress_is_told_model_by_model():
    told = []
    u, y = record(first_order(1.0, 0.02), 1500)
    rank_time(u, y, T, ["G1", "8 poles, 7 zeros", "G1D"], progress=lambda *counts: told.append(counts))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_a_model_that_cannot_be_fitted_is_left_out_with_the_reason():
    u, y = record(first_order(1.0, 0.01), 40)
    found = rank_time(u, y, T, ["G1", "8 poles, 7 zeros"])
    assert "too few samples" in found.failed["8 poles, 7 zeros"]
    with pytest.raises(InputError, match="too few samples"):
        rank_time(u, y, T, ["8 poles, 7 zeros"])


# ------------------------------------------------------------------ residuals


def test_white_residuals_pass_as_often_as_they_should():
    """Both tests reject 1 % of white, independent residuals: of 400, at most 11 (4 and 3.5 deviations)."""
    failed = np.zeros(2, dtype=int)
    for seed in range(400):
        rng = np.random.default_rng(seed)
        u = lfilter([1.0], [1.0, -0.8], rng.normal(size=600))
        tests = check_residuals(rng.normal(size=600), u)
        failed += [not tests.white, not tests.independent]
    assert failed.max() <= 11


def test_colour_is_no_dependence():
    """Coloured residuals and a coloured input, independent: not white, and yet independent, in most runs."""
    white = independent = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        e, u = (lfilter([1.0], [1.0, -0.9], rng.normal(size=2000)) for _ in range(2))
        tests = check_residuals(e, u)
        white += tests.white
        independent += tests.independent
    assert white == 0
    assert independent >= 94  # binomial with p = 0.99: six failures have a probability of 1e-4


def test_dependence_is_found():
    rng = np.random.default_rng(0)
    u = rng.normal(size=2000)
    e = rng.normal(size=2000) + 0.2 * np.concatenate([np.zeros(5), u[:-5]])
    tests = check_residuals(e, u)
    assert not tests.independent
    assert int(np.argmax(np.abs(tests.cross_correlation))) == 5
    assert "the model leaves dynamics out" in str(tests)


def test_what_coloured_samples_are_worth():
    """For one pole at p the sum of squared correlations is (1 + p^2)/(1 - p^2)."""
    e = lfilter([1.0], [1.0, -0.8], np.random.default_rng(0).normal(size=100_000))
    assert effective_samples(e) == pytest.approx(100_000 * (1 - 0.64) / (1 + 0.64), rel=0.05)


def test_the_spread_of_a_mean_under_coloured_noise():
    """The mean of n samples of a process with pole p has the variance s^2/n (1 + p)/(1 - p)."""
    rng = np.random.default_rng(0)
    n, p = 20_000, 0.8
    e = lfilter([1.0], [1.0, -p], rng.normal(size=n))
    J = np.ones((1, n))
    s2 = e.var()
    assert covariance(J, e, white=True)[0, 0] == pytest.approx(s2 / n, rel=1e-3)
    assert covariance(J, e, white=False)[0, 0] == pytest.approx(s2 / n * (1 + p) / (1 - p), rel=0.1)


# ------------------------------------------------------------------ the optimiser


def test_the_optimum_between_bounds():
    """Rosenbrock's function as least squares; free it ends at (1, 1), with x <= 0.5 at (0.5, 0.25)."""

    def rosenbrock(p):
        return np.array([10 * (p[1] - p[0] ** 2), 1 - p[0]]), np.array([[-20 * p[0], -1.0], [10.0, 0.0]])

    free = minimise(rosenbrock, np.array([-1.2, 1.0]), np.full(2, -9.0), np.full(2, 9.0), most=200)
    assert free.theta == pytest.approx([1.0, 1.0], abs=1e-6)
    held = minimise(rosenbrock, np.array([-1.2, 1.0]), np.full(2, -9.0), np.array([0.5, 9.0]), most=200)
    assert held.theta == pytest.approx([0.5, 0.25], abs=1e-6)
    assert held.at_bound.tolist() == [True, False]


def test_a_start_without_a_value_has_no_minimum():
    assert minimise(lambda _: None, np.zeros(1), -np.ones(1), np.ones(1)) is None


def test_a_policy_decides_how_much_evidence_a_larger_model_needs():
    """A second pole shows clearly: only a policy that asks for absurd evidence drops it."""
    f = np.geomspace(1, 100, 60)
    rng = np.random.default_rng(4)
    noise = 0.01 * (rng.normal(size=60) + 1j * rng.normal(size=60))
    response = second_order(1.0, 20.0, 0.7).response(f) * (1 + noise)
    assert rank_frequency(f, response, ["G1", "G2"]).recommended.name == "G2"
    asking = IdentificationPolicy(close=1e6)
    assert rank_frequency(f, response, ["G1", "G2"], policy=asking).recommended.name == "G1"


@pytest.mark.parametrize(("level", "white"), [(0.01, True), (1.0, False)])
def test_a_level_sets_where_a_test_of_residuals_fails(level, white):
    rng = np.random.default_rng(1)
    e, u = rng.normal(size=2000), rng.normal(size=2000)
    assert check_residuals(e, u, level=level).white is white
