"""Response spectra against closed forms and a fine integration; intensities and scaling against theirs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from bondloop.errors import InputError
from bondloop.results import GroundMotion, response_spectrum
from bondloop.results.motions.ground_motion import ResponseSpectrum

G = 9.80665


@pytest.mark.parametrize("zeta", [0.0, 0.02, 0.2])
def test_a_lasting_push(zeta):
    """x ω² = 1 - e^{-ζωt}(cos + ζ/√(1-ζ²) sin): the overshoot is 1 + e^{-πζ/√(1-ζ²)} (any textbook)."""
    spectrum = response_spectrum(np.ones(4001), 0.01, [0.05, 0.3, 1.0, 7.0], zeta)
    expected = 1 + np.exp(-np.pi * zeta / np.sqrt(1 - zeta**2))
    np.testing.assert_allclose(spectrum.pseudo_acceleration, expected, rtol=2e-5)


def test_a_stiff_oscillator_follows_the_ground_and_a_soft_one_stays():
    t = np.arange(2001) * 0.01
    ground = np.sin(2 * np.pi * t / 4) * (
        t <= 4.0
    )  # one whole sine: velocity 4/2π(1 - cos), displacement 4t/2π...
    spectrum = response_spectrum(ground, 0.01, [0.01, 4000.0], 0.05)
    assert spectrum.acceleration[0] == pytest.approx(1.0, rel=1e-3)  # the ground's
    moved = 4 / (2 * np.pi) * t[400]  # displacement at the end of the sine, and velocity zero then
    assert spectrum.displacement[1] == pytest.approx(moved, rel=2e-2)  # the mass hardly moves


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 999), h=st.sampled_from([0.005, 0.02, 0.1]), ratio=st.floats(1.0, 300.0),
    zeta=st.sampled_from([0.0, 0.05, 0.4]),
)  # fmt: skip
def test_against_a_fine_integration(seed, h, ratio, zeta):
    a = np.random.default_rng(seed).normal(size=40)
    period = h * ratio
    omega, end = 2 * np.pi / period, 39 * h
    # Step by step between samples, where the right-hand side is smooth, then half a period of free vibration.
    marks = [*h * np.arange(40), end + 0.55 * period / np.sqrt(1 - zeta**2)]
    y, peaks = np.zeros(2), np.zeros(3)
    for k, (start, stop) in enumerate(itertools.pairwise(marks)):

        def ground(t, k=k, start=start):
            return 0.0 * t if k == 39 else a[k] + (t - start) / h * (a[k + 1] - a[k])

        def rates(t, s, ground=ground):
            return [s[1], -ground(t) - 2 * zeta * omega * s[1] - omega**2 * s[0]]

        grid = np.linspace(start, stop, 401 if k == 39 else max(21, int(400 / ratio)))
        found = solve_ivp(rates, (start, stop), y, "DOP853", grid, rtol=1e-10, atol=1e-13)
        x, v = found.y
        y = found.y[:, -1]
        peaks = np.maximum(peaks, np.abs([x, v, 2 * zeta * omega * v + omega**2 * x]).max(axis=1))
    spectrum = response_spectrum(a, h, [period], zeta)
    mine = [spectrum.displacement[0], spectrum.velocity[0], spectrum.acceleration[0]]
    np.testing.assert_allclose(mine, peaks, rtol=2e-3)  # what lies between the points of either


def test_intensity_and_duration_of_a_constant_shake():
    motion = GroundMotion(np.concatenate([np.zeros(100), np.full(1001, 2.0), np.zeros(50)]), 0.01)
    # ∫ a² dt = 4 m²/s⁴ · 10 s, and a third of a sample on the way up and down.
    assert motion.arias_intensity == pytest.approx(np.pi / (2 * G) * 4 * (10 + 2 * 0.01 / 3), rel=1e-12)
    assert motion.significant_duration() == pytest.approx(9.0, abs=0.02)
    first, last = motion.significant_times(0.0, 1.0)
    assert (first, last) == (pytest.approx(0.99), pytest.approx(11.01))
    assert GroundMotion(np.zeros(5), 0.1).significant_duration() == 0.0
    with pytest.raises(InputError, match="0 <= start < end <= 1"):
        motion.significant_duration(0.9, 0.2)


def test_scaling_to_a_peak_and_to_a_spectrum():
    rng = np.random.default_rng(3)
    motion = GroundMotion(rng.normal(size=600), 0.02)
    assert motion.scaled(peak="0.3 gn").peak == pytest.approx(0.3 * G, rel=1e-14)
    assert motion.scaled(2.0).scaled(3.0).scale == 6.0
    target = motion.scaled(2.5).spectrum(np.geomspace(0.1, 2, 400), 0.03)
    assert motion.scaled_to(target, (0.2, 1.5)).scale == pytest.approx(2.5, rel=1e-2)  # interpolated target
    flat = {0.1: 5.0, 2.0: 5.0}
    own = motion.scaled_to(flat, (0.2, 1.0)).spectrum(np.geomspace(0.2, 1.0, 50)).pseudo_acceleration
    assert np.log(own).mean() == pytest.approx(np.log(5.0), abs=1e-12)
    for wrong in (
        motion.scaled,
        lambda: motion.scaled(2.0, peak=1.0),
        lambda: motion.scaled(peak=-1.0),
        lambda: motion.scaled_to(flat, (0.01, 1.0)),
        lambda: motion.scaled_to({0.1: -1.0, 1.0: 2.0}),
        lambda: motion.spectrum([1.0, 0.5]),
        lambda: motion.spectrum([0.0]),
        lambda: motion.spectrum(damping=1.0),
        lambda: GroundMotion(np.zeros(50), 0.1).scaled_to(flat),
        lambda: GroundMotion(np.zeros(1), 0.1),
        lambda: GroundMotion(np.zeros(9), -0.1),
    ):
        with pytest.raises(InputError):
            wrong()


def test_the_spectrum_is_read_between_its_periods():
    spectrum = ResponseSpectrum(np.array([1.0, 4.0]), 0.05, np.array([1.0, 16.0]), np.ones(2), np.ones(2))
    assert spectrum.at(2.0) == pytest.approx((2 * np.pi) ** 2)  # ω² x = 4π² at both ends, so between them too
    with pytest.raises(InputError, match="periods from 1 to 4 s are known"):
        spectrum.at(5.0)
