"""The source for a graphics processor, executed thread after thread by a C++ compiler.

What is executed is what the card would execute but for its rounding; a card that is there is tried, too.
"""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from bondloop.engine.codegen.batch import Batch
from bondloop.engine.codegen.cuda import gpu_obstacle, write_cuda
from bondloop.engine.codegen.plan import WORST, Plan
from bondloop.errors import CompileError
from bondloop.papers import wagg_three_mass
from bondloop.studies.tick_measures import measuring, named_measure

sys.path.insert(0, str(Path(__file__).parent))
from random_ticks import ticks

STEPS, TESTS = 30, 5
COMPILER = shutil.which("g++") or shutil.which("clang++")
needs_cpp = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")

# What a card has and a C++ compiler has not; a call for each thread.
SHIM = """
#include <math.h>
#define __device__
#define __global__
static struct { unsigned x; } blockIdx, blockDim = {1}, threadIdx;
"""
CALLS = """
extern "C" void all_threads(long long tests, long long steps, double period, const double *inputs,
    double *state, const double *varied, long long *ends)
{
    for (blockIdx.x = 0; blockIdx.x < tests; ++blockIdx.x)
        NAME_tests(tests, steps, 0, period, inputs, state, varied, ends);
}
"""


def executed(tick, varied, values, inputs, folder):
    """Return final states and ends, as `Batch` has them."""
    by_name = {v.name: v for v in tick.parameters}
    source = SHIM + write_cuda(tick, [by_name[n] for n in varied]) + CALLS.replace("NAME", tick.name)
    (folder / "tick.cpp").write_text(source)
    command = [COMPILER, "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-w", "-o", "tick.so", "tick.cpp"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    plan = Plan(tick)
    state = np.tile(plan.initial(), (len(values), 1)).T.copy()
    table = np.ascontiguousarray(values.T)
    ends = np.full((3, len(values)), -1, dtype=np.int64)
    ends[0] = 0
    pointer = ctypes.c_void_p
    function = ctypes.CDLL(str(folder / "tick.so")).all_threads
    function.argtypes = [ctypes.c_longlong, ctypes.c_longlong, ctypes.c_double, *[pointer] * 4]
    function(
        *(len(values), STEPS, tick.period, inputs.ctypes.data, state.ctypes.data),
        *(table.ctypes.data, ends.ctypes.data),
    )
    return state[: len(tick.states)].T, ends


def compared(tick, varied, values, inputs, folder):
    states, ends = executed(tick, varied, values, inputs, folder)
    alone = Batch(tick, varied, "one by one").run(values, STEPS, inputs if tick.inputs else None)
    ends[0] %= WORST
    np.testing.assert_array_equal(np.array(alone.ends), ends)
    np.testing.assert_array_equal(alone.states[ends[0] == 0], states[ends[0] == 0])


@pytest.mark.slow
@needs_cpp
@settings(
    deadline=None, max_examples=5, suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)  # fmt: skip
@given(tick=ticks(), seed=st.integers(0, 1000))
def test_every_statement(tick, seed, tmp_path_factory):
    random = np.random.default_rng(seed)
    varied = [v.name for v in tick.parameters if random.random() < 0.6]
    assume(varied)
    base = np.array([x for v, x in tick.parameters.items() if v.name in varied])
    values = base * (1 + 0.3 * random.standard_normal((TESTS, 1)))
    compared(tick, varied, values, random.standard_normal((STEPS, 2)), tmp_path_factory.mktemp("cuda"))


@needs_cpp
def test_a_test_of_a_paper(tmp_path):
    tick = wagg_three_mass.test().tick
    values = 1 + 0.1 * np.random.default_rng(1).standard_normal((TESTS, 1))
    compared(tick, ["rig.transfer.mass.mass"], values, np.zeros((STEPS, 1)), tmp_path)


@needs_cpp
def test_a_tick_that_measures(tmp_path):
    """Every kind of measure is written from the same statements."""
    tick = wagg_three_mass.test().tick
    names = ("error", "delay", "energy", "growth", "reference_error", "largest:force", "first:force > 0.01")
    whole = measuring(tick, {n: named_measure(n, tick) for n in names}, STEPS).tick
    values = 1 + 0.1 * np.random.default_rng(1).standard_normal((TESTS, 1))
    compared(whole, ["rig.transfer.mass.mass"], values, np.zeros((STEPS, 1)), tmp_path)


@pytest.mark.skipif(not gpu_obstacle(), reason="there is a graphics processor")
def test_without_a_card_it_is_said_so():
    with pytest.raises(CompileError, match=r"cannot run so: .*(driver|NVRTC|graphics)"):
        Batch(wagg_three_mass.test().tick, ["rig.transfer.mass.mass"], "cuda")


@pytest.mark.skipif(bool(gpu_obstacle()), reason=gpu_obstacle() or "there is one")
def test_on_the_card():
    tick = wagg_three_mass.test().tick
    values = 1 + 0.1 * np.random.default_rng(1).standard_normal((64, 1))
    card, alone = (
        Batch(tick, ["rig.transfer.mass.mass"], b).run(values, 2000) for b in ("cuda", "one by one")
    )
    np.testing.assert_array_equal(np.array(card.ends), np.array(alone.ends))
    np.testing.assert_allclose(card.states, alone.states, rtol=1e-9, atol=1e-12)
