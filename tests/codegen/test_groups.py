"""Statements of one form as one loop: the same numbers as one by one, in C and in Python."""

import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bondloop.engine.codegen import Runner, tolerances, write_c
from bondloop.engine.codegen.backend import CBackend
from bondloop.engine.codegen.py_writer import PythonBackend
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.expr import Const, Op, Var, function, select, substitute
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Delay, Product, Repeat, Tick, Update

sys.path.insert(0, str(Path(__file__).parent))
from random_ticks import ticks
from test_twin import STEPS, agree, execute

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
DRAWN = settings(
    deadline=None,
    max_examples=6,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


@contextmanager
def sizes(many, least):
    """Other sizes from which on statements are put together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tolerances, "GROUPED_FROM", many)
        patch.setattr(tolerances, "SMALLEST_GROUP", least)
        yield


@pytest.mark.slow
@DRAWN
@given(tick=ticks(), seed=st.integers(0, 1000), least=st.sampled_from([1, 2]))
def test_every_statement_may_be_a_group(tick, seed, least):
    """Whatever a tick is made of; even a single statement becomes a loop here."""
    inputs = np.random.default_rng(seed).standard_normal((STEPS, 2))
    with sizes(0, least):
        compiled = execute(CBackend(), tick, inputs)
    python = execute(PythonBackend(), tick, inputs)
    assert compiled[0] == python[0]
    agree(compiled[1], python[1])
    agree(compiled[2], python[2])


A, B, C, K = (Var(name) for name in "abck")
FORMS = [
    A * B - C,
    K * (A - B),
    A + B + C + K,
    select(A > B, C, K * A),
    function("tanh", A) - C**3,
    -B,
]


def drawn_tick(rng, width, depth, entangled):
    """A tick of ``depth`` layers of ``width`` statements, each with variables drawn from all before it."""
    states = {Var(f"x[{i}]"): float(v) for i, v in enumerate(rng.uniform(-1, 1, width))}
    parameters = {Var(f"p[{i}]"): float(v) for i, v in enumerate(rng.uniform(0.1, 1, width))}
    drive = Var("drive")
    known = [*states, *parameters, drive]
    steps = []

    def layer(word, n):
        chosen = [FORMS[i] for i in rng.choice(len(FORMS), 2)]
        fresh = []
        for i in range(n):
            a, b, c = (known[j] for j in rng.integers(0, len(known), 3))
            k = Const(rng.choice([0.5, float(rng.uniform(-1, 1))]))
            value = substitute(chosen[rng.integers(0, 2)], {A: a, B: b, C: c, K: k})
            fresh.append(Assign(Var(f"{word}[{i}]"), 0.5 * value))
        known.extend(a.target for a in fresh)
        return fresh

    for d in range(depth):
        steps += layer(f"v{d}", width)
        if d == 1:
            sources = tuple(known[j] for j in rng.choice(len(known), width, replace=False))
            outcome = tuple(Var(f"product[{i}]") for i in range(80))
            steps.append(Product(outcome, rng.normal(size=(80, width)) / width, sources))
            known.extend(outcome)
            steps.append(Delay(Var("late"), known[-1], 3))
            known.append(steps[-1].target)
    turn, total = Var("turn"), Var("total")
    steps.append(Assign(total, Const(0.0)))
    before = list(known)
    inside = layer("inner", width)
    steps.append(Repeat(3, turn, (*inside, Assign(total, total + inside[-1].target + turn))))
    known[:] = [*before, total]
    chosen = list(states)
    pairs = []
    for i, x in enumerate(chosen):
        other = chosen[rng.integers(0, width)] if entangled and i % 3 == 0 else x
        pairs.append((x, Op("mul", (Const(0.5), other)) + 0.1 * known[rng.integers(0, len(known))]))
    steps.append(Update(tuple(pairs)))
    recorded = [known[j] for j in rng.choice(len(known), 6, replace=False)]
    channels = tuple(Channel(f"channel {i}", v) for i, v in enumerate(recorded))
    return Tick("drawn", 0.01, Var("t"), Var("k"), (drive,), states, parameters, tuple(steps), channels)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_sparse_ticks_agree_to_the_last_bit(seed):
    """Grouped C, C statement by statement, and Python; parameters are changed for the run."""
    rng = np.random.default_rng(seed)
    tick = drawn_tick(rng, width=90, depth=4, entangled=bool(seed % 2))
    inputs = rng.standard_normal((20, 1))
    values = {v.name: float(rng.uniform(0.1, 1)) for v in tick.parameters}
    outcomes = []
    for backend, many in (("c", 400), ("c", 10**9), ("numpy", 10**9)):
        with sizes(many, 16):
            runner = Runner(tick, backend)
        result = runner.run(20, inputs, parameters=values)
        outcomes.append((np.array(list(result.channels.values())), runner.snapshot().state))
    assert np.ptp(outcomes[0][1]) > 0
    for channels, state in outcomes[1:]:
        np.testing.assert_array_equal(channels, outcomes[0][0])
        np.testing.assert_array_equal(state, outcomes[0][1])


def test_each_form_is_one_loop_and_numbers_that_differ_are_a_table():
    states = {Var(f"x[{i}]"): float(i) for i in range(500)}
    steps = [Assign(Var(f"y[{i}]"), (0.5 + (i % 3)) * x) for i, x in enumerate(states)]
    update = Update(tuple((x, a.target) for x, a in zip(states, reversed(steps), strict=True)))
    tick = Tick("turned", 0.1, Var("t"), Var("k"), (), states, {}, (*steps, update), ())
    with sizes(400, 16):
        text, runner = write_c(tick), Runner(tick, "c")
    assert text.count("for (int i = 0; i < 500; ++i)") == 2
    assert "cells[499 + -1*i]" in text
    runner.run(1)
    expected = [(0.5 + (i % 3)) * i for i in range(500)][::-1]
    assert list(runner.state.values()) == expected


def test_cells_are_used_again():
    """A chain of 50 layers needs the cells of two of them, not of all."""
    states = {Var(f"x[{i}]"): 1.0 for i in range(40)}
    layer, steps = list(states), []
    for d in range(50):
        fresh = [Assign(Var(f"v{d}[{i}]"), 0.5 * a + layer[i - 1]) for i, a in enumerate(layer)]
        steps += fresh
        layer = [a.target for a in fresh]
    update = Update(tuple(zip(states, layer, strict=True)))
    tick = Tick("layers", 0.1, Var("t"), Var("k"), (), states, {}, (*steps, update), ())
    with sizes(400, 16):
        assert "layers_cells[80];" in write_c(tick)
    assert "_cells" not in write_c(tick)  # 2,040 statements are faster one by one
