"""Taps by recursive least squares: the published law with matrices, a plant whose inverse is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import butter, cont2discrete

from bondloop.control import PolynomialPrediction, RecursiveFir, TwoStageAdaptive
from bondloop.control.blocks.filters import butterworth
from bondloop.errors import InputError
from bondloop.transfer import Process, first_order, second_order

PERIOD = 1 / 1024
T = np.arange(20000) * 0.001
DEMAND = sum(
    0.005 / np.sqrt(f) * np.sin(2 * np.pi * f * T + phase)
    for f, phase in ((0.7, 1.0), (1.9, 2.0), (3.1, 4.0), (5.3, 5.0))
)


class Filter:
    """SciPy's Butterworth of fourth order, for a signal that is straight between samples."""

    def __init__(self, frequency=20.0, period=PERIOD):
        b, a = butter(4, 2 * np.pi * frequency, analog=True)
        b, a, _ = cont2discrete((b, a), period, method="foh")
        self.b, self.a = np.squeeze(b), a
        self.inputs, self.outputs = np.zeros(5), np.zeros(5)

    def ask(self, value):
        """The output for a value, without going on."""
        return (self.b @ [value, *self.inputs[:4]] - self.a[1:] @ self.outputs[:4]) / self.a[0]

    def go(self, value):
        result = self.ask(value)
        self.inputs, self.outputs = (np.roll(v, 1) for v in (self.inputs, self.outputs))
        self.inputs[0], self.outputs[0] = value, result
        return result


def published(theta, P, demand, motion, lam=1.0):
    """The law with its covariance as a matrix; ``motion(k, u)`` is solved for together with the command."""
    theta, P, n = np.array(theta, float), np.array(P, float), len(theta)
    sent, seen = Filter(), Filter()
    x, phi, result = np.zeros(n), np.zeros(n), []
    for k, value in enumerate(demand):
        x = np.array([value, *x[:-1]])
        u = theta @ x
        for _ in range(20):
            last, y = u, motion(k, u)
            now = np.array([seen.ask(y), *phi[:-1]])
            g = P @ now / (lam + now @ P @ now)
            u0, b0 = sent.ask(0.0), sent.b[0]
            u = (theta @ x + (g @ x) * (u0 - theta @ now)) / (1 - b0 * (g @ x))
            if abs(u - last) <= 1e-13 * abs(u):
                break
        phi = np.array([seen.go(motion(k, u)), *phi[:-1]])
        moves = sent.outputs[0] != sent.outputs[1] and phi.any()  # else nothing is learned, nor forgotten
        theta = theta + g * (sent.go(u) - theta @ phi)
        assert theta @ x == pytest.approx(u, rel=1e-6, abs=1e-12)  # the loop without delay is solved
        P = (P - np.outer(g, phi @ P)) / lam if moves else P
        result.append((u, motion(k, u), *theta))
    return np.array(result)


def test_the_filter_is_that_of_scipy():
    signal = np.random.default_rng(1).normal(size=300)
    signal[0] = 0.0
    reference = Filter()
    F, G, C, H = butterworth(4, 20.0).discrete(PERIOD)
    z, found = np.zeros((4, 1)), []
    for u in signal:
        found.append((C @ z + H * u).item())
        z = F @ z + G * u
    assert found == pytest.approx([reference.go(u) for u in signal], abs=1e-9)


def waves(seed, count=1500):
    rng = np.random.default_rng(seed)
    t = np.arange(count) * PERIOD
    x = sum(
        np.sin(2 * np.pi * f * t + p) - np.sin(p)
        for f, p in zip((1, 3, 7), rng.uniform(0, 6, 3), strict=True)
    )
    x = 0.01 * x * np.minimum(t / 0.2, 1.0)
    x[:3] = 0.0  # nothing to learn from before the command has moved
    return x


@settings(max_examples=5, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 4),
    lam=st.sampled_from([1.0, 0.9995]),
    size=st.floats(2.0, 6.0),
)
def test_it_is_the_published_law(seed, n, lam, size, alone):
    rng = np.random.default_rng(seed)
    root = 0.3 * rng.normal(size=(n, n)) + np.eye(n)
    P = 10**size * root @ root.T
    start = np.eye(n)[0] + 0.01 * rng.normal(size=n)
    x = waves(seed, 700)
    y = np.concatenate([np.zeros(8), 0.9 * x[:-8]]) + 1e-3 * waves(seed + 1, 700)
    y[:8] = 0.0
    expected = published(start, P, x, lambda k, _: y[k], lam)
    memory = 1e9 if lam == 1.0 else -PERIOD / np.log(lam)
    law = RecursiveFir(
        n, tuple(start), tuple(map(tuple, P)), memory, threshold=1e-12, largest_delay=10.0,
        least_gain=1e-6, largest_gain=1e6,
    )  # fmt: skip
    found = alone(law, x, y, PERIOD, "c")
    assert found["command"] == pytest.approx(expected[:, 0], abs=1e-6 * np.abs(expected[:, 0]).max())
    for i in range(n):
        taps = expected[:, 2 + i]
        assert found[f"controller.tap{i}"][10:] == pytest.approx(taps[10:], abs=1e-4 * np.abs(taps).max())


