"""Adaptive time series and adaptive model-based compensation: the true inverse, found while running."""

import numpy as np
import pytest

from bondloop.control import AdaptiveModelBased, AdaptiveTimeSeries, ConditionalTimeSeries, Direct
from bondloop.control.blocks.least_squares import MovingWindow, solve_symmetric
from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.errors import InputError
from bondloop.transfer import Process, first_order, second_order

PERIOD = 0.001
T = np.arange(20000) * PERIOD
DEMAND = sum(
    0.005 / np.sqrt(f) * np.sin(2 * np.pi * f * T + phase)
    for f, phase in ((0.7, 1.0), (1.9, 2.0), (3.1, 4.0), (5.3, 5.0))
)


def inverse(process, order):
    """Coefficients of e^(s T/2) a(s)/b: the exact inverse, and half a period for the held command."""
    a = np.array(process.denominator[::-1]) / process.numerator[0]
    a = np.concatenate([a, np.zeros(order + 1 - len(a))])
    h = PERIOD / 2
    return [sum(a[i] * h ** (j - i) / [1, 1, 2, 6][j - i] for i in range(j + 1)) for j in range(order + 1)]


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


@pytest.mark.parametrize(
    ("compensator", "process", "tolerances"),
    [
        (AdaptiveTimeSeries(), second_order(0.95, 15.0, 0.8), (1e-3, 5e-3, 5e-3)),
        (AdaptiveTimeSeries(order=1), first_order(1.1, 0.008), (1e-3, 1e-2)),
        (AdaptiveModelBased(), second_order(0.95, 15.0, 0.8), (2e-3, 5e-3, 1e-2)),
        (AdaptiveModelBased(order=1), first_order(1.1, 0.008), (1e-3, 1e-2)),
        (ConditionalTimeSeries(), second_order(0.95, 15.0, 0.8), (1e-3, 5e-3, 5e-3)),
        (ConditionalTimeSeries(order=1), first_order(1.1, 0.008), (1e-3, 1e-2)),
    ],
    ids=["ATS 2", "ATS 1", "gradient 2", "gradient 1", "CATS 2", "CATS 1"],
)
def test_the_coefficients_become_those_of_the_inverse(compensator, process, tolerances, loop):
    result = loop(compensator, process, DEMAND)
    wanted = inverse(process, compensator.order)
    for j, (value, tolerance) in enumerate(zip(wanted, tolerances, strict=True)):
        assert result[f"controller.a{j}"][-1] == pytest.approx(value, rel=tolerance)
    late = slice(10000, None)
    assert rms(result["motion"][late] - DEMAND[late]) < 5e-3 * rms(DEMAND[late])


def test_a_pure_delay_is_expanded_into_its_taylor_series(loop):
    """Chae 2013: for a delay t the coefficients are 1, t, t^2/2, here 12 ms and half a period."""
    process = Process((1.0,), (1e-4, 1.0), 0.012)
    result = loop(AdaptiveTimeSeries(delay=0.005), process, DEMAND)
    assert result["controller.a0"][-1] == pytest.approx(1.0, rel=0.01)
    assert result["controller.a1"][-1] == pytest.approx(0.0126, rel=0.02)
    late = slice(10000, None)
    direct = loop(AdaptiveTimeSeries(threshold=1e3), process, DEMAND)  # never adapts: sends the demand
    assert np.all(direct["controller.a1"] == 0)
    errors = [rms(r["motion"][late] - DEMAND[late]) for r in (result, direct)]
    assert errors[0] < 0.05 * errors[1]


def test_noise_on_the_sensor_is_filtered(loop):
    process = second_order(0.95, 15.0, 0.8)
    noise = np.random.default_rng(0).normal(scale=2e-5, size=len(T))
    result = loop(AdaptiveTimeSeries(), process, DEMAND, noise=noise)
    for j, value in enumerate(inverse(process, 2)):
        assert result[f"controller.a{j}"][-1] == pytest.approx(value, rel=0.05)


def test_a_single_sine_keeps_what_it_cannot_tell_near_the_beginning(loop):
    """x and its second derivative are the same sine: only a0 - w^2 a2 and a1 can be known."""
    w = 2 * np.pi * 3
    x = 0.01 * np.sin(w * T)
    process = second_order(0.95, 15.0, 0.8)
    result = loop(AdaptiveTimeSeries(), process, x)
    a = [result[f"controller.a{j}"][-1] for j in range(3)]
    b = inverse(process, 2)
    assert a[0] - w**2 * a[2] == pytest.approx(b[0] - w**2 * b[2], rel=2e-3)
    late = slice(10000, None)
    assert rms(result["motion"][late] - x[late]) < 5e-3 * rms(x)


def test_small_motions_change_nothing(loop):
    process = first_order(1.0, 0.01)
    result = loop(AdaptiveTimeSeries(delay=0.02), process, 1e-3 * DEMAND)
    assert np.ptp(result["controller.a1"]) == 0
    gradient = loop(AdaptiveModelBased(delay=0.02), process, 1e-4 * DEMAND)
    assert np.ptp(gradient["controller.a1"]) == 0


