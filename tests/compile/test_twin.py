"""C and Python are readings of one tick: they agree on every operation, statement and fault."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bondloop.compile.library import c_run
from bondloop.compile.plan import Plan
from bondloop.compile.py_writer import python_run
from bondloop.compile.toolchain import compiler, zig

sys.path.insert(0, str(Path(__file__).parent))
from random_ticks import ticks

STEPS = 40
SLOW = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
)

needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")


def execute(run, tick, inputs, every=1):
    plan = Plan(tick)
    state = plan.initial()
    record = np.full((STEPS, len(tick.channels)), -1.0)
    values = np.array(list(tick.parameters.values()) or [0.0])
    outcome = run(STEPS, 3, tick.period, inputs, state, values, record, every)
    return outcome, state, record


def agree(a, b):
    """To 1e-12 relative, infinities and NaN alike."""
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-300, equal_nan=True)


@pytest.mark.slow
@needs_compiler
@SLOW
@given(tick=ticks(), seed=st.integers(0, 1000), every=st.sampled_from([1, 3]))
def test_c_agrees_with_python(tick, seed, every):
    inputs = np.random.default_rng(seed).standard_normal((STEPS, 2))
    compiled = execute(c_run(tick, compiler()), tick, inputs, every)
    python = execute(python_run(tick), tick, inputs, every)
    assert compiled[0] == python[0]
    agree(compiled[1], python[1])
    agree(compiled[2], python[2])


@pytest.mark.slow
@pytest.mark.skipif(zig() is None, reason="the ziglang package (410 MB) is not installed")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine")
@settings(SLOW, max_examples=8)
@given(tick=ticks(), seed=st.integers(0, 1000))
def test_gcc_and_zig_give_the_same_bits(tick, seed):
    inputs = np.random.default_rng(seed).standard_normal((STEPS, 2))
    first = execute(c_run(tick, compiler()), tick, inputs)
    second = execute(c_run(tick, zig()), tick, inputs)
    assert first[0] == second[0]
    np.testing.assert_array_equal(first[1], second[1])
    np.testing.assert_array_equal(first[2], second[2])
