"""Process models fitted in the time domain: known parameters come back, with honest intervals."""

import numpy as np
import pytest
from scipy.signal import lfilter

from bondloop.errors import InputError
from bondloop.identify.process.process_fit import ModelStructure, structure
from bondloop.identify.process.time_fit import _Record, fit_time
from bondloop.transfer.process import Process, first_order, second_order

T = 1e-3
TRUE = second_order(0.97, 22.0, 0.6, delay=0.00437)
"""A delay of 4.37 sample periods: no grid of whole samples holds it."""
KNOWN = {"gain": 0.97, "frequency": 22.0, "damping": 0.6, "delay": 0.00437}


def excitation(kind, samples, rng):
    t = np.arange(samples) * T
    if kind == "noise":
        return rng.normal(size=samples)
    if kind == "sweep":
        return np.sin(2 * np.pi * (0.5 * t + 30 * t**2 / t[-1]))
    if kind == "step":
        return np.where(t > 0.1, 1.0, 0.0)
    if kind == "steps":
        return np.repeat(rng.normal(size=samples // 100 + 1), 100)[:samples]
    f = np.arange(1, 60, 1.5)
    return np.sin(2 * np.pi * f[:, None] * t + rng.uniform(0, 6.28, f.size)[:, None]).sum(axis=0)


def noisy(G, u, rng, decibels=40.0, **options):
    y = G.simulate(u, T, **options)
    return y + 10 ** (-decibels / 20) * y.std() * rng.normal(size=y.size)


@pytest.mark.parametrize("kind", ["noise", "sweep", "step", "steps", "multisine"])
def test_g2d_comes_back_to_1_percent_and_a_tenth_of_a_sample_at_40_db(kind):
    """The issue's target: 1 % with 40 dB signal to noise, the delay to a tenth of a sample period."""
    rng = np.random.default_rng(7)
    u = excitation(kind, 4000, rng)
    fit = fit_time(u, noisy(TRUE, u, rng) + 0.2, T, "G2D")
    for name in ("gain", "frequency", "damping"):
        assert fit.parameters[name].value == pytest.approx(KNOWN[name], rel=0.01), name
    assert fit.process.delay == pytest.approx(TRUE.delay, abs=0.1 * T)
    assert fit.tests.white
    assert fit.tests.independent
    assert fit.fit == pytest.approx(99.0, abs=0.2)  # 1 - 10^(-40/20)


@pytest.mark.parametrize(
    ("model", "G", "known"),
    [
        ("G1", first_order(1.2, 0.02), {"gain": 1.2, "time_constant": 0.02}),
        ("G1D", first_order(-0.8, 0.02, 0.0123), {"gain": -0.8, "time_constant": 0.02, "delay": 0.0123}),
        ("G2", second_order(1.0, 9.0, 1.7), {"gain": 1.0, "frequency": 9.0, "damping": 1.7}),
        (
            "2 poles, 1 zero, delay",
            Process((0.01, 1.0), (1e-4, 0.012, 1.0), 0.0063),
            {"gain": 1.0, "zero_time_constant": 0.01, "damping": 0.6, "delay": 0.0063},
        ),
        (
            "3 poles, delay",
            Process((0.9,), tuple(np.convolve([0.02, 1.0], [1e-4, 0.008, 1.0])), 0.0031),
            {"gain": 0.9, "time_constant": 0.02, "damping": 0.4, "delay": 0.0031},
        ),
        (
            "4 poles, 1 zero",
            Process((0.03, 1.0), tuple(np.convolve([1e-3, 0.01, 1.0], [2e-5, 0.003, 1.0]))),
            {"gain": 1.0, "zero_time_constant": 0.03},
        ),
    ],
)
def test_other_structures_come_back(model, G, known):
    rng = np.random.default_rng(11)
    u = excitation("noise", 8000, rng)
    fit = fit_time(u, noisy(G, u, rng, 60.0), T, model)
    for name, value in known.items():
        assert fit.parameters[name].value == pytest.approx(value, rel=0.01), name
    assert sorted(fit.process.poles().real) == pytest.approx(sorted(G.poles().real), rel=0.02)


def test_without_noise_the_fit_is_exact():
    u = excitation("steps", 3000, np.random.default_rng(1))
    fit = fit_time(u, TRUE.simulate(u, T), T, "G2D", start="rest")
    assert fit.process.delay == pytest.approx(TRUE.delay, abs=1e-9)
    assert fit.process.response([5.0, 40.0]) == pytest.approx(TRUE.response([5.0, 40.0]), rel=1e-6)


def test_a_record_may_begin_in_the_middle_of_things():
    """A free beginning takes up what happened before; taken as rest it spoils the fit."""
    rng = np.random.default_rng(3)
    u = 1.0 + excitation("noise", 3000, rng)
    y = noisy(TRUE, u, rng, 60.0)
    free = fit_time(u[1500:], y[1500:], T, "G2D")
    rest = fit_time(u[1500:], y[1500:], T, "G2D", start="rest")
    assert free.parameters["damping"].value == pytest.approx(0.6, rel=0.002)
    assert rest.rms > 5 * free.rms


def test_a_step_in_the_first_sample():
    """A step test cut to its step: the input is constant, and only rest before it makes sense of it."""
    u = np.ones(600)
    y = TRUE.simulate(u, T)
    with pytest.raises(InputError, match=r"the input is constant .*start='rest'"):
        fit_time(u, y, T, "G2D")
    fit = fit_time(u, y, T, "G2D", start="rest", offset=False)
    assert fit.process.delay == pytest.approx(TRUE.delay, abs=1e-6)


def test_a_smooth_input_needs_the_first_hold():
    """Measured sine: taken as held it would look half a sample late."""
    t = np.arange(4000) * T
    u = np.sin(2 * np.pi * 8 * t) + np.sin(2 * np.pi * 21 * t)
    fine = np.arange(40_000) * (T / 10)
    smooth = np.sin(2 * np.pi * 8 * fine) + np.sin(2 * np.pi * 21 * fine)
    y = TRUE.simulate(smooth, T / 10, hold="first")[::10]
    straight, held = (fit_time(u, y, T, "G2D", hold=h).process.delay for h in ("first", "zero"))
    assert straight == pytest.approx(TRUE.delay, abs=0.02 * T)
    assert held == pytest.approx(TRUE.delay - 0.5 * T, abs=0.1 * T)


@pytest.mark.parametrize("start", ["free", "rest"])
@pytest.mark.parametrize(
    ("model", "theta"),
    [
        ("G1D", [1.1, 0.02, 0.0043]),
        ("G2D", [1.0, 0.01, 1e-4, 0.0043]),
        ("3 poles, 1 zero, delay", [1.0, 0.002, 0.01, 0.01, 1e-4, 0.0043]),
    ],
)
def test_the_gradient_is_that_of_the_cost(start, model, theta):
    """Central differences of the sum of squares, offset and beginning projected out."""
    s, theta = structure(model), np.array(theta)
    u = excitation("steps", 1200, np.random.default_rng(2))
    y = 0.1 + s.process(1.1 * theta).simulate(u, T)
    record = _Record(u, y, T, "zero", start, True, 0.02)
    r, J = record.evaluate(s, theta)
    for i in range(s.size):
        h = 1e-6 * theta[i] * np.eye(s.size)[i]
        above, below = (record.evaluate(s, theta + sign * h)[0] for sign in (1, -1))
        assert J[i] @ r == pytest.approx((above @ above - below @ below) / (4 * h[i]), rel=1e-4), i


@pytest.mark.slow
@pytest.mark.parametrize(
    ("colour", "runs", "least", "most"),
    [
        (0.0, 40, 34, 40),
        pytest.param(0.0, 200, 180, 198, marks=pytest.mark.nightly),
        pytest.param(0.9, 200, 180, 198, marks=pytest.mark.nightly),
    ],
)
def test_95_per_cent_intervals_hold_the_truth_as_often(colour, runs, least, most):
    """Seeded runs of 95 % intervals; the bounds are three standard deviations of the count away.

    With noise of one pole at 0.9 the white formula would give intervals too narrow by a factor of two or so.
    """
    samples = 2000 if colour else 1000  # of which noise of this colour leaves a tenth
    u = excitation("steps", samples, np.random.default_rng(5))
    clean = TRUE.simulate(u, T)
    hits = dict.fromkeys(KNOWN, 0)
    for seed in range(runs):
        e = lfilter([1.0], [1.0, -colour], np.random.default_rng(seed).normal(size=samples + 300))[300:]
        fit = fit_time(u, clean + 0.02 * clean.std() * e / e.std(), T, "G2D", start="rest", max_delay=0.02)
        for name, estimate in fit.parameters.items():
            hits[name] += estimate.low <= KNOWN[name] <= estimate.high
    assert all(least <= n <= most for n in hits.values()), hits


def test_names_and_phrases():
    assert structure("G2D") == ModelStructure(2, 0, True) == structure("2 + delay")
    assert structure("3 poles, 2 zeros") == ModelStructure(3, 2, False)
    assert structure("1 pole and 0 zeros, with a delay") == ModelStructure(1, 0, True)
    assert [structure(n).name for n in ("g1", "g1d", "3 poles,delay")] == ["G1", "G1D", "3 poles, delay"]
    with pytest.raises(InputError, match="cannot tell which model 'GX' means"):
        structure("GX")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda u, y: fit_time(u, y, T, "2 poles, 2 zeros"), "fewer zeros than poles"),
        (lambda u, y: fit_time(u, y, T, "2 poles, 3 zeros"), "improper"),
        (lambda u, y: fit_time(u, y, T, "12 poles"), "1 to 8 poles"),
        (
            lambda u, y: fit_time(u, y, T, "G2D", max_delay=3.0),
            "a delay longer than the record cannot be seen",
        ),
        (lambda u, y: fit_time(u[:10], y[:10], T, "G2"), "too few samples: found 10"),
        (lambda u, y: fit_time(u[:30], y[:30], T, "3 poles, 1 zero, delay"), "needs at least"),
        (lambda u, y: fit_time(u, 0 * y, T, "G2"), "output is constant"),
        (lambda u, y: fit_time(0 * u, y, T, "G2", start="rest"), "input is zero throughout"),
        (lambda u, y: fit_time(u, np.where(y > 1, np.nan, y), T, "G2"), "output is nan at sample"),
        (lambda u, y: fit_time(u[:-1], y, T, "G2"), "same number of samples"),
        (lambda u, y: fit_time(u, y, 0.0, "G2"), "sample_period: expected a number above 0"),
        (lambda u, y: fit_time(u, y, T, "G2", start="middle"), "start must be"),
    ],
)
def test_bad_input_is_refused_in_words(call, message):
    u = excitation("noise", 2000, np.random.default_rng(0))
    with pytest.raises(InputError, match=message):
        call(u, first_order(3.0, 0.01).simulate(u, T))
