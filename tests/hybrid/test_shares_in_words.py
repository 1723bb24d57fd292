"""Shares of the run's own motion are told in per cent, wherever the check tells them."""

from types import SimpleNamespace

from bondloop.check.judging_stability import _bounded, _restless


def test_what_is_left_is_told_in_per_cent():
    free = SimpleNamespace(grew=True, lasts=False, last=0.07, seconds=410.0)
    [restless] = _restless(SimpleNamespace(has_adaptive_gains=False), free)
    assert "; 7 % of the run's own motion was left after 410 s" in restless.text
    step = SimpleNamespace(stable=False, spectral_radius=1.000005, frequency=2.51, growth=0.0055, period=1e-3)
    check = SimpleNamespace(step=step, own=(), regimes=(), dry_run=SimpleNamespace(seconds=10.0))
    [bounded] = _bounded(check, SimpleNamespace(adapts=False), free)
    assert bounded.text.endswith("after the dry run 7 % of the run's own motion was left")
