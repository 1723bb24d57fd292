"""C and Python are readings of one tick: they agree on every operation, statement and fault."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bondloop.engine.codegen import BACKENDS
from bondloop.engine.codegen.backend import CBackend
from bondloop.engine.codegen.plan import Plan
from bondloop.engine.codegen.py_writer import PythonBackend
from bondloop.engine.codegen.toolchain import compiler, zig

sys.path.insert(0, str(Path(__file__).parent))
from random_ticks import ticks

STEPS = 40
SLOW = settings(
    deadline=None,
    max_examples=20,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)

needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")


def execute(backend, tick, inputs, every=1, factors=(1.0,)):
    """A batch of tests with the tick's parameters and states times a factor each."""
    scale = np.array(factors)[:, None]
    state = Plan(tick).initial() * scale
    record = np.full((len(scale), STEPS, len(tick.channels)), -1.0)
    values = np.array(list(tick.parameters.values()) or [0.0]) * scale
    table = inputs if inputs.ndim == 3 else inputs[None]
    ends = backend.load(tick)(STEPS, 3, table, state, values, record, every)
    return np.array(ends).T.tolist(), state, record


def agree(a, b):
    """To 1e-12 relative, infinities and NaN alike."""
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-300, equal_nan=True)


@pytest.mark.slow
@needs_compiler
@SLOW
@given(tick=ticks(), seed=st.integers(0, 1000), every=st.sampled_from([1, 3]))
def test_c_agrees_with_python(tick, seed, every):
    inputs = np.random.default_rng(seed).standard_normal((STEPS, 2))
    compiled = execute(CBackend(), tick, inputs, every)
    python = execute(PythonBackend(), tick, inputs, every)
    assert compiled[0] == python[0]
    agree(compiled[1], python[1])
    agree(compiled[2], python[2])


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
@settings(SLOW, max_examples=8)
@given(tick=ticks(), seed=st.integers(0, 1000), shared=st.booleans())
def test_a_batch_gives_what_each_of_its_tests_gives_alone(backend, tick, seed, shared):
    """Also where some of them stop early, with a NaN or at a bound."""
    factors = (1.0, 1e6, -0.5, 0.0)
    inputs = np.random.default_rng(seed).standard_normal((1 if shared else len(factors), STEPS, 2))
    ends, states, record = execute(backend, tick, inputs, 2, factors)
    for i, factor in enumerate(factors):
        alone = execute(backend, tick, inputs[0 if shared else i], 2, (factor,))
        assert [ends[i]] == alone[0]
        np.testing.assert_array_equal(states[i], alone[1][0])
        np.testing.assert_array_equal(record[i], alone[2][0])


@pytest.mark.slow
@pytest.mark.skipif(zig() is None, reason="the ziglang package (410 MB) is not installed")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine")
@settings(SLOW, max_examples=8)
@given(tick=ticks(), seed=st.integers(0, 1000))
def test_gcc_and_zig_give_the_same_bits(tick, seed):
    inputs = np.random.default_rng(seed).standard_normal((STEPS, 2))
    first = execute(CBackend(), tick, inputs)
    second = execute(CBackend(zig()), tick, inputs)
    assert first[0] == second[0]
    np.testing.assert_array_equal(first[1], second[1])
    np.testing.assert_array_equal(first[2], second[2])
