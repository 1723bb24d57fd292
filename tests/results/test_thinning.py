"""Thinned lines look like the whole: no peak, no gap, no visited place is lost."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bondloop.results.figures.layout import STYLE, drawable, envelope, ink, trajectory


@given(st.integers(0, 2**32 - 1), st.integers(1, 40_000))
def test_envelope_keeps_every_peak_of_every_stretch(seed, size):
    rng = np.random.default_rng(seed)
    x, y = np.arange(size, dtype=float), rng.standard_normal(size).cumsum()
    y[rng.integers(0, size, 3)] += 100 * rng.standard_normal(3)
    thin_x, thin_y = envelope(x, y, columns=100)
    np.testing.assert_array_equal(thin_y, y[thin_x.astype(int)])  # samples, not inventions
    assert (np.diff(thin_x) > 0).all()
    assert thin_x.size <= max(500, 2 * 5 * 100)  # five a column, and as many for the remainder
    assert (thin_y.min(), thin_y.max()) == (y.min(), y.max())
    assert (thin_x[0], thin_x[-1]) == (0, size - 1)


def test_envelope_keeps_gaps_and_the_peaks_beside_them():
    y = np.zeros(100_000)
    y[40_000:40_010] = np.nan
    y[40_011] = 5.0
    y[70_000] = np.inf
    thin_x, thin_y = envelope(np.arange(y.size, dtype=float), y)
    assert np.isnan(thin_y[(thin_x >= 39_999) & (thin_x <= 40_010)]).any()
    assert np.isnan(thin_y[(thin_x >= 69_900) & (thin_x <= 70_100)]).any()
    assert np.nanmax(thin_y) == 5.0


def test_a_retraced_loop_is_drawn_once_and_a_stray_excursion_stays():
    angle = np.arange(300_000) * (2 * np.pi / 250)
    x, y = np.cos(angle), np.sin(angle)
    y[123_456] = 3.0
    thin_x, thin_y = trajectory(x, y)
    assert thin_x.size < 2000  # a loop has 250 samples
    assert np.nanmax(thin_y) == 3.0
    radius = np.hypot(thin_x, thin_y)
    on_loop = np.isfinite(radius) & (thin_y < 2)
    np.testing.assert_allclose(radius[on_loop], 1.0)
    covered = np.unique(np.round(np.arctan2(thin_y[on_loop], thin_x[on_loop]) / (2 * np.pi / 250)) % 250)
    assert covered.size == 250


def test_ink_covers_what_the_line_crosses():
    rng = np.random.default_rng(5)
    x, y = rng.uniform(-1, 1, (2, 400))
    cells = ink(x, y, -1.0, 1.0)
    part = np.linspace(0, 1, 97)[:, None]
    places = [(values[:-1] + part * np.diff(values)).ravel() for values in (x, y)]
    column, row = (np.rint((values + 1) / 2 * (STYLE.cells - 1)).astype(int) for values in places)
    assert cells[row, column].all()
    assert not ink(np.array([np.nan, 0.0]), np.zeros(2), -1.0, 1.0).any()


def test_huge_values_become_gaps():
    assert np.isnan(drawable(np.array([1e200, -np.inf]))).all()


def test_a_long_path_of_nothing_is_nothing():
    assert trajectory(np.full(50_000, np.nan), np.zeros(50_000))[0].size == 0
