"""Tests of a batch that run stretch by stretch: the numbers are those of a run in one go, to the last bit."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from bondloop.engine.codegen import Runner
from bondloop.engine.codegen.batch import Batch
from bondloop.engine.codegen.c_lanes import lane_obstacle
from bondloop.engine.codegen.plan import BEYOND, NOT_A_NUMBER, WORST
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.causal_order import schedule
from bondloop.engine.ir.expr import Const, Op, Var, function
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Delay, Tick, Update
from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators, wagg_three_mass

sys.path.insert(0, str(Path(__file__).parent))
from random_ticks import ticks

STEPS = 30
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
both = pytest.mark.parametrize("backend", [pytest.param("lanes", marks=needs_compiler), "one by one"])
DRAWN = settings(
    deadline=None,
    max_examples=10,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


def same(a, b, tests=slice(None)):
    """To the last bit; NaN is NaN."""
    assert a.names == b.names
    np.testing.assert_array_equal(a.states, b.states[tests])
    np.testing.assert_array_equal(np.array(a.ends), np.array(b.ends)[:, tests])


def in_stretches(run, lengths, inputs):
    """Run, and return what stands after the last stretch."""
    result, at = None, 0
    for n in lengths:
        rows = inputs[at : at + n] if inputs is not None else None
        result, at = run.advance(n, rows), at + n
        assert run.count == at
    return result


def lengths_of(steps, random):
    """Return lengths of stretches, none or one tick among them."""
    cuts = np.sort(random.integers(0, steps + 1, 5))
    return np.diff([0, *cuts, steps]).tolist()


@pytest.mark.slow
@needs_compiler
@DRAWN
@given(tick=ticks(), seed=st.integers(0, 1000), width=st.sampled_from([2, 4, 8]), tests=st.integers(1, 11))
def test_every_statement_in_stretches(tick, seed, width, tests):
    assume(not lane_obstacle(tick))
    random = np.random.default_rng(seed)
    inputs = random.standard_normal((STEPS, 2))
    base = {v.name: x for v, x in [*tick.parameters.items(), *tick.states.items()]}
    varied = [n for n in base if random.random() < 0.4]
    wanted = [v.name for v in tick.states if random.random() < 0.6]
    values = np.array([[base[n] * f for n in varied] for f in 1 + 0.3 * random.standard_normal(tests)])
    values = values.reshape(tests, len(varied))
    for backend in ("lanes", "one by one"):
        batch = Batch(tick, varied, backend, width, wanted)
        once = batch.run(values, STEPS, inputs)
        for _ in range(2):
            same(in_stretches(batch.begin(values), lengths_of(STEPS, random), inputs), once)
        run, first, order = batch.begin(values), int(random.integers(1, STEPS)), random.permutation(tests)
        run.advance(first, inputs)
        run.keep(order)
        same(run.advance(STEPS - first, inputs[first:]), once, order)


def driven(bound=np.inf, fails_from=np.inf):
    """All tests share noise, a delay line, a cubic loop and a count; each has a sum and a delay of its own.

    Of what they share, a root that nothing records becomes NaN ``fails_from`` some tick on.
    """
    x, late, own_late, a, total, steps_done = (Var(n) for n in ("x", "late", "own", "a", "total", "done"))
    noise, unknown, root, k, r = (Var(n) for n in ("noise", "unknown", "root", "k", "r"))
    drawn = Op("normal", (Const(7.0), Const(0.0), k))
    steps = (
        Assign(noise, drawn),
        Delay(late, noise + function("sin", r), 4),
        *schedule({unknown: late - unknown**3 / 2}, [unknown]),
        Assign(root, function("sqrt", fails_from - steps_done) if fails_from < np.inf else Const(0.0)),
        Delay(own_late, a * x, 3),
        Update(((x, 0.5 * x + a * unknown + 0.1 * own_late + 0.001 * root), (total, total + x * x))),
        Update(((steps_done, steps_done + 1.0),)),
    )
    states = {x: 0.25, total: 0.5, steps_done: 0.0}
    channels = (Channel("done", steps_done), Channel("noise", noise), Channel("x", x))
    bounds = {"done": bound, "x": 4.0}
    return Tick("driven", 0.01, Var("t"), k, (r,), states, {a: 1.0}, steps, channels, bounds)


VALUES = np.array([[0.1, 0.0], [0.5, 1.0], [1.0, -2.0], [1.5, 0.5], [0.7, 0.0], [3.0, 0.0], [0.2, 9.0]])
ROWS = np.random.default_rng(5).standard_normal((60, 1))


@both
@pytest.mark.parametrize("lengths", [[60], [0, 1, 0, 7, 22, 30], [59, 1], [1] * 60])
@pytest.mark.parametrize(("bound", "fails_from"), [(np.inf, np.inf), (31.5, np.inf), (np.inf, 31.5), (40, 9)])
def test_what_all_tests_share_goes_on_and_stops(backend, lengths, bound, fails_from):
    """Noise, delay lines and loops go on; a count beyond its bound stops all; NaN is found in each test."""
    tick = driven(bound, fails_from)
    batch = Batch(tick, ["a", "x"], backend, wanted=["x", "total"])
    assert batch._parts.same is not None
    found = in_stretches(batch.begin(VALUES, jobs=1), lengths, ROWS)
    same(found, Batch(tick, ["a", "x"], backend, wanted=["x", "total"]).run(VALUES, 60, ROWS))
    if fails_from < np.inf:
        assert (found.ends.code[:3] == NOT_A_NUMBER).all()
        assert batch._parts.same is None
    elif bound < np.inf:
        assert (found.ends.code[:3] == BEYOND).all()
        assert (found.ends.tick[:3] == 32).all()
    else:
        assert found.ends.code.tolist() == [0, 0, *found.ends.code[2:]]
    for row, code, at, x in zip(VALUES, found.ends.code, found.ends.tick, found["x"], strict=True):
        single = Runner(tick)
        single.reset({"x": row[1]}, {"a": row[0]})
        run = single.run(60, ROWS)
        assert (run.code % WORST, run.steps) == (code, at + 1 if code else 60)
        np.testing.assert_array_equal(single.state["x"], x)


@both
def test_sums_begin_anew_in_each_window(backend):
    """As one test after the other whose sum is set back: of tests that have stopped it stays."""
    tick = driven()
    batch = Batch(tick, ["a", "x", "total"], backend, wanted=["total", "x"])
    values = np.column_stack([VALUES, np.arange(7.0)])
    run = batch.begin(values)
    singles = [Runner(tick) for _ in values]
    for single, (a, x, total) in zip(singles, values, strict=True):
        single.reset({"x": x, "total": total}, {"a": a})
    stopped = np.zeros(7, dtype=bool)
    for window in range(4):
        rows = ROWS[15 * window : 15 * window + 15]
        found = run.advance(15, rows)
        run.clear(["total"])
        for i, single in enumerate(singles):
            if not stopped[i]:
                stopped[i] = not single.run(15, rows).finished
            np.testing.assert_array_equal(found.states[i], [single.state[n] for n in found.names])
            if not stopped[i]:
                at = single.snapshot()
                at.state[[v.name for v in tick.states].index("total")] = values[i, 2]
                single.restore(at)
    np.testing.assert_array_equal(found.ends.code != 0, stopped)
    assert 0 < stopped.sum() < 7


@both
def test_some_of_the_tests_go_on(backend):
    tick = driven()
    batch = Batch(tick, ["a", "x"], backend, wanted=["x", "total"])
    once = batch.run(VALUES, 60, ROWS)
    run, other = batch.begin(VALUES), batch.begin(VALUES[::-1].copy())
    run.advance(20, ROWS)
    other.advance(35, ROWS)  # a run of its own, though compiled once
    run.keep([5, 0, 3, 3])
    assert len(run) == 4
    run.advance(15, ROWS[20:])
    run.keep(np.array([True, True, False, True]))
    same(run.advance(25, ROWS[35:]), once, [5, 0, 3])
    same(other.advance(25, ROWS[35:]), once, slice(None, None, -1))
    run.keep([])
    assert run.advance(5, ROWS).states.shape == (0, 2)


@needs_compiler
@pytest.mark.parametrize("paper", [wagg_three_mass, gawthrop_two_actuators])
def test_tests_of_the_papers(paper):
    tick = paper.test().tick
    varied = [v.name for v, x in tick.parameters.items() if x][:3]
    base = np.array([{v.name: x for v, x in tick.parameters.items()}[n] for n in varied])
    values = base * (1 + 0.05 * np.random.default_rng(1).standard_normal((11, len(varied))))
    for wanted in (None, [v.name for v in tick.states][:1]):
        batch = Batch(tick, varied, "lanes", wanted=wanted)
        same(in_stretches(batch.begin(values), [33, 400, 67], None), batch.run(values, 500))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda run: run.advance(-1), "expected ticks from 0 up; found -1"),
        (lambda run: run.advance(3, ROWS[:2]), "needs inputs of shape"),
        (lambda run: run.clear(["done"]), "unknown wanted state 'done' of driven"),
        (lambda run: run.keep([7]), "expected numbers of tests from 0 to 6"),
        (lambda run: run.keep([-1]), "expected numbers of tests from 0 to 6"),
        (lambda run: run.keep([0.5]), "expected numbers of tests from 0 to 6"),
    ],
)
def test_what_is_wrong_is_told(call, words):
    run = Batch(driven(), ["a", "x"], "one by one", wanted=["x", "total"]).begin(VALUES)
    with pytest.raises(InputError, match=words):
        call(run)
