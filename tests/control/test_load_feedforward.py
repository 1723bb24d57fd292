"""What the load takes away: against the linear actuator's own equations, twins, descriptions, refusals."""

import numpy as np
import pytest

from bondloop.bondgraph import SS, Model, bond
from bondloop.control import AdaptivePrediction, Compensator, InverseModel, LoadFeedforward, Measured
from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.errors import InputError
from bondloop.transfer import SerialPID, ServoHydraulic, first_order

INNER = InverseModel(first_order(1.0, 0.004))
LAW = LoadFeedforward(INNER, 3e-9, 2e-10, cutoff=80)


def commands(law, demand, force, backend):
    x, f, count, out = Var("x"), Var("f"), Var("k"), Var("out")
    applied = law.compensate(x, Measured(f, Const(0.0), Const(0.0)), Context("controller", count, 1e-3))
    steps = (*applied.steps, Assign(out, applied.value))
    tick = Tick("one", 1e-3, Var("t"), count, (x, f), applied.states, {}, steps, (Channel("command", out),))
    return Runner(tick, backend).run(len(demand), np.column_stack([demand, force])).channels["command"]


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_the_command_is_the_formula(backend):
    rng = np.random.default_rng(3)
    demand, force = 1e-3 * rng.normal(size=300), 1e3 * rng.normal(size=300)
    share, smooth, before, expected = 1 - np.exp(-2 * np.pi * 80 * 1e-3), [], 0.0, []
    for newest in force:
        smooth.append(before + share * (newest - before))
        expected.append(3e-9 * smooth[-1] + 2e-10 * (smooth[-1] - before) / 1e-3)
        before = smooth[-1]
    added = commands(LAW, demand, force, backend) - commands(INNER, demand, force, backend)
    assert added == pytest.approx(np.array(expected), rel=1e-9, abs=1e-12)


def test_the_give_of_a_hydraulic_actuator_is_that_of_its_linear_model():
    """Displacement over load of the closed loop, from its bond graph, where valve and inertia do not show."""
    actuator = ServoHydraulic(SerialPID(30, 0.0, 0.0), linear=True)
    whole = Model("loaded")
    whole.actuator, whole.load = actuator.copy(), SS()
    bond(whole.actuator.out, whole.load)
    linear = whole.compile(["load.flow"]).linearise()
    names = list(linear.inputs)
    give, rate = actuator.give
    s = 2j * np.pi * np.array([0.5, 2.0, 5.0])
    response = linear.frequency_response(s.imag)[:, 0, names.index("load.effort")] / s
    expected = (give + rate * s) / (1 + s / actuator.velocity_gain)
    # The viscous friction takes pressure too: 4 kN s/m, seen as a leak; the spool's lag is 3 % at 5 Hz.
    assert np.abs(response) == pytest.approx(np.abs(expected), rel=0.05)


def test_a_description_gives_it_back_and_what_adapts_is_known():
    assert Compensator.from_description(LAW.describe()) == LAW
    assert not LAW.adapts
    assert LoadFeedforward(AdaptivePrediction(0.005), 0, 0).adapts


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(("G1", 0, 0), "expected a compensator"), ((INNER, -1e-9, 0), "give"), ((INNER, 0, 0, 0), "cutoff")],
)
def test_what_cannot_be_built_is_refused_with_the_reason(arguments, reason):
    with pytest.raises(InputError, match=reason):
        LoadFeedforward(*arguments)
