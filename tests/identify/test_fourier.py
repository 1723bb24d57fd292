"""Stepped sines: against closed forms of sines, harmonics, noise and a second-order system."""

import numpy as np
import pytest
import scipy.signal as sg

from bondloop.errors import InputError
from bondloop.identify import (
    Data,
    SteppedSine,
    fourier_point,
    multisine,
    nonlinearity,
    stepped_sine,
    stepped_sine_plan,
)

H = 1e-3
# A lightly damped actuator: 20 Hz, damping ratio 0.3.
W, Z = 2 * np.pi * 20, 0.3
SYSTEM = sg.TransferFunction([W**2], [1, 2 * Z * W, W**2])
NUMERATOR, DENOMINATOR, _ = sg.cont2discrete((SYSTEM.num, SYSTEM.den), H, "zoh")
NUMERATOR = NUMERATOR.ravel()


def sampled_response(f):
    """Return the exact response of the held system at frequencies."""
    return sg.freqz(NUMERATOR, DENOMINATOR, worN=2 * np.pi * np.asarray(f, dtype=float) * H)[1]


@pytest.mark.parametrize("f", [5.0, 7.3, 31.7, 123.4])  # periods of 200, 136.99, 31.5 and 8.1 samples
def test_known_sines_with_offset_and_harmonics(f):
    t = np.arange(1234) * H
    w = 2 * np.pi * f
    u = 0.3 + 2 * np.cos(w * t + 0.4)
    y = -1 + 3 * np.cos(w * t - 0.5) + 0.06 * np.cos(2 * w * t) + 0.08 * np.sin(3 * w * t + 1)
    point = fourier_point(u, y, f, H)
    assert point.response == pytest.approx(1.5 * np.exp(-0.9j), rel=1e-9)
    assert point.amplitude == pytest.approx(2.0)
    assert point.output_lines[0].real == pytest.approx(-1.0)
    assert point.distortion == pytest.approx(0.1 / 3, rel=1e-6)  # √(0.06² + 0.08²)/3
    assert point.input_distortion == pytest.approx(0, abs=1e-9)
    assert point.noise == pytest.approx(0, abs=1e-9)
    assert point.drift == pytest.approx(0, abs=2e-2)
    assert point.periods == int(1234 * H * f)


def test_deviation_and_noise_are_those_of_seeded_runs():
    t = np.arange(500) * H
    u = np.sin(2 * np.pi * 10 * t)
    found = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        noisy = u + 0.1 * rng.normal(size=t.size)
        y = 0.5 * np.sin(2 * np.pi * 10 * t - 1) + 0.2 * rng.normal(size=t.size)
        found.append(fourier_point(noisy, y, 10.0, H))
    g = np.array([point.response for point in found])
    truth = 0.5 * np.exp(-1j)
    for part in ((g - truth).real, (g - truth).imag):
        # 200 runs know a standard deviation to 5 %; three times that is allowed.
        assert part.std() == pytest.approx(np.mean([point.deviation for point in found]), rel=0.15)
    # Noise to signal: 0.2 over 0.5/√2.
    assert np.mean([point.noise for point in found]) == pytest.approx(0.2 * np.sqrt(2) / 0.5, rel=0.02)
    seen = np.sqrt(np.mean([point.distortion**2 for point in found]))
    assert seen == pytest.approx(np.mean([point.distortion_floor for point in found]), rel=0.05)


def test_a_point_that_has_not_settled_is_found():
    u = np.sin(2 * np.pi * 20 * np.arange(8000) * H)
    b, a, _ = sg.cont2discrete(([W**2], [1, 0.02 * W, W**2]), H, "zoh")
    y = sg.lfilter(
        b.ravel(), a, u
    )  # at resonance, damping ratio 0.01: it grows with a time constant of 0.8 s
    moving = fourier_point(u[:1000], y[:1000], 20.0, H)
    assert not moving.settled
    assert "had not settled" in SteppedSine.from_points([moving]).warnings[0]
    assert fourier_point(u[7000:], y[7000:], 20.0, H).settled  # e^{-8.8}


