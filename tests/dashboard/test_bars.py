"""Limit bars: which limit counts, and what is kept of how near it has been."""

import numpy as np

from bondloop.dashboard.frames import Bars
from bondloop.realtime.snapshot import ShownChannel
from bondloop.rehearsal.rehearsal import DIVERGED


def channel(name, role, kind, limit=None):
    return ShownChannel(name, "m", role, kind, kind, 0, limit=limit)


def shown(bars):
    return {b["title"]: (b["now"], b["most"], b["limit"]) for b in bars.describe()}


def test_the_tighter_of_the_interlocks_limit_and_the_executives_bound_is_shown():
    """A test without an interlock trips too: by bounds on what is known of the rig, measured or not."""
    channels = [
        channel("measured.displacement", "measured", "displacement", DIVERGED),
        channel("actual.displacement", "actual", "displacement", 0.025),
        channel("force", "actual", "effort", 500.0),
        channel("actual.velocity", "actual", "flow", DIVERGED),
    ]
    bars = Bars(channels)
    bars.limit({})
    assert {k: v[2] for k, v in shown(bars).items()} == {"stroke": 0.025, "force": 500.0, "velocity": None}
    bars.limit({"displacement": 0.05, "force": 400.0, "velocity": 2.0})
    assert {k: v[2] for k, v in shown(bars).items()} == {"stroke": 0.025, "force": 400.0, "velocity": 2.0}


def test_how_near_it_has_been_is_of_the_samples_that_count():
    bars = Bars([channel("f", "measured", "effort")])
    bars.take(np.array([[9.0], [-3.0], [np.nan]]), np.array([False, True, True]))
    assert shown(bars)["force"][:2] == (9.0, 3.0)
    bars.take(np.array([[np.nan]]))
    now, most, _ = shown(bars)["force"]
    assert np.isnan(now)
    assert most == 3.0
    bars.forget()
    assert shown(bars)["force"][:2] == (0.0, 0.0)
