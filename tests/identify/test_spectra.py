"""Averaged spectra: Parseval, coherence of a noisy linear system, a known frequency response."""

import numpy as np
import pytest
import scipy.signal as sg

from bondloop.errors import InputError
from bondloop.identify import spectral_response, spectral_surface
from bondloop.identify.spectra import power_spectrum

H = 1e-3
N = 60_000


def white(seed, n=N):
    return np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize("ratio", [0.1, 1.0, 3.0])
def test_coherence_of_noise_on_the_output(ratio):
    # γ² = 1/(1 + N/S); n averages lift it by (1 − γ²)²/n (Bendat and Piersol, table 9.6).
    u = white(1)
    found = spectral_response(u, u + np.sqrt(ratio) * white(2), H, segments=100)
    expected = 1 / (1 + ratio)
    scatter = np.sqrt(2 * expected) * (1 - expected) / np.sqrt(found.averages)
    lines = found.coherence.size
    assert found.coherence.mean() == pytest.approx(
        expected + (1 - expected) ** 2 / found.averages, abs=4 * scatter / np.sqrt(lines / 2)
    )
    assert np.median(found.noise_to_signal) == pytest.approx(ratio, rel=0.1)


def test_h1_ignores_output_noise_and_h2_input_noise():
    x = white(3)
    noisy_out = spectral_response(x, 2 * x + 2 * white(4), H, segments=60)
    noisy_in = spectral_response(x + white(5), 2 * x, H, segments=60)
    assert abs(noisy_out.h1.mean()) == pytest.approx(2, rel=0.02)
    assert abs(noisy_out.h2).mean() == pytest.approx(4, rel=0.1)  # biased by 1/γ² = 2
    assert abs(noisy_in.h2.mean()) == pytest.approx(2, rel=0.02)
    assert abs(noisy_in.h1.mean()) == pytest.approx(1, rel=0.05)  # biased by γ² = 1/2


def test_response_of_a_second_order_system_within_its_deviation():
    w, z = 2 * np.pi * 20, 0.3
    b, a, _ = sg.cont2discrete(([w**2], [1, 2 * z * w, w**2]), H, "zoh")
    u = white(6)
    y = sg.lfilter(b.ravel(), a, u) + 0.1 * white(7)
    found = spectral_response(u, y, H, segments=30)
    band = found.frequency < 60
    exact = sg.freqz(b.ravel(), a, worN=2 * np.pi * found.frequency * H)[1]
    miss = (found.h1 - exact)[band] / found.deviation[band]
    assert np.mean(np.abs(miss.real) < 2) == pytest.approx(0.954, abs=0.06)
    assert np.mean(np.abs(miss.imag) < 2) == pytest.approx(0.954, abs=0.06)
    assert found.response(0.5).frequency.size < found.frequency.size
    np.testing.assert_allclose(np.abs(found.h1), np.abs(found.h2) * found.coherence, rtol=1e-9)


def test_overlapping_segments_are_worth_less_than_their_number():
    # Hann with half overlap: n segments are worth n / (1 + 2/36 (1 − 1/n)) (Welch 1967: ρ² = 1/36).
    found = spectral_response(white(8), white(9), H, segments=99)
    assert found.averages == pytest.approx(99 / (1 + 2 / 36 * (1 - 1 / 99)), rel=0.02)
    apart = spectral_response(white(8), white(9), H, segments=50, overlap=0.0)
    assert apart.averages == pytest.approx(50)


def test_parseval():
    x = white(10, 8000) + np.sin(np.arange(8000) * 0.3)
    found = power_spectrum(x, H)
    # Exactly: the mean over the 8 segments of the power under the window.
    w = sg.get_window("hamming", 1000)
    parts = x.reshape(8, 1000)
    parts = parts - parts.mean(axis=1, keepdims=True)
    expected = np.mean((parts**2 * w**2).sum(axis=1) / (w**2).sum())
    assert found.density.sum() * found.frequency[1] == pytest.approx(expected, rel=1e-9)
    assert expected == pytest.approx(x.var(), rel=0.02)
    assert found.frequency[1] == pytest.approx(1.0)  # 1 s of segment


def test_white_noise_is_flat():
    found = power_spectrum(0.5 * white(11), H, segments=200)
    # 0.25 unit² over 500 Hz, one-sided
    assert found.density[2:-2].mean() == pytest.approx(0.25 / 500, rel=0.02)


def test_surface_shows_excitation_and_harmonics():
    t = np.arange(8000) * H
    tones = [30.0, 10.0, 20.0]
    rows = [np.sin(2 * np.pi * f * t) + 0.1 * np.sin(6 * np.pi * f * t) for f in tones]
    rows[1] = np.tile(rows[1], 2)  # a longer record shares the frequency axis
    found = spectral_surface(rows, tones, H)
    np.testing.assert_array_equal(found.excitation, [10, 20, 30])
    assert found.density.shape == (3, 501)
    for f, row in zip(found.excitation, found.density, strict=True):
        assert found.frequency[row.argmax()] == f
        third = row[int(3 * f)] / row[int(f)]
        assert third == pytest.approx(0.01, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: power_spectrum(np.ones(100), H), "record longer, or take fewer segments"),
        (lambda: spectral_response(white(1), white(2), H, segments=1), "coherence 1 whatever"),
        (lambda: spectral_response(np.ones(1000), white(2, 1000), H), "does not vary"),
        (lambda: spectral_response(white(1), white(2), H, segments=100).response(0.9), "coherence reaches"),
        (lambda: power_spectrum(np.where(np.arange(999) == 5, np.nan, 1.0), H), "not finite"),
        (lambda: spectral_surface([white(1)], [1.0, 2.0], H), "1 responses and 2"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()
