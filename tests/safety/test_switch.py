"""Switches: linear, continuous, between 0 and 1."""

import numpy as np
import pytest

from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.errors import InputError
from bondloop.safety import RampedSwitch, safety_from
from bondloop.signals import Constant, Step

T = 0.01


def ready(switch, backend, release=0.05, target=None):
    """A runner with inputs: whether the test is tripped, and the target unless one is given."""
    time, count, tripped, wanted = (Var(w) for w in ("t", "k", "tripped", "wanted"))
    applied = switch.apply(
        wanted if target is None else target(time), tripped, release, Context("s", count, T)
    )
    inputs = (tripped, wanted)
    channels = (Channel("gamma", applied.value),)
    return Runner(
        Tick(
            "switch",
            T,
            time,
            count,
            inputs,
            applied.states,
            applied.parameters,
            tuple(applied.steps),
            channels,
        ),
        backend=backend,
    )


def table(tripped, wanted):
    return np.column_stack(np.broadcast_arrays(tripped, wanted)).astype(float)


def test_a_ramp_takes_its_seconds(backend):
    gamma = (
        ready(RampedSwitch(Step(1.0), ramp=0.4), backend).run(60, table(np.zeros(60), 1)).channels["gamma"]
    )
    np.testing.assert_allclose(gamma, np.minimum(np.arange(1, 61) / 40, 1), rtol=0, atol=1e-14)
    assert (gamma[40:] == 1).all()


def test_a_number_stands_there_from_the_beginning(backend):
    gamma = ready(RampedSwitch(0.7), backend).run(20, table(np.zeros(20), 0.7)).channels["gamma"]
    assert (gamma == 0.7).all()


def test_the_operator_can_hold_it_back_but_not_push_it(backend):
    runner = ready(RampedSwitch(0.5, ramp=0.1), backend)
    rows = table(np.zeros(20), 0.5)
    assert (runner.run(20, rows, {"s.target": 3.0}).channels["gamma"] == 0.5).all()
    down = runner.run(20, rows, {"s.target": 0.2}).channels["gamma"]
    np.testing.assert_allclose(down, np.maximum(0.5 - np.arange(1, 21) / 10, 0.2), atol=1e-15)
    assert (runner.run(20, rows, {"s.target": -1.0}).channels["gamma"][1:] >= 0).all()
    assert runner.run(1, rows[:1]).channels["gamma"][0] == pytest.approx(0.1)


def test_a_trip_goes_to_zero_at_its_own_rate(backend):
    tripped = np.repeat([0, 7, 0], 20)
    gamma = (
        ready(RampedSwitch(1.0, ramp=0.2), backend, release=0.05).run(60, table(tripped, 1)).channels["gamma"]
    )
    k = np.arange(20)
    expected = np.concatenate([np.ones(20), np.maximum(1 - (k + 1) / 5, 0), np.minimum((k + 1) / 20, 1)])
    np.testing.assert_allclose(gamma, expected, rtol=0, atol=1e-14)


def test_targets_outside_are_kept_within(backend):
    wanted = np.repeat([5.0, -5.0], 20)
    gamma = (
        ready(RampedSwitch(Constant(1.0), ramp=0.1), backend)
        .run(40, table(np.zeros(40), wanted))
        .channels["gamma"]
    )
    assert gamma[19] == 1
    assert gamma[-1] == 0
    assert np.abs(np.diff(gamma)).max() <= T / 0.1 + 1e-15


def test_a_target_that_is_no_number_counts_as_zero(backend):
    runner = ready(RampedSwitch(1.0, ramp=0.1), backend, target=lambda _: Const(float("nan")))
    assert runner.run(20, table(np.zeros(20), 0)).channels["gamma"][-1] == 0


def test_the_schedule_as_an_expression(backend):
    switch = RampedSwitch(Step(1.0, at=0.1), ramp=0.05)
    gamma = ready(switch, backend, target=switch.target).run(40, table(np.zeros(40), 0)).channels["gamma"]
    assert (gamma[:10] == 0).all()
    np.testing.assert_allclose(gamma[10:], np.minimum(np.arange(1, 31) / 5, 1), atol=1e-14)


def test_description():
    for switch in (RampedSwitch(0.3, "20 ms"), RampedSwitch(Step(1.0, at=2), initial=0.5)):
        assert safety_from(switch.describe()) == switch


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"schedule": 1.5}, "from 0 to 1; found 1.5"),
        ({"schedule": "half"}, "schedule"),
        ({"initial": -0.1}, "from 0 to 1; found -0.1"),
        ({"ramp": 0}, "above 0"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        RampedSwitch(**given)


def test_a_release_must_take_time():
    with pytest.raises(InputError, match="longer than 0 s"):
        RampedSwitch().apply(Const(1.0), Const(0.0), 0.0, Context("s", Var("k"), T))
