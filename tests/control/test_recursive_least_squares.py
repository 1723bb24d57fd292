"""Recursive least squares: the batch solution, its protections, its twin."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.control import RecursiveLeastSquares
from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.errors import InputError

PERIOD = 0.01


def runner(estimator, backend="numpy"):
    n = len(estimator.initial)
    phi, y, count = [Var(f"phi{i}") for i in range(n)], Var("y"), Var("k")
    made = estimator.apply(phi, y, Context("rls", count, PERIOD))
    channels = [Channel(f"p{i}", p) for i, p in enumerate(made.parameters)]
    trace = next(s.target for s in made.applied.steps if getattr(s, "target", y).name == "rls.trace")
    channels += [Channel("error", made.applied.value), Channel("trace", trace)]
    tick = Tick(
        "rls", PERIOD, Var("t"), count, (*phi, y), made.applied.states, {}, tuple(made.applied.steps),
        tuple(channels),
    )  # fmt: skip
    return Runner(tick, backend)


def estimates(estimator, phi, y, backend="numpy"):
    found = runner(estimator, backend).run(len(y), np.column_stack([phi, y])).channels
    return np.column_stack([found[f"p{i}"] for i in range(phi.shape[1])]), found


def batch(estimator, phi, y):
    """Weighted least squares with its prior as further equations, by numpy.linalg.lstsq."""
    f = math.exp(-PERIOD / estimator.memory)
    count = len(y)
    w = np.sqrt(f ** np.arange(count - 1, -1, -1.0)) / estimator.noise
    prior = np.sqrt(f**count) / np.array(estimator.uncertainty)
    A = np.vstack([w[:, None] * phi, np.diag(prior)])
    b = np.concatenate([w * y, prior * np.array(estimator.initial)])
    return np.linalg.lstsq(A, b, rcond=None)[0]


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 4), memory=st.floats(0.2, 100.0), seed=st.integers(0, 2**32 - 1))
def test_it_is_the_batch_solution_with_forgetting(n, memory, seed):
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(150, n))
    y = phi @ rng.normal(size=n) * 3 + 0.1 * rng.normal(size=150)
    estimator = RecursiveLeastSquares(
        tuple(rng.normal(size=n)), uncertainty=2.0, noise=0.1, memory=memory, threshold=0,
        largest_uncertainty=1e6,
    )  # fmt: skip
    found, _ = estimates(estimator, phi, y)
    for count in (1, 10, 150):
        assert found[count - 1] == pytest.approx(batch(estimator, phi[:count], y[:count]), abs=1e-9)


def test_c_and_numpy_agree():
    rng = np.random.default_rng(4)
    phi = rng.normal(size=(500, 3)) * np.linspace(0, 2, 500)[:, None]
    y = phi @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=500)
    estimator = RecursiveLeastSquares((0.0, 0.0, 0.0), noise=0.1, memory=1.0, least=-1.5, most=3.0)
    a, first = estimates(estimator, phi, y)
    b, second = estimates(estimator, phi, y, "c")
    assert np.abs(a - b).max() < 1e-12
    assert first["trace"] == pytest.approx(second["trace"], rel=1e-12)


def test_a_changed_parameter_is_found_within_the_memory():
    rng = np.random.default_rng(1)
    phi = rng.normal(size=(2000, 2))
    truth = np.where(np.arange(2000)[:, None] < 1000, [1.0, 2.0], [1.5, 1.0])
    y = np.sum(phi * truth, axis=1) + 0.01 * rng.normal(size=2000)
    found, _ = estimates(RecursiveLeastSquares((0.0, 0.0), uncertainty=5, noise=0.01, memory=0.5), phi, y)
    assert found[999] == pytest.approx([1.0, 2.0], abs=0.01)
    assert found[1000 + 5 * 50] == pytest.approx([1.5, 1.0], abs=0.02)


def test_silence_forgets_nothing():
    """Without excitation nothing changes: no wind-up, no drift."""
    rng = np.random.default_rng(1)
    phi = rng.normal(size=(4000, 2))
    phi[1000:] *= 1e-6
    y = phi @ [1.0, 2.0]
    found, channels = estimates(RecursiveLeastSquares((0.0, 0.0), noise=0.01, memory=0.5), phi, y)
    assert np.ptp(found[1000:], axis=0).max() == 0
    assert np.ptp(channels["trace"][1001:]) == 0


def test_the_covariance_is_bounded_where_only_one_direction_is_excited():
    """A constant regressor says nothing of the other direction, which plain forgetting would blow up."""
    phi = np.tile([1.0, 0.0], (20000, 1))
    estimator = RecursiveLeastSquares((0.0, 0.0), noise=0.1, memory=0.5, largest_uncertainty=5.0)
    _, channels = estimates(estimator, phi, np.ones(20000), "c")
    assert channels["trace"].max() <= 25 * 2
    assert channels["trace"][-1] > 10  # it did grow


SHARED = RecursiveLeastSquares((1.0, -1.0), noise=0.1, memory=0.5, least=(0.5, -2.0), most=(2.0, 0.0))
_runners: dict[str, Runner] = {}


@settings(max_examples=60, deadline=None)
@given(
    scale=st.sampled_from([0.0, 1e-200, 1e-9, 1.0, 1e9, 1e80, 1e160, 1e300]),
    kind=st.sampled_from(["noise", "constant", "mixed"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_estimates_and_covariance_stay_in_bounds_whatever_comes(scale, kind, seed):
    rng = np.random.default_rng(seed)
    data = rng.uniform(-1, 1, size=(300, 3)) if kind != "constant" else np.ones((300, 3))
    data[100:] *= scale if kind != "mixed" else scale ** rng.integers(0, 2, size=(200, 1))
    if not _runners:
        _runners["c"] = runner(SHARED, "c")
    run = _runners["c"]
    run.reset()
    found = run.run(300, data).channels
    for i in range(2):
        assert np.all(found[f"p{i}"] >= SHARED.least[i])
        assert np.all(found[f"p{i}"] <= SHARED.most[i])
    assert np.all(found["trace"] <= 100 * 2 * (1 + 1e-9))
    # And it still works afterwards.
    phi = rng.uniform(-1, 1, size=(3000, 2))
    found = run.run(3000, np.column_stack([phi, phi @ [1.5, -0.5]])).channels
    assert found["p0"][-1] == pytest.approx(1.5, abs=1e-3)
    assert found["p1"][-1] == pytest.approx(-0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"initial": ()}, "at least one number"),
        ({"initial": (1.0,), "uncertainty": -1}, "positive"),
        ({"initial": (1.0, 2.0), "most": (3.0, 4.0, 5.0)}, "expected 1 or 2 numbers; found 3"),
        ({"initial": (1.0,), "least": 2.0}, "first estimate 1 is not between 2"),
        ({"initial": (1.0,), "memory": 0}, "above 0"),
    ],
)
def test_impossible_settings_are_refused(arguments, reason):
    with pytest.raises(InputError, match=reason):
        RecursiveLeastSquares(**arguments)


def test_as_many_regressors_as_parameters():
    with pytest.raises(InputError, match="expected 2 regressors; found 1"):
        RecursiveLeastSquares((1.0, 1.0)).apply([Var("a")], Var("y"), Context("c", Var("k"), 0.1))