@pytest.mark.parametrize(
    ("n", "f", "message"),
    [
        (50, 10.0, "no whole period of 10 Hz; measure for at least 0.1 s"),
        (500, 600.0, "not below half the sample rate"),
        (500, 20.0, "input has nothing at 20 Hz"),
    ],
)
def test_points_that_cannot_be_measured(n, f, message):
    u = np.sin(2 * np.pi * 10 * np.arange(n) * H)
    with pytest.raises(InputError, match=message):
        fourier_point(u, u, f, H)


def test_plan_has_whole_periods():
    plan = stepped_sine_plan([3, 7.7], ["1 mm"], settling=0.5, periods=6, rate=1000)
    for point in plan:
        measured = (point.samples - point.settling) * H
        assert measured >= 6 / point.frequency - H
        assert point.settling * H >= 0.5 - 1e-12
        assert abs(point.settling * H * point.frequency - round(point.settling * H * point.frequency)) < 0.01
    assert plan.samples().size == plan.points[-1].first + plan.points[-1].samples
    assert plan.points[1].first == plan.points[0].samples
    with pytest.raises(InputError, match="half the sample rate"):
        stepped_sine_plan([600], [1], 0, 5, 1000)
    with pytest.raises(InputError, match="amplitudes must be positive"):
        stepped_sine_plan([6], [0], 0, 5, 1000)


def test_planned_test_of_a_second_order_system():
    f = np.array([2.0, 8.0, 15.0, 20.0, 33.3, 60.0])
    plan = stepped_sine_plan(f, [1.0, 3.0], settling=0.6, periods=10, rate=1000)  # e^{-0.6·0.3·126} = 1e-10
    u = plan.samples()
    y = sg.lfilter(NUMERATOR, DENOMINATOR, u)
    pair = Data.from_arrays({"u": u, "y": y}, rate=1000).select("u", "y")
    found = stepped_sine(pair, plan)
    np.testing.assert_allclose(found.frequency, f)
    np.testing.assert_allclose(found.amplitude, [1, 3])
    for row in found.response:
        np.testing.assert_allclose(row, sampled_response(f), rtol=1e-7)
    np.testing.assert_allclose(found.phase[0], np.unwrap(np.angle(sampled_response(f))), rtol=1e-6)
    np.testing.assert_allclose(found.at(2.9).response, sampled_response(f), rtol=1e-7)
    np.testing.assert_allclose(found.mean().response, sampled_response(f), rtol=1e-7)
    # The continuous system lies half a sample ahead: the hold delays by h/2 and sin(x)/x of 60 Hz is 0.994.
    exact = SYSTEM.freqresp(2 * np.pi * f)[1] * np.exp(-1j * np.pi * f * H)
    np.testing.assert_allclose(found.response[0], exact, rtol=0.007)
    assert nonlinearity(found).grade == "linear"
    with pytest.raises(InputError, match="the record ends after"):
        stepped_sine(pair, stepped_sine_plan(f, [1, 3, 9], 0.6, 10, 1000))
    with pytest.raises(InputError, match="mixed sample rates"):
        stepped_sine(pair, stepped_sine_plan(f, [1], 0.6, 10, 2000))


def test_records_in_any_order_with_holes_in_the_grid():
    t = np.arange(2000) * H

    def measure(f, a):
        u = a * np.sin(2 * np.pi * f * t)
        return u, sg.lfilter(NUMERATOR, DENOMINATOR, u)

    tones, sizes = [20, 5, 5, 10], [2.0, 1.0, 2.02, 1.01]  # actuators miss amplitudes by a little
    found = stepped_sine(
        [measure(f, a) for f, a in zip(tones, sizes, strict=True)],
        frequencies=tones,
        sample_period=H,
        settling=0.5,
    )
    np.testing.assert_allclose(found.amplitude, [1.005, 2.01])
    np.testing.assert_array_equal(np.isfinite(found.gain), [[True, True, False], [True, False, True]])
    np.testing.assert_array_equal(found.at(1.0).frequency, [5, 10])
    np.testing.assert_allclose(found.mean().response, sampled_response([5, 10, 20]), rtol=1e-6)
    with pytest.raises(InputError, match="2 records and 1 frequencies"):
        stepped_sine([measure(5, 1), measure(6, 1)], frequencies=[5], sample_period=H)


