"""What a rig that follows every command at once makes of a damper: the held command's ripple."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.check.dry_run import _Log
from bondloop.devices import FluidViscousDamper, KelvinVoigt, MRDamper, PowerDamper

RATE = 1000.0


def damped(law, lag, substeps=4, rate=RATE):
    """Return two tonnes on a spring, the damper on a rig that lags by a time constant."""
    model = Model("machine")
    model.push, model.v, model.damper = Se("push"), One(), law.element()
    model.push >> model.v >> [I(mass=2000), C(stiffness=5e5), R(damping=1200), model.damper]
    numerical, physical = model.cut("v >> damper")
    actuator = bl.transfer.first_order(gain=1.0, time_constant=lag).actuator()
    return bl.HybridTest(
        numerical, rig=bl.rigs.Emulated(physical, actuator, substeps=substeps),
        controller=bl.control.Direct(), excitation={"push": bl.signals.Sine("12 kN", 2.0)}, rate=rate,
    )  # fmt: skip


@pytest.mark.parametrize("lag", [0.02, 0.001])
@pytest.mark.parametrize("law", [PowerDamper(2e4, 0.5), MRDamper(current=1.0)], ids=["power", "mr"])
def test_the_force_is_the_laws_own_and_the_velocity_is_that_of_the_hold(law, lag):
    """At the recorded motion the force is the law's; only the velocity is not the displacement's slope.

    Of a lag T whose input rises by equal steps in periods h, the velocity just before a step is
    (h/T)/(exp(h/T) - 1) of the mean: 97.5 % for 20 samples, 58.2 % for one.
    """
    run = damped(law, lag).run(2)
    x, v, force = run["actual.displacement"], run["actual.velocity"], run["force"]
    expected = law.respond(x, RATE, velocity=v)
    # `respond` moves its states at a mean velocity from sample to sample, which is another way there.
    near = 2e-3 if law.states else 1e-12
    assert np.max(np.abs(force - expected)) < near * np.max(np.abs(expected))
    slope = np.gradient(x, 1 / RATE)
    hold = 1 / (RATE * lag)
    assert v @ slope / (slope @ slope) == pytest.approx(hold / math.expm1(hold), rel=2e-3)


def notes(test):
    return [n for n in test.check(2).notes if "before the next one comes" in n]


def test_the_check_says_so_where_it_matters():
    (note,) = notes(damped(KelvinVoigt(1e5, 2e4), 0.001))
    assert "velocity is 58 % of the mean" in note, "1/(e - 1)"
    assert not notes(damped(KelvinVoigt(1e5, 2e4), 0.04)), "40 samples of lag: 98.8 %"
    # The oil between the end and the dashpot makes a mean of the velocity by itself.
    assert not notes(damped(FluidViscousDamper(), 0.001))


def test_fine_steps_of_the_rig_do_not_change_it_and_a_higher_rate_does():
    (coarse,), (fine,) = (notes(damped(KelvinVoigt(1e5, 2e4), 0.001, substeps=n)) for n in (4, 40))
    assert coarse == fine
    (faster,) = notes(damped(KelvinVoigt(1e5, 2e4), 0.001, rate=8000))
    assert "velocity is 94 % of the mean" in faster, "1/8 over expm1(1/8)"


def test_a_part_that_leaves_all_numbers_is_taken_without_a_warning():
    """1e200 squared is none; warnings are errors here."""
    test = damped(KelvinVoigt(), 0.005)
    log = _Log(test, 10)
    channels = {c.name: np.full(10, 1e200) for c in test.tick.channels}
    log.take(0, SimpleNamespace(time=np.arange(10) / RATE, status="diverged", channels=channels))
    assert all(np.isnan(share) for share in log.sampled_velocity(test.period))
