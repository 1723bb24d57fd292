"""Each imperfection, executed statement by statement, against a NumPy loop or a closed form."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.philox import normal_array
from bondloop.engine.ir.tick import Delay
from bondloop.errors import InputError
from bondloop.extend import Context
from bondloop.rigs import (
    Backlash,
    Bias,
    Chain,
    GainError,
    Imperfection,
    LowPass,
    Nonlinearity,
    PureDelay,
    Quantisation,
    RateLimit,
    Saturation,
    WhiteNoise,
)

WAVE = 3 * np.sin(0.07 * np.arange(400)) + np.cos(0.31 * np.arange(400))


def test_noise_is_philox_normal_with_its_rms(execute):
    n = 20_000
    x = execute(WhiteNoise("0.5 N"), np.zeros(n), seed=7, stream=3)
    np.testing.assert_allclose(x, 0.5 * normal_array(7, 3, np.arange(n)), rtol=1e-12)
    # Standard errors: mean 0.5/√n, rms 0.5/√(2n), skewness √(6/n), kurtosis √(24/n); four of each.
    assert abs(x.mean()) < 4 * 0.5 / math.sqrt(n)
    assert abs(x.std() - 0.5) < 4 * 0.5 / math.sqrt(2 * n)
    z = x / x.std()
    assert abs((z**3).mean()) < 4 * math.sqrt(6 / n)
    assert abs((z**4).mean() - 3) < 4 * math.sqrt(24 / n)
    # White: correlations between samples are normal with deviation 1/√n.
    for lag in (1, 2, 10):
        assert abs((z[lag:] * z[:-lag]).mean()) < 4 / math.sqrt(n)


def test_streams_are_independent_and_repeatable(execute):
    n = 2000
    a, again = execute(WhiteNoise(1), WAVE, seed=1), execute(WhiteNoise(1), WAVE, seed=1)
    np.testing.assert_array_equal(a, again)
    two = Chain((WhiteNoise(1), WhiteNoise(1)))
    assert two.streams == 2
    x, y = execute(two, np.zeros(n)), execute(WhiteNoise(1), np.zeros(n))
    assert np.std(x) == pytest.approx(math.sqrt(2), rel=4 / math.sqrt(2 * n))  # doubled only if independent
    assert abs(np.corrcoef(x - y, y)[0, 1]) < 4 / math.sqrt(n)
    # A chain's second noise is not the noise of the neighbour's stream.
    assert not np.any(np.isclose(x - y, execute(WhiteNoise(1), np.zeros(n), stream=1)))


def test_bias_gain_and_saturation(execute):
    np.testing.assert_allclose(execute(Bias("2 mm"), WAVE), WAVE + 0.002)
    np.testing.assert_allclose(execute(GainError("-1.5 %"), WAVE), 0.985 * WAVE)
    np.testing.assert_array_equal(execute(Saturation(2.5), WAVE), np.clip(WAVE, -2.5, 2.5))
    np.testing.assert_array_equal(execute(Saturation("1 N", low=-3), WAVE), np.clip(WAVE, -3, 1))


def test_nonlinearity_has_its_stated_deviation(execute):
    x = np.linspace(-0.05, 0.05, 20_001)
    deviation = execute(Nonlinearity("0.11 %", "50 mm"), x) - x
    # The data sheet's number: ±0.11 % of a full scale of 50 mm is 55 µm.
    assert deviation.max() == pytest.approx(55e-6, rel=1e-6)
    assert deviation.min() == pytest.approx(-55e-6, rel=1e-6)
    assert deviation[[0, 10_000, -1]] == pytest.approx(0, abs=1e-15)


@given(
    bits=st.integers(2, 24),
    span=st.floats(1e-3, 1e5),
    values=st.lists(st.floats(-1, 1), min_size=1, max_size=30),
)
def test_quantisation_error_is_half_a_step(execute, bits, span, values):
    x = np.array(values) * span
    part = Quantisation(bits, span)
    y = execute(part, x)
    step = 2 * span / 2**bits
    assert part.resolution == pytest.approx(step)
    code = y / step
    np.testing.assert_allclose(code, np.round(code), atol=1e-6)
    inside = x <= span - step
    assert np.all(np.abs(y - x)[inside] <= step / 2 * (1 + 1e-9))
    assert np.all(y[~inside] >= span - 1.001 * step)
    assert np.all((y >= -span) & (y <= span - step * (1 - 1e-9)))


def test_quantisation_is_mid_tread_and_saturates(execute):
    # Three bits over ±4: steps of 1, levels -4 ... 3.
    x = np.array([-1e30, -4.6, -0.5, -0.49, 0.0, 0.49, 0.5, 3.4, 3.6, 1e30])
    expected = [-4, -4, 0, 0, 0, 0, 1, 3, 3, 3]
    np.testing.assert_array_equal(execute(Quantisation(3, 4), x), expected)
    # A uniformly spread signal has quantisation noise of step/√12.
    ramp = np.linspace(-3.5, 3.5, 7000, endpoint=False)  # seven whole steps
    error = execute(Quantisation(3, 4), ramp) - ramp
    assert np.sqrt(np.mean(error**2)) == pytest.approx(1 / math.sqrt(12), rel=0.01)


@pytest.mark.parametrize("periods", [0, 1, 2, 7])
def test_whole_delays_are_exact(execute, periods):
    y = execute(PureDelay(periods * 0.01, initial=9), WAVE)
    np.testing.assert_array_equal(y[periods:], WAVE[: len(WAVE) - periods])
    np.testing.assert_array_equal(y[:periods], 9)
    applied = PureDelay(periods * 0.01).apply(Var("u"), Context("x", Var("n"), 0.01))
    assert [s.length for s in applied.steps if isinstance(s, Delay)] == ([periods] if periods else [])


@pytest.mark.parametrize("periods", [0.3, 1.0 - 1e-4, 2.5, 6.75])
def test_a_delay_between_samples_interpolates(execute, periods):
    # Interpolating sin(θk) between k-w and k-w-1 by f: |H| = |1 - f + f exp(-iθ)|, phase -(wθ + arg).
    theta = 0.2
    k = np.arange(300)
    y = execute(PureDelay(periods * 0.01), np.sin(theta * k))
    whole = math.floor(periods)
    f = periods - whole
    h = np.exp(-1j * theta * whole) * (1 - f + f * np.exp(-1j * theta))
    expected = abs(h) * np.sin(theta * k + np.angle(h))
    np.testing.assert_allclose(y[whole + 1 :], expected[whole + 1 :], atol=1e-12)
    if periods == 2.5:  # symmetric: exactly 2.5 periods late, amplitude cos(θ/2)
        np.testing.assert_allclose(y[3:], math.cos(theta / 2) * np.sin(theta * (k[3:] - 2.5)), atol=1e-12)


def play(inputs, width, start=0.0):
    w, result = start, []
    for u in inputs:
        w = max(u - width / 2, min(u + width / 2, w))
        result.append(w)
    return np.array(result)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=40), st.floats(0, 4), st.floats(-1, 1))
def test_backlash_is_the_play_operator(execute, inputs, width, start):
    np.testing.assert_allclose(
        execute(Backlash(width, start), inputs), play(inputs, width, start), atol=1e-14
    )


def test_backlash_loop_area(execute):
    # A play of half-width r under a sine of amplitude A has a loop of area ∮ w du = 2r * 2(A - r), a
    # parallelogram with sides 2r (horizontally) and 2(A - r) (height); Krasnosel'skii and Pokrovskii 1989.
    amplitude, width, n = 2.0, 0.6, 4000
    u = amplitude * np.sin(2 * np.pi * np.arange(3 * n + 1) / n)
    w = execute(Backlash(width), u)
    last = slice(2 * n, 3 * n + 1)
    area = abs(np.trapezoid(w[last], u[last]))
    assert area == pytest.approx(width * 2 * (amplitude - width / 2), rel=1e-5)
    assert np.abs(w - u).max() <= width / 2 + 1e-15
    # Rest inside the gap is exact: no drift, however long.
    small = execute(Backlash(width, initial=0.1), 0.1 + 0.2 * np.sin(np.arange(1000)))
    np.testing.assert_array_equal(small, 0.1)


def test_rate_limit(execute):
    y = execute(RateLimit(50.0), WAVE, period=0.01)
    last, expected = 0.0, []
    for u in WAVE:
        last += np.clip(u - last, -0.5, 0.5)
        expected.append(last)
    np.testing.assert_allclose(y, expected, atol=1e-14)
    step = execute(RateLimit("10 mm/s"), np.ones(5) * 2.5e-4, period=0.01)
    np.testing.assert_allclose(step, [1e-4, 2e-4, 2.5e-4, 2.5e-4, 2.5e-4])


def test_low_pass_is_exact_for_a_ramp_and_close_for_a_sine(execute):
    f, h = 12.0, 0.005
    w = 2 * math.pi * f
    t = h * np.arange(200)
    # u = t from rest: y = t - (1 - exp(-ωt))/ω.
    np.testing.assert_allclose(execute(LowPass(f), t, period=h), t - (1 - np.exp(-w * t)) / w, atol=1e-14)
    # Steady state at the corner: gain 1/√2 and 45 degrees; linear interpolation of the sine costs (Ωh)²/12.
    t = h * np.arange(2000)
    y = execute(LowPass(f), np.sin(w * t), period=h)
    expected = np.sin(w * t - np.pi / 4) / math.sqrt(2)
    np.testing.assert_allclose(y[1000:], expected[1000:], atol=(w * h) ** 2 / 12)


def test_a_chain_passes_from_part_to_part(execute):
    parts = [
        GainError(0.1),
        PureDelay(0.02),
        Backlash(0.3),
        Quantisation(12, 10),
        PureDelay(0.01),
        Saturation(2),
    ]
    y = execute(Chain(parts), WAVE)
    late = np.concatenate([[0, 0], 1.1 * WAVE[:-2]])
    slack = play(late, 0.3)
    levels = np.floor(slack / (10 / 2048) + 0.5) * (10 / 2048)
    np.testing.assert_allclose(y, np.clip(np.concatenate([[0], levels[:-1]]), -2, 2), atol=1e-12)
    names = [v.name for v in Chain(parts).apply(Var("u"), Context("rig.x", Var("n"), 0.01)).states]
    assert names == ["rig.x.backlash2.play"]


@pytest.mark.parametrize(
    "part", [Saturation(1), Backlash(0.1), RateLimit(1), LowPass(5), Nonlinearity(0.01, 1)]
)
def test_nan_is_passed_on(execute, part):
    assert math.isnan(execute(part, [0.0, math.nan])[1])


positive = st.floats(1e-6, 1e6)
parts = st.one_of(
    st.builds(WhiteNoise, positive),
    st.builds(Bias, st.floats(-1e9, 1e9)),
    st.builds(GainError, st.floats(-1, 1)),
    st.builds(Nonlinearity, st.floats(-1, 1), positive),
    st.builds(Quantisation, st.integers(2, 32), positive),
    st.builds(Saturation, positive),
    st.builds(lambda a, b: Saturation(a, -b), positive, positive),
    st.builds(PureDelay, positive, st.floats(-1, 1)),
    st.builds(Backlash, positive, st.floats(-1, 1)),
    st.builds(RateLimit, positive),
    st.builds(LowPass, positive),
)


@given(st.one_of(parts, st.lists(parts, max_size=4).map(Chain)))
def test_a_description_is_the_imperfection(part):
    again = Imperfection.from_description(json.loads(json.dumps(part.describe())))
    assert again == part
    assert hash(again) == hash(part)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WhiteNoise(-1), r"WhiteNoise\(rms\): expected a number at least 0"),
        (lambda: WhiteNoise("1 xyz"), "unknown unit"),
        (lambda: Quantisation(1, 5), "whole number from 2 to 32"),
        (lambda: Quantisation(12.5, 5), "whole number"),
        (lambda: Quantisation(12, 0), "above 0"),
        (lambda: Saturation(1, 2), "low below high"),
        (lambda: Saturation(-1), "low below high"),
        (lambda: PureDelay(-1), "at least 0"),
        (lambda: PureDelay(math.inf), "finite"),
        (lambda: Backlash(-1), "at least 0"),
        (lambda: RateLimit(0), "above 0"),
        (lambda: LowPass(0), "above 0"),
        (lambda: Chain((3,)), "expected imperfections"),
        (lambda: Imperfection.from_description({"imperfection": "Nois"}), "did you mean 'WhiteNoise'"),
        (lambda: Imperfection.from_description({"signal": "WhiteNoise"}), "the entry 'imperfection'"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InputError, match=message):
        make()
