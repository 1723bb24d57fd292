"""Ticks that differ in numbers only share one text of C, and compute what they would by themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.control import AdaptiveModelBased, LeadCompensation, OuterLoop, PolynomialPrediction
from bondloop.control.base import Measured
from bondloop.engine.codegen import Runner, write_c
from bondloop.engine.ir.expr import Var, function, select
from bondloop.engine.ir.tick import Channel, Tick, Update
from bondloop.engine.passes.block import Context
from bondloop.engine.passes.tick_numbers import without_numbers
from bondloop.errors import InputError

PERIOD = 1e-3


def tick_of(controller):
    """A compensator alone: demand and measured displacement in, command out."""
    demand, motion, count = Var("demand"), Var("motion"), Var("k")
    applied = controller.compensate(demand, Measured(0.0, motion, 0.0), Context("controller", count, PERIOD))
    return Tick(
        "alone", PERIOD, Var("t"), count, (demand, motion), applied.states, applied.parameters,
        tuple(applied.steps), (Channel("command", applied.value),),
    )  # fmt: skip


delays = st.floats(1e-3, 0.02)
controllers = st.one_of(
    st.builds(LeadCompensation, delays, st.floats(1.5, 20.0)),
    st.builds(lambda d, n: PolynomialPrediction(d, order=n, span=0.02, points=11), delays, st.integers(1, 4)),
    st.builds(
        lambda p, i, d: OuterLoop(p, i, lead=d, lag=d / 10), st.floats(0.1, 4), st.floats(1, 99), delays
    ),
    st.builds(lambda d, f: AdaptiveModelBased(d, filter_frequency=f), delays, st.floats(5, 50)),
)


def running(tick, states, parameters):
    """A runner of a tick whose numbers are given apart."""
    runner = Runner(tick, "numpy")
    runner.reset(states, parameters)
    return runner


def signals(seed):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.normal(size=(300, 2)), axis=0) * 1e-3


@settings(max_examples=40, deadline=None)
@given(controllers, st.integers(0, 99))
def test_numbers_apart_change_nothing(controller, seed):
    tick = tick_of(controller)
    apart = without_numbers(tick, ())
    inputs = signals(seed)
    plain = Runner(tick, "numpy").run(300, inputs).channels["command"]
    shared = running(*apart).run(300, inputs).channels["command"]
    # A product that is constant in the one and a parameter in the other may be summed in another order.
    np.testing.assert_allclose(shared, plain, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LeadCompensation(0.01, 5), LeadCompensation(0.003, 12)),
        (PolynomialPrediction(0.01, 2, 0.02, 11), PolynomialPrediction(0.004, 3, 0.02, 11)),
        (OuterLoop(2, 95, lead=6e-3, lag=1e-4), OuterLoop(1, 10, lead=3e-3, lag=3e-4)),
        (AdaptiveModelBased(0.02), AdaptiveModelBased(0.01, filter_frequency=33, rate=5)),
    ],
)
def test_one_library_for_all_numbers(one, other):
    texts = [write_c(without_numbers(tick_of(c), ())[0]) for c in (one, other)]
    assert texts[0] == texts[1]
    assert write_c(tick_of(one)) != write_c(tick_of(other))


def test_what_is_fixed_keeps_its_numbers():
    x, y = Var("x"), Var("y")
    steps = (Update(((x, 0.5 * x), (y, 0.25 * y))),)
    tick = Tick(
        "two", 0.1, Var("t"), Var("k"), (), {x: 1.0, y: 2.0}, {}, steps, (Channel("x", x), Channel("y", y))
    )
    apart = without_numbers(tick, {"x"})
    assert list(apart[2].values()) == [0.25]
    assert apart[1] == {"y": 2.0}
    run = running(*apart).run(3)
    assert run.channels["x"].tolist() == [1.0, 0.5, 0.25]
    assert run.channels["y"].tolist() == [2.0, 0.5, 0.125]


def test_exponents_and_streams_stay():
    x = Var("x")
    law = select(x > 1.0, x**2, function("sin", 3.0 * x))
    tick = Tick("law", 0.1, Var("t"), Var("k"), (), {x: 0.7}, {}, (Update(((x, law),)),), (Channel("x", x),))
    apart = without_numbers(tick, ())
    assert sorted(apart[2].values()) == [1.0, 3.0]
    expected = Runner(tick, "numpy").run(20).channels["x"]
    np.testing.assert_array_equal(running(*apart).run(20).channels["x"], expected)


def test_a_runner_keeps_the_parameters_it_was_reset_to():
    x, a = Var("x"), Var("a")
    tick = Tick(
        "halve", 0.1, Var("t"), Var("k"), (), {x: 1.0}, {a: 0.5}, (Update(((x, a * x),)),), (Channel("x", x),)
    )
    runner = Runner(tick, "numpy")
    runner.reset({"x": 4.0}, {"a": 0.25})
    assert runner.run(2).channels["x"].tolist() == [4.0, 1.0]
    assert runner.run(2, parameters={"a": 2.0}).channels["x"].tolist() == [0.25, 0.5]
    with pytest.raises(InputError, match="unknown parameter 'b'"):
        runner.reset(parameters={"b": 1.0})
