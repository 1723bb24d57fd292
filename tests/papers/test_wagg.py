"""Wagg and Stoten 2001: both examples with the adaptive controller."""

import numpy as np
import pytest

from bondloop.papers import wagg_three_mass, wagg_two_mass_rig


def test_the_transfer_system_follows_the_complete_system():
    """The papers' README: alpha = 100, beta = 10, t_s = 0.01 s, RK4 at 1 ms: under 4 % rms over 60 s."""
    run = wagg_three_mass.test().run(60)
    assert run.completed
    found = wagg_three_mass.findings(run)
    assert found["normalised_rms_error_to_complete"] < 0.04
    gains = [v for k, v in found.items() if k.startswith("largest_K")]
    assert len(gains) == 3
    assert max(gains) < 1000


def test_the_gains_stay_bounded():
    """Five times as long: the last 100 s of each gain stay within its largest value of the first 100 s."""
    run = wagg_three_mass.test().run(300)
    for name in ("controller.K[0]", "controller.K[1]", "controller.K_r"):
        k = np.abs(run[name])
        assert k[200_000:].max() <= k[:100_000].max()


def test_the_direct_command_is_the_worse_baseline():
    adaptive, direct = (wagg_three_mass.test(controller=c).run(20) for c in ("mcs", "direct"))
    e = [wagg_three_mass.findings(r)["normalised_rms_error_to_complete"] for r in (adaptive, direct)]
    assert e[0] < 0.1 * e[1]


def test_the_rig_is_followed_through_friction():
    """The friction of the transfer mass, 0.024 N, would alone displace it by 0.024/2.43 = 10 mm of its 33 mm.

    Left uncompensated that is an error of some 30 %; a tenth of it, 3 %, shows that MCS overcomes it.
    """
    run = wagg_two_mass_rig.test().run(150)
    assert run.completed
    found = wagg_two_mass_rig.findings(run)
    assert found["normalised_rms_error"] < 0.03
    assert all(v < 10 for k, v in found.items() if k.startswith("largest_K"))
    # The specimen sticks: it stands still, to a hundredth of its peak velocity, for part of the time.
    v = np.abs(run["rig.specimen.m3.v.flow"])
    assert (v < 0.05 * v.max()).mean() > 0.02


def test_friction_alone_would_hold_the_mass_back():
    direct = wagg_two_mass_rig.test(alpha=1e-6, beta=1e-6).run(150)
    assert wagg_two_mass_rig.findings(direct)["normalised_rms_error"] > 0.3


@pytest.mark.parametrize("protection", [{"dead_zone": 1e-3}, {"leakage": 0.01}], ids=["dead zone", "leakage"])
def test_wind_up_protection_costs_little_accuracy(protection):
    run = wagg_two_mass_rig.test(noise=1e-4, **protection).run(150)
    assert run.completed
    assert wagg_two_mass_rig.findings(run)["normalised_rms_error"] < 0.06