@pytest.mark.parametrize("kind", [AdaptiveTimeSeries, AdaptiveModelBased, ConditionalTimeSeries])
def test_a_beginning_away_from_zero_is_no_motion(kind, alone):
    """Filters that began with zeros would see a jump of command and motion at once: no delay at all."""
    x = np.full(1500, 0.02)
    found = alone(kind(process=first_order(0.9, 0.02)), x, x, backend="c")
    assert found["command"] == pytest.approx(x / 0.9, abs=1e-12)
    assert np.ptp(found["controller.a1"]) == 0


def test_coefficients_move_no_faster_than_their_slew(loop):
    result = loop(AdaptiveTimeSeries(slew=0.2), second_order(0.95, 15.0, 0.8), DEMAND)
    assert np.abs(np.diff(result["controller.a1"])).max() <= 0.2 * PERIOD * 0.05 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"delay": 0.1}, "expected delay of 0.1 s is longer than the largest"),
        ({"least_gain": 1.2}, "least_gain must be at most 1"),
        ({"order": 4}, "from 1 to 3"),
        ({"process": 0.02}, r"\(process\): expected a process model"),
        ({"process": first_order(1.0, 0.01), "delay": 0.01}, "two beginnings"),
        ({"process": first_order(1.0, 0.06)}, "has 0.06 s for the rate"),
        ({"process": first_order(0.4, 0.01)}, "has a gain of 2.5"),
        ({"process": Process((1.0,), (0.01, 1.0, 0.0))}, "a pole at 0"),
        ({"process": Process((1.0, 0.0), (0.01, 1.0, 1.0))}, "a zero at 0"),
    ],
)
def test_impossible_settings_are_refused(options, reason):
    for kind in (AdaptiveTimeSeries, AdaptiveModelBased, ConditionalTimeSeries):
        with pytest.raises(InputError, match=reason):
            kind(**options)


def test_whether_it_adapts_is_said():
    assert AdaptiveTimeSeries().adapts
    assert AdaptiveTimeSeries().sampled
    assert not Direct().adapts


def test_moving_sums_are_those_of_numpy():
    """Four parts of five samples: after n samples the newest 15 to 20 are in it."""
    x, count = Var("x"), Var("k")
    applied, sums = MovingWindow(20).sums([x, x * x], Context("c", count, 0.01), "sum")
    channels = tuple(Channel(f"s{i}", s) for i, s in enumerate(sums))
    tick = Tick("sums", 0.01, Var("t"), count, (x,), applied.states, {}, tuple(applied.steps), channels)
    data = np.random.default_rng(1).normal(size=200)
    data[50] = 1e12  # gone without a trace once it has left the window
    for backend in ("numpy", "c"):
        found = Runner(tick, backend).run(200, data[:, None]).channels
        for k in range(80, 200):
            newest = data[k - k % 5 - 15 : k + 1]
            assert found["s0"][k] == pytest.approx(newest.sum(), abs=1e-12)
            assert found["s1"][k] == pytest.approx((newest**2).sum(), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_small_systems_are_solved_as_numpy_does(n):
    rng = np.random.default_rng(n)
    B = rng.normal(size=(n, n))
    M, r = B @ B.T + 0.1 * np.eye(n), rng.normal(size=n)
    inputs = [[Var(f"m{i}{j}") for j in range(n)] for i in range(n)]
    right = [Var(f"r{i}") for i in range(n)]
    steps, solution = solve_symmetric(inputs, right, "solve")
    channels = tuple(Channel(f"x{i}", v) for i, v in enumerate(solution))
    flat = tuple(v for row in inputs for v in row)
    tick = Tick("solve", 1.0, Var("t"), Var("k"), (*flat, *right), {}, {}, tuple(steps), channels)
    found = Runner(tick, "numpy").run(1, np.concatenate([M.ravel(), r])[None]).channels
    assert [found[f"x{i}"][0] for i in range(n)] == pytest.approx(np.linalg.solve(M, r), rel=1e-10)


@pytest.mark.parametrize("kind", [AdaptiveTimeSeries, AdaptiveModelBased, ConditionalTimeSeries])
@pytest.mark.parametrize("ahead", [0.5, 1.0, 2.75])
def test_the_motion_leads_by_as_many_samples_as_it_should(kind, ahead, loop):
    """Against the demand itself so much later; a1 is larger by as many periods."""
    process = second_order(0.95, 15.0, 0.8)
    result = loop(kind(order=3, ahead=ahead), process, DEMAND)  # of order 2, the third term goes into a1
    late = slice(10000, 19000)
    wanted = np.interp(T + ahead * PERIOD, T, DEMAND)[late]
    assert rms(result["motion"][late] - wanted) < 5e-3 * rms(wanted)
    plain = loop(kind(order=3), process, DEMAND)
    more = result["controller.a1"][-1] - plain["controller.a1"][-1]
    assert more == pytest.approx(ahead * PERIOD * plain["controller.a0"][-1], rel=0.05)