def cubic(a, b, f=5.0, noise=0.0, seed=0):
    t = np.arange(2000) * H
    u = a * np.sin(2 * np.pi * f * t)
    return u, u + b * u**3 + noise * np.random.default_rng(seed).normal(size=t.size)


def test_a_cubic_has_its_describing_function():
    # u + b u³ of a sine: (1 + 3/4 b a²) a at the frequency, b a³/4 at three times the frequency.
    for a in (0.5, 1.0, 2.0):
        point = fourier_point(*cubic(a, 0.1), 5.0, H)
        assert point.gain == pytest.approx(1 + 0.075 * a**2)
        assert point.distortion == pytest.approx(0.025 * a**2 / (1 + 0.075 * a**2))


def grade_of(b, noise=0.0, amplitudes=(0.5, 1.0, 2.0)):
    records = [cubic(a, b, noise=noise, seed=i) for i, a in enumerate(amplitudes)]
    return nonlinearity(stepped_sine(records, frequencies=[5.0] * len(records), sample_period=H))


def test_verdicts():
    strong, mild, linear = grade_of(0.1), grade_of(0.02), grade_of(1e-3)
    assert (strong.grade, mild.grade, linear.grade) == ("strong", "mild", "linear")
    assert strong.gain_change == pytest.approx((1.3 - 1.01875) / np.mean([1.01875, 1.075, 1.3]))
    assert strong.distortion == pytest.approx(0.1 / 1.3)
    assert strong.distortion_at == pytest.approx((5.0, 2.0))
    assert "from 1.02 to 1.3" in strong.verdict
    assert "fit one for each amplitude" in str(strong)


def test_noise_alone_is_no_nonlinearity():
    found = grade_of(0.0, noise=0.3)
    assert found.grade == "linear"
    assert found.gain_change == 0.0
    assert found.noise == pytest.approx(0.3 * np.sqrt(2), rel=0.1)  # of amplitude 1, the median


def test_one_amplitude_cannot_tell():
    found = grade_of(0.0, noise=1e-3, amplitudes=(1.0,))
    assert found.grade == "unknown"
    assert np.isnan(found.gain_change)
    assert "three amplitudes" in found.verdict


def test_square_wave_distortion():
    t = (np.arange(10000) + 0.5) * 1e-4
    square = np.sign(np.sin(2 * np.pi * 5 * t))
    # Lines of 1/k at odd k: √(1/9 + 1/25 + 1/49 + 1/81).
    expected = np.sqrt(sum(1 / k**2 for k in (3, 5, 7, 9)))
    assert fourier_point(square, square, 5.0, 1e-4, harmonics=10).distortion == pytest.approx(
        expected, rel=1e-3
    )


def test_multisine_has_equal_lines_and_a_low_crest():
    wave = multisine(1, 50, period=4, rms=2.0)(np.arange(4000) * H)
    lines = np.abs(np.fft.rfft(wave)) * 2 / 4000
    inside = np.zeros(lines.size, dtype=bool)
    inside[4:201] = True  # 1 to 50 Hz in steps of 0.25 Hz
    np.testing.assert_allclose(lines[inside], 2 * np.sqrt(2 / 197), rtol=1e-9)
    assert lines[~inside].max() < 1e-9
    assert np.abs(wave).max() < 2 * wave.std()
    with pytest.raises(InputError, match="take a longer period"):
        multisine(1.1, 1.9, period=1)
