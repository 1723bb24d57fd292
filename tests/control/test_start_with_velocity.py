"""A test that begins with a velocity: commands are straight lines from the first sample, without a blow."""

import numpy as np
import pytest

from bondloop.bondgraph import C, I, Model, One, R
from bondloop.control import (
    AdaptiveModelBased,
    AdaptivePrediction,
    AdaptiveRemainder,
    AdaptiveTimeSeries,
    InverseModel,
    LeadCompensation,
    Measured,
    PolynomialPrediction,
    Scheduled,
)
from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.hybrid import HybridTest
from bondloop.rigs import Emulated
from bondloop.transfer import Process, first_order, second_order

T, SPEED = 0.001, 0.3
G2 = second_order(1.1, 15.0, 0.6)
ZERO = Process((0.004, 1.0), (1e-6, 3e-4, 0.02, 1.0))
PREDICTION = PolynomialPrediction(0.005)


def lag(process):
    """By what a ramp through the process is late: minus the slope of log G at rest."""
    s = 1e-6
    return -np.log(np.polyval(process.numerator, s) / np.polyval(process.denominator, s) / process.gain) / s


@pytest.mark.parametrize(
    ("law", "gain", "lead"),
    [
        (InverseModel(G2), G2.gain, lag(G2)),
        (InverseModel(G2, ahead=0.5), G2.gain, lag(G2) + T / 2),
        (InverseModel(G2, PREDICTION), G2.gain, lag(G2) + 0.005),
        (InverseModel(G2, PREDICTION, "polynomial"), G2.gain, lag(G2) + 0.005),
        (InverseModel(ZERO), 1.0, lag(ZERO)),
        (Scheduled((InverseModel(G2), InverseModel(G2)), (1e-4, 1e-3)), G2.gain, lag(G2)),
        (PREDICTION, 1.0, 0.005),
        (AdaptivePrediction(0.005), 1.0, 0.005),
        (LeadCompensation(0.005), 1.0, 0.005),
        (AdaptiveTimeSeries(0.005), 1.0, 0.005),
        (AdaptiveModelBased(0.005, order=3), 1.0, 0.005),
        (AdaptiveRemainder(InverseModel(G2), AdaptiveModelBased()), G2.gain, lag(G2)),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, float) else "",
)
def test_a_ramp_is_led_from_the_first_sample_on(law, gain, lead):
    x, v, count, out = Var("x"), Var("v"), Var("k"), Var("out")
    context = Context("controller", count, T, velocity=v)
    applied = law.compensate(x, Measured(Const(0.0), Const(0.0), Const(0.0)), context)
    steps = (*applied.steps, Assign(out, applied.value))
    tick = Tick("one", T, Var("t"), count, (x, v), applied.states, {}, steps, (Channel("command", out),))
    t = np.arange(60) * T
    demand = 0.02 + SPEED * t
    command = Runner(tick, "numpy").run(60, np.column_stack([demand, np.full(60, SPEED)])).channels["command"]
    assert command == pytest.approx((demand + SPEED * lead) / gain, abs=2e-6 * SPEED)


@pytest.mark.parametrize("order", [2, 3])
def test_in_a_hybrid_test_the_first_commands_are_no_blow(order):
    """A mass that moves when the test begins; without its velocity second differences are a blow."""
    whole = Model("mass")
    whole.v, whole.specimen = One(), One()
    whole.v >> [I(mass=10.0, initial=10.0 * SPEED), C(stiffness=4e3), R(damping=10.0)]
    whole.specimen >> [C(stiffness=500.0), R(damping=1.0)]
    whole.v >> whole.specimen
    numerical, physical = whole.cut("v >> specimen")
    poles = [0.004, 1.0] if order == 3 else [1.0]
    process = Process((1.0,), tuple(np.polymul(poles, [1 / 120**2, 1.2 / 120, 1.0])))
    test = HybridTest(
        numerical, rig=Emulated(physical, process.actuator()), controller=InverseModel(process),
        excitation={}, rate=1000,
    )  # fmt: skip
    run = test.run(1.0)
    amplitude = SPEED / np.sqrt(4500 / 10)
    assert run["command"][0] == pytest.approx(SPEED * lag(process), rel=1e-5)
    assert np.abs(run["command"]).max() < 1.5 * amplitude
    assert test.check(1).passed


def test_without_a_velocity_it_begins_at_its_first_sample(alone):
    command = alone(InverseModel(first_order(1.0, 0.01)), np.full(20, 0.02))["command"]
    assert command == pytest.approx(np.full(20, 0.02), abs=1e-12)