def test_the_taps_of_a_plant_with_an_inverse_of_three_taps_are_found(alone):
    """u(k) = 1.6 y(k) - 0.9 y(k-1) + 0.25 y(k-2) exactly; poles 0.28 ± 0.28j."""
    inverse, x, y = np.array([1.6, -0.9, 0.25]), waves(3, 2500), [0.0, 0.0]

    def motion(k, u):
        del y[k + 2 :]
        y.append((u - inverse[1] * y[k + 1] - inverse[2] * y[k]) / inverse[0])
        return y[k + 2]

    expected = published([1.0, 0.0, 0.0], 1e12 * np.eye(3), x, motion)
    law = RecursiveFir(3, (1.0, 0.0, 0.0), 1e12, threshold=1e-9)
    found = alone(law, x, expected[:, 1], PERIOD, "c")
    taps = [found[f"controller.tap{i}"][-1] for i in range(3)]
    assert taps == pytest.approx(inverse, abs=2e-3)
    late = slice(1500, None)
    assert np.abs(expected[late, 1] - x[late]).max() < 1e-5 * np.abs(x).max()
    assert found["command"][late] == pytest.approx(expected[late, 0], abs=1e-6 * np.abs(x).max())


@pytest.mark.parametrize("kind", [RecursiveFir, TwoStageAdaptive])
def test_a_lag_is_cancelled_by_its_inverse(kind, loop):
    """For slow motions the taps are the inverse of the plant, with half a period for the hold."""
    process = second_order(0.95, 15.0, 0.8)
    first = PolynomialPrediction("8 ms", 2, "10 ms")
    words = {"prediction": first} if kind is TwoStageAdaptive else {}
    law = kind(4, **words)
    result = loop(law, process, DEMAND)
    late = slice(10000, None)
    size = np.std(DEMAND)
    assert np.std(result["motion"][late] - DEMAND[late]) < 5e-3 * size
    taps = [result[f"controller.tap{i}"][-1] for i in range(4)]
    gain, rate = law._series(0.001)[0][:2] @ taps
    rate += gain * (law.first_stage.delay if law.first_stage else 0.0)
    assert gain == pytest.approx(1 / 0.95, rel=2e-3)
    assert rate / gain == pytest.approx(2 * 0.8 / (2 * np.pi * 15) + 0.0005, rel=2e-2)


def test_without_a_first_stage_both_are_one(alone):
    x = waves(5)
    y = np.concatenate([np.zeros(8), 0.9 * x[:-8]])
    nothing = PolynomialPrediction(0.0, order=0, span=0.01, points=1)
    one, two = RecursiveFir(3), TwoStageAdaptive(3, prediction=nothing)
    a, b = (alone(law, x, y, PERIOD)["command"] for law in (one, two))
    assert a == pytest.approx(b, abs=1e-12)


def test_no_covariance_means_fixed_taps(alone):
    x = waves(6)
    found = alone(RecursiveFir(2, (1.5, -0.5), 0.0), x, 0.5 * x, PERIOD)
    assert found["command"] == pytest.approx(1.5 * x - 0.5 * np.concatenate([[0.0], x[:-1]]), abs=1e-12)


def test_a_test_that_begins_away_from_zero_gets_no_blow(alone):
    x = np.full(200, 0.02)
    law = RecursiveFir(process=first_order(0.8, 0.01))
    found = alone(law, x, x, PERIOD)
    assert found["command"] == pytest.approx(x / 0.8, abs=1e-9)
    assert (
        np.ptp(found["controller.tap0"]) == 0
    )  # what stands still from the start is no motion to learn from


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1e-3, 1.0, 1e3]), n=st.integers(1, 5))
def test_gain_and_delay_of_the_taps_stay_in_bounds_whatever_comes(seed, size, n, alone):
    law = RecursiveFir(n, covariance=1e10)
    x, y = size * np.random.default_rng(seed).normal(size=(2, 400))
    found = alone(law, x, y, PERIOD, "c")
    taps = np.array([found[f"controller.tap{i}"] for i in range(n)])
    series = law._series(PERIOD)[0] @ taps
    for row, (least, most) in zip(series, law.bounds(), strict=True):
        assert np.all((row >= least - 1e-6 * most) & (row <= most * (1 + 1e-6)))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"taps": 0}, "from 1 to 8"),
        ({"initial": (1.0,)}, "expected 4 numbers"),
        ({"initial": "taps"}, "expected 4 numbers"),
        ({"initial": (1.0, 0.0, 0.0, float("nan"))}, "expected 4 numbers"),
        ({"covariance": -1.0}, "without negative eigenvalues"),
        ({"covariance": float("inf")}, "expected a number"),
        ({"covariance": ((1.0, 0.0), (0.0, 1.0))}, "4 rows of 4 numbers"),
        ({"taps": 2, "covariance": ((1.0, 2.0), (0.0, 1.0))}, "expected a symmetric matrix"),
        ({"covariance": True}, "4 rows of 4 numbers"),
        ({"memory": 0}, "above 0"),
        ({"least_gain": 1.5}, "at most 1"),
        ({"process": 3}, "expected a process model"),
        ({"process": first_order(1.0, 0.01), "initial": (1.0, 0.0, 0.0, 0.0)}, "two beginnings"),
        ({"process": first_order(1.0, 0.5)}, "for the rate"),
        ({"process": Process((1.0,), (1.0, 0.0))}, "a pole at 0"),
    ],
)
def test_silly_settings_are_refused(words, said):
    with pytest.raises(InputError, match=said):
        RecursiveFir(**words)


def test_a_first_stage_that_adapts_is_refused():
    from bondloop.control import AdaptivePrediction

    for stage in (AdaptivePrediction(), 0.005, None):
        with pytest.raises(InputError, match="expected a PolynomialPrediction"):
            TwoStageAdaptive(prediction=stage)
