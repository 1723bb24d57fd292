"""The histogram of a loop's timing shows every cycle, and marks the percentiles that NumPy finds."""

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.results.figures.histories import latencies


@pytest.fixture
def durations():
    rng = np.random.default_rng(3)
    return rng.lognormal(np.log(40e-6), 0.4, 5000), rng.lognormal(np.log(3e-6), 0.2, 5000)


def test_every_cycle_is_counted(durations):
    wake, busy = durations
    figure = latencies(wake, busy, 1e-3)
    for axes in figure.axes:
        (bars,) = axes.patches
        assert bars.get_data().values.sum() == 5000
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_percentiles_are_written_and_marked(durations):
    wake, busy = durations
    upper = latencies(wake, busy, 1e-3).axes[0]
    median, highest = 1e6 * np.percentile(wake, 50, method="higher"), 1e6 * wake.max()
    texts = " ".join(t.get_text() for t in upper.texts)
    assert f"50 %: {median:.2g} µs" in texts
    assert f"most: {highest:,.0f} µs" in texts
    marks = [line.get_xdata()[0] for line in upper.lines]
    assert median == pytest.approx(marks[0])
    assert highest == pytest.approx(marks[3])
    assert marks[4] == pytest.approx(1000.0), "the period, in µs"


def test_a_sleep_that_ended_early_is_drawn_too():
    figure = latencies([-5e-9, 1e-6], [1e-6, 1e-6], 1e-3)
    assert figure.axes[0].patches[0].get_data().values.sum() == 2


def test_what_cannot_be_drawn():
    with pytest.raises(InputError, match="wake: expected a row of durations in s"):
        latencies([], [1e-6], 1e-3)
    with pytest.raises(InputError, match="busy"):
        latencies([1e-6], [np.nan], 1e-3)
