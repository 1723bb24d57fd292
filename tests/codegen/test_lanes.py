"""Tests side by side: each lane's numbers are those of the test alone, whatever happens in the others."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from bondloop.engine.codegen import BACKENDS, Runner, tolerances
from bondloop.engine.codegen.batch import Batch
from bondloop.engine.codegen.c_lanes import lane_obstacle
from bondloop.engine.codegen.c_writer import write_c_sized
from bondloop.engine.codegen.plan import BEYOND, WORST
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Delay, Repeat, Tick, Update
from bondloop.errors import InputError
from bondloop.papers import bayer_substep, gawthrop_two_actuators, wagg_three_mass

sys.path.insert(0, str(Path(__file__).parent))
from random_ticks import ticks

STEPS = 30
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
DRAWN = settings(
    deadline=None,
    max_examples=10,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


def same(a, b):
    """To the last bit; NaN is NaN."""
    np.testing.assert_array_equal(a.states, b.states)
    np.testing.assert_array_equal(np.array(a.ends), np.array(b.ends))


@pytest.mark.slow
@needs_compiler
@DRAWN
@given(tick=ticks(), seed=st.integers(0, 1000), width=st.sampled_from([2, 4, 8]), tests=st.integers(1, 11))
def test_every_statement_in_lanes(tick, seed, width, tests):
    assume(not lane_obstacle(tick))
    random = np.random.default_rng(seed)
    inputs = random.standard_normal((STEPS, 2))
    base = {v.name: x for v, x in [*tick.parameters.items(), *tick.states.items()]}
    varied = [n for n in base if random.random() < 0.4]
    values = np.array([[base[n] * f for n in varied] for f in 1 + 0.3 * random.standard_normal(tests)])
    values = values.reshape(tests, len(varied))
    lanes = Batch(tick, varied, "lanes", width).run(values, STEPS, inputs)
    same(lanes, Batch(tick, varied, "one by one").run(values, STEPS, inputs))
    for row, ended, code, at in zip(values, lanes.states, lanes.ends.code, lanes.ends.tick, strict=True):
        single = Runner(tick, "c")
        chosen = dict(zip(varied, row, strict=True))
        names = {v.name for v in tick.parameters}
        single.reset({n: x for n, x in chosen.items() if n not in names})
        run = single.run(STEPS, inputs, {n: x for n, x in chosen.items() if n in names})
        assert (run.code % WORST, run.steps) == (code, at + 1 if code else STEPS)
        np.testing.assert_array_equal(list(single.state.values()), ended)


@needs_compiler
def test_a_search_begins_with_what_stands_before_it():
    """Halves a number, which differs from test to test, until it is below one, and counts how often."""
    x, limit, rest, count, n = Var("x"), Var("limit"), Var("rest"), Var("count"), Var("n")
    halve = (Assign(rest, rest / 2), Assign(count, count + 1.0))
    steps = (
        Assign(rest, limit),
        Assign(count, Const(0.0)),
        Repeat(40, n, halve, until=rest < 1.0, sought=(count,)),
        Update(((x, x + count),)),
    )
    tick = Tick("halves", 0.1, Var("t"), Var("k"), (), {x: 0.0}, {limit: 5.0}, steps, ())
    limits = np.array([[3.0], [100.0], [1.5], [2000.0]])
    lanes = Batch(tick, ["limit"], "lanes", 4).run(limits, 2)
    assert lanes.states[:, 0].tolist() == [4.0, 14.0, 2.0, 22.0]


@needs_compiler
@pytest.mark.parametrize("paper", [wagg_three_mass, gawthrop_two_actuators, bayer_substep])
def test_tests_of_the_papers(paper):
    tick = paper.test().tick
    varied = [v.name for v, x in tick.parameters.items() if x][:4]
    base = np.array([{v.name: x for v, x in tick.parameters.items()}[n] for n in varied])
    values = base * (1 + 0.05 * np.random.default_rng(1).standard_normal((19, len(varied))))
    lanes = Batch(tick, varied, "lanes").run(values, 500, jobs=2)
    same(lanes, Batch(tick, varied, "one by one").run(values, 500, jobs=1))
    single = Runner(tick)
    single.run(500, parameters=dict(zip(varied, values[7], strict=True)))
    assert single.state == dict(zip(lanes.names, lanes.states[7].tolist(), strict=True))


def growing(bound=1e3):
    """x(k+1) = a x(k), with a delay line behind it."""
    x, a, late, sum_ = Var("x"), Var("a"), Var("late"), Var("sum")
    steps = (Delay(late, x, 3), Update(((x, a * x), (sum_, sum_ + late))))
    parameters, states = {a: 1.0}, {x: 1.0, sum_: 0.0}
    return Tick(
        "growing", 0.1, Var("t"), Var("k"), (), states, parameters, steps, (Channel("x", x),), {"x": bound}
    )


@needs_compiler
@pytest.mark.parametrize("backend", ["lanes", "one by one"])
def test_a_test_that_stops_leaves_the_others_alone(backend):
    a = np.array([0.5, 2.0, 1.0, 0.9, 10.0])
    found = Batch(growing(), ["a"], backend).run(a[:, None], 40)
    assert found.ends.code.tolist() == [0, BEYOND, 0, 0, BEYOND]
    # 2^10 = 1024 and 10^4 are the first beyond 1000.
    assert found.ends.tick.tolist() == [-1, 10, -1, -1, 4]
    assert found.ends.channel.tolist() == [-1, 0, -1, -1, 0]
    # After the tick that stops, x has been multiplied once more; the line is three ticks late.
    assert found["x"][[1, 4]].tolist() == [2.0**11, 1e5]
    np.testing.assert_allclose(found["sum"][[0, 2]], [2 * (1 - 0.5**37), 37.0], rtol=1e-15)


@needs_compiler
def test_what_is_wanted_alone_is_the_same(monkeypatch):
    """What all share is computed once, a test in few bytes at a time; the numbers stay."""
    tick = wagg_three_mass.test().tick
    values = 1 + 0.1 * np.random.default_rng(3).standard_normal((21, 1))
    whole = Batch(tick, ["rig.transfer.mass.mass"]).run(values, 300)
    monkeypatch.setattr(tolerances, "BATCH_BYTES", 2000)
    name = "controller.K_r.integral"
    few = Batch(tick, ["rig.transfer.mass.mass"], wanted=[name])
    assert len(few._parts.rest.states) < len(tick.states)
    np.testing.assert_array_equal(few.run(values, 300)[name], whole[name])


@needs_compiler
def test_other_values_are_the_same_library():
    one, two = (wagg_three_mass.test().with_values({"rig.transfer.mass.mass": m}).tick for m in (1.5, 2.5))
    assert write_c_sized(one, values=False) == write_c_sized(two, values=False)
    assert "2.5" in write_c_sized(two)[0]


@needs_compiler
def test_progress_and_an_interruption():
    seen = []
    Batch(growing(), ["a"]).run(np.ones((100, 1)), 10, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (100, 100)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Batch(growing(), ["a"]).run(np.ones((100, 1)), 10, progress=stop)


@pytest.mark.parametrize(
    ("varied", "values", "words"),
    [
        (["b"], [[1.0]], "unknown parameter 'b' of growing"),
        (["a", "a"], [[1.0, 1.0]], "each parameter is varied once"),
        (["a"], [1.0, 2.0], "found an array of shape"),
        (["a"], [[np.nan]], "must be finite"),
    ],
)
def test_what_is_wrong_is_told(varied, values, words):
    with pytest.raises(InputError, match=words):
        Batch(growing(), varied).run(values, 3)


def test_back_ends_say_what_they_are():
    assert [repr(backend) for backend in BACKENDS.values()] == ["CBackend(using=None)", "PythonBackend()"]
